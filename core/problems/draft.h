/* draft: a first kernel context from an existing CUDA or HIP file. Regions come from its kernels and launches, inputs from their
 * parameters, the host's variables and its allocations. What the file leaves open becomes a question, which people or a model
 * answer with a line of `inputs:` (docs/context-format.md). The draft launches what the file launches: grid, block and arguments
 * are compared. What the draft cannot express is listed with its line, never dropped in silence. draft.py reads the file, so Python
 * is needed ($PEAKD_PYTHON, else python3). Called by core/jobs/work_draft and daemon/tools/draft. */
#ifndef PEAKD_CORE_PROBLEMS_DRAFT_H
#define PEAKD_CORE_PROBLEMS_DRAFT_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/err.h"
#include "core/transform/model.h"

struct draft {
	char *text;       /* the context file; while questions are open, it lacks what they ask for */
	char **questions; /* one sentence each; none: the draft is complete */
	size_t question_count;
	char **notes; /* assumptions, and what the draft lacks: "line 12: not in the draft: …" */
	size_t note_count;
};

/* `backend`: "cuda" or "hip". `declared`: lines that state what the file does not, in three forms; they replace what would be
 * guessed:
 *
 *   NAME: …              as under inputs: or tune:
 *   local NAME = …       as in host code: what the host computes, or scratch memory
 *   launch(…)            as in host code: for a file that launches nothing
 *
 * A draft without questions is a context whose host code runs. -ERR_INPUT when no kernel of the file can be read, or when a
 * declaration names nothing in it; -ERR_UNSUPPORTED without Python. */
int draft_make(const char *source, const char *backend, const char *const *declared, size_t declared_count, struct draft *ret_draft,
	       struct err *e);
void draft_fini(struct draft *d);

/* --- a draft whose questions a model answers -------------------------------------------------------------------------------- */

/* The model sees the file, the draft and its questions. It answers with declared lines, which are taken exactly as if a person had
 * typed them. An answer that cannot be used, or leaves questions open, goes back to the model twice at most. */
enum { DRAFT_ASK_TURNS = 3 };

struct draft_ask_request {
	const char *source, *backend;
	const char *const *declared; /* people's lines, which a model's line cannot replace */
	size_t declared_count;
	const struct model *model;
	const atomic_bool *cancel; /* may be NULL */
	/* Tries a draft without questions on a device. *ret_complaint: free(), NULL when the draft works. May be NULL. */
	int (*judge)(void *arg, const struct draft *d, char **ret_complaint, struct err *e);
	/* Called after each answer; wrong: what has to be corrected, or NULL. May be NULL. */
	int (*answered)(void *arg, const struct model_request *request, const struct model_answer *answer, const char *wrong,
			struct err *e);
	void *arg;
};

struct draft_ask_result {
	struct draft draft; /* from people's lines and the model's last usable lines */
	unsigned asked;     /* questions put to the model; 0: the file left nothing open */
	char *complaint;    /* what was wrong with the last answer or on the device, besides open questions; NULL: nothing */
};

/* Returns draft_make's errors, the model's, and those of the callbacks. */
int draft_ask(const struct draft_ask_request *request, struct draft_ask_result *ret_result, struct err *e);
void draft_ask_fini(struct draft_ask_result *r);

#endif

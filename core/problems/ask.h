/* ask: a draft whose open questions a model answers. It is shown the file, what was read by form, the questions and the forms of lines that
 * may answer them (declared.h), and its lines are taken exactly as if somebody had typed them: nothing that it says is trusted further.
 * What is malformed, or leaves questions open, goes back to it twice at most. Called by core/jobs/work_draft. */
#ifndef PEAKD_CORE_PROBLEMS_ASK_H
#define PEAKD_CORE_PROBLEMS_ASK_H

#include "core/problems/draft.h"
#include "core/transform/model.h"

enum { ASK_TURNS = 3 };

struct ask_request {
	const char *source, *backend;
	const char *const *declared;    /* what people said: a model's line about the same thing does not count */
	size_t declared_count;
	const struct model *model;
	const atomic_bool *cancel;      /* may be NULL */
	/* Tries a draft without questions where there is a device: *ret_complaint (the caller's; NULL: all is well) is what is wrong with
	 * it. May be NULL. */
	int (*judge)(void *arg, const struct draft *d, char **ret_complaint, struct err *e);
	/* After each answer; wrong: what is not right yet, NULL when all is. May be NULL. */
	int (*answered)(void *arg, const struct model_request *request, const struct model_answer *answer, const char *wrong,
	                struct err *e);
	void *arg;
};

struct ask_result {
	struct draft draft;    /* made of what people said and of the model's last lines that could be taken */
	unsigned asked;        /* questions put to the model; 0: the file left nothing open */
	char *complaint;       /* besides the draft's questions: what was wrong with the last answer, or what the device said; NULL: nothing */
};

/* draft_make's errors, the model's, and those of the callbacks. */
int ask_run(const struct ask_request *request, struct ask_result *ret_result, struct err *e);
void ask_result_fini(struct ask_result *r);

#endif

/* work: what each kind of job does. A kind is one file core/jobs/work_*.c and one line in work.c's table. The file holds its work,
 * its request and its result (a struct and a layout each). The tools of daemon/tools make requests and show results by these
 * layouts. */
#ifndef PEAKD_CORE_JOBS_WORK_H
#define PEAKD_CORE_JOBS_WORK_H

#include "base/hash.h"
#include "core/jobs/engine.h"
#include "core/judge/external.h"
#include "core/record/lineage.h"
#include "core/transform/library.h"
#include "core/transform/models.h"
#include "core/workers/eval.h"

struct library_baseline;

/* What the jobs of one daemon share; engine_config.user points to it. */
struct work {
	struct store *store;
	struct pool *pool;
	struct references *references;
	struct binaries *binaries; /* NULL: none are kept */
	struct library *library;
	struct models *models;
	struct external_config external; /* the user's validators and evaluators */
};

/* The kinds for engine_new; NULL at the end. */
extern const struct engine_kind *const work_kinds[];
extern const struct engine_kind work_validate, work_tune, work_compare, work_profile, work_transform, work_submit, work_edit,
	work_draft, work_optimize, work_pytorch;
/* The kind of that name; NULL when there is none. */
const struct engine_kind *work_kind(const char *name);

/* --- tuning, also as the end of another job --------------------------------------------------------------------------------- */

struct tuned_size; /* work_tune.c */
/* What a tune found, and what became of the workflow's head. */
struct work_tuned {
	struct tuned_size *sizes;
	size_t count;
	char *kept; /* "kept: ..." or "not kept: ...", with the figures in pairs; NULL: that was not asked */
};
extern const struct layout work_tuned_layout;

struct work_tune_step {
	int64_t checkpoint;
	const char *workflow, *device; /* NULL or "" as in work_subject */
	int64_t budget;                /* configurations; 0: the tune tool's default */
};
/* Tunes a checkpoint and times it in pairs with its parent. Where it is not faster and is the workflow's head, the head goes back
 * to the parent. */
int work_tune_step(struct engine_job *job, const struct work_tune_step *step, struct work_tuned *result, struct err *e);
/* Whether a request's `keep` says so. */
bool work_keep_faster(const char *keep);
/* Only what was timed can be compared with: an error where a size of this checkpoint is not tuned, -ERR_UNSUPPORTED where the
 * device only compiles. */
int work_keep_check(struct engine_job *job, const struct lineage *l, const struct facts *facts, struct err *e);

/* --- what kinds share ------------------------------------------------------------------------------------------------------- */

enum { WORK_SAMPLES = 16 }; /* execution parameters that a validation samples where the request does not say */

/* The part of a request that says what it is about. */
struct work_subject {
	int64_t checkpoint; /* 0: none */
	char *workflow;     /* whose head is to advance; NULL or "": none */
	char *device;       /* as pool_device_set reads it; NULL or "": the first one of the context's backend */
	bool later;         /* kept for another machine (drain.h) */
};
extern const struct layout work_subject_layout;

/* The part of a result that compares with the vendor's library: library time / ours. */
struct work_library {
	char *library; /* its name, or why there is no figure; NULL: the context names no library */
	double library_ratio, library_low, library_high;
};
extern const struct layout work_library_layout;
void work_library_set(struct work_library *w, const char *name, const char *why, double ratio, double low, double high);

/* An eval for one job: its pool, cancel and progress. */
struct eval work_eval(struct engine_job *job);
/* The device that is named (NULL or "": the backend's first one). ERR_INPUT when it belongs to another backend. */
int work_device(const struct work *w, const char *device, const char *backend, struct facts *ret_facts, struct err *e);
/* The same where several may work together ("cuda:all", "cuda:0,1"). ret_facts: free(). */
int work_devices(const struct work *w, const char *device, const char *backend, struct facts **ret_facts, size_t *ret_count,
		 struct err *e);

/* models_open for a job's questions, which say on whose behalf they are asked (traceparent). name NULL: the default. */
int work_open_model(struct engine_job *job, const char *name, unsigned attempt, struct models_open *ret_open, struct err *e);

/* Assignments of a context's inputs. */
struct work_sizes {
	struct params **at;
	size_t count;
};

/* The sizes that `text` names (one assignment, a partial one is fine), or all that the context declares when it is NULL or "". What
 * is timed on a device must be declared; facts NULL: measured elsewhere, where any size will do. */
int work_sizes_list(const char *text, const struct context *ctx, const struct facts *facts, struct work_sizes *ret_sizes,
		    struct err *e);
void work_sizes_fini(struct work_sizes *s);
/* The configuration to time again: the fastest validated one of the checkpoint at this size, on this device or else on any, or the
 * only one that there is. -ERR_NOT_FOUND: tune it first. */
int work_best(struct db *db, const struct lineage *l, const struct facts *facts, const struct params *size, bool warm,
	      struct params **ret_params, struct err *e);

/* What is known of a checkpoint on a device, for a prompt. All borrowed. */
struct work_known {
	const struct lineage *l;
	const struct facts *facts;
	const char *applying; /* the transformation, whose notes come first; NULL */
	const char *without;  /* names of what to leave out, "profile", "history" and "knowledge"; NULL: nothing */
};
/* The best times, what the last profile found, what was tried on this line and what came of it, and the notes that fit: a few lines
 * of Markdown (work_known.c); free(), NULL: nothing is known. */
int work_known_text(const struct work *w, struct db *db, const struct work_known *k, char **ret_text, struct err *e);

/* --- one question to a model beside the passes of a transformation: reviews and plans (work_ask.c); an exchange of the job -- */

/* All borrowed. */
struct work_question {
	const char *model; /* NULL or "": the default */
	const char *name;  /* what stands for a transformation's name in the exchange and in recordings */
	struct hash about; /* the context's hash */
	unsigned attempt;  /* from 1: which question about this context */
	const struct prompt *prompt;
};

/* What the questions of a job took so far. */
struct work_asked {
	int64_t calls, tokens_in, tokens_out;
};

/* The exchange's row: of `row` the caller sets key.step, provider, and what else it knows of outcome and text_hash. */
struct exchange;
int work_record_exchange(struct engine_job *job, const struct model_request *request, const struct model_answer *answer,
			 struct exchange *row, struct err *e);
/* *ret_answer: free(). Adds to *io_asked. Errors as of struct model's ask. */
int work_ask(struct engine_job *job, const struct work_question *q, char **ret_answer, struct work_asked *io_asked, struct err *e);

/* --- what a tune found, timed in pairs, so that every ratio that is shown later has been measured (work_pairs.c) ------------ */

struct work_pairs_request {
	const struct lineage *l;
	const struct facts *facts;   /* the device */
	const struct params *winner; /* all execution parameters, validated */
	bool warm;
	bool missing; /* only what is not recorded yet */
};

/* Times the winner beside the baseline at its own best and as its tuning starts, and beside the parent at its best. Only what is
 * known and another configuration is timed: a few hundred milliseconds each, shown as progress. What cannot be compared stays so.
 * Last, the winner's energy is recorded where the device has a counter. Negative only when the job is cancelled. */
int work_pairs(struct engine_job *job, const struct work_pairs_request *request, struct err *e);

#endif

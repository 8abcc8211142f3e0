/* engine: threads that run jobs. A job is a row first (core/record/job): it is written before its id is given out, its
 * thread is blocking straight-line code, and what it has to tell are event rows. The daemon makes one engine. */
#ifndef PEAKD_CORE_JOBS_ENGINE_H
#define PEAKD_CORE_JOBS_ENGINE_H

#include "base/err.h"
#include "base/layout.h"
#include "core/record/store.h"
#include "core/workers/eval.h"
#include "core/workers/span.h"

struct engine;
struct job;
struct pool;

/* One job while it runs. */
struct engine_job {
	const char *id;
	struct db *db; /* this thread's handle */
	struct cancel cancel;
	struct eval_spent
		spent;    /* its end writes this into the result: leased_seconds, validation_seconds, validation_leased_seconds */
	void *user;       /* engine_config's */
	struct span span; /* core/workers/span.h */
	struct engine *engine;
	struct engine_job *parent; /* whose part this one is: engine_child; NULL */
};

/* A kind of job: its request and result as structs with a layout each, which the row keeps as JSON, and what it does: `run` fills
 * the result (kept also when it fails) and returns 0 or an error; -ERR_CANCELLED when it ended because of job->cancel. */
struct engine_kind {
	const char *name;
	const struct layout *request, *result;
	int (*run)(struct engine_job *job, const void *request, void *result, struct err *e);
};

/* The fields that every result has beside its own: leased_seconds, validation_seconds, validation_leased_seconds; each is left out
 * when it is nothing. */
extern const struct layout engine_spent_layout;

struct engine_config {
	struct store *store;
	struct pool *pool;                      /* whose workers are interrupted by cancelling */
	const struct engine_kind *const *kinds; /* NULL at the end */
	void *user;
	const struct span_sink *spans; /* who collects them; NULL: nobody */
	unsigned threads;              /* jobs at once; 0: 16 */
	bool later; /* of a bundle (drain.h): runs jobs that are kept for another machine, one at once for each device that they
		     * name, in the order of their rows; resumes interrupted ones */
};

/* Marks what an earlier daemon left running as interrupted, queues what was queued, and starts the threads. */
int engine_new(const struct engine_config *config, struct engine **ret_engine, struct err *e);
/* Cancels everything that runs and waits for it; what is submitted from now on is kept for the next daemon. NULL is fine. */
void engine_stop(struct engine *engine);
/* engine_stop, and frees. Nobody may be in any of these functions any more. */
void engine_free(struct engine *engine);
struct engine_submission {
	const char *kind;
	const void *request; /* the kind's struct */
	bool join;           /* a live job of the kind with the same request will do */
	const char *trace;   /* traceparent of whoever asks (W3C Trace Context), kept as an event; NULL */
};
/* Writes the job and queues it; one whose request says `later` is only written, for another machine (drain.h). With `join`, a live
 * job of the kind with the same request is taken instead (`workflow` and `resume` do not count). It is queued again when it was
 * interrupted. -ERR_CONFLICT when a job with another request works on the same checkpoint. *ret_id is the caller's, *ret_fresh says
 * whether a job was made. */
int engine_submit(struct engine *engine, struct db *db, const struct engine_submission *submission, char **ret_id, bool *ret_fresh,
		  struct err *e);
/* Jobs that are a part of another job have rows of their own and run on its thread. They are cancelled with it, and their progress
 * and what they spend count for it too. engine_child_begin writes one as running, for a transaction of the caller's; *ret_id:
 * free(). */
int engine_child_begin(struct db *db, const struct engine_kind *kind, const void *request, char **ret_id, struct err *e);
/* Runs it to its end and reads its result into an object that layout_init has set; the layout may be a part of the kind's own. One
 * that has ended is only read, an interrupted one runs again, and one that somebody else runs is waited for. Returns what the job
 * ended with. */
int engine_child_run(struct engine_job *parent, const char *id, const struct layout *l, void *result, struct err *e);
/* True for a queued job that is kept for another machine. */
bool engine_is_later(const struct job *job);
/* Asks a job to end; its workers are interrupted at once. */
int engine_cancel(struct engine *engine, struct db *db, const char *id, struct err *e);
/* Why a job ended whose end could not be written down (a full disk), while its row says that it runs or waits; NULL for all
 * others. free() */
char *engine_lost(struct engine *engine, const char *id);
/* Queues an interrupted job again. */
int engine_resume(struct engine *engine, struct db *db, const char *id, struct err *e);
/* Jobs that run or wait now. */
unsigned engine_busy(struct engine *engine);
/* The job's span, a part of its parent's or of what its client does (engine_span.c). */
void engine_span_begin(struct engine_job *job, const struct span_sink *sink, const char *kind);
/* Appends a progress event, from any thread; failures are logged, since no job should die of them. */
void engine_progress(struct engine_job *job, double done, double total, const char *message);

#endif

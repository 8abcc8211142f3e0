/* decision: what an optimize job decided, why, and what came of it, one row each. The rows and the checkpoints are the whole state
 * of the search, so a job that was killed continues from them. Written by core/jobs/work_optimize; read by `peakd optimize
 * explain`. */
#ifndef PEAKD_CORE_RECORD_DECISION_H
#define PEAKD_CORE_RECORD_DECISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/layout.h"

struct db;

enum decision_kind {
	DECISION_MEASURE,    /* times a checkpoint that has no measurement yet: the start */
	DECISION_EXPERIMENT, /* applies a transformation to a checkpoint, then times the result */
	DECISION_MEND,       /* continues an experiment whose code failed */
	DECISION_QUESTION,   /* asks the model for plans */
	DECISION_STOP,
};

enum decision_outcome {
	DECISION_OPEN,
	DECISION_FASTER, /* than the checkpoint it started from, in pairs; so the next three */
	DECISION_SLOWER,
	DECISION_SAME,
	DECISION_UNCLEAR,
	DECISION_WRONG,    /* no code that compiles and is right */
	DECISION_NO_OP,    /* the same code as a checkpoint that exists: not judged, not timed */
	DECISION_FAILED,   /* something else: a model that cannot be reached, a transformation that does not fit */
	DECISION_ANSWERED, /* a question */
	DECISION_MEASURED, /* the start */
	DECISION_WAITING,  /* its tune waits for another machine */
	DECISION_STOPPED,
	DECISION_OUTCOMES
};

/* A row of the table; more than 20 fields, because that has as many columns. */
struct decision {
	int64_t id;
	char *search; /* id of the optimize job */
	int64_t seq;  /* 1, 2, ... within it */
	char *policy;
	enum decision_kind kind;
	int64_t checkpoint; /* where it starts */
	int64_t reference;  /* a second one to learn from; 0: none */
	int64_t made;       /* the checkpoint that it became; 0: none */
	char *transformation;
	double expected_low, expected_high; /* times as fast, as the plan says; NAN: it says nothing */
	double novelty;                     /* 0 to 10; NAN likewise */
	bool reviewed;                      /* a reviewer reads the code before device time is spent */
	char *reason;
	char *transform_job, *tune_job, *profile_job; /* NULL before each begins */
	char *pending;                                /* a half-done transformation that can be continued; NULL: none */
	enum decision_outcome outcome;
	double gain, low, high; /* times as fast as `checkpoint`; NAN: not timed */
	char *note;
	double seconds, device_seconds; /* NAN while it is open */
	int64_t calls, tokens_in, tokens_out;
	int64_t created_ms, ended_ms;
};

struct decision_list {
	struct decision *at;
	size_t count;
};

/* JSON and SQL of a row. */
extern const struct layout decision_layout;
extern const char *const decision_kinds[], *const decision_outcomes[];

/* Adds a row; sets id and created_ms. */
int decision_add(struct db *db, struct decision *d, struct err *e);
/* Writes all that may change after decision_add: jobs, outcome, figures, note. */
int decision_save(struct db *db, const struct decision *d, struct err *e);
/* All of the search that a job began or continued, in order; each row's `search` is the job that began it. decision_list_fini. */
int decision_list(struct db *db, const char *job, struct decision_list *ret_list, struct err *e);
/* The job that has the right to decide in a search before this one has: it began the search, or was asked earlier to continue it,
 * and has not ended. NULL: none; free(). */
int decision_rival(struct db *db, const char *search, const char *job, char **ret_rival, struct err *e);
/* The optimize job that decided last about a checkpoint or made it; NULL: none. free(). */
int decision_search_of(struct db *db, int64_t checkpoint, char **ret_search, struct err *e);
void decision_init(struct decision *d);
void decision_fini(struct decision *d);
void decision_list_fini(struct decision_list *l);

#endif

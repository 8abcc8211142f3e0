/* check: one execution of one variant with one secret seed, judged against the reference: the smallest piece of evidence. suite
 * makes many of them for a validation, tune one per configuration that it times. */
#ifndef PEAKD_CORE_JUDGE_CHECK_H
#define PEAKD_CORE_JUDGE_CHECK_H

#include "core/judge/reference.h"
#include "core/record/validation.h"
#include "core/workers/trial.h"

struct check {
	bool passed;
	enum err_code code;           /* why it did not: ERR_WRONG, ERR_CRASH, ERR_TIMEOUT, …; ERR_NONE when passed */
	bool alone;                   /* a failure that says nothing about other configurations: the device was lost with it */
	char *reason;                 /* one line; NULL when passed */
	bool gave_nan;                /* the reason shows an element that is NaN and should not be */
	bool wants_nan;               /* or one that is no NaN and should be */
	char *output;                 /* name of the output that the figures below belong to: the worst one; NULL before any */
	double error, tolerance;      /* of the element nearest to its bound: distance and bound; NAN before any comparison */
	struct wire_compared figures; /* of that output; zero before any comparison */
	int64_t dims[PLAN_RANK_MAX];  /* extents of that output, outermost first */
	unsigned rank;
	uint64_t device_ns; /* of this execution */
	bool tells;         /* the reference tells kernels from constants */
	char *weak;         /* why it does not; NULL */
	bool degenerate; /* not passed only because no value judged: all was as wanted, and one number everywhere would be, too */
	char *by;        /* the oracle that computed the right outputs; NULL: the baseline did */
	char *log;       /* what was looked at, a line each: "passed with secret values"; NULL for a single execution */
};

enum {
	CHECK_POISON = 0x5A,
	CHECK_SHOWN = 8 /* mismatches that a verdict lists */
}; /* of outputs after timing: 203 in f16, 1.5e16 in f32: a number, so that max() and selects cannot hide it */

/* A secret seed: unguessable, so that no kernel can know the values. */
uint64_t check_seed(void);
/* Executes the prepared trial and compares every output. Negative only when nothing could be judged (cancelled, no reference); a
 * kernel that crashes or hangs is a check that did not pass. */
int check_run(const struct reference_source *j, struct trial *t, uint64_t seed, struct check *ret_check, struct err *e);
/* The same from a chosen start. *ret_unfit (may be NULL; free()): why such values cannot judge anything here, and then nothing was
 * executed, or which output they leave out; NULL when they can. */
int check_execution(const struct reference_source *j, struct trial *t, const struct trial_input *input, struct check *ret_check,
		    char **ret_unfit, struct err *e);
/* The same, at first with quick bounds (reference.h), which decide for nearly all right kernels. ret_check->tells is false
 * then. For what is only to be refuted. */
int check_draw(const struct reference_source *j, struct trial *t, const struct trial_input *input, struct check *ret_check,
	       char **ret_unfit, struct err *e);
/* The seeds of what is timed and quoted: that of the execution before, and further ones made of it, as secret, whose
 * references are computed when the lot falls on them. */
void check_seeds(uint64_t first, uint64_t ret_seeds[TRIAL_SEEDS]);
/* Call it once the trial was timed: the outputs of timed executions that the worker kept must be right, else *io_check, which
 * had passed, has failed. Notes go to io_check->log. Negative as above. */
int check_left(const struct reference_source *j, struct trial *t, struct check *io_check, struct err *e);
/* The same, and one more execution with this seed, with the scratch that the last one left and poisoned outputs, must be right.
 * No figure is quoted without it. */
int check_after(const struct reference_source *j, struct trial *t, uint64_t seed, struct check *io_check, struct err *e);
#define CHECK_AS_LEFT "after timing, as the timed executions left it"
#define CHECK_AFTER "after timing, scratch left, outputs poisoned"
void check_fini(struct check *c);
/* True when it says nothing about the kernel: files, this machine or peakd itself were in the way. Recorded as skipped. */
bool check_skipped(const struct check *c);
/* A check that failed before it could run: compile errors, pruned, crashed at set-up. */
void check_failed(struct check *ret_check, const struct err *why);
/* Puts " (WHEN)" behind the reason, if there is one. */
void check_name(struct check *c, const char *when);
/* For callers that need the check to pass: sets "WHAT: REASON", or the reason alone when the check was skipped. Returns -code. */
int check_refuse(const struct check *c, const char *what, struct err *e);
/* The figures in words, several lines: counts, first mismatches as row, column, got, want, the 8×8 map. free(). */
char *check_details(const struct check *c);

/* Whether that tile of the output's map holds an element: of one row, seven eighths hold none. */
bool check_has_tile(const struct check *c, int row, int column);

/* Where evidence goes. All borrowed. */
struct evidence {
	struct db *db;
	int64_t checkpoint;
	const struct facts *facts; /* the device */
	const char *job;           /* NULL: none */
};
/* Adds a row of evidence of which the caller has filled in what was found: sets the rest. Its texts are borrowed. */
int check_evidence(const struct evidence *to, const struct params *params, struct validation *io_row, struct err *e);
/* The evidence row. size_kind: "input" or "check". ret_row may be NULL. A wrong or crashed configuration also refutes the
 * checkpoint. */
int check_record(const struct evidence *to, const struct params *params, const char *size_kind, uint64_t seed,
		 const struct check *c, int64_t *ret_row, struct err *e);

#endif

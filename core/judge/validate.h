/* validate: is a context right? Execution parameters are sampled over the baseline's declared sizes and all its check: sizes; each
 * is executed with secret values and compared with the baseline's outputs, and the domain is compared with the parent's. Then the
 * user's own validators look at the first configuration of each size (external.h). Called for the validate tool, after every
 * transformation (through core/transform's judge), and for a tune's finalists. The summary names what the verdict does not cover
 * (limits.h). */
#ifndef PEAKD_CORE_JUDGE_VALIDATE_H
#define PEAKD_CORE_JUDGE_VALIDATE_H

#include "core/judge/check.h"

struct validate_request {
	const struct context *ctx;      /* judged */
	const struct context *baseline; /* whose outputs are right */
	const struct context *parent;   /* whose domain must be covered; NULL: not looked at */
	const struct facts *facts;      /* device; must run */
	unsigned samples;               /* execution parameters over the declared sizes (PEAK: 16) */
	uint64_t seed;                  /* of the sampling, not of the values */
	const struct params *only;      /* fixed parameters (one configuration, one size); NULL: none */
	const struct params *const
		*deep;     /* the declared sizes whose configurations get all values (suite.h); others get the cheap steps */
	size_t deep_count; /* 0: all sizes do */
	struct params *const *again; /* configurations that failed before: they are judged beside the samples */
	size_t again_count;
	uint64_t secret; /* of the values: requests with the same secret share values, and so references; 0: its own */
	const struct reference_values
		*later; /* references that the caller needs right after: computed meanwhile, where there is time */
	size_t later_count;
	const char *without; /* for selftest alone: see suite.h */
};

struct validate_finding {
	struct params *params;
	bool checked_size; /* of a check: size */
	struct check check;
	uint64_t seed;   /* of the values */
	char *validator; /* one of the user's, whose verdict the check holds, without figures; NULL: outputs were compared */
	char *excuse;    /* why that validator was skipped, in its own words (then the check passes, but counts nowhere); NULL */
	char *details;   /* what that validator found; NULL */
};

struct validate_result {
	bool passed;
	char *summary; /* one line */
	struct validate_finding *findings;
	size_t finding_count;
	size_t passed_count, failed_count, pruned_count; /* failed: verdicts of the user's validators count too */
	size_t skipped_count;              /* could not be judged: the harness was in the way. Never counts as passed */
	size_t extras_count;               /* of those that passed: got the costly rounds too, races and timing (suite.h) */
	struct validate_finding *left_out; /* they did not answer in time, and others of their size passed: pruned, and
					* recorded as failed. Or nothing can be judged at their check: size: recorded as skipped */
	size_t left_out_count;
	char *not_judged; /* rounds that nobody could judge, and why; NULL: none */
	char *limits;     /* what narrows the domain, the precision, sizes or references; NULL: nothing */
	char *domain;     /* domain_compare's line; NULL when not looked at */
	bool narrowed;    /* sizes of the parent are refused without a declaration */
	char *log;        /* validate_compile: the first accepted parameters and what the compiler said of them (warnings,
			       * resources); NULL when it said nothing */
};

/* 0 with a result whatever the verdict is; negative when nothing could be judged. With `db` and a checkpoint > 0 every finding
 * is recorded as evidence (job may be NULL). */
int validate_run(const struct eval *ev, const struct validate_request *request, struct db *db, int64_t checkpoint, const char *job,
		 struct validate_result *ret_result, struct err *e);
/* Records the findings of an earlier run as evidence for a checkpoint that was made meanwhile. */
int validate_record(const struct evidence *to, const struct validate_result *result, struct err *e);
/* Host code and compiler only, for a few sampled parameters; the device need not run. Findings have no figures; `passed` means that
 * all compile, and the summary says so. */
int validate_compile(const struct eval *ev, const struct context *ctx, const struct facts *facts, unsigned samples, uint64_t seed,
		     struct validate_result *ret_result, struct err *e);
/* What people must know of a verdict that passed, for the checkpoint's note: "not judged: …; limits: …". "" when nothing; free() */
char *validate_caveats(const struct validate_result *result);
void validate_finding_fini(struct validate_finding *f);
void validate_result_fini(struct validate_result *r);

#endif

/* validate: is a context right? Sampled execution parameters over the declared sizes and all check: sizes, each executed with
 * a secret seed and compared with the root's outputs, and the domain compared with the parent's; then what the user's own
 * validators say of the first configuration of each size (external.h). Called for the validate tool, after every transformation (through
 * core/transform's judge) and on winners of a tune. */
#ifndef PEAKD_CORE_JUDGE_VALIDATE_H
#define PEAKD_CORE_JUDGE_VALIDATE_H

#include "core/judge/check.h"

/* Values that the caller will want a reference for right after: computed while the validation has the device, where there is time. */
struct validate_later { const struct params *size; uint64_t seed; };

struct validate_request {
	const struct context *ctx;    /* judged */
	const struct context *root;   /* the reference */
	const struct context *parent; /* whose domain must be covered; NULL: not looked at */
	const struct facts *facts;    /* device; must run */
	unsigned samples;             /* execution parameters over the declared sizes (PEAK: 16) */
	uint64_t seed;                /* of the sampling, not of the values */
	const struct params *only;    /* fixed parameters (one configuration, one size); NULL: none */
	const struct params *const *deep; /* the declared sizes that get all rounds (rounds.h), others the cheap ones */
	size_t deep_count;            /* 0: all sizes do */
	uint64_t secret;              /* of the values: requests with the same one share values, and so references; 0: values of its own */
	const struct validate_later *later;
	size_t later_count;
};

struct validate_finding {
	struct params *params;
	bool checked_size;   /* of a check: size */
	struct check check;
	uint64_t seed;       /* of the values */
	char *validator;     /* one of the user's, whose verdict the check holds, without figures; NULL: outputs were compared */
	char *excuse;        /* why that validator says nothing here, in its own words (then the check passes, but counts nowhere); NULL */
	char *details;       /* what that validator found; NULL */
};

struct validate_result {
	bool passed;
	char *summary;               /* one line */
	struct validate_finding *findings;
	size_t finding_count;
	size_t passed_count, failed_count, pruned_count; /* failed: verdicts of the user's validators count too */
	size_t skipped_count;        /* could not be judged: the harness was in the way. Never counts as passed */
	char *domain;                /* domain_compare's line; NULL when not looked at */
	bool narrowed;               /* sizes of the parent are refused without being declared */
	char *log;                   /* validate_compile: parameters and what the compiler said of the first that it accepted (warnings,
	                              * resources); NULL when it said nothing */
};

/* 0 with a result whatever the verdict is; negative when nothing could be judged. With `db` and a checkpoint > 0 every finding
 * is recorded as evidence (job may be NULL). */
int validate_run(const struct eval *ev, const struct validate_request *request, struct db *db, int64_t checkpoint,
                 const char *job, struct validate_result *ret_result, struct err *e);
/* Records the findings of an earlier run as evidence for a checkpoint that was made meanwhile. */
int validate_record(struct db *db, int64_t checkpoint, const struct facts *facts, const char *job,
                    const struct validate_result *result, struct err *e);
/* Host code and compiler only, for a few sampled parameters; the device need not run. Findings have no figures; `passed` means that
 * all compile, and the summary says so. */
int validate_compile(const struct eval *ev, const struct context *ctx, const struct facts *facts, unsigned samples,
                     uint64_t seed, struct validate_result *ret_result, struct err *e);
void validate_finding_fini(struct validate_finding *f);
void validate_result_fini(struct validate_result *r);

#endif

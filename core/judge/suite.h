/* suite: one variant through a suite of checks, each of which shows another kind of cheat: other values at the same address,
 * scratch that still holds the last result, another poison, exact and extreme values, new addresses. validate.c calls it;
 * docs/trust.md says what each check is against. */
#ifndef PEAKD_CORE_JUDGE_SUITE_H
#define PEAKD_CORE_JUDGE_SUITE_H

#include "core/judge/check.h"

struct suite_request {
	const struct context *ctx; /* the variant's */
	uint64_t seed, other_seed; /* secret; shared by all variants of a size, so that references are computed once */
	bool full;                 /* all values; false: the two cheap steps */
	const struct wire_immediates *immediates; /* what the code of all variants holds */
	bool extras;               /* with full: races, kept results, what timing leaves, other addresses */
	const char *without;       /* the check that is left out, to show what it catches; NULL: none. Only selftest sets it */
};

/* What begins a line of check.log about something that nobody could judge: "NAME: WHY" follows. What cannot go wrong here is no gap
 * and begins "not needed". */
#define SUITE_GAP "not judged "
/* NAME of branches that no value took, and the line of a log that looked for them. */
#define SUITE_BRANCHES "branches"
#define SUITE_LOOKED "looked at branches"

/* Prepares, executes, compares, releases. The first step that does not pass ends it and is the check; its reason names the step.
 * ret_check->log lists the steps that passed, and those that cannot judge here, with the reason. Negative as check_run. */
int suite_run(const struct reference_source *j, struct pool_worker *device, const struct variant *variant,
	      const struct suite_request *request, struct check *ret_check, struct err *e);

/* Name of check i, as `without` takes it; NULL behind the last. */
const char *suite_check_name(size_t i);

/* Adds the references that suite_run will need for a variant with this plan at this size (borrowed), in its order. */
void suite_ahead(const struct suite_request *request, const struct plan *plan, const struct params *size, uint64_t output_bytes,
		 struct reference_ahead *to);
/* Has the rewritten kernel, which the full suite runs (check_disturbed), compiled and kept (binaries.h); nothing where nothing is
 * kept. */
void suite_compile_ahead(const struct eval *ev, const struct context *ctx, const struct params *params, const struct facts *facts);

#endif

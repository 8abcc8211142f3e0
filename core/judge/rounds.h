/* rounds: one variant through a programme of executions, each of which betrays another kind of cheat: other values at the same
 * address, scratch that still holds the last result, another poison, exact and extreme values, new addresses. validate.c calls it;
 * docs/trust.md says what each round is against. */
#ifndef PEAKD_CORE_JUDGE_ROUNDS_H
#define PEAKD_CORE_JUDGE_ROUNDS_H

#include "core/judge/check.h"
#include "core/judge/reference_ahead.h"

struct rounds_request {
	const struct context *ctx;  /* whose variant it is */
	const struct context *root;
	const struct facts *facts;
	uint64_t seed, other_seed; /* secret; shared by all variants of a size, so that references are computed once */
	bool full;                 /* false: the two rounds that are cheap */
};

/* Prepares, executes, compares, releases. The first round that does not pass ends it and is the check; its reason names the round.
 * ret_check->rounds lists those that passed and those that judge nobody here, with the reason. Negative as check_run. */
int rounds_run(const struct eval *ev, struct pool_worker *device, const struct variant *variant,
               const struct rounds_request *request, struct check *ret_check, struct err *e);

/* Adds the references that rounds_run is going to need at this size (borrowed), in its order. */
void rounds_ahead(const struct rounds_request *request, const struct params *size, uint64_t output_bytes, struct reference_ahead *to);

#endif

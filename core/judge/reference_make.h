/* reference_make: computes one reference: runs the truth, the truth on perturbed inputs and the baseline, and has bound.c make the
 * bounds. Also decides what cannot judge. Called by reference.c alone, which keeps the result. */
#ifndef PEAKD_CORE_JUDGE_REFERENCE_MAKE_H
#define PEAKD_CORE_JUDGE_REFERENCE_MAKE_H

#include "core/judge/reference.h"

/* Of which values, and where. All borrowed. */
struct reference_making {
	const struct reference_source *j;
	struct pool_worker *process; /* the caller's meanwhile */
	const struct params *params; /* the baseline runs with them */
	uint64_t seed;
	enum plan_values values;
	struct plan_immediates immediates;
	bool quick; /* reference_values.quick */
};

/* Fills *io_reference, which is empty; the caller frees it, even on failure. Values that cannot judge are an error only if they are
 * the declared ones (ERR_INTERNAL: the baseline is at fault); else io_reference->unfit says why. */
int reference_make(const struct reference_making *m, struct reference *io_reference, struct err *e);

#endif

/* library_baseline: what `library:` of a context names, computed by the vendor's library from the same inputs. It is checked as any
 * candidate is, and timed alternately with a variant. Called by tune_finalists.c and profile.c. */
#ifndef PEAKD_CORE_MEASURE_LIBRARY_BASELINE_H
#define PEAKD_CORE_MEASURE_LIBRARY_BASELINE_H

#include "core/context/context.h"
#include "core/judge/check.h"

struct library_baseline {
	const char *name;           /* "cuBLASLt", static */
	struct trial_paired paired; /* A: the variant, B: the library: ratio is library time / ours */
	char *why;                  /* why there is no figure; NULL when there is one */
};

/* A plan that is the library's alone, for these execution parameters: a variant without a binary. -ERR_NOT_FOUND when the context
 * names no library. */
int library_baseline_variant(const struct context *ctx, const struct params *params, const struct facts *facts,
			     struct variant *ret_variant, struct err *e);
/* Compares a prepared and checked trial of ctx with the library, on the same worker. A library that is missing or computes
 * something else is not a failure: `why` says so. seed: secret, of the library's values, never one that the variant is executed
 * with, because the right outputs lie in the device's memory afterwards. Negative only when cancelled or when the worker is gone.
 */
int library_baseline_compare(const struct reference_source *j, struct trial *t, const struct context *ctx, uint64_t seed, bool warm,
			     struct library_baseline *ret_compared, struct err *e);
void library_baseline_fini(struct library_baseline *r);
/* The comparison's row; evidence: the variant's validation row. */
int library_baseline_record(const struct evidence *to, const struct params *params, const struct library_baseline *r, bool warm,
			    int64_t evidence, struct err *e);

#endif

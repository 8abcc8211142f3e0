/* vendor: the vendor's library as a rival: what `library:` of a context names, computed from the same inputs, checked as any candidate
 * is, and timed alternately with a variant. Called by tune_leaders.c and profile.c. */
#ifndef PEAKD_CORE_MEASURE_LIBRARY_BASELINE_H
#define PEAKD_CORE_MEASURE_LIBRARY_BASELINE_H

#include "core/context/context.h"
#include "core/workers/trial.h"

struct library_baseline {
	const char *name;            /* "cuBLASLt", static */
	struct trial_paired paired;  /* A: the variant, B: the library: ratio is library time / ours */
	char *why;                   /* why there is no figure; NULL when there is one */
};

/* A plan that is the library's alone, for these execution parameters: a variant without a binary. -ERR_NOT_FOUND when the context
 * names no library. */
int library_baseline_variant(const struct context *ctx, const struct params *params, const struct facts *facts, struct variant *ret_variant,
                   struct err *e);
/* Compares a prepared and checked trial of ctx with the library, on the same worker. A library that is not there or computes something
 * else is no failure: `why` says so. seed: secret, of the library's values, and none that the variant is executed with: what is right for
 * them lies in the device's memory afterwards. Negative only when cancelled or when the worker is gone. */
int library_baseline_compare(const struct eval *ev, struct trial *t, const struct context *ctx, const struct context *root,
                   const struct facts *facts, uint64_t seed, bool warm, struct library_baseline *ret_rival, struct err *e);
void library_baseline_fini(struct library_baseline *r);
/* The comparison's row; names what was compared. */
struct db;
int library_baseline_record(struct db *db, int64_t checkpoint, const struct facts *facts, const struct params *params,
                  const struct library_baseline *r, bool warm, int64_t evidence, const char *job, struct err *e);

#endif

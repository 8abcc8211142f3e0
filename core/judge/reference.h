/* reference: what the right outputs are. For one root context, input size and secret seed, the outputs of the root (or of
 * its `reference` block) are computed in a process of their own and kept here, with the error that the root itself has
 * against its reference block: that decides the tolerance. check.c is the only reader. */
#ifndef PEAKD_CORE_JUDGE_REFERENCE_H
#define PEAKD_CORE_JUDGE_REFERENCE_H

#include "base/hash.h"
#include "core/context/context.h"
#include "core/workers/eval.h"

struct reference_output {
	char *name;           /* of the buffer */
	uint8_t *answer;      /* what the bytes are in; owned */
	const uint8_t *bytes; /* logical content in the declared type */
	size_t len;
	enum dtype type;
	unsigned rank;
	int64_t dims[PLAN_RANK_MAX];
	struct hash hash;
	double own_error;     /* ‖root−reference‖/‖reference‖; NAN without a reference block */
	double tolerance;     /* allowed to candidates, on the same figure */
};

struct reference {
	struct reference_output *outputs;
	size_t output_count;
	char *unfit;          /* why these values can judge nobody (special ones only: declared values that cannot are an error);
	                       * NULL: they can */
	uint64_t execute_ns;  /* the root's own execution, with what the first one costs; bounds how long a candidate may take */
};

/* Keeps references up to `max_bytes`, least recently used ones go first. Shared by all jobs. */
struct references *references_new(size_t max_bytes);
void references_free(struct references *refs);
size_t references_limit(const struct references *refs);

/* The reference for a size (inputs of `size`, tuning parameters in it are ignored), seed and kind of values; computed on `device`'s
 * reference process when it is not kept, or being computed; one at a time there, whoever asks. Borrowed until reference_release. Errors: the root does not run; with declared values also
 * a reference that proves nothing (fitness.h; ERR_INTERNAL names the harness, since no candidate can be judged by it). */
int reference_get(const struct eval *ev, const struct context *root, const struct facts *facts, struct pool_worker *device,
                  const struct params *size, uint64_t seed, enum plan_values values, const struct reference **ret_reference,
                  struct err *e);
/* Nothing is computed on `device`'s reference process until reference_let_go; waits for what is. For whoever compares times while others
 * may ask for references (reference_ahead.h), and asks for none itself. -ERR_CANCELLED. */
int reference_hold(const struct eval *ev, struct pool_worker *device, struct err *e);
void reference_let_go(const struct eval *ev, struct pool_worker *device);
void reference_release(struct references *refs, const struct reference *reference);

#endif

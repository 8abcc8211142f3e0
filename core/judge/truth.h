/* truth: what computes the exact outputs that candidates are judged by: an oracle (oracle.h) where the context has a Python
 * reference, else the `reference` block or the baseline, in double (core/context/lift.h) where that works. reference_make.c runs
 * it, as it is and on perturbed inputs. */
#ifndef PEAKD_CORE_JUDGE_TRUTH_H
#define PEAKD_CORE_JUDGE_TRUTH_H

#include "core/judge/reference.h"

enum truth_kind { TRUTH_BLOCK_LIFTED, TRUTH_BLOCK, TRUTH_BASELINE_LIFTED, TRUTH_BASELINE, TRUTH_ORACLE_DOUBLE, TRUTH_ORACLE };

struct truth {
	enum truth_kind kind;
	struct context *ctx; /* owned, as is everything here; of an oracle the baseline */
	struct params
		*params; /* to run it with: others of the same input sizes where the lifted kernel needs more than the device has */
	char *why;       /* it is not lifted; NULL: it is */
	/* What the lifted code, as it is, computes outputs in f64 in: doubles, if these differ from the truth by rounding alone. */
	enum truth_arithmetic { TRUTH_UNKNOWN, TRUTH_DOUBLES, TRUTH_FLOATS } arithmetic;
	uint64_t no_operands; /* of the arrays of the context, which are no operands (operands.h) */
	bool on_gpu;          /* an oracle that computes on a CUDA device of its own choice */
};
void truth_fini(struct truth *t);
bool truth_is_oracle(const struct truth *t);
/* In double: no rounding of narrower types is in it. */
bool truth_is_lifted(const struct truth *t);
/* Unit roundoff of permitted arithmetic for an output of this type. A lifted baseline shows whether it computes outputs in f64 in
 * doubles: HLSL's sqrt of a double is a float. For others it does where all floating arrays are f64. */
double truth_roundoff(const struct truth *t, const struct spec *spec, enum dtype output);

/* What was chosen before. Threads may share it. */
struct truth_memory;
struct truth_memory *truth_memory_new(void);
void truth_memory_free(struct truth_memory *memory);

/* Chooses for a baseline, a device and the input sizes of `params`, which the baseline runs with. For the first time the lifted
 * code and the code as it is run on the declared values in `process`, which is the caller's meanwhile: they must agree but for
 * rounding. Errors: the code as it is does not run, or -ERR_CANCELLED. */
int truth_choose(struct truth_memory *memory, const struct reference_source *j, struct pool_worker *process,
		 const struct params *params, struct truth *ret_truth, struct err *e);

#endif

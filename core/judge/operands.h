/* operands: which inputs `precision: tensor:IN/…` lets kernels round to IN. Matrix units take operands of sums of products so. An
 * input of which each element of an output needs one element alone is none: a residual, a bias, a scale of rows. */
#ifndef PEAKD_CORE_JUDGE_OPERANDS_H
#define PEAKD_CORE_JUDGE_OPERANDS_H

#include "core/workers/eval.h"
#include "core/workers/trial.h"

/* The arrays of `spec` that are no operands, bit k for array k, of those that are wider than IN. Runs the truth, which is prepared,
 * on declared values, with one input after the other moved; one at least is wider than IN. 0 where arrays are too large to be seen,
 * or no operand would be left, and on failure. */
int operands_none(struct trial *truth, const struct spec *spec, uint64_t *ret_arrays, struct err *e);
/* How much less these move than operands, when inputs are perturbed: their own arithmetic is rounded, not they. */
double operands_share(const struct spec *spec);
/* The same arrays as buffers of a plan. */
uint64_t operands_buffers(uint64_t arrays, const struct spec *spec, const struct plan *plan);

#endif

/* product: where a context declares that it computes a matrix product (`library: gemm`), the truth of a large one need not come
 * from naive code: at n = 4096 that takes 0.4 s of an H200 in double, some 200 times in a validation. core/judge/truth.c takes this
 * code only after its outputs were the lifted baseline's, but for the rounding of doubles. */
#ifndef PEAKD_CORE_JUDGE_PRODUCT_H
#define PEAKD_CORE_JUDGE_PRODUCT_H

#include "backends/wire/plan.h"
#include "core/context/context.h"

/* The context with a product in tiles as its device code, of the sizes of `plan`, which its own host code made; to be lifted.
 * -ERR_UNSUPPORTED: it declares none, or is not for CUDA. */
int product_context(const struct context *ctx, const struct plan *plan, struct context **ret_ctx, struct err *e);

#endif

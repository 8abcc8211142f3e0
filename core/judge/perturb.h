/* perturb: a lucky race needs luck: the same kernel with random delays per warp around every __syncthreads(). Delays change no result
 * of a kernel that synchronises where it must, so what differs was a race. It finds a missing barrier next to one that is there;
 * barriers in assembly and kernels without any are left as they are. CUDA only; rounds.c calls it. */
#ifndef PEAKD_CORE_JUDGE_PERTURB_H
#define PEAKD_CORE_JUDGE_PERTURB_H

#include "core/judge/rounds.h"

/* Has the instrumented kernel compiled, and kept (binaries.h), so that perturb_run finds it; nothing where none is or nothing is kept. */
void perturb_ahead(const struct eval *ev, const struct context *ctx, const struct params *params, const struct facts *facts);

/* Compiles the instrumented kernel, executes it several times, compares. *ret_unfit (free()): why that cannot be done, and then
 * nothing was judged; NULL when it was. Negative as check_run. */
int perturb_run(const struct eval *ev, struct pool_worker *device, const struct params *params,
                const struct rounds_request *request, struct check *ret_check, char **ret_unfit, struct err *e);

#endif

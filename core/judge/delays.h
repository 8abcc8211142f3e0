/* delays: a CUDA kernel with random delays where threads wait for each other, so that a race that hardly ever shows does. suite.c
 * runs it beside the kernel itself: delays change no result of a kernel that synchronises where it must. */
#ifndef PEAKD_CORE_JUDGE_DELAYS_H
#define PEAKD_CORE_JUDGE_DELAYS_H

#include "core/context/context.h"

/* The context with delays of up to 8 microseconds per warp, of other lengths in every run. They stand at the start of every kernel
 * and around __syncthreads() and its kin (cooperative groups end there, too). They also stand around assembly that names a barrier
 * or a wait. Barriers in assembly of included headers (libcu++) stay as they are. *ret_unfit (free()) instead: why this context has
 * none. */
int delays_insert(const struct context *ctx, struct context **ret_ctx, char **ret_unfit, struct err *e);

#endif

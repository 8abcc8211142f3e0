/* slack: the memory around a buffer that the driver hands out with it. It gives memory in pieces of 2 MiB; a kernel that writes
 * far beyond its red zone would hit what is left of such a piece, and nobody would see it. So every buffer has pieces of its own,
 * lies in their middle, and the rest holds a pattern. run.c allocates with it; runs.c asks after each judged execution. */
#ifndef PEAKD_BACKENDS_GPU_SLACK_H
#define PEAKD_BACKENDS_GPU_SLACK_H

#include "backends/gpu/run.h"

/* Bytes to allocate for a buffer: with its red zones and at least 256 KiB before and behind them. */
uint64_t gpu_slack_block(const struct plan_buffer *b);
/* Where the buffer begins in its block, a multiple of `align`; writes the pattern around its red zones. */
gpu_result gpu_slack_arm(const struct backend_device *d, const struct plan_buffer *b, gpu_address block, uint64_t align,
			 gpu_address *ret_buffer);
/* backend.h: strayed. */
int gpu_slack_check(struct backend_run *run, unsigned *ret_buffer, struct err *e);

#endif

/* judge: fills, truths and comparisons on the device, for arrays of gigabytes, which the host would take minutes to fill and read
 * back. It runs in the process that computes references. That process opens the candidate's buffers by IPC handles; the candidate
 * can open nothing of the judge's. Fills backend.h's `resident` for CUDA. HIP has none: its buffers are judged on the host.
 *
 * A truth is what the host keeps as values and bounds (core/judge/bound.h): y*, the sensitivity and the bound of every element, in
 * the memory of the device, under a hash. It is made in the steps of enum wire_truth_step. */
#ifndef PEAKD_BACKENDS_GPU_JUDGE_H
#define PEAKD_BACKENDS_GPU_JUDGE_H

#include "backends/worker/backend.h"

struct gpu_judge; /* of one device: the kernels, and the truths */

extern const struct backend_resident gpu_judge_resident;
/* Releases kernels and truths. NULL is fine. */
void gpu_judge_free(struct backend_device *device);

#endif

/* gemm: a plan's matrix product by cuBLASLt at its best: every algorithm that the library proposes is timed with cold caches, the fastest
 * is kept. The device remembers which ones were the fastest for a product as long as it is open: the next time only they are timed. Called
 * by run.c, and by record.c when it records one. */
#ifndef PEAKD_BACKENDS_CUDA_GEMM_H
#define PEAKD_BACKENDS_CUDA_GEMM_H

#include "backends/cuda/device.h"
#include "backends/wire/plan.h"
#include "base/err.h"

struct cuda_gemm;

/* For a plan with one gemm and nothing else. Products of f16 and bf16 accumulate in fp32, f32 in fp32 without TF32 unless the
 * plan permits it. -ERR_UNSUPPORTED without the library, or when it has no algorithm for these matrices. */
int cuda_gemm_new(struct backend_device *device, const struct plan *plan, struct cuda_gemm **ret_gemm, struct err *e);
void cuda_gemm_free(struct cuda_gemm *g);
/* Times the algorithms on these buffers, which hold the inputs. Once; later calls do nothing. */
int cuda_gemm_search(struct cuda_gemm *g, const CUdeviceptr *buffers, struct err *e);
/* Submits the product to the device's stream (also while it is captured). 0, or cuBLASLt's status. */
int cuda_gemm_issue(const struct cuda_gemm *g, const CUdeviceptr *buffers);

#endif

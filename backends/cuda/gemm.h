/* gemm: a plan's matrix product by cuBLASLt at its best, which contexts with a `library:` line are compared with. Every
 * algorithm that the library proposes is timed with cold caches, and the fastest is kept. While it is open, the device
 * remembers the finalists of a product: the next time only they are timed. Called by backend.c; facts.c asks for the
 * version. */
#ifndef PEAKD_BACKENDS_CUDA_GEMM_H
#define PEAKD_BACKENDS_CUDA_GEMM_H

#include "backends/gpu/run.h"
#include "backends/wire/plan.h"
#include "base/err.h"

struct cuda_gemm;

/* For a plan with one gemm and nothing else. Products of f16 and bf16 accumulate in fp32, f32 in fp32 without TF32 unless
 * the plan permits it. -ERR_UNSUPPORTED without the library, or when it has no algorithm for these matrices. */
int cuda_gemm_new(struct backend_device *device, const struct plan *plan, struct cuda_gemm **ret_gemm, struct err *e);
void cuda_gemm_free(struct cuda_gemm *g);
/* Times the algorithms on these buffers, which hold the inputs. Once; later calls do nothing. */
int cuda_gemm_search(struct cuda_gemm *g, const gpu_address *buffers, struct err *e);
/* Submits the product to the device's stream (also while it is captured). 0, or cuBLASLt's status. */
int cuda_gemm_issue(const struct cuda_gemm *g, const gpu_address *buffers);
/* Records run->gemm on the set that gpu_run_add_set has just allocated. */
int cuda_gemm_record(struct backend_run *run, struct err *e);
/* "13.0.2.14", from the library's file name, without opening it; "" when there is none. */
void cuda_gemm_version(char version[32]);

#endif

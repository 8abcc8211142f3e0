/* record: a plan's operations as one CUDA graph with addresses, arguments and tensor maps baked in. Called by run.c. */
#ifndef PEAKD_BACKENDS_CUDA_RECORD_H
#define PEAKD_BACKENDS_CUDA_RECORD_H

#include "backends/cuda/api.h"
#include "backends/cuda/cubin.h"
#include "backends/cuda/device.h"
#include "backends/cuda/gemm.h"
#include "backends/wire/plan.h"
#include "base/err.h"

/* All borrowed. */
struct cuda_record {
	struct backend_device *device;
	const struct plan *plan;
	const CUdeviceptr *buffers; /* first element of each of the plan's buffers */
	CUtensorMap *maps;          /* filled here */
	CUmodule module;
	struct cuda_gemm *gemm;     /* of a plan with one; else NULL */
};

/* A launch against its kernel in the binary and the device: as cuda_check_launch, and what only a device can be asked. */
int cuda_record_check(const struct backend_device *device, const struct plan_launch *launch, const struct cuda_cubin *cubin,
                      struct err *e);
/* Encodes tensor maps, sets kernels' attributes, records every operation. */
int cuda_record_graph(const struct cuda_record *r, CUgraphExec *ret_graph, struct err *e);

#endif

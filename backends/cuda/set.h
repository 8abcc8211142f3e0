/* set: one set of a plan's buffers on the device, with the graph that has their addresses baked in. A run has one that is written and
 * read, and for cold timing further ones that take turns with it, when they are together larger than the L2 cache several times over.
 * Called by run.c. */
#ifndef PEAKD_BACKENDS_CUDA_SET_H
#define PEAKD_BACKENDS_CUDA_SET_H

#include "backends/cuda/device.h"
#include "backends/wire/plan.h"
#include "base/err.h"

enum { CUDA_SET_MAX = 16 };

struct cuda_set {
	CUdeviceptr *blocks;  /* per buffer: what was allocated, red zones included */
	CUdeviceptr *buffers; /* per buffer: its first element */
	CUtensorMap *maps;    /* per tensor map of the plan; filled when it is recorded */
	CUgraphExec graph;    /* one execution of all operations; NULL until it is recorded */
};

/* Allocates. -ERR_PRUNED when the memory does not suffice. On failure what was made is left to cuda_set_fini. */
int cuda_set_init(struct cuda_set *s, struct backend_device *device, const struct plan *plan, struct err *e);
void cuda_set_fini(struct cuda_set *s, struct backend_device *device, const struct plan *plan);
/* Everything, red zones included, from one set to another. */
CUresult cuda_set_copy(struct backend_device *device, const struct plan *plan, const struct cuda_set *from, struct cuda_set *to);
/* How many sets cold timing wants: 1 when flushing the cache is the better way (few bytes would need many sets) or memory is short. */
unsigned cuda_set_wanted(const struct backend_device *device, const struct plan *plan);

#endif

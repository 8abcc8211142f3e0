/* run: one compiled binary and one plan on an NVIDIA or AMD device: buffers with red zones, launches recorded into a graph,
 * timed execution. Fills backend.h's write, read, fill, execute and release; cuda/backend.c and hip/backend.c prepare a run
 * with the rest of it.
 *
 * Cold timing rotates through several sets of all buffers when three times the cache needs no more than sixteen: nothing of
 * a set is left in the cache when its turn comes again. Smaller plans flush the cache instead. */
#ifndef PEAKD_BACKENDS_GPU_RUN_H
#define PEAKD_BACKENDS_GPU_RUN_H

#include "backends/gpu/device.h"
#include "backends/gpu/module.h"
#include "backends/wire/plan.h"
#include "backends/worker/backend.h"
#include "base/err.h"

enum { GPU_SETS_MAX = 16 };

/* A plan's buffers on the device, with the graph that has their addresses baked in. */
struct gpu_set {
	gpu_address *blocks;         /* per buffer: what was allocated, red zones included */
	gpu_address *buffers;        /* per buffer: its first element */
	struct gpu_tensor_map *maps; /* CUDA: per tensor map of the plan; filled before the set is recorded */
	gpu_exec graph;              /* one execution of all operations; NULL until recorded, or where there are no graphs */
};

struct backend_run {
	struct backend_device *device; /* borrowed */
	const struct plan *plan;       /* borrowed */
	gpu_library module;
	gpu_function *functions;           /* per operation; NULL for those that are not launches */
	struct cuda_gemm *gemm;            /* CUDA: of a library plan; else NULL */
	struct gpu_set sets[GPU_SETS_MAX]; /* they take turns in cold timing */
	unsigned set_count;                /* sets that are ready */
	unsigned wanted;                   /* sets for cold timing; 1: the cache is flushed instead; 0: not yet decided */
	unsigned current;                  /* set that is read, written and executed warm */
	unsigned home;                     /* set that was written last */
	unsigned turn;                     /* set of the last cold execution */
	bool adopted;                      /* the buffers are another process's: opened, not allocated */
	bool stale;                        /* the current set was written after the others were copied from it */
};

/* Checks the launches against the binary's kernels and the device, loads the binary and looks its functions up. -ERR_INPUT,
 * -ERR_PRUNED or -ERR_UNSUPPORTED when a launch does not fit. */
int gpu_run_load(struct backend_run *run, const void *binary, const struct gpu_module *module, struct err *e);
/* Allocates the next set, sets[set_count], which counts when it is recorded. -ERR_PRUNED when it does not fit into memory. */
int gpu_run_add_set(struct backend_run *run, struct err *e);
/* Writes the plan's tables into the current set. */
int gpu_run_write_tables(struct backend_run *run, struct err *e);
/* Records the plan's operations on the set that was added: checks cooperative launches against the device's occupancy, and
 * makes a graph where the device has graphs. */
int gpu_run_record(struct backend_run *run, struct err *e);
/* Records what the caller submits to the stream between the two calls. The end must follow, with the result of what was
 * submitted. */
gpu_result gpu_run_capture_begin(const struct backend_run *run);
gpu_result gpu_run_capture_end(struct backend_run *run, gpu_result submitted);
/* The attributes of an extensible launch (cooperative, cluster); returns their number. */
unsigned gpu_run_attributes(const struct plan_launch *l, struct gpu_launch_attribute to[GPU_ATTRIBUTES]);
/* How many sets cold timing needs: 1 when flushing the cache is the better way or memory is short. */
unsigned gpu_run_sets_wanted(const struct backend_device *device, const struct plan *plan);
/* True when cold timing needs another set: the caller adds and records it. */
bool gpu_run_wants_set(struct backend_run *run);
/* What to do when a further set cannot be made: 0 for want of memory, and the cache is flushed instead from then on; else
 * the error. */
int gpu_run_without_set(struct backend_run *run, const struct err *why, struct err *e);

int gpu_run_write(struct backend_run *run, unsigned buffer, int64_t offset, const void *from, size_t bytes, struct err *e);
int gpu_run_fill(struct backend_run *run, unsigned buffer, uint8_t value, struct err *e);
int gpu_run_read(struct backend_run *run, unsigned buffer, int64_t offset, void *to, size_t bytes, struct err *e);
/* Warm: one window around all executions, so gaps between them count. Else the mean of windows around one execution each,
 * after the cache was overwritten, or (WIRE_COLD with several sets) in the next set, after a part of the cache was
 * overwritten: that hides the time that the CPU needs to submit. Times come from two events; CUDA documents their resolution
 * as about half a microsecond. */
int gpu_run_execute(struct backend_run *run, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e);
/* Frees everything but the caller's gemm, and the run itself. NULL does nothing. */
void gpu_run_free(struct backend_run *run);

#endif

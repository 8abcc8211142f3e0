/* device: one opened NVIDIA or AMD device, with the stream and events that everything on it uses. cuda/backend.c and
 * hip/backend.c open it; run.c works with it. */
#ifndef PEAKD_BACKENDS_GPU_DEVICE_H
#define PEAKD_BACKENDS_GPU_DEVICE_H

#include "backends/gpu/api.h"
#include "backends/wire/facts.h"
#include "backends/worker/backend.h"
#include "base/err.h"

struct cuda_cupti;
struct cuda_gemm_known;
struct gpu_judge;

struct backend_device {
	struct gpu_driver api;
	struct facts facts;
	int handle;           /* CUDA: CUdevice */
	gpu_context context;  /* CUDA: the device's primary context, whose functions are the same in CUDA 12 and 13 */
	gpu_stream stream;    /* all work goes through it, in order */
	gpu_event start, end; /* of the timed window */
	gpu_address flush;    /* scratch that is written to push everything else out of the caches; 0 until first needed */
	size_t flush_bytes;
	uint64_t cache_bytes;          /* what rotated copies of buffers must displace; 0 unknown: rotation is not used */
	bool cooperative;              /* can launch cooperative kernels */
	bool tensor_maps;              /* CUDA: device and driver know tensor maps */
	bool graphs;                   /* plans are recorded once and replayed; else their operations are submitted each time */
	struct cuda_gemm_known *gemms; /* CUDA: products whose best algorithms are known (cuda/gemm.c) */
	size_t gemm_count;
	struct device_scrub {
		gpu_library module;
		gpu_function function; /* NULL: there is none */
		uint32_t bytes;        /* of shared memory that a block can have */
		bool tried;
	} scrub;                  /* overwrites shared memory (scrub.c) */
	struct cuda_cupti *cupti; /* CUDA: the profiler of a worker that reads counters (cuda/counters.c); else NULL */
	struct gpu_judge *judge;  /* CUDA: kernels that fill and compare; NULL until loaded */
};

/* Makes the stream and the events, and sizes the flush: twice the cache, at least flush_min bytes. On failure the rest is
 * left to gpu_device_close. */
int gpu_device_start(struct backend_device *device, size_t flush_min, struct err *e);
/* backend.h: close. Also of a device that has faulted, and of NULL. */
void gpu_device_close(struct backend_device *device);
/* Selects the device's context on this thread, where the API has such a thing. */
gpu_result gpu_device_use(const struct backend_device *device);
/* Makes sure that there is scratch to flush the caches with. */
gpu_result gpu_device_flush(struct backend_device *device);
/* Marks the start of a timed window on the stream; the end waits for all work in it. */
gpu_result gpu_device_window_begin(const struct backend_device *device);
gpu_result gpu_device_window_end(const struct backend_device *device, float *ret_ms);
/* The error for a driver call that failed. -ERR_CRASH: a fault, after which this process cannot use the device; -ERR_PRUNED:
 * a limit; -ERR_UNSUPPORTED: the device cannot do it; else -ERR_INTERNAL. `doing` reads as in "while DOING". */
int gpu_device_fail(const struct backend_device *device, gpu_result result, const char *doing, struct err *e);

/* --- scrub.c: a kernel of ours that overwrites the shared memory of every multiprocessor. Shared memory keeps what the last launch
 * left, and a kernel could find its results there. Called by run.c before executions that are judged or timed, outside of their windows. */

/* Loads the kernel, once for each device. Without one (HIP; a driver without its compiler of PTX), gpu_scrub does nothing. */
void gpu_scrub_prepare(struct backend_device *d);
void gpu_scrub_free(struct backend_device *d);
/* True where gpu_scrub works. */
bool gpu_scrub_works(const struct backend_device *d);
/* Submits a launch to the device's stream: all shared memory holds the word then. */
gpu_result gpu_scrub(const struct backend_device *d, uint32_t word);

#endif

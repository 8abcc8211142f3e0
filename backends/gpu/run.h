/* run: one compiled binary and one plan on an NVIDIA or AMD device: buffers with red zones, launches recorded into a graph,
 * timed execution. Fills backend.h's write, read, fill, execute and release; cuda/backend.c and hip/backend.c prepare a run
 * with the rest of it.
 *
 * Timing takes turns with several sets of all buffers, and resets a set before it is executed. Cold timing takes as many sets as
 * fill three times the cache, so that nothing of a set is left when its turn comes again. Plans so small that this needs more than
 * sixteen sets flush the cache instead. */
#ifndef PEAKD_BACKENDS_GPU_RUN_H
#define PEAKD_BACKENDS_GPU_RUN_H

#include "backends/gpu/gpu.h"
#include "backends/values/fill.h"
#include "backends/wire/plan.h"
#include "backends/worker/backend.h"
#include "base/err.h"

/* --- device.c: one opened device, with the stream and events that everything on it uses. cuda/backend.c and hip/backend.c open
 * it. */

struct cuda_cupti;
struct cuda_gemm_known;
struct gpu_judge;

enum { GPU_LOCAL_SCRUBS = 7 };

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
	char placed[65];               /* hash of the binary that was prepared last, and its turn */
	bool placed_turn;
	bool graphs;                   /* plans are recorded once and replayed; else their operations are submitted each time */
	struct cuda_gemm_known *gemms; /* CUDA: products whose best algorithms are known (cuda/gemm.c) */
	size_t gemm_count;
	struct device_scrub {
		gpu_library module;
		gpu_function function; /* NULL: there is none */
		gpu_function strayed;  /* looks at what lies around buffers (slack.c) */
		gpu_address least;     /* its answer, 4 bytes */
		struct device_local_scrub {
			gpu_library module;
			gpu_function function; /* NULL: there is none */
			bool tried;            /* no second time */
		} local[GPU_LOCAL_SCRUBS];     /* overwrite 1024, 2048, … bytes of each thread's local memory; loaded when needed */
		uint32_t bytes;        /* of shared memory that a block can have */
		bool tried;            /* no second time */
	} scrub;                  /* overwrites shared and local memory (scrub.c) */
	struct cuda_cupti *cupti; /* CUDA: the profiler of a worker that reads counters (cuda/counters.c); else NULL */
	struct gpu_judge *judge;  /* CUDA: kernels that fill and compare; NULL until loaded */
};

/* Makes the stream and the events, and sizes the flush: twice the cache, at least flush_min bytes. On failure the rest is
 * left to gpu_device_close. */
int gpu_device_start(struct backend_device *device, size_t flush_min, struct err *e);
/* backend.h: close. Also of a device that has faulted, and of NULL. */
void gpu_device_close(struct backend_device *device);
/* Makes sure that there is scratch to flush the caches with. */
gpu_result gpu_device_flush(struct backend_device *device);
/* Ends the timed window that began when `start` was recorded, and waits for all work in it. */
gpu_result gpu_device_window_end(const struct backend_device *device, float *ret_ms);
/* Copy between host and device, after all work on the stream, and wait. */
gpu_result gpu_device_write(const struct backend_device *device, gpu_address to, const void *from, size_t bytes);
gpu_result gpu_device_read(const struct backend_device *device, void *to, gpu_address from, size_t bytes);
/* The error for a driver call that failed. -ERR_CRASH: a fault, after which this process cannot use the device; -ERR_PRUNED:
 * a limit; -ERR_UNSUPPORTED: the device cannot do it; else -ERR_INTERNAL. `doing` reads as in "while DOING". */
int gpu_device_fail(const struct backend_device *device, gpu_result result, const char *doing, struct err *e);

/* --- scrub.c: a kernel of ours that overwrites the shared memory of every multiprocessor. Shared memory keeps what the last launch
 * left, and a kernel could find its results there. Called by run.c before executions that are judged or timed, outside of their
 * windows. */

/* Loads the kernels, once for each device. Without them (HIP; a driver without its compiler of PTX), gpu_scrub does nothing. */
void gpu_scrub_prepare(struct backend_device *d);
void gpu_scrub_free(struct backend_device *d);
/* Submits launches to the device's stream: all shared memory holds the word then. local: the plan's threads' local memory is
 * overwritten, too, as far as the driver has room, which also empties caches. */
gpu_result gpu_scrub(const struct backend_run *run, uint32_t word, bool local);

/* --- judge.c: fills, truths and comparisons on the device, for arrays of gigabytes, which the host would take minutes to fill and
 * read back. It runs in the process that computes references. That process opens the candidate's buffers by IPC handles; the
 * candidate can open nothing of the judge's. Fills backend.h's `resident` for CUDA. HIP has none: its buffers are judged on the
 * host.
 *
 * A truth is what the host keeps as values and bounds (core/judge/bound.h): y*, the sensitivity and the bound of every element, in
 * the memory of the device, under a hash. It is made in the steps of enum wire_truth_step. */

extern const struct backend_resident gpu_judge_resident;
/* Releases kernels and truths. */
void gpu_judge_free(struct backend_device *device);

/* --- run.c: a binary and a plan on the device ------------------------------------------------------------------------ */

enum { GPU_SETS_MAX = BACKEND_SETS_MAX };

/* A plan's buffers on the device, with the graph that has their addresses baked in. */
/* Of a buffer's values that the judge made (judge.c). */
struct gpu_sum {
	bool known;
	struct fill_choice choice;
	uint64_t sum;
};

struct gpu_set {
	gpu_address *blocks;         /* per buffer: what was allocated, with red zones and slack (slack.c) */
	gpu_address *buffers;        /* per buffer: its first element */
	gpu_address *kept;           /* per buffer: what an inout buffer is restored from; 0: not known, or not inout */
	struct gpu_sum *sums;        /* per buffer; NULL until the judge makes values */
	bool reset;                  /* outputs, scratch and inout are as a timed execution must find them */
	struct gpu_tensor_map *maps; /* CUDA: per tensor map of the plan; filled before the set is recorded */
	gpu_exec graph;              /* one execution of all operations; NULL until recorded, or where there are no graphs */
};

struct backend_run {
	struct backend_device *device; /* borrowed */
	const struct plan *plan;       /* borrowed */
	const void *binary;            /* borrowed; NULL: a library plan, or adopted */
	size_t binary_len;
	gpu_library module;
	gpu_function *functions;           /* per operation; NULL for those that are not launches */
	struct cuda_gemm *gemm;            /* CUDA: of a library plan; else NULL */
	struct gpu_set sets[GPU_SETS_MAX]; /* they take turns in timing */
	unsigned set_count;                /* sets that are ready */
	unsigned current;                  /* set that is read, written and executed */
	bool rotates;                      /* there are enough sets for WIRE_COLD without flushing the cache */
	bool turn;                         /* where buffers begin (slack.c): prepared again at once, they begin elsewhere */
	unsigned local_bytes;              /* of local memory, at most, that a thread of its kernels has */
	bool adopted;                      /* the buffers are another process's: opened, not allocated */
};

/* Checks the launches against the binary's kernels and the device. Loads the binary, looks its functions up, allocates the first
 * set and writes the plan's tables into it. -ERR_INPUT, -ERR_PRUNED or -ERR_UNSUPPORTED when a launch or the buffers do not fit. */
int gpu_run_load(struct backend_run *run, const void *binary, const struct gpu_module *module, struct err *e);
/* Allocates the next set, sets[set_count], which counts when it is recorded. -ERR_PRUNED when it does not fit into memory. */
int gpu_run_add_set(struct backend_run *run, struct err *e);
/* Records the plan's operations on the set that was added: checks cooperative launches against the device's occupancy, and
 * makes a graph where the device has graphs. */
int gpu_run_record(struct backend_run *run, struct err *e);
/* Records what the caller submits to the stream between the two calls. The end must follow, with the result of what was
 * submitted. */
gpu_result gpu_run_capture_begin(const struct backend_run *run);
gpu_result gpu_run_capture_end(struct backend_run *run, gpu_result submitted);
/* How many sets this way of timing needs, and memory allows. *ret_rotates: so many that the cache need not be flushed. */
unsigned gpu_run_sets_wanted(const struct backend_device *device, const struct plan *plan, enum wire_cache cache,
			     bool *ret_rotates);
/* Makes them; `record` records the set that was added. backend.h: make_sets. */
int gpu_run_make_sets(struct backend_run *run, enum wire_cache cache, int (*record)(struct backend_run *run, struct err *e),
		      unsigned *ret_count, struct err *e);
/* backend.h */
void gpu_run_use_set(struct backend_run *run, unsigned set);
unsigned gpu_run_used_set(const struct backend_run *run);
int gpu_run_keep_inout(struct backend_run *run, struct err *e);
int gpu_run_copy_set(struct backend_run *run, unsigned from, struct err *e);
bool gpu_run_scrubs(const struct backend_run *run);
int gpu_run_scrub(struct backend_run *run, uint32_t word, struct err *e);

int gpu_run_write(struct backend_run *run, unsigned buffer, int64_t offset, const void *from, size_t bytes, struct err *e);
int gpu_run_fill(struct backend_run *run, unsigned buffer, uint8_t value, struct err *e);
int gpu_run_read(struct backend_run *run, unsigned buffer, int64_t offset, void *to, size_t bytes, struct err *e);
/* Warm: one window around all executions, so gaps between them count. Else the mean of windows around one execution each.
 * Something is always written just before a window, which hides the time that the CPU needs to submit. Times come from two events;
 * CUDA documents their resolution as about half a microsecond. */
int gpu_run_execute(struct backend_run *run, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e);
/* Submits what precedes one timed execution: sets of buffers take turns and are reset, caches flushed. Not for WIRE_WARM. The
 * flush's scratch must be there (gpu_device_flush). */
gpu_result gpu_run_before_window(struct backend_run *run, enum wire_cache cache);
/* backend.h: split. */
int gpu_run_split(struct backend_run *run, uint64_t *ret_ns, struct err *e);
/* Frees everything but the caller's gemm, and the run itself. NULL does nothing. */
void gpu_run_free(struct backend_run *run);

/* What both vendors put into their tables. */
#define GPU_RUN_BACKEND                                                                                                            \
	.close = gpu_device_close, .write = gpu_run_write, .read = gpu_run_read, .fill = gpu_run_fill, .use_set = gpu_run_use_set, \
	.used_set = gpu_run_used_set, .keep_inout = gpu_run_keep_inout, .copy_set = gpu_run_copy_set, .scrubs = gpu_run_scrubs,    \
	.scrub = gpu_run_scrub, .split = gpu_run_split, .strayed = gpu_slack_check

/* --- submit.c: a plan's operations on the stream of an NVIDIA or AMD device. Called by run.c, which records them into a graph or
 * times them one by one, and by cuda/backend.c. */

/* The attributes of an extensible launch (cooperative, cluster); returns their number. */
unsigned gpu_submit_attributes(const struct plan_launch *l, struct gpu_launch_attribute to[GPU_ATTRIBUTES]);
/* Submits operation i of the plan on the set's buffers. */
gpu_result gpu_submit_op(const struct backend_run *run, const struct gpu_set *set, size_t i);
/* Submits every operation, in order; *ret_op: the number of the last one tried, from 1. */
gpu_result gpu_submit_plan(const struct backend_run *run, const struct gpu_set *set, size_t *ret_op);

/* --- slack.c: the memory around a buffer that the driver hands out with it. It gives memory in pieces of 2 MiB; a kernel that
 * writes far beyond its red zone would hit what is left of such a piece, and nobody would see it. So every buffer has pieces of its
 * own, and the rest holds a pattern. Every other buffer lies in their middle, the others begin with a piece, as large buffers of
 * users do; so it is the other way round in the next set, and where the same binary is prepared again. run.c
 * allocates with it; runs.c asks after each judged execution. */

/* Bytes to allocate for a buffer: with its red zones and at least 256 KiB before and behind them. */
uint64_t gpu_slack_block(const struct plan_buffer *b);
/* Where the buffer begins in its block, a multiple of `align` or, paged, of 2 MiB; writes the pattern around its red zones. */
gpu_result gpu_slack_arm(const struct backend_device *d, const struct plan_buffer *b, gpu_address block, uint64_t align, bool paged,
			 gpu_address *ret_buffer);
/* backend.h: strayed. */
int gpu_slack_check(struct backend_run *run, unsigned *ret_buffer, struct err *e);

#endif

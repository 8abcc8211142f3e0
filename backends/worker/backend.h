/* backend: the table through which a worker reaches a vendor's API. backends/{cuda,hip,hlsl}/ each fill one;
 * backends/worker/backend.c lists them. Everything runs in a worker process, on one thread, and may die: nothing here
 * needs to survive a fault.
 *
 * Errors: ERR_UNSUPPORTED (library or device missing: say what to install), ERR_COMPILE (the compiler's own text),
 * ERR_PRUNED (the device cannot launch this configuration: say which limit, asked and allowed), ERR_INPUT (arguments do
 * not fit the kernel), ERR_CRASH (device fault), ERR_IO (the device is in trouble by itself; after both the worker ends), ERR_BUSY
 * (no room on the device now), ERR_INTERNAL. */
#ifndef PEAKD_BACKENDS_WORKER_BACKEND_H
#define PEAKD_BACKENDS_WORKER_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/sandbox/sandbox.h"
#include "backends/timing/gpu_monitor.h"
#include "backends/wire/facts.h"
#include "backends/wire/plan.h"
#include "backends/wire/wire.h"
#include "base/err.h"

struct backend_device; /* each backend's own */
struct backend_run;    /* a loaded binary with buffers for one plan on one device */

struct ceilings_kernel;
struct fill_choice;

/* What a backend can do to buffers without the host: gpu/judge.c. All errors as below. */
struct backend_resident {
	const char *source; /* of the kernels, for compile */
	/* The compiled kernels; once per process, before all others but share. Without bytes: -ERR_NOT_FOUND when it has none
	 * yet. */
	int (*load)(struct backend_device *device, const void *binary, size_t len, struct err *e);
	/* Names the allocation that holds a buffer, for another process. */
	int (*share)(struct backend_run *run, unsigned buffer, struct wire_share *ret_share, struct err *e);
	/* A run whose buffers are another process's, or (shares is NULL) memory of its own that nothing is launched on: it can be
	 * written, read, filled, shared and compared, and released. */
	int (*adopt)(struct backend_device *device, const struct plan *plan, const struct wire_share *shares,
		     struct backend_run **ret_run, struct err *e);
	/* The buffer's values as backends/values/fill.h makes them, and whether it still holds them. */
	int (*make)(struct backend_run *run, unsigned buffer, const struct fill_choice *choice, struct err *e);
	int (*same)(struct backend_run *run, unsigned buffer, const struct fill_choice *choice, bool *ret_same, struct err *e);
	/* One step of a truth; `buffer` of the run is looked at. */
	int (*truth)(struct backend_device *device, struct backend_run *run, unsigned buffer, const struct wire_truth *step,
		     struct wire_truth_found *ret_found, struct err *e);
	/* False when the device keeps no truth under this hash. */
	bool (*has)(const struct backend_device *device, const char *hash);
	int (*compare)(struct backend_run *run, unsigned buffer, const struct wire_compare *request,
		       struct wire_compared *ret_compared, struct err *e);
};

/* More than 20 fields: this is everything that a vendor has to implement. */
struct backend {
	const char *name;
	const struct gpu_monitor_source *monitor; /* NULL: no monitoring library */
	const struct ceilings_kernel *ceilings;   /* kernels that keep one pipe busy, up to a NULL name; NULL: none */
	const struct backend_resident *resident;  /* NULL: buffers are judged on the host alone */
	/* Devices that can run. Where the library is missing: -ERR_UNSUPPORTED, naming the package that brings it.
	 * *ret_facts: free(). */
	int (*devices)(struct facts **ret_facts, size_t *ret_count, struct err *e);
	/* Facts of a named architecture ("sm_90a") without any device: limits from the vendor's published tables. */
	int (*describe)(const char *arch, struct facts *ret_facts, struct err *e);
	/* Compiles in this process, and checks what needs no device (SPIR-V validity, resources, numthreads against the
	 * plan's block). ret_compiled owned by the caller (wire_compiled_fini). */
	int (*compile)(const struct wire_compile *request, struct wire_compiled *ret_compiled, struct err *e);
	int (*open)(uint32_t index, struct backend_device **ret_device, struct err *e);
	void (*close)(struct backend_device *device);
	/* Loads the binary, allocates every buffer with red zones of BACKEND_RED_ZONE bytes on both sides, and encodes tensor maps.
	 * Checks launch geometry, shared memory and arguments against the kernels. A library plan (plan_is_library) has no binary;
	 * -ERR_UNSUPPORTED where there is no such library. Both pointers stay borrowed until release. */
	int (*prepare)(struct backend_device *device, const void *binary, size_t len, const struct plan *plan,
		       struct backend_run **ret_run, struct err *e);
	/* Copies between host memory and the buffer's bytes [offset, offset+bytes), which may reach into both red
	 * zones. */
	int (*write)(struct backend_run *run, unsigned buffer, int64_t offset, const void *from, size_t bytes, struct err *e);
	int (*read)(struct backend_run *run, unsigned buffer, int64_t offset, void *to, size_t bytes, struct err *e);
	/* Sets all bytes of the buffer, without its red zones. May return early if later calls wait for it. NULL: the
	 * host writes them. */
	int (*fill)(struct backend_run *run, unsigned buffer, uint8_t value, struct err *e);
	/* Makes sets of all buffers for timing, each at other addresses, and says how many there are: BACKEND_SETS;
	 * more where WIRE_COLD is best had by rotating through more memory than the cache holds; fewer where memory is
	 * short, or for WIRE_FLUSHED where more would take long to write. The caller writes all of them. */
	int (*make_sets)(struct backend_run *run, enum wire_cache cache, unsigned *ret_count, struct err *e);
	/* Selects the set that write, read, fill, keep_inout and execute mean. WIRE_COLD and WIRE_FLUSHED begin with
	 * the set behind it and go through all. */
	void (*use_set)(struct backend_run *run, unsigned set);
	/* After WIRE_COLD and WIRE_FLUSHED: the set that was executed last, whose outputs are as that left them. */
	unsigned (*used_set)(const struct backend_run *run);
	/* Keeps a copy on the device of what the selected set's inout buffers hold: timed executions start from it. */
	int (*keep_inout)(struct backend_run *run, struct err *e);
	/* Gives the selected set everything that another one holds. NULL: not possible. */
	int (*copy_set)(struct backend_run *run, unsigned from, struct err *e);
	/* Executes the plan's operations `times` times and waits. WIRE_WARM: back to back in one timed window, with
	 * nothing in between. Else each has a window of its own, and before it, untimed and in this order: WIRE_HOT
	 * executes once; outputs and scratch are overwritten with WIRE_TIMED_POISON, inout is restored, shared memory is
	 * overwritten; WIRE_FLUSHED and WIRE_COLD flush the last-level cache, or WIRE_COLD rotates through so many sets
	 * that it holds nothing of the next. WIRE_UNRESET is WIRE_HOT where only inout is restored. ret_ns: device time
	 * per execution (events, timestamps). */
	int (*execute)(struct backend_run *run, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e);
	/* Where the device is the CPU: the next WIRE_HOT and WIRE_UNRESET executions tell this process's processor time, which
	 * other load does not lengthen. Ignored elsewhere; NULL: the same. */
	void (*use_cpu_time)(struct backend_run *run, bool on);
	/* One cold execution; ret_ns gets the device time of each operation of the plan. */
	int (*split)(struct backend_run *run, uint64_t *ret_ns, struct err *e);
	/* Hardware counters and stalls of each kernel, from the vendor's profiler. NULL: there is none. What the machine refuses is
	 * no error: ret_counters says why a view is closed. */
	int (*counters)(struct backend_run *run, struct wire_counters *ret_counters, struct err *e);
	/* Whether an execution may read what an earlier one left in outputs, inout, scratch or shared memory. NULL: it may. */
	bool (*keeps)(const struct backend_run *run);
	/* Whether shared memory is overwritten before timed executions. */
	bool (*scrubs)(const struct backend_run *run);
	/* Overwrites the shared memory of the whole device with one of the two words below, before the next execution.
	 * Does nothing where the device has no kernel for it. */
	int (*scrub)(struct backend_run *run, uint32_t word, struct err *e);
	void (*release)(struct backend_run *run);
	/* *ret_buffer: 1 + the buffer near which something was written beyond a red zone, into memory that nobody owns; 0
	 * none. NULL: there is no such memory. */
	int (*strayed)(struct backend_run *run, unsigned *ret_buffer, struct err *e);
	/* Interprets the plan on the host. Looks for races, and for results that depend on memory which nobody wrote, or (as
	 * `ordered` says) on the order of groups. NULL: there is no interpreter. ret_raced (wire_raced_fini) tells the first; NULL
	 * there: none. -ERR_UNSUPPORTED when it cannot judge this code. */
	int (*races)(const struct backend_device *device, const void *binary, size_t len, const struct plan *plan,
		     const struct wire_races *asked, struct wire_raced *ret_raced, struct err *e);
	/* Interprets the plan on the host and counts what its kernels do. NULL: there is no interpreter. -ERR_UNSUPPORTED when it
	 * does not know this code. */
	int (*count)(const struct backend_device *device, const void *binary, size_t len, const struct plan *plan, uint64_t seed,
		     struct wire_counted *ret_counted, struct err *e);
};

/* Large numbers of opposite sign in f16, bf16 and f32: neither max() nor min() hides both. */
#define BACKEND_SCRUB_TIMED UINT32_C(0x5A5A5A5A)
#define BACKEND_SCRUB_OTHER UINT32_C(0xDADADADA)
enum { BACKEND_RED_ZONE = 64 << 10 };
enum { BACKEND_SETS = 3, BACKEND_SETS_MAX = 16 };

/* NULL-terminated: cuda, hip (where built), hlsl. */
extern const struct backend *const backend_table[];
/* Where bytes [offset, offset+bytes) of a buffer are, from the start of its first red zone; -ERR_INPUT when they leave
 * its red zones. */
int backend_place(const struct plan *plan, unsigned buffer, int64_t offset, size_t bytes, uint64_t *ret_at, struct err *e);
/* NULL when there is none of that name. */
const struct backend *backend_find(const char *name);
/* Opens the libraries that the vendors' compilers need in this role, so that ld.so is done with them, and says what
 * they will read. */
void backend_sandbox_needs(enum sandbox_role role, struct sandbox_needs *ret_needs);

#endif

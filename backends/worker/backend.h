/* backend: the one table through which a worker reaches a vendor's API. backends/{cuda,hip,hlsl}/ each fill one; backends/worker/backend.c
 * lists them. Everything runs in a worker process, on one thread, and may die: nothing here needs to survive a fault.
 *
 * Errors: ERR_UNSUPPORTED (library or device missing: say what to install), ERR_COMPILE (the compiler's own text, first errors
 * first), ERR_PRUNED (the device cannot launch this configuration: say which limit, asked and allowed), ERR_INPUT (arguments
 * do not fit the kernel), ERR_CRASH (device fault: the worker ends itself after answering), ERR_INTERNAL. */
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

struct backend {
	const char *name;
	const struct gpu_monitor_source *monitor; /* NULL: no monitoring library */
	const struct ceilings_kernel *ceilings;   /* kernels that keep one pipe busy (ceilings.h); ends with a NULL name; NULL: none */
	/* Devices that can run, then nothing else. A backend whose library is missing fails with ERR_UNSUPPORTED and says which
	 * package brings it. *ret_facts is an array owned by the caller (free()). */
	int (*devices)(struct facts **ret_facts, size_t *ret_count, struct err *e);
	/* Facts of a named architecture ("sm_90a") without any device: limits from the vendor's published tables. */
	int (*describe)(const char *arch, struct facts *ret_facts, struct err *e);
	/* JIT in this process; checks what can be checked without a device (SPIR-V validity, resources, numthreads against the
	 * plan's block). ret_compiled owned by the caller (wire_compiled_fini). */
	int (*compile)(const struct wire_compile *request, struct wire_compiled *ret_compiled, struct err *e);
	int (*open)(uint32_t index, struct backend_device **ret_device, struct err *e);
	void (*close)(struct backend_device *device);
	/* A plan that is the vendor library's alone (plan_is_library) has no binary; -ERR_UNSUPPORTED where there is no such library.
	 * Loads the binary, allocates every buffer with red zones of backend_red_zone bytes on both sides, encodes tensor maps, checks
	 * launch geometry, shared memory and arguments against the kernels. Both pointers stay borrowed until release. */
	int (*prepare)(struct backend_device *device, const void *binary, size_t len, const struct plan *plan,
	               struct backend_run **ret_run, struct err *e);
	/* Copies between host memory and the buffer's bytes [offset, offset+bytes); offsets run from -red zone to bytes + red zone. */
	int (*write)(struct backend_run *run, unsigned buffer, int64_t offset, const void *from, size_t bytes, struct err *e);
	int (*read)(struct backend_run *run, unsigned buffer, int64_t offset, void *to, size_t bytes, struct err *e);
	/* All of the buffer, without its red zones, becomes this byte; may return before it is done, as long as what comes after waits for it.
	 * NULL: it is written from the host. */
	int (*fill)(struct backend_run *run, unsigned buffer, uint8_t value, struct err *e);
	/* Executes the plan's operations `times` times back to back and waits; WIRE_FLUSHED: flushes the last-level cache before each;
	 * WIRE_COLD: does that or takes turns with copies of all buffers that are large enough together. ret_ns: device time per execution
	 * (events, timestamps), without the flush. Where copies took turns, read and write mean one of them from then on, not the one that
	 * was written before. */
	int (*execute)(struct backend_run *run, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e);
	void (*release)(struct backend_run *run);
	/* Interprets the plan on the host and looks for races between the threads of a block; NULL where there is no interpreter.
	 * *ret_finding (free()): the first one in words, NULL none. -ERR_UNSUPPORTED when it cannot judge this code. */
	int (*races)(const void *binary, size_t len, const struct plan *plan, uint64_t seed, char **ret_finding, struct err *e);
};

enum { BACKEND_RED_ZONE = 4096 };

/* NULL-terminated: cuda, hip (where built), hlsl. */
extern const struct backend *const backend_table[];
/* Where bytes [offset, offset+bytes) of a buffer stand, from the beginning of its first red zone; -ERR_INPUT for what is not within both. */
int backend_place(const struct plan *plan, unsigned buffer, int64_t offset, size_t bytes, uint64_t *ret_at, struct err *e);
/* NULL when there is none of that name. */
const struct backend *backend_find(const char *name);
/* Opens the libraries that the vendors' compilers need in this role, so that ld.so is done with them, and says what they will read. */
void backend_sandbox_needs(enum sandbox_role role, struct sandbox_needs *ret_needs);

#endif

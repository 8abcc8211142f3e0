/* hlsl: what the files of the HLSL backend call of each other, and its table for backends/worker/backend.c; object.h has the
 * binary, device.h the Vulkan device, race_lane.h the interpreter. */
#ifndef PEAKD_BACKENDS_HLSL_HLSL_H
#define PEAKD_BACKENDS_HLSL_HLSL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/hlsl/object.h"
#include "backends/timing/ceilings.h"
#include "backends/wire/facts.h"
#include "backends/wire/plan.h"
#include "backends/wire/wire.h"
#include "backends/worker/backend.h"
#include "base/buf.h"
#include "base/err.h"

/* --- backend.c: the HLSL backend's table, for backends/worker/backend.c. HLSL is compiled to SPIR-V in this process and run by
 * Vulkan. */

extern const struct backend backend_hlsl;

/* --- facts.c: what Vulkan says about its devices, for the table in backend.c. */

/* Compile target of everything here. */
#define FACTS_ARCH "spirv1.3"

int hlsl_facts_devices(struct facts **ret_facts, size_t *ret_count, struct err *e);
/* "spirv1.3": the limits that every Vulkan device has at least. */
int hlsl_facts_describe(const char *arch, struct facts *ret_facts, struct err *e);

/* --- compile.c: HLSL regions to SPIR-V kernels (object.h), for the table in backend.c. */

/* backend.h: compile. Defines come first, then the arguments' declarations (bind.h), macros, device code. Checks every
 * launch against its kernel: numthreads, and that the launch passes all bindings and scalars that the kernel uses
 * (-ERR_INPUT). */
int hlsl_compile(const struct wire_compile *request, struct wire_compiled *ret_compiled, struct err *e);

/* --- probe.c: what if loads, stores or barriers were free? Rewrites a compiled kernel so that they nearly are; its results are
 * wrong then, and only its time counts. Called by compile.c. */

/* Replaces *io_words (malloc). Loads: floating inputs and scratch are read from their first 64 elements, which any cache holds;
 * stores: outputs are written there; barriers are left out. `launch` says which buffer a binding is. -ERR_UNSUPPORTED when the
 * kernel has nothing of that kind. */
int hlsl_probe(enum wire_probe probe, const struct plan *plan, const struct plan_launch *launch, uint32_t **io_words,
	       size_t *io_count, struct err *e);

/* --- ceilings.c: the kernels that keep a Vulkan device busy; see backends/timing/ceilings.h. Listed in backend.c. */

/* Ends with a NULL name. */
extern const struct ceilings_kernel hlsl_ceilings[];

/* --- bind.c: how HLSL code sees a plan. Every buffer argument becomes a global by its name, every scalar a member of one
 * push-constant block. The text that declares them goes before the macros. Called by compile.c (names in, text out) and by
 * backend.c and race.c (names of a module's bindings back to arguments).
 *
 *   f32, f64, i32, u32   NAME is a StructuredBuffer of float, double, int, uint; RWStructuredBuffer when it may be written
 *   f16                  NAME is a StructuredBuffer<half>; `half` and min16float are then true 16-bit types everywhere
 *   i64, u64             NAME is a StructuredBuffer<uint2>: low word, high word
 *   other types          NAME is a ByteAddressBuffer
 *   views of any buffer  NAME_float, _float2, _float4, _int, _int2, _int4, _uint, _uint2, _uint4, _half, _half2, _half4 and
 *                        NAME_bytes (ByteAddressBuffer): the same memory with other elements
 *
 * Only names that occur in the macros or the device code are declared. */

/* Appends the declarations; ret_half: the code needs true 16-bit types. -ERR_INPUT for arguments that cannot be bound by
 * name (no name, not an identifier, one name for two types). */
int hlsl_bind_declare(const struct wire_compile *request, struct buf *out, bool *ret_half, struct err *e);
/* The argument of this launch that the global `name` belongs to (itself or one of its views); NULL: none. */
const struct plan_arg *hlsl_bind_find(const struct plan *plan, const struct plan_launch *launch, const char *name);
/* Whether the launch gives what the kernel expects: block = numthreads, a buffer for every binding, a scalar for every one used.
 * Nothing may be there that only CUDA has (clusters, dynamic shared memory, cooperative launches). -ERR_INPUT. */
int hlsl_bind_check(const struct plan *plan, const struct plan_launch *launch, const struct spirv *s, struct err *e);
/* Writes a scalar argument as the member of the push constants that the code sees. */
void hlsl_bind_store(const struct spirv_member *m, const struct plan_arg *a, uint8_t *to);

/* --- race.c: interprets a plan's kernels and finds: threads that touch the same memory in no defined order (shared memory within a
 * group, buffers within a group and between groups); barriers that some threads do not reach; results that depend on memory which
 * nobody wrote; accesses outside of buffers. A GPU, and lavapipe above all, may run such a kernel correctly for years. */

/* backend.h: races. Runs as many groups of each launch as eight million instructions allow (in all two million where values are not
 * the declared ones). Runs them once more when something was read that nobody wrote: its outputs must not depend on it. Where there
 * are atomic operations, runs them with groups that take turns, too, and backwards where `ordered` does not permit any order.
 * wave: lanes of the device's waves; 0 unknown. ret_raced: wire_raced_fini; without a finding NULL stands there.
 * -ERR_UNSUPPORTED for what the interpreter does not know (images, barriers of other scopes). Touches host memory only. */
int hlsl_race_check(const void *binary, size_t len, const struct plan *plan, const struct wire_races *asked, uint32_t wave,
		    struct wire_raced *ret_raced, struct err *e);
/* backend.h: count. Of each launch as many groups as the same budget allows. wave: as above. */
int hlsl_race_count(const void *binary, size_t len, const struct plan *plan, uint64_t seed, uint32_t wave,
		    struct wire_counted *ret_counted, struct err *e);

#endif

/* bind: how HLSL code sees a plan. Every buffer argument becomes a global by its name, every scalar a member of one
 * push-constant block; the text that declares them goes before the macros. Called by compile.c (names in, text out) and by
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
#ifndef PEAKD_BACKENDS_HLSL_BIND_H
#define PEAKD_BACKENDS_HLSL_BIND_H

#include <stdbool.h>

#include "backends/hlsl/object.h"
#include "backends/wire/plan.h"
#include "backends/wire/wire.h"
#include "base/buf.h"
#include "base/err.h"

/* Appends the declarations; ret_half: the code needs true 16-bit types. -ERR_INPUT for arguments that cannot be bound by
 * name (no name, not an identifier, one name for two types). */
int hlsl_bind_declare(const struct wire_compile *request, struct buf *out, bool *ret_half, struct err *e);
/* The argument of this launch that the global `name` belongs to (itself or one of its views); NULL: none. */
const struct plan_arg *hlsl_bind_find(const struct plan *plan, const struct plan_launch *launch, const char *name);
/* Whether the launch gives what the kernel expects: block = numthreads, a buffer for every binding, a scalar for every one
 * used, and nothing that only CUDA has (clusters, dynamic shared memory, cooperative launches). -ERR_INPUT. */
int hlsl_bind_check(const struct plan *plan, const struct plan_launch *launch, const struct spirv *s, struct err *e);
/* Writes a scalar argument as the member of the push constants that the code sees. */
void hlsl_bind_store(const struct spirv_member *m, const struct plan_arg *a, uint8_t *to);

#endif

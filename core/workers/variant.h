/* variant: a context under one set of execution parameters: its plan (host code has run) and its binary (the compiler has run).
 * Built in a compile lane, used in a device lane. */
#ifndef PEAKD_CORE_WORKERS_VARIANT_H
#define PEAKD_CORE_WORKERS_VARIANT_H

#include "backends/wire/wire.h"
#include "core/context/context.h"
#include "core/workers/eval.h"

struct variant {
	struct params *params;
	struct plan *plan;
	struct wire_compiled compiled;
};

/* Runs host code and compiles, on a compile worker that is leased meanwhile. -ERR_PRUNED when host code or the device's limits
 * refuse the parameters, -ERR_COMPILE with the compiler's log, or what went wrong with the worker. */
int variant_build(const struct eval *ev, const struct context *ctx, const struct params *params, const struct facts *facts,
		  struct variant *ret_variant, struct err *e);
/* Compiles for the device, or remembers what a compiler answered (binaries.h). Errors as above; wire_compiled_fini. */
int variant_compile(const struct eval *ev, const struct wire_compile *request, const struct facts *facts,
		    struct wire_compiled *ret_compiled, struct err *e);
void variant_fini(struct variant *v);
/* The largest registers, shared memory (static and dynamic, bytes a block) and spills among its kernels; -1 when not known. */
void variant_resources(const struct variant *v, int64_t *ret_registers, int64_t *ret_shared, int64_t *ret_spill);
/* What it was compiled to, in lines: its parameters, each kernel's resources, the compiler's own words. free(). */
char *variant_describe(const struct variant *v);
/* Number of the plan's outputs (OUT and INOUT buffers), and the k-th one. */
size_t variant_output_count(const struct variant *v);
const struct plan_buffer *variant_output(const struct variant *v, size_t k);

#endif

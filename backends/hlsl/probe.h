/* probe: what if loads, stores or barriers were free? Rewrites a compiled kernel so that they nearly are; its results are wrong then, and
 * only its time counts. Called by compile.c. */
#ifndef PEAKD_BACKENDS_HLSL_PROBE_H
#define PEAKD_BACKENDS_HLSL_PROBE_H

#include "backends/wire/wire.h"

/* Replaces *io_words (malloc). Loads: floating inputs and scratch are read from their first 64 elements, which any cache holds; stores:
 * outputs are written there; barriers are left out. `launch` says which buffer a binding is. -ERR_UNSUPPORTED when the kernel has
 * nothing of that kind. */
int hlsl_probe(enum wire_probe probe, const struct plan *plan, const struct plan_launch *launch, uint32_t **io_words, size_t *io_count,
	       struct err *e);

#endif

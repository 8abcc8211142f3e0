/* source: the text that a C compiler for devices is given: a context's parameters as macros, its macros region, its device region, each with its
 * own line numbers. Called by backends/cuda/compile.c and backends/hip/compile.c, which put the vendor's own lines around it. */
#ifndef PEAKD_BACKENDS_GPU_SOURCE_H
#define PEAKD_BACKENDS_GPU_SOURCE_H

#include "backends/wire/wire.h"
#include "base/buf.h"
#include "base/err.h"

/* Adds it to out. -ERR_INPUT for a parameter that cannot become a macro. */
int source_add(const struct wire_compile *request, struct buf *out, struct err *e);

#endif

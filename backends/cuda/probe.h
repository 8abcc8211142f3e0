/* probe: a kernel rewritten so that its loads or stores nearly cost nothing: its PTX accesses global memory at addresses rounded down to
 * 64 KiB, which a buffer's red zone makes legal, so that all lanes of a warp meet at one sector that caches hold. Results are wrong.
 * Only accesses to floats change: an integer may be an index. Called by compile.c. */
#ifndef PEAKD_BACKENDS_CUDA_PROBE_H
#define PEAKD_BACKENDS_CUDA_PROBE_H

#include "backends/wire/wire.h"
#include "base/buf.h"
#include "base/err.h"

/* Appends the rewritten PTX; returns the number of accesses that changed. probe: LOADS or STORES. */
size_t cuda_probe_rewrite(const char *ptx, enum wire_probe probe, struct buf *out);
/* Replaces the compiled binary by that of the rewritten PTX, by nvJitLink, a library of the toolkit. -ERR_UNSUPPORTED: there is no such
 * library, or nothing to rewrite. */
int cuda_probe_apply(const char *ptx, const char *arch, enum wire_probe probe, struct wire_compiled *io_compiled, struct err *e);

#endif

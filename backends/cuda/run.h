/* run: one compiled binary and one plan on one device: buffers, tensor maps, launches recorded into a graph, execution with times.
 * Fills backend.h's prepare, write, read, fill, execute and release.
 *
 * Times come from two events around replays of the graph; the driver's documentation gives them a resolution of about half a
 * microsecond (cuEventElapsedTime). */
#ifndef PEAKD_BACKENDS_CUDA_RUN_H
#define PEAKD_BACKENDS_CUDA_RUN_H

#include "backends/worker/backend.h"
#include "base/err.h"

/* backend.h: prepare. -ERR_PRUNED when the device cannot launch it or the buffers do not fit into its memory. */
int cuda_run_prepare(struct backend_device *device, const void *binary, size_t len, const struct plan *plan,
                     struct backend_run **ret_run, struct err *e);
int cuda_run_write(struct backend_run *run, unsigned buffer, int64_t offset, const void *from, size_t bytes, struct err *e);
int cuda_run_fill(struct backend_run *run, unsigned buffer, uint8_t value, struct err *e);
int cuda_run_read(struct backend_run *run, unsigned buffer, int64_t offset, void *to, size_t bytes, struct err *e);
/* Warm: one window around all replays, so gaps between them count. Else: the mean of windows around one replay each, for which either
 * the L2 is overwritten before it or, when WIRE_COLD, for buffers of megabytes, the next of several copies of all buffers is taken, each
 * with a graph of its own; the overwriting (of a part, then) also hides the time that the CPU takes to submit the graph. */
int cuda_run_execute(struct backend_run *run, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e);
void cuda_run_release(struct backend_run *run);

#endif

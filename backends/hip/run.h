/* run: one code object and one plan on one device: buffers, launches, execution with times. Fills backend.h's prepare, write, read,
 * fill, execute and release. Times come from two events around replays. */
#ifndef PEAKD_BACKENDS_HIP_RUN_H
#define PEAKD_BACKENDS_HIP_RUN_H

#include "backends/worker/backend.h"
#include "base/err.h"

/* backend.h: prepare. -ERR_PRUNED when the device cannot launch it or the buffers do not fit into its memory. */
int hip_run_prepare(struct backend_device *device, const void *binary, size_t len, const struct plan *plan,
                    struct backend_run **ret_run, struct err *e);
int hip_run_write(struct backend_run *run, unsigned buffer, int64_t offset, const void *from, size_t bytes, struct err *e);
int hip_run_fill(struct backend_run *run, unsigned buffer, uint8_t value, struct err *e);
int hip_run_read(struct backend_run *run, unsigned buffer, int64_t offset, void *to, size_t bytes, struct err *e);
/* Warm: one window around all replays, so gaps between them count. Cold: the caches are overwritten before each replay, and the mean
 * of the windows is given; the overwriting also hides the time that the CPU takes to submit. */
int hip_run_execute(struct backend_run *run, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e);
void hip_run_release(struct backend_run *run);

#endif

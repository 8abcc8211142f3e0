/* run: a module with buffers for one plan on one Vulkan device, for the table in backend.c; its functions are the
 * table's. */
#ifndef PEAKD_BACKENDS_HLSL_RUN_H
#define PEAKD_BACKENDS_HLSL_RUN_H

#include "backends/worker/backend.h"

int hlsl_run_prepare(struct backend_device *d, const void *binary, size_t len, const struct plan *plan,
                     struct backend_run **ret_run, struct err *e);
int hlsl_run_write(struct backend_run *r, unsigned buffer, int64_t offset, const void *from, size_t bytes,
                   struct err *e);
int hlsl_run_read(struct backend_run *r, unsigned buffer, int64_t offset, void *to, size_t bytes, struct err *e);
int hlsl_run_execute(struct backend_run *r, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e);
void hlsl_run_release(struct backend_run *r);

#endif

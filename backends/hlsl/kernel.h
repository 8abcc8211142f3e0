/* kernel: one entry point on one device: whether a launch fits it, its pipeline, and recording a dispatch. Used by
 * compile.c (the check that needs no device) and run.c. */
#ifndef PEAKD_BACKENDS_HLSL_KERNEL_H
#define PEAKD_BACKENDS_HLSL_KERNEL_H

#include "backends/hlsl/device.h"
#include "backends/hlsl/module.h"
#include "backends/hlsl/spirv.h"
#include "backends/wire/plan.h"

/* The launch gives what the kernel expects: block = numthreads, a buffer for every binding, a scalar for every one
 * used; nothing of CUDA's own (clusters, dynamic shared memory, cooperative launches). -ERR_INPUT. */
int hlsl_kernel_fits(const struct plan *plan, const struct plan_launch *launch, const struct spirv *s, struct err *e);

/* One launch, ready to be recorded. */
struct kernel;

/* buffers: those of the plan, in its order, on the device. -ERR_PRUNED when the device's limits are exceeded. */
int hlsl_kernel_new(struct backend_device *d, const struct module_kernel *code, const struct plan *plan,
               const struct plan_launch *launch, struct device_buffer *const *buffers, struct kernel **ret_kernel,
               struct err *e);
void hlsl_kernel_free(struct backend_device *d, struct kernel *k);
void hlsl_kernel_record(struct backend_device *d, const struct kernel *k);

#endif

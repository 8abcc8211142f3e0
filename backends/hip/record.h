/* record: a plan's operations on a stream, or as one graph with addresses and arguments baked in. Called by run.c. */
#ifndef PEAKD_BACKENDS_HIP_RECORD_H
#define PEAKD_BACKENDS_HIP_RECORD_H

#include "backends/hip/api.h"
#include "backends/hip/device.h"
#include "backends/hip/object.h"
#include "backends/wire/plan.h"
#include "base/err.h"

/* All borrowed. */
struct hip_record {
	const struct backend_device *device;
	const struct plan *plan;
	char *const *buffers;     /* first byte of each of the plan's buffers, on the device */
	hipFunction_t *functions; /* per operation; filled by hip_record_ready */
};

/* A launch against its kernel in the code object and the device: as hip_check_launch, and what only a device can be asked. */
int hip_record_check(const struct backend_device *device, const struct plan_launch *launch, const struct hip_object *object,
                     struct err *e);
/* Looks up every launched kernel and asks for the limits that only the runtime knows. */
int hip_record_ready(const struct hip_record *r, hipModule_t module, struct err *e);
/* Submits every operation to the device's stream, in order; the number of the last one tried (from 1) in *ret_op. */
hipError_t hip_record_issue(const struct hip_record *r, size_t *ret_op);
/* Records every operation. */
int hip_record_graph(const struct hip_record *r, hipGraphExec_t *ret_graph, struct err *e);
/* hip_device_fail that names the operation (from 1). */
int hip_record_fail(const struct hip_record *r, hipError_t result, size_t op, struct err *e);

#endif

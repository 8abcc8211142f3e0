/* device: one opened AMD device with the stream and events that everything on it uses. Fills backend.h's open and close; run.c works
 * with its fields. */
#ifndef PEAKD_BACKENDS_HIP_DEVICE_H
#define PEAKD_BACKENDS_HIP_DEVICE_H

#include "backends/worker/backend.h"
#include "backends/hip/library.h"
#include "base/err.h"

struct backend_device {
	struct hip_runtime hip;
	struct facts facts;
	hipStream_t stream;     /* all work goes through it, in order */
	hipEvent_t start, end;  /* of the timed window */
	void *flush;            /* scratch that is written to push everything else out of the L2; NULL until first needed */
	size_t flush_bytes;
	bool cooperative;       /* device and runtime can launch cooperative kernels */
	bool graphs;            /* the plan is recorded once and replayed; else its operations are submitted each time */
};

/* backend.h: open. */
int hip_device_open(uint32_t index, struct backend_device **ret_device, struct err *e);
/* backend.h: close. Also of a device that has faulted, and of NULL. */
void hip_device_close(struct backend_device *device);
/* The error for a runtime call that did not answer hipSuccess: -ERR_CRASH after a fault (the process cannot use the device any more),
 * -ERR_PRUNED for limits, else -ERR_INTERNAL. `doing` reads as in "while DOING". */
int hip_device_fail(const struct backend_device *device, hipError_t result, const char *doing, struct err *e);

#endif

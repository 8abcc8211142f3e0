/* device: one opened NVIDIA device with the stream and events that everything on it uses. Fills backend.h's open and close; run.c
 * works with its fields. */
#ifndef PEAKD_BACKENDS_CUDA_DEVICE_H
#define PEAKD_BACKENDS_CUDA_DEVICE_H

#include "backends/worker/backend.h"
#include "backends/cuda/library.h"
#include "base/err.h"

struct cuda_gemm_known;

struct backend_device {
	struct cuda_driver cu;
	struct facts facts;
	CUdevice handle;
	CUcontext context;   /* the device's primary context: its functions are the same in CUDA 12 and 13 */
	CUstream stream;     /* all work goes through it, in order */
	CUevent start, end;  /* of the timed window */
	CUdeviceptr flush;   /* scratch that is written to push everything else out of the L2; 0 until first needed */
	size_t flush_bytes;
	bool cooperative;    /* device can launch cooperative kernels */
	bool tensor_maps;    /* device and driver know tensor maps */
	struct cuda_gemm_known *gemms; /* products whose best algorithms are known (gemm.c); NULL: none */
	size_t gemm_count;
};

/* backend.h: open. */
int cuda_device_open(uint32_t index, struct backend_device **ret_device, struct err *e);
/* backend.h: close. Also of a device that has faulted, and of NULL. */
void cuda_device_close(struct backend_device *device);
/* Makes sure that there is scratch to flush the L2 with. */
CUresult cuda_device_flush(struct backend_device *device);
/* The error for a driver call that did not answer CUDA_SUCCESS: -ERR_CRASH after a fault (the process cannot use the device any
 * more), -ERR_PRUNED for limits, else -ERR_INTERNAL. `doing` reads as in "while DOING". */
int cuda_device_fail(const struct backend_device *device, CUresult result, const char *doing, struct err *e);

#endif

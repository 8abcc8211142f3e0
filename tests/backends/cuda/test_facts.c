/* A device's facts from its driver's answers: compile target, identity and peaks of an H100 SXM. */
#include "backends/cuda/cuda.h"

#include <stdio.h>

#include "backends/cuda/api.h"
#include "tap.h"

static int capability = 90; /* 10·major + minor that the driver below answers */

static gpu_result device_count(int *count) { *count = 1; return 0; }
static gpu_result device_get(int *device, int ordinal) { *device = ordinal; return 0; }
static gpu_result device_memory(size_t *bytes, int device) { (void)device; *bytes = (size_t)80 << 30; return 0; }
static gpu_result driver_version(int *version) { *version = 13000; return 0; }

static gpu_result device_name(char *name, int len, int device)
{
	(void)device;
	snprintf(name, (size_t)len, "NVIDIA H100");
	return 0;
}

static gpu_result device_uuid(gpu_uuid *uuid, int device)
{
	(void)device;
	for (int i = 0; i < 16; i++)
		uuid->bytes[i] = (unsigned char)(0x11 * i);
	return 0;
}

static gpu_result device_attribute(int *value, int attribute, int device)
{
	(void)device;
	switch (attribute) {
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = capability / 10; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = capability % 10; break;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *value = 1830000; break;
	case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *value = 2619000; break;
	case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *value = 5120; break;
	case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH: *value = capability >= 90; break;
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return GPU_INVALID_VALUE; /* as an attribute that a driver does not know */
	default: *value = 1000 + attribute; break;
	}
	return 0;
}

/* Within a thousandth. */
static int near(double got, double want) { return got > want * 0.999 && got < want * 1.001; }

int main(void)
{
	struct gpu_driver driver = { .device_count = device_count, .device_get = device_get, .device_memory = device_memory,
	                              .version = driver_version, .device_name = device_name, .device_uuid = device_uuid,
	                              .device_attribute = device_attribute };
	struct facts f;
	struct err e = ERR_INIT;

	is_int(cuda_facts_device(&driver, 0, &f, &e), 0, "describe a device");
	is_str(f.id, "cuda:0", "id");
	is_str(f.arch, "sm_90a", "the compile target includes the chip's own instructions");
	is_str(f.name, "NVIDIA H100", "name");
	is_str(f.uuid, "GPU-00112233-4455-6677-8899-aabbccddeeff", "UUID as nvidia-smi writes it");
	has_str(f.driver, "CUDA 13.0", "driver version");
	ok(f.runs && !f.shares_cpu && f.max_cluster == 16, "it runs kernels and has clusters");
	is_int(f.max_block[2], 1004, "limits come from the driver");
	is_int(f.max_grid[1], 1006, "limits of every dimension");
	is_int(f.shared_optin, 1097, "shared memory with opt-in");
	is_int(f.l2_bytes, 0, "an attribute that the driver lacks is unknown");
	ok(near(f.peak_tensor_f16, 989.4e12), "dense f16: %.1f TFLOP/s, as its datasheet says", f.peak_tensor_f16 / 1e12);
	ok(near(f.peak_tensor_tf32, 494.7e12), "dense tf32: %.1f", f.peak_tensor_tf32 / 1e12);
	ok(near(f.peak_f32, 61.84e12), "fp32: %.2f at this clock", f.peak_f32 / 1e12);
	ok(near(f.peak_bytes, 3.352e12), "memory: %.3f TB/s, as its datasheet says", f.peak_bytes / 1e12);
	is_int(cuda_facts_device(&driver, 1, &f, &e), -ERR_NOT_FOUND, "an index beyond the last device is refused");
	has_str(e.text, "the driver sees 1", "the message counts the devices");

	capability = 86;
	cuda_facts_device(&driver, 0, &f, &e);
	is_str(f.arch, "sm_86", "no suffix before compute capability 9.0");
	is_int(f.max_cluster, 1, "no clusters before 9.0");
	capability = 995; /* of the future */
	cuda_facts_device(&driver, 0, &f, &e);
	is_str(f.arch, "sm_995a", "an unknown architecture still gets a compile target");
	ok(f.peak_f32 == 0 && f.peak_bytes > 0, "an unknown architecture has no arithmetic peaks");
	return tap_done();
}

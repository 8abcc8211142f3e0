/* runtime: the entry points that peakd calls. Every call finishes its work before it returns. A kernel's fault is reported by
 * the next hipStreamSynchronize and by every call after it, as a real driver does. */
#include "tests/backends/hip/emulated/emulated.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

#define EXPORT __attribute__((visibility("default")))
/* These are only called through dlsym, so there is no header. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { ABI_V5 = 3, HIDDEN_V5_BYTES = 256 };

static struct stop fault, refused; /* fault: of a kernel, and lasts; refused: of the last call, for its text */

EXPORT const char *peakd_emulated(void) { return "emulated gfx90a"; }
EXPORT hipError_t hipInit(unsigned flags) { (void)flags; return hipSuccess; }
EXPORT hipError_t hipRuntimeGetVersion(int *version) { *version = 0; return hipSuccess; }
EXPORT hipError_t hipGetDeviceCount(int *count) { *count = 1; return hipSuccess; }
EXPORT hipError_t hipGetDevice(int *device) { *device = 0; return hipSuccess; }
EXPORT hipError_t hipSetDevice(int device) { return device == 0 ? hipSuccess : hipErrorInvalidDevice; }

EXPORT const char *hipGetErrorName(hipError_t result)
{
	switch (result) {
	case hipSuccess:
		return "hipSuccess";
	case hipErrorIllegalAddress:
		return "hipErrorIllegalAddress";
	case hipErrorNotSupported:
		return "hipErrorNotSupported";
	case hipErrorAssert:
		return "hipErrorAssert";
	}
	return "hipError";
}

EXPORT const char *hipGetErrorString(hipError_t result)
{
	return fault.code == result && result     ? fault.text
	       : refused.code == result && result ? refused.text
						  : "no further information";
}

static hipError_t refuse(hipError_t code, const char *text)
{
	refused.code = code;
	snprintf(refused.text, sizeof refused.text, "%s", text);
	return code;
}

/* --- the device: gfx90a's limits, no figures of a product ------------------------------------------------------------------- */
EXPORT hipError_t hipDeviceGetName(char *name, int len, hipDevice_t device)
{
	(void)device;
	snprintf(name, (size_t)len, "%s", peakd_emulated());
	return hipSuccess;
}

EXPORT hipError_t hipDeviceGetPCIBusId(char *name, int len, int device)
{
	(void)device;
	snprintf(name, (size_t)len, "%s", "emulated-gfx90a");
	return hipSuccess;
}

EXPORT hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device)
{
	size_t left;
	(void)device;
	memory_info(&left, bytes);
	return hipSuccess;
}

EXPORT hipError_t hipDeviceGetAttribute(int *value, int attribute, int device)
{
	static const struct {
		int attribute, value;
	} known[] = {
		{ hipDeviceAttributeWarpSize, 64 },
		{ hipDeviceAttributeMaxThreadsPerBlock, 1024 },
		{ hipDeviceAttributeMaxBlockDimX, 1024 },
		{ hipDeviceAttributeMaxBlockDimX + 1, 1024 },
		{ hipDeviceAttributeMaxBlockDimX + 2, 1024 },
		{ hipDeviceAttributeMaxGridDimX, 2147483647 },
		{ hipDeviceAttributeMaxGridDimX + 1, 65535 },
		{ hipDeviceAttributeMaxGridDimX + 2, 65535 },
		{ hipDeviceAttributeMaxSharedMemoryPerBlock, 65536 },
		{ hipDeviceAttributeMaxRegistersPerBlock, 131072 },
		{ hipDeviceAttributeL2CacheSize, 8 << 20 },
	};

	(void)device;
	for (size_t i = 0; i < MEM_COUNT(known); i++)
		if (known[i].attribute == attribute) {
			*value = known[i].value;
			return hipSuccess;
		}
	return hipErrorInvalidValue;
}

EXPORT hipError_t hipGetDevicePropertiesR0600(void *properties, int device)
{
	(void)device;
	memset(properties, 0, HIP_PROPERTIES_R0600);
	snprintf((char *)properties + HIP_PROPERTIES_R0600_ARCH, HIP_PROPERTIES_ARCH, "gfx90a");
	return hipSuccess;
}

/* --- memory ----------------------------------------------------------------------------------------------------------------- */
EXPORT hipError_t hipMemGetInfo(size_t *left, size_t *total) { memory_info(left, total); return hipSuccess; }
EXPORT hipError_t hipMalloc(void **address, size_t bytes)
{
	*address = memory_new(bytes);
	return *address ? hipSuccess : hipErrorOutOfMemory;
}
EXPORT hipError_t hipFree(void *address) { return memory_free(address) ? hipSuccess : hipErrorInvalidValue; }

static hipError_t copy(void *to, const void *from, size_t bytes, const void *device_side)
{
	if (fault.code)
		return fault.code;
	if (!memory_has((uintptr_t)device_side, bytes))
		return refuse(hipErrorInvalidValue, "a copy leaves its buffer");
	memmove(to, from, bytes);
	return hipSuccess;
}

EXPORT hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, void *from, size_t bytes, hipStream_t s)
{
	(void)s;
	return copy(to, from, bytes, to);
}
EXPORT hipError_t hipMemcpyDtoHAsync(void *to, hipDeviceptr_t from, size_t bytes, hipStream_t s)
{
	(void)s;
	return copy(to, from, bytes, from);
}

EXPORT hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes, hipStream_t s)
{
	(void)s;
	return memory_has((uintptr_t)from, bytes) ? copy(to, from, bytes, to)
						  : refuse(hipErrorInvalidValue, "a copy leaves its buffer");
}

EXPORT hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t bytes, hipStream_t s)
{
	(void)s;
	if (fault.code || !memory_has((uintptr_t)to, bytes))
		return fault.code ? fault.code : refuse(hipErrorInvalidValue, "a memset leaves its buffer");
	memset(to, value, bytes);
	return hipSuccess;
}

/* --- modules ---------------------------------------------------------------------------------------------------------------- */
EXPORT hipError_t hipModuleLoadData(hipModule_t *module, const void *image)
{
	struct code *code = NULL;
	struct stop stop = { .code = hipSuccess };

	if (image_load(image, &code, &stop))
		return refuse(stop.code, stop.text);
	*module = (hipModule_t)(void *)code;
	return hipSuccess;
}

EXPORT hipError_t hipModuleUnload(hipModule_t module) { image_free((void *)module); return hipSuccess; }

EXPORT hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name)
{
	struct code *c = (void *)module;

	for (size_t i = 0; i < c->kernel_count; i++)
		if (strcmp(c->kernels[i].name, name) == 0) {
			*function = (hipFunction_t)(void *)&c->kernels[i];
			return hipSuccess;
		}
	return hipErrorNotFound;
}

EXPORT hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, hipFunction_t f, int threads, size_t shared)
{
	(void)f; (void)threads; (void)shared;
	*blocks = 1;
	return hipSuccess;
}

/* --- launches --------------------------------------------------------------------------------------------------------------- */
/* Hidden arguments of code object V5, behind the others (LLVM's AMDGPU user guide, "Code Object V5 Metadata"). V4's
 * are all zero here. */
static void fill_hidden_v5(uint8_t *to, const struct launch *l)
{
	uint16_t dims = l->grid[2] > 1 || l->block[2] > 1 ? 3 : l->grid[1] > 1 || l->block[1] > 1 ? 2 : 1;

	for (unsigned i = 0; i < 3; i++) {
		uint16_t block = (uint16_t)l->block[i];
		memcpy(to + 4 * i, &l->grid[i], 4);
		memcpy(to + 12 + 2 * i, &block, 2);
	}
	memcpy(to + 64, &dims, 2);
}

static uint8_t *new_args(const struct kernel *k, const struct launch *l, void **parameters, size_t *ret_bytes)
{
	const struct gpu_kernel *meta = gpu_module_find(k->code->args, k->name);
	uint8_t *args = mem_new(k->arg_bytes + HIDDEN_V5_BYTES, 1);
	uint32_t end = 0;

	for (size_t i = 0; meta && i < meta->param_count; i++) {
		const struct gpu_param *p = &meta->params[i];
		if (p->offset + p->bytes > k->arg_bytes)
			continue;
		memcpy(args + p->offset, parameters[i], p->bytes);
		end = p->offset + p->bytes > end ? p->offset + p->bytes : end;
	}
	end = (end + 7) / 8 * 8;
	if (k->code->abi >= ABI_V5 && end + HIDDEN_V5_BYTES <= k->arg_bytes)
		fill_hidden_v5(args + end, l);
	*ret_bytes = k->arg_bytes;
	return args;
}

EXPORT hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                        unsigned block_y, unsigned block_z, unsigned shared, hipStream_t stream, void **parameters,
                                        void **extra)
{
	const struct kernel *k = (void *)function;
	struct launch l = { .kernel = k, .grid = { grid_x, grid_y, grid_z }, .block = { block_x, block_y, block_z },
			    .shared = shared };
	uint64_t threads = (uint64_t)block_x * block_y * block_z;
	uint8_t *args;
	size_t bytes;

	(void)stream;
	if (fault.code)
		return fault.code;
	if (extra || !threads || threads > 1024 || !grid_x || !grid_y || !grid_z || k->shared + (uint64_t)shared > 65536)
		return refuse(hipErrorInvalidConfiguration, "the launch is outside of gfx90a's limits");
	if (!k->code->ops && decode_code(k->code, &fault))
		return hipSuccess;
	args = new_args(k, &l, parameters, &bytes);
	memory_lend(args, bytes);
	l.args = args;
	dispatch_run(&l, &fault);
	memory_take(args);
	free(args);
	return hipSuccess;
}

/* --- streams and events: without time --------------------------------------------------------------------------------------- */
static char handle;

EXPORT hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags)
{
	(void)flags;
	*stream = (hipStream_t)(void *)&handle;
	return hipSuccess;
}
EXPORT hipError_t hipStreamDestroy(hipStream_t stream) { (void)stream; return hipSuccess; }
EXPORT hipError_t hipStreamSynchronize(hipStream_t stream) { (void)stream; return fault.code; }
EXPORT hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
	(void)flags;
	*event = (hipEvent_t)(void *)&handle;
	return hipSuccess;
}
EXPORT hipError_t hipEventDestroy(hipEvent_t event) { (void)event; return hipSuccess; }
EXPORT hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) { (void)event; (void)stream; return hipSuccess; }
EXPORT hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t end)
{
	(void)start;
	(void)end;
	*milliseconds = 0;
	return hipSuccess;
}

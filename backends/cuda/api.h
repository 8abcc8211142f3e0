/* api: what peakd uses of the CUDA driver API and of NVRTC, declared here so that building needs no toolkit. Names and values are
 * NVIDIA's published interface (CUDA Driver API and NVRTC reference manuals), so that they can be looked up there. The two lists
 * below are the only places that name a vendor's function; library.c turns them into dlsym calls. Used by all of backends/cuda/. */
#ifndef PEAKD_BACKENDS_CUDA_API_H
#define PEAKD_BACKENDS_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

/* --- driver API: handles ---------------------------------------------------------------------------------------------- */
typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct { unsigned char bytes[16]; } CUuuid;

/* --- driver API: results that peakd tells apart; others are shown by the driver's own name and text -------------------- */
enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_STUB_LIBRARY = 34,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_IMAGE = 200,
	CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
	CUDA_ERROR_ECC_UNCORRECTABLE = 214,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_ILLEGAL_ADDRESS = 700,
	CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
	CUDA_ERROR_LAUNCH_TIMEOUT = 702,
	CUDA_ERROR_ASSERT = 710,
	CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
	CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
	CUDA_ERROR_MISALIGNED_ADDRESS = 716,
	CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
	CUDA_ERROR_INVALID_PC = 718,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
	CUDA_ERROR_TENSOR_MEMORY_LEAK = 721,
	CUDA_ERROR_INVALID_CLUSTER_SIZE = 912,
};

/* --- driver API: attributes ------------------------------------------------------------------------------------------- */
enum {
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2, /* y and z follow */
	CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,  /* y and z follow */
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
	CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
	CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
	CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13, /* kHz, the maximum */
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36, /* kHz */
	CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37, /* bits */
	CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
	CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
	CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH = 120,
	CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED = 127,
};
enum {
	CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
	CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
	CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
	CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
	CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
	CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
};
enum { CU_STREAM_NON_BLOCKING = 1, CU_EVENT_DEFAULT = 0, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1 };

/* --- driver API: extensible launches ---------------------------------------------------------------------------------- */
enum { CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4 };

typedef struct {
	int id;       /* CU_LAUNCH_ATTRIBUTE_… */
	char pad[4];
	union {
		char pad[64];
		int cooperative;
		struct { unsigned x, y, z; } cluster; /* blocks; must divide the grid */
		void *align;
	} value;
} CUlaunchAttribute;

typedef struct {
	unsigned grid[3], block[3]; /* gridDimX … blockDimZ */
	unsigned shared;            /* dynamic shared memory, bytes */
	CUstream stream;
	CUlaunchAttribute *attrs;
	unsigned attr_count;
} CUlaunchConfig;

/* --- driver API: tensor maps ------------------------------------------------------------------------------------------ */
typedef struct { _Alignas(128) uint64_t opaque[16]; } CUtensorMap; /* 128 since CUDA 13, 64 before */
enum {
	CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
	CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1,
	CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2,
	CU_TENSOR_MAP_DATA_TYPE_INT32 = 3,
	CU_TENSOR_MAP_DATA_TYPE_UINT64 = 4,
	CU_TENSOR_MAP_DATA_TYPE_INT64 = 5,
	CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6,
	CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7,
	CU_TENSOR_MAP_DATA_TYPE_FLOAT64 = 8,
	CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9,
};
enum { CU_TENSOR_MAP_INTERLEAVE_NONE = 0 };
enum { CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B, CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B };
enum { CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2 };
enum { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA = 1 };

/* X(need, member, symbol, (parameters)): need 1 = its absence makes the driver unusable, 0 = the member is NULL then (older
 * drivers). Symbols carry the version suffix whose parameters are given here. */
#define CUDA_DRIVER_LIST(X) \
	X(1, init, cuInit, (unsigned flags)) \
	X(1, driver_version, cuDriverGetVersion, (int *version)) \
	X(1, error_name, cuGetErrorName, (CUresult result, const char **name)) \
	X(1, error_text, cuGetErrorString, (CUresult result, const char **text)) \
	X(1, device_count, cuDeviceGetCount, (int *count)) \
	X(1, device_get, cuDeviceGet, (CUdevice *device, int ordinal)) \
	X(1, device_name, cuDeviceGetName, (char *name, int len, CUdevice device)) \
	X(1, device_uuid, cuDeviceGetUuid_v2, (CUuuid *uuid, CUdevice device)) \
	X(1, device_memory, cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device)) \
	X(1, device_attribute, cuDeviceGetAttribute, (int *value, int attribute, CUdevice device)) \
	X(1, context_retain, cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device)) \
	X(1, context_release, cuDevicePrimaryCtxRelease_v2, (CUdevice device)) \
	X(1, context_use, cuCtxSetCurrent, (CUcontext context)) \
	X(1, memory_info, cuMemGetInfo_v2, (size_t *free, size_t *total)) \
	X(1, memory_alloc, cuMemAlloc_v2, (CUdeviceptr *address, size_t bytes)) \
	X(1, memory_free, cuMemFree_v2, (CUdeviceptr address)) \
	X(1, copy_in, cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream)) \
	X(1, copy_out, cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream)) \
	X(1, copy_within, cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)) \
	X(1, memory_set, cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)) \
	X(1, module_load, cuModuleLoadData, (CUmodule *module, const void *image)) \
	X(1, module_unload, cuModuleUnload, (CUmodule module)) \
	X(1, module_function, cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name)) \
	X(1, function_attribute, cuFuncGetAttribute, (int *value, int attribute, CUfunction function)) \
	X(1, function_set, cuFuncSetAttribute, (CUfunction function, int attribute, int value)) \
	X(0, function_parameter, cuFuncGetParamInfo, (CUfunction function, size_t index, size_t *offset, size_t *bytes)) \
	X(1, occupancy_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor, \
	  (int *blocks, CUfunction function, int threads, size_t shared)) \
	X(0, occupancy_clusters, cuOccupancyMaxActiveClusters, \
	  (int *clusters, CUfunction function, const CUlaunchConfig *config)) \
	X(0, tensor_map, cuTensorMapEncodeTiled, \
	  (CUtensorMap *map, int type, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides, \
	   const uint32_t *box, const uint32_t *element_strides, int interleave, int swizzle, int promotion, int fill)) \
	X(1, launch, cuLaunchKernel, \
	  (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
	   unsigned block_z, unsigned shared, CUstream stream, void **parameters, void **extra)) \
	X(0, launch_extended, cuLaunchKernelEx, \
	  (const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)) \
	X(1, stream_new, cuStreamCreate, (CUstream *stream, unsigned flags)) \
	X(1, stream_free, cuStreamDestroy_v2, (CUstream stream)) \
	X(1, stream_wait, cuStreamSynchronize, (CUstream stream)) \
	X(1, capture_begin, cuStreamBeginCapture_v2, (CUstream stream, int mode)) \
	X(1, capture_end, cuStreamEndCapture, (CUstream stream, CUgraph *graph)) \
	X(1, graph_free, cuGraphDestroy, (CUgraph graph)) \
	X(1, graph_instantiate, cuGraphInstantiateWithFlags, (CUgraphExec *exec, CUgraph graph, unsigned long long flags)) \
	X(1, graph_launch, cuGraphLaunch, (CUgraphExec exec, CUstream stream)) \
	X(1, graph_exec_free, cuGraphExecDestroy, (CUgraphExec exec)) \
	X(1, event_new, cuEventCreate, (CUevent *event, unsigned flags)) \
	X(1, event_free, cuEventDestroy_v2, (CUevent event)) \
	X(1, event_record, cuEventRecord, (CUevent event, CUstream stream)) \
	X(1, event_elapsed, cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end))

/* --- NVRTC ------------------------------------------------------------------------------------------------------------ */
typedef int nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;
enum { NVRTC_SUCCESS = 0, NVRTC_ERROR_INVALID_OPTION = 5, NVRTC_ERROR_COMPILATION = 6, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7 };

#define CUDA_NVRTC_LIST(X) \
	X(1, version, nvrtcVersion, (int *major, int *minor)) \
	X(1, arch_count, nvrtcGetNumSupportedArchs, (int *count)) \
	X(1, archs, nvrtcGetSupportedArchs, (int *archs)) \
	X(1, program_new, nvrtcCreateProgram, (nvrtcProgram *program, const char *source, const char *name, int header_count, \
	                                        const char *const *headers, const char *const *header_names)) \
	X(1, program_free, nvrtcDestroyProgram, (nvrtcProgram *program)) \
	X(1, program_compile, nvrtcCompileProgram, (nvrtcProgram program, int option_count, const char *const *options)) \
	X(1, log_size, nvrtcGetProgramLogSize, (nvrtcProgram program, size_t *bytes)) \
	X(1, log, nvrtcGetProgramLog, (nvrtcProgram program, char *text)) \
	X(1, ptx_size, nvrtcGetPTXSize, (nvrtcProgram program, size_t *bytes)) \
	X(1, ptx, nvrtcGetPTX, (nvrtcProgram program, char *text)) \
	X(1, cubin_size, nvrtcGetCUBINSize, (nvrtcProgram program, size_t *bytes)) \
	X(1, cubin, nvrtcGetCUBIN, (nvrtcProgram program, char *bytes))

#endif

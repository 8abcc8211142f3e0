/* api: NVIDIA's names and numbers, declared here so that building needs no toolkit: the CUDA Driver API and NVRTC reference
 * manuals. The two lists say which symbol fills which member of gpu/api.h's structs; library.c turns them into dlsym calls. */
#ifndef PEAKD_BACKENDS_CUDA_API_H
#define PEAKD_BACKENDS_CUDA_API_H

#include "backends/gpu/api.h"

enum {
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2, /* y and z follow */
	CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,  /* y and z follow */
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
	CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
	CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
	CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13, /* kHz, the maximum */
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,       /* kHz */
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

/* X(need, member, symbol): need 1 = its absence makes the driver unusable, 0 = the member is NULL then (older drivers).
 * Symbols carry the version suffix whose parameters gpu/api.h gives. */
#define CUDA_DRIVER_LIST(X)                                                                                                        \
	X(1, init, cuInit)                                                                                                         \
	X(1, version, cuDriverGetVersion)                                                                                          \
	X(1, error_name, cuGetErrorName)                                                                                           \
	X(1, error_text, cuGetErrorString)                                                                                         \
	X(1, device_count, cuDeviceGetCount)                                                                                       \
	X(1, device_get, cuDeviceGet)                                                                                              \
	X(1, device_name, cuDeviceGetName)                                                                                         \
	X(1, device_uuid, cuDeviceGetUuid_v2)                                                                                      \
	X(1, device_memory, cuDeviceTotalMem_v2)                                                                                   \
	X(1, device_attribute, cuDeviceGetAttribute)                                                                               \
	X(1, context_retain, cuDevicePrimaryCtxRetain)                                                                             \
	X(1, context_release, cuDevicePrimaryCtxRelease_v2)                                                                        \
	X(1, context_use, cuCtxSetCurrent)                                                                                         \
	X(1, memory_info, cuMemGetInfo_v2)                                                                                         \
	X(1, memory_alloc, cuMemAlloc_v2)                                                                                          \
	X(1, memory_free, cuMemFree_v2)                                                                                            \
	X(1, copy_in, cuMemcpyHtoDAsync_v2)                                                                                        \
	X(1, copy_out, cuMemcpyDtoHAsync_v2)                                                                                       \
	X(1, copy_within, cuMemcpyDtoDAsync_v2)                                                                                    \
	X(1, memory_set, cuMemsetD8Async)                                                                                          \
	X(0, share_get, cuIpcGetMemHandle)                                                                                         \
	X(0, share_open, cuIpcOpenMemHandle_v2)                                                                                    \
	X(0, share_close, cuIpcCloseMemHandle)                                                                                     \
	X(1, module_load, cuModuleLoadData)                                                                                        \
	X(1, module_unload, cuModuleUnload)                                                                                        \
	X(1, module_function, cuModuleGetFunction)                                                                                 \
	X(1, function_attribute, cuFuncGetAttribute)                                                                               \
	X(1, function_set, cuFuncSetAttribute)                                                                                     \
	X(0, function_parameter, cuFuncGetParamInfo)                                                                               \
	X(1, occupancy_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                        \
	X(0, occupancy_clusters, cuOccupancyMaxActiveClusters)                                                                     \
	X(0, tensor_map, cuTensorMapEncodeTiled)                                                                                   \
	X(1, launch, cuLaunchKernel)                                                                                               \
	X(0, launch_extended, cuLaunchKernelEx)                                                                                    \
	X(1, stream_new, cuStreamCreate)                                                                                           \
	X(1, stream_free, cuStreamDestroy_v2)                                                                                      \
	X(1, stream_wait, cuStreamSynchronize)                                                                                     \
	X(1, capture_begin, cuStreamBeginCapture_v2)                                                                               \
	X(1, capture_end, cuStreamEndCapture)                                                                                      \
	X(1, graph_free, cuGraphDestroy)                                                                                           \
	X(1, graph_instantiate, cuGraphInstantiateWithFlags)                                                                       \
	X(1, graph_launch, cuGraphLaunch)                                                                                          \
	X(1, graph_exec_free, cuGraphExecDestroy)                                                                                  \
	X(1, event_new, cuEventCreate)                                                                                             \
	X(1, event_free, cuEventDestroy_v2)                                                                                        \
	X(1, event_record, cuEventRecord)                                                                                          \
	X(1, event_elapsed, cuEventElapsedTime)

#define CUDA_NVRTC_LIST(X)                                                                                                         \
	X(1, version, nvrtcVersion)                                                                                                \
	X(1, arch_count, nvrtcGetNumSupportedArchs)                                                                                \
	X(1, archs, nvrtcGetSupportedArchs)                                                                                        \
	X(1, program_new, nvrtcCreateProgram)                                                                                      \
	X(1, program_free, nvrtcDestroyProgram)                                                                                    \
	X(1, program_compile, nvrtcCompileProgram)                                                                                 \
	X(1, log_size, nvrtcGetProgramLogSize)                                                                                     \
	X(1, log, nvrtcGetProgramLog)                                                                                              \
	X(1, ptx_size, nvrtcGetPTXSize)                                                                                            \
	X(1, ptx, nvrtcGetPTX)                                                                                                     \
	X(1, binary_size, nvrtcGetCUBINSize)                                                                                       \
	X(1, binary, nvrtcGetCUBIN)

#endif

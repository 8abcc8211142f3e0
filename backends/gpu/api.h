/* api: the functions of the CUDA driver and of the HIP runtime, of NVRTC and of hiprtc, under one set of names. AMD made its
 * interfaces after NVIDIA's: the functions have the same parameters, results have the same numbers, and handles and
 * addresses are 64 bits wide in both. The lists say which symbol fills which member; a member that one vendor
 * lacks is NULL there. cuda/api.h and hip/api.h have what is no function. Used by all of backends/{gpu,cuda,hip}/. */
#ifndef PEAKD_BACKENDS_GPU_API_H
#define PEAKD_BACKENDS_GPU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- driver: handles -------------------------------------------------------------------------------------------------- */
typedef int gpu_result;
typedef unsigned long long gpu_address; /* CUdeviceptr; hipDeviceptr_t is a pointer of the same width */
typedef struct gpu_context_handle *gpu_context;
typedef struct gpu_library_handle *gpu_library;
typedef struct gpu_function_handle *gpu_function;
typedef struct gpu_stream_handle *gpu_stream;
typedef struct gpu_event_handle *gpu_event;
typedef struct gpu_graph_handle *gpu_graph;
typedef struct gpu_exec_handle *gpu_exec; /* a graph that can be launched */
typedef struct {
	unsigned char bytes[16];
} gpu_uuid;

/* --- driver: results that peakd tells apart; others are shown by the driver's own name and text ------------------------- */
enum {
	GPU_SUCCESS = 0,
	GPU_INVALID_VALUE = 1,
	GPU_OUT_OF_MEMORY = 2,
	GPU_DEINITIALIZED = 4,
	GPU_INVALID_CONFIGURATION = 9, /* HIP only */
	GPU_STUB_LIBRARY = 34,         /* CUDA only */
	GPU_DEVICE_UNAVAILABLE = 46,   /* CUDA only */
	GPU_NO_DEVICE = 100,
	GPU_INVALID_DEVICE = 101,
	GPU_INVALID_IMAGE = 200,
	GPU_INVALID_CONTEXT = 201,
	GPU_NO_BINARY = 209,
	GPU_ECC_UNCORRECTABLE = 214,
	GPU_INVALID_FILE = 218,
	GPU_LINK_UNCORRECTABLE = 220, /* CUDA only, and the next: NVLink; an error that the process cannot outlive */
	GPU_CONTAINED = 221,
	GPU_NOT_FOUND = 500,
	GPU_ILLEGAL_ADDRESS = 700,
	GPU_OUT_OF_RESOURCES = 701,
	GPU_LAUNCH_TIMEOUT = 702,
	GPU_CONTEXT_DESTROYED = 709,
	GPU_ASSERT = 710,
	GPU_HARDWARE_STACK_ERROR = 714, /* this and the next four: CUDA only */
	GPU_ILLEGAL_INSTRUCTION = 715,
	GPU_MISALIGNED_ADDRESS = 716,
	GPU_INVALID_ADDRESS_SPACE = 717,
	GPU_INVALID_PC = 718,
	GPU_LAUNCH_FAILED = 719,
	GPU_COOPERATIVE_TOO_LARGE = 720,
	GPU_TENSOR_MEMORY_LEAK = 721, /* CUDA only */
	GPU_NOT_SUPPORTED = 801,
	GPU_INVALID_CLUSTER_SIZE = 912, /* CUDA only */
	GPU_UNKNOWN = 999,
	GPU_RUNTIME_MEMORY = 1052,      /* HIP only, and the next */
	GPU_RUNTIME_OTHER = 1053,
};
enum { GPU_STREAM_NON_BLOCKING = 1, GPU_EVENT_DEFAULT = 0, GPU_CAPTURE_THREAD_LOCAL = 1 };

/* --- driver: CUDA's extensible launches and tensor maps ------------------------------------------------------------------ */
enum { GPU_ATTRIBUTE_COOPERATIVE = 2, GPU_ATTRIBUTE_CLUSTER = 4, GPU_ATTRIBUTES = 2 };

struct gpu_launch_attribute { /* CUlaunchAttribute */
	int id;
	char pad[4];
	union {
		char pad[64];
		int cooperative;
		struct {
			unsigned x, y, z;
		} cluster; /* blocks; must divide the grid */
		void *align;
	} value;
};

struct gpu_launch_config { /* CUlaunchConfig */
	unsigned grid[3], block[3];
	unsigned shared; /* dynamic shared memory, bytes */
	gpu_stream stream;
	struct gpu_launch_attribute *attrs;
	unsigned attr_count;
};

struct gpu_tensor_map {
	_Alignas(128) uint64_t opaque[16];
}; /* CUtensorMap: aligned to 128 since CUDA 13, 64 before */

struct gpu_handle {
	unsigned char bytes[64];
}; /* CUipcMemHandle: an allocation, for another process */
enum { GPU_SHARE_LAZY_PEER = 1 };

/* --- driver: attributes of a device that both have ---------------------------------------------------------------------- */
/* X(member of struct gpu_attributes, CUDA's name, its number, HIP's name, its number). Of *_X the y and z follow. */
#define GPU_ATTRIBUTE_LIST(X)                                                                                                      \
	X(warp_size, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10, hipDeviceAttributeWarpSize, 87)                                            \
	X(threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1, hipDeviceAttributeMaxThreadsPerBlock, 56)                         \
	X(block_x, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 2, hipDeviceAttributeMaxBlockDimX, 26)                                     \
	X(grid_x, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 5, hipDeviceAttributeMaxGridDimX, 29)                                        \
	X(shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8, hipDeviceAttributeMaxSharedMemoryPerBlock, 74)               \
	X(registers, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 12, hipDeviceAttributeMaxRegistersPerBlock, 71)                  \
	X(units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16, hipDeviceAttributeMultiprocessorCount, 63)                          \
	X(clock_khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13, hipDeviceAttributeClockRate, 5) /* the maximum */                         \
	X(l2_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38, hipDeviceAttributeL2CacheSize, 19)                                      \
	X(memory_khz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36, hipDeviceAttributeMemoryClockRate, 60)                            \
	X(memory_bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37, hipDeviceAttributeMemoryBusWidth, 59)                      \
	X(cooperative, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 95, hipDeviceAttributeCooperativeLaunch, 10)

/* --- driver: functions ---------------------------------------------------------------------------------------------------- */
/* X(result, member, CUDA needs it, its symbol, HIP needs it, its symbol, (parameters)). A driver without a function that it needs
 * cannot be used; the member of any other that is absent is NULL. `none`: that vendor has no such function. Symbols carry the
 * version suffix whose parameters are given. */
#define GPU_DRIVER_LIST(X)                                                                                                         \
	X(gpu_result, init, 1, cuInit, 1, hipInit, (unsigned flags))                                                               \
	X(gpu_result, version, 1, cuDriverGetVersion, 1, hipRuntimeGetVersion, (int *version))                                     \
	X(gpu_result, error_name, 1, cuGetErrorName, 0, none, (gpu_result result, const char **name))                              \
	X(gpu_result, error_text, 1, cuGetErrorString, 0, none, (gpu_result result, const char **text))                            \
	X(const char *, name_of_error, 0, none, 1, hipGetErrorName, (gpu_result result))                                           \
	X(const char *, text_of_error, 0, none, 1, hipGetErrorString, (gpu_result result))                                         \
	X(const char *, emulated, 0, none, 0, peakd_emulated, (void)) /* only tests/backends/hip/emulated has it */                \
	X(gpu_result, device_count, 1, cuDeviceGetCount, 1, hipGetDeviceCount, (int *count))                                       \
	X(gpu_result, device_get, 1, cuDeviceGet, 0, none, (int *device, int ordinal))                                             \
	X(gpu_result, device_use, 0, none, 1, hipSetDevice, (int device))                                                          \
	X(gpu_result, device_name, 1, cuDeviceGetName, 1, hipDeviceGetName, (char *name, int len, int device))                     \
	X(gpu_result, device_uuid, 1, cuDeviceGetUuid_v2, 0, hipDeviceGetUuid, (gpu_uuid * uuid, int device))                      \
	X(gpu_result, device_bus, 0, none, 1, hipDeviceGetPCIBusId, (char *name, int len, int device))                             \
	X(gpu_result, device_memory, 1, cuDeviceTotalMem_v2, 1, hipDeviceTotalMem, (size_t * bytes, int device))                   \
	X(gpu_result, device_attribute, 1, cuDeviceGetAttribute, 1, hipDeviceGetAttribute,                                         \
	  (int *value, int attribute, int device))                                                                                 \
	X(gpu_result, properties_r0600, 0, none, 0, hipGetDevicePropertiesR0600, (void *properties, int device))                   \
	X(gpu_result, properties_old, 0, none, 0, hipGetDeviceProperties, (void *properties, int device))                          \
	X(gpu_result, context_retain, 1, cuDevicePrimaryCtxRetain, 0, none, (gpu_context * context, int device))                   \
	X(gpu_result, context_release, 1, cuDevicePrimaryCtxRelease_v2, 0, none, (int device))                                     \
	X(gpu_result, context_use, 1, cuCtxSetCurrent, 0, none, (gpu_context context))                                             \
	X(gpu_result, memory_info, 1, cuMemGetInfo_v2, 1, hipMemGetInfo, (size_t * free, size_t * total))                          \
	X(gpu_result, memory_alloc, 1, cuMemAlloc_v2, 1, hipMalloc, (gpu_address * address, size_t bytes))                         \
	X(gpu_result, memory_free, 1, cuMemFree_v2, 1, hipFree, (gpu_address address))                                             \
	X(gpu_result, copy_in, 1, cuMemcpyHtoDAsync_v2, 1, hipMemcpyHtoDAsync,                                                     \
	  (gpu_address to, const void *from, size_t bytes, gpu_stream stream))                                                     \
	X(gpu_result, copy_out, 1, cuMemcpyDtoHAsync_v2, 1, hipMemcpyDtoHAsync,                                                    \
	  (void *to, gpu_address from, size_t bytes, gpu_stream stream))                                                           \
	X(gpu_result, copy_within, 1, cuMemcpyDtoDAsync_v2, 1, hipMemcpyDtoDAsync,                                                 \
	  (gpu_address to, gpu_address from, size_t bytes, gpu_stream stream))                                                     \
	X(gpu_result, memory_set, 1, cuMemsetD8Async, 1, hipMemsetD8Async,                                                         \
	  (gpu_address to, unsigned char value, size_t bytes, gpu_stream stream))                                                  \
	X(gpu_result, cache_release, 0, cuCtxResetPersistingL2Cache, 0, none, (void))                                              \
	X(gpu_result, share_get, 0, cuIpcGetMemHandle, 0, none, (struct gpu_handle * handle, gpu_address address))                 \
	X(gpu_result, share_open, 0, cuIpcOpenMemHandle_v2, 0, none,                                                               \
	  (gpu_address * address, struct gpu_handle handle, unsigned flags))                                                       \
	X(gpu_result, share_close, 0, cuIpcCloseMemHandle, 0, none, (gpu_address address))                                         \
	X(gpu_result, module_load, 1, cuModuleLoadData, 1, hipModuleLoadData, (gpu_library * module, const void *image))           \
	X(gpu_result, module_unload, 1, cuModuleUnload, 1, hipModuleUnload, (gpu_library module))                                  \
	X(gpu_result, module_function, 1, cuModuleGetFunction, 1, hipModuleGetFunction,                                            \
	  (gpu_function * function, gpu_library module, const char *name))                                                         \
	X(gpu_result, function_attribute, 1, cuFuncGetAttribute, 0, none, (int *value, int attribute, gpu_function function))      \
	X(gpu_result, function_set, 1, cuFuncSetAttribute, 0, none, (gpu_function function, int attribute, int value))             \
	X(gpu_result, function_parameter, 0, cuFuncGetParamInfo, 0, none,                                                          \
	  (gpu_function function, size_t index, size_t * offset, size_t * bytes))                                                  \
	X(gpu_result, occupancy_blocks, 1, cuOccupancyMaxActiveBlocksPerMultiprocessor, 1,                                         \
	  hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, gpu_function function, int threads, size_t shared))    \
	X(gpu_result, occupancy_clusters, 0, cuOccupancyMaxActiveClusters, 0, none,                                                \
	  (int *clusters, gpu_function function, const struct gpu_launch_config *config))                                          \
	X(gpu_result, tensor_map, 0, cuTensorMapEncodeTiled, 0, none,                                                              \
	  (struct gpu_tensor_map * map, int type, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides,     \
	   const uint32_t *box, const uint32_t *element_strides, int interleave, int swizzle, int promotion, int fill))            \
	X(gpu_result, launch, 1, cuLaunchKernel, 1, hipModuleLaunchKernel,                                                         \
	  (gpu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,           \
	   unsigned block_z, unsigned shared, gpu_stream stream, void **parameters, void **extra))                                 \
	X(gpu_result, launch_extended, 0, cuLaunchKernelEx, 0, none,                                                               \
	  (const struct gpu_launch_config *config, gpu_function function, void **parameters, void **extra))                        \
	X(gpu_result, launch_cooperative, 0, none, 0, hipModuleLaunchCooperativeKernel,                                            \
	  (gpu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,           \
	   unsigned block_z, unsigned shared, gpu_stream stream, void **parameters))                                               \
	X(gpu_result, stream_new, 1, cuStreamCreate, 1, hipStreamCreateWithFlags, (gpu_stream * stream, unsigned flags))           \
	X(gpu_result, stream_free, 1, cuStreamDestroy_v2, 1, hipStreamDestroy, (gpu_stream stream))                                \
	X(gpu_result, stream_wait, 1, cuStreamSynchronize, 1, hipStreamSynchronize, (gpu_stream stream))                           \
	X(gpu_result, capture_begin, 1, cuStreamBeginCapture_v2, 0, hipStreamBeginCapture, (gpu_stream stream, int mode))          \
	X(gpu_result, capture_end, 1, cuStreamEndCapture, 0, hipStreamEndCapture, (gpu_stream stream, gpu_graph * graph))          \
	X(gpu_result, graph_free, 1, cuGraphDestroy, 0, hipGraphDestroy, (gpu_graph graph))                                        \
	X(gpu_result, graph_instantiate, 1, cuGraphInstantiateWithFlags, 0, hipGraphInstantiateWithFlags,                          \
	  (gpu_exec * exec, gpu_graph graph, unsigned long long flags))                                                            \
	X(gpu_result, graph_launch, 1, cuGraphLaunch, 0, hipGraphLaunch, (gpu_exec exec, gpu_stream stream))                       \
	X(gpu_result, graph_exec_free, 1, cuGraphExecDestroy, 0, hipGraphExecDestroy, (gpu_exec exec))                             \
	X(gpu_result, event_new, 1, cuEventCreate, 1, hipEventCreateWithFlags, (gpu_event * event, unsigned flags))                \
	X(gpu_result, event_free, 1, cuEventDestroy_v2, 1, hipEventDestroy, (gpu_event event))                                     \
	X(gpu_result, event_record, 1, cuEventRecord, 1, hipEventRecord, (gpu_event event, gpu_stream stream))                     \
	X(gpu_result, event_elapsed, 1, cuEventElapsedTime, 1, hipEventElapsedTime,                                                \
	  (float *milliseconds, gpu_event start, gpu_event end))

/* --- run-time compiler: NVRTC or hiprtc, and AMD's comgr below it ---------------------------------------------------------- */
typedef struct gpu_program_handle *gpu_program;
enum { GPU_RTC_SUCCESS = 0, GPU_RTC_NO_MEMORY = 1, GPU_RTC_NO_PROGRAM = 2, GPU_RTC_INVALID_OPTION = 5, GPU_RTC_NO_BUILTINS = 7 };

#define GPU_RTC_LIST(X)                                                                                                            \
	X(int, version, 1, nvrtcVersion, 1, hiprtcVersion, (int *major, int *minor))                                               \
	X(int, program_new, 1, nvrtcCreateProgram, 1, hiprtcCreateProgram,                                                         \
	  (gpu_program * program, const char *source, const char *name, int header_count, const char *const *headers,              \
	   const char *const *header_names))                                                                                       \
	X(int, program_free, 1, nvrtcDestroyProgram, 1, hiprtcDestroyProgram, (gpu_program * program))                             \
	X(int, program_compile, 1, nvrtcCompileProgram, 1, hiprtcCompileProgram,                                                   \
	  (gpu_program program, int option_count, const char *const *options))                                                     \
	X(int, log_size, 1, nvrtcGetProgramLogSize, 1, hiprtcGetProgramLogSize, (gpu_program program, size_t * bytes))             \
	X(int, log, 1, nvrtcGetProgramLog, 1, hiprtcGetProgramLog, (gpu_program program, char *text))                              \
	X(int, binary_size, 1, nvrtcGetCUBINSize, 1, hiprtcGetCodeSize, (gpu_program program, size_t * bytes))                     \
	X(int, binary, 1, nvrtcGetCUBIN, 1, hiprtcGetCode, (gpu_program program, char *bytes))                                     \
	X(int, ptx_size, 1, nvrtcGetPTXSize, 0, none, (gpu_program program, size_t * bytes))                                       \
	X(int, ptx, 1, nvrtcGetPTX, 0, none, (gpu_program program, char *text))                                                    \
	X(int, arch_count, 1, nvrtcGetNumSupportedArchs, 0, none, (int *count))                                                    \
	X(int, archs, 1, nvrtcGetSupportedArchs, 0, none, (int *archs))                                                            \
	X(int, isa_count, 0, none, 0, none, (size_t * count))                 /* of comgr (hip/library.c) */                       \
	X(int, isa_name, 0, none, 0, none, (size_t index, const char **name)) /* of comgr (hip/library.c) */

#define GPU_MEMBER(result, member, cuda_need, cuda, hip_need, hip, parameters) result(*member) parameters;
enum { GPU_PATH = 512, GPU_INCLUDES = 2 };

struct gpu_driver {
	GPU_DRIVER_LIST(GPU_MEMBER)
	int major;           /* HIP: of the library's file name, 5 to 7; 0 when it has none */
	char path[GPU_PATH]; /* HIP: the file that was opened */
};

struct gpu_rtc {
	GPU_RTC_LIST(GPU_MEMBER)
	int version_major, version_minor;
	char path[GPU_PATH];                  /* the file that was opened */
	unsigned include_count;               /* CUDA: folders for #include; 0 when no toolkit headers were found */
	char include[GPU_INCLUDES][GPU_PATH]; /* CUDA: the toolkit's include folder, and its cccl/ (CUDA 13) */
};

/* A function of an opened library: its symbol, the member that gets its address, and whether it must be there
 * (gpu_library_fill). */
struct gpu_symbol {
	const char *name;
	size_t member; /* offset */
	bool needed;
};
#define GPU_SYMBOL(type, member, symbol, need) { #symbol, offsetof(struct type, member), need },

#endif

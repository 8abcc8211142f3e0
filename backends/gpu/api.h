/* api: the functions of the CUDA driver and of the HIP runtime, of NVRTC and of hiprtc, under one set of names. AMD made its
 * interfaces after NVIDIA's: the functions have the same parameters, results have the same numbers, and handles and
 * addresses are 64 bits wide in both. cuda/api.h and hip/api.h list which symbol fills which member; a member that one
 * vendor lacks is NULL there. Used by all of backends/{gpu,cuda,hip}/. */
#ifndef PEAKD_BACKENDS_GPU_API_H
#define PEAKD_BACKENDS_GPU_API_H

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
	GPU_INVALID_CONFIGURATION = 9, /* HIP only */
	GPU_STUB_LIBRARY = 34,         /* CUDA only */
	GPU_NO_DEVICE = 100,
	GPU_INVALID_DEVICE = 101,
	GPU_INVALID_IMAGE = 200,
	GPU_NO_BINARY = 209,
	GPU_ECC_UNCORRECTABLE = 214,
	GPU_INVALID_FILE = 218,
	GPU_NOT_FOUND = 500,
	GPU_ILLEGAL_ADDRESS = 700,
	GPU_OUT_OF_RESOURCES = 701,
	GPU_LAUNCH_TIMEOUT = 702,
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

/* --- driver: functions ---------------------------------------------------------------------------------------------------- */
/* X(type of the result, member, (parameters)) */
#define GPU_DRIVER_LIST(X)                                                                                                         \
	X(gpu_result, init, (unsigned flags))                                                                                      \
	X(gpu_result, version, (int *version))                                                                                     \
	X(gpu_result, error_name, (gpu_result result, const char **name)) /* CUDA */                                               \
	X(gpu_result, error_text, (gpu_result result, const char **text)) /* CUDA */                                               \
	X(const char *, name_of_error, (gpu_result result))               /* HIP */                                                \
	X(const char *, text_of_error, (gpu_result result))               /* HIP */                                                \
	X(const char *, emulated, (void))                                 /* only tests/backends/hip/emulated has it */            \
	X(gpu_result, device_count, (int *count))                                                                                  \
	X(gpu_result, device_get, (int *device, int ordinal)) /* CUDA */                                                           \
	X(gpu_result, device_use, (int device))               /* HIP */                                                            \
	X(gpu_result, device_name, (char *name, int len, int device))                                                              \
	X(gpu_result, device_uuid, (gpu_uuid * uuid, int device))                                                                  \
	X(gpu_result, device_bus, (char *name, int len, int device)) /* HIP */                                                     \
	X(gpu_result, device_memory, (size_t * bytes, int device))                                                                 \
	X(gpu_result, device_attribute, (int *value, int attribute, int device))                                                   \
	X(gpu_result, properties_r0600, (void *properties, int device))    /* HIP */                                               \
	X(gpu_result, properties_old, (void *properties, int device))      /* HIP */                                               \
	X(gpu_result, context_retain, (gpu_context * context, int device)) /* CUDA */                                              \
	X(gpu_result, context_release, (int device))                       /* CUDA */                                              \
	X(gpu_result, context_use, (gpu_context context))                  /* CUDA */                                              \
	X(gpu_result, memory_info, (size_t * free, size_t * total))                                                                \
	X(gpu_result, memory_alloc, (gpu_address * address, size_t bytes))                                                         \
	X(gpu_result, memory_free, (gpu_address address))                                                                          \
	X(gpu_result, copy_in, (gpu_address to, const void *from, size_t bytes, gpu_stream stream))                                \
	X(gpu_result, copy_out, (void *to, gpu_address from, size_t bytes, gpu_stream stream))                                     \
	X(gpu_result, copy_within, (gpu_address to, gpu_address from, size_t bytes, gpu_stream stream))                            \
	X(gpu_result, memory_set, (gpu_address to, unsigned char value, size_t bytes, gpu_stream stream))                          \
	X(gpu_result, share_get, (struct gpu_handle * handle, gpu_address address))                                 /* CUDA */     \
	X(gpu_result, share_open, (gpu_address * address, struct gpu_handle handle, unsigned flags))                /* CUDA */     \
	X(gpu_result, share_close, (gpu_address address))                                                           /* CUDA */     \
	X(gpu_result, module_load, (gpu_library * module, const void *image))                                                      \
	X(gpu_result, module_unload, (gpu_library module))                                                                         \
	X(gpu_result, module_function, (gpu_function * function, gpu_library module, const char *name))                            \
	X(gpu_result, function_attribute, (int *value, int attribute, gpu_function function))                     /* CUDA */       \
	X(gpu_result, function_set, (gpu_function function, int attribute, int value))                            /* CUDA */       \
	X(gpu_result, function_parameter, (gpu_function function, size_t index, size_t * offset, size_t * bytes)) /* CUDA */       \
	X(gpu_result, occupancy_blocks, (int *blocks, gpu_function function, int threads, size_t shared))                          \
	X(gpu_result, occupancy_clusters,                                                                                          \
	  (int *clusters, gpu_function function, const struct gpu_launch_config *config)) /* CUDA */                               \
	X(gpu_result, tensor_map,                                                                                                  \
	  (struct gpu_tensor_map * map, int type, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides,     \
	   const uint32_t *box, const uint32_t *element_strides, int interleave, int swizzle, int promotion, int fill)) /* CUDA */ \
	X(gpu_result, launch,                                                                                                      \
	  (gpu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,           \
	   unsigned block_z, unsigned shared, gpu_stream stream, void **parameters, void **extra))                                 \
	X(gpu_result, launch_extended,                                                                                             \
	  (const struct gpu_launch_config *config, gpu_function function, void **parameters, void **extra)) /* CUDA */             \
	X(gpu_result, launch_cooperative,                                                                                          \
	  (gpu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,           \
	   unsigned block_z, unsigned shared, gpu_stream stream, void **parameters)) /* HIP */                                     \
	X(gpu_result, stream_new, (gpu_stream * stream, unsigned flags))                                                           \
	X(gpu_result, stream_free, (gpu_stream stream))                                                                            \
	X(gpu_result, stream_wait, (gpu_stream stream))                                                                            \
	X(gpu_result, capture_begin, (gpu_stream stream, int mode))                                                                \
	X(gpu_result, capture_end, (gpu_stream stream, gpu_graph * graph))                                                         \
	X(gpu_result, graph_free, (gpu_graph graph))                                                                               \
	X(gpu_result, graph_instantiate, (gpu_exec * exec, gpu_graph graph, unsigned long long flags))                             \
	X(gpu_result, graph_launch, (gpu_exec exec, gpu_stream stream))                                                            \
	X(gpu_result, graph_exec_free, (gpu_exec exec))                                                                            \
	X(gpu_result, event_new, (gpu_event * event, unsigned flags))                                                              \
	X(gpu_result, event_free, (gpu_event event))                                                                               \
	X(gpu_result, event_record, (gpu_event event, gpu_stream stream))                                                          \
	X(gpu_result, event_elapsed, (float *milliseconds, gpu_event start, gpu_event end))

/* --- run-time compiler: NVRTC or hiprtc, and AMD's comgr below it ---------------------------------------------------------- */
typedef struct gpu_program_handle *gpu_program;
enum { GPU_RTC_SUCCESS = 0, GPU_RTC_INVALID_OPTION = 5 };

#define GPU_RTC_LIST(X)                                                                                                            \
	X(int, version, (int *major, int *minor))                                                                                  \
	X(int, program_new,                                                                                                        \
	  (gpu_program * program, const char *source, const char *name, int header_count, const char *const *headers,              \
	   const char *const *header_names))                                                                                       \
	X(int, program_free, (gpu_program * program))                                                                              \
	X(int, program_compile, (gpu_program program, int option_count, const char *const *options))                               \
	X(int, log_size, (gpu_program program, size_t * bytes))                                                                    \
	X(int, log, (gpu_program program, char *text))                                                                             \
	X(int, binary_size, (gpu_program program, size_t * bytes))                                                                 \
	X(int, binary, (gpu_program program, char *bytes))                                                                         \
	X(int, ptx_size, (gpu_program program, size_t * bytes)) /* NVRTC */                                                        \
	X(int, ptx, (gpu_program program, char *text))          /* NVRTC */                                                        \
	X(int, arch_count, (int *count))                        /* NVRTC */                                                        \
	X(int, archs, (int *archs))                             /* NVRTC */                                                        \
	X(int, isa_count, (size_t * count))                     /* comgr */                                                        \
	X(int, isa_name, (size_t index, const char **name))     /* comgr */

#define GPU_MEMBER(result, member, parameters) result(*member) parameters;
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

/* Fills one member of *ret from an opened library; for the vendors' lists X(need, member, symbol). `missing` becomes the
 * first symbol that is needed but absent. */
#define GPU_RESOLVE(need, member, symbol)                                                                                          \
	*(void **)&ret->member = dlsym(handle, #symbol);                                                                           \
	if ((need) && !ret->member && !missing)                                                                                    \
		missing = #symbol;

#endif

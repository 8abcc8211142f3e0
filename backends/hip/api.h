/* api: what peakd uses of the HIP runtime, of hiprtc and of comgr, declared here so that building needs no ROCm. Names and values are
 * AMD's published interface (HIP Runtime API, hiprtc and comgr reference manuals), the same in ROCm 5, 6 and 7; what differs is said
 * where it does. The lists below are the only places that name a vendor's function; library.c turns them into dlsym calls. Used by
 * all of backends/hip/. */
#ifndef PEAKD_BACKENDS_HIP_API_H
#define PEAKD_BACKENDS_HIP_API_H

#include <stddef.h>
#include <stdint.h>

/* --- runtime: handles ------------------------------------------------------------------------------------------------- */
typedef int hipError_t;
typedef int hipDevice_t;
typedef void *hipDeviceptr_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipGraph *hipGraph_t;
typedef struct hipGraphExec *hipGraphExec_t;
typedef struct { unsigned char bytes[16]; } hipUUID;

/* --- runtime: results that peakd tells apart; others are shown by the runtime's own name and text ---------------------- */
enum {
	hipSuccess = 0,
	hipErrorInvalidValue = 1,
	hipErrorOutOfMemory = 2,
	hipErrorInvalidConfiguration = 9,
	hipErrorNoDevice = 100,
	hipErrorInvalidDevice = 101,
	hipErrorInvalidImage = 200,
	hipErrorNoBinaryForGpu = 209,
	hipErrorECCNotCorrectable = 214,
	hipErrorInvalidKernelFile = 218,
	hipErrorNotFound = 500,
	hipErrorIllegalAddress = 700,
	hipErrorLaunchOutOfResources = 701,
	hipErrorLaunchTimeOut = 702,
	hipErrorAssert = 710,
	hipErrorLaunchFailure = 719,
	hipErrorCooperativeLaunchTooLarge = 720,
	hipErrorNotSupported = 801,
	hipErrorRuntimeMemory = 1052,
	hipErrorRuntimeOther = 1053,
};

/* --- runtime: attributes ---------------------------------------------------------------------------------------------- */
enum {
	hipDeviceAttributeClockRate = 5, /* kHz, the maximum */
	hipDeviceAttributeCooperativeLaunch = 10,
	hipDeviceAttributeL2CacheSize = 19,
	hipDeviceAttributeMaxBlockDimX = 26, /* y and z follow */
	hipDeviceAttributeMaxGridDimX = 29,  /* y and z follow */
	hipDeviceAttributeMaxThreadsPerBlock = 56,
	hipDeviceAttributeMemoryBusWidth = 59,  /* bits */
	hipDeviceAttributeMemoryClockRate = 60, /* kHz */
	hipDeviceAttributeMultiprocessorCount = 63,
	hipDeviceAttributeMaxRegistersPerBlock = 71,
	hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
	hipDeviceAttributeWarpSize = 87,
};
enum { hipEventDefault = 0, hipStreamNonBlocking = 1, hipStreamCaptureModeThreadLocal = 1 };

/* hipDeviceProp_t is read for the name of the architecture alone: everything else has an attribute, and the structure was laid out
 * anew in ROCm 6.0, which exports the new one as hipGetDevicePropertiesR0600 (HIP 6.0 release notes). Bytes. */
enum { HIP_PROPERTIES_OLD = 792, HIP_PROPERTIES_OLD_ARCH = 396, HIP_PROPERTIES_R0600 = 1472, HIP_PROPERTIES_R0600_ARCH = 1160,
       HIP_PROPERTIES_ARCH = 256 };

/* Give static text instead of a result. peakd_emulated: only of a stand-in that emulates a device (tests/backends/hip/emulated/). */
#define HIP_TEXT_LIST(X) \
	X(0, emulated, peakd_emulated, (void)) \
	X(1, error_name, hipGetErrorName, (hipError_t result)) \
	X(1, error_text, hipGetErrorString, (hipError_t result))

/* X(need, member, symbol, (parameters)): need 1 = its absence makes the runtime unusable, 0 = the member is NULL then. */
#define HIP_RUNTIME_LIST(X) \
	X(1, init, hipInit, (unsigned flags)) \
	X(1, runtime_version, hipRuntimeGetVersion, (int *version)) \
	X(1, device_count, hipGetDeviceCount, (int *count)) \
	X(1, device_use, hipSetDevice, (int device)) \
	X(1, device_name, hipDeviceGetName, (char *name, int len, hipDevice_t device)) \
	X(0, device_uuid, hipDeviceGetUuid, (hipUUID *uuid, hipDevice_t device)) \
	X(1, device_bus, hipDeviceGetPCIBusId, (char *name, int len, int device)) \
	X(1, device_memory, hipDeviceTotalMem, (size_t *bytes, hipDevice_t device)) \
	X(1, device_attribute, hipDeviceGetAttribute, (int *value, int attribute, int device)) \
	X(0, properties_r0600, hipGetDevicePropertiesR0600, (void *properties, int device)) \
	X(0, properties_old, hipGetDeviceProperties, (void *properties, int device)) \
	X(1, memory_info, hipMemGetInfo, (size_t *free, size_t *total)) \
	X(1, memory_alloc, hipMalloc, (void **address, size_t bytes)) \
	X(1, memory_free, hipFree, (void *address)) \
	X(1, copy_in, hipMemcpyHtoDAsync, (hipDeviceptr_t to, void *from, size_t bytes, hipStream_t stream)) \
	X(1, copy_out, hipMemcpyDtoHAsync, (void *to, hipDeviceptr_t from, size_t bytes, hipStream_t stream)) \
	X(1, copy_within, hipMemcpyDtoDAsync, (hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes, hipStream_t stream)) \
	X(1, memory_set, hipMemsetD8Async, (hipDeviceptr_t to, unsigned char value, size_t bytes, hipStream_t stream)) \
	X(1, module_load, hipModuleLoadData, (hipModule_t *module, const void *image)) \
	X(1, module_unload, hipModuleUnload, (hipModule_t module)) \
	X(1, module_function, hipModuleGetFunction, (hipFunction_t *function, hipModule_t module, const char *name)) \
	X(1, occupancy_blocks, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, \
	  (int *blocks, hipFunction_t function, int threads, size_t shared)) \
	X(1, launch, hipModuleLaunchKernel, \
	  (hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
	   unsigned block_z, unsigned shared, hipStream_t stream, void **parameters, void **extra)) \
	X(0, launch_cooperative, hipModuleLaunchCooperativeKernel, \
	  (hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
	   unsigned block_z, unsigned shared, hipStream_t stream, void **parameters)) \
	X(1, stream_new, hipStreamCreateWithFlags, (hipStream_t *stream, unsigned flags)) \
	X(1, stream_free, hipStreamDestroy, (hipStream_t stream)) \
	X(1, stream_wait, hipStreamSynchronize, (hipStream_t stream)) \
	X(0, capture_begin, hipStreamBeginCapture, (hipStream_t stream, int mode)) \
	X(0, capture_end, hipStreamEndCapture, (hipStream_t stream, hipGraph_t *graph)) \
	X(0, graph_free, hipGraphDestroy, (hipGraph_t graph)) \
	X(0, graph_instantiate, hipGraphInstantiateWithFlags, \
	  (hipGraphExec_t *exec, hipGraph_t graph, unsigned long long flags)) \
	X(0, graph_launch, hipGraphLaunch, (hipGraphExec_t exec, hipStream_t stream)) \
	X(0, graph_exec_free, hipGraphExecDestroy, (hipGraphExec_t exec)) \
	X(1, event_new, hipEventCreateWithFlags, (hipEvent_t *event, unsigned flags)) \
	X(1, event_free, hipEventDestroy, (hipEvent_t event)) \
	X(1, event_record, hipEventRecord, (hipEvent_t event, hipStream_t stream)) \
	X(1, event_elapsed, hipEventElapsedTime, (float *milliseconds, hipEvent_t start, hipEvent_t end))

/* --- hiprtc ----------------------------------------------------------------------------------------------------------- */
typedef int hiprtcResult;
typedef struct _hiprtcProgram *hiprtcProgram;
enum { HIPRTC_SUCCESS = 0, HIPRTC_ERROR_INVALID_OPTION = 5, HIPRTC_ERROR_COMPILATION = 6 };

#define HIP_RTC_LIST(X) \
	X(1, version, hiprtcVersion, (int *major, int *minor)) \
	X(1, program_new, hiprtcCreateProgram, (hiprtcProgram *program, const char *source, const char *name, int header_count, \
	                                         const char *const *headers, const char *const *header_names)) \
	X(1, program_free, hiprtcDestroyProgram, (hiprtcProgram *program)) \
	X(1, program_compile, hiprtcCompileProgram, (hiprtcProgram program, int option_count, const char *const *options)) \
	X(1, log_size, hiprtcGetProgramLogSize, (hiprtcProgram program, size_t *bytes)) \
	X(1, log, hiprtcGetProgramLog, (hiprtcProgram program, char *text)) \
	X(1, code_size, hiprtcGetCodeSize, (hiprtcProgram program, size_t *bytes)) \
	X(1, code, hiprtcGetCode, (hiprtcProgram program, char *bytes))

/* --- comgr: the compiler library under hiprtc; only asked which architectures it knows ----------------------------------- */
typedef int amd_comgr_status_t;

#define HIP_COMGR_LIST(X) \
	X(1, isa_count, amd_comgr_get_isa_count, (size_t *count)) \
	X(1, isa_name, amd_comgr_get_isa_name, (size_t index, const char **name))

#endif

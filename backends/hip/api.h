/* api: AMD's names and numbers, declared here so that building needs no ROCm: the HIP Runtime API, hiprtc and comgr
 * reference manuals, the same in ROCm 5, 6 and 7 unless a comment says otherwise. The lists say which symbol fills which
 * member of gpu/api.h's structs; library.c turns them into dlsym calls. */
#ifndef PEAKD_BACKENDS_HIP_API_H
#define PEAKD_BACKENDS_HIP_API_H

#include "backends/gpu/api.h"

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

/* peakd reads hipDeviceProp_t only for the name of the architecture: everything else has an attribute. ROCm 6.0 changed the
 * structure's layout, and exports the new one as hipGetDevicePropertiesR0600 (HIP 6.0 release notes). Bytes. */
enum { HIP_PROPERTIES_OLD_ARCH = 396, HIP_PROPERTIES_R0600 = 1472, HIP_PROPERTIES_R0600_ARCH = 1160, HIP_PROPERTIES_ARCH = 256 };

/* X(need, member, symbol): need 1 = its absence makes the runtime unusable, 0 = the member is NULL then. */
#define HIP_RUNTIME_LIST(X)                                                                                                        \
	X(0, emulated, peakd_emulated)                                                                                             \
	X(1, init, hipInit)                                                                                                        \
	X(1, version, hipRuntimeGetVersion)                                                                                        \
	X(1, name_of_error, hipGetErrorName)                                                                                       \
	X(1, text_of_error, hipGetErrorString)                                                                                     \
	X(1, device_count, hipGetDeviceCount)                                                                                      \
	X(1, device_use, hipSetDevice)                                                                                             \
	X(1, device_name, hipDeviceGetName)                                                                                        \
	X(0, device_uuid, hipDeviceGetUuid)                                                                                        \
	X(1, device_bus, hipDeviceGetPCIBusId)                                                                                     \
	X(1, device_memory, hipDeviceTotalMem)                                                                                     \
	X(1, device_attribute, hipDeviceGetAttribute)                                                                              \
	X(0, properties_r0600, hipGetDevicePropertiesR0600)                                                                        \
	X(0, properties_old, hipGetDeviceProperties)                                                                               \
	X(1, memory_info, hipMemGetInfo)                                                                                           \
	X(1, memory_alloc, hipMalloc)                                                                                              \
	X(1, memory_free, hipFree)                                                                                                 \
	X(1, copy_in, hipMemcpyHtoDAsync)                                                                                          \
	X(1, copy_out, hipMemcpyDtoHAsync)                                                                                         \
	X(1, copy_within, hipMemcpyDtoDAsync)                                                                                      \
	X(1, memory_set, hipMemsetD8Async)                                                                                         \
	X(1, module_load, hipModuleLoadData)                                                                                       \
	X(1, module_unload, hipModuleUnload)                                                                                       \
	X(1, module_function, hipModuleGetFunction)                                                                                \
	X(1, occupancy_blocks, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)                                                 \
	X(1, launch, hipModuleLaunchKernel)                                                                                        \
	X(0, launch_cooperative, hipModuleLaunchCooperativeKernel)                                                                 \
	X(1, stream_new, hipStreamCreateWithFlags)                                                                                 \
	X(1, stream_free, hipStreamDestroy)                                                                                        \
	X(1, stream_wait, hipStreamSynchronize)                                                                                    \
	X(0, capture_begin, hipStreamBeginCapture)                                                                                 \
	X(0, capture_end, hipStreamEndCapture)                                                                                     \
	X(0, graph_free, hipGraphDestroy)                                                                                          \
	X(0, graph_instantiate, hipGraphInstantiateWithFlags)                                                                      \
	X(0, graph_launch, hipGraphLaunch)                                                                                         \
	X(0, graph_exec_free, hipGraphExecDestroy)                                                                                 \
	X(1, event_new, hipEventCreateWithFlags)                                                                                   \
	X(1, event_free, hipEventDestroy)                                                                                          \
	X(1, event_record, hipEventRecord)                                                                                         \
	X(1, event_elapsed, hipEventElapsedTime)

#define HIP_RTC_LIST(X)                                                                                                            \
	X(1, version, hiprtcVersion)                                                                                               \
	X(1, program_new, hiprtcCreateProgram)                                                                                     \
	X(1, program_free, hiprtcDestroyProgram)                                                                                   \
	X(1, program_compile, hiprtcCompileProgram)                                                                                \
	X(1, log_size, hiprtcGetProgramLogSize)                                                                                    \
	X(1, log, hiprtcGetProgramLog)                                                                                             \
	X(1, binary_size, hiprtcGetCodeSize)                                                                                       \
	X(1, binary, hiprtcGetCode)

/* The compiler library below hiprtc; it is only asked which architectures it knows. */
#define HIP_COMGR_LIST(X)                                                                                                          \
	X(1, isa_count, amd_comgr_get_isa_count)                                                                                   \
	X(1, isa_name, amd_comgr_get_isa_name)

#endif

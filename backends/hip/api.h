/* api: AMD's numbers, declared here so that building needs no ROCm: the HIP Runtime API and comgr reference manuals, the same in ROCm 5, 6
 * and 7 unless a comment says otherwise. Functions: gpu/api.h. */
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

#endif

/* api: AMD's numbers, declared here so that building needs no ROCm: the HIP Runtime API and comgr reference manuals, the same in
 * ROCm 5, 6 and 7 unless a comment says otherwise. Functions: gpu/api.h. */
#ifndef PEAKD_BACKENDS_HIP_API_H
#define PEAKD_BACKENDS_HIP_API_H

#include "backends/gpu/api.h"

#define HIP_NUMBER(member, cuda, cuda_number, name, number) name = number,
enum { GPU_ATTRIBUTE_LIST(HIP_NUMBER) };

/* peakd reads hipDeviceProp_t only for the name of the architecture: everything else has an attribute. ROCm 6.0 changed the
 * structure's layout, and exports the new one as hipGetDevicePropertiesR0600 (HIP 6.0 release notes). Bytes. */
enum { HIP_PROPERTIES_OLD_ARCH = 396, HIP_PROPERTIES_R0600 = 1472, HIP_PROPERTIES_R0600_ARCH = 1160, HIP_PROPERTIES_ARCH = 256 };

#endif

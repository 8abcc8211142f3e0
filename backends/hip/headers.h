/* headers: small replacements for headers that kernels habitually include. hiprtc has no include folder of its own (ROCm 5.2 cannot
 * even include its hip_fp16.h) and a host's headers do not compile as device code. Given to hiprtc by compile.c, by name; they win
 * over every folder. */
#ifndef PEAKD_BACKENDS_HIP_HEADERS_H
#define PEAKD_BACKENDS_HIP_HEADERS_H

/* How many, and two parallel arrays: "stdint.h", … and their texts. */
extern const int hip_headers_count;
extern const char *const hip_headers_names[];
extern const char *const hip_headers_texts[];
/* What stands in front of every translation unit: HIP's older names of the indices, which hiprtc lacks, and helper functions without
 * __device__ as device code (there is no host code in a device region). hip_headers_end stands behind it. */
extern const char hip_headers_begin[];
extern const char hip_headers_end[];

#endif

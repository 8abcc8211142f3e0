/* headers: small replacements for standard headers that kernels habitually include. NVRTC has no include folder of its own and a
 * host's headers do not compile as device code; without these, `#include <stdint.h>` would be an error. Given to NVRTC by
 * compile.c, by name, ahead of every folder. */
#ifndef PEAKD_BACKENDS_CUDA_HEADERS_H
#define PEAKD_BACKENDS_CUDA_HEADERS_H

/* How many, and two parallel arrays: "stdint.h", … and their texts. */
extern const int cuda_headers_count;
extern const char *const cuda_headers_names[];
extern const char *const cuda_headers_texts[];

#endif

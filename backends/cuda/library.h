/* library: finds and opens NVIDIA's libraries at run time. The driver (libcuda.so.1) comes with the GPU's driver; NVRTC, its
 * built-in headers and the fp16/bf16/mma headers come with the CUDA toolkit. Called by the other files of backends/cuda/ and by
 * the sandbox.
 *
 * Two environment variables replace the search: PEAKD_CUDA_DRIVER (the file of libcuda) and PEAKD_CUDA_TOOLKIT (a toolkit's
 * folder, with lib64/ or lib/, and include/). */
#ifndef PEAKD_BACKENDS_CUDA_LIBRARY_H
#define PEAKD_BACKENDS_CUDA_LIBRARY_H

#include <stdbool.h>

#include "backends/gpu/api.h"
#include "base/buf.h"
#include "base/err.h"

/* Opens libcuda and calls cuInit. -ERR_UNSUPPORTED: no driver library (names the package), an unusable one, or no device. */
int cuda_library_driver(struct gpu_driver *ret_driver, struct err *e);
/* Opens the newest NVRTC. -ERR_UNSUPPORTED: none; names the package that brings it and the folders that were searched. */
int cuda_library_nvrtc(struct gpu_rtc *ret_nvrtc, struct err *e);
/* Opens another library of the toolkit: the first of the names in the folders where NVRTC is searched too, as a dlopen
 * handle. NULL when there is none; `tried` gets what went wrong. */
void *cuda_library_open(const char *const *names, size_t count, struct buf *tried);
/* Finds the file without opening it. What only ld.so would find does not count. */
bool cuda_library_find(const char *const *names, size_t count, char ret_file[GPU_PATH]);
/* The folders where headers were looked for, on one line, for messages. */
void cuda_library_include_places(struct buf *out);

#endif

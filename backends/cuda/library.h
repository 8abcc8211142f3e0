/* library: finds and opens NVIDIA's libraries at run time. The driver (libcuda.so.1) comes with the GPU's driver; NVRTC, its
 * built-in headers and the fp16/bf16/mma headers come with the CUDA toolkit. Called by the other files of backends/cuda/.
 *
 * Two environment variables replace the search: PEAKD_CUDA_DRIVER (the file of libcuda) and PEAKD_CUDA_TOOLKIT (a toolkit's folder,
 * with lib64/ or lib/, and include/). Libraries stay loaded for the life of the process, so opening again is cheap and needs
 * no global. */
#ifndef PEAKD_BACKENDS_CUDA_LIBRARY_H
#define PEAKD_BACKENDS_CUDA_LIBRARY_H

#include <stdbool.h>

#include "backends/cuda/api.h"
#include "base/buf.h"
#include "base/err.h"

enum { CUDA_LIBRARY_INCLUDES = 2, CUDA_LIBRARY_PATH = 512 };

#define CUDA_MEMBER_CU(need, member, symbol, parameters) CUresult (*member) parameters;
#define CUDA_MEMBER_NVRTC(need, member, symbol, parameters) nvrtcResult (*member) parameters;

/* The driver's functions. */
struct cuda_driver { CUDA_DRIVER_LIST(CUDA_MEMBER_CU) };

/* NVRTC's functions, and where it lives. */
struct cuda_nvrtc {
	CUDA_NVRTC_LIST(CUDA_MEMBER_NVRTC)
	int version_major, version_minor;
	char path[CUDA_LIBRARY_PATH];                             /* the file that was opened */
	unsigned include_count;                                   /* folders for #include: 0 when no toolkit headers were found */
	char include[CUDA_LIBRARY_INCLUDES][CUDA_LIBRARY_PATH];   /* the toolkit's include folder; its cccl/ (CUDA 13) */
};

/* Opens libcuda and calls cuInit. -ERR_UNSUPPORTED: no driver library (names the package), an unusable one, or no device. */
int cuda_library_driver(struct cuda_driver *ret_driver, struct err *e);
/* Opens the newest NVRTC that is found. -ERR_UNSUPPORTED: none; says which package brings it and where was looked. */
int cuda_library_nvrtc(struct cuda_nvrtc *ret_nvrtc, struct err *e);
/* Another library of the toolkit: the first of the names that is found in the places where NVRTC is sought too, as a dlopen handle;
 * NULL when there is none (`tried` gets what went wrong). */
void *cuda_library_open(const char *const *names, size_t count, struct buf *tried);
/* The same without opening it: whether a file is there; to has room for PATH_MAX. What only ld.so would find does not count. */
bool cuda_library_find(const char *const *names, size_t count, char *to);
/* Where the headers were looked for, one line, for messages. */
void cuda_library_include_places(struct buf *out);

#endif

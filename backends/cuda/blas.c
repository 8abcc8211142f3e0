/* blas: see blas.h. */
#include "backends/cuda/blas.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/library.h"
#include "base/mem.h"

static const char *const names[] = { "libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so" };

#define RESOLVE(need, member, symbol, parameters) \
	*(void **)&ret->member = dlsym(handle, #symbol); \
	if ((need) && !ret->member && !missing) \
		missing = #symbol;

static const char *resolve(void *handle, struct cuda_blas *ret)
{
	const char *missing = NULL;
	CUDA_BLAS_LIST(RESOLVE)
	return missing;
}

int cuda_blas_open(struct cuda_blas *ret_blas, struct err *e)
{
	struct buf tried = BUF_INIT;
	struct cuda_blas blas;
	void *handle = cuda_library_open(names, MEM_COUNT(names), &tried);
	const char *missing = handle ? resolve(handle, &blas) : NULL;
	int rc = 0;

	if (!handle)
		rc = err_set(e, ERR_UNSUPPORTED, "no library to compare with: libcublasLt.so cannot be loaded%s%s. Install the CUDA toolkit's "
		             "libcublas (NVIDIA's package libcublas-13-0), or name the toolkit's folder in PEAKD_CUDA_TOOLKIT or CUDA_HOME",
		             tried.len ? ": " : "", buf_text(&tried));
	else if (missing)
		rc = err_set(e, ERR_UNSUPPORTED, "no library to compare with: libcublasLt has no %s; install CUDA 12 or 13", missing);
	else
		*ret_blas = blas;
	buf_fini(&tried);
	return rc;
}

void cuda_blas_version(char version[32])
{
	char file[PATH_MAX], real[PATH_MAX];
	const char *tail;

	version[0] = 0;
	if (!cuda_library_find(names, MEM_COUNT(names), file) || !realpath(file, real))
		return;
	tail = strstr(real, ".so.");
	if (tail)
		snprintf(version, 32, "%.31s", tail + 4);
}

/* Builds one of the libraries of stub_vendor.h with the machine's compiler, for test_gemm.c and test_nvml.c. */
#ifndef PEAKD_TESTS_BACKENDS_CUDA_STUB_H
#define PEAKD_TESTS_BACKENDS_CUDA_STUB_H

#include <stdlib.h>

#include "base/mem.h"

/* True when `file` was made. */
static int stub_build(const char *which, const char *file)
{
	char *command = mem_fmt(
		"echo '#include \"tests/backends/cuda/stub_vendor.h\"' | ${CC:-cc} -w -shared -fPIC -D%s -I. -x c - -o '%s'", which,
		file);
	int rc = system(command);
	free(command);
	return rc == 0;
}

#endif

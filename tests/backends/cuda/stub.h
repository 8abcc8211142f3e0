/* stub: builds one of stub_vendor.h's libraries with the machine's compiler. */
#ifndef PEAKD_TESTS_BACKENDS_CUDA_STUB_H
#define PEAKD_TESTS_BACKENDS_CUDA_STUB_H

#include <stdlib.h>

#include "base/mem.h"

/* True when `file` was made. */
static int stub_build(const char *which, const char *file)
{
	char *command = mem_fmt("echo '#include \"tests/backends/cuda/stub_vendor.h\"' | ${CC:-cc} -w -shared -fPIC -D%s -I. -x c - -o '%s'",
	                        which, file);
	int rc = system(command);
	free(command);
	return rc == 0;
}

#endif

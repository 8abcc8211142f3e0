/* backend: the backends of this build; see backend.h. A new one is one folder and one line, and more lines in
 * backend_sandbox_needs if its compiler opens files. Only this file knows all vendors. */
#include "backends/worker/backend.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cuda.h"
#include "backends/hip/hip.h"
#include "backends/hlsl/hlsl.h"
#include "base/mem.h"

const struct backend *const backend_table[] = {
	&backend_cuda,
	&backend_hip,
	&backend_hlsl,
	NULL,
};

const struct backend *backend_find(const char *name)
{
	for (const struct backend *const *b = backend_table; *b; b++)
		if (strcmp((*b)->name, name) == 0)
			return *b;
	return NULL;
}

int backend_place(const struct plan *plan, unsigned buffer, int64_t offset, size_t bytes, uint64_t *ret_at, struct err *e)
{
	uint64_t from = (uint64_t)offset + BACKEND_RED_ZONE, whole; /* what lies before the red zone wraps to a huge number */
	if (buffer >= plan->buffer_count)
		return err_set(e, ERR_INPUT, "there is no buffer %u: the plan has %zu", buffer, plan->buffer_count);
	whole = plan->buffers[buffer].bytes + 2 * BACKEND_RED_ZONE;
	if (from > whole || bytes > whole - from)
		return err_set(e, ERR_INPUT, "%zu bytes at offset %lld are outside of buffer \"%s\" (%llu bytes) and its red zones",
			       bytes, (long long)offset, plan->buffers[buffer].name,
			       (unsigned long long)plan->buffers[buffer].bytes);
	*ret_at = from;
	return 0;
}

void backend_sandbox_needs(enum sandbox_role role, struct sandbox_needs *ret_needs)
{
	struct gpu_rtc rtc;
	*ret_needs = (struct sandbox_needs){ .read_count = 0 };
	/* NVRTC opens headers whenever code includes them; a device's facts name NVRTC's version. */
	if (cuda_library_nvrtc(&rtc, NULL) == 0) {
		/* NVRTC opens this library at its first compilation, by name alone: ld.so would look for it where the sandbox
		 * forbids. A library of that name that is already loaded is used as it is. */
		char real[PATH_MAX];
		const char *end = realpath(rtc.path, real) ? strrchr(real, '/') : NULL;
		char *name = mem_fmt("libnvrtc-builtins.so.%d.%d", rtc.version_major, rtc.version_minor);
		char *file = mem_fmt("%.*s/%s", end ? (int)(end - real) : 0, end ? real : "", name);
		if (end == NULL || dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) == NULL)
			dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
		free(name);
		free(file);
		snprintf(ret_needs->read[ret_needs->read_count++], PATH_MAX, "%s", rtc.path);
		for (unsigned i = 0; i < rtc.include_count; i++)
			snprintf(ret_needs->read[ret_needs->read_count++], PATH_MAX, "%s", rtc.include[i]);
	}
	/* hiprtc and comgr read no file once they are open, but comgr keeps what it compiles in files below TMPDIR. */
	ret_needs->scratch = role == SANDBOX_COMPILE && hip_library_rtc(&rtc, NULL) == 0;
}

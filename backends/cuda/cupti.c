/* cupti: see cupti.h. */
#include "backends/cuda/cupti.h"

#include <dlfcn.h>

#include "backends/cuda/cuda.h"
#include "base/mem.h"

static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so" };
/* CUPTI opens these by name, where ld.so need not find them. */
static const char *const host_names[] = { "libnvperf_host.so" };

#define RESOLVE(member, symbol, parameters)                                                                                        \
	*(void **)&c.member = dlsym(handle, #symbol);                                                                              \
	if (c.member == NULL && missing == NULL)                                                                                   \
		missing = #symbol;

int cuda_cupti_open(struct cuda_cupti *ret_cupti, struct err *e)
{
	struct buf tried = BUF_INIT, ignored = BUF_INIT;
	struct cuda_cupti c = { .text = NULL };
	const char *missing = NULL;
	int rc = 0;

	cuda_library_open(host_names, MEM_COUNT(host_names), &ignored);
	void *handle = cuda_library_open(names, MEM_COUNT(names), &tried);
	if (handle) {
		CUDA_CUPTI_LIST(RESOLVE)
	}
	if (handle == NULL)
		rc = err_set(e, ERR_UNSUPPORTED,
			     "no profiling library: libcupti.so cannot be loaded (%s); install NVIDIA's package cuda-cupti-13-0",
			     buf_text(&tried));
	else if (missing)
		rc = err_set(e, ERR_UNSUPPORTED, "the profiling library is too old: it has no %s; install cuda-cupti 12.6 or newer",
			     missing);
	else
		*ret_cupti = c;
	buf_fini(&tried);
	buf_fini(&ignored);
	return rc;
}

int cuda_cupti_fail(const struct cuda_cupti *c, int result, const char *what, struct err *e)
{
	const char *text = NULL;

	c->text(result, &text);
	if (result == CUPTI_INSUFFICIENT_PRIVILEGES || result == CUPTI_VIRTUAL_PRIVILEGES)
		return err_set(e, ERR_UNSUPPORTED,
			       "ERR_NVGPUCTRPERM: the driver gives counters to administrators alone; load it with "
			       "NVreg_RestrictProfilingToAdminUsers=0, or give the service CAP_PERFMON (docs/measuring.md)");
	return err_set(e, ERR_UNSUPPORTED, "%s answers %d (%s)", what, result, text ? text : "unknown");
}

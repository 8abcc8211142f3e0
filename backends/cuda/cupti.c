/* cupti: see cupti.h. */
#include "backends/cuda/cupti.h"

#include "backends/cuda/cuda.h"
#include "base/mem.h"

#define SYMBOL(member, symbol, parameters) GPU_SYMBOL(cuda_cupti, member, symbol, true)
static const struct gpu_symbol symbols[] = { CUDA_CUPTI_LIST(SYMBOL) };
static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so" };
static const struct cuda_library library = { .without = "no profiling library",
					     .package = "cuda-cupti-13-0 (12.6 or newer)",
					     .names = names,
					     .name_count = MEM_COUNT(names),
					     .symbols = symbols,
					     .symbol_count = MEM_COUNT(symbols) };

int cuda_cupti_open(struct cuda_cupti *ret_cupti, struct err *e)
{
	/* CUPTI opens this one by name, where ld.so need not find it. */
	static const char *const host[] = { "libnvperf_host.so" };
	struct buf ignored = BUF_INIT;

	cuda_library_open(host, MEM_COUNT(host), &ignored);
	buf_fini(&ignored);
	return cuda_library_load(&library, ret_cupti, e);
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

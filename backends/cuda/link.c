/* link: see cuda.h. Interface: docs.nvidia.com/cuda/nvjitlink. */
#include "backends/cuda/cuda.h"

#include <stdlib.h>

#include "base/mem.h"

enum { INPUT_PTX = 2 };

#define LIBRARY(X)                                                                                                                 \
	X(create, nvJitLinkCreate, (void **handle, uint32_t count, const char **options))                                          \
	X(add, nvJitLinkAddData, (void *handle, int type, const void *data, size_t size, const char *name))                        \
	X(complete, nvJitLinkComplete, (void *handle))                                                                             \
	X(size, nvJitLinkGetLinkedCubinSize, (void *handle, size_t *size))                                                         \
	X(get, nvJitLinkGetLinkedCubin, (void *handle, void *cubin))                                                               \
	X(destroy, nvJitLinkDestroy, (void **handle))
#define MEMBER(member, symbol, parameters) int(*member) parameters;
struct linker {
	LIBRARY(MEMBER)
};
#define SYMBOL(member, symbol, parameters) GPU_SYMBOL(linker, member, symbol, true)
static const struct gpu_symbol symbols[] = { LIBRARY(SYMBOL) };
static const char *const names[] = { "libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so" };
static const struct cuda_library library = { .without = "kernels cannot be rewritten",
					     .package = "libnvjitlink-13-0",
					     .names = names,
					     .name_count = MEM_COUNT(names),
					     .symbols = symbols,
					     .symbol_count = MEM_COUNT(symbols) };

int cuda_link(const struct buf *ptx, const char *arch, struct wire_compiled *io_compiled, struct err *e)
{
	struct linker l;
	void *handle = NULL;
	size_t size = 0;
	int result = 0, rc = cuda_library_load(&library, &l, e);
	if (rc < 0)
		return rc;
	char *option = mem_fmt("-arch=%s", arch);
	const char *options[] = { option };
	result = l.create(&handle, 1, options);
	if (result == 0)
		result = l.add(handle, INPUT_PTX, ptx->data, ptx->len + 1, "rewritten");
	if (result == 0)
		result = l.complete(handle);
	if (result == 0)
		result = l.size(handle, &size);
	if (result == 0) {
		free(io_compiled->binary);
		io_compiled->binary = mem_new(size + 1, 1);
		io_compiled->binary_len = size;
		result = l.get(handle, io_compiled->binary);
	}
	if (handle)
		l.destroy(&handle);
	free(option);
	return result == 0 ? 0 : err_set(e, ERR_UNSUPPORTED, "nvJitLink answers %d to the rewritten kernel", result);
}

/* probe: see cuda.h. PTX: "PTX ISA", ld, st, and.b64. nvJitLink: docs.nvidia.com/cuda/nvjitlink. */
#include "backends/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define PLACE "%%peakd_place" /* in a format */
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

/* "	ld.global.v4.f32 	{%f1, …}, [%rd14+16];": where the address register begins, and its length; NULL: none of those
 * meant. */
static const char *find_address(const char *line, size_t n, enum wire_probe probe, size_t *ret_len)
{
	const char *end = line + n, *op = line + strspn(line, " \t");
	if (op < end && *op == '@')
		op += strcspn(op, " \t"), op += strspn(op, " \t");
	size_t word = strcspn(op, " \t\n");
	if (op + word > end || strncmp(op, probe == WIRE_PROBE_LOADS ? "ld.global" : "st.global", 9) != 0 || word < 4 ||
	    (strncmp(op + word - 4, ".f32", 4) != 0 && strncmp(op + word - 4, ".f64", 4) != 0))
		return NULL;
	const char *at = memchr(op, '[', (size_t)(end - op));
	if (at == NULL || at[1] != '%')
		return NULL;
	*ret_len = strcspn(at + 1, "+-]\n");
	return at + 1;
}

size_t cuda_probe_rewrite(const char *ptx, enum wire_probe probe, struct buf *out)
{
	size_t changes = 0;
	for (const char *line = ptx; *line;) {
		size_t n = strcspn(line, "\n"), len = 0;
		const char *at = find_address(line, n, probe, &len);
		if (at) {
			buf_addf(out, "\tand.b64 \t" PLACE ", %.*s, -65536;\n%.*s" PLACE "%.*s\n", (int)len, at, (int)(at - line),
				 line, (int)(line + n - at - len), at + len);
			changes++;
		} else {
			buf_addf(out, "%.*s\n", (int)n, line);
		}
		/* A function's body. */
		if (n == 1 && *line == '{')
			buf_addf(out, "\t.reg .b64 \t" PLACE ";\n");
		line += n + (line[n] == '\n');
	}
	return changes;
}

int cuda_probe_apply(const char *ptx, const char *arch, enum wire_probe probe, struct wire_compiled *io_compiled, struct err *e)
{
	struct linker l;
	struct buf out = BUF_INIT;
	void *handle = NULL;
	size_t size = 0;
	int result = 0, rc = cuda_library_load(&library, &l, e);
	if (rc < 0)
		return rc;
	if (cuda_probe_rewrite(ptx, probe, &out) == 0) {
		buf_fini(&out);
		return err_set(e, ERR_UNSUPPORTED, "it has no %s of floats that could be rewritten",
			       probe == WIRE_PROBE_LOADS ? "loads" : "stores");
	}
	char *option = mem_fmt("-arch=%s", arch);
	const char *options[] = { option };
	result = l.create(&handle, 1, options);
	if (result == 0)
		result = l.add(handle, INPUT_PTX, out.data, out.len + 1, "probe");
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
	buf_fini(&out);
	return result == 0 ? 0 : err_set(e, ERR_UNSUPPORTED, "nvJitLink answers %d to the rewritten kernel", result);
}

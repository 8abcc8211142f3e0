/* probe: see cuda.h. PTX: "PTX ISA", ld, st, and.b64. */
#include "backends/cuda/cuda.h"

#include <string.h>

#define PLACE "%%peakd_place" /* in a format */
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
	struct buf out = BUF_INIT;
	int rc = cuda_probe_rewrite(ptx, probe, &out) == 0
			 ? err_set(e, ERR_UNSUPPORTED, "it has no %s of floats that could be rewritten",
				   probe == WIRE_PROBE_LOADS ? "loads" : "stores")
			 : cuda_link(&out, arch, io_compiled, e);
	buf_fini(&out);
	return rc;
}

/* source: see source.h. */
#include "backends/gpu/source.h"

#include <string.h>

int source_add(const struct wire_compile *request, struct buf *out, struct err *e)
{
	for (size_t i = 0; i < request->define_count; i++) {
		const struct wire_define *d = &request->defines[i];
		if (strpbrk(d->name, " \t\r\n") || strpbrk(d->value, "\r\n"))
			return err_set(e, ERR_INPUT, "the parameter \"%.60s\" cannot become a macro: its name or value has a line break or a space", d->name);
		buf_addf(out, "#define %s %s\n", d->name, d->value);
	}
	/* The empty line ends a macro whose last line ends in a backslash. */
	buf_addf(out, "#line 1 \"macros\"\n%s\n\n#line 1 \"device\"\n%s\n", request->macros ? request->macros : "",
	         request->device ? request->device : "");
	return 0;
}

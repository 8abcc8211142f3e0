/* names: see names.h. */
#include "backends/gpu/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

int names_missing(const char *const *names, size_t count, const char *name, struct err *e)
{
	struct buf list = BUF_INIT;
	char *mangled = mem_fmt("%zu%s", strlen(name), name); /* Itanium C++ ABI: a name is written behind its length */
	bool forgotten = false;
	int rc;

	for (size_t i = 0; i < count; i++) {
		buf_addf(&list, "%s%s", i ? ", " : "", names[i]);
		if (strncmp(names[i], "_Z", 2) == 0 && strstr(names[i], mangled))
			forgotten = true;
	}
	if (forgotten)
		rc = err_set(e, ERR_INPUT, "the device code's kernel \"%s\" has a C++ name (%s): declare it extern \"C\" __global__",
		             name, buf_text(&list));
	else if (count)
		rc = err_set(e, ERR_INPUT, "the host code launches kernel \"%s\", which the device code does not have; it has: %s",
		             name, buf_text(&list));
	else
		rc = err_set(e, ERR_INPUT, "the host code launches kernel \"%s\", but the device code has no kernel at all: write "
		             "extern \"C\" __global__ void %s(…)", name, name);
	free(mangled);
	buf_fini(&list);
	return rc;
}

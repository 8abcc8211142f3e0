/* backend: the backends of this build; see backend.h. A new one is one folder and one line. */
#include <string.h>

#include "backends/backend.h"
#include "backends/cuda/backend.h"
#include "backends/hip/backend.h"
#include "backends/hlsl/backend.h"

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

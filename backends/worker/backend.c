/* backend: the backends of this build; see backend.h. A new one is one folder and one line. */
#include <string.h>

#include "backends/worker/backend.h"
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

int backend_place(const struct plan *plan, unsigned buffer, int64_t offset, size_t bytes, uint64_t *ret_at, struct err *e)
{
	uint64_t from = (uint64_t)offset + BACKEND_RED_ZONE, whole; /* what lies before the red zone wraps to a huge number */

	if (buffer >= plan->buffer_count)
		return err_set(e, ERR_INPUT, "there is no buffer %u: the plan has %zu", buffer, plan->buffer_count);
	whole = plan->buffers[buffer].bytes + 2 * BACKEND_RED_ZONE;
	if (from > whole || bytes > whole - from)
		return err_set(e, ERR_INPUT, "%zu bytes at offset %lld are outside of buffer \"%s\" (%llu bytes) and its red zones", bytes,
		               (long long)offset, plan->buffers[buffer].name, (unsigned long long)plan->buffers[buffer].bytes);
	*ret_at = from;
	return 0;
}

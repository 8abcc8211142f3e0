/* diagnostic: see gpu.h. */
#include "backends/gpu/gpu.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

char *gpu_diagnostic_line(const char **io_at)
{
	const char *at = *io_at, *end = strchrnul(at, '\n');

	if (!*at)
		return NULL;
	*io_at = *end ? end + 1 : end;
	return mem_strn(at, (size_t)(end - at));
}

void gpu_diagnostic_add(struct gpu_messages *m, enum gpu_severity severity, char *take_text)
{
	*MEM_PUSH(m->list, m->count) = (struct gpu_message){ .severity = severity, .text = take_text };
}

void gpu_diagnostic_print(const struct gpu_messages *m, bool errors_only, struct buf *out)
{
	size_t start = out->len;

	for (enum gpu_severity wanted = GPU_ERROR; wanted <= (errors_only ? GPU_ERROR : GPU_WARNING); wanted++) {
		bool shown = false;
		for (size_t i = 0; i < m->count; i++) {
			if (m->list[i].severity != GPU_CONTINUES)
				shown = m->list[i].severity == wanted;
			if (shown)
				buf_addf(out, "%s\n", m->list[i].text);
		}
	}
	/* Quoted source may hold what would confuse a terminal or a JSON reader. */
	for (size_t i = start; i < out->len; i++)
		if (iscntrl((unsigned char)out->data[i]) && out->data[i] != '\n' && out->data[i] != '\t')
			out->data[i] = '?';
}

void gpu_diagnostic_fini(struct gpu_messages *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->list[i].text);
	free(m->list);
	*m = (struct gpu_messages){ .list = NULL };
}

char *gpu_diagnostic_source(const struct wire_compile *request, const char *file, unsigned number)
{
	const char *at = strcmp(file, "device") == 0 ? request->device : strcmp(file, "macros") == 0 ? request->macros : NULL;

	for (; at && number > 1; number--)
		at = (at = strchr(at, '\n')) ? at + 1 : NULL;
	return at && number == 1 && *at ? mem_strn(at, strcspn(at, "\n")) : NULL;
}

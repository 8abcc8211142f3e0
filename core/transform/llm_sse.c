/* llm_sse: see llm_sse.h. */
#include "core/transform/llm_sse.h"

#include <string.h>

void llm_sse_fini(struct llm_sse *s)
{
	buf_fini(&s->line);
	buf_fini(&s->data);
}

static int dispatch(struct llm_sse *s, int (*event)(void *arg, const char *name, const char *data), void *arg)
{
	int rc = 0;
	if (s->data.len) {
		s->data.data[s->data.len - 1] = '\0'; /* the newline behind the last data: line */
		s->any = true;
		rc = event(arg, s->event, s->data.data);
	}
	buf_clear(&s->data);
	s->event[0] = '\0';
	return rc;
}

/* One whole line that is not empty. */
static void take_line(struct llm_sse *s, const char *line)
{
	size_t key = strcspn(line, ":");
	const char *value = line + key + (line[key] == ':');
	value += *value == ' ';
	if (key == 0) {
		s->any = true; /* a comment: keeps the connection alive */
	} else if (key == 4 && memcmp(line, "data", 4) == 0) {
		buf_adds(&s->data, value);
		buf_addc(&s->data, '\n');
	} else if (key == 5 && memcmp(line, "event", 5) == 0) {
		size_t n = strlen(value);
		if (n >= sizeof s->event)
			n = sizeof s->event - 1;
		memcpy(s->event, value, n);
		s->event[n] = '\0';
	}
}

int llm_sse_feed(struct llm_sse *s, const char *bytes, size_t n,
		 int (*event)(void *arg, const char *name, const char *data), void *arg)
{
	for (const char *end = bytes + n; bytes < end;) {
		if (s->cr && *bytes == '\n') {
			s->cr = false;
			bytes++;
			continue;
		}
		s->cr = false;
		const char *stop = bytes;
		while (stop < end && *stop != '\n' && *stop != '\r')
			stop++;
		buf_add(&s->line, bytes, (size_t)(stop - bytes));
		if (s->line.len > LLM_SSE_LINE_MAX || s->data.len > LLM_SSE_LINE_MAX)
			return -1;
		if (stop == end)
			return 0;
		s->cr = *stop == '\r';
		bytes = stop + 1;
		int rc = 0;
		if (s->line.len)
			take_line(s, s->line.data);
		else
			rc = dispatch(s, event, arg);
		buf_clear(&s->line);
		if (rc < 0)
			return rc;
	}
	return 0;
}

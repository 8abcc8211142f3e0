/* span: see span.h. */
#include "core/workers/span.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"

/* Behind "00-", 32 digits and 16 digits, each with a dash: the lowest bit says that the trace is recorded. */
enum { TRACE_AT = 3, PARENT_AT = 36, FLAGS_AT = 53 };

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void make_id(char *text, size_t digits)
{
	uint8_t bytes[16];
	hash_random(bytes, sizeof bytes);
	for (size_t i = 0; i < digits / 2; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

static void begin(struct span *s, const struct span_sink *sink, const char *name)
{
	s->sink = sink;
	s->note_count = s->error = 0;
	snprintf(s->name, sizeof s->name, "%s", name);
	make_id(s->id, 16);
	s->began_ns = now_ns();
}

void span_root(struct span *s, const struct span_sink *sink, const char *traceparent, const char *name)
{
	bool unwanted = traceparent && strlen(traceparent) > FLAGS_AT + 1 && strchr("02468ace", traceparent[FLAGS_AT + 1]);
	s->sink = NULL;
	if (sink == NULL || unwanted)
		return;
	begin(s, sink, name);
	if (traceparent) {
		snprintf(s->trace, sizeof s->trace, "%s", traceparent + TRACE_AT);
		snprintf(s->parent, sizeof s->parent, "%s", traceparent + PARENT_AT);
	} else {
		make_id(s->trace, 32);
		s->parent[0] = '\0';
	}
}

void span_begin(struct span *s, const struct span *parent, const char *name)
{
	s->sink = NULL;
	if (parent == NULL || parent->sink == NULL)
		return;
	begin(s, parent->sink, name);
	memcpy(s->trace, parent->trace, sizeof s->trace);
	memcpy(s->parent, parent->id, sizeof s->parent);
}

void span_note(struct span *s, const char *key, const char *value)
{
	if (s->sink == NULL || s->note_count == SPAN_NOTES || value == NULL)
		return;
	s->notes[s->note_count].key = key;
	snprintf(s->notes[s->note_count++].value, sizeof s->notes->value, "%s", value);
}

void span_end(struct span *s, int rc)
{
	if (s->sink == NULL)
		return;
	s->error = rc < 0 ? -rc : 0;
	s->ended_ns = now_ns();
	s->sink->take(s->sink->arg, s);
	s->sink = NULL;
}

const char *span_traceparent(const struct span *s, char text[SPAN_TRACEPARENT])
{
	if (s->sink == NULL)
		return NULL;
	snprintf(text, SPAN_TRACEPARENT, "00-%s-%s-01", s->trace, s->id);
	return text;
}

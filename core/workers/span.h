/* span: pieces of work with a beginning and an end, for whoever collects traces (daemon/otlp.c): a job, what its workers do for it,
 * and its questions to models. The fields are OpenTelemetry's, the ids those of W3C Trace Context. Where nobody collects, nothing
 * is noted. */
#ifndef PEAKD_CORE_WORKERS_SPAN_H
#define PEAKD_CORE_WORKERS_SPAN_H

#include <stdint.h>

struct span;

/* Who collects; take copies what it wants, on any thread, and must be quick. */
struct span_sink {
	void (*take)(void *arg, const struct span *ended);
	void *arg;
};

enum { SPAN_NOTES = 4, SPAN_TRACEPARENT = 56 };

struct span {
	const struct span_sink *sink;       /* NULL: nobody; all else is unset then */
	char trace[33], id[17], parent[17]; /* hexadecimal; parent "": none */
	char name[48];
	struct {
		const char *key; /* static */
		char value[160];
	} notes[SPAN_NOTES];
	int note_count;
	int64_t began_ns, ended_ns; /* since 1970 */
	int error;                  /* enum err_code; 0: it went well */
};

/* The first span of this process's part of a trace. traceparent: of whoever asked, which may say that nobody wants the trace; NULL:
 * this is where it begins. sink NULL: nothing is noted. */
void span_root(struct span *s, const struct span_sink *sink, const char *traceparent, const char *name);
/* A part of another one, which may be NULL. */
void span_begin(struct span *s, const struct span *parent, const char *name);
/* Something about it; beyond SPAN_NOTES nothing. */
void span_note(struct span *s, const char *key, const char *value);
/* rc: what the work returned, 0 or a negative code. */
void span_end(struct span *s, int rc);
/* The header for those who do a part of it. Returns text, or NULL where nobody collects. */
const char *span_traceparent(const struct span *s, char text[SPAN_TRACEPARENT]);

#endif

/* llm_sse: server-sent events out of bytes that arrive in any pieces (WHATWG HTML, section 9.2.6). Used by llm.c. */
#ifndef PEAKD_CORE_TRANSFORM_LLM_SSE_H
#define PEAKD_CORE_TRANSFORM_LLM_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { LLM_SSE_LINE_MAX = 4 << 20 }; /* bytes in one line or event; more is garbage */

struct llm_sse {
	struct buf line; /* the line that is not complete yet */
	struct buf data; /* data: lines of the event that is not complete yet */
	char event[64];  /* its event: name, "" when none came */
	bool cr;         /* the last byte was a CR: a LF that follows belongs to it */
	bool any;        /* at least one event was dispatched, or a comment seen */
};

#define LLM_SSE_INIT                                                                                                   \
	{                                                                                                              \
		.line = BUF_INIT, .data = BUF_INIT                                                                     \
	}
void llm_sse_fini(struct llm_sse *s);
/* Calls back once per event with its name ("" when none) and data. A negative return of the callback ends it and is
 * returned; -1 for an over-long line. */
int llm_sse_feed(struct llm_sse *s, const char *bytes, size_t n,
		 int (*event)(void *arg, const char *name, const char *data), void *arg);

#endif

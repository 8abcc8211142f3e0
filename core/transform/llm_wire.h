/* llm_wire: the two formats that providers speak, as tables of functions, and the server-sent events that both stream:
 * OpenAI-compatible /chat/completions (OpenAI API reference; llama.cpp, vLLM, Ollama and most gateways) and Anthropic
 * /messages, version 2023-06-01 (Anthropic API reference). Used by llm.c. */
#ifndef PEAKD_CORE_TRANSFORM_LLM_WIRE_H
#define PEAKD_CORE_TRANSFORM_LLM_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/transform/llm.h"

/* One answer, as far as it came. */
struct llm_stream {
	struct buf text;
	struct buf refusal; /* the provider's own words of a refusal */
	char model[128];    /* as the provider named it */
	enum reply_finish finish;
	bool finished; /* a finish marker came: without one the answer is a failure */
	uint64_t prompt_tokens, cached_tokens, output_tokens;
	bool failed;      /* an error came in place of (or in the middle of) the answer: */
	bool may_retry;   /* it is of the passing kind */
	bool spent;       /* a spending limit: never tried again */
	char error[1024]; /* its words */
};

struct llm_wire {
	const char *path;         /* after the base URL */
	const char *key_header;   /* what stands before the key */
	const char *extra_header; /* NULL none */
	/* The request's body as JSON; owned by the caller. */
	char *(*body)(const struct llm_config *config, const struct prompt *prompt);
	/* One event of the stream. */
	void (*event)(struct llm_stream *s, const char *data);
	/* A whole body in place of a stream: an answer or an error. False when it is neither. */
	bool (*whole)(struct llm_stream *s, const char *body);
};

extern const struct llm_wire llm_wire_openai, llm_wire_anthropic;

enum { LLM_WIRE_LINE_MAX = 4 << 20 }; /* bytes in one line or event; more is garbage */

/* Server-sent events out of bytes that arrive in any pieces (WHATWG HTML, section 9.2.6). */
struct llm_wire_events {
	struct buf line; /* the line that is not complete yet */
	struct buf data; /* data: lines of the event that is not complete yet */
	bool cr;         /* the last byte was a CR: a LF that follows belongs to it */
	bool any;        /* at least one event or comment came */
};

#define LLM_WIRE_EVENTS_INIT                                                                                                       \
	{                                                                                                                          \
		.line = BUF_INIT, .data = BUF_INIT                                                                                 \
	}
void llm_wire_events_fini(struct llm_wire_events *s);
/* Calls back once per event with its data; names of events are ignored, since both formats repeat them in the data. A negative
 * return of the callback ends it and is returned; -1 for a line that is too long. */
int llm_wire_feed(struct llm_wire_events *s, const char *bytes, size_t n, int (*event)(void *arg, const char *data), void *arg);

#endif

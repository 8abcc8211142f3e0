/* llm_wire: what llm.c and the two wire formats share: the answer while it streams in, and the table of a format. */
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
	const char *path;         /* behind the base URL */
	const char *key_header;   /* what stands before the key */
	const char *extra_header; /* NULL none */
	/* The request's body as JSON; owned by the caller. */
	char *(*body)(const struct llm_config *config, const struct prompt *prompt);
	/* One event of the stream. */
	void (*event)(struct llm_stream *s, const char *name, const char *data);
	/* A whole body in place of a stream: an answer or an error. False when it is neither. */
	bool (*whole)(struct llm_stream *s, const char *body);
};

#endif

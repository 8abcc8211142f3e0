/* llm: a language model over HTTP, in the OpenAI-compatible or the Anthropic wire format, always streaming. Retries,
 * limits and errors are decided here; llm_wire.c knows the formats and the event stream.
 * One struct serves any number of threads at once. */
#ifndef PEAKD_CORE_TRANSFORM_LLM_H
#define PEAKD_CORE_TRANSFORM_LLM_H

#include <stdbool.h>

#include "base/err.h"
#include "core/transform/model.h"

enum llm_format { LLM_OPENAI, LLM_ANTHROPIC };

/* Borrowed while llm_new runs. Zeros and NULLs take the defaults that are named. */
struct llm_config {
	enum llm_format format;
	const char *base_url;       /* up to and without "/chat/completions" or "/messages": "http://127.0.0.1:8080/v1" */
	const char *model;          /* required */
	const char *key_env;        /* name of the environment variable that holds the key; NULL or unset: see below */
	const char *key_credential; /* name of a systemd credential; tried first; NULL none */
	const char *reasoning;      /* "low", "medium", "high": sent only when set */
	double temperature;         /* sent only when ≥ 0 and has_temperature */
	bool has_temperature;
	bool old_max_tokens; /* send max_tokens in place of max_completion_tokens (older and local servers) */
	unsigned max_tokens; /* of one answer; 32768 */
	unsigned retries;    /* after the first try; 2. UINT_MAX: none */
	unsigned connect_ms; /* 10 000 */
	unsigned stall_ms;   /* without a byte; 600 000 */
	unsigned total_ms;   /* of one call with its retries; 3 600 000 */
	unsigned backoff_ms; /* first pause; doubles, at most 8 s, less up to 25 %; 500 */
};

struct llm;
/* -ERR_INPUT for a config that cannot work (no model, no URL, another scheme than http or https, a named key that is
 * not there); nothing is connected yet. */
int llm_new(const struct llm_config *config, struct llm **ret_llm, struct err *e);
/* The header "traceparent" of its requests, consumed, NULL: none; and what their spans are a part of, which gives another header
 * where it is collected. Before the first call. */
struct span;
void llm_trace(struct llm *llm, char *take_traceparent, const struct span *span);
void llm_free(struct llm *llm);
/* The provider as a model; borrowed from and living as long as the llm. */
const struct model *llm_model(struct llm *llm);

#endif

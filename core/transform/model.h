/* model: whatever answers a prompt: a provider over HTTP (llm.h), recordings (replay.h), a fake in tests. One call,
 * one answer; may block for as long as a model thinks; ends early when the cancel flag is raised. */
#ifndef PEAKD_CORE_TRANSFORM_MODEL_H
#define PEAKD_CORE_TRANSFORM_MODEL_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "core/transform/prompt.h"
#include "core/transform/reply.h"

/* Where an exchange stands in its transformation: what recordings are matched by. */
struct model_key {
	struct hash context; /* the context that the step starts from; in repairs the one that failed */
	char transformation[64];
	unsigned pass, step; /* from 1 */
	unsigned attempt;    /* from 1; counts all tries of this step, repairs and fresh samples alike */
};

struct model_request {
	const struct prompt *prompt;
	struct model_key key;
	const atomic_bool *cancel; /* may be NULL */
	/* Called now and then with the characters received so far; may be NULL. */
	void (*progress)(void *arg, uint64_t characters);
	void *progress_arg;
};

struct model_answer {
	char *text;  /* owned; never NULL on success */
	char *model; /* as the provider named it; owned */
	enum reply_finish finish;
	uint64_t prompt_tokens; /* 0: not reported */
	uint64_t cached_tokens; /* part of prompt_tokens that came from the provider's cache */
	uint64_t output_tokens;
	uint64_t elapsed_ms;
	char *note; /* to be shown to people: "the prompt's words differ from the recording"; owned, may be NULL */
};

void model_answer_fini(struct model_answer *a);

struct model {
	void *arg;
	const char *name; /* for logs and records: "replay:NAME", "openai:MODEL"; borrowed, outlives the model */
	/* Errors: ERR_NETWORK (not reached, refused by the provider, truncated prompt), ERR_TIMEOUT, ERR_NOT_FOUND (no
	 * recording), ERR_CANCELLED. A reply that is cut at its length limit is an answer with that finish, not an
	 * error. */
	int (*ask)(void *arg, const struct model_request *request, struct model_answer *ret_answer, struct err *e);
};

#endif

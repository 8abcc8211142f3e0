/* prompt: exactly what a model sees. A prompt is a list of turns: one system turn (rules, backend, device), one user
 * turn (transformation, context, what to return), then replies and feedback alternating; it only ever grows at the
 * end, so that providers' prompt caches work. Built by transform.c, sent by llm.c, shown by the tool transform_begin. */
#ifndef PEAKD_CORE_TRANSFORM_PROMPT_H
#define PEAKD_CORE_TRANSFORM_PROMPT_H

#include <stddef.h>

#include "backends/wire/facts.h"
#include "base/buf.h"
#include "base/err.h"
#include "core/transform/transformation.h"

enum prompt_role { PROMPT_SYSTEM, PROMPT_USER, PROMPT_ASSISTANT };

struct prompt_turn {
	enum prompt_role role;
	char *text; /* owned; UTF-8 */
};

struct prompt {
	struct prompt_turn *turns; /* owned */
	size_t count;
};

#define PROMPT_INIT                                                                                                                \
	{                                                                                                                          \
		.turns = NULL, .count = 0                                                                                          \
	}
void prompt_fini(struct prompt *p);
void prompt_add(struct prompt *p, enum prompt_role role, const char *text);
void prompt_copy(struct prompt *to, const struct prompt *from);
/* "system", "user", "assistant". Static storage. */
const char *prompt_role_name(enum prompt_role role);
/* Readable form: each turn below a line `<!-- role -->`. */
void prompt_render(const struct prompt *p, struct buf *out);
/* Name of the words: SHA-256 of prompt_render's text. */
struct hash prompt_hash(const struct prompt *p);

/* Region of more than this many lines may be answered with search/replace blocks at the first try. */
enum { PROMPT_LONG_REGION = 300 };

/* The first two turns for step `step` of pass `pass` (0-based) on the context as it is now. `facts` may be NULL (no device chosen),
 * and `profile` (what is known of the kernel, as Markdown below a heading of the first level). `p` must be empty. */
void prompt_start(struct prompt *p, const struct transformation *t, size_t pass, size_t step, const struct context *ctx,
		  const struct facts *facts, const char *profile);
/* Appends to the last turn that the host region may be part of the answer, or that a plan may be the answer, and what one looks
 * like. */
void prompt_offer_host(struct prompt *p);
void prompt_offer_plan(struct prompt *p);
/* The system turn that every question about a context begins with: the rules of contexts and of the backend's language, and the
 * device (NULL: none is chosen). */
void prompt_add_system(struct prompt *p, const char *backend, const struct facts *facts);
/* The info string of a region's fence for a backend: "cuda", "lua host", "macros". Static storage or `backend`. */
const char *prompt_region_fence(enum region region, const char *backend);
/* Text that comes from outside (comments, logs): control characters but newline and tab dropped, cut in the middle at
 * max bytes with a line that says so. Appends to out. */
void prompt_quote(struct buf *out, const char *text, size_t max);
/* Appends text in a fence of `info` that is longer than any fence within it. */
void prompt_fence(struct buf *out, const char *info, const char *text);

#endif

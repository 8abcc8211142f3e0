/* models: the models that a daemon may ask, by name. Written from configuration, at the start and at a reload; read by transform
 * jobs. A specification is one line of text:
 *
 *   replay:NAME                  recordings in a folder of that name (searched in the recording folders), or a path with '/'
 *   openai:URL?model=M&…         OpenAI-compatible chat completions below URL ("http://127.0.0.1:8080/v1")
 *   anthropic:URL?model=M&…      Anthropic messages below URL
 *
 * Options after '?': model (required), key_env (environment variable that holds the key), key_credential (systemd credential),
 * reasoning, temperature, max_tokens, old_max_tokens=1, retries, stall_s, total_s, connect_s. Keys themselves are never part of it.
 */
#ifndef PEAKD_CORE_TRANSFORM_MODELS_H
#define PEAKD_CORE_TRANSFORM_MODELS_H

#include <stddef.h>

#include "base/err.h"
#include "core/transform/model.h"

struct models;

/* `folders`: where replay:NAME looks, in order; NULLs are passed over. */
struct models *models_new(const char *const *folders, size_t count);
void models_free(struct models *m);
/* Adds "NAME=SPEC", or a bare SPEC under the name "default". -ERR_INPUT says what is wrong with it. */
int models_add(struct models *m, const char *text, struct err *e);
/* The same for all of a NULL-terminated list, in place of those that there are; what is open stays as it is. On an error nothing
 * changes. */
int models_replace(struct models *m, const char *const *texts, struct err *e);
/* From now on every answer of a model is also written as a recording below this folder (replayed ones are not). */
void models_record(struct models *m, const char *folder);
/* Every name, in the order added; array and names are the caller's. */
void models_names(struct models *m, char ***ret_names, size_t *ret_count);

/* A model opened for one job; closing it frees everything. */
struct models_open {
	const struct model *model;
	struct llm *llm;
	struct replay *replay;
	struct replay_recorder *recorder;
};
/* By name; NULL or "" is "default"; "replay:NAME" works without having been added (names without '/' only). `attempt` counts
 * independent tries of the same transformation on the same checkpoint, from 1: recordings of the second and later ones are in
 * the folder `try-N` below the first one's. -ERR_NOT_FOUND lists the names and says how to add one. */
int models_open(struct models *m, const char *name, unsigned attempt, struct models_open *ret_open, struct err *e);
/* Its calls say what they are a part of: a traceparent (W3C Trace Context) as a header, consumed, NULL: nothing; where `span` is
 * collected, a span of its own instead, which becomes a part of that. */
struct span;
void models_trace(struct models_open *open, char *take_traceparent, const struct span *span);
void models_close(struct models_open *open);

#endif

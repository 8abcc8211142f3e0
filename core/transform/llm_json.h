/* llm_json: the few questions that both wire formats ask of a JSON value, and the error object that they share. */
#ifndef PEAKD_CORE_TRANSFORM_LLM_JSON_H
#define PEAKD_CORE_TRANSFORM_LLM_JSON_H

#include <jansson.h>

#include "core/transform/llm_wire.h"

/* The member as text; "" when it is missing or none. Borrowed from the value. */
const char *llm_json_text(const json_t *object, const char *key);
/* The member as a count; 0 when it is missing, negative or none. */
uint64_t llm_json_count(const json_t *object, const char *key);
/* Reads {"error": {message, type, code}} or {"error": "words"} into the stream; false when there is no error in it. */
bool llm_json_error(struct llm_stream *s, const json_t *root);
/* Notes the provider's name of the model, once. */
void llm_json_model(struct llm_stream *s, const json_t *object);
/* The value as compact text; frees it. Owned by the caller. */
char *llm_json_dump(json_t *take_value);
/* A string of possibly damaged UTF-8: bad bytes become '?'. */
json_t *llm_json_string(const char *text);

#endif

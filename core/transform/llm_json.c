/* llm_json: see llm_json.h. */
#include "core/transform/llm_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

const char *llm_json_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

uint64_t llm_json_count(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	json_int_t n = json_is_integer(value) ? json_integer_value(value) : 0;
	return n > 0 ? (uint64_t)n : 0;
}

static bool any_of(const char *text, const char *const *list)
{
	for (; *list; list++) {
		if (strcasestr(text, *list))
			return true;
	}
	return false;
}

bool llm_json_error(struct llm_stream *s, const json_t *root)
{
	static const char *const passing[] = { "overloaded", "server_error", "api_error", "rate_limit",
					       "timeout",    "unavailable",  "internal",  NULL };
	static const char *const spending[] = { "insufficient_quota",  "billing",
						"spend limit",         "spending limit",
						"credit balance",      "exceeded your current quota",
						"insufficient credit", NULL };
	const json_t *error = json_object_get(root, "error"), *code = json_object_get(error, "code");
	if (!error || json_is_null(error))
		return false;
	const char *message = json_is_string(error) ? json_string_value(error) : llm_json_text(error, "message");
	const char *type = llm_json_text(error, "type"), *word = llm_json_text(error, "code");
	long number = json_is_integer(code) ? (long)json_integer_value(code) : strtol(word, NULL, 10);
	s->failed = true;
	s->spent = any_of(message, spending) || any_of(type, spending) || any_of(word, spending);
	s->may_retry = !s->spent && (number == 408 || number == 409 || number == 429 || number >= 500 ||
				     any_of(type, passing) || any_of(word, passing));
	if (number && !*type)
		snprintf(s->error, sizeof s->error, "%s (%ld)", message, number);
	else
		snprintf(s->error, sizeof s->error, "%s%s%s%s", message, *type ? " (" : "", type, *type ? ")" : "");
	return true;
}

void llm_json_model(struct llm_stream *s, const json_t *object)
{
	const char *name = llm_json_text(object, "model");
	if (!s->model[0])
		snprintf(s->model, sizeof s->model, "%s", name);
}

char *llm_json_dump(json_t *take_value)
{
	char *text = json_dumps(take_value, JSON_COMPACT);
	char *copy = mem_str(text ? text : "{}");
	free(text);
	json_decref(take_value);
	return copy;
}

json_t *llm_json_string(const char *text)
{
	json_t *value = json_string(text);
	if (value)
		return value;
	char *copy = mem_str(text);
	for (char *c = copy; *c; c++) {
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	}
	value = json_string(copy);
	free(copy);
	return value;
}

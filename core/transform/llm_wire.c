/* llm_wire: see llm_wire.h. */
#include "core/transform/llm_wire.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* --- server-sent events -------------------------------------------------------------------------------------------- */

void llm_wire_events_fini(struct llm_wire_events *s)
{
	buf_fini(&s->line);
	buf_fini(&s->data);
}

static int dispatch(struct llm_wire_events *s, int (*event)(void *arg, const char *data), void *arg)
{
	int rc = 0;
	if (s->data.len) {
		s->data.data[s->data.len - 1] = '\0'; /* the newline behind the last data: line */
		s->any = true;
		rc = event(arg, s->data.data);
	}
	buf_clear(&s->data);
	return rc;
}

/* One whole line that is not empty. */
static void take_line(struct llm_wire_events *s, const char *line)
{
	size_t key = strcspn(line, ":");
	const char *value = line + key + (line[key] == ':');
	value += *value == ' ';
	if (key == 0) {
		s->any = true; /* a comment: keeps the connection alive */
	} else if (key == 4 && memcmp(line, "data", 4) == 0) {
		buf_adds(&s->data, value);
		buf_addc(&s->data, '\n');
	}
}

int llm_wire_feed(struct llm_wire_events *s, const char *bytes, size_t n, int (*event)(void *arg, const char *data), void *arg)
{
	for (const char *end = bytes + n; bytes < end;) {
		if (s->cr && *bytes == '\n') {
			s->cr = false;
			bytes++;
			continue;
		}
		s->cr = false;
		const char *stop = bytes;
		while (stop < end && *stop != '\n' && *stop != '\r')
			stop++;
		buf_add(&s->line, bytes, (size_t)(stop - bytes));
		if (s->line.len > LLM_WIRE_LINE_MAX || s->data.len > LLM_WIRE_LINE_MAX)
			return -1;
		if (stop == end)
			return 0;
		s->cr = *stop == '\r';
		bytes = stop + 1;
		int rc = 0;
		if (s->line.len)
			take_line(s, s->line.data);
		else
			rc = dispatch(s, event, arg);
		buf_clear(&s->line);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* --- what both formats ask of JSON --------------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

static uint64_t count_of(const json_t *object, const char *key)
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

static bool take_error(struct llm_stream *s, const json_t *root)
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
	const char *message = json_is_string(error) ? json_string_value(error) : text_of(error, "message");
	const char *type = text_of(error, "type"), *word = text_of(error, "code");
	long number = json_is_integer(code) ? (long)json_integer_value(code) : strtol(word, NULL, 10);
	s->failed = true;
	s->spent = any_of(message, spending) || any_of(type, spending) || any_of(word, spending);
	s->may_retry = !s->spent && (number == 408 || number == 409 || number == 429 || number >= 500 || any_of(type, passing) ||
				     any_of(word, passing));
	if (number && !*type)
		snprintf(s->error, sizeof s->error, "%s (%ld)", message, number);
	else
		snprintf(s->error, sizeof s->error, "%s%s%s%s", message, *type ? " (" : "", type, *type ? ")" : "");
	return true;
}

static void take_model(struct llm_stream *s, const json_t *object)
{
	const char *name = text_of(object, "model");
	if (!s->model[0])
		snprintf(s->model, sizeof s->model, "%s", name);
}

static char *dump(json_t *take_value)
{
	char *text = json_dumps(take_value, JSON_COMPACT);
	char *copy = mem_str(text ? text : "{}");
	free(text);
	json_decref(take_value);
	return copy;
}

static json_t *string(const char *text)
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

/* --- OpenAI-compatible --------------------------------------------------------------------------------------------- */

static char *openai_body(const struct llm_config *config, const struct prompt *prompt)
{
	json_t *root = json_object(), *messages = json_array();
	for (size_t i = 0; i < prompt->count; i++) {
		json_t *m = json_object();
		json_object_set_new(m, "role", json_string(prompt_role_name(prompt->turns[i].role)));
		json_object_set_new(m, "content", string(prompt->turns[i].text));
		json_array_append_new(messages, m);
	}
	json_object_set_new(root, "model", string(config->model));
	json_object_set_new(root, "messages", messages);
	json_object_set_new(root, config->old_max_tokens ? "max_tokens" : "max_completion_tokens",
			    json_integer((json_int_t)config->max_tokens));
	if (config->reasoning)
		json_object_set_new(root, "reasoning_effort", string(config->reasoning));
	if (config->has_temperature)
		json_object_set_new(root, "temperature", json_real(config->temperature));
	json_object_set_new(root, "stream", json_true());
	json_t *options = json_object();
	json_object_set_new(options, "include_usage", json_true());
	json_object_set_new(root, "stream_options", options);
	return dump(root);
}

static void openai_finish(struct llm_stream *s, const char *reason)
{
	if (!*reason)
		return;
	s->finished = true;
	if (strcmp(reason, "stop") == 0)
		s->finish = REPLY_FINISH_STOP;
	else if (strcmp(reason, "length") == 0)
		s->finish = REPLY_FINISH_LENGTH;
	else if (strcmp(reason, "content_filter") == 0)
		s->finish = REPLY_FINISH_REFUSED;
	else
		s->finish = REPLY_FINISH_OTHER;
}

static void openai_usage(struct llm_stream *s, const json_t *root)
{
	const json_t *usage = json_object_get(root, "usage");
	if (!json_is_object(usage))
		return;
	s->prompt_tokens = count_of(usage, "prompt_tokens");
	s->output_tokens = count_of(usage, "completion_tokens");
	s->cached_tokens = count_of(json_object_get(usage, "prompt_tokens_details"), "cached_tokens");
}

/* `part`: "delta" of a stream, "message" of a whole answer. */
static void openai_choice(struct llm_stream *s, const json_t *root, const char *part)
{
	const json_t *choice = json_array_get(json_object_get(root, "choices"), 0), *message = json_object_get(choice, part);
	buf_adds(&s->text, text_of(message, "content"));
	buf_adds(&s->refusal, text_of(message, "refusal"));
	openai_finish(s, text_of(choice, "finish_reason"));
}

static void openai_event(struct llm_stream *s, const char *data)
{
	if (strcmp(data, "[DONE]") == 0)
		return;
	json_t *root = json_loads(data, 0, NULL);
	if (root && !take_error(s, root)) {
		take_model(s, root);
		openai_choice(s, root, "delta");
		openai_usage(s, root);
	}
	json_decref(root);
}

static bool openai_whole(struct llm_stream *s, const char *text)
{
	json_t *root = json_loads(text, 0, NULL);
	bool known = root && take_error(s, root);
	if (root && !known && json_array_size(json_object_get(root, "choices"))) {
		take_model(s, root);
		openai_choice(s, root, "message");
		openai_usage(s, root);
		known = true;
	}
	json_decref(root);
	return known;
}

const struct llm_wire llm_wire_openai = {
	.path = "/chat/completions",
	.key_header = "Authorization: Bearer ",
	.body = openai_body,
	.event = openai_event,
	.whole = openai_whole,
};

/* --- Anthropic ----------------------------------------------------------------------------------------------------- */

/* [{"type":"text","text":…}], with a mark up to which the provider may cache. */
static json_t *text_block(const char *text, bool cache)
{
	json_t *list = json_array(), *block = json_object();
	json_object_set_new(block, "type", json_string("text"));
	json_object_set_new(block, "text", string(text));
	if (cache) {
		json_t *control = json_object();
		json_object_set_new(control, "type", json_string("ephemeral"));
		json_object_set_new(block, "cache_control", control);
	}
	json_array_append_new(list, block);
	return list;
}

/* Tokens for thinking: a share of what the answer may have. */
static json_t *thinking(const struct llm_config *config)
{
	unsigned budget = strcmp(config->reasoning, "low") == 0    ? config->max_tokens / 8
			  : strcmp(config->reasoning, "high") == 0 ? config->max_tokens / 2
								   : config->max_tokens / 4;
	json_t *value = json_object();
	json_object_set_new(value, "type", json_string("enabled"));
	json_object_set_new(value, "budget_tokens", json_integer((json_int_t)(budget < 1024 ? 1024 : budget)));
	return value;
}

static char *anthropic_body(const struct llm_config *config, const struct prompt *prompt)
{
	json_t *root = json_object(), *messages = json_array();
	json_object_set_new(root, "model", string(config->model));
	json_object_set_new(root, "max_tokens", json_integer((json_int_t)config->max_tokens));
	for (size_t i = 0; i < prompt->count; i++) {
		const struct prompt_turn *turn = &prompt->turns[i];
		if (turn->role == PROMPT_SYSTEM) {
			json_object_set_new(root, "system", text_block(turn->text, true));
			continue;
		}
		json_t *m = json_object();
		json_object_set_new(m, "role", json_string(prompt_role_name(turn->role)));
		json_object_set_new(m, "content", text_block(turn->text, i == 1 || (i + 1 == prompt->count && i > 1)));
		json_array_append_new(messages, m);
	}
	json_object_set_new(root, "messages", messages);
	if (config->reasoning)
		json_object_set_new(root, "thinking", thinking(config));
	json_object_set_new(root, "stream", json_true());
	return dump(root);
}

static void anthropic_finish(struct llm_stream *s, const char *reason)
{
	if (!*reason)
		return;
	s->finished = true;
	if (strcmp(reason, "end_turn") == 0 || strcmp(reason, "stop_sequence") == 0)
		s->finish = REPLY_FINISH_STOP;
	else if (strcmp(reason, "max_tokens") == 0 || strcmp(reason, "model_context_window_exceeded") == 0)
		s->finish = REPLY_FINISH_LENGTH;
	else if (strcmp(reason, "refusal") == 0)
		s->finish = REPLY_FINISH_REFUSED;
	else
		s->finish = REPLY_FINISH_OTHER;
}

/* input_tokens leaves out what the cache served or stored. */
static void anthropic_usage(struct llm_stream *s, const json_t *usage)
{
	uint64_t cached = count_of(usage, "cache_read_input_tokens");
	uint64_t input = count_of(usage, "input_tokens") + count_of(usage, "cache_creation_input_tokens") + cached;
	uint64_t output = count_of(usage, "output_tokens");
	if (input)
		s->prompt_tokens = input;
	if (cached)
		s->cached_tokens = cached;
	if (output)
		s->output_tokens = output;
}

static void anthropic_event(struct llm_stream *s, const char *data)
{
	json_t *root = json_loads(data, 0, NULL);
	const char *type = text_of(root, "type");
	if (!root || take_error(s, root)) {
		json_decref(root);
		return;
	}
	if (strcmp(type, "message_start") == 0) {
		const json_t *message = json_object_get(root, "message");
		take_model(s, message);
		anthropic_usage(s, json_object_get(message, "usage"));
	} else if (strcmp(type, "content_block_start") == 0) {
		const json_t *block = json_object_get(root, "content_block");
		if (strcmp(text_of(block, "type"), "text") == 0)
			buf_adds(&s->text, text_of(block, "text"));
	} else if (strcmp(type, "content_block_delta") == 0) {
		const json_t *delta = json_object_get(root, "delta");
		if (strcmp(text_of(delta, "type"), "text_delta") == 0)
			buf_adds(&s->text, text_of(delta, "text"));
	} else if (strcmp(type, "message_delta") == 0) {
		anthropic_finish(s, text_of(json_object_get(root, "delta"), "stop_reason"));
		anthropic_usage(s, json_object_get(root, "usage"));
	}
	json_decref(root);
}

static bool anthropic_whole(struct llm_stream *s, const char *text)
{
	json_t *root = json_loads(text, 0, NULL);
	bool known = root && take_error(s, root);
	if (root && !known && json_is_array(json_object_get(root, "content"))) {
		size_t i;
		json_t *block;
		json_array_foreach(json_object_get(root, "content"), i, block)
		{
			if (strcmp(text_of(block, "type"), "text") == 0)
				buf_adds(&s->text, text_of(block, "text"));
		}
		take_model(s, root);
		anthropic_finish(s, text_of(root, "stop_reason"));
		anthropic_usage(s, json_object_get(root, "usage"));
		known = true;
	}
	json_decref(root);
	return known;
}

const struct llm_wire llm_wire_anthropic = {
	.path = "/messages",
	.key_header = "x-api-key: ",
	.extra_header = "anthropic-version: 2023-06-01",
	.body = anthropic_body,
	.event = anthropic_event,
	.whole = anthropic_whole,
};

/* llm_anthropic: see llm_anthropic.h. */
#include "core/transform/llm_anthropic.h"

#include <string.h>

#include "core/transform/llm_json.h"

/* [{"type":"text","text":…}], with a mark up to which the provider may cache. */
static json_t *text_block(const char *text, bool cache)
{
	json_t *list = json_array(), *block = json_object();
	json_object_set_new(block, "type", json_string("text"));
	json_object_set_new(block, "text", llm_json_string(text));
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

static char *body(const struct llm_config *config, const struct prompt *prompt)
{
	json_t *root = json_object(), *messages = json_array();
	json_object_set_new(root, "model", llm_json_string(config->model));
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
	return llm_json_dump(root);
}

static void take_finish(struct llm_stream *s, const char *reason)
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
static void take_usage(struct llm_stream *s, const json_t *usage)
{
	uint64_t cached = llm_json_count(usage, "cache_read_input_tokens");
	uint64_t input =
		llm_json_count(usage, "input_tokens") + llm_json_count(usage, "cache_creation_input_tokens") + cached;
	uint64_t output = llm_json_count(usage, "output_tokens");
	if (input)
		s->prompt_tokens = input;
	if (cached)
		s->cached_tokens = cached;
	if (output)
		s->output_tokens = output;
}

static void event(struct llm_stream *s, const char *name, const char *data)
{
	(void)name; /* the type is in the data as well */
	json_t *root = json_loads(data, 0, NULL);
	const char *type = llm_json_text(root, "type");
	if (!root || llm_json_error(s, root)) {
		json_decref(root);
		return;
	}
	if (strcmp(type, "message_start") == 0) {
		const json_t *message = json_object_get(root, "message");
		llm_json_model(s, message);
		take_usage(s, json_object_get(message, "usage"));
	} else if (strcmp(type, "content_block_start") == 0) {
		const json_t *block = json_object_get(root, "content_block");
		if (strcmp(llm_json_text(block, "type"), "text") == 0)
			buf_adds(&s->text, llm_json_text(block, "text"));
	} else if (strcmp(type, "content_block_delta") == 0) {
		const json_t *delta = json_object_get(root, "delta");
		if (strcmp(llm_json_text(delta, "type"), "text_delta") == 0)
			buf_adds(&s->text, llm_json_text(delta, "text"));
	} else if (strcmp(type, "message_delta") == 0) {
		take_finish(s, llm_json_text(json_object_get(root, "delta"), "stop_reason"));
		take_usage(s, json_object_get(root, "usage"));
	}
	json_decref(root);
}

static bool whole(struct llm_stream *s, const char *text)
{
	json_t *root = json_loads(text, 0, NULL);
	bool known = root && llm_json_error(s, root);
	if (root && !known && json_is_array(json_object_get(root, "content"))) {
		size_t i;
		json_t *block;
		json_array_foreach(json_object_get(root, "content"), i, block)
		{
			if (strcmp(llm_json_text(block, "type"), "text") == 0)
				buf_adds(&s->text, llm_json_text(block, "text"));
		}
		llm_json_model(s, root);
		take_finish(s, llm_json_text(root, "stop_reason"));
		take_usage(s, json_object_get(root, "usage"));
		known = true;
	}
	json_decref(root);
	return known;
}

const struct llm_wire llm_anthropic_wire = {
	.path = "/messages",
	.key_header = "x-api-key: ",
	.extra_header = "anthropic-version: 2023-06-01",
	.body = body,
	.event = event,
	.whole = whole,
};

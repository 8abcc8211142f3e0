/* llm_openai: see llm_openai.h. */
#include "core/transform/llm_openai.h"

#include <string.h>

#include "core/transform/llm_json.h"

static char *body(const struct llm_config *config, const struct prompt *prompt)
{
	json_t *root = json_object(), *messages = json_array();
	for (size_t i = 0; i < prompt->count; i++) {
		json_t *m = json_object();
		json_object_set_new(m, "role", json_string(prompt_role_name(prompt->turns[i].role)));
		json_object_set_new(m, "content", llm_json_string(prompt->turns[i].text));
		json_array_append_new(messages, m);
	}
	json_object_set_new(root, "model", llm_json_string(config->model));
	json_object_set_new(root, "messages", messages);
	json_object_set_new(root, config->old_max_tokens ? "max_tokens" : "max_completion_tokens",
			    json_integer((json_int_t)config->max_tokens));
	if (config->reasoning)
		json_object_set_new(root, "reasoning_effort", llm_json_string(config->reasoning));
	if (config->has_temperature)
		json_object_set_new(root, "temperature", json_real(config->temperature));
	json_object_set_new(root, "stream", json_true());
	json_t *options = json_object();
	json_object_set_new(options, "include_usage", json_true());
	json_object_set_new(root, "stream_options", options);
	return llm_json_dump(root);
}

static void take_finish(struct llm_stream *s, const char *reason)
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

static void take_usage(struct llm_stream *s, const json_t *root)
{
	const json_t *usage = json_object_get(root, "usage");
	if (!json_is_object(usage))
		return;
	s->prompt_tokens = llm_json_count(usage, "prompt_tokens");
	s->output_tokens = llm_json_count(usage, "completion_tokens");
	s->cached_tokens = llm_json_count(json_object_get(usage, "prompt_tokens_details"), "cached_tokens");
}

/* `part`: "delta" of a stream, "message" of a whole answer. */
static void take_choice(struct llm_stream *s, const json_t *root, const char *part)
{
	const json_t *choice = json_array_get(json_object_get(root, "choices"), 0),
		     *message = json_object_get(choice, part);
	buf_adds(&s->text, llm_json_text(message, "content"));
	buf_adds(&s->refusal, llm_json_text(message, "refusal"));
	take_finish(s, llm_json_text(choice, "finish_reason"));
}

static void event(struct llm_stream *s, const char *name, const char *data)
{
	(void)name;
	if (strcmp(data, "[DONE]") == 0)
		return;
	json_t *root = json_loads(data, 0, NULL);
	if (root && !llm_json_error(s, root)) {
		llm_json_model(s, root);
		take_choice(s, root, "delta");
		take_usage(s, root);
	}
	json_decref(root);
}

static bool whole(struct llm_stream *s, const char *text)
{
	json_t *root = json_loads(text, 0, NULL);
	bool known = root && llm_json_error(s, root);
	if (root && !known && json_array_size(json_object_get(root, "choices"))) {
		llm_json_model(s, root);
		take_choice(s, root, "message");
		take_usage(s, root);
		known = true;
	}
	json_decref(root);
	return known;
}

const struct llm_wire llm_openai_wire = {
	.path = "/chat/completions",
	.key_header = "Authorization: Bearer ",
	.body = body,
	.event = event,
	.whole = whole,
};

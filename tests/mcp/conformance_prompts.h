/* conformance_prompts: the resources and prompts of tests/mcp/conformance_server.c, which includes this after its helpers
 * (parse, argument, ask, form_field). */
#ifndef PEAKD_TESTS_MCP_CONFORMANCE_PROMPTS_H
#define PEAKD_TESTS_MCP_CONFORMANCE_PROMPTS_H

static const struct mcp_done *read_text(struct mcp_call *call)
{
	return mcp_call_reply_text(call, NULL, "This is the content of the static text resource.");
}

static const struct mcp_done *read_binary(struct mcp_call *call)
{
	json_t *entry =
		json_pack("{s:s, s:s, s:s}", "uri", mcp_call_name(call), "mimeType", "image/png", "blob", PIXEL);
	return mcp_call_answer(call, json_pack("{s:[o]}", "contents", entry));
}

static const struct mcp_done *read_template(struct mcp_call *call)
{
	const char *id = mcp_call_variable(call, "id");
	json_t *data = json_pack("{s:s, s:b, s:s+}", "id", id, "templateTest", 1, "data", "Data for ID: ", id);
	char *text = json_dumps(data, JSON_COMPACT);
	const struct mcp_done *done = mcp_call_reply_text(call, NULL, text);
	free(text);
	json_decref(data);
	return done;
}

static const struct mcp_resource RESOURCES[] = {
	{ "test://static-text", "static-text", "Static Text Resource", "Text that does not change", "text/plain",
	  read_text, 0 },
	{ "test://static-binary", "static-binary", "Static Binary Resource", "A pixel", "image/png", read_binary, 0 },
	{ "test://watched-resource", "watched-resource", "Watched Resource", "Can be watched", "text/plain",
	  read_text, 0 },
	{ .uri = NULL },
};

static const struct mcp_template TEMPLATES[] = {
	{ "test://template/{id}/data", "template", "Resource Template", "One for each id", "application/json",
	  read_template, 0 },
	{ .uri_template = NULL },
};

static const struct mcp_done *reply_prompt(struct mcp_call *call, json_t *take_content)
{
	return mcp_call_reply_messages(call, json_pack("[{s:s, s:o}]", "role", "user", "content", take_content), NULL);
}

static json_t *text_content(const char *text)
{
	return json_pack("{s:s, s:s}", "type", "text", "text", text);
}

static const struct mcp_done *simple_prompt(struct mcp_call *call)
{
	return reply_prompt(call, text_content("This is a simple prompt for testing."));
}

static const struct mcp_done *prompt_with_arguments(struct mcp_call *call)
{
	char *text =
		mem_fmt("Prompt with arguments: arg1='%s', arg2='%s'", argument(call, "arg1"), argument(call, "arg2"));
	const struct mcp_done *done = reply_prompt(call, text_content(text));
	free(text);
	return done;
}

static const struct mcp_done *prompt_with_resource(struct mcp_call *call)
{
	return reply_prompt(call, json_pack("{s:s, s:{s:s, s:s, s:s}}", "type", "resource", "resource", "uri",
					    argument(call, "resourceUri"), "mimeType", "text/plain", "text",
					    "Embedded resource content for testing."));
}

static const struct mcp_done *prompt_with_image(struct mcp_call *call)
{
	return reply_prompt(call, parse(IMAGE));
}

static const struct mcp_done *prompt_that_asks(struct mcp_call *call)
{
	const char *context = form_field(call, "user_context", "context");
	if (context == NULL)
		return ask(call,
			   "{\"user_context\":" ELICIT("What context should the prompt use?", "context", "string") "}",
			   NULL);
	char *text = mem_fmt("Prompt with context: %s", context);
	const struct mcp_done *done = reply_prompt(call, text_content(text));
	free(text);
	return done;
}

static const struct mcp_prompt_argument TWO[] = {
	{ "arg1", "First test argument", 1 },
	{ "arg2", "Second test argument", 1 },
	{ NULL, NULL, 0 },
};
static const struct mcp_prompt_argument URI[] = { { "resourceUri", "URI to embed", 1 }, { NULL, NULL, 0 } };

static const struct mcp_prompt PROMPTS[] = {
	{ "test_simple_prompt", "Simple Test Prompt", "Without arguments", NULL, simple_prompt },
	{ "test_prompt_with_arguments", "Prompt With Arguments", "With two arguments", TWO, prompt_with_arguments },
	{ "test_prompt_with_embedded_resource", "Prompt With Resource", "With a resource", URI, prompt_with_resource },
	{ "test_prompt_with_image", "Prompt With Image", "With an image", NULL, prompt_with_image },
	{ "test_input_required_result_prompt", "Prompt That Asks", "Asks for context", NULL, prompt_that_asks },
	{ .name = NULL },
};

static void complete(void *user, const struct mcp_completion *what, json_t *candidates)
{
	(void)user;
	(void)what;
	static const char *const WORDS[] = { "paris", "park", "party", "tests" };
	for (size_t i = 0; i < MEM_COUNT(WORDS); i++)
		json_array_append_new(candidates, json_string(WORDS[i]));
}

#endif

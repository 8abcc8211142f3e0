/* conformance_server: the fixtures that the official conformance suite asks for, on top of mcp/ alone. It shows what a
 * server with this library looks like. Run by tests/mcp/conformance.sh and clients.sh:
 *     conformance_server PORT      serves http://127.0.0.1:PORT/mcp (0: any; the URL is printed) until its input ends
 *     conformance_server --stdio   serves standard input and output */
#include <signal.h>
#include <unistd.h>

#include "conformance_tasks.h"
#include "mcp/http.h"
#include "mcp/jsonrpc.h"
#include "mcp/stdio.h"

/* One red pixel (PNG) and one sample of silence (WAV). */
#define PIXEL "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
#define SILENCE "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

struct world {
	struct tasks tasks; /* first: the hooks are given this */
	struct mcp_server *server;
};

static json_t *parse(const char *text)
{
	json_error_t why;
	json_t *j = json_loads(text, JSON_DECODE_ANY, &why);
	if (j == NULL) {
		fprintf(stderr, "conformance_server: %s in %s\n", why.text, text);
		abort();
	}
	return j;
}

static struct world *world(struct mcp_call *call)
{
	return mcp_call_user(call);
}

static const char *argument(struct mcp_call *call, const char *name)
{
	const char *text = json_string_value(json_object_get(mcp_call_arguments(call), name));
	return text ? text : "";
}

/* --- tools that answer with content ----------------------------------------------------------------------------- */

static const struct mcp_done *simple_text(struct mcp_call *call)
{
	return mcp_call_reply(call, NULL, "This is a simple text response for testing.");
}

static const struct mcp_done *reply_blocks(struct mcp_call *call, const char *blocks)
{
	return mcp_call_answer(call, json_pack("{s:o}", "content", parse(blocks)));
}

#define IMAGE "{\"type\":\"image\",\"data\":\"" PIXEL "\",\"mimeType\":\"image/png\"}"

static const struct mcp_done *image(struct mcp_call *call)
{
	return reply_blocks(call, "[" IMAGE "]");
}

static const struct mcp_done *audio(struct mcp_call *call)
{
	return reply_blocks(call, "[{\"type\":\"audio\",\"data\":\"" SILENCE "\",\"mimeType\":\"audio/wav\"}]");
}

static const struct mcp_done *embedded(struct mcp_call *call)
{
	return reply_blocks(call,
			    "[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\",\"mimeType\":"
			    "\"text/plain\",\"text\":\"This is an embedded resource content.\"}}]");
}

static const struct mcp_done *mixed(struct mcp_call *call)
{
	return reply_blocks(call, "[{\"type\":\"text\",\"text\":\"Multiple content types test:\"}," IMAGE ",{\"type\":"
				  "\"resource\",\"resource\":{\"uri\":\"test://mixed-content-resource\",\"mimeType\":"
				  "\"application/json\",\"text\":\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}]");
}

static const struct mcp_done *error(struct mcp_call *call)
{
	return mcp_call_refuse(call, "This tool intentionally returns an error for testing");
}

static const struct mcp_done *with_logging(struct mcp_call *call)
{
	static const char *const STEPS[] = { "Tool execution started", "Tool processing data",
					     "Tool execution completed" };
	for (size_t i = 0; i < MEM_COUNT(STEPS); i++) {
		mcp_call_log(call, MCP_LOG_INFO, NULL, json_string(STEPS[i]));
		clock_sleep(50 * CLOCK_MS);
	}
	return mcp_call_reply(call, NULL, "Tool with logging executed successfully");
}

static const struct mcp_done *logging(struct mcp_call *call)
{
	mcp_call_log(call, MCP_LOG_INFO, "conformance", json_string("Logging evaluated"));
	return mcp_call_reply(call, NULL, "Logging evaluated");
}

static const struct mcp_done *with_progress(struct mcp_call *call)
{
	for (int step = 0; step <= 100; step += 50) {
		char *text = mem_fmt("Completed step %d of 100", step);
		mcp_call_progress(call, step, 100, text);
		free(text);
		clock_sleep(50 * CLOCK_MS);
	}
	return mcp_call_reply(call, NULL, "Progress was reported");
}

static const struct mcp_done *reconnection(struct mcp_call *call)
{
	mcp_call_close_stream(call, 500);
	clock_sleep(100 * CLOCK_MS);
	return mcp_call_reply(call, NULL, "Reconnection test completed successfully.");
}

static const struct mcp_done *tool_change(struct mcp_call *call)
{
	mcp_server_list_changed(world(call)->server, "tools");
	return mcp_call_reply(call, NULL, "Mutation triggered");
}

static const struct mcp_done *prompt_change(struct mcp_call *call)
{
	mcp_server_list_changed(world(call)->server, "prompts");
	return mcp_call_reply(call, NULL, "Mutation triggered");
}

static const struct mcp_done *missing_capability(struct mcp_call *call)
{
	if (!mcp_call_client_has(call, "sampling"))
		return mcp_call_need(call, "sampling");
	return mcp_call_reply(call, NULL, "Success");
}

static const struct mcp_done *json_schema(struct mcp_call *call)
{
	return mcp_call_reply(call, NULL, "Called with name \"%s\"", argument(call, "name"));
}

/* --- tools that ask the client ---------------------------------------------------------------------------------- */

#define ELICIT(message, field, type)                                                                                   \
	"{\"method\":\"elicitation/create\",\"params\":{\"message\":\"" message                                        \
	"\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"" field "\":{\"type\":\"" type                  \
	"\"}},\"required\":[\"" field "\"]}}}"
#define SAMPLE(question)                                                                                               \
	"{\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[{\"role\":\"user\","                         \
	"\"content\":{\"type\":\"text\",\"text\":\"" question "\"}}],\"maxTokens\":100}}"
#define ROOTS "{\"method\":\"roots/list\",\"params\":{}}"

/* A string field of the form that the client sent back; NULL when it is not there. */
static const char *form_field(struct mcp_call *call, const char *key, const char *field)
{
	return json_string_value(json_object_get(json_object_get(mcp_call_input(call, key), "content"), field));
}

static const struct mcp_done *ask(struct mcp_call *call, const char *requests, json_t *take_state)
{
	return mcp_call_ask(call, parse(requests), take_state);
}

static const struct mcp_done *elicit_name(struct mcp_call *call)
{
	const char *name = form_field(call, "user_name", "name");
	if (name == NULL)
		return ask(call, "{\"user_name\":" ELICIT("What is your name?", "name", "string") "}", NULL);
	return mcp_call_reply(call, NULL, "Hello, %s!", name);
}

static const struct mcp_done *sample_capital(struct mcp_call *call)
{
	const json_t *content = json_object_get(mcp_call_input(call, "capital_question"), "content");
	const char *text = json_string_value(json_object_get(content, "text"));
	if (text == NULL)
		return ask(call, "{\"capital_question\":" SAMPLE("What is the capital of France?") "}", NULL);
	return mcp_call_reply(call, NULL, "Sampling result: %s", text);
}

static const struct mcp_done *list_roots(struct mcp_call *call)
{
	const json_t *roots = json_object_get(mcp_call_input(call, "client_roots"), "roots");
	if (!json_is_array(roots))
		return ask(call, "{\"client_roots\":" ROOTS "}", NULL);
	const char *first = json_string_value(json_object_get(json_array_get(roots, 0), "uri"));
	return mcp_call_reply(call, NULL, "Found %zu root(s): %s", json_array_size(roots), first ? first : "none");
}

/* Asks for a confirmation and remembers; answers with `text` when both come back. */
static const struct mcp_done *confirm(struct mcp_call *call, const char *text)
{
	if (mcp_call_state(call) == NULL || mcp_call_input(call, "confirm") == NULL)
		return ask(call, "{\"confirm\":" ELICIT("Please confirm", "ok", "boolean") "}",
			   json_pack("{s:s}", "kind", "confirm"));
	return mcp_call_reply(call, NULL, "%s", text);
}

static const struct mcp_done *request_state(struct mcp_call *call)
{
	return confirm(call, "state-ok: the state came back");
}

static const struct mcp_done *tampered_state(struct mcp_call *call)
{
	return confirm(call, "integrity-ok: the state was not touched");
}

static const struct mcp_done *multiple_inputs(struct mcp_call *call)
{
	const char *name = form_field(call, "user_name", "name");
	if (mcp_call_state(call) == NULL || name == NULL || mcp_call_input(call, "greeting") == NULL ||
	    mcp_call_input(call, "client_roots") == NULL)
		return ask(call,
			   "{\"user_name\":" ELICIT("What is your name?", "name", "string") ",\"greeting\":" SAMPLE(
				   "Generate a greeting") ",\"client_roots\":" ROOTS "}",
			   json_pack("{s:s}", "kind", "multiple"));
	return mcp_call_reply(call, NULL, "Name: %s, and all the rest", name);
}

static const struct mcp_done *multi_round(struct mcp_call *call)
{
	const char *name = json_string_value(json_object_get(mcp_call_state(call), "name"));
	const char *given = form_field(call, "step1", "name"), *color = form_field(call, "step2", "color");
	if (name && color)
		return mcp_call_reply(call, NULL, "Multi-round complete for %s who likes %s", name, color);
	if (mcp_call_state(call) && (given || name))
		return ask(call, "{\"step2\":" ELICIT("Step 2: What is your favorite color?", "color", "string") "}",
			   json_pack("{s:i, s:s}", "round", 2, "name", given ? given : name));
	return ask(call, "{\"step1\":" ELICIT("Step 1: What is your name?", "name", "string") "}",
		   json_pack("{s:i}", "round", 1));
}

static const struct mcp_done *capabilities(struct mcp_call *call)
{
	json_t *requests = json_object();
	if (mcp_call_input(call, "elicit_input") || mcp_call_input(call, "sample_input")) {
		json_decref(requests);
		return mcp_call_reply(call, NULL, "capabilities-ok");
	}
	if (mcp_call_client_has(call, "elicitation"))
		json_object_set_new(requests, "elicit_input", parse(ELICIT("Elicitation input", "value", "string")));
	if (mcp_call_client_has(call, "sampling"))
		json_object_set_new(requests, "sample_input", parse(SAMPLE("Sample request")));
	if (json_object_size(requests) == 0) {
		json_decref(requests);
		return mcp_call_reply(call, NULL, "No supported capabilities declared");
	}
	return mcp_call_ask(call, requests, json_pack("{s:s}", "kind", "capabilities"));
}

static const struct mcp_done *streaming_elicitation(struct mcp_call *call)
{
	if (form_field(call, "user_name", "name") == NULL)
		return ask(call, "{\"user_name\":" ELICIT("What is your name?", "name", "string") "}", NULL);
	return mcp_call_reply(call, NULL, "Streaming complete");
}

/* The client's whole answer to "q" as JSON in the text. */
static const struct mcp_done *show_answer(struct mcp_call *call, const char *what)
{
	char *text = json_dumps(mcp_call_input(call, "q"), JSON_COMPACT);
	const char *action = json_string_value(json_object_get(mcp_call_input(call, "q"), "action"));
	char *content = json_dumps(json_object_get(mcp_call_input(call, "q"), "content"), JSON_COMPACT);
	const struct mcp_done *done = mcp_call_reply(call, NULL, "%s: action=%s, content=%s", what,
						     action ? action : text, content ? content : "{}");
	free(text);
	free(content);
	return done;
}

static const struct mcp_done *sampling(struct mcp_call *call)
{
	const json_t *answer = mcp_call_input(call, "q");
	if (answer == NULL) {
		json_t *message = json_pack("{s:s, s:{s:s, s:s}}", "role", "user", "content", "type", "text", "text",
					    argument(call, "prompt"));
		return mcp_call_ask(call,
				    json_pack("{s:{s:s, s:{s:[o], s:i}}}", "q", "method", "sampling/createMessage",
					      "params", "messages", message, "maxTokens", 100),
				    NULL);
	}
	const char *text = json_string_value(json_object_get(json_object_get(answer, "content"), "text"));
	return mcp_call_reply(call, NULL, "LLM response: %s", text ? text : "No response");
}

static const struct mcp_done *elicitation(struct mcp_call *call)
{
	if (mcp_call_input(call, "q"))
		return show_answer(call, "User response");
	json_t *requests = parse("{\"q\":" ELICIT("", "response", "string") "}");
	json_object_set_new(json_object_get(json_object_get(requests, "q"), "params"), "message",
			    json_string(argument(call, "message")));
	return mcp_call_ask(call, requests, NULL);
}

static const struct mcp_done *defaults(struct mcp_call *call)
{
	if (mcp_call_input(call, "q"))
		return show_answer(call, "Elicitation completed");
	return ask(
		call,
		"{\"q\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"Please review the form\","
		"\"requestedSchema\":{\"type\":\"object\",\"properties\":{"
		"\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},\"age\":{\"type\":\"integer\",\"default\":30},"
		"\"score\":{\"type\":\"number\",\"default\":95.5},\"status\":{\"type\":\"string\",\"enum\":[\"active\","
		"\"inactive\",\"pending\"],\"default\":\"active\"},\"verified\":{\"type\":\"boolean\",\"default\":true}"
		"},"
		"\"required\":[]}}}}",
		NULL);
}

static const struct mcp_done *enums(struct mcp_call *call)
{
	if (mcp_call_input(call, "q"))
		return show_answer(call, "Elicitation completed");
	return ask(
		call,
		"{\"q\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"Please select\","
		"\"requestedSchema\":{\"type\":\"object\",\"properties\":{"
		"\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]},"
		"\"titledSingle\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"value1\",\"title\":\"First Option\"},"
		"{\"const\":\"value2\",\"title\":\"Second Option\"},{\"const\":\"value3\",\"title\":\"Third "
		"Option\"}]},"
		"\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],\"enumNames\":[\"Option "
		"One\","
		"\"Option Two\",\"Option Three\"]},"
		"\"untitledMulti\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":3,\"items\":{\"type\":\"string\","
		"\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
		"\"titledMulti\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":3,\"items\":{\"anyOf\":[{\"const\":"
		"\"value1\",\"title\":\"First Choice\"},{\"const\":\"value2\",\"title\":\"Second Choice\"},{\"const\":"
		"\"value3\",\"title\":\"Third Choice\"}]}}},\"required\":[]}}}}",
		NULL);
}

/* --- tools that answer with tasks ------------------------------------------------------------------------------- */

static json_t *text_result(const char *text, int is_error)
{
	return mcp_call_result(NULL, text, is_error);
}

static const struct mcp_done *greet(struct mcp_call *call)
{
	return mcp_call_reply(call, NULL, "Hello, %s!", argument(call, "name"));
}

static const struct mcp_done *slow_compute(struct mcp_call *call)
{
	double seconds = json_number_value(json_object_get(mcp_call_arguments(call), "seconds"));
	if (mcp_call_client_has_tasks(call))
		return mcp_call_task(call,
				     task_start(&world(call)->tasks, seconds, NULL, text_result("Computed", 0), NULL));
	clock_sleep((int64_t)(seconds * 1e9));
	return mcp_call_reply(call, NULL, "Computed");
}

static const struct mcp_done *failing_job(struct mcp_call *call)
{
	return mcp_call_task(call, task_start(&world(call)->tasks, 1, NULL, text_result("The job failed", 1), NULL));
}

static const struct mcp_done *protocol_error_job(struct mcp_call *call)
{
	json_t *why = json_pack("{s:i, s:s}", "code", MCP_INTERNAL_ERROR, "message", "the job broke");
	return mcp_call_task(call, task_start(&world(call)->tasks, 0.5, NULL, NULL, why));
}

static const struct mcp_done *confirm_delete(struct mcp_call *call)
{
	json_t *requests = parse("{\"confirm\":" ELICIT("Really delete it?", "confirm", "boolean") "}");
	return mcp_call_task(call, task_start(&world(call)->tasks, 0, requests, text_result("Deleted", 0), NULL));
}

static const struct mcp_done *multi_input(struct mcp_call *call)
{
	json_t *requests = parse("{\"first\":" ELICIT("First?", "value", "string") ",\"second\":" ELICIT(
		"Second?", "value", "string") "}");
	return mcp_call_task(call, task_start(&world(call)->tasks, 0, requests, text_result("Both answered", 0), NULL));
}

static const struct mcp_done *tool_with_task(struct mcp_call *call)
{
	const char *name = form_field(call, "user_name", "name");
	if (name == NULL)
		return ask(call, "{\"user_name\":" ELICIT("What is your name?", "name", "string") "}", json_object());
	char *text = mem_fmt("Hello, %s!", name);
	const char *id = task_start(&world(call)->tasks, 0.5, NULL, text_result(text, 0), NULL);
	free(text);
	return mcp_call_task(call, id);
}

#include "conformance_prompts.h"

#define STRINGS(a) "{\"type\":\"object\",\"properties\":{\"" a "\":{\"type\":\"string\"}}}"
#define ANY "{\"type\":\"object\"}"

static const char SCHEMA_2020_12[] =
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/"
	"schema\",\"type\":\"object\",\"$defs\":{\"address\":{\"$anchor\":"
	"\"addressDef\",\"type\":\"object\",\"properties\":{\"street\":{\"type\":\"string\"},\"city\":{\"type\":"
	"\"string\"}}}},"
	"\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/"
	"address\"},\"contactMethod\":{\"type\":"
	"\"string\",\"enum\":[\"phone\",\"email\"]},\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
	"\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],\"if\":{\"properties\":"
	"{\"contactMethod\":{\"const\":\"phone\"}},\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]"
	"},"
	"\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}";

static const char HEADER_SCHEMA[] =
	"{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"},"
	"\"priority\":{"
	"\"type\":\"integer\",\"x-mcp-header\":\"Priority\"},\"query\":{\"type\":\"string\"}}}";

static const struct mcp_done *with_headers(struct mcp_call *call)
{
	return mcp_call_reply(call, NULL, "Region \"%s\"", argument(call, "region"));
}

#define TOOL(n, what, schema, function)                                                                                \
	{                                                                                                              \
		.name = n, .description = what, .input_schema = schema, .handler = function                            \
	}

static const struct mcp_tool TOOLS[] = {
	TOOL("test_simple_text", "Text", ANY, simple_text),
	TOOL("test_image_content", "An image", ANY, image),
	TOOL("test_audio_content", "A sound", ANY, audio),
	TOOL("test_embedded_resource", "A resource within the answer", ANY, embedded),
	TOOL("test_multiple_content_types", "Text, image and resource", ANY, mixed),
	TOOL("test_tool_with_logging", "Log messages on the way", ANY, with_logging),
	TOOL("test_logging_tool", "A log message if it is wanted", ANY, logging),
	TOOL("test_tool_with_progress", "Progress on the way", ANY, with_progress),
	TOOL("test_error_handling", "An error", ANY, error),
	TOOL("test_reconnection", "Closes the stream, answers when the client is back", ANY, reconnection),
	TOOL("test_sampling", "Asks the client's model", STRINGS("prompt"), sampling),
	TOOL("test_elicitation", "Asks the user", STRINGS("message"), elicitation),
	TOOL("test_elicitation_sep1034_defaults", "A form with defaults", ANY, defaults),
	TOOL("test_elicitation_sep1330_enums", "A form with choices", ANY, enums),
	TOOL("test_missing_capability", "Needs sampling", ANY, missing_capability),
	TOOL("test_streaming_elicitation", "Asks the user", ANY, streaming_elicitation),
	TOOL("test_trigger_tool_change", "Says that the tools changed", ANY, tool_change),
	TOOL("test_trigger_prompt_change", "Says that the prompts changed", ANY, prompt_change),
	TOOL("test_input_required_result_elicitation", "Asks for a name", ANY, elicit_name),
	TOOL("test_input_required_result_sampling", "Asks the model", ANY, sample_capital),
	TOOL("test_input_required_result_list_roots", "Asks for roots", ANY, list_roots),
	TOOL("test_input_required_result_request_state", "Asks and remembers", ANY, request_state),
	TOOL("test_input_required_result_multiple_inputs", "Asks three things", ANY, multiple_inputs),
	TOOL("test_input_required_result_multi_round", "Asks twice", ANY, multi_round),
	TOOL("test_input_required_result_tampered_state", "Asks and does not trust", ANY, tampered_state),
	TOOL("test_input_required_result_capabilities", "Asks what the client can", ANY, capabilities),
	{ .name = "json_schema_2020_12_tool",
	  .description = "A schema with everything",
	  .input_schema = SCHEMA_2020_12,
	  .handler = json_schema,
	  .flags = MCP_TOOL_UNCHECKED },
	TOOL("test_custom_headers", "Arguments that are headers too", HEADER_SCHEMA, with_headers),
	TOOL("greet", "Greets", STRINGS("name"), greet),
	TOOL("slow_compute", "Takes its time",
	     "{\"type\":\"object\",\"properties\":{\"seconds\":{\"type\":\"number\"},"
	     "\"label\":{\"type\":\"string\"}}}",
	     slow_compute),
	{ .name = "failing_job", .description = "Fails", .handler = failing_job, .flags = MCP_TOOL_TASK_ONLY },
	TOOL("protocol_error_job", "Breaks", ANY, protocol_error_job),
	TOOL("confirm_delete", "A task that asks", ANY, confirm_delete),
	TOOL("multi_input", "A task that asks twice", ANY, multi_input),
	TOOL("test_tool_with_task", "Asks, then is a task", ANY, tool_with_task),
	{ .name = NULL },
};

/* --- main ------------------------------------------------------------------------------------------------------- */

static int serve_http(struct mcp_server *server, int port, struct err *e)
{
	struct mcp_http_config config = { .port = port };
	struct mcp_http *http;
	char byte;
	int rc = mcp_http_start(server, &config, &http, e);
	if (rc < 0)
		return rc;
	printf("http://127.0.0.1:%d/mcp\n", mcp_http_port(http));
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	mcp_http_stop(http);
	return 0;
}

int main(int argc, char **argv)
{
	struct world w;
	struct err e = ERR_INIT;
	struct mcp_server_config config = {
		.name = "mcp-conformance",
		.title = "Conformance",
		.version = "1.0.0",
		.instructions = "For tests only.",
		.user = &w,
		.tools = TOOLS,
		.resources = RESOURCES,
		.templates = TEMPLATES,
		.prompts = PROMPTS,
		.complete = complete,
		.tasks = &TASK_HOOKS,
		.logging = 1,
		.list_changed = 1,
	};
	if (argc != 2) {
		fprintf(stderr, "usage: %s PORT | --stdio\n", argv[0]);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	tasks_init(&w.tasks);
	int rc = mcp_server_new(&config, &w.server, &e);
	if (rc == 0) {
		w.tasks.server = w.server;
		rc = strcmp(argv[1], "--stdio") == 0 ? mcp_stdio_run(w.server, 0, 1, &e)
						     : serve_http(w.server, atoi(argv[1]), &e);
		tasks_fini(&w.tasks);
		mcp_server_free(w.server);
	}
	if (rc < 0)
		fprintf(stderr, "conformance_server: %s\n", e.text);
	return rc < 0;
}

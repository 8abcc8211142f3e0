/* Both wire formats against a server that behaves and misbehaves as real ones do. */
#include "core/transform/llm.h"
#include "core/transform/llm_wire.h"
#include "llm/fake_llm.h"
#include "pace.h"
#include "tap.h"

#include <limits.h>

#include "base/clock.h"
#include "base/mem.h"

#define O_TEXT(t)                                                                                                      \
	"data: {\"model\":\"m-2\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" t                               \
	"\"},\"finish_reason\":null}]}\n\n"
#define O_END(r) "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" r "\"}]}\n\n"
#define O_USAGE                                                                                                        \
	"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":5,"                               \
	"\"prompt_tokens_details\":{\"cached_tokens\":8}}}\n\ndata: [DONE]\n\n"
#define O_GOOD ": hello\n\n" O_TEXT("Hel") O_TEXT("lo \\u00e9") O_END("stop") O_USAGE
#define A_GOOD                                                                                                         \
	"event: message_start\ndata: "                                                                                 \
	"{\"type\":\"message_start\",\"message\":{\"model\":\"c-1\",\"usage\":{\"input_tokens\":3,"                    \
	"\"cache_read_input_tokens\":10,\"cache_creation_input_tokens\":7,\"output_tokens\":1}}}\n\n"                  \
	"event: ping\ndata: {\"type\":\"ping\"}\n\n"                                                                   \
	"data: "                                                                                                       \
	"{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}"   \
	"\n\n"                                                                                                         \
	"data: "                                                                                                       \
	"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hmm\"}}"  \
	"\n\n"                                                                                                         \
	"data: "                                                                                                       \
	"{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n"
#define A_END(r)                                                                                                       \
	"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" r "\"},\"usage\":{\"output_tokens\":9}}\n\n" \
	"data: {\"type\":\"message_stop\"}\n\n"

/* How long a model may say nothing: no answer is late on a loaded machine, but for one that never comes. */
enum { PATIENT_MS = 60000, IMPATIENT_MS = 300 };

static const struct {
	const char *what;
	enum llm_format format;
	struct fake_step steps[4];
	size_t count;
	int rc;           /* 0 or -ERR_* */
	const char *part; /* of the text or of the error */
	enum reply_finish finish;
	size_t served; /* requests that the server saw */
} table[] = {
	{ "a stream", LLM_OPENAI, { { 200, .body = O_GOOD } }, 1, 0, "Hello é", REPLY_FINISH_STOP, 1 },
	{ "a stream in drips",
	  LLM_OPENAI,
	  { { 200, .body = O_GOOD, .drip_ms = 1 } },
	  1,
	  0,
	  "Hello é",
	  REPLY_FINISH_STOP,
	  1 },
	{ "cut at the limit",
	  LLM_OPENAI,
	  { { 200, .body = O_TEXT("Hel") O_END("length") } },
	  1,
	  0,
	  "Hel",
	  REPLY_FINISH_LENGTH,
	  1 },
	{ "a refusal",
	  LLM_OPENAI,
	  { { 200, .body = "data: {\"choices\":[{\"delta\":{\"refusal\":\"No.\"},\"finish_reason\":\"stop\"}]}\n\n" } },
	  1,
	  0,
	  "No.",
	  REPLY_FINISH_REFUSED,
	  1 },
	{ "no stream, but an answer",
	  LLM_OPENAI,
	  { { 200, .type = "application/json",
	      .body = "{\"choices\":[{\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}" } },
	  1,
	  0,
	  "Hi",
	  REPLY_FINISH_STOP,
	  1 },
	{ "429, then good",
	  LLM_OPENAI,
	  { { 429, .headers = "retry-after-ms: 5\r\n", .body = "{\"error\":{\"message\":\"slow down\"}}" },
	    { 200, .body = O_GOOD } },
	  2,
	  0,
	  "Hello",
	  REPLY_FINISH_STOP,
	  2 },
	{ "429 for good",
	  LLM_OPENAI,
	  { { 429, .body = "{\"error\":{\"message\":\"slow down\"}}" } },
	  1,
	  -ERR_NETWORK,
	  "slow down",
	  0,
	  3 },
	{ "a spending limit",
	  LLM_OPENAI,
	  { { 429, .body = "{\"error\":{\"message\":\"You exceeded your current quota\",\"type\":"
			   "\"insufficient_quota\"}}" } },
	  1,
	  -ERR_NETWORK,
	  "spending limit",
	  0,
	  1 },
	{ "500 three times", LLM_OPENAI, { { 500, .body = "oops" } }, 1, -ERR_NETWORK, "after 3 tries", 0, 3 },
	{ "500 that must not be tried again",
	  LLM_OPENAI,
	  { { 500, .headers = "x-should-retry: false\r\n", .body = "oops" } },
	  1,
	  -ERR_NETWORK,
	  "oops",
	  0,
	  1 },
	{ "400",
	  LLM_OPENAI,
	  { { 400, .body = "{\"error\":{\"message\":\"bad max_tokens\",\"code\":400}}" } },
	  1,
	  -ERR_NETWORK,
	  "bad max_tokens",
	  0,
	  1 },
	{ "401",
	  LLM_OPENAI,
	  { { 401, .body = "{\"error\":{\"message\":\"no such key sk-secret-key\"}}" } },
	  1,
	  -ERR_NETWORK,
	  "no such key [key]",
	  0,
	  1 },
	{ "404", LLM_OPENAI, { { 404, .body = "" } }, 1, -ERR_NETWORK, "base URL", 0, 1 },
	{ "200 with an error",
	  LLM_OPENAI,
	  { { 200, .type = "application/json", .body = "{\"error\":{\"message\":\"no credits\",\"code\":402}}" } },
	  1,
	  -ERR_NETWORK,
	  "no credits",
	  0,
	  1 },
	{ "an error in the middle, then good",
	  LLM_OPENAI,
	  { { 200, .body = O_TEXT("Hel") "data: {\"error\":{\"message\":\"overloaded\","
					 "\"type\":\"overloaded_error\"}}\n\n" },
	    { 200, .body = O_GOOD } },
	  2,
	  0,
	  "Hello",
	  REPLY_FINISH_STOP,
	  2 },
	{ "a stream without an end",
	  LLM_OPENAI,
	  { { 200, .body = O_TEXT("Hel") } },
	  1,
	  -ERR_NETWORK,
	  "finish marker",
	  0,
	  3 },
	{ "nonsense",
	  LLM_OPENAI,
	  { { 200, .type = "text/html", .body = "<html>It works!</html>" } },
	  1,
	  -ERR_NETWORK,
	  "It works!",
	  0,
	  3 },
	{ "nothing at all", LLM_OPENAI, { { 0 } }, 1, -ERR_NETWORK, "ended the connection without an answer", 0, 3 },
	{ "silence", LLM_OPENAI, { { 200, .body = O_GOOD, .hang_ms = 2 * PATIENT_MS } }, 1, -ERR_TIMEOUT, "sent nothing", 0, 1 },
	{ "a stream",
	  LLM_ANTHROPIC,
	  { { 200, .body = A_GOOD A_END("end_turn") } },
	  1,
	  0,
	  "Hello",
	  REPLY_FINISH_STOP,
	  1 },
	{ "cut at the limit",
	  LLM_ANTHROPIC,
	  { { 200, .body = A_GOOD A_END("max_tokens") } },
	  1,
	  0,
	  "Hello",
	  REPLY_FINISH_LENGTH,
	  1 },
	{ "a refusal", LLM_ANTHROPIC, { { 200, .body = A_END("refusal") } }, 1, 0, "", REPLY_FINISH_REFUSED, 1 },
	{ "529, then good",
	  LLM_ANTHROPIC,
	  { { 529, .body = "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}" },
	    { 200, .body = A_GOOD A_END("end_turn") } },
	  2,
	  0,
	  "Hello",
	  REPLY_FINISH_STOP,
	  2 },
	{ "an error in the middle",
	  LLM_ANTHROPIC,
	  { { 200, .body = A_GOOD "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"
				  "\"invalid_request_error\",\"message\":\"too long\"}}\n\n" } },
	  1,
	  -ERR_NETWORK,
	  "too long",
	  0,
	  1 },
	{ "a stream without an end",
	  LLM_ANTHROPIC,
	  { { 200, .body = A_GOOD } },
	  1,
	  -ERR_NETWORK,
	  "finish marker",
	  0,
	  3 },
};

static struct llm *make(enum llm_format format, int port, unsigned stall_ms, struct err *e)
{
	char *url = mem_fmt("http://127.0.0.1:%d/v1/", port);
	struct llm *llm = NULL;
	const struct llm_config config = { .format = format,
					   .base_url = url,
					   .model = "m",
					   .key_env = "PEAKD_TEST_KEY",
					   .backoff_ms = 1,
					   .stall_ms = stall_ms,
					   .total_ms = 2 * PATIENT_MS };
	if (llm_new(&config, &llm, e) < 0)
		printf("# %s\n", e->text);
	free(url);
	return llm;
}

static int ask(struct llm *llm, const char *words, const atomic_bool *cancel, struct model_answer *ret_answer,
	       struct err *e)
{
	struct prompt p = PROMPT_INIT;
	prompt_add(&p, PROMPT_SYSTEM, "rules");
	prompt_add(&p, PROMPT_USER, words);
	const struct model_request q = { .prompt = &p, .cancel = cancel };
	const struct model *m = llm_model(llm);
	int rc = m->ask(m->arg, &q, ret_answer, e);
	prompt_fini(&p);
	return rc;
}

static void test_table(void)
{
	for (size_t i = 0; i < MEM_COUNT(table); i++) {
		struct fake_llm f;
		struct err e = ERR_INIT;
		struct model_answer a = { 0 };
		fake_llm_start(&f, table[i].steps, table[i].count);
		struct llm *llm = make(table[i].format, f.port, table[i].steps[0].hang_ms ? IMPATIENT_MS : PATIENT_MS, &e);
		int rc = ask(llm, "hi", NULL, &a, &e);
		is_int(rc, table[i].rc, "%s: %s %s", table[i].format == LLM_OPENAI ? "openai" : "anthropic",
		       table[i].what, rc ? e.text : "");
		has_str(rc ? e.text : a.text, table[i].part, "its words");
		ok(!strstr(e.text, "secret"), "and never the key");
		if (!rc)
			is_int(a.finish, table[i].finish, "its finish");
		is_int(atomic_load(&f.served), table[i].served, "requests made");
		model_answer_fini(&a);
		llm_free(llm);
		fake_llm_stop(&f);
	}
}

static void test_requests(void)
{
	static const struct fake_step good[] = { { 200, .body = O_GOOD }, { 200, .body = A_GOOD A_END("end_turn") } };
	struct fake_llm f;
	struct err e = ERR_INIT;
	struct model_answer a = { 0 };
	fake_llm_start(&f, good, 2);
	struct llm *llm = make(LLM_OPENAI, f.port, PATIENT_MS, &e);
	is_int(ask(llm, "wo\"rds\n", NULL, &a, &e), 0, "one call");
	is_str(a.model, "m-2", "the model's own name");
	is_int(a.prompt_tokens, 20, "prompt tokens");
	is_int(a.cached_tokens, 8, "cached tokens");
	is_int(a.output_tokens, 5, "output tokens");
	model_answer_fini(&a);
	llm_free(llm);
	const char *seen = buf_text(&f.requests[0]);
	has_str(seen, "POST /v1/chat/completions HTTP", "the path");
	has_str(seen, "Authorization: Bearer sk-secret-key\r\n", "the key's header");
	has_str(seen, "\"role\":\"system\",\"content\":\"rules\"", "the system turn");
	has_str(seen, "\"content\":\"wo\\\"rds\\n\"", "the user's turn");
	has_str(seen, "\"stream\":true", "streaming");
	has_str(seen, "max_completion_tokens", "a limit");
	ok(!strstr(seen, "temperature"), "no sampling field that nobody set");
	llm = make(LLM_ANTHROPIC, f.port, PATIENT_MS, &e);
	is_int(ask(llm, "hi", NULL, &a, &e), 0, "one call");
	is_int(a.prompt_tokens, 20, "prompt tokens, the cached ones included");
	is_int(a.output_tokens, 9, "output tokens");
	model_answer_fini(&a);
	llm_free(llm);
	seen = buf_text(&f.requests[1]);
	has_str(seen, "POST /v1/messages HTTP", "the path");
	has_str(seen, "x-api-key: sk-secret-key\r\n", "the key's header");
	has_str(seen, "anthropic-version: 2023-06-01\r\n", "the version's header");
	has_str(seen, "\"system\":[{\"type\":\"text\",\"text\":\"rules\",\"cache_control\":{\"type\":\"ephemeral\"}}]",
		"a cached system turn");
	fake_llm_stop(&f);
}

static void *cancel_later(void *flag)
{
	usleep(100000);
	atomic_store((atomic_bool *)flag, true);
	return NULL;
}

static void test_cancel(void)
{
	/* Half a minute until its end. */
	static const struct fake_step slow[] = {
		{ 200, .body = O_TEXT("a") O_TEXT("b") O_TEXT("c") O_TEXT("d") O_TEXT("e") O_TEXT("f") O_GOOD, .drip_ms = 400 }
	};
	struct fake_llm f;
	struct err e = ERR_INIT;
	struct model_answer a = { 0 };
	atomic_bool flag = false;
	pthread_t thread;
	fake_llm_start(&f, slow, 1);
	struct llm *llm = make(LLM_OPENAI, f.port, PATIENT_MS, &e);
	struct pace pace = pace_begin();
	pthread_create(&thread, NULL, cancel_later, &flag);
	is_int(ask(llm, "hi", &flag, &a, &e), -ERR_CANCELLED, "a call is cancelled: %s", e.text);
	ok(pace_within(&pace, 1500 * CLOCK_MS), "within a second or so (%s)", pace_text(&pace));
	pthread_join(thread, NULL);
	llm_free(llm);
	fake_llm_stop(&f);
}

static void test_cut_prompt(void)
{
	static const struct fake_step good[] = { { 200, .body = O_GOOD } };
	struct fake_llm f;
	struct err e = ERR_INIT;
	struct model_answer a = { 0 };
	char *words = mem_new(9001, 1);
	memset(words, 'x', 9000);
	fake_llm_start(&f, good, 1);
	struct llm *llm = make(LLM_OPENAI, f.port, PATIENT_MS, &e);
	is_int(ask(llm, words, NULL, &a, &e), -ERR_NETWORK, "20 tokens for 9000 characters");
	has_str(e.text, "cut the prompt", "is told");
	llm_free(llm);
	fake_llm_stop(&f);
	free(words);
}

static void test_config(void)
{
	struct err e = ERR_INIT;
	struct llm *llm = NULL;
	struct llm_config c = { .base_url = "http://127.0.0.1:1/v1", .model = "m", .retries = UINT_MAX };
	struct model_answer a = { 0 };
	is_int(llm_new(&c, &llm, &e), 0, "a server without a key");
	is_int(ask(llm, "hi", NULL, &a, &e), -ERR_NETWORK, "nobody listens");
	has_str(e.text, "cannot be reached", "is told");
	llm_free(llm);
	c.key_env = "PEAKD_TEST_NO_SUCH_KEY";
	is_int(llm_new(&c, &llm, &e), -ERR_INPUT, "a named key that is not there");
	has_str(e.text, "PEAKD_TEST_NO_SUCH_KEY", "is named");
	c.base_url = "file:///etc/passwd";
	is_int(llm_new(&c, &llm, &e), -ERR_INPUT, "another scheme");
	c.model = NULL;
	is_int(llm_new(&c, &llm, &e), -ERR_INPUT, "no model");
}

static int count_event(void *arg, const char *data)
{
	buf_addf(arg, "[%s]", data);
	return 0;
}

/* The same events, whatever the pieces. */
static void test_sse(void)
{
	static const char stream[] =
		"\r\n: c\r\nevent: a\r\ndata: 1\r\ndata:2\r\n\r\ndata: x\n\nid: 3\n\ndata: y\r\rdata: lost";
	for (size_t piece = 1; piece < 8; piece++) {
		struct llm_wire_events s = LLM_WIRE_EVENTS_INIT;
		struct buf out = BUF_INIT;
		for (size_t at = 0; at < sizeof stream - 1; at += piece)
			llm_wire_feed(&s, stream + at, sizeof stream - 1 - at < piece ? sizeof stream - 1 - at : piece,
				     count_event, &out);
		is_str(buf_text(&out), "[1\n2][x][y]", "events in pieces of %zu", piece);
		buf_fini(&out);
		llm_wire_events_fini(&s);
	}
}

int main(void)
{
	setenv("PEAKD_TEST_KEY", "sk-secret-key", 1);
	setenv("no_proxy", "127.0.0.1", 1);
	test_sse();
	test_table();
	test_requests();
	test_cancel();
	test_cut_prompt();
	test_config();
	return tap_done();
}

/* llm: one call to a provider with its tries, pauses and limits, over libcurl; see llm.h. Which failures are tried
 * again follows the providers' own clients: 408, 409, 429, 5xx and broken connections, unless a header or a spending
 * limit forbids. */
#include "core/transform/llm.h"

#include <curl/curl.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/transform/llm_wire.h"
#include "core/workers/span.h"

enum {
	BODY_MAX = 16 << 20, /* bytes of a body that is no stream */
	TEXT_MAX = 16 << 20, /* bytes of an answer */
	BACKOFF_MAX_MS = 8000,
	RETRY_AFTER_MAX_MS = 60000, /* a longer retry-after is not waited for: the usual pause is taken */
	CHARS_PER_TOKEN_MAX = 6,    /* code and English take 3 to 5 characters a token; more means that the prompt was cut */
	CHECK_CHARS_MIN = 4000,     /* shorter prompts are not judged by that */
};

struct llm {
	struct llm_config config; /* its strings owned */
	const struct llm_wire *wire;
	char *url, *key, *name; /* key NULL: none is sent */
	struct model model;
	char *traceparent;       /* of whoever asked; NULL */
	const struct span *span; /* of the work that asks; NULL */
};

/* One try. */
struct call {
	const struct llm *llm;
	const struct model_request *request;
	const struct span *span;
	struct llm_wire_events sse;
	struct llm_stream stream;
	struct buf body;   /* raw, as long as no event was seen */
	int64_t last_byte; /* monotonic */
	bool cancelled, stalled;
	bool connected; /* the server took the connection */
	long status;
	char should_retry[16];  /* x-should-retry */
	int64_t retry_after_ms; /* -1 none */
};

static int ask(void *arg, const struct model_request *request, struct model_answer *ret_answer, struct err *e);

/* --- making
 * ----------------------------------------------------------------------------------------------------------- */

/* The first line of a systemd credential; NULL when there is none. */
static char *read_credential(const char *name)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	if (!folder || !name || strchr(name, '/'))
		return NULL;
	char *path = mem_fmt("%s/%s", folder, name), line[4096], *key = NULL;
	FILE *f = fopen(path, "re");
	if (f && fgets(line, sizeof line, f))
		key = mem_strn(line, strcspn(line, "\r\n"));
	if (f)
		fclose(f);
	explicit_bzero(line, sizeof line);
	free(path);
	return key;
}

static int find_key(const struct llm_config *c, char **ret_key, struct err *e)
{
	char *key = read_credential(c->key_credential);
	const char *env = c->key_env ? getenv(c->key_env) : NULL;
	if (!key && env && *env)
		key = mem_strn(env, strcspn(env, "\r\n"));
	if (!key && (c->key_env || c->key_credential))
		return err_set(e, ERR_INPUT,
			       "the model's key was not found: set the environment variable %s%s%s, or leave the key out "
			       "for a server that needs none",
			       c->key_env ? c->key_env : "(none named)", c->key_credential ? " or the systemd credential " : "",
			       c->key_credential ? c->key_credential : "");
	*ret_key = key;
	return 0;
}

static int check_config(const struct llm_config *c, struct err *e)
{
	if (!c->model || !*c->model)
		return err_set(e, ERR_INPUT, "no model is named: give the name that the provider's documentation uses");
	if (!c->base_url || (strncmp(c->base_url, "http://", 7) != 0 && strncmp(c->base_url, "https://", 8) != 0))
		return err_set(e, ERR_INPUT,
			       "the model's base URL must start with http:// or https://, such as "
			       "http://127.0.0.1:8080/v1; got \"%s\"",
			       c->base_url ? c->base_url : "");
	return 0;
}

static unsigned or_default(unsigned value, unsigned other)
{
	return value ? value : other;
}

int llm_new(const struct llm_config *config, struct llm **ret_llm, struct err *e)
{
	char *key = NULL;
	int rc = check_config(config, e);
	if (rc == 0)
		rc = find_key(config, &key, e);
	if (rc < 0)
		return rc;
	struct llm *llm = MEM_NEW(struct llm);
	struct llm_config *c = &llm->config;
	*c = *config;
	c->base_url = c->key_credential = NULL;
	c->model = mem_str(config->model);
	c->reasoning = mem_str(config->reasoning);
	c->key_env = mem_str(config->key_env);
	c->max_tokens = or_default(c->max_tokens, 32768);
	c->retries = c->retries == UINT_MAX ? 0 : or_default(c->retries, 2);
	c->connect_ms = or_default(c->connect_ms, 10000);
	c->stall_ms = or_default(c->stall_ms, 600000);
	c->total_ms = or_default(c->total_ms, 3600000);
	c->backoff_ms = or_default(c->backoff_ms, 500);
	llm->wire = c->format == LLM_ANTHROPIC ? &llm_wire_anthropic : &llm_wire_openai;
	size_t n = strlen(config->base_url);
	while (n && config->base_url[n - 1] == '/')
		n--;
	llm->url = mem_fmt("%.*s%s", (int)n, config->base_url, llm->wire->path);
	llm->name = mem_fmt("%s:%s", c->format == LLM_ANTHROPIC ? "anthropic" : "openai", c->model);
	llm->key = key;
	llm->model = (struct model){ .arg = llm, .name = llm->name, .ask = ask };
	curl_global_init(CURL_GLOBAL_DEFAULT); /* counted, and thread-safe since libcurl 7.84 */
	*ret_llm = llm;
	return 0;
}

void llm_trace(struct llm *llm, char *take_traceparent, const struct span *span)
{
	free(llm->traceparent);
	llm->span = span;
	llm->traceparent = take_traceparent;
}

void llm_free(struct llm *llm)
{
	if (!llm)
		return;
	if (llm->key)
		explicit_bzero(llm->key, strlen(llm->key));
	free(llm->key);
	free((char *)llm->config.model);
	free((char *)llm->config.reasoning);
	free((char *)llm->config.key_env);
	free(llm->url);
	free(llm->name);
	free(llm->traceparent);
	free(llm);
	curl_global_cleanup();
}

/* --- one try: what libcurl calls
 * -------------------------------------------------------------------------------------- */

static int take_event(void *arg, const char *data)
{
	struct call *call = arg;
	call->llm->wire->event(&call->stream, data);
	if (call->request->progress)
		call->request->progress(call->request->progress_arg, call->stream.text.len);
	return call->stream.text.len > TEXT_MAX ? -1 : 0;
}

static size_t take_bytes(char *bytes, size_t size, size_t count, void *arg)
{
	struct call *call = arg;
	size_t n = size * count;
	call->last_byte = clock_now();
	if (!call->sse.any && call->body.len + n <= BODY_MAX)
		buf_add(&call->body, bytes, n);
	return llm_wire_feed(&call->sse, bytes, n, take_event, call) < 0 ? 0 : n;
}

/* The value of a header of that name; NULL for another header. */
static const char *header_value(const char *line, const char *name)
{
	size_t n = strlen(name);
	if (strncasecmp(line, name, n) != 0 || line[n] != ':')
		return NULL;
	return line + n + 1 + strspn(line + n + 1, " \t");
}

static size_t take_header(char *bytes, size_t size, size_t count, void *arg)
{
	struct call *call = arg;
	size_t n = size * count;
	char *line = mem_strn(bytes, n);
	const char *v;
	if ((v = header_value(line, "x-should-retry"))) {
		snprintf(call->should_retry, sizeof call->should_retry, "%.*s", (int)strcspn(v, "\r\n"), v);
	} else if ((v = header_value(line, "retry-after-ms"))) {
		call->retry_after_ms = strtoll(v, NULL, 10);
	} else if ((v = header_value(line, "retry-after")) && call->retry_after_ms < 0) {
		char *end;
		double seconds = strtod(v, &end);
		time_t when = end == v ? curl_getdate(v, NULL) : -1;
		if (end > v && seconds >= 0 && seconds < 1e6)
			call->retry_after_ms = (int64_t)(seconds * 1000);
		else if (when > 0)
			call->retry_after_ms = (int64_t)when * 1000 - clock_wall_ms();
	}
	free(line);
	return n;
}

static bool is_cancelled(const struct model_request *request)
{
	return request->cancel && atomic_load(request->cancel);
}

static int check_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	(void)a, (void)b, (void)c, (void)d;
	struct call *call = arg;
	call->cancelled = is_cancelled(call->request);
	call->stalled = clock_now() - call->last_byte > (int64_t)call->llm->config.stall_ms * CLOCK_MS;
	return call->cancelled || call->stalled;
}

static void call_fini(struct call *call)
{
	llm_wire_events_fini(&call->sse);
	buf_fini(&call->stream.text);
	buf_fini(&call->stream.refusal);
	buf_fini(&call->body);
}

static struct curl_slist *make_headers(const struct llm *llm, const struct span *span)
{
	char own[SPAN_TRACEPARENT];
	const char *trace = span_traceparent(span, own);
	trace = trace ? trace : llm->traceparent;
	struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");
	list = curl_slist_append(list, "Accept: text/event-stream");
	list = curl_slist_append(list, "Expect:");
	if (llm->wire->extra_header)
		list = curl_slist_append(list, llm->wire->extra_header);
	if (trace) {
		char *line = mem_fmt("traceparent: %s", trace);
		list = curl_slist_append(list, line);
		free(line);
	}
	if (llm->key) {
		struct buf line = BUF_INIT;
		buf_adds(&line, llm->wire->key_header);
		buf_adds(&line, llm->key);
		list = curl_slist_append(list, buf_text(&line));
		explicit_bzero(line.data, line.len);
		buf_fini(&line);
	}
	return list;
}

/* Sends the body and takes in what comes back, until the deadline. Returns libcurl's code, with its words in `why`. */
static CURLcode transfer(struct call *call, const char *body, int64_t deadline, char why[CURL_ERROR_SIZE])
{
	CURL *curl = curl_easy_init();
	struct curl_slist *headers = make_headers(call->llm, call->span);
	int64_t left = (deadline - clock_now()) / CLOCK_MS;
	why[0] = '\0';
	call->last_byte = clock_now();
	curl_easy_setopt(curl, CURLOPT_URL, call->llm->url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, call);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, call);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, check_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, call);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)call->llm->config.connect_ms);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(left > 1 ? left : 1));
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "peakd");
	CURLcode code = curl_easy_perform(curl);
	curl_off_t connected = 0;
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &call->status);
	curl_easy_getinfo(curl, CURLINFO_CONNECT_TIME_T, &connected);
	call->connected = connected > 0;
	if (!why[0])
		snprintf(why, CURL_ERROR_SIZE, "%s", curl_easy_strerror(code));
	curl_slist_free_all(headers);
	curl_easy_cleanup(curl);
	return code;
}

/* --- judging a try
 * ---------------------------------------------------------------------------------------------------- */

/* Somebody else's words as part of a message: one line, and never the key. */
static char *clean_words(const struct llm *llm, const char *words)
{
	struct buf out = BUF_INIT;
	size_t n = llm->key ? strlen(llm->key) : 0;
	for (const char *s = words; *s && out.len < 600; s++) {
		if (n && strncmp(s, llm->key, n) == 0) {
			buf_adds(&out, "[key]");
			s += n - 1;
		} else {
			buf_addc(&out, (unsigned char)*s < 0x20 || *s == 0x7f ? ' ' : *s);
		}
	}
	return buf_steal(&out);
}

static int http_failure(const struct call *call, struct err *e)
{
	const struct llm *llm = call->llm;
	char *words = clean_words(llm, call->stream.failed ? call->stream.error : buf_text(&call->body));
	const char *advice = "look at the provider's status page, or try again later";
	if (call->stream.spent)
		advice = "a spending limit is reached: raise it at the provider, or name another model";
	else if (call->status == 401 || call->status == 403)
		advice = "check the key in the environment variable or credential that the configuration names";
	else if (call->status == 404)
		advice = "check the model's name and the base URL";
	else if (call->status == 429)
		advice = "the provider limits the rate: try again later, or name another model";
	else if (call->status >= 400 && call->status < 500)
		advice = "the provider does not accept the request: check model, max_tokens and reasoning in the "
			 "configuration";
	int rc = err_set(e, ERR_NETWORK, "%s at %s answered %ld: %s; %s", llm->name, llm->url, call->status,
			 *words ? words : "(no words)", advice);
	free(words);
	return rc;
}

static int broken(const struct call *call, CURLcode code, const char *why, struct err *e)
{
	const struct llm *llm = call->llm;
	if (call->cancelled)
		return err_set(e, ERR_CANCELLED, "the call to %s was cancelled", llm->name);
	if (call->stalled)
		return err_set(e, ERR_TIMEOUT,
			       "%s at %s sent nothing for %u s; the call was ended: try again, or raise stall_s of "
			       "the model",
			       llm->name, llm->url, llm->config.stall_ms / 1000);
	if (code == CURLE_OPERATION_TIMEDOUT && call->connected)
		return err_set(e, ERR_TIMEOUT,
			       "%s at %s did not finish within %u s: raise total_s of the model, or name "
			       "another one",
			       llm->name, llm->url, llm->config.total_ms / 1000);
	if (call->stream.text.len || call->body.len)
		return err_set(e, ERR_NETWORK,
			       "%s broke off in mid-answer after %zu characters (%s): try again, or name "
			       "another model",
			       llm->name, call->stream.text.len ? call->stream.text.len : call->body.len, why);
	if (call->connected)
		return err_set(e, ERR_NETWORK,
			       "%s at %s ended the connection without an answer (%s): look at the server's "
			       "log, or try again",
			       llm->name, llm->url, why);
	return err_set(e, code == CURLE_OPERATION_TIMEDOUT ? ERR_TIMEOUT : ERR_NETWORK,
		       "%s cannot be reached at %s: %s; is the "
		       "server running, and is the base URL right?",
		       llm->name, llm->url, why);
}

static size_t prompt_chars(const struct prompt *p)
{
	size_t n = 0;
	for (size_t i = 0; i < p->count; i++)
		n += strlen(p->turns[i].text);
	return n;
}

/* Some local servers drop the head of a prompt that is too long for them, and say nothing. */
static int check_prompt_arrived(const struct call *call, struct err *e)
{
	size_t chars = prompt_chars(call->request->prompt);
	uint64_t tokens = call->stream.prompt_tokens;
	if (!tokens || chars < CHECK_CHARS_MIN || tokens * CHARS_PER_TOKEN_MAX >= chars)
		return 0;
	return err_set(e, ERR_NETWORK,
		       "%s counted %llu tokens in a prompt of %zu characters: its server seems to have cut the prompt. Raise its "
		       "context length (llama.cpp: -c, Ollama: num_ctx)",
		       call->llm->name, (unsigned long long)tokens, chars);
}

/* 0: an answer. Negative: a failure, with *ret_retry telling whether another try makes sense. */
static int judge_call(struct call *call, CURLcode code, const char *why, bool *ret_retry, struct err *e)
{
	struct llm_stream *s = &call->stream;
	*ret_retry = false;
	if (!call->cancelled && !s->finished && !s->failed && !s->text.len && call->body.len)
		call->llm->wire->whole(s, buf_text(&call->body));
	bool bad_status = call->status >= 400;
	if (!call->cancelled && (bad_status || s->failed)) {
		bool kind = call->status == 408 || call->status == 409 || call->status == 429 || call->status >= 500;
		*ret_retry = (bad_status ? kind : s->may_retry) && !s->spent;
		if (strcmp(call->should_retry, "false") == 0)
			*ret_retry = false;
		else if (strcmp(call->should_retry, "true") == 0 && !s->spent)
			*ret_retry = true;
		return http_failure(call, e);
	}
	if (call->cancelled || call->stalled || (code != CURLE_OK && !s->finished)) {
		*ret_retry = !call->cancelled && !call->stalled;
		return broken(call, code, why, e);
	}
	if (!s->finished) {
		*ret_retry = true;
		char *words = clean_words(call->llm, s->text.len ? "" : buf_text(&call->body));
		utf8_cut(words, 200);
		int rc = err_set(e, ERR_NETWORK,
				 s->text.len ? "%s at %s ended its answer without a finish marker after %zu characters%s%s. An "
					       "answer that may be cut is not used. Try again, or name another model"
					     : "%s at %s gave no readable answer (%zu characters of text)%s%s. Check that the "
					       "base URL is the API's, and openai or anthropic its format",
				 call->llm->name, call->llm->url, s->text.len, *words ? ": " : "", words);
		free(words);
		return rc;
	}
	return check_prompt_arrived(call, e);
}

static void take_answer(struct call *call, int64_t started, struct model_answer *ret_answer)
{
	struct llm_stream *s = &call->stream;
	if (!s->text.len && s->refusal.len)
		s->finish = REPLY_FINISH_REFUSED;
	*ret_answer = (struct model_answer){
		.text = buf_steal(s->text.len ? &s->text : &s->refusal),
		.model = mem_str(s->model[0] ? s->model : call->llm->config.model),
		.finish = s->finish,
		.prompt_tokens = s->prompt_tokens,
		.cached_tokens = s->cached_tokens,
		.output_tokens = s->output_tokens,
		.elapsed_ms = (uint64_t)((clock_now() - started) / CLOCK_MS),
	};
}

/* Sleeps before try number `try` (from 1 for the first repetition), in short pieces. False when cancelled. */
static bool pause_before(const struct call *call, unsigned try)
{
	uint32_t dice;
	hash_random(&dice, sizeof dice);
	int64_t ms = (int64_t)call->llm->config.backoff_ms << (try < 16 ? try - 1 : 15);
	if (ms > BACKOFF_MAX_MS)
		ms = BACKOFF_MAX_MS;
	ms -= ms * (int64_t)(dice % 256) / 1024; /* up to a quarter less */
	if (call->retry_after_ms > 0 && call->retry_after_ms <= RETRY_AFTER_MAX_MS)
		ms = call->retry_after_ms;
	for (; ms > 0 && !is_cancelled(call->request); ms -= 50)
		clock_sleep((ms < 50 ? ms : 50) * CLOCK_MS);
	return !is_cancelled(call->request);
}

static int ask(void *arg, const struct model_request *request, struct model_answer *ret_answer, struct err *e)
{
	const struct llm *llm = arg;
	int64_t started = clock_now(), deadline = started + (int64_t)llm->config.total_ms * CLOCK_MS;
	char *body = llm->wire->body(&llm->config, request->prompt), why[CURL_ERROR_SIZE];
	int rc;
	struct span span;
	span_begin(&span, llm->span, "chat");
	span_note(&span, "gen_ai.request.model", llm->config.model);
	for (unsigned try = 0;; try++) {
		struct call call = {
			.llm = llm, .request = request, .span = &span, .sse = LLM_WIRE_EVENTS_INIT, .retry_after_ms = -1
		};
		bool retry;
		CURLcode code = transfer(&call, body, deadline, why);
		rc = judge_call(&call, code, why, &retry, e);
		if (rc == 0)
			take_answer(&call, started, ret_answer);
		bool again = rc < 0 && retry && try < llm->config.retries && clock_now() < deadline;
		if (again && !pause_before(&call, try + 1)) {
			rc = err_set(e, ERR_CANCELLED, "the call to %s was cancelled", llm->name);
			again = false;
		}
		/* A try without time left would only hide what went wrong. */
		again = again && clock_now() < deadline;
		call_fini(&call);
		if (!again) {
			if (rc < 0 && try > 0)
				err_wrap(e, "after %u tries", try + 1);
			break;
		}
	}
	free(body);
	span_end(&span, rc);
	return rc;
}

const struct model *llm_model(struct llm *llm)
{
	return &llm->model;
}

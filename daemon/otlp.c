/* otlp: see otlp.h. The form is opentelemetry.io/docs/specs/otlp, "OTLP/HTTP". A collector that is away costs spans and nothing
 * else. */
#include "daemon/otlp.h"

#include <curl/curl.h>
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"

/* QUEUE_MAX: spans that wait; further ones are dropped. PAUSE_NS: how long a batch gathers. */
enum { QUEUE_MAX = 4096, SEND_MS = 2000, SPAN_KIND_INTERNAL = 1, STATUS_ERROR = 2 };
#define PAUSE_NS CLOCK_S

struct otlp {
	struct span_sink sink;
	char *url;
	struct curl_slist *headers; /* of the collector; may hold its key, so never logged */
	pthread_t thread;
	struct lock lock; /* LOCK_LEAF, of all below */
	struct lock_bell bell;
	json_t *queue; /* of spans as they are sent */
	size_t dropped;
	bool ending;
};

static json_t *attribute(const char *key, const char *value)
{
	return json_pack("{s:s, s:{s:s}}", "key", key, "value", "stringValue", value);
}

static json_t *nanoseconds(int64_t ns)
{
	return json_sprintf("%lld", (long long)ns);
}

static json_t *span_json(const struct span *s)
{
	json_t *attributes = json_array();
	for (int i = 0; i < s->note_count; i++)
		json_array_append_new(attributes, attribute(s->notes[i].key, s->notes[i].value));
	json_t *json = json_pack("{s:s, s:s, s:s, s:i, s:o, s:o, s:o}", "traceId", s->trace, "spanId", s->id, "name", s->name,
				 "kind", SPAN_KIND_INTERNAL, "startTimeUnixNano", nanoseconds(s->began_ns), "endTimeUnixNano",
				 nanoseconds(s->ended_ns), "attributes", attributes);
	if (*s->parent)
		json_object_set_new(json, "parentSpanId", json_string(s->parent));
	if (s->error)
		json_object_set_new(
			json, "status",
			json_pack("{s:i, s:s}", "code", STATUS_ERROR, "message", err_code_name((enum err_code)s->error)));
	return json;
}

static void take(void *arg, const struct span *ended)
{
	struct otlp *o = arg;
	json_t *json = span_json(ended);
	lock_take(&o->lock);
	if (json_array_size(o->queue) < QUEUE_MAX) {
		json_array_append_new(o->queue, json);
		lock_bell_ring(&o->bell);
	} else {
		json_decref(json);
		o->dropped++;
	}
	lock_release(&o->lock);
}

static size_t ignore(char *bytes, size_t size, size_t count, void *arg)
{
	(void)bytes, (void)arg;
	return size * count;
}

/* NULL, or why it was not taken. free() */
static char *post(const struct otlp *o, const char *body)
{
	CURL *curl = curl_easy_init();
	char why[CURL_ERROR_SIZE] = "";
	long status = 0;
	curl_easy_setopt(curl, CURLOPT_URL, o->url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, o->headers);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)SEND_MS);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
	CURLcode code = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(curl);
	if (code != CURLE_OK)
		return mem_str(*why ? why : curl_easy_strerror(code));
	return status / 100 == 2 ? NULL : mem_fmt("status %ld", status);
}

static void send_batch(struct otlp *o, json_t *take_spans, size_t dropped, bool *io_complained)
{
	size_t count = json_array_size(take_spans);
	json_t *resource = json_pack("{s:[o, o]}", "attributes", attribute("service.name", "peakd"),
				     attribute("service.version", PEAKD_VERSION));
	json_t *all = json_pack("{s:[{s:o, s:[{s:{s:s}, s:o}]}]}", "resourceSpans", "resource", resource, "scopeSpans", "scope",
				"name", "peakd", "spans", take_spans);
	char *body = json_dumps(all, JSON_COMPACT), *why = post(o, body);
	if ((why || dropped) && !*io_complained) {
		log_warning("%zu spans are lost: %s: %s; said once", count * (why != NULL) + dropped, o->url,
			    why ? why : "the collector is too slow");
		*io_complained = true;
	}
	free(why);
	free(body);
	json_decref(all);
}

static void *run(void *arg)
{
	struct otlp *o = arg;
	bool complained = false, ending = false;
	while (!ending) {
		lock_take(&o->lock);
		while (json_array_size(o->queue) == 0 && !o->ending)
			lock_bell_wait(&o->bell, &o->lock, CLOCK_NEVER);
		int64_t until = clock_now() + PAUSE_NS;
		while (!o->ending && lock_bell_wait(&o->bell, &o->lock, until) == 0)
			;
		json_t *batch = o->queue;
		size_t dropped = o->dropped;
		o->queue = json_array();
		o->dropped = 0;
		ending = o->ending;
		lock_release(&o->lock);
		if (json_array_size(batch) > 0)
			send_batch(o, batch, dropped, &complained);
		else
			json_decref(batch);
	}
	return NULL;
}

/* "key=value,key=value", values percent-encoded, as OTEL_EXPORTER_OTLP_HEADERS has them. */
static struct curl_slist *read_headers(void)
{
	struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
	const char *traces = getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS"), *all = getenv("OTEL_EXPORTER_OTLP_HEADERS");
	char *text = mem_str(traces && *traces ? traces : all ? all : ""), *rest = text, *pair;
	while ((pair = strsep(&rest, ","))) {
		char *key = pair + strspn(pair, " \t"), *is = strchr(key, '=');
		if (is == NULL) {
			if (*key)
				log_warning(
					"OTEL_EXPORTER_OTLP_HEADERS: a part without '=' is left out: write key=value,key=value");
			continue;
		}
		char *value = curl_easy_unescape(NULL, is + 1 + strspn(is + 1, " \t"), 0, NULL);
		char *line = mem_fmt("%.*s: %s", (int)strcspn(key, " \t="), key, value ? value : "");
		if (*key == '=' || !value || !*value || strpbrk(line, "\r\n"))
			log_warning("OTEL_EXPORTER_OTLP_HEADERS: %.*s is left out: its value is empty or has a line break",
				    (int)(is - key), key);
		else
			headers = curl_slist_append(headers, line);
		curl_free(value);
		free(line);
	}
	free(text);
	return headers;
}

struct otlp *otlp_new(void)
{
	const char *traces = getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), *all = getenv("OTEL_EXPORTER_OTLP_ENDPOINT");
	bool is_whole = traces && *traces;
	if (!is_whole && !(all && *all))
		return NULL;
	size_t n = is_whole ? strlen(traces) : strlen(all);
	struct otlp *o = MEM_NEW(struct otlp);
	*o = (struct otlp){ .sink = { take, o }, .queue = json_array() };
	o->url = is_whole ? mem_str(traces) : mem_fmt("%.*s/v1/traces", (int)(all[n - 1] == '/' ? n - 1 : n), all);
	lock_init(&o->lock, LOCK_LEAF);
	lock_bell_init(&o->bell);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	o->headers = read_headers();
	if (pthread_create(&o->thread, NULL, run, o) == 0) {
		log_info("spans go to %s", o->url);
		return o;
	}
	log_warning("no spans are sent: their thread could not be started");
	json_decref(o->queue);
	curl_slist_free_all(o->headers);
	free(o->url);
	free(o);
	return NULL;
}

const struct span_sink *otlp_sink(const struct otlp *otlp)
{
	return otlp ? &otlp->sink : NULL;
}

void otlp_free(struct otlp *take_otlp)
{
	struct otlp *o = take_otlp;
	if (o == NULL)
		return;
	lock_take(&o->lock);
	o->ending = true;
	lock_bell_ring(&o->bell);
	lock_release(&o->lock);
	pthread_join(o->thread, NULL);
	lock_bell_fini(&o->bell);
	lock_fini(&o->lock);
	json_decref(o->queue);
	curl_slist_free_all(o->headers);
	curl_global_cleanup();
	free(o->url);
	free(o);
}

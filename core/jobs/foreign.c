/* foreign: see foreign.h. T4 is defined by Kernel Tuner's results-schema.json (schema/T4/1.0.0). Real
 * files write `compilation` where the schema says `compilation_time`. Times are milliseconds in both formats. */
#include "core/jobs/foreign.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/lex.h"
#include "base/mem.h"

#define MS_MAX 1e12 /* thirty years: longer than any kernel or compiler takes */

/* Names of outcomes in T4. Writing uses the first word of a status; reading uses the first status of a word. */
static const struct {
	const char *word;
	enum measurement_status status;
} outcomes[] = {
	{ "correct", MEASUREMENT_OK },
	{ "constraints", MEASUREMENT_PRUNED },
	{ "compile", MEASUREMENT_COMPILE },
	{ "correctness", MEASUREMENT_WRONG },
	{ "runtime", MEASUREMENT_CRASH },
	{ "timeout", MEASUREMENT_TIMEOUT },
	{ "correctness", MEASUREMENT_IMPOSSIBLE },
	{ "constraints", MEASUREMENT_UNSUPPORTED },
	{ "runtime", MEASUREMENT_ERROR },
};

/* --- reading ------------------------------------------------------------------------------------------------------ */

static double number(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);
	return json_is_number(v) ? json_number_value(v) : NAN;
}

static void add_param(struct buf *out, const char *name, const json_t *value)
{
	if (!lex_is_name(name) || !(json_is_number(value) || json_is_boolean(value)))
		return;
	buf_addf(out, "%s%s=", out->len ? " " : "", name);
	if (json_is_real(value))
		buf_addf(out, "%.17g", json_real_value(value));
	else
		buf_addf(out, "%" JSON_INTEGER_FORMAT,
			 json_is_integer(value) ? json_integer_value(value) : (json_int_t)json_is_true(value));
}

static void read_runs(const json_t *list, struct foreign_result *r)
{
	const json_t *v;
	size_t i;
	json_array_foreach(list, i, v) if (json_is_number(v) && json_number_value(v) > 0 && json_number_value(v) < MS_MAX) *
		MEM_PUSH(r->runs_ms, r->run_count) = json_number_value(v);
}

static double mean(const double *values, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return count ? sum / (double)count : NAN;
}

/* A configuration counts as timed only with a plausible time, whatever the file calls it. */
static void settle(struct foreign_result *r, enum measurement_status status)
{
	double ms = isnan(r->ms) ? mean(r->runs_ms, r->run_count) : r->ms;
	r->ms = status == MEASUREMENT_OK && ms > 0 && ms < MS_MAX ? ms : NAN;
	r->status = status == MEASUREMENT_OK && isnan(r->ms) ? MEASUREMENT_ERROR : status;
}

static void read_cached(const json_t *keys, const json_t *entry, struct foreign_result *r)
{
	static const struct {
		const char *word;
		enum measurement_status status;
	} failures[] = {
		{ "CompilationFailedConfig", MEASUREMENT_COMPILE },
		{ "RuntimeFailedConfig", MEASUREMENT_CRASH },
		{ "InvalidConfig", MEASUREMENT_PRUNED },
	};
	const json_t *key, *time = json_object_get(entry, "time");
	const char *word = json_string_value(time);
	enum measurement_status status = json_is_number(time) ? MEASUREMENT_OK : MEASUREMENT_ERROR;
	struct buf params = BUF_INIT;
	size_t i;
	json_array_foreach(keys, i, key) if (json_is_string(key))
		add_param(&params, json_string_value(key), json_object_get(entry, json_string_value(key)));
	for (i = 0; word && i < MEM_COUNT(failures); i++)
		status = strcmp(failures[i].word, word) == 0 ? failures[i].status : status;
	*r = (struct foreign_result){ .params = buf_steal(&params), .ms = number(entry, "time"), .compile_ms = NAN };
	read_runs(json_object_get(entry, "times"), r);
	settle(r, status);
}

/* Converts a measurement from its own unit. */
static double in_ms(const json_t *measurement)
{
	const char *unit = json_string_value(json_object_get(measurement, "unit"));
	double value = number(measurement, "value");
	return unit == NULL              ? value
	       : strcmp(unit, "s") == 0  ? value * 1e3
	       : strcmp(unit, "us") == 0 ? value / 1e3
	       : strcmp(unit, "ns") == 0 ? value / 1e6
					 : value;
}

static void read_t4(const json_t *entry, struct foreign_result *r)
{
	const char *invalidity = json_string_value(json_object_get(entry, "invalidity")), *name;
	const json_t *times = json_object_get(entry, "times"), *value, *m;
	enum measurement_status status = MEASUREMENT_ERROR;
	struct buf params = BUF_INIT;
	size_t i;
	json_object_foreach(json_object_get(entry, "configuration"), name, value) add_param(&params, name, value);
	for (i = MEM_COUNT(outcomes); invalidity && i-- > 0;)
		status = strcmp(outcomes[i].word, invalidity) == 0 ? outcomes[i].status : status;
	*r = (struct foreign_result){ .params = buf_steal(&params), .ms = NAN, .compile_ms = number(times, "compilation_time") };
	if (isnan(r->compile_ms))
		r->compile_ms = number(times, "compilation");
	if (!(r->compile_ms >= 0 && r->compile_ms < MS_MAX))
		r->compile_ms = NAN;
	json_array_foreach(json_object_get(entry, "measurements"), i, m)
	{
		name = json_string_value(json_object_get(m, "name"));
		value = json_object_get(m, "value");
		if (name && strcmp(name, "time") == 0)
			r->ms = in_ms(m);
		else if (name && json_is_string(value) && strcmp(name, "device") == 0 && r->device == NULL)
			r->device = mem_str(json_string_value(value));
		else if (name && json_is_string(value) && strcmp(name, "sizes") == 0 && r->sizes == NULL)
			r->sizes = mem_str(json_string_value(value));
	}
	read_runs(json_object_get(times, "runtimes"), r);
	settle(r, status);
}

/* Kernel Tuner appends line by line and writes the closing braces at the end, so try again with them added. */
static json_t *load(const char *text, size_t len, json_error_t *ret_bad)
{
	json_error_t ignored;
	json_t *root = json_loadb(text, len, 0, ret_bad);
	while (len > 0 && (isspace((unsigned char)text[len - 1]) || text[len - 1] == ','))
		len--;
	if (root || len == 0)
		return root;
	struct buf closed = BUF_INIT;
	buf_add(&closed, text, len);
	buf_adds(&closed, "}}");
	root = json_loadb(closed.data, closed.len, 0, &ignored);
	buf_fini(&closed);
	return root;
}

int foreign_read(const char *text, size_t len, struct foreign *ret_results, struct err *e)
{
	struct foreign r = { 0 };
	json_error_t bad;
	json_t *root = load(text, len, &bad), *cache = json_object_get(root, "cache"), *results = json_object_get(root, "results"),
	       *entry;
	const char *key;
	size_t i;
	if (root == NULL)
		return err_set(e, ERR_INPUT, "line %d: %s; expected a cache file of Kernel Tuner or T4 results (JSON)", bad.line,
			       bad.text);
	if (!json_is_object(cache) && !json_is_array(results)) {
		json_decref(root);
		return err_set(e, ERR_INPUT,
			       "neither \"cache\" nor \"results\" found; expected a cache file of Kernel Tuner or T4 results");
	}
	r.format = mem_str(cache ? "Kernel Tuner's cache" : "T4 results");
	r.device = mem_str(json_string_value(json_object_get(root, "device_name")));
	json_object_foreach(cache, key, entry)
		read_cached(json_object_get(root, "tune_params_keys"), entry, MEM_PUSH(r.at, r.count));
	json_array_foreach(results, i, entry) read_t4(entry, MEM_PUSH(r.at, r.count));
	json_decref(root);
	*ret_results = r;
	return 0;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static json_t *configuration(const char *params)
{
	json_t *object = json_object();
	for (const char *at = params; *at;) {
		size_t n = strcspn(at, " "), name = strcspn(at, "=");
		char *value = name < n ? mem_strn(at + name + 1, n - name - 1) : mem_str(""), *end;
		errno = 0;
		long long whole = strtoll(value, &end, 10);
		if (name < n) {
			char *key = mem_strn(at, name);
			json_object_set_new(object, key, *end || errno ? json_real(strtod(value, NULL)) : json_integer(whole));
			free(key);
		}
		free(value);
		at += n + (at[n] == ' ');
	}
	return object;
}

static void add_measurement(json_t *list, const char *name, json_t *take_value, const char *unit)
{
	json_array_append_new(list, json_pack("{s:s, s:o, s:s}", "name", name, "value", take_value, "unit", unit));
}

static json_t *result_json(const struct foreign_result *r, const char *word)
{
	json_t *times = json_object(), *measurements = json_array(), *runs = json_array();
	bool good = r->status == MEASUREMENT_OK;
	char created[32];
	for (size_t i = 0; i < r->run_count; i++)
		json_array_append_new(runs, json_real(r->runs_ms[i]));
	if (isfinite(r->compile_ms))
		json_object_set_new(times, "compilation_time", json_real(r->compile_ms));
	if (r->run_count)
		json_object_set(times, "runtimes", runs);
	json_decref(runs);
	if (good)
		add_measurement(measurements, "time", json_real(r->ms), "ms");
	if (r->device)
		add_measurement(measurements, "device", json_string(r->device), "");
	if (r->sizes)
		add_measurement(measurements, "sizes", json_string(r->sizes), "");
	if (r->proven)
		add_measurement(measurements, "proven", json_integer(1), "");
	json_t *object = json_pack("{s:o, s:o, s:s, s:i, s:o}", "configuration", configuration(r->params), "times", times,
				   "invalidity", word, "correctness", good, "measurements", measurements);
	if (good)
		json_object_set_new(object, "objectives", json_pack("[s]", "time"));
	if (r->created_ms)
		json_object_set_new(object, "timestamp", json_string(clock_iso(r->created_ms, created)));
	return object;
}

static int append(const char *text, size_t len, void *out)
{
	buf_add(out, text, len);
	return 0;
}

void foreign_write(const struct foreign *results, struct buf *out)
{
	const char *separator = "\n";
	buf_adds(out, "{\"schema_version\": \"1.0.0\", ");
	if (results->device) {
		json_t *name = json_string(results->device);
		buf_adds(out, "\"device_name\": ");
		json_dump_callback(name, append, out, JSON_ENCODE_ANY);
		buf_adds(out, ", ");
		json_decref(name);
	}
	buf_adds(out, "\"results\": [");
	for (size_t i = 0; i < results->count; i++) {
		const char *word = NULL;
		for (size_t k = 0; k < MEM_COUNT(outcomes) && word == NULL; k++)
			word = outcomes[k].status == results->at[i].status ? outcomes[k].word : NULL;
		if (word == NULL)
			continue;
		json_t *object = result_json(&results->at[i], word);
		buf_adds(out, separator);
		json_dump_callback(object, append, out, JSON_COMPACT | JSON_REAL_PRECISION(9));
		json_decref(object);
		separator = ",\n";
	}
	buf_adds(out, "\n]}\n");
}

/* --- both --------------------------------------------------------------------------------------------------------- */

static void result_fini(struct foreign_result *r)
{
	free(r->params);
	free(r->device);
	free(r->sizes);
	free(r->runs_ms);
}

static int faster_first(const void *a, const void *b)
{
	const struct foreign_result *x = a, *y = b;
	double s = isnan(x->ms) ? INFINITY : x->ms, t = isnan(y->ms) ? INFINITY : y->ms;
	return s != t ? (s > t) - (s < t) : strcmp(x->params, y->params);
}

void foreign_shorten(struct foreign *results, size_t most)
{
	qsort(results->at, results->count, sizeof *results->at, faster_first);
	while (results->count > most)
		result_fini(&results->at[--results->count]);
}

void foreign_fini(struct foreign *results)
{
	for (size_t i = 0; i < results->count; i++)
		result_fini(&results->at[i]);
	free(results->at);
	free(results->format);
	free(results->device);
	*results = (struct foreign){ 0 };
}

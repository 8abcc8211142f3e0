/* report: see report.h. Called by run.c. */
#include "daemon/verbs/report.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/table.h"

void report_fini(struct report *r)
{
	for (size_t i = 0; i < r->step_count; i++) {
		struct report_step *s = &r->steps[i];
		for (size_t k = 0; k < s->time_count; k++) {
			free(s->times[k].size);
			free(s->times[k].params);
			speed_fini(&s->times[k].speed);
		}
		free(s->times);
		free(s->name);
		free(s->validation);
	}
	free(r->steps);
	free(r->stem);
	free(r->device);
	free(r->driver);
	free(r->command);
	*r = (struct report){ 0 };
}

struct report_step *report_add(struct report *r, const char *name)
{
	struct report_step *s = MEM_PUSH(r->steps, r->step_count);
	*s = (struct report_step){ .name = mem_str(name) };
	return s;
}

/* --- figures -------------------------------------------------------------------------------------------------------------- */

static const struct report_time *time_at(const struct report_step *s, const char *size)
{
	for (size_t i = 0; i < s->time_count; i++)
		if (strcmp(s->times[i].size, size) == 0)
			return &s->times[i];
	return NULL;
}

/* What may be quoted of a step at this size; NULL unless it is validated. */
static const struct report_time *valid_at(const struct report_step *s, const char *size)
{
	return s->validated ? time_at(s, size) : NULL;
}

/* The greatest at one size. The baseline stands for itself, unless a step was timed and none was compared with it. */
static struct speed_ratio greatest_at(const struct report *r, bool start, const char *size)
{
	struct speed_ratio best = { .times = NAN };
	const struct report_time *t = valid_at(&r->steps[0], size);
	size_t timed = 0;
	for (size_t i = 1; i < r->step_count && t; i++) {
		const struct report_time *x = valid_at(&r->steps[i], size);
		timed += x != NULL;
		const struct speed_ratio *ratio = x ? start ? &x->speed.start : &x->speed.baseline : NULL;
		if (ratio && ratio->verdict && !(best.times >= ratio->times))
			best = *ratio;
	}
	const struct speed_ratio own =
		start ? (t ? t->speed.start : best) : (struct speed_ratio){ .times = 1, .low = 1, .high = 1 };
	bool known = t && (!start || own.verdict) && (timed == 0 || best.verdict);
	return known && !(best.times >= own.times) ? own : best;
}

double report_speedup(const struct report *r, bool start, size_t *ret_sizes, bool *ret_unclear)
{
	double sum = 0;
	size_t n = 0;
	*ret_unclear = false;
	for (size_t k = 0; r->step_count && k < r->steps[0].time_count; k++) {
		struct speed_ratio ratio = greatest_at(r, start, r->steps[0].times[k].size);
		if (isfinite(ratio.times) && ratio.times > 0) {
			sum += log(ratio.times);
			n++;
			*ret_unclear = *ret_unclear || speed_unclear(&ratio);
		}
	}
	*ret_sizes = n;
	return n ? exp(sum / (double)n) : NAN;
}

static size_t validated_count(const struct report *r)
{
	size_t n = 0;
	for (size_t i = 0; i < r->step_count; i++)
		n += r->steps[i].validated;
	return n;
}

bool report_all_validated(const struct report *r)
{
	return r->step_count > 0 && r->step_count >= r->planned && validated_count(r) == r->step_count;
}

/* --- tables --------------------------------------------------------------------------------------------------------------- */

/* "1.37x ±1.5%": half of the interval. */
static char *ratio_text(const struct speed_ratio *r, char text[32])
{
	if (r == NULL || r->verdict == NULL)
		snprintf(text, 32, "-");
	else if (speed_unclear(r))
		snprintf(text, 32, "unclear");
	else
		snprintf(text, 32, "%.2fx ±%.1f%%", r->times, 50 * (r->high - r->low) / r->times);
	return text;
}

static char *number_text(double value, char text[32])
{
	if (!isfinite(value))
		*text = '\0';
	else
		snprintf(text, 32, value < 100 ? "%.3g" : "%.0f", value);
	return text;
}

/* "97.2 (96.9-97.5)": percent of the library's speed. */
static char *library_text(const struct report_time *t, char text[40])
{
	if (t && t->library > 0)
		snprintf(text, 40, "%.1f (%.1f-%.1f)", 100 * t->library, 100 * t->library_low, 100 * t->library_high);
	else
		*text = '\0';
	return text;
}

/* What no step has (energy, a library) has no column. */
static const struct table_column columns[] = {
	{ "step", "step", TABLE_TEXT },
	{ "median", "median_ns", TABLE_TIME },
	{ "energy", "energy", TABLE_NUMBER },
	{ "GFLOP/s", "gflops", TABLE_NUMBER },
	{ "GB/s", "gbs", TABLE_NUMBER },
	{ "baseline", "baseline", TABLE_NUMBER },
	{ "its start", "start", TABLE_NUMBER },
	{ "previous", "previous", TABLE_NUMBER },
	{ "% of library", "library", TABLE_NUMBER },
	{ "configuration", "params", TABLE_TEXT },
	{ "validation", "validation", TABLE_STATE },
	{ NULL, NULL, TABLE_TEXT },
};

static void table(const struct report *r, const char *size, FILE *out)
{
	char joules[32], gflops[32], gbs[32], base[32], start[32], previous[32], library[40];
	json_t *rows = json_array();
	for (size_t i = 0; i < r->step_count; i++) {
		const struct report_step *s = &r->steps[i];
		const struct report_time *t = time_at(s, size);
		const struct speed *v = s->validated && t ? &t->speed : NULL;
		ratio_text(v ? &v->baseline : NULL, base);
		json_t *row =
			json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "step", s->name, "energy",
				  t && isfinite(t->speed.joules) ? layout_joules(t->speed.joules, joules) : "", "gflops",
				  number_text(t ? t->gflops : NAN, gflops), "gbs", number_text(t ? t->gbs : NAN, gbs), "baseline",
				  i ? base : "1.00x", "start", ratio_text(v ? &v->start : NULL, start), "previous",
				  ratio_text(v ? &v->parent : NULL, previous), "library", library_text(t, library), "params",
				  t ? t->params : "-", "validation", s->validation ? s->validation : "-");
		if (t)
			json_object_set_new(row, "median_ns", json_real(t->median_ns));
		json_array_append_new(rows, row);
	}
	fprintf(out, "\n%s on %s\n", *size ? size : r->stem, r->device);
	table_write(rows, columns, out_is_terminal(out) ? out_width(out) : INT_MAX, out_colours(out), out);
	json_decref(rows);
}

/* Sizes in order of appearance. */
static size_t all_sizes(const struct report *r, const char ***ret_sizes)
{
	const char **sizes = NULL;
	size_t count = 0;
	for (size_t i = 0; i < r->step_count; i++)
		for (size_t k = 0; k < r->steps[i].time_count; k++) {
			const char *size = r->steps[i].times[k].size;
			size_t at = 0;
			while (at < count && strcmp(sizes[at], size) != 0)
				at++;
			if (at == count)
				*MEM_PUSH(sizes, count) = size;
		}
	*ret_sizes = sizes;
	return count;
}

void report_tables(const struct report *r, FILE *out)
{
	const char **sizes;
	size_t count = all_sizes(r, &sizes);
	for (size_t i = 0; i < count; i++)
		table(r, sizes[i], out);
	if (count == 0 && r->step_count)
		table(r, "", out);
	free(sizes);
}

void report_closing(const struct report *r, FILE *out)
{
	size_t sizes, start_sizes, made = 0, failed = 0, all = r->planned > r->step_count ? r->planned : r->step_count;
	bool unclear, start_unclear;
	double speedup = report_speedup(r, false, &sizes, &unclear), start = report_speedup(r, true, &start_sizes, &start_unclear);
	for (size_t i = 0; i < r->step_count; i++) {
		made += r->steps[i].checkpoint > 0;
		failed += r->steps[i].failed;
	}
	fprintf(out, "\npeakd: %s: ", r->stem);
	if (!r->compile_only && isfinite(speedup))
		fprintf(out, "%.1f× over baseline%s", speedup, unclear ? ", unclear" : "");
	if (!r->compile_only && isfinite(speedup) && isfinite(start) && start_sizes == sizes)
		fprintf(out, " (%.1f× over its starting parameters%s)", start, start_unclear ? ", unclear" : "");
	if (!r->compile_only && isfinite(speedup))
		fprintf(out, ", ");
	if (!r->compile_only && sizes > 1)
		fprintf(out, "geometric mean of %zu sizes, ", sizes);
	fprintf(out, "%zu checkpoint%s", made, made == 1 ? "" : "s");
	if (r->compile_only)
		fprintf(out, " for %s, compiled, not run", r->device);
	else if (report_all_validated(r))
		fprintf(out, ", all validated");
	else
		fprintf(out, ", %zu of %zu steps NOT validated", all - validated_count(r), all);
	if (r->emulated)
		fprintf(out, ", no times: %s", r->device);
	if (r->compile_only && failed)
		fprintf(out, ", %zu of %zu steps FAILED", failed, all);
	fprintf(out, "\n");
}

/* --- JSON ------------------------------------------------------------------------------------------------------------------- */

static void set_number(json_t *row, const char *key, double value)
{
	json_object_set_new(row, key, isfinite(value) ? json_real(value) : json_null());
}

/* "n=512" becomes a number named n; any other size stays text. */
static void set_size(json_t *row, const char *size)
{
	char *end;
	long long n = strncmp(size, "n=", 2) == 0 ? strtoll(size + 2, &end, 10) : -1;
	if (n >= 0 && *end == '\0')
		json_object_set_new(row, "n", json_integer(n));
	else
		json_object_set_new(row, "sizes", json_string(size));
}

static json_t *row_json(const struct report *r, const struct report_step *s, const struct report_time *t)
{
	json_t *row = json_pack("{s:s, s:s, s:b, s:I}", "context", r->stem, "step", s->name, "validated", s->validated,
				"checkpoint", (json_int_t)s->checkpoint);
	if (t == NULL)
		return row;
	set_size(row, t->size);
	set_number(row, "median_ms", t->median_ns / 1e6);
	set_number(row, "gflops", t->gflops);
	if (isfinite(t->gbs))
		set_number(row, "gbs", t->gbs);
	/* The baseline's own is 1. */
	bool ratio = s->validated && valid_at(&r->steps[0], t->size);
	set_number(row, "speedup", ratio && s == r->steps ? 1 : NAN);
	if (ratio)
		layout_add_json(&speed_layout, &t->speed, row);
	if (t->evidence)
		json_object_set_new(row, "evidence", json_integer((json_int_t)t->evidence));
	if (t->library > 0) {
		set_number(row, "library_ratio", t->library);
		set_number(row, "library_low", t->library_low);
		set_number(row, "library_high", t->library_high);
	}
	json_object_set_new(row, "params", json_string(t->params));
	return row;
}

json_t *report_json(const struct report *r)
{
	char date[32];
	json_t *rows = json_array();
	for (size_t i = 0; i < r->step_count; i++) {
		const struct report_step *s = &r->steps[i];
		for (size_t k = 0; k < s->time_count; k++)
			json_array_append_new(rows, row_json(r, s, &s->times[k]));
		if (s->time_count == 0)
			json_array_append_new(rows, row_json(r, s, NULL));
	}
	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:b, s:o}", "device", r->device, "driver", r->driver, "date",
			 clock_iso(r->started_ms, date), "command", r->command, "ran", !r->compile_only, "emulated", r->emulated,
			 "rows", rows);
}

int report_write(const struct report *r, const char *path, struct err *e)
{
	json_t *json = report_json(r);
	int rc = out_json(path, json, JSON_INDENT(2) | JSON_REAL_PRECISION(9), e);
	json_decref(json);
	return rc;
}

/* test_report: the table, the closing line and the JSON of a run, from figures that are easy to compute by hand. */
#include "daemon/verbs/report.h"

#include <math.h>

#include "base/mem.h"
#include "tests/tap.h"

static struct report_step *step(struct report *r, const char *name, int64_t checkpoint, bool validated, const char *validation)
{
	struct report_step *s = report_add(r, name);
	s->checkpoint = checkpoint;
	s->validated = validated;
	s->validation = mem_str(validation);
	return s;
}

static struct report_time *add_time(struct report_step *s, const char *size, double ns, const char *params)
{
	struct report_time *t = MEM_PUSH(s->times, s->time_count);
	*t = (struct report_time){
		.size = mem_str(size), .params = mem_str(params), .median_ns = ns, .gflops = 1e9 / ns, .gbs = NAN
	};
	layout_init(&speed_layout, &t->speed);
	return t;
}

static struct speed_ratio ratio(double times)
{
	return (struct speed_ratio){ times, times * 0.98, times * 1.02, mem_str(times > 1 ? "faster" : "slower") };
}

/* Timed in pairs; the medians of separate runs say something else. */
static void add_compared(struct report_step *s, const char *size, double ns, const char *params, double baseline, double start,
			 double parent)
{
	struct report_time *t = add_time(s, size, ns, params);
	t->speed.baseline = ratio(baseline);
	t->speed.start = ratio(start);
	t->speed.parent = ratio(parent);
}

static struct report sample(void)
{
	struct report r = { .stem = mem_str("mm"),
			    .device = mem_str("Sample (cuda:0)"),
			    .driver = mem_str("driver 1"),
			    .command = mem_str("peakd run mm.peak.md"),
			    .planned = 3 };
	struct report_step *s = step(&r, "baseline", 1, true, "accepted");
	add_time(s, "n=64", 8e6, "BX=16");
	add_time(s, "n=128", 16e6, "BX=16");
	s = step(&r, "tb-tiling", 2, true, "accepted");
	add_compared(s, "n=64", 8e6, "BX=16 TILE_K_SIZE=8", 2, 3, 2);
	add_compared(s, "n=128", 16e6, "BX=32 TILE_K_SIZE=8", 8, 9, 8);
	return r;
}

static char *printed(const struct report *r, void (*print)(const struct report *r, FILE *out))
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	print(r, f);
	fclose(f);
	return text;
}

static void test_tables(void)
{
	struct report r = sample();
	struct report_step *s = step(&r, "thread-tiling", 3, true, "accepted");
	add_compared(s, "n=64", 2e6, "BX=8", 4, 6, 2);
	add_compared(s, "n=128", 4e6, "BX=8", 4, 5, 0.5);
	char *text = printed(&r, report_tables);
	has_str(text, "\nn=64 on Sample (cuda:0)\n", "the report has a table for the first size");
	has_str(text, "\nn=128 on Sample (cuda:0)\n", "the report has a table for the second size");
	has_str(text, "thread-tiling    2 ms      500  4.00x ±2.0%  6.00x ±2.0%  2.00x ±2.0%  BX=8                 accepted\n",
		"a row has time, speed, speed-ups in pairs with their intervals, parameters and status");
	has_str(text, "thread-tiling    4 ms      250  4.00x ±2.0%  5.00x ±2.0%  0.50x ±2.0%  BX=8                 accepted\n",
		"a row shows that a step is slower than the previous one");
	has_str(text, "baseline         8 ms      125        1.00x            -            -  BX=16",
		"a ratio that was not timed in pairs is not made up");
	free(text);
	text = printed(&r, report_closing);
	/* n=64: 4, n=128: 8 (tb-tiling was faster there): the geometric mean is sqrt(32); of 6 and 9 it is sqrt(54). The baseline's
	 * own start is not known. */
	has_str(text, "\npeakd: mm: 5.7× over baseline", "the closing line gives the mean speed-up of all sizes");
	has_str(text, " (7.3× over its starting parameters), geometric mean of 2 sizes, 3 checkpoints, all validated\n",
	        "and the one over the parameters that tuning starts with");
	free(text);
	free(r.steps[2].times[0].speed.baseline.verdict);
	r.steps[2].times[0].speed.baseline = (struct speed_ratio){ 4, 0.9, 5, mem_str("unclear") };
	text = printed(&r, report_tables);
	has_str(text, "     500      unclear  6.00x", "a ratio whose interval says little is called unclear");
	free(text);
	text = printed(&r, report_closing);
	has_str(text, "over baseline, unclear (", "in the closing line, too");
	free(text);
	report_fini(&r);
}

static void test_not_validated(void)
{
	struct report r = sample();
	struct report_step *s = step(&r, "thread-tiling", 3, false, "failed");
	add_time(s, "n=64", 1, "BX=8");
	size_t sizes;
	bool unclear;
	ok(fabs(report_speedup(&r, false, &sizes, &unclear) - 4) < 1e-9 && sizes == 2 && !unclear,
	   "a step that is not validated has no speed-up");
	r.steps[0].validated = false;
	ok(isnan(report_speedup(&r, false, &sizes, &unclear)) && sizes == 0,
	   "no speed-up is computed over a baseline that is not validated");
	json_t *rows = report_json(&r);
	ok(json_is_null(json_object_get(json_array_get(json_object_get(rows, "rows"), 2), "speedup")),
	   "a validated row has no speed-up over a baseline that is not validated");
	json_decref(rows);
	r.steps[0].validated = true;
	ok(!report_all_validated(&r), "a step that is not validated counts");
	char *text = printed(&r, report_closing);
	has_str(text, "1 of 3 steps NOT validated", "the closing line counts the step that is not validated");
	free(text);
	report_fini(&r);

	r = sample();
	ok(!report_all_validated(&r), "a requested step that was not made counts as not validated");
	text = printed(&r, report_closing);
	has_str(text, "1 of 3 steps NOT validated", "the closing line counts the requested step that was not made");
	free(text);
	r.planned = 2;
	ok(report_all_validated(&r), "without the missing step everything is validated");
	r.compile_only = true;
	text = printed(&r, report_closing);
	is_str(text, "\npeakd: mm: 2 checkpoints for Sample (cuda:0), compiled, not run\n",
	       "the closing line of a device that only compiles says so");
	free(text);
	report_fini(&r);
}

static void test_json(void)
{
	struct report r = sample();
	free(r.steps[1].times[1].size);
	r.steps[1].times[1].size = mem_str("m=1 n=128");
	json_t *json = report_json(&r);
	const json_t *rows = json_object_get(json, "rows"), *row = json_array_get(rows, 2);
	is_int(json_array_size(rows), 4, "the JSON has a row for each step and size");
	is_str(json_string_value(json_object_get(json, "device")), "Sample (cuda:0)", "device");
	is_str(json_string_value(json_object_get(json, "command")), "peakd run mm.peak.md", "command");
	is_int(json_integer_value(json_object_get(row, "n")), 64, "n");
	ok(json_real_value(json_object_get(row, "median_ms")) == 8, "milliseconds");
	ok(json_real_value(json_object_get(row, "speedup")) == 2, "speed-up over the baseline");
	ok(json_real_value(json_object_get(row, "speedup_high")) == 2.04, "and its interval");
	ok(json_real_value(json_object_get(row, "start_speedup")) == 3, "speed-up over its starting parameters");
	ok(json_is_true(json_object_get(row, "validated")), "validated");
	row = json_array_get(rows, 3);
	is_str(json_string_value(json_object_get(row, "sizes")), "m=1 n=128", "the JSON gives all sizes");
	ok(json_is_null(json_object_get(row, "speedup")), "the JSON has no speed-up if the baseline has no time");
	json_decref(json);
	report_fini(&r);
}

int main(void)
{
	test_tables();
	test_not_validated();
	test_json();
	return tap_done();
}

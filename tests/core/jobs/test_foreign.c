/* core/jobs/foreign_take and core/jobs/foreign: Kernel Tuner's cache and T4 become rows that are never quoted, in
 * the context's own parameters; other files are refused; written results read back the same. */
#include "core/jobs/foreign.h"

#include "core/record/measurement.h"
#include "core/sample.h"

static const char cache[] =
	"{\"device_name\": \"Some GPU\", \"kernel_name\": \"mm\", \"tune_params_keys\": [\"BX\", \"BY\", \"WORD\", "
	"\"OLD\"],\n"
	"\"tune_params\": {\"BX\": [4, 8], \"BY\": [4, 8], \"WORD\": [\"a\"], \"OLD\": [1, 2]}, \"cache\": {\n"
	"\"4,4,a,1\": {\"BX\": 4, \"BY\": 4, \"WORD\": \"a\", \"OLD\": 1, \"time\": 3.0, \"times\": [2.5, 3.5]},\n"
	"\"4,4,a,2\": {\"BX\": 4, \"BY\": 4, \"WORD\": \"a\", \"OLD\": 2, \"time\": 2.0, \"times\": [2.0]},\n"
	"\"4,8,a,1\": {\"BX\": 4, \"BY\": 8, \"WORD\": \"a\", \"OLD\": 1, \"time\": \"CompilationFailedConfig\"},\n"
	"\"8,4,a,1\": {\"BX\": 8, \"BY\": 4, \"WORD\": \"a\", \"OLD\": 1, \"time\": \"RuntimeFailedConfig\"},\n"
	"\"8,8,a,1\": {\"BX\": 8, \"BY\": 8, \"WORD\": \"a\", \"OLD\": 1, \"time\": 1.5}";

static const char t4[] =
	"{\"schema_version\": \"1.0.0\", \"results\": [\n"
	"{\"configuration\": {\"BX\": 16, \"BY\": 4}, \"times\": {\"compilation\": 40, \"runtimes\": [7, 9]}, "
	"\"invalidity\": \"correct\", \"correctness\": 1},\n"
	"{\"configuration\": {\"BX\": 8, \"BY\": 4}, \"times\": {\"compilation_time\": 41}, \"invalidity\": "
	"\"correct\", \"correctness\": 1,\n"
	" \"measurements\": [{\"name\": \"time\", \"value\": 900, \"unit\": \"us\"}, {\"name\": \"device\", \"value\": "
	"\"D1\", \"unit\": \"\"}]},\n"
	"{\"configuration\": {\"BX\": 4, \"BY\": 4}, \"times\": {}, \"invalidity\": \"correctness\", \"correctness\": "
	"0},\n"
	"{\"configuration\": {\"BX\": 4, \"BY\": 8}, \"times\": {}, \"invalidity\": \"timeout\", \"correctness\": 1},\n"
	"{\"configuration\": {\"BX\": 4, \"BY\": 16}, \"times\": {}, \"invalidity\": \"constraints\", \"correctness\": "
	"1}]}";

/* Compile times that overflow or are negative. */
static const char odd[] =
	"{\"results\": [{\"configuration\": {\"BX\": 16}, \"times\": {\"compilation_time\": 1e300}, \"invalidity\": "
	"\"compile\"},\n"
	"{\"configuration\": {\"BX\": 8}, \"times\": {\"compilation\": -3}, \"invalidity\": \"compile\"}]}";

static const struct foreign_result *find(const struct foreign *r, const char *params)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->at[i].params, params) == 0)
			return &r->at[i];
	return NULL;
}

static void reading(void)
{
	struct foreign r = { 0 };
	struct err e = ERR_INIT;
	char *whole = mem_fmt("%s}}", cache), *cut = mem_fmt("%s,\n", cache);
	is_int(foreign_read(whole, strlen(whole), &r, &e), 0, "a cache file is read %s", e.text);
	is_str(r.device, "Some GPU", "a cache file names its device");
	const struct foreign_result *a = find(&r, "BX=4 BY=4 OLD=1"), *b = find(&r, "BX=4 BY=8 OLD=1"),
				    *c = find(&r, "BX=8 BY=4 OLD=1");
	ok(r.count == 5 && a && a->status == MEASUREMENT_OK && a->ms == 3 && a->run_count == 2,
	   "its times are read, and words left out");
	ok(b && b->status == MEASUREMENT_COMPILE && isnan(b->ms) && c && c->status == MEASUREMENT_CRASH, "its failures are read");
	foreign_fini(&r);
	is_int(foreign_read(cut, strlen(cut), &r, &e), 0, "an unfinished cache file is read %s", e.text);
	is_int(r.count, 5, "an unfinished cache file gives its complete lines");
	foreign_fini(&r);
	is_int(foreign_read(t4, strlen(t4), &r, &e), 0, "T4 results are read %s", e.text);
	a = find(&r, "BX=16 BY=4");
	b = find(&r, "BX=8 BY=4");
	ok(a && a->ms == 8 && a->compile_ms == 40,
	   "T4: the mean of the runs when no time is given; `compilation`, as real files write it");
	ok(b && fabs(b->ms - 0.9) < 1e-12 && b->compile_ms == 41 && b->device && strcmp(b->device, "D1") == 0,
	   "T4: a time in its own unit, and a device");
	ok(r.count == 5 && find(&r, "BX=4 BY=4")->status == MEASUREMENT_WRONG &&
		   find(&r, "BX=4 BY=8")->status == MEASUREMENT_TIMEOUT && find(&r, "BX=4 BY=16")->status == MEASUREMENT_PRUNED,
	   "T4: words for failures become statuses");
	foreign_fini(&r);
	is_int(foreign_read(odd, strlen(odd), &r, &e), 0, "impossible compile times are accepted %s", e.text);
	ok(r.count == 2 && isnan(r.at[0].compile_ms) && isnan(r.at[1].compile_ms), "impossible compile times count as unknown");
	foreign_fini(&r);
	is_int(foreign_read("[1]", 3, &r, &e), -ERR_INPUT, "a file of another kind is refused");
	has_str(e.text, "expected a cache file of Kernel Tuner or T4 results", "the refusal says what was expected");
	is_int(foreign_read("{\"cache\": [", 11, &r, &e), -ERR_INPUT, "text that is not JSON is refused");
	free(whole);
	free(cut);
}

static void writing(void)
{
	struct foreign r = { 0 }, again = { 0 };
	struct err e = ERR_INIT;
	struct buf out = BUF_INIT;
	size_t same = 0;
	foreign_read(t4, strlen(t4), &r, &e);
	foreign_write(&r, &out);
	is_int(foreign_read(buf_text(&out), out.len, &again, &e), 0, "written results are read %s", e.text);
	for (size_t i = 0; i < r.count && i < again.count; i++) {
		const struct foreign_result *a = &r.at[i], *b = &again.at[i];
		same += strcmp(a->params, b->params) == 0 && a->status == b->status &&
			(a->ms == b->ms || (isnan(a->ms) && isnan(b->ms))) && a->run_count == b->run_count;
	}
	ok(r.count == again.count && same == r.count, "written results read back the same");
	foreign_shorten(&again, 2);
	ok(again.count == 2 && find(&again, "BX=8 BY=4") && find(&again, "BX=16 BY=4"), "shortening keeps the fastest");
	buf_fini(&out);
	foreign_fini(&r);
	foreign_fini(&again);
}

static void recording(struct sample *s)
{
	struct context *ctx = sample_context(SAMPLE_RIGHT);
	int64_t checkpoint = sample_checkpoint(s, ctx);
	struct measurement_query q = { .checkpoint = checkpoint, .warm = true },
				 any = { .checkpoint = checkpoint, .warm = true, .unproven = true };
	struct measurement_list rows;
	struct foreign_summary sum;
	struct err e = ERR_INIT;
	char *whole = mem_fmt("%s}}", cache);
	if (!ok(foreign_take(s->db, checkpoint, whole, NULL, "mm.json", &sum, &e) == 0, "a cache file becomes rows %s", e.text))
		return;
	ok(sum.found == 5 && sum.taken == 4, "configurations that differ only in unknown parameters are merged (%zu of %zu)",
	   sum.taken, sum.found);
	has_str(sum.text, "Fastest there: 1.5 ms with n=64 BX=8 BY=8. Not parameters of this kernel: OLD",
		"the summary names the fastest and the unknown parameters");
	free(sum.text);
	measurement_top(s->db, &q, &rows, &e);
	is_int(rows.count, 0, "imported rows are never quoted");
	measurement_list_fini(&rows);
	measurement_top(s->db, &any, &rows, &e);
	is_int(rows.count, 2, "timed configurations are listed");
	if (rows.count == 2) {
		is_str(rows.at[0].params, "n=64 BX=8 BY=8", "the fastest comes first");
		ok(rows.at[1].median_ns == 2e6 && !rows.at[0].cold, "the fastest of merged configurations is kept");
		is_str(rows.at[0].device, "imported: Some GPU", "the device is marked as imported");
		has_str(rows.at[0].message, "imported, not measured here: mm.json", "rows say where they come from");
	}
	measurement_list_fini(&rows);
	is_int(foreign_take(s->db, checkpoint, "{\"results\": [{\"configuration\": {\"OTHER\": 1}}]}", NULL, "x", &sum, &e),
	       -ERR_INPUT, "a file about another kernel is refused");
	has_str(e.text, "x: none of the 1 configurations gives a number for a tuning parameter of kernel matmul",
		"the refusal names the kernel");
	is_int(foreign_take(s->db, checkpoint, whole, "n=96", "mm.json", &sum, &e), 0, "the caller may name the size %s", e.text);
	has_str(sum.text, "with n=96 BX=8 BY=8", "the named size is used");
	free(sum.text);
	char *strange =
		mem_fmt("{\"device_name\": \"%0300d\", \"tune_params_keys\": [\"BX\", \"BY\"], \"cache\": {\"a\": {\"BX\": 16, "
			"\"BY\": 4, "
			"\"time\": 1e300}, \"b\": {\"BX\": 1e300, \"BY\": true, \"time\": 1, \"times\": [1e308, -1, \"x\"]}}}",
			7);
	is_int(foreign_take(s->db, checkpoint, strange, NULL, "strange.json", &sum, &e), 0, "strange values are accepted %s",
	       e.text);
	struct measurement_query of_run = { .checkpoint = checkpoint, .run = sum.run };
	measurement_list(s->db, &of_run, &rows, &e);
	for (size_t i = 0; i < rows.count; i++)
		ok(strlen(rows.at[i].device) < 100 && (isnan(rows.at[i].median_ns) || rows.at[i].median_ns == 1e6), "%s",
		   rows.at[i].params);
	measurement_list_fini(&rows);
	free(strange);
	free(sum.text);
	free(whole);
	context_free(ctx);
}

int main(int argc, char **argv)
{
	struct sample s;
	sample_worker(argc, argv);
	sample_init(&s);
	reading();
	writing();
	recording(&s);
	sample_fini(&s);
	return tap_done();
}

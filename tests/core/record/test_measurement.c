/* core/record/measurement, validation, metric: no speed without evidence, the best, counts, and bulk. */
#include <math.h>

#include "base/clock.h"
#include "core/record/comparison.h"
#include "core/record/measurement.h"
#include "core/record/metric.h"
#include "core/record/query.h"
#include "core/record/validation.h"
#include "fixture.h"
#include "pace.h"
#include "tap.h"

/* One verdict; returns its row. */
static int64_t judge(struct fixture *f, int64_t checkpoint, const char *device, const char *params,
                     enum validation_verdict verdict)
{
	struct err e = ERR_INIT;
	struct validation v = {
		.checkpoint = checkpoint, .validator = "outputs", .device = device, .sizes = "n=64", .params = params,
		.size_kind = "input", .verdict = verdict, .error = 1e-7, .tolerance = NAN, .took_ns = 5,
	};
	if (validation_add(f->db, &v, &e) < 0)
		printf("# %s\n", e.text);
	return v.id;
}

/* A timing of ns nanoseconds. */
static struct measurement timing(int64_t checkpoint, const char *sizes, const char *params, double ns, int64_t evidence)
{
	return (struct measurement){
		.checkpoint = checkpoint, .device = "gpu-1", .driver = "580", .sizes = sizes, .params = params,
		.status = MEASUREMENT_OK, .median_ns = ns, .min_ns = ns - 1, .rse = 0.01, .cold = true,
		.compile_ns = -1, .registers = 32, .shared_bytes = 0, .spill_bytes = -1, .validation = evidence,
	};
}

static void test_evidence(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	int64_t c = fixture_checkpoint(&f, "a", 0), other = fixture_checkpoint(&f, "b", 0);
	int64_t good = judge(&f, c, "gpu-1", "n=64 BX=8", VALIDATION_PASSED);
	struct measurement m = timing(c, "n=64", "n=64 BX=8", 100, good);
	is_int(measurement_add(f.db, &m, &e), 0, "a timing with its evidence %s", e.text);
	m = timing(c, "n=64", "n=64 BX=16", 90, good);
	is_int(measurement_add(f.db, &m, &e), -ERR_CONFLICT, "evidence for other parameters is refused");
	has_str(e.text, "another checkpoint, device or parameters", "with the reason");
	m = timing(other, "n=64", "n=64 BX=8", 90, good);
	is_int(measurement_add(f.db, &m, &e), -ERR_CONFLICT, "as is evidence of another checkpoint");
	m = timing(c, "n=64", "n=64 BX=8", 90, good);
	m.device = "gpu-2";
	is_int(measurement_add(f.db, &m, &e), -ERR_CONFLICT, "or of another device");
	int rc = sqlite3_exec(f.db->sql, "UPDATE validation SET verdict = 'passed'", NULL, NULL, NULL);
	is_int(rc, SQLITE_CONSTRAINT_TRIGGER, "a verdict cannot be changed afterwards");

	m = timing(c, "n=64", "n=64 BX=32", 50, 0);
	measurement_add(f.db, &m, &e);
	m = timing(c, "n=64", "n=64 BX=64", 40, judge(&f, c, "gpu-1", "n=64 BX=64", VALIDATION_FAILED));
	measurement_add(f.db, &m, &e);
	m = timing(c, "n=64", "n=64 BX=128", 30, judge(&f, c, "gpu-1", "n=64 BX=128", VALIDATION_SKIPPED));
	measurement_add(f.db, &m, &e);
	struct measurement_query q = { .checkpoint = c };
	is_int(measurement_best(f.db, &q, &m, &e), 0, "the best that is quoted");
	is_str(m.params, "n=64 BX=8", "is the one with a passed validation");
	measurement_fini(&m);
	q.unproven = true;
	measurement_best(f.db, &q, &m, &e);
	is_str(m.params, "n=64 BX=128", "the others can be looked at");
	measurement_fini(&m);
	q.unproven = false;
	judge(&f, c, "gpu-1", "n=64 BX=8", VALIDATION_FAILED);
	is_int(measurement_best(f.db, &q, &m, &e), -ERR_NOT_FOUND, "a later refutation takes the quoted one away");
	has_str(e.text, "tune it", "and says what to do");

	struct validation v;
	is_int(validation_of(f.db, c, "gpu-1", "n=64 BX=8", &v, &e), 0, "the newest verdict");
	ok(v.verdict == VALIDATION_FAILED && v.error == 1e-7 && isnan(v.tolerance) && v.took_ns == 5,
	   "with its figures");
	validation_fini(&v);
	is_int(validation_of(f.db, c, "gpu-9", "n=64 BX=8", &v, &e), -ERR_NOT_FOUND, "none on another device");
	struct validation_counts counts;
	validation_count(f.db, c, &counts, &e);
	ok(counts.of[VALIDATION_PASSED] == 1 && counts.of[VALIDATION_FAILED] == 2 && counts.of[VALIDATION_SKIPPED] == 1,
	   "verdicts are counted");
	struct validation_list list = { .count = 0 };
	validation_list(f.db, c, "gpu-1", 2, &list, &e);
	ok(list.count == 2 && list.at[0].id > list.at[1].id, "and listed, newest first");
	validation_list_fini(&list);
	fixture_fini(&f);
}

static int64_t measure(struct fixture *f, int64_t c, const char *device, const char *sizes, const char *params,
                       double ns)
{
	struct err e = ERR_INIT;
	struct measurement m = timing(c, sizes, params, ns, judge(f, c, device, params, VALIDATION_PASSED));
	m.device = device;
	if (measurement_add(f->db, &m, &e) < 0)
		printf("# %s\n", e.text);
	return m.id;
}

static void test_best(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	int64_t c = fixture_checkpoint(&f, "a", 0);
	measure(&f, c, "gpu-1", "n=64", "n=64 BX=8", 10);
	measure(&f, c, "gpu-1", "n=64", "n=64 BX=8", 30);
	measure(&f, c, "gpu-1", "n=64", "n=64 BX=16", 20);
	measure(&f, c, "gpu-1", "n=128", "n=128 BX=8", 80);
	measure(&f, c, "gpu-2", "n=64", "n=64 BX=8", 5);
	struct measurement_query q = { .checkpoint = c, .device = "gpu-1", .sizes = "n=64" };
	struct measurement_list list = { .count = 0 };
	is_int(measurement_top(f.db, &q, &list, &e), 0, "the top of one device and size");
	ok(list.count == 2 && list.at[0].median_ns == 20 && list.at[1].median_ns == 30,
	   "each set of parameters once with its newest timing, fastest first");
	measurement_list_fini(&list);
	q = (struct measurement_query){ .checkpoint = c };
	measurement_best_each(f.db, &q, &list, &e);
	ok(list.count == 3 && list.at[0].median_ns == 80 && list.at[1].median_ns == 20 && list.at[2].median_ns == 5,
	   "the best of each device and size");
	measurement_list_fini(&list);
	q.warm = true;
	is_int(measurement_top(f.db, &q, &list, &e), 0, "warm figures");
	is_int(list.count, 0, "are separate");
	measurement_list_fini(&list);

	double samples[] = { 3, 1, 2 };
	struct measurement m = timing(c, "n=64", "n=64 BX=4", 2, judge(&f, c, "gpu-1", "n=64 BX=4", VALIDATION_PASSED));
	m.samples = samples;
	m.sample_count = 3;
	measurement_add(f.db, &m, &e);
	q.warm = false;
	q.device = "gpu-1";
	is_int(measurement_best(f.db, &q, &m, &e), 0, "a row is read");
	ok(m.sample_count == 3 && m.samples[0] == 3 && m.samples[2] == 2, "with its samples");
	ok(m.registers == 32 && m.spill_bytes == -1 && m.shared_bytes == 0 && m.cold && m.rse == 0.01, "and figures");
	measurement_fini(&m);
	fixture_fini(&f);
}

enum { BULK = 5000 };

/* One verdict on "n=N BX=8", with its sizes. */
static void judge_size(struct fixture *f, int64_t checkpoint, const char *device, const char *sizes, const char *params)
{
	struct err e = ERR_INIT;
	struct validation v = { .checkpoint = checkpoint, .validator = "outputs", .device = device, .sizes = sizes,
				.params = params, .size_kind = "check", .verdict = VALIDATION_FAILED, .reason = "planted",
				.error = NAN, .tolerance = NAN, .took_ns = -1 };
	if (validation_add(f->db, &v, &e) < 0)
		printf("# %s\n", e.text);
}

static const char *standing_of(struct fixture *f, int64_t checkpoint, int64_t id)
{
	struct measurement_query q = { .checkpoint = checkpoint };
	struct measurement_list list = { .count = 0 };
	struct err e = ERR_INIT;
	const char *standing = "none";
	measurement_list(f->db, &q, &list, &e);
	for (size_t i = 0; i < list.count; i++)
		if (list.at[i].id == id)
			standing = measurement_standing(&list.at[i]);
	measurement_list_fini(&list);
	return standing;
}

/* What refutes comes after what was quoted, and need not be about the same size. */
static void test_refuted(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	int64_t c = fixture_checkpoint(&f, "a", 0);
	int64_t eight = measure(&f, c, "gpu-1", "n=64", "n=64 BX=8", 10),
		sixteen = measure(&f, c, "gpu-1", "n=64", "n=64 BX=16", 20);
	struct measurement m = timing(c, "n=64", "n=64 BX=4", 2, 0);
	measurement_add(f.db, &m, &e);
	is_str(standing_of(&f, c, m.id), "unvalidated", "a time without evidence");
	is_str(standing_of(&f, c, eight), "proven", "and one with it");
	judge_size(&f, c, "gpu-2", "n=17", "n=17 BX=8");
	judge_size(&f, c, "gpu-1", "n=17", "n=17 BX=80");
	is_str(standing_of(&f, c, eight), "proven", "failures on another device and of other tuning parameters say nothing of it");
	struct measurement_query q = { .checkpoint = c };
	judge_size(&f, c, "gpu-1", "n=17", "n=17 BX=8");
	is_str(standing_of(&f, c, eight), "refuted", "a failure of the same tuning parameters at another size does");
	is_int(measurement_best(f.db, &q, &m, &e), 0, "then the next one");
	is_int(m.id, sixteen, "is the best");
	ok(m.proven, "and proven");
	measurement_fini(&m);
	struct measurement_list list = { .count = 0 };
	measurement_best_each(f.db, &q, &list, &e);
	ok(list.count == 1 && list.at[0].id == sixteen && list.at[0].proven, "of its size, too");
	measurement_list_fini(&list);
	is_int(checkpoint_set_status(f.db, c, CHECKPOINT_FAILED, "planted", &e), 0, "the checkpoint is refuted as a whole");
	is_str(standing_of(&f, c, sixteen), "refuted", "and with it all of its times");
	is_int(measurement_best(f.db, &q, &m, &e), -ERR_NOT_FOUND, "none of which is quoted");
	checkpoint_set_status(f.db, c, CHECKPOINT_ACCEPTED, NULL, &e);
	is_str(standing_of(&f, c, sixteen), "proven", "one that is validated anew has them again");
	is_str(standing_of(&f, c, eight), "refuted", "but for what failed");
	fixture_fini(&f);
}

static struct comparison compared(int64_t a, int64_t b, int64_t a_evidence, int64_t b_evidence)
{
	static const double samples[2] = { 1, 1 };
	return (struct comparison){ .a = a, .b = b, .library = b ? NULL : "lib", .device = "gpu-1", .sizes = "n=64",
				    .a_params = "n=64 BX=8", .b_params = b ? "n=64 BX=8" : NULL, .verdict = "same", .a_ns = 1,
				    .b_ns = 1, .ratio = 1, .low = 1, .high = 1, .confidence = 0.95, .margin = 0.01,
				    .samples = samples, .pairs = 1, .cold = true, .a_validation = a_evidence,
				    .b_validation = b_evidence };
}

static void test_comparisons(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	int64_t a = fixture_checkpoint(&f, "a", 0), b = fixture_checkpoint(&f, "b", a);
	int64_t of_a = judge(&f, a, "gpu-1", "n=64 BX=8", VALIDATION_PASSED),
		of_b = judge(&f, b, "gpu-1", "n=64 BX=8", VALIDATION_PASSED);
	int64_t elsewhere = judge(&f, b, "gpu-2", "n=64 BX=8", VALIDATION_PASSED),
		bad = judge(&f, a, "gpu-1", "n=64 BX=8", VALIDATION_FAILED);
	struct comparison c = compared(a, b, of_a, of_b);
	is_int(comparison_add(f.db, &c, &e), 0, "a comparison with the evidence of both sides %s", e.text);
	c = compared(a, b, of_b, of_a);
	is_int(comparison_add(f.db, &c, &e), -ERR_CONFLICT, "not with that of other checkpoints");
	c = compared(a, b, of_a, elsewhere);
	is_int(comparison_add(f.db, &c, &e), -ERR_CONFLICT, "nor with that of another device");
	struct comparison got;
	c = compared(a, 0, bad, 0);
	comparison_add(f.db, &c, &e);
	c = compared(a, 0, 0, 0);
	comparison_add(f.db, &c, &e);
	is_int(comparison_library(f.db, a, "gpu-1", "n=64 BX=8", true, &got, &e), -ERR_NOT_FOUND,
	       "a comparison with the library is quoted neither on evidence that failed nor on none");
	c = compared(a, 0, of_a, 0);
	comparison_add(f.db, &c, &e);
	is_int(comparison_library(f.db, a, "gpu-1", "n=64 BX=8", true, &got, &e), 0, "but on evidence that passed");
	comparison_fini(&got);
	fixture_fini(&f);
}

static void test_bulk(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	int64_t c = fixture_checkpoint(&f, "a", 0);
	struct measurement_run run = { .checkpoint = c, .device = "gpu-1", .strategy = "all", .settings = "seed=1",
	                               .planned = BULK, .job = "j1" };
	is_int(measurement_run_begin(f.db, &run, &e), 0, "a tune run begins");
	struct pace pace = pace_begin();
	int rc = store_begin(f.db, &e);
	for (int i = 0; rc == 0 && i < BULK; i++) {
		char params[64];
		snprintf(params, sizeof params, "n=64 BX=%d", i);
		struct measurement m = timing(c, "n=64", params, 1000 + i, 0);
		m.run = run.id;
		if (i % 5 == 0)
			m.status = MEASUREMENT_PRUNED, m.median_ns = NAN, m.message = "too many threads";
		else
			m.validation = judge(&f, c, "gpu-1", params, VALIDATION_PASSED);
		rc = measurement_add(f.db, &m, &e);
	}
	is_int(store_end(f.db, rc, &e), 0, "%d rows in one transaction", BULK);
	ok(pace_within(&pace, 4 * CLOCK_S), "fast (%s)", pace_text(&pace));
	is_int(measurement_run_end(f.db, run.id, &e), 0, "the run ends");
	struct measurement_query q = { .checkpoint = c, .run = run.id, .limit = 3 };
	struct measurement_list list = { .count = 0 };
	int64_t start = clock_now();
	/* Every fifth of what is timed has failed at another size. */
	store_begin(f.db, &e);
	for (int i = 4; i < BULK; i += 5) {
		char params[64];
		snprintf(params, sizeof params, "n=17 BX=%d", i);
		judge_size(&f, c, "gpu-1", "n=17", params);
	}
	store_end(f.db, 0, &e);
	start = clock_now();
	measurement_top(f.db, &q, &list, &e);
	printf("# top of %d: %d ms\n", BULK, (int)((clock_now() - start) / CLOCK_MS));
	ok(list.count == 3 && list.at[0].median_ns == 1001 && list.at[2].median_ns == 1003, "the top three");
	measurement_list_fini(&list);
	q.limit = 0;
	measurement_list(f.db, &q, &list, &e);
	is_int(list.count, BULK, "all rows of the run");
	ok(isnan(list.at[0].median_ns) && strcmp(list.at[0].message, "too many threads") == 0, "pruned ones too");
	measurement_list_fini(&list);
	struct measurement_run_list runs = { .count = 0 };
	measurement_runs(f.db, c, &runs, &e);
	is_int(runs.count, 1, "the runs of a checkpoint");
	const struct measurement_run *got = &runs.at[0];
	ok(got->id == run.id && strcmp(got->job, "j1") == 0, "a resumed job finds its run");
	ok(got->planned == BULK && got->ended_ms >= got->created_ms && got->ended_ms > 0, "and when it ended");
	measurement_run_list_fini(&runs);
	fixture_fini(&f);
}

static void test_metrics(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	struct metric m = { .checkpoint = fixture_checkpoint(&f, "a", 0), .device = "gpu-1", .params = "n=64",
	                    .name = "dram__bytes", .value = 5, .unit = "byte", .source = "ncu" };
	is_int(metric_add(f.db, &m, &e), 0, "a metric is kept");
	m.value = 7;
	metric_add(f.db, &m, &e);
	m.name = "a__cycles";
	metric_add(f.db, &m, &e);
	struct metric_list list = { .count = 0 };
	is_int(metric_list(f.db, m.checkpoint, NULL, "n=64", &list, &e), 0, "they are read");
	ok(list.count == 2 && strcmp(list.at[0].name, "a__cycles") == 0 && list.at[1].value == 7,
	   "newest of each, by name");
	metric_list_fini(&list);
	m.checkpoint = 99;
	is_int(metric_add(f.db, &m, &e), -ERR_CONFLICT, "none for a checkpoint that does not exist");
	fixture_fini(&f);
}

int main(void)
{
	test_evidence();
	test_best();
	test_refuted();
	test_comparisons();
	test_bulk();
	test_metrics();
	return tap_done();
}

/* core/record/speed: ratios come from pairs that may be quoted, whichever way they were timed, and from nothing else. */
#include "core/record/speed.h"

#include <math.h>

#include "core/record/comparison.h"
#include "core/record/fixture.h"
#include "core/record/measurement.h"
#include "core/record/validation.h"
#include "tap.h"

static int64_t judge(struct fixture *f, int64_t checkpoint, const char *params, enum validation_verdict verdict)
{
	struct err e = ERR_INIT;
	struct validation v = { .checkpoint = checkpoint,
				.validator = "outputs",
				.device = "gpu",
				.sizes = "n=64",
				.params = params,
				.size_kind = "input",
				.verdict = verdict,
				.error = NAN,
				.tolerance = NAN,
				.took_ns = -1 };
	if (validation_add(f->db, &v, &e) < 0)
		printf("# %s\n", e.text);
	return v.id;
}

static void measure(struct fixture *f, int64_t checkpoint, const char *params, double ns)
{
	struct err e = ERR_INIT;
	struct measurement m = { .checkpoint = checkpoint,
				 .device = "gpu",
				 .sizes = "n=64",
				 .params = params,
				 .status = MEASUREMENT_OK,
				 .median_ns = ns,
				 .min_ns = ns,
				 .rse = 0.01,
				 .cold = true,
				 .compile_ns = -1,
				 .registers = -1,
				 .shared_bytes = -1,
				 .spill_bytes = -1,
				 .validation = judge(f, checkpoint, params, VALIDATION_PASSED) };
	if (measurement_add(f->db, &m, &e) < 0)
		printf("# %s\n", e.text);
}

static void pair(struct fixture *f, int64_t a, const char *a_params, int64_t b, const char *b_params, double ratio, bool start)
{
	static const double samples[2] = { 1, 1 };
	struct err e = ERR_INIT;
	struct comparison c = { .a = a,
				.b = b,
				.device = "gpu",
				.sizes = "n=64",
				.a_params = a_params,
				.b_params = b_params,
				.verdict = ratio < 0.99   ? "faster"
					   : ratio > 1.01 ? "slower"
							  : "same",
				.a_ns = 10,
				.b_ns = 10 * ratio,
				.ratio = ratio,
				.low = ratio * 0.9,
				.high = ratio * 1.1,
				.confidence = 0.95,
				.margin = 0.01,
				.samples = samples,
				.pairs = 1,
				.cold = true,
				.a_start = start,
				.a_validation = judge(f, a, a_params, VALIDATION_PASSED),
				.b_validation = judge(f, b, b_params, VALIDATION_PASSED),
				.load = start ? "other processes used 1.0 of 2 CPUs meanwhile" : NULL };
	if (comparison_add(f->db, &c, &e) < 0)
		printf("# %s\n", e.text);
}

static struct speed speed(struct fixture *f, int64_t checkpoint, int64_t parent, const char *params)
{
	const struct speed_query q = {
		.checkpoint = checkpoint, .parent = parent, .root = 1, .device = "gpu", .sizes = "n=64", .params = params
	};
	struct speed s;
	speed_of(f->db, &q, &s);
	return s;
}

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

int main(void)
{
	struct fixture f;
	char text[SPEED_TEXT];
	fixture_init(&f);
	int64_t root = fixture_checkpoint(&f, "root", 0), parent = fixture_checkpoint(&f, "parent", root),
		child = fixture_checkpoint(&f, "child", parent);
	is_int(root, 1, "the baseline");
	measure(&f, root, "n=64 BX=8", 100);
	measure(&f, parent, "n=64 BX=8", 50);
	measure(&f, child, "n=64 BX=16", 10);
	struct speed s = speed(&f, child, parent, "n=64 BX=16");
	ok(isnan(s.baseline.times) && isnan(s.start.times) && isnan(s.parent.times) && !s.compared,
	   "medians of separate runs are never divided");
	is_str(speed_text(&s.baseline, text), "-", "what was not compared is a dash");
	speed_fini(&s);

	pair(&f, root, "n=64 BX=8", child, "n=64 BX=16", 0.5, false);
	pair(&f, root, "n=64 BX=1", child, "n=64 BX=16", 0.25, true);
	pair(&f, child, "n=64 BX=16", parent, "n=64 BX=8", 0.8, false);
	s = speed(&f, child, parent, "n=64 BX=16");
	ok(near(s.baseline.times, 2) && near(s.baseline.low, 1 / 0.55) && near(s.baseline.high, 1 / 0.45),
	   "twice as fast as the baseline at its best, with the interval");
	ok(near(s.start.times, 4), "four times as fast as the baseline as it starts");
	ok(near(s.parent.times, 0.8), "a pair that was timed the other way round says the same of both");
	is_str(s.parent.verdict, "slower", "its verdict is turned, too");
	has_str(s.compared,
		"2.00x (1.82-2.22) over the baseline, 4.00x (3.64-4.44) over the baseline's starting parameters, 0.80x (0.72-0.88) "
		"over its parent",
		"all of it in words");
	has_str(s.compared, "other processes used 1.0 of 2 CPUs meanwhile", "with what others did on a shared CPU");
	speed_fini(&s);
	s = speed(&f, child, parent, "n=64 BX=4");
	ok(isnan(s.baseline.times), "other parameters were not compared");
	speed_fini(&s);

	measure(&f, root, "n=64 BX=32", 90);
	s = speed(&f, child, parent, "n=64 BX=16");
	ok(isnan(s.baseline.times) && near(s.start.times, 4),
	   "when the baseline's best is another one, the old pair is no ratio to its best");
	speed_fini(&s);
	judge(&f, root, "n=64 BX=1", VALIDATION_FAILED);
	s = speed(&f, child, parent, "n=64 BX=16");
	ok(isnan(s.start.times), "a pair with parameters that failed since is not quoted");
	speed_fini(&s);

	const struct speed_ratio wide = { 1.4, 1.1, 1.8, (char *)"faster" }, unclear = { 1.02, 0.9, 1.1, (char *)"unclear" };
	is_str(speed_text(&wide, text), "at least 1.10x (1.10-1.80)",
	       "of a wide interval that is faster throughout, the least is told");
	is_str(speed_words(&wide, text), "faster, at least 1.10x (1.10-1.80)",
	       "its verdict is faster, and nothing calls it unclear");
	const struct speed_ratio loaded = { 0.08, 0.05, 0.12, (char *)"slower" };
	is_str(speed_words(&loaded, text), "slower, at most 0.12x (0.05-0.12)",
	       "of a wide interval that is slower throughout, the most is told");
	is_str(speed_words(&unclear, text), "unclear (0.90-1.10)", "an unclear verdict is said once");
	is_str(speed_text(&unclear, text), "unclear (0.90-1.10)", "an interval on both sides of 1 is unclear");
	const struct speed_ratio undecided = { 1.06, 1.01, 1.11, (char *)"unclear" };
	is_str(speed_text(&undecided, text), "unclear (1.01-1.11)", "where the verdict is unclear, no least is told");
	fixture_fini(&f);
	return tap_done();
}

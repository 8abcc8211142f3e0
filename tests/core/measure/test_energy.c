/* core/measure/energy by a worker with a made-up energy counter: the protocol and the statistics of comparisons by energy, what
 * stands in the database, scores under objectives, and devices without a counter. */
#include "core/measure/energy.h"

#include "bench/fake_worker.h"
#include "core/measure/compare.h"
#include "core/record/metric.h"
#include "core/sample.h"

/* X=1 takes 500 W, and X=2 450 W (10 % less in the same time). X=3 is as X=1, but takes 3 % longer. X=4 is as X=1 with 20 % noise.
 * X=5 has no counter. */
static int x_of(const char *defines)
{
	const char *at = strstr(defines, "X=");
	return at ? atoi(at + 2) : 0;
}

static uint64_t time_of(const char *defines, enum fake_timing how)
{
	(void)how;
	return x_of(defines) == 3 ? 1030000 : 1000000;
}

static double watts_of(const char *defines, unsigned count)
{
	double warming = 1 + 0.001 * count; /* what alternation takes out */
	switch (x_of(defines)) {
	case 2: return 450 * warming;
	case 4: return 500 * warming * (count % 2 ? 1.2 : 0.8);
	case 5: return 0;
	default: return 500 * warming;
	}
}

static struct context *context_of(void)
{
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	if (context_parse(
		    "k",
		    "---\nkernel: k\nbackend: cuda\ninputs:\n  n: int = {64}\n  C: out f32[n]\ntune:\n  X: {1, 2, 3, 4, 5}\n---\n"
		    "```cuda\nextern \"C\" __global__ void k(float *C, int n) { C[threadIdx.x] = X; }\n```\n"
		    "```lua host\nlaunch(\"k\", {1}, {64}, {C, n})\n```\n",
		    &ctx, &e) < 0)
		printf("# %s\n", e.text);
	return ctx;
}

static struct params *params_of(int x)
{
	struct params *p = params_new();
	params_set_int(p, "n", false, 64);
	params_set_int(p, "X", true, x);
	return p;
}

/* X=1 against X=x; the caller's request holds what was weighed. */
static int weighed(struct sample *s, const struct context *ctx, int64_t checkpoint, int x, const char *objective,
		   struct compare_request *q, struct err *e)
{
	struct eval ev = { .pool = s->pool, .references = s->references };
	struct params *a = params_of(1), *b = params_of(x);
	struct trial_paired p;
	*q = (struct compare_request){ .a = { .checkpoint = checkpoint, .ctx = ctx, .baseline = ctx, .params = a },
	                               .b = { .checkpoint = checkpoint, .ctx = ctx, .baseline = ctx, .params = b },
	                               .facts = &s->facts, .objective = objective };
	int rc = compare_run(&ev, q, s->db, NULL, &p, e);
	if (rc == 0)
		trial_paired_fini(&p);
	params_free(a);
	params_free(b);
	return rc;
}

static void test_compare(void)
{
	struct sample s;
	struct err e = ERR_INIT;
	struct compare_request q;
	struct weighing w;
	double joules;
	sample_init(&s);
	snprintf(s.facts.backend, sizeof s.facts.backend, "cuda"); /* energy is asked of no other */
	struct context *ctx = context_of();
	int64_t checkpoint = sample_checkpoint(&s, ctx);
	is_int(weighed(&s, ctx, checkpoint, 2, "energy", &q, &e), 0, "two configurations are weighed %s", e.text);
	is_str(q.weighing.verdict, "less", "10 %% less power in the same time is less energy");
	ok(fabs(q.weighing.ratio - 0.9) < 1e-3 && q.weighing.high < 0.91 && q.weighing.low > 0.89,
	   "the ratio is %.4f (%.4f to %.4f)", q.weighing.ratio, q.weighing.low, q.weighing.high);
	ok(q.weighing.matched, "the times match");
	ok(fabs(q.weighing.a_joules - 0.5) < 0.01 && fabs(q.weighing.b_joules - 0.45) < 0.01,
	   "the joules are those of one execution: %.4f and %.4f", q.weighing.a_joules, q.weighing.b_joules);
	is_int(comparison_weighing(s.db, q.weighing.comparison, &w, &e), 1, "the row stands beside the comparison's %s", e.text);
	is_int((long long)w.sample_count, 2 * ENERGY_ALTERNATIONS, "with every window");
	ok(w.window_s >= 2 && ENERGY_ALTERNATIONS >= 10 && ENERGY_MATCHED <= 0.01,
	   "ten alternations of two seconds at least, and times within 1 %%");
	comparison_weighing_fini(&w);
	comparison_weighing_fini(&q.weighing);
	is_int(metric_newest(s.db, checkpoint, s.facts.uuid, "n=64 X=2", "energy", &joules, &e), 0,
	       "the joules are a metric, too %s", e.text);
	ok(fabs(joules - 0.45) < 0.01, "of each side");

	is_int(weighed(&s, ctx, checkpoint, 3, "energy", &q, &e), 0, "one that takes 3 %% longer %s", e.text);
	ok(!q.weighing.matched && strcmp(q.weighing.verdict, "more") == 0, "is not at matched speed");
	comparison_weighing_fini(&q.weighing);
	is_int(weighed(&s, ctx, checkpoint, 3, "edp", &q, &e), 0, "by energy times time %s", e.text);
	ok(fabs(q.weighing.ratio - 1.03 * 1.03) < 1e-3, "the delay counts twice: %.4f", q.weighing.ratio);
	comparison_weighing_fini(&q.weighing);
	is_int(weighed(&s, ctx, checkpoint, 4, "energy", &q, &e), 0, "one with noise %s", e.text);
	ok(q.weighing.low < 1 && q.weighing.high > 1 && strcmp(q.weighing.verdict, "unclear") == 0,
	   "an interval that includes 1 is unclear (%.2f to %.2f)", q.weighing.low, q.weighing.high);
	comparison_weighing_fini(&q.weighing);

	is_int(weighed(&s, ctx, checkpoint, 5, "energy", &q, &e), -ERR_UNSUPPORTED,
	       "a counter that does not move gives no verdict");
	has_str(e.text, "counter does not move", "the reason is said");
	snprintf(s.facts.backend, sizeof s.facts.backend, "hlsl");
	is_int(weighed(&s, ctx, checkpoint, 2, "energy", &q, &e), -ERR_UNSUPPORTED, "a device without a counter is refused");
	has_str(e.text, "no energy counter that peakd can read", "before anything runs");
	context_free(ctx);
	sample_fini(&s);
}

static void test_statistics(void)
{
	/* Worked by hand: mean 0.1, standard deviation 0.02, n = 10, t = 2.2622. */
	double logs[10];
	struct weighing w = { .verdict = NULL };
	for (int i = 0; i < 10; i++)
		logs[i] = 0.1 + (i % 2 ? 1 : -1) * 0.02 * sqrt(0.9);
	energy_conclude(logs, 10, &w);
	double half = 2.2622 * 0.02 / sqrt(10);
	ok(fabs(w.ratio - exp(0.1)) < 1e-9 && fabs(log(w.high) - 0.1 - half) < 1e-5 && fabs(0.1 - log(w.low) - half) < 1e-5,
	   "the interval is Student's");
	is_str(w.verdict, "more", "its verdict");
	for (int i = 0; i < 10; i++)
		logs[i] = 0;
	energy_conclude(logs, 10, &w);
	is_str(w.verdict, "unclear", "equal energies are no saving");
	comparison_weighing_fini(&w);
}

static void test_score(void)
{
	bool weighs;
	struct err e = ERR_INIT;
	ok(energy_score(NULL, 2e6, NAN) == 2e6 && energy_score("time", 2e6, 1) == 2e6, "the score by time is the time");
	ok(energy_score("energy", 2e6, 0.5) == 0.5 && fabs(energy_score("edp", 2e6, 0.5) - 1e-3) < 1e-12,
	   "by energy the joules, by edp joule-seconds");
	ok(isnan(energy_score("energy", 2e6, NAN)) && isnan(energy_score("heat", 2e6, 1)), "what is not known has no score");
	ok(energy_weighs("edp", &weighs, &e) == 0 && weighs && energy_weighs("", &weighs, &e) == 0 && !weighs,
	   "objectives that need joules are known");
	is_int(energy_weighs("heat", &weighs, &e), -ERR_INPUT, "others are refused");
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "worker") == 0) {
		fake_time = time_of;
		fake_watts = watts_of;
		return fake_worker_main();
	}
	setenv("PEAKD_BENCH_FAKE", "0 0 1", 1);
	test_statistics();
	test_score();
	test_compare();
	return tap_done();
}

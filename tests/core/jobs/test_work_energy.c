/* Energy through the jobs, by a worker with a made-up counter: joules stand beside the time that a tune found. A tune for energy
 * finds another winner. A compare job by energy says less, and whether times match. */
#include "core/jobs/work.h"

#include "base/clock.h"
#include "bench/fake_worker.h"
#include "core/jobs/engine.h"
#include "core/record/job.h"
#include "core/sample.h"

/* X=2 is the fastest; X=1 takes 1 % longer and 10 % less power. The child's own parameter: Z=1 takes 450 W, the root 500 W. */
static uint64_t time_of(const char *defines, enum fake_timing how)
{
	(void)how;
	return strstr(defines, "X=1") ? 1010000 : strstr(defines, "X=2") ? 1000000 : 2000000;
}

static double watts_of(const char *defines, unsigned count)
{
	(void)count;
	return (strstr(defines, "Z=1") ? 450 : 500) * (strstr(defines, "X=1") ? 0.9 : 1);
}

struct bench {
	struct sample s;
	struct work work;
	struct engine *engine;
};

static int64_t checkpoint_of(struct bench *b, const char *more, int64_t parent)
{
	char *text = mem_fmt("---\nkernel: k\nbackend: cuda\ninputs:\n  n: int = {64}\n  A: f32[64] = random\n  C: out "
			     "f32[64]\ntune:\n  X: {1, 2, 3}\n%s---\n"
			     "```cuda\nextern \"C\" __global__ void k(const float *A, float *C, int n) { C[threadIdx.x] = X; }\n"
			     "```\n"
			     "```lua host\nlaunch(\"k\", {1}, {64}, {A, C, n})\n```\n",
			     more);
	return sample_add_text(&b->s, text, parent);
}

/* The result of a job, or its error, as JSON or text; free(). */
static char *result_of(struct bench *b, const char *kind_name, const char *json)
{
	const struct engine_kind *kind = work_kind(kind_name);
	struct err e = ERR_INIT;
	char *id = NULL, *result = NULL;
	bool fresh;
	void *request = layout_new(kind->request);
	if (layout_read_text(kind->request, json, request, &e) < 0 ||
	    engine_submit(b->engine, b->s.db, &(struct engine_submission){ kind_name, request, false, NULL }, &id, &fresh, &e) < 0)
		printf("# %s\n", e.text);
	layout_free(kind->request, request);
	for (int i = 0; i < 12000 && id && !result; i++) {
		struct job job;
		if (job_get(b->s.db, id, &job, &e) < 0)
			break;
		if (job_state_ended(job.state))
			result = mem_str(job.state == JOB_DONE ? job.result : job.error_text);
		job_fini(&job);
		if (!result)
			clock_sleep(10 * CLOCK_MS);
	}
	free(id);
	return result ? result : mem_str("");
}

/* A number of a result; NAN: it is not there. */
static double number(const char *json, const char *name)
{
	char *key = mem_fmt("\"%s\":", name);
	const char *at = strstr(json, key);
	double value = at ? atof(at + strlen(key)) : NAN;
	free(key);
	return value;
}

static void test_tune(struct bench *b, int64_t checkpoint)
{
	char *ask = mem_fmt("{\"checkpoint\":%lld,\"device\":\"cuda:0\",\"strategy\":\"exhaustive\",\"budget\":8}",
			    (long long)checkpoint);
	char *weigh = mem_fmt(
		"{\"checkpoint\":%lld,\"device\":\"cuda:0\",\"strategy\":\"exhaustive\",\"budget\":8,\"objective\":\"energy\"}",
		(long long)checkpoint);
	char *result = result_of(b, "tune", ask);
	has_str(result, "X=2", "a tune for time finds the fastest");
	ok(fabs(number(result, "joules") - 0.5) < 1e-6, "and says the joules of one execution: %g", number(result, "joules"));
	free(result);
	result = result_of(b, "tune", weigh);
	has_str(result, "X=1", "a tune for energy finds what needs less");
	ok(fabs(number(result, "joules") - 500 * 0.9 * 1.01e-3) < 1e-6, "with its joules: %g", number(result, "joules"));
	free(result);
	free(weigh);
	free(ask);
}

static void test_compare(struct bench *b, int64_t root, int64_t child)
{
	char *tune =
		mem_fmt("{\"checkpoint\":%lld,\"device\":\"cuda:0\",\"strategy\":\"exhaustive\",\"budget\":8}", (long long)child);
	char *ask = mem_fmt("{\"a\":%lld,\"b\":%lld,\"device\":\"cuda:0\",\"objective\":\"energy\"}", (long long)root,
			    (long long)child);
	char *wrong =
		mem_fmt("{\"a\":%lld,\"b\":%lld,\"device\":\"cuda:0\",\"objective\":\"heat\"}", (long long)root, (long long)child);
	free(result_of(b, "tune", tune));
	char *result = result_of(b, "compare", ask);
	has_str(result, "\"energy_verdict\":\"less\"", "a comparison by energy says that the child needs less");
	ok(fabs(number(result, "energy_ratio") - 500 / 450.0) < 1e-3, "by how much: %g", number(result, "energy_ratio"));
	has_str(result, "the times match within 1 %", "and that the times match");
	free(result);
	result = result_of(b, "compare", wrong);
	has_str(result, "expected time, energy or edp", "an unknown objective is refused with the known ones");
	free(result);
	free(wrong);
	free(ask);
	free(tune);
}

int main(int argc, char **argv)
{
	struct bench b;
	struct err e = ERR_INIT;
	fake_backend = "cuda"; /* energy is asked of no other */
	if (argc > 1 && strcmp(argv[1], "worker") == 0) {
		fake_time = time_of;
		fake_watts = watts_of;
		return fake_worker_main();
	}
	setenv("PEAKD_BENCH_FAKE", "0 0 1", 1);
	sample_init(&b.s);
	b.work = (struct work){ .store = b.s.store, .pool = b.s.pool, .references = b.s.references };
	struct engine_config config = { .store = b.s.store, .pool = b.s.pool, .kinds = work_kinds, .user = &b.work, .threads = 2 };
	is_int(engine_new(&config, &b.engine, &e), 0, "an engine");
	int64_t root = checkpoint_of(&b, "", 0), child = checkpoint_of(&b, "  Z: {1}\n", root);
	test_tune(&b, root);
	test_compare(&b, root, child);
	engine_free(b.engine);
	sample_fini(&b.s);
	return tap_done();
}

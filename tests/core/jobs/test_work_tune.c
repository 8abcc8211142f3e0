/* core/jobs/work_tune: what a tune is seeded with, through the job: a parent's 128 best, projected where parameters appeared and
 * vanished; its own winner at another size and on another device. A worker without compiler and device gives the times, and
 * "exhaustive" begins far away from where the fast ones are: what is tried there was a seed. */
#include "core/jobs/work.h"

#include "base/clock.h"
#include "bench/fake_worker.h"
#include "core/jobs/engine.h"
#include "core/jobs/foreign.h"
#include "core/record/job.h"
#include "core/record/measurement.h"
#include "core/sample.h"

enum { SIDE = 40, BEST_X = 30, BEST_Y = 20, BUDGET = 256, SEEDS = 128, FAR_FROM = 1 + BUDGET / SIDE };

static int value_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	return at ? atoi(at + strlen(name)) : -1;
}

/* A bowl around (BEST_X, BEST_Y); what has no Y is a slice of it. */
static uint64_t time_of(const char *defines, enum fake_timing how)
{
	int x = value_of(defines, "X="), y = value_of(defines, "Y=");
	(void)how;
	y = y < 0 ? BEST_Y : y;
	return 1000000 + (uint64_t)((x - BEST_X) * (x - BEST_X) * 1000 + (y - BEST_Y) * (y - BEST_Y) * 100);
}

struct bench {
	struct sample s;
	struct work work;
	struct engine *engine;
};

/* X, and one more parameter of that name. */
static int64_t checkpoint_of(struct bench *b, const char *other, int64_t parent)
{
	char *text =
		mem_fmt("---\nkernel: k\nbackend: hlsl\ninputs:\n  n: int = {64, 128}\n  A: f32[64] = random\n  C: out f32[64]\n"
			"tune:\n  X: i for i = 1,%d\n  %s: i for i = 1,%d\n---\n```hlsl\n[numthreads(64, 1, 1)]\n"
			"void k(uint3 id : SV_DispatchThreadID) { C[id.x] = X + %s; }\n```\n```lua host\nlaunch(\"k\", {1}, {64}, "
			"{A, C, n})\n"
			"```\n",
			SIDE, other, SIDE, other);
	return sample_add_text(&b->s, text, parent);
}

/* A tune job to its end: its rows of the search are those with numbers above `after`. */
static void tuned(struct bench *b, int64_t checkpoint, const char *device, const char *size, const char *strategy, int budget)
{
	const struct engine_kind *kind = work_kind("tune");
	struct err e = ERR_INIT;
	char *id = NULL, why[256] = "it did not end";
	bool done = false, fresh;
	void *request = layout_new(kind->request);
	char *json = mem_fmt("{\"checkpoint\":%lld,\"device\":\"%s\",\"sizes\":\"%s\",\"strategy\":\"%s\",\"budget\":%d}",
			     (long long)checkpoint, device, size, strategy, budget);
	if (layout_read_text(kind->request, json, request, &e) < 0 ||
	    engine_submit(b->engine, b->s.db, &(struct engine_submission){ "tune", request, false, NULL }, &id, &fresh, &e) < 0)
		printf("# %s\n", e.text);
	layout_free(kind->request, request);
	free(json);
	for (int i = 0; i < 12000 && !done; i++) {
		struct job job;
		if (job_get(b->s.db, id, &job, &e) < 0)
			break;
		done = job_state_ended(job.state);
		if (done)
			snprintf(why, sizeof why, "%s", job.state == JOB_DONE ? "" : job.error_text ? job.error_text : "it failed");
		job_fini(&job);
		if (!done)
			clock_sleep(10 * CLOCK_MS);
	}
	ok(*why == '\0', "a tune of %s on %s ends %s", size, device, why);
	free(id);
}

/* Configurations that the search tried where "exhaustive" does not come: how many of each X; their number is returned. */
static size_t tried_far(struct bench *b, int64_t checkpoint, const char *device, const char *size, size_t x_count[SIDE + 1],
			size_t *ret_all)
{
	struct measurement_query q = { .checkpoint = checkpoint };
	struct measurement_list rows;
	struct err e = ERR_INIT;
	size_t far = 0;
	memset(x_count, 0, (SIDE + 1) * sizeof *x_count);
	*ret_all = 0;
	measurement_list(b->s.db, &q, &rows, &e);
	for (size_t i = 0; i < rows.count; i++) {
		const struct measurement *m = &rows.at[i];
		int x = value_of(m->params, "X=");
		if (strncmp(m->message, "search", 6) != 0 || strcmp(m->sizes, size) != 0 || strcmp(m->device, device) != 0)
			continue;
		*ret_all += 1;
		far += x > FAR_FROM;
		x_count[x] += x > FAR_FROM;
	}
	measurement_list_fini(&rows);
	return far;
}

/* X of the parent's best, as a child without Y gets them. */
static void best_of(struct bench *b, int64_t checkpoint, size_t x_count[SIDE + 1], size_t *ret_count)
{
	struct measurement_query q = { .checkpoint = checkpoint, .limit = SEEDS, .unproven = true };
	struct measurement_list top;
	struct err e = ERR_INIT;
	memset(x_count, 0, (SIDE + 1) * sizeof *x_count);
	measurement_top(b->s.db, &q, &top, &e);
	for (size_t i = 0; i < top.count; i++)
		x_count[value_of(top.at[i].params, "X=")]++;
	*ret_count = top.count;
	measurement_list_fini(&top);
}

static void parents(struct bench *b, int64_t parent)
{
	size_t best[SIDE + 1], tried[SIDE + 1], seeds, all, missing = 0, strange = 0;
	int64_t child = checkpoint_of(b, "Z", parent);
	best_of(b, parent, best, &seeds);
	is_int(seeds, SEEDS, "a parent with that many fast configurations");
	tuned(b, child, "hlsl:0", "n=64", "exhaustive", BUDGET);
	size_t far = tried_far(b, child, b->s.facts.uuid, "n=64", tried, &all);
	for (int x = FAR_FROM + 1; x <= SIDE; x++) {
		missing += best[x] > 0 && tried[x] == 0;
		strange += best[x] == 0 && tried[x] > 0;
	}
	printf("# of %d seeds %zu are different configurations of the child\n", SEEDS, far);
	is_int(all, BUDGET, "all of the budget is used");
	ok(far >= SEEDS - 4 && far <= SEEDS, "a child without Y and with Z tries its parent's best first (%zu of %d)", far, SEEDS);
	ok(missing == 0 && strange == 0, "their X and no other (%zu missing, %zu strange)", missing, strange);
}

static void elsewhere(struct bench *b, int64_t checkpoint)
{
	size_t tried[SIDE + 1], all;
	tuned(b, checkpoint, "hlsl:0", "n=128", "exhaustive", 16);
	size_t far = tried_far(b, checkpoint, b->s.facts.uuid, "n=128", tried, &all);
	is_int(all, 16, "at another size all of the budget is used");
	ok(far == 1 && tried[BEST_X] == 1, "and the winner of the first size is tried (%zu far away)", far);
	struct facts other;
	struct err e = ERR_INIT;
	is_int(pool_device(b->s.pool, "hlsl:1", &other, &e), 0, "another device %s", e.text);
	tuned(b, checkpoint, "hlsl:1", "n=64", "exhaustive", 16);
	far = tried_far(b, checkpoint, other.uuid, "n=64", tried, &all);
	is_int(all, 16, "there, too, all of the budget is used");
	ok(far == 1 && tried[BEST_X] == 1, "and the winner of the first device is tried (%zu far away)", far);
}

/* What another tool measured somewhere else is tried first, the eight fastest of it. */
static void imported(struct bench *b)
{
	int64_t checkpoint = checkpoint_of(b, "W", 0);
	struct foreign_summary sum = { 0 };
	struct err e = ERR_INIT;
	struct buf text = BUF_INIT;
	size_t tried[SIDE + 1], all;
	buf_adds(&text, "{\"device_name\": \"G\", \"tune_params_keys\": [\"X\", \"W\"], \"tune_params\": {}, \"cache\": {");
	for (int x = 20; x <= SIDE; x++)
		buf_addf(&text, "\"%d,3\": {\"X\": %d, \"W\": 3, \"time\": %d}, ", x, x, x);
	is_int(foreign_take(b->s.db, checkpoint, buf_text(&text), "n=64", "g.json", &sum, &e), 0, "a cache file is imported %s",
	       e.text);
	tuned(b, checkpoint, "hlsl:0", "n=64", "exhaustive", 32);
	size_t far = tried_far(b, checkpoint, b->s.facts.uuid, "n=64", tried, &all), expected = 0;
	for (int x = 20; x < 28; x++)
		expected += tried[x];
	ok(far == 8 && expected == 8, "its eight fastest are tried (%zu, %zu others)", expected, far - expected);
	free(sum.text);
	buf_fini(&text);
}

int main(int argc, char **argv)
{
	struct bench b;
	struct err e = ERR_INIT;
	if (argc > 1 && strcmp(argv[1], "worker") == 0) {
		fake_time = time_of;
		return fake_worker_main();
	}
	setenv("PEAKD_BENCH_FAKE", "0 0 2", 1);
	sample_init(&b.s);
	b.work = (struct work){ .store = b.s.store, .pool = b.s.pool, .references = b.s.references };
	struct engine_config config = { .store = b.s.store, .pool = b.s.pool, .kinds = work_kinds, .user = &b.work, .threads = 2 };
	is_int(engine_new(&config, &b.engine, &e), 0, "an engine");
	int64_t parent = checkpoint_of(&b, "Y", 0);
	tuned(&b, parent, "hlsl:0", "n=64", "exhaustive", SIDE * SIDE);
	parents(&b, parent);
	elsewhere(&b, parent);
	imported(&b);
	engine_free(b.engine);
	sample_fini(&b.s);
	return tap_done();
}

/* faults: measures how peakd recovers from faulting kernels: `build/bench/faults --device cuda:0`.
 *
 * Each kind of fault (illegal address, endless loop, trap, …) is one configuration of a small context. First every kind occurs
 * once. The report says which error peakd gives, how soon a good kernel runs again, and whether it is as fast as before. Then a
 * soak runs faulting configurations in a row on several lanes, each with its own pool and worker. In the end it counts what is left
 * behind: processes, descriptors, device memory. A soak may be spread over several calls: --state FILE keeps its count.
 *
 * The report is JSON on stdout. Exit status 1 when something is wrong. This program is also the worker. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backends/worker/worker.h"
#include "base/clock.h"
#include "base/mem.h"
#include "bench/faults_kinds.h"
#include "bench/faults_left.h"
#include "core/context/context.h"
#include "core/workers/eval.h"
#include "core/workers/pool.h"
#include "core/workers/trial.h"

enum { LANES_MAX = 32, KINDS_MAX = 16, SAMPLES = 30 };
#define EXECUTE_NS (20 * CLOCK_S)
#define HANG_NS (200 * CLOCK_MS)  /* deadline of an endless kernel */
#define KILL_NS (100 * CLOCK_MS)  /* after this time a worker is killed in mid-launch */
#define SAME 0.05                 /* how far a repeated median may be from the first one when no other process uses the device */

/* --- one meeting with a fault ----------------------------------------------------------------------------------------------- */

struct lane {
	struct bench *bench;
	struct pool *pool;
	struct eval ev;
	struct pool_worker *worker;
	size_t first;           /* the first kind, so that lanes differ */
	int64_t recovery_max;
	pthread_t thread;
};

struct tally {
	atomic_uint count, unexpected;
	atomic_llong recovery_sum, recovery_max; /* nanoseconds until a good kernel had run */
	char said[300];         /* the first message */
	int64_t alone;          /* recovery of the first occurrence, alone on the device */
	double ratio;           /* the good kernel's median afterwards over its median before; NAN: not timed */
};

struct bench {
	bool cuda;
	struct facts facts;
	struct context *good_ctx, *ctx[KINDS_MAX];
	struct variant good, variant[KINDS_MAX];
	struct err why[KINDS_MAX];          /* of a variant that was refused before it ran */
	struct tally tally[KINDS_MAX];
	atomic_uint left;                   /* in the soak */
	const char *state;                  /* a file, or NULL */
	unsigned goal, before, lanes;
	int64_t alone_ns, soak_ns;          /* how long each part took */
	int64_t deadline;
	double median_ns;                   /* of the good kernel, before any fault */
};

static int run_good(struct lane *l, double *ret_median, struct err *e)
{
	static const struct trial_timing timing = { .min_samples = SAMPLES, .max_samples = SAMPLES, .rse = 0, .cap_ns = 5 * CLOCK_S,
						    .warm = true };
	struct trial t;
	struct trial_times times = { 0 };
	int rc = trial_begin(&t, l->worker, &l->bench->good, e);
	if (rc < 0)
		return rc;
	rc = trial_execute(&t, &input, EXECUTE_NS, NULL, e);
	if (rc == 0 && ret_median) {
		rc = trial_measure(&t, &timing, &times, e);
		*ret_median = rc == 0 ? times.median : NAN;
		trial_times_fini(&times);
	}
	trial_end(&t);
	return rc;
}

static void *kill_soon(void *arg)
{
	const struct pool_worker *w = arg;
	clock_sleep(KILL_NS);
	kill(pool_worker_pid(w), SIGKILL);
	return NULL;
}

/* The error that the configuration gives; ERR_NONE when it did not fail. */
static enum err_code meet(struct lane *l, size_t kind, struct err *e)
{
	struct bench *b = l->bench;
	const struct kind *k = &kinds[kind];
	struct trial t;
	pthread_t killer;
	if (b->why[kind].code != ERR_NONE) {
		/* Host code or the compiler refuses it. Build it again, because that is what a configuration costs. */
		struct params *params = b->good.params;
		struct variant v = { 0 };
		int rc = variant_build(&l->ev, b->ctx[kind], params, &b->facts, &v, e);
		variant_fini(&v);
		return rc < 0 ? e->code : ERR_NONE;
	}
	if (trial_begin(&t, l->worker, &b->variant[kind], e) < 0)
		return e->code;
	if (k->how == HOW_KILL)
		pthread_create(&killer, NULL, kill_soon, l->worker);
	int rc = trial_execute(&t, &input, k->how == HOW_HANG ? HANG_NS : EXECUTE_NS, NULL, e);
	if (k->how == HOW_KILL)
		pthread_join(killer, NULL);
	trial_end(&t);
	return rc < 0 ? e->code : ERR_NONE;
}

static bool is_expected(const struct kind *k, enum err_code code)
{
	for (size_t i = 0; i < MEM_COUNT(k->codes); i++)
		if (code != ERR_NONE && k->codes[i] == code)
			return true;
	return false;
}

static bool is_there(const struct bench *b, const struct kind *k)
{
	return b->cuda ? k->cuda : k->hlsl;
}

static void raise_to(atomic_llong *at, long long value)
{
	long long old = atomic_load(at);
	while (value > old && !atomic_compare_exchange_weak(at, &old, value))
		;
}

static void meet_and_recover(struct lane *l, size_t kind, bool timed)
{
	struct tally *t = &l->bench->tally[kind];
	struct err e = ERR_INIT, after = ERR_INIT;
	/* From the faulting launch until a good kernel has run (fault, death, start, device, run), without intended waits. */
	int64_t began = clock_now(), wanted = kinds[kind].how == HOW_HANG ? HANG_NS : kinds[kind].how == HOW_KILL ? KILL_NS : 0;
	enum err_code code = meet(l, kind, &e);
	int rc = run_good(l, NULL, &after);
	int64_t took = clock_now() - began - wanted;
	bool bad = !is_expected(&kinds[kind], code) || rc < 0;
	atomic_fetch_add(&t->count, 1);
	atomic_fetch_add(&t->recovery_sum, took);
	raise_to(&t->recovery_max, took);
	if (bad)
		atomic_fetch_add(&t->unexpected, 1);
	if (timed || bad)
		snprintf(t->said, sizeof t->said, "%s: %.200s%s%.60s", err_code_name(code), e.text, rc < 0 ? "; and then " : "",
			 rc < 0 ? after.text : "");
	if (timed) {
		t->alone = took;
		double median = NAN;
		if (run_good(l, &median, &after) < 0)
			atomic_fetch_add(&t->unexpected, 1);
		t->ratio = median / l->bench->median_ns;
	}
}

/* --- lanes ------------------------------------------------------------------------------------------------------------------ */

static int lane_open(struct lane *l, struct bench *b, const char *locks, size_t number, struct err *e)
{
	/* Each lane has its own lock folder, because lanes share the device on purpose; two daemons never do. */
	char *folder = mem_fmt("%s/%zu", locks, number), *command = mem_fmt("mkdir -p '%s'", folder);
	struct pool_config config = { .compile_workers = 1, .lock_space = folder };
	int rc = system(command) == 0 ? 0 : err_set(e, ERR_IO, "cannot make %s", folder);
	*l = (struct lane){ .bench = b, .pool = pool_new(&config), .first = number };
	l->ev = (struct eval){ .pool = l->pool };
	if (rc == 0 && b->facts.runs)
		rc = pool_take_device(l->pool, &b->facts, NULL, &l->worker, e);
	free(folder);
	free(command);
	return rc;
}

static void lane_close(struct lane *l)
{
	pool_give(l->worker);
	pool_free(l->pool);
}

static unsigned read_state(const char *path)
{
	unsigned done = 0;
	FILE *f = path ? fopen(path, "re") : NULL;
	if (f && fscanf(f, "%u", &done) != 1)
		done = 0;
	if (f)
		fclose(f);
	return done;
}

static void write_state(const char *path, unsigned done)
{
	FILE *f = path ? fopen(path, "we") : NULL;
	if (f) {
		fprintf(f, "%u\n", done);
		fclose(f);
	}
}

static void *soak(void *arg)
{
	struct lane *l = arg;
	struct bench *b = l->bench;
	for (size_t kind = l->first; clock_now() < b->deadline; kind++) {
		const struct kind *k = &kinds[kind % MEM_COUNT(kinds)];
		if (!is_there(b, k))
			continue;
		unsigned left = atomic_load(&b->left);
		while (left > 0 && !atomic_compare_exchange_weak(&b->left, &left, left - 1))
			;
		if (left == 0)
			break;
		meet_and_recover(l, kind % MEM_COUNT(kinds), false);
		/* A killed process has then counted what it did. */
		write_state(b->state, b->goal - atomic_load(&b->left));
	}
	return NULL;
}

/* --- the report ------------------------------------------------------------------------------------------------------------- */

static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar((unsigned char)*text < 0x20 ? ' ' : *text);
	}
	putchar('"');
}

static void print_left(const char *name, const struct left *l)
{
	printf(" \"%s\": {\"descriptors\": %ld, \"children\": %ld, \"rss_kib\": %ld, \"device_mib\": %.1f, \"device_processes\": "
	       "%d},\n",
	       name, l->descriptors, l->children, l->rss_kib, l->device_mib, l->device_processes);
}

static unsigned print_kinds(struct bench *b)
{
	unsigned bad = 0;
	const char *comma = "";
	printf(" \"kinds\": {");
	for (size_t i = 0; i < MEM_COUNT(kinds); i++) {
		struct tally *t = &b->tally[i];
		unsigned count = atomic_load(&t->count);
		if (!is_there(b, &kinds[i]))
			continue;
		printf("%s\n  \"%s\": {\"count\": %u, \"unexpected\": %u, \"recovery_ms\": %.1f, \"soak_ms_mean\": %.1f, "
		       "\"soak_ms_max\": %.1f, ",
		       comma, kinds[i].name, count, atomic_load(&t->unexpected), (double)t->alone / 1e6,
		       count ? (double)atomic_load(&t->recovery_sum) / count / 1e6 : 0,
		       (double)atomic_load(&t->recovery_max) / 1e6);
		if (isfinite(t->ratio))
			printf("\"median_ratio\": %.4f, ", t->ratio);
		printf("\"said\": ");
		print_text(t->said);
		printf("}");
		comma = ",";
		bad += atomic_load(&t->unexpected);
	}
	printf("\n },\n");
	return bad;
}

/* --- the course ------------------------------------------------------------------------------------------------------------- */

static int build_all(struct bench *b, struct lane *l, struct err *e)
{
	struct params *params = NULL;
	char text[64];
	snprintf(text, sizeof text, "n=%d B=64", N);
	b->good_ctx = make_context(&good, b->cuda);
	int rc = b->good_ctx ? params_parse(b->good_ctx, text, true, &params, e) : err_set(e, ERR_INTERNAL, "no context");
	if (rc == 0)
		rc = variant_build(&l->ev, b->good_ctx, params, &b->facts, &b->good, e);
	for (size_t i = 0; rc == 0 && i < MEM_COUNT(kinds); i++) {
		struct facts facts = b->facts;
		if (!is_there(b, &kinds[i]))
			continue;
		if (kinds[i].arch)
			snprintf(facts.arch, sizeof facts.arch, "%s", kinds[i].arch);
		b->ctx[i] = make_context(&kinds[i], b->cuda);
		b->why[i] = (struct err)ERR_INIT;
		if (b->ctx[i] == NULL)
			rc = err_set(e, ERR_INTERNAL, "no context for %s", kinds[i].name);
		else
			variant_build(&l->ev, b->ctx[i], params, &facts, &b->variant[i], &b->why[i]);
	}
	params_free(params);
	return rc;
}

static unsigned meet_each(struct bench *b, struct lane *l, struct err *e)
{
	if (run_good(l, &b->median_ns, e) < 0)
		return 1;
	for (size_t i = 0; i < MEM_COUNT(kinds); i++) {
		if (!is_there(b, &kinds[i]))
			continue;
		meet_and_recover(l, i, true);
		fprintf(stderr, "faults: %s: %.0f ms, %s\n", kinds[i].name, (double)b->tally[i].alone / 1e6, b->tally[i].said);
	}
	return 0;
}

static int run_soak(struct bench *b, const char *locks, struct err *e)
{
	static struct lane lanes[LANES_MAX];
	unsigned opened = 0;
	int rc = 0;
	while (rc == 0 && opened < b->lanes) {
		rc = lane_open(&lanes[opened], b, locks, opened + 1, e);
		opened++;
	}
	for (unsigned i = 0; rc == 0 && i < opened; i++)
		if (pthread_create(&lanes[i].thread, NULL, soak, &lanes[i]) != 0)
			abort();
	for (unsigned i = 0; i < opened; i++) {
		if (rc == 0)
			pthread_join(lanes[i].thread, NULL);
		lane_close(&lanes[i]);
	}
	return rc;
}

static int find_device(struct bench *b, const char *id, struct err *e)
{
	struct pool_config config = { .compile_workers = 1 };
	struct pool *pool = pool_new(&config);
	int rc = pool_device(pool, id, &b->facts, e);
	pool_free(pool);
	b->cuda = strcmp(b->facts.backend, "cuda") == 0;
	return rc;
}

static void free_all(struct bench *b)
{
	for (size_t i = 0; i < MEM_COUNT(kinds); i++) {
		variant_fini(&b->variant[i]);
		context_free(b->ctx[i]);
	}
	variant_fini(&b->good);
	context_free(b->good_ctx);
}

/* For an architecture without a device: reports which contexts compile, so that they can fault. */
static int compile_only(struct bench *b)
{
	const char *comma = "";
	printf("{");
	for (size_t i = 0; i < MEM_COUNT(kinds); i++) {
		if (!is_there(b, &kinds[i]))
			continue;
		printf("%s\n \"%s\": ", comma, kinds[i].name);
		print_text(b->why[i].code == ERR_NONE ? "compiled" : b->why[i].text);
		comma = ",";
	}
	printf("\n}\n");
	return 0;
}

static int course(struct bench *b, const char *state, const char *locks, struct err *e)
{
	struct lane l;
	int64_t began = clock_now();
	struct left first = look(&b->facts);
	int rc = lane_open(&l, b, locks, 0, e);
	if (rc == 0)
		rc = build_all(b, &l, e);
	if (rc == 0 && !b->facts.runs) {
		lane_close(&l);
		return compile_only(b);
	}
	if (rc == 0 && meet_each(b, &l, e))
		rc = -(int)e->code;
	b->alone_ns = clock_now() - began;
	/* This lane stays open: the driver shuts down an unused device between two workers. */
	if (rc == 0)
		rc = run_soak(b, locks, e);
	b->soak_ns = clock_now() - began - b->alone_ns;
	lane_close(&l);
	if (rc < 0)
		return rc;
	struct left last = look(&b->facts);
	unsigned soaked = b->goal - b->before - atomic_load(&b->left), total = b->before + soaked;
	write_state(state, total);
	printf("{\n \"device\": ");
	print_text(b->facts.name);
	printf(",\n \"driver\": ");
	print_text(b->facts.driver);
	printf(",\n \"good_median_us\": %.2f,\n", b->median_ns / 1e3);
	unsigned bad = print_kinds(b);
	print_left("before", &first);
	print_left("after", &last);
	bool leaks = last.descriptors > first.descriptors || last.children > first.children ||
	             (first.device_mib >= 0 && last.device_mib > first.device_mib + 16);
	bool slower = false;
	for (size_t i = 0; i < MEM_COUNT(kinds); i++)
		slower |= is_there(b, &kinds[i]) && !b->facts.shares_cpu && !(fabs(b->tally[i].ratio - 1) <= SAME);
	printf(" \"alone_s\": %.1f, \"soak_s\": %.1f,\n", (double)b->alone_ns / 1e9, (double)b->soak_ns / 1e9);
	printf(" \"lanes\": %u, \"soaked\": %u, \"total\": %u, \"goal\": %u, \"seconds\": %.1f,\n \"unexpected\": %u, \"leaks\": "
	       "%s, \"slower\": %s\n}\n",
	       b->lanes, soaked, total, b->goal, (double)(clock_now() - began) / 1e9, bad, leaks ? "true" : "false",
	       slower ? "true" : "false");
	return bad || leaks || slower;
}

static const char *option(int argc, char **argv, const char *name, const char *or_else)
{
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return argv[i + 1];
	return or_else;
}

int main(int argc, char **argv)
{
	static struct bench b;
	struct err e = ERR_INIT;
	char locks[] = "/tmp/peakd-faults-XXXXXX";
	if (argc > 1 && strcmp(argv[1], "worker") == 0)
		return worker_main();
	const char *state = b.state = option(argc, argv, "--state", NULL);
	b.goal = (unsigned)atoi(option(argc, argv, "--count", "0"));
	b.before = read_state(state);
	if (b.before > b.goal)
		b.goal = b.before;
	atomic_store(&b.left, b.goal - b.before);
	b.lanes = (unsigned)atoi(option(argc, argv, "--lanes", "1"));
	b.lanes = b.lanes < 1 ? 1 : b.lanes > LANES_MAX ? LANES_MAX : b.lanes;
	b.deadline = clock_now() + (int64_t)atoi(option(argc, argv, "--seconds", "86400")) * CLOCK_S;
	for (size_t i = 0; i < MEM_COUNT(kinds); i++)
		b.tally[i].ratio = NAN;
	int rc = mkdtemp(locks) ? find_device(&b, option(argc, argv, "--device", "cuda:0"), &e)
				: err_set(&e, ERR_IO, "no %s", locks);
	if (rc == 0)
		rc = course(&b, state, locks, &e);
	if (rc < 0)
		fprintf(stderr, "faults: %s\n", e.text);
	free_all(&b);
	char *command = mem_fmt("rm -rf '%s'", locks);
	if (system(command) != 0)
		fprintf(stderr, "faults: %s is left\n", locks);
	free(command);
	return rc < 0 ? 2 : rc;
}

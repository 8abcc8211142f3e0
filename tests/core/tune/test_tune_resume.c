/* core/tune/tune when it is disturbed: killed at random moments it goes on and measures nothing twice; cancelled it answers within
 * a second with what it has; two tunes on one device take turns. Also several sizes at once and other objectives. */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "core/tune/insight.h"
#include "core/tune/tune.h"
#include "core/record/measurement.h"
#include "core/sample.h"
#include "pace.h"

enum { BUDGET = 14, KILLS = 4, MOST_OF_A_LIFE = 8, LOTS = 40 };

extern char **environ;

/* No blocks of a few threads: lavapipe allocates for each, which the address sanitizer makes gigabytes of, and a worker that has
 * them takes more than a second to be killed. */
static struct context *many(void)
{
	static const char text[] =
		"---\nkernel: matmul\nbackend: hlsl\ninputs:\n  n: int = {64, 96}\n  A: f32[n, n] = random\n"
		"  B: f32[n, n] = random\n"
		"  C: out f32[n, n]\ntune:\n  BX: {8, 16, 24, 32, 48, 64}\n  BY: {2, 4, 6, 8, 12, 16}\n  U: {1, 2, 4}\nwhere:\n"
		"  - BX*BY <= 256\n"
		"flops: 2*n^3\n---\n```hlsl\n[numthreads(BX, BY, 1)]\nvoid matmul(uint3 id : SV_DispatchThreadID) {\n"
		"  int row = id.y, col = id.x;\n  if (row >= n || col >= n) return;\n  float acc = 0;\n"
		"  for (int k = 0; k < n; k += U)\n    for (int u = 0; u < U; u++)\n      acc += A[row*n+k+u]*B[(k+u)*n+col];\n"
		"  C[row*n + col] = acc;\n}\n```\n```lua host\nlaunch(\"matmul\", {cdiv(n,BX), cdiv(n,BY)}, {BX,BY}, {A,B,C,n})\n"
		"```\n";
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	if (context_parse("many", text, &ctx, &e) < 0)
		printf("# %s\n", e.text);
	return ctx;
}

/* A checkpoint of its own for each test: the same context, made by something else. */
static int64_t checkpoint_by(struct sample *s, const char *by)
{
	struct context *ctx = many();
	struct err e = ERR_INIT;
	struct checkpoint c = { .kernel = "matmul", .backend = "hlsl", .by = by, .status = CHECKPOINT_DRAFT };
	char *canonical = context_canonical(ctx);
	int64_t id = 0;
	if (checkpoint_add(s->db, &c, canonical, &id, &e) < 0)
		printf("# %s\n", e.text);
	free(canonical);
	context_free(ctx);
	return id;
}

static struct params *size_of(int n)
{
	struct params *size = params_new();
	params_set_int(size, "n", false, n);
	return size;
}

struct piece {
	struct sample *s;
	struct db *db;
	int64_t checkpoint;
	const char *job;
	size_t budget;
	struct cancel *cancel;
	void (*progress)(void *arg, double done, double total, const char *message);
	void *progress_arg;
	bool resume;
	uint64_t seed; /* 0: 5 */
	struct tune_result result;
	struct err e;
	int rc;
};

static void run_piece(struct piece *p)
{
	struct context *ctx = many();
	struct params *size = size_of(64);
	struct eval ev = { .pool = p->s->pool, .references = p->s->references, .cancel = p->cancel, .progress = p->progress,
	                   .progress_arg = p->progress_arg };
	struct tune_request q = { .ctx = ctx, .baseline = ctx, .facts = &p->s->facts, .size = size, .budget = p->budget,
				  .seed = p->seed ? p->seed : 5, .finalists = 2, .resume = p->resume };
	p->e = (struct err)ERR_INIT;
	p->rc = tune_run(&ev, &q, p->db, p->checkpoint, p->job, &p->result, &p->e);
	if (p->rc < 0 && p->rc != -ERR_CANCELLED)
		printf("# %s\n", p->e.text);
	params_free(size);
	context_free(ctx);
}

/* Told behind a commit, by the thread that records; the tune waits until it returns. */
static bool is_report(const char *message, size_t *ret_tried)
{
	size_t planned;
	return sscanf(message, "tune %zu/%zu,", ret_tried, &planned) == 2;
}

/* With a handle of the thread's own. */
static void *run_thread(void *piece)
{
	struct piece *p = piece;
	p->rc = store_take(p->s->store, &p->db, &p->e);
	if (p->rc == 0)
		run_piece(p);
	store_give(p->db);
	return NULL;
}

/* --- killed --------------------------------------------------------------------------------------------------------------- */

/* Records no more from its second report on: what is killed leaves something to do, however late that is. Compilers and device go
 * on. */
static void stay(void *arg, double done, double total, const char *message)
{
	size_t tried;
	int *reports = arg;
	(void)done;
	(void)total;
	while (is_report(message, &tried) && *reports > 0)
		pause();
	*reports += is_report(message, &tried);
}

/* `test_tune_resume tune DB CHECKPOINT`, or `stay` for what gets killed. */
static int child(const char *what, const char *path, const char *checkpoint)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody else would end one that stays */
	char *folder = mem_strn(path, (size_t)(strrchr(path, '/') - path));
	struct pool_config config = { .compile_workers = 2, .lock_space = folder };
	struct sample s = { .pool = pool_new(&config), .references = references_new(64 << 20) };
	struct err e = ERR_INIT;
	struct store *store;
	int reports = 0;
	struct piece p = { .s = &s, .checkpoint = atoll(checkpoint), .job = "killed", .budget = BUDGET,
			   .progress = strcmp(what, "stay") == 0 ? stay : NULL, .progress_arg = &reports };
	if (pool_device(s.pool, "hlsl:0", &s.facts, &e) < 0 || store_open(path, &store, &e) < 0 || store_take(store, &p.db, &e) < 0)
		return 1;
	run_piece(&p);
	tune_result_fini(&p.result);
	store_give(p.db);
	store_close(store);
	references_free(s.references);
	pool_free(s.pool);
	free(folder);
	return p.rc < 0;
}

static size_t search_rows(struct db *db, int64_t checkpoint, size_t *ret_twice);

/* Runs it, to its end or until, some random time after it has measured something new, it is killed. */
static int run_child(struct sample *s, const char *self, const char *path, int64_t checkpoint, int to_end, int *ret_status)
{
	size_t twice, before = search_rows(s->db, checkpoint, &twice);
	char number[32];
	pid_t pid;
	snprintf(number, sizeof number, "%lld", (long long)checkpoint);
	char *const argv[] = { (char *)self, to_end ? "tune" : "stay", (char *)path, number, NULL };
	if (posix_spawn(&pid, self, NULL, NULL, argv, environ) != 0)
		return -1;
	while (!to_end && search_rows(s->db, checkpoint, &twice) == before) {
		if (waitpid(pid, ret_status, WNOHANG) == pid)
			return -1;
		clock_sleep(5 * CLOCK_MS);
	}
	if (!to_end) {
		clock_sleep(rand() % 60 * CLOCK_MS); /* a configuration takes about that */
		kill(pid, SIGKILL);
	}
	return waitpid(pid, ret_status, 0) == pid ? 0 : -1;
}

/* Rows of the search, and how many of them repeat an earlier one. */
static size_t search_rows(struct db *db, int64_t checkpoint, size_t *ret_twice)
{
	struct measurement_query q = { .checkpoint = checkpoint };
	struct measurement_list rows;
	struct err e = ERR_INIT;
	size_t n = 0;
	*ret_twice = 0;
	measurement_list(db, &q, &rows, &e);
	for (size_t i = 0; i < rows.count; i++) {
		if (rows.at[i].message == NULL || strncmp(rows.at[i].message, "search", 6) != 0)
			continue;
		n++;
		for (size_t k = 0; k < i; k++)
			*ret_twice += rows.at[k].message && strncmp(rows.at[k].message, "search", 6) == 0 &&
			              strcmp(rows.at[k].params, rows.at[i].params) == 0;
	}
	measurement_list_fini(&rows);
	return n;
}

/* What a run of job "killed" found, asked for by others. */
static void taken_over(struct sample *s, int64_t checkpoint, const struct tune_result *before)
{
	size_t twice, rows = search_rows(s->db, checkpoint, &twice);
	struct piece p = { .s = s, .db = s->db, .checkpoint = checkpoint, .job = "another", .budget = BUDGET + 5, .resume = true };
	run_piece(&p);
	ok(p.rc == 0 && p.result.known && p.result.run == before->run,
	   "another job that resumes finds the run, whatever its budget");
	ok(p.result.top_count == before->top_count && params_equal(p.result.top[0].params, before->top[0].params) &&
	   p.result.top[0].median_ns == before->top[0].median_ns && p.result.top[0].validation == before->top[0].validation,
	   "and says the same");
	is_int((long long)search_rows(s->db, checkpoint, &twice), (long long)rows, "nothing is measured");
	tune_result_fini(&p.result);
	p.seed = 6;
	p.budget = 2;
	run_piece(&p);
	ok(p.rc == 0 && !p.result.known && p.result.run != before->run, "with another seed the record is not the answer");
	tune_result_fini(&p.result);
	p.seed = 0;
	p.resume = false;
	run_piece(&p);
	ok(p.rc == 0 && !p.result.known && p.result.run != before->run, "a tune without resume measures anew");
	tune_result_fini(&p.result);
}

static void killed(struct sample *s, const char *self)
{
	int64_t checkpoint = checkpoint_by(s, "killed");
	char *path = mem_fmt("%s/t.db", s->folder);
	size_t twice, before = 0, rows = 0;
	int status = 1, lives = 0, grew = 0;
	srand((unsigned)getpid());
	/* A commit takes what there is: how much that is nobody knows. */
	for (; lives < KILLS && rows + MOST_OF_A_LIFE <= BUDGET; lives++) {
		run_child(s, self, path, checkpoint, 0, &status);
		rows = search_rows(s->db, checkpoint, &twice);
		printf("# killed: %zu configurations are measured\n", rows);
		grew += rows > before && WIFSIGNALED(status);
		before = rows;
	}
	is_int(grew, lives, "killed %d times, it has measured %zu configurations", lives, rows);
	run_child(s, self, path, checkpoint, 1, &status);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "an undisturbed tune ends well");
	rows = search_rows(s->db, checkpoint, &twice);
	is_int((long long)rows, BUDGET, "exactly the budget was measured");
	is_int((long long)twice, 0, "nothing is measured twice");
	struct piece p = { .s = s, .db = s->db, .checkpoint = checkpoint, .job = "killed", .budget = BUDGET };
	run_piece(&p);
	is_int(p.rc, 0, "once more");
	is_int((long long)p.result.resumed, BUDGET, "a resumed tune finds everything done");
	ok(p.result.top_count == 2 && p.result.top[0].validation > 0, "and the answer is the same, validated");
	is_int((long long)search_rows(s->db, checkpoint, &twice), BUDGET, "nothing is measured");
	ok(p.result.known, "the answer is from the record");
	struct context *ctx = many();
	struct buf out = BUF_INIT;
	struct err e = ERR_INIT;
	is_int(insight_text(s->db, checkpoint, ctx, &out, &e), 0, "the report %s", e.text);
	has_str(buf_text(&out), "tried: 14 of 72 valid configurations", "how much of the space was seen is told");
	has_str(buf_text(&out), "what matters", "which parameters matter is told");
	has_str(buf_text(&out), "more budget:", "whether more budget is likely to pay is told");
	taken_over(s, checkpoint, &p.result);
	buf_fini(&out);
	context_free(ctx);
	tune_result_fini(&p.result);
	free(path);
}

/* --- cancelled ------------------------------------------------------------------------------------------------------------ */

/* Three are recorded; no more are until it is cancelled. */
struct third { struct cancel cancel; atomic_bool reached; };

static void reach_third(void *arg, double done, double total, const char *message)
{
	struct third *t = arg;
	size_t tried;
	(void)done;
	(void)total;
	while (is_report(message, &tried) && tried >= 3 && !cancel_asked(&t->cancel)) {
		t->reached = true;
		clock_sleep(CLOCK_MS);
	}
}

static void cancelled(struct sample *s)
{
	struct third third = { .reached = false };
	size_t twice;
	pthread_t thread;
	struct piece p = { .s = s, .job = "cancelled", .budget = LOTS, .cancel = &third.cancel, .progress = reach_third,
			   .progress_arg = &third };
	p.checkpoint = checkpoint_by(s, "cancelled");
	pthread_create(&thread, NULL, run_thread, &p);
	for (int i = 0; i < 120000 && !third.reached; i++)
		clock_sleep(CLOCK_MS);
	struct pace pace = pace_begin();
	cancel_ask(&third.cancel);
	pool_interrupt(s->pool, &third.cancel);
	pthread_join(thread, NULL);
	bool soon = pace_within(&pace, CLOCK_S);
	is_int(p.rc, -ERR_CANCELLED, "a tune is cancelled");
	ok(soon, "the cancelled tune answers within a second (%s)", pace_text(&pace));
	ok(p.result.top_count >= 1 && p.result.top[0].validation == 0 && p.result.tried >= 3,
	   "with what it has: %zu tried, the fastest %.0f ns, without evidence", p.result.tried,
	   p.result.top_count ? p.result.top[0].median_ns : 0);
	size_t tried = p.result.tried;
	int64_t run = p.result.run;
	tune_result_fini(&p.result);
	struct piece more = { .s = s, .db = s->db, .job = "goes on", .budget = LOTS, .checkpoint = p.checkpoint, .resume = true };
	run_piece(&more);
	ok(more.rc == 0 && more.result.run == run && !more.result.known && more.result.resumed > 0 && more.result.resumed <= tried,
	   "another job goes on with its run (%zu of %zu taken over)", more.result.resumed, tried);
	search_rows(s->db, p.checkpoint, &twice);
	is_int((long long)twice, 0, "and nothing is measured twice");
	tune_result_fini(&more.result);
}

/* --- two at once ---------------------------------------------------------------------------------------------------------- */

/* The first one has to wait for the other to stand in line, or it could be through before that has begun. */
static atomic_bool in_line;

static void stand_in_line(void *arg, double done, double total, const char *message)
{
	size_t tried;
	(void)arg;
	(void)done;
	(void)total;
	if (strstr(message, "another job uses it"))
		in_line = true;
	for (int i = 0; is_report(message, &tried) && !in_line && i < 60000; i++)
		clock_sleep(CLOCK_MS);
}

static void turns(struct sample *s)
{
	struct err e = ERR_INIT; /* of reading */
	struct piece p[2];
	pthread_t threads[2];
	size_t changes = 0;
	int64_t last = 0;
	for (int i = 0; i < 2; i++) {
		const char *name = i ? "second" : "first";
		p[i] = (struct piece){ .s = s, .job = name, .budget = BUDGET, .checkpoint = checkpoint_by(s, name),
				       .progress = stand_in_line };
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run_thread, &p[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	/* Numbers of measurements are the order in which they were made. */
	struct measurement_list rows[2];
	for (int i = 0; i < 2; i++) {
		struct measurement_query q = { .checkpoint = p[i].checkpoint };
		measurement_list(s->db, &q, &rows[i], &e);
	}
	for (size_t a = 0, b = 0; a < rows[0].count && b < rows[1].count;) {
		int64_t whose = rows[0].at[a].id < rows[1].at[b].id ? 1 : 2;
		changes += last && whose != last;
		last = whose;
		*(whose == 1 ? &a : &b) += 1;
	}
	ok(p[0].rc == 0 && p[1].rc == 0, "two tunes on one device end well");
	ok(changes >= 2, "two tunes take turns (%zu changes)", changes);
	for (int i = 0; i < 2; i++) {
		measurement_list_fini(&rows[i]);
		tune_result_fini(&p[i].result);
	}
}

/* --- what is wanted ------------------------------------------------------------------------------------------------------- */

static void objectives(struct sample *s)
{
	struct context *ctx = many();
	struct err e = ERR_INIT;
	struct params *size = size_of(64), *also[] = { size_of(96) };
	int64_t checkpoint = checkpoint_by(s, "objectives");
	struct eval ev = { .pool = s->pool, .references = s->references };
	struct tune_request q = { .ctx = ctx, .baseline = ctx, .facts = &s->facts, .size = size, .also = also, .also_count = 1,
				  .budget = 4, .seed = 1, .finalists = 1 };
	struct tune_result t = { 0 };
	is_int(tune_run(&ev, &q, s->db, checkpoint, NULL, &t, &e), 0, "two sizes at once %s", e.text);
	struct measurement_query mq = { .checkpoint = checkpoint, .device = s->facts.uuid, .run = t.run };
	struct measurement_list best = { 0 };
	measurement_best_each(s->db, &mq, &best, &e);
	is_int((long long)best.count, 2, "the winner has a quotable time at both sizes");
	if (best.count == 2) {
		double mean = sqrt(best.at[0].median_ns * best.at[1].median_ns);
		ok(fabs(t.top[0].value / mean - 1) < 1e-9, "the value over two sizes is their geometric mean");
	}
	measurement_list_fini(&best);
	tune_result_fini(&t);
	q.worst = true;
	is_int(tune_run(&ev, &q, s->db, checkpoint, NULL, &t, &e), 0, "the worst ratio of two sizes %s", e.text);
	mq.run = t.run;
	measurement_best_each(s->db, &mq, &best, &e);
	if (best.count == 2)
		ok(t.top[0].value == best.at[0].median_ns || t.top[0].value == best.at[1].median_ns,
		   "the only finalist is what its own times are measured against, not what the search saw");
	measurement_list_fini(&best);
	tune_result_fini(&t);
	q.also_count = 0;
	q.objective = "time * 1e6 * (1 + BX / 1000)";
	is_int(tune_run(&ev, &q, s->db, checkpoint, NULL, &t, &e), 0, "an expression is an objective %s", e.text);
	if (t.top_count) {
		double want = t.top[0].median_ns / 1e3 * (1 + (double)params_find(t.top[0].params, "BX")->i / 1000);
		ok(fabs(t.top[0].value / want - 1) < 1e-9, "the expression's value is right (%g)", t.top[0].value);
	}
	tune_result_fini(&t);
	q.objective = "edp";
	is_int(tune_run(&ev, &q, s->db, checkpoint, NULL, &t, &e), -ERR_UNSUPPORTED,
	       "energy on a device that does not measure it is refused");
	has_str(e.text, "no energy counter", "it is refused before anything runs");
	q.objective = "speed / 2";
	is_int(tune_run(&ev, &q, s->db, checkpoint, NULL, &t, &e), -ERR_INPUT, "an unknown metric is refused");
	has_str(e.text, "registers", "and the error lists the metrics");
	q.objective = NULL;
	q.budget = 0;
	q.device_seconds = 0.1; /* fifty of two milliseconds of warm-up each, and the queue, are fewer than all */
	is_int(tune_run(&ev, &q, s->db, checkpoint, NULL, &t, &e), 0, "a budget of device-seconds %s", e.text);
	ok(t.tried >= 1 && t.tried < t.space, "the budget ends the search (%zu of %zu)", t.tried, t.space);
	tune_result_fini(&t);
	params_free(size);
	params_free(also[0]);
	context_free(ctx);
}

int main(int argc, char **argv)
{
	struct sample s;
	sample_worker(argc, argv);
	if (argc == 4)
		return child(argv[1], argv[2], argv[3]);
	sample_init(&s);
	if (!s.ready) {
		SKIP(8, "no HLSL device");
	} else {
		objectives(&s);
		killed(&s, argv[0]);
		cancelled(&s);
		turns(&s);
	}
	sample_fini(&s);
	return tap_done();
}

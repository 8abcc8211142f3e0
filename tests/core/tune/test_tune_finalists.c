/* core/tune/tune where times are given, by a worker without compiler and device: what is far slower than the best is given up after
 * its first samples and never leads; where the best stand so close that the search cannot tell them apart, they are timed again
 * before three of them are validated; finalists that stand close together race in pairs, and a pair decides, not the figure
 * before. */
#include "core/tune/tune.h"

#include "bench/fake_worker.h"
#include "core/sample.h"
#include "core/record/measurement.h"
#include "core/record/query.h"

enum { POINTS = 40, SLOW_FROM = 20 };

/* What the worker's pairs say, by $PEAKD_TEST_RACE. */
enum {
	SECOND_WINS, THIRD_WOULD_WIN, NOBODY_WINS, CLOSE_TOGETHER, FEW_CLOSE, TWO_SIZES, FIRST_SPOILT, FIRST_CRASHES,
	FIRST_CRASHES_LATER, DRIFTS, DRIFTS_ON
};

/* Of those that the search cannot tell apart the fastest when timed as a quoted figure is. */
enum { CLOSE = 12, CLOSE_BEST = 9 };

static int x_of(const char *defines)
{
	const char *at = strstr(defines, "X=");
	return at ? atoi(at + 2) : 0;
}

/* TWO_SIZES: the first takes 2 and 1 ms. Those that come next are 5 % faster at what is worst. The others are twice as fast at one
 * size and twice as slow at the other. */
static uint64_t time_at(int x, bool large)
{
	if (x == 1)
		return large ? 1000000 : 2000000;
	if (x <= SLOW_FROM)
		return (large ? 950000 : 1800000) + (uint64_t)x * 100;
	return large ? 2000000 : 1000000;
}

static bool has_timed; /* this process did */

/* Alone: 1 is fastest, 2 is 1 % slower, 3 10 %, the others 30 %, and from SLOW_FROM on three times. CLOSE_TOGETHER: the search sees
 * 1 to CLOSE rise by a thousandth each, but CLOSE_BEST is fastest. All are 10 % faster when timed as a quoted figure is (their
 * caches are cold in another way). FEW_CLOSE: as many of them as are validated anyway. DRIFTS: three are within a percent, the
 * first is the fastest of each pair. The device grows slower by 2 % with each of the first three pairs; DRIFTS_ON: with each
 * pair. */
static uint64_t time_of(const char *defines, enum fake_timing how)
{
	has_timed = true;
	int x = x_of(defines), race = atoi(getenv("PEAKD_TEST_RACE"));
	if ((race == DRIFTS || race == DRIFTS_ON) && x <= 3)
		return how != FAKE_PAIRED ? 1000000 + (uint64_t)x * 1000
					  : (1000000 + (uint64_t)x * 5000) *
						    (100 + 2 * (race == DRIFTS && fake_pairs > 3 ? 3 : fake_pairs)) / 100;
	if (race == TWO_SIZES)
		return time_at(x, strstr(defines, "at 128") != NULL);
	int close = race == CLOSE_TOGETHER ? CLOSE : race == FEW_CLOSE ? 3 : 0;
	if (x <= close)
		return how == FAKE_SEARCHED ? 1000000 + (uint64_t)x * 1000 : x == CLOSE_BEST ? 890000 : 900000;
	if (how == FAKE_PAIRED && ((race == SECOND_WINS && x == 2) || (race == THIRD_WOULD_WIN && x == 3)))
		return 900000;
	return x == 1 ? 1000000 : x == 2 ? 1010000 : x == 3 ? 1100000 : x < SLOW_FROM ? 1300000 : 3000000;
}

/* Its compiler refuses the search's first from the moment on that there is the file which $PEAKD_TEST_REFUSE names. */
static bool refuses(const char *defines)
{
	const char *file = getenv("PEAKD_TEST_REFUSE");
	return file && x_of(defines) == 1 && access(file, F_OK) == 0;
}

static struct context *context_for(const char *backend)
{
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	char *text = mem_fmt("---\nkernel: k\nbackend: %s\ninputs:\n  n: int = {64, 128}\n  A: f32[n] = random\n  C: out f32[64]\n"
	                  "tune:\n  X: i for i = 1,40\nflops: 2*n^3\n---\n```%s\n[numthreads(64, 1, 1)]\n"
	                  "void k(uint3 id : SV_DispatchThreadID) { C[id.x] = X; }\n"
	                  "```\n```lua host\nlaunch(\"k\", {1}, {64}, {A, C, n})\n```\n", backend, backend);
	if (context_parse("finalists", text, &ctx, &e) < 0)
		printf("# %s\n", e.text);
	free(text);
	return ctx;
}

static struct context *context_of(void)
{
	return context_for("hlsl");
}

/* Its workers see the scene. */
static void begin(struct sample *s, int race)
{
	char text[8];
	snprintf(text, sizeof text, "%d", race);
	setenv("PEAKD_TEST_RACE", text, 1);
	sample_init(s);
}

static int run_of(struct sample *s, int64_t checkpoint, const struct context *ctx, size_t sizes, double give_up,
		  struct tune_result *ret_result, struct err *e)
{
	struct params *size = params_new(), *also = params_new();
	params_set_int(size, "n", false, 64);
	params_set_int(also, "n", false, 128);
	struct eval ev = { .pool = s->pool, .references = s->references };
	struct tune_request q = { .ctx = ctx, .baseline = ctx, .facts = &s->facts, .size = size, .also = &also,
				  .also_count = sizes - 1, .budget = POINTS, .strategy = "exhaustive", .seed = 1,
				  .give_up = give_up, .worst = true };
	int rc = tune_run(&ev, &q, s->db, checkpoint, "finalists", ret_result, e);
	params_free(size);
	params_free(also);
	return rc;
}

static void tune_of(struct sample *s, int64_t checkpoint, const struct context *ctx, size_t sizes, double give_up,
		    struct measurement_list *ret_rows, struct tune_result *ret_result)
{
	struct err e = ERR_INIT;
	struct measurement_query mq = { .checkpoint = checkpoint };
	*ret_rows = (struct measurement_list){ 0 };
	is_int(run_of(s, checkpoint, ctx, sizes, give_up, ret_result, &e), 0, "a tune with given times ends %s", e.text);
	measurement_list(s->db, &mq, ret_rows, &e);
}

/* FIRST_SPOILT: 1 computes something else from its first pair on. */
static bool is_spoilt(const char *defines)
{
	return atoi(getenv("PEAKD_TEST_RACE")) == FIRST_SPOILT && x_of(defines) == 1;
}

/* FIRST_CRASHES: what races first kills the worker, which holds two then, when it is checked before the pairs; FIRST_CRASHES_LATER:
 * after them. */
static bool is_gone(unsigned device, enum wire_type type, unsigned count)
{
	static unsigned raced;
	int race = atoi(getenv("PEAKD_TEST_RACE"));
	(void)device;
	(void)count;
	/* The process of references holds runs, too, but times none. */
	if (type != WIRE_EXECUTE || fake_runs[1] == NULL || fake_runs[2] == NULL || !has_timed)
		return false;
	raced++;
	return race == FIRST_CRASHES ? raced == 1 : race == FIRST_CRASHES_LATER && raced == 3;
}

/* A whole tune by a daemon of its own. */
static void tuned(int race, size_t sizes, double give_up, struct measurement_list *ret_rows, struct tune_result *ret_result)
{
	struct sample s;
	begin(&s, race);
	struct context *ctx = context_of();
	tune_of(&s, sample_checkpoint(&s, ctx), ctx, sizes, give_up, ret_rows, ret_result);
	context_free(ctx);
	sample_fini(&s);
}

struct given_up { size_t count, early, samples, full; };

/* Rows of the search that were given up; `early` of them were not that much slower than the best that any row before had. */
static struct given_up given_up(const struct measurement_list *rows, double factor)
{
	struct given_up g = { 0 };
	double best = INFINITY;
	for (size_t i = 0; i < rows->count; i++) {
		const struct measurement *m = &rows->at[i];
		if (m->message && strcmp(m->message, "search, given up early") == 0) {
			g.count++;
			g.early += !(m->median_ns > factor * best);
			g.samples += m->sample_count;
		} else {
			g.full += m->message && strcmp(m->message, "search") == 0 && m->median_ns > factor * best;
			best = m->median_ns < best ? m->median_ns : best;
		}
	}
	return g;
}

static long long winner(const struct tune_result *t)
{
	return t->top_count ? params_find(t->top[0].params, "X")->i : 0;
}

static void hopeless(void)
{
	struct measurement_list rows;
	struct tune_result t = { 0 };
	tuned(NOBODY_WINS, 1, 0, &rows, &t);
	struct given_up g = given_up(&rows, 1.6);
	/* The device may be handed one more before it hears of the first times. */
	ok(g.count >= 10 && g.count <= POINTS - SLOW_FROM + 1, "of %d three times slower than the best %zu are given up",
	   POINTS - SLOW_FROM + 1, g.count);
	is_int(g.early, 0, "and nothing near it");
	is_int(g.samples, FAKE_SAMPLES * g.count, "they are given up after the first samples");
	ok(t.tried == POINTS && t.timed == POINTS, "all of them count as tried and timed");
	measurement_list_fini(&rows);
	tune_result_fini(&t);
	tuned(NOBODY_WINS, 1, 4, &rows, &t);
	g = given_up(&rows, 4);
	is_int(g.count, 0, "a tune that gives up at four times the best gives up none of them");
	measurement_list_fini(&rows);
	tune_result_fini(&t);
	tuned(NOBODY_WINS, 2, 0, &rows, &t);
	g = given_up(&rows, 4);
	is_int(g.count, 0, "so does a tune over two sizes");
	measurement_list_fini(&rows);
	tune_result_fini(&t);
}

/* X of the validated row with the least median, of each X's last ones: what `workflow log` and `export` go by. */
static long long least_of(const struct measurement_list *rows)
{
	double last[POINTS + 1] = { 0 };
	long long least = 0;
	for (size_t i = 0; i < rows->count; i++) {
		const struct measurement *m = &rows->at[i];
		int x = x_of(m->params);
		if (m->status == MEASUREMENT_OK && m->proven && x > 0 && x <= POINTS)
			last[x] = m->median_ns;
	}
	for (int x = 1; x <= POINTS; x++)
		if (last[x] > 0 && (least == 0 || last[x] < last[least]))
			least = x;
	return least;
}

static void races(void)
{
	static const struct { int race; long long winner; const char *why; } cases[] = {
		{ NOBODY_WINS, 1, "the fastest wins, where the race says the same" },
		{ SECOND_WINS, 2, "one that is 1 % slower alone and faster in pairs wins" },
		{ THIRD_WOULD_WIN, 1, "one that is 10 % slower does not race" },
		{ FIRST_SPOILT, 2, "one that turns out wrong when it is timed in pairs is out" },
		{ FIRST_CRASHES, 2, "so is one that kills its worker, and not the one that it raced with" },
		{ FIRST_CRASHES_LATER, 2, "nor when it does so behind the pairs" },
		{ DRIFTS, 1, "the fastest of each pair wins while the device grows slower" },
	};
	for (size_t i = 0; i < MEM_COUNT(cases); i++) {
		struct measurement_list rows;
		struct tune_result t = { 0 };
		tuned(cases[i].race, 1, 0, &rows, &t);
		is_int(winner(&t), cases[i].winner, "%s", cases[i].why);
		size_t out =
			cases[i].race == FIRST_SPOILT || cases[i].race == FIRST_CRASHES || cases[i].race == FIRST_CRASHES_LATER;
		is_int(least_of(&rows), out ? 0 : cases[i].winner,
		       "and the record's fastest is the answer's, or nothing where one is wrong");
		ok(t.top_count == 3 - out && t.top[0].validation > 0 && t.top[0].samples >= 10,
		   "the winner is validated and has a quoted figure's samples (%zu)", t.top_count);
		ok(t.wrong + t.broken == out, "what could not be built is counted (%zu)", t.wrong + t.broken);
		measurement_list_fini(&rows);
		tune_result_fini(&t);
	}
}

/* Races whose figures cannot be compared, since the device never comes to rest: the answer is still what the record has. */
static void drifts_on(void)
{
	struct measurement_list rows;
	struct tune_result t = { 0 };
	size_t falls = 0;
	tuned(DRIFTS_ON, 1, 0, &rows, &t);
	is_int(winner(&t), least_of(&rows), "on a device that slows down with each pair the answer is the fastest in the record");
	for (size_t i = 1; i < t.top_count; i++)
		falls += t.top[i].value < t.top[i - 1].value;
	ok(t.top_count == 3 && falls == 0, "the top is sorted, fastest first");
	measurement_list_fini(&rows);
	tune_result_fini(&t);
}

static size_t timed_again(const struct measurement_list *rows)
{
	size_t n = 0;
	for (size_t i = 0; i < rows->count; i++)
		n += rows->at[i].message && strcmp(rows->at[i].message, "timed again, not validated") == 0 &&
		     rows->at[i].validation == 0;
	return n;
}

static void close_together(void)
{
	struct measurement_list rows;
	struct tune_result t = { 0 };
	tuned(CLOSE_TOGETHER, 1, 0, &rows, &t);
	is_int(winner(&t), CLOSE_BEST, "of %d within 2 %% in the search the fastest is found, though the search had it %dth", CLOSE,
	       CLOSE_BEST);
	is_int(timed_again(&rows), CLOSE, "all that are too close to tell apart are timed again, without evidence");
	ok(t.top_count == 3 && t.top[0].validation > 0, "three finalists are validated");
	measurement_list_fini(&rows);
	tune_result_fini(&t);
	tuned(FEW_CLOSE, 1, 0, &rows, &t);
	is_int(timed_again(&rows), 0, "where no more are close than are validated, nothing is timed again");
	measurement_list_fini(&rows);
	tune_result_fini(&t);
}

struct stop { struct cancel cancel; const char *at; };

static void stop_at(void *arg, double done, double total, const char *message)
{
	struct stop *s = arg;
	(void)done;
	(void)total;
	if (strstr(message, s->at))
		cancel_ask(&s->cancel);
}

/* Cancelled there, it tells what the search saw, in its order and by its times: they are of one kind. */
static void cancelled(void)
{
	struct sample s;
	struct tune_result t = { 0 };
	struct err e = ERR_INIT;
	struct stop stop = { .at = "timing 10 of 12 again" };
	begin(&s, CLOSE_TOGETHER);
	struct context *ctx = context_of();
	struct params *size = params_new();
	params_set_int(size, "n", false, 64);
	struct eval ev = { .pool = s.pool, .references = s.references, .cancel = &stop.cancel, .progress = stop_at,
			   .progress_arg = &stop };
	struct tune_request q = { .ctx = ctx, .baseline = ctx, .facts = &s.facts, .size = size, .budget = POINTS,
				  .strategy = "exhaustive", .seed = 1 };
	is_int(tune_run(&ev, &q, s.db, sample_checkpoint(&s, ctx), "finalists", &t, &e), -ERR_CANCELLED,
	       "a tune is cancelled while finalists are timed again");
	size_t falls = 0;
	for (size_t i = 1; i < t.top_count; i++)
		falls += t.top[i].value < t.top[i - 1].value;
	ok(t.top_count == TUNE_TOP && winner(&t) == 1 && falls == 0 && t.top[0].value > 1000000 && t.top[0].validation == 0,
	   "the cancelled tune has the search's fastest, not validated (%zu, the first %lld with %.0f)", t.top_count, winner(&t),
	   t.top_count ? t.top[0].value : 0);
	tune_result_fini(&t);
	params_free(size);
	context_free(ctx);
	sample_fini(&s);
}

/* As many as a result has room for, and one more. */
static void many_leaders(void)
{
	struct sample s;
	struct tune_result t = { 0 };
	struct err e = ERR_INIT;
	begin(&s, NOBODY_WINS);
	struct context *ctx = context_of();
	struct params *size = params_new();
	params_set_int(size, "n", false, 64);
	int64_t checkpoint = sample_checkpoint(&s, ctx);
	struct eval ev = { .pool = s.pool, .references = s.references };
	struct tune_request q = { .ctx = ctx, .baseline = ctx, .facts = &s.facts, .size = size, .budget = POINTS,
				  .strategy = "exhaustive", .seed = 1, .finalists = TUNE_TOP };
	is_int(tune_run(&ev, &q, s.db, checkpoint, "most", &t, &e), 0, "a tune with the most finalists it may have ends %s",
	       e.text);
	is_int((long long)t.top_count, TUNE_TOP, "all finalists are validated");
	tune_result_fini(&t);
	q.finalists = TUNE_TOP + 1;
	is_int(tune_run(&ev, &q, s.db, checkpoint, "more", &t, &e), -ERR_INPUT, "one more finalist is refused");
	has_str(e.text, "9 finalists", "the error says why");
	params_free(size);
	context_free(ctx);
	sample_fini(&s);
}

/* --- cut off, and gone on with ------------------------------------------------------------------------------------------------ */

struct scene {
	struct sample s;
	struct context *ctx;
	int64_t checkpoint;
	size_t sizes;
	struct measurement_list rows; /* of the last tune, and its result */
	struct tune_result t;
};

static void scene_init(struct scene *c, int race, size_t sizes)
{
	*c = (struct scene){ .sizes = sizes };
	begin(&c->s, race);
	c->ctx = context_of();
	c->checkpoint = sample_checkpoint(&c->s, c->ctx);
	tune_of(&c->s, c->checkpoint, c->ctx, sizes, 0, &c->rows, &c->t);
}

static void forget(struct scene *c)
{
	measurement_list_fini(&c->rows);
	tune_result_fini(&c->t);
}

/* As if the tune's daemon had been killed before it had the rows that `gone` deletes. */
static void cut(struct scene *c, const char *gone, const char *when)
{
	char *sql = mem_fmt("UPDATE measurement_run SET ended_ms = 0; %s", gone);
	is_int(sqlite3_exec(c->s.db->sql, sql, NULL, NULL, NULL), SQLITE_OK, "an interrupted run %s", when);
	free(sql);
}

static void go_on(struct scene *c)
{
	forget(c);
	tune_of(&c->s, c->checkpoint, c->ctx, c->sizes, 0, &c->rows, &c->t);
}

static void scene_fini(struct scene *c)
{
	forget(c);
	context_free(c->ctx);
	sample_fini(&c->s);
}

/* Killed within the second timing: what it had timed again is not timed once more. */
static void cut_off(void)
{
	struct scene c;
	scene_init(&c, CLOSE_TOGETHER, 1);
	cut(&c,
	    "DELETE FROM measurement WHERE message LIKE 'finalist%';"
	    "DELETE FROM measurement WHERE id IN (SELECT id FROM measurement WHERE message LIKE 'timed again%' ORDER BY id DESC "
	    "LIMIT 4)",
	    "before the last four were timed again");
	go_on(&c);
	is_int(winner(&c.t), CLOSE_BEST, "the resumed tune has the same winner");
	ok(timed_again(&c.rows) == CLOSE && c.t.resumed == POINTS, "each is timed again once (%zu of %d), %zu of %d known",
	   timed_again(&c.rows), CLOSE, c.t.resumed, POINTS);
	scene_fini(&c);
}

/* Killed behind the search; when it goes on, the compiler (a newer one, say) does not take one of the finalists any more. */
static void one_refused(int race, size_t again)
{
	struct scene c;
	char file[] = "/tmp/peakd-race-XXXXXX";
	close(mkstemp(file));
	unlink(file);
	setenv("PEAKD_TEST_REFUSE", file, 1);
	scene_init(&c, race, 1);
	cut(&c, "DELETE FROM measurement WHERE message NOT LIKE 'search%'", "behind its search");
	FILE *mark = fopen(file, "w");
	ok(mark && fclose(mark) == 0, "a finalist cannot be built any more");
	go_on(&c);
	ok(c.t.top_count == 3 && c.t.refused == 1, "three others are validated (%zu), and it counts as refused (%zu)",
	   c.t.top_count, c.t.refused);
	is_int(timed_again(&c.rows), again, "all that could be built are timed again where that is due");
	scene_fini(&c);
	unlink(file);
	unsetenv("PEAKD_TEST_REFUSE");
}

/* By the worst ratio to the first configuration: also of those that are tried when the tune goes on. */
static void worst_ratio(void)
{
	struct scene c;
	scene_init(&c, TWO_SIZES, 2);
	ok(winner(&c.t) > 1 && winner(&c.t) <= SLOW_FROM, "with the worst ratio the best at its worst size wins (%lld)",
	   winner(&c.t));
	cut(&c,
	    "DELETE FROM measurement WHERE message NOT LIKE 'search%';"
	    "DELETE FROM measurement WHERE CAST(substr(params, instr(params, 'X=') + 2) AS INTEGER) > 20",
	    "in the midst of its search");
	go_on(&c);
	ok(winner(&c.t) > 1 && winner(&c.t) <= SLOW_FROM && c.t.resumed > 0,
	   "the resumed tune has the same winner (%lld, %zu known)", winner(&c.t), c.t.resumed);
	scene_fini(&c);
}

/* 1 ms for n = 64 and for 128, where a device of a GFLOP/s needs 0.5 and 4. */
static void impossible(void)
{
	struct sample s;
	struct tune_result t = { 0 };
	struct err e = ERR_INIT;
	begin(&s, NOBODY_WINS);
	s.facts.peak_f32 = 1e9;
	struct context *ctx = context_of();
	int64_t checkpoint = sample_checkpoint(&s, ctx);
	is_int(run_of(&s, checkpoint, ctx, 1, 0, &t, &e), 0, "times that the hardware can reach at one size %s", e.text);
	tune_result_fini(&t);
	is_int(run_of(&s, checkpoint, ctx, 2, 0, &t, &e), -ERR_WRONG,
	       "times that are impossible at one of two sizes end a tune over both");
	has_str(e.text, "faster than the hardware can be", "the error says why");
	context_free(ctx);
	sample_fini(&s);
}

/* The search's fastest kills its worker when it is weighed as a finalist. */
static bool breaks(const char *defines)
{
	return x_of(defines) == 1;
}

static void weighed(void)
{
	struct sample s;
	struct tune_result t = { 0 };
	struct err e = ERR_INIT;
	begin(&s, NOBODY_WINS);
	snprintf(s.facts.backend, sizeof s.facts.backend, "cuda"); /* energy is asked of no other */
	struct context *ctx = context_for("cuda");
	struct params *size = params_new();
	params_set_int(size, "n", false, 64);
	struct eval ev = { .pool = s.pool, .references = s.references };
	struct tune_request q = { .ctx = ctx, .baseline = ctx, .facts = &s.facts, .size = size, .budget = POINTS,
				  .strategy = "exhaustive", .seed = 1, .objective = "energy" };
	is_int(tune_run(&ev, &q, s.db, sample_checkpoint(&s, ctx), "weighed", &t, &e), 0,
	       "a finalist that kills its worker while its energy is measured %s", e.text);
	ok(winner(&t) == 2 && t.top_count == 3 && fabs(t.top[0].value / 1.01 - 1) < 1e-9,
	   "the others keep their figures: %zu, the best %g J", t.top_count, t.top_count ? t.top[0].value : 0);
	is_int((long long)t.broken, 1, "and it is counted");
	tune_result_fini(&t);
	params_free(size);
	context_free(ctx);
	sample_fini(&s);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "worker") == 0) {
		fake_time = time_of;
		fake_spoilt = is_spoilt;
		fake_refuses = refuses;
		fake_gone = is_gone;
		fake_breaks = breaks;
		return fake_worker_main();
	}
	setenv("PEAKD_BENCH_FAKE", "0 0 1", 1);
	hopeless();
	races();
	drifts_on();
	close_together();
	cancelled();
	many_leaders();
	cut_off();
	one_refused(CLOSE_TOGETHER, CLOSE - 1);
	one_refused(NOBODY_WINS, 0);
	worst_ratio();
	impossible();
	weighed();
	return tap_done();
}

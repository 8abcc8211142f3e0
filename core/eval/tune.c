/* tune: the pipeline of one tune; see tune.h. Lanes ask the search for points and build them; the calling thread, which holds
 * the device, checks and times what is ready. The queue between them is bounded, so neither runs far ahead. */
#include "core/eval/tune.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "core/context/context.h"
#include "core/eval/check.h"
#include "core/eval/search/search.h"
#include "core/eval/tunespace.h"
#include "core/eval/validate.h"

enum { BUDGET = 128, LEADERS = 3, QUEUE_PER_LANE = 2, LANES_MAX = 64, POISON = 0xFF, WINNER_SAMPLES = 4 };

/* Searching needs an order, not a figure: few samples. What is quoted has at least ten and stops when it is sure. */
static const struct trial_timing searching = { .min_samples = 3, .max_samples = 12, .rse = 0.02, .cap_ns = CLOCK_S };
static const struct trial_timing quoting = { .min_samples = 10, .max_samples = 60, .rse = 0.004, .cap_ns = 4 * CLOCK_S };
#define HOPELESS 1.6 /* times the best so far */

/* One point that went through a compile lane. */
struct built {
	size_t point;
	struct variant variant;
	struct params *params;
	struct err why;         /* ERR_NONE when it compiled */
	struct built *next;
};

struct lanes_shared {
	struct lock lock;
	struct lock_bell bell;
	struct search *search;
	struct built *ready, **ready_tail;
	size_t ready_count, ready_max, out; /* out: asked for and not yet told */
	unsigned lanes_alive;
	bool stop;
	const struct eval *ev;
	const struct tune_request *q;
	const struct tunespace *space;
};

/* A leader while the tune runs. */
struct leader {
	struct params *params;
	struct variant variant;
	double median_ns;
	int64_t validation;
	bool dead;              /* refuted at the end */
};

struct tuner {
	char pruned_why[400];         /* of the first configuration that was pruned */
	struct lanes_shared shared;
	const struct eval *ev;
	const struct tune_request *q;
	struct db *db;
	int64_t checkpoint;
	const char *job;
	struct pool_worker *device;
	struct tune_result result;
	struct leader leaders[TUNE_TOP];
	size_t leader_count;
	double floor_ns;        /* faster than this is impossible; 0 unknown */
	size_t planned;
	uint64_t seed;          /* of the values, secret */
	int64_t started;
};

/* --- compile lanes -------------------------------------------------------------------------------------------------------- */

static struct built *build_next(struct lanes_shared *s, size_t point)
{
	struct built *b = MEM_NEW(struct built);
	b->point = point;
	b->params = tunespace_at(s->space, point);
	variant_build(s->ev, s->q->ctx, b->params, s->q->facts, &b->variant, &b->why);
	return b;
}

static void *compile_lane(void *arg)
{
	struct lanes_shared *s = arg;
	lock_take(&s->lock);
	for (;;) {
		while (!s->stop && s->ready_count >= s->ready_max)
			lock_bell_wait(&s->bell, &s->lock, CLOCK_NEVER);
		if (s->stop || cancel_asked(s->ev->cancel))
			break;
		size_t point = search_ask(s->search);
		if (point == SEARCH_NONE) {
			/* A strategy may want answers before it proposes more. */
			if (s->out == 0)
				break;
			lock_bell_wait(&s->bell, &s->lock, clock_now() + 100 * CLOCK_MS);
			continue;
		}
		s->out++;
		lock_release(&s->lock);
		struct built *b = build_next(s, point);
		lock_take(&s->lock);
		*s->ready_tail = b;
		s->ready_tail = &b->next;
		s->ready_count++;
		lock_bell_ring(&s->bell);
	}
	s->lanes_alive--;
	lock_bell_ring(&s->bell);
	lock_release(&s->lock);
	return NULL;
}

/* The next built point; NULL when the search is over. */
static struct built *take_built(struct lanes_shared *s)
{
	lock_take(&s->lock);
	while (s->ready == NULL && s->lanes_alive > 0)
		lock_bell_wait(&s->bell, &s->lock, CLOCK_NEVER);
	struct built *b = s->ready;
	if (b) {
		s->ready = b->next;
		if (s->ready == NULL)
			s->ready_tail = &s->ready;
		s->ready_count--;
		lock_bell_ring(&s->bell);
	}
	lock_release(&s->lock);
	return b;
}

static void tell(struct lanes_shared *s, size_t point, double ns)
{
	lock_take(&s->lock);
	search_tell(s->search, point, ns);
	s->out--;
	lock_bell_ring(&s->bell);
	lock_release(&s->lock);
}

static void built_free(struct built *b)
{
	params_free(b->params);
	variant_fini(&b->variant);
	free(b);
}

/* --- the device lane ------------------------------------------------------------------------------------------------------ */

static enum measurement_status status_of(enum err_code code)
{
	switch (code) {
	case ERR_PRUNED: return MEASUREMENT_PRUNED;
	case ERR_COMPILE: return MEASUREMENT_COMPILE;
	case ERR_WRONG: return MEASUREMENT_WRONG;
	case ERR_CRASH: return MEASUREMENT_CRASH;
	case ERR_TIMEOUT: return MEASUREMENT_TIMEOUT;
	case ERR_CANCELLED: return MEASUREMENT_CANCELLED;
	case ERR_UNSUPPORTED: return MEASUREMENT_UNSUPPORTED;
	case ERR_NONE: return MEASUREMENT_OK;
	case ERR_INPUT:
	case ERR_NOT_FOUND:
	case ERR_CONFLICT:
	case ERR_MODEL:
	case ERR_NETWORK:
	case ERR_IO:
	case ERR_INTERNAL: return MEASUREMENT_ERROR;
	}
	return MEASUREMENT_ERROR;
}

static int record(struct tuner *u, const struct params *params, const struct variant *variant, enum measurement_status status,
                  const struct trial_times *times, int64_t validation, const char *message, struct err *e)
{
	struct params *inputs = params_part(params, false);
	char *sizes = params_text(inputs), *text = params_text(params);
	struct measurement m = {
		.checkpoint = u->checkpoint, .run = u->result.run, .device = u->q->facts->uuid, .driver = u->q->facts->driver,
		.sizes = sizes, .params = text, .status = status, .median_ns = times ? times->median : NAN,
		.min_ns = times ? times->min : NAN, .rse = times ? times->rse : NAN, .samples = times ? times->samples : NULL,
		.sample_count = times ? times->count : 0, .cold = !u->q->warm, .compile_ns = -1, .registers = -1,
		.shared_bytes = -1, .spill_bytes = -1, .message = message, .validation = validation, .job = u->job,
	};
	if (variant && variant->plan) {
		m.compile_ns = (int64_t)variant->compiled.compile_ns;
		variant_resources(variant, &m.registers, &m.shared_bytes, &m.spill_bytes);
	}
	int rc = measurement_add(u->db, &m, e);
	params_free(inputs);
	free(sizes);
	free(text);
	return rc < 0 ? rc : 0;
}

/* A configuration that is out, and why. */
static int count_out(struct tuner *u, const struct built *b, enum measurement_status status, const char *message, struct err *e)
{
	struct tune_result *r = &u->result;
	switch (status) {
	case MEASUREMENT_PRUNED: r->pruned++; break;
	case MEASUREMENT_COMPILE: r->refused++; break;
	case MEASUREMENT_WRONG:
	case MEASUREMENT_IMPOSSIBLE: r->wrong++; break;
	case MEASUREMENT_OK:
	case MEASUREMENT_CRASH:
	case MEASUREMENT_TIMEOUT:
	case MEASUREMENT_DISTURBED:
	case MEASUREMENT_UNSUPPORTED:
	case MEASUREMENT_CANCELLED:
	case MEASUREMENT_ERROR: r->broken++; break;
	}
	if (status == MEASUREMENT_PRUNED && r->pruned == 1)
		snprintf(u->pruned_why, sizeof u->pruned_why, "%s", message);
	if (status != MEASUREMENT_PRUNED && r->why_count < TUNE_WHY) {
		char *params = params_text(b->params);
		r->why[r->why_count++] = mem_fmt("%s: %.400s", params, message);
		free(params);
	}
	return record(u, b->params, &b->variant, status, NULL, 0, message, e);
}

/* Keeps the variant when it is among the fastest so far. */
static void offer_leader(struct tuner *u, struct built *b, double median, int64_t validation)
{
	size_t at = u->leader_count;
	while (at > 0 && median < u->leaders[at - 1].median_ns)
		at--;
	if (at >= TUNE_TOP)
		return;
	if (u->leader_count == TUNE_TOP) {
		params_free(u->leaders[TUNE_TOP - 1].params);
		variant_fini(&u->leaders[TUNE_TOP - 1].variant);
		u->leader_count--;
	}
	memmove(&u->leaders[at + 1], &u->leaders[at], (u->leader_count - at) * sizeof u->leaders[0]);
	u->leaders[at] = (struct leader){ .params = b->params, .variant = b->variant, .median_ns = median,
	                                  .validation = validation };
	u->leader_count++;
	b->params = NULL;
	b->variant = (struct variant){ 0 };
}

static double best_ns(const struct tuner *u)
{
	return u->leader_count ? u->leaders[0].median_ns : INFINITY;
}

/* Checks and times one prepared configuration. *ret_ns is INFINITY when it is out. */
static int try_trial(struct tuner *u, struct built *b, struct trial *t, double *ret_ns, struct err *e)
{
	struct check c;
	struct trial_times times = { 0 };
	struct trial_timing timing = searching;
	int64_t evidence = 0;
	int rc = check_run(u->ev, t, u->q->root, u->q->facts, u->seed, POISON, &c, e);
	if (rc < 0)
		return rc;
	rc = check_record(u->db, u->checkpoint, u->q->facts, b->params, "input", u->seed, &c, u->job, &evidence, e);
	if (rc == 0 && !c.passed)
		rc = count_out(u, b, status_of(c.code), c.reason, e);
	if (rc < 0 || !c.passed)
		goto out;
	timing.warm = u->q->warm;
	if (isfinite(best_ns(u)))
		timing.hopeless_ns = best_ns(u) * HOPELESS;
	struct err why = ERR_INIT;
	if (trial_measure(t, &timing, &times, &why) < 0) {
		rc = why.code == ERR_CANCELLED ? (*e = why, -ERR_CANCELLED) : count_out(u, b, status_of(why.code), why.text, e);
		goto out;
	}
	if (times.median < u->floor_ns) {
		rc = count_out(u, b, MEASUREMENT_IMPOSSIBLE, "faster than the hardware can be: work is missing", e);
		goto out;
	}
	rc = record(u, b->params, &b->variant, MEASUREMENT_OK, &times, evidence, times.hopeless ? "given up early" : NULL, e);
	u->result.timed++;
	*ret_ns = times.median;
	if (!times.hopeless)
		offer_leader(u, b, times.median, evidence);
out:
	trial_times_fini(&times);
	check_fini(&c);
	return rc;
}

static int try_built(struct tuner *u, struct built *b, double *ret_ns, struct err *e)
{
	struct trial t;
	struct err why = ERR_INIT;
	*ret_ns = INFINITY;
	if (b->why.code == ERR_CANCELLED || b->why.code == ERR_UNSUPPORTED) {
		*e = b->why;
		return -(int)e->code;
	}
	if (b->why.code != ERR_NONE)
		return count_out(u, b, status_of(b->why.code), b->why.text, e);
	if (trial_begin(&t, u->device, &b->variant, &why) < 0) {
		if (why.code == ERR_CANCELLED) {
			*e = why;
			return -ERR_CANCELLED;
		}
		return count_out(u, b, status_of(why.code), why.text, e);
	}
	int rc = try_trial(u, b, &t, ret_ns, e);
	trial_end(&t);
	return rc;
}

static void show_time(double ns, char text[32])
{
	if (!isfinite(ns))
		snprintf(text, 32, "none yet");
	else if (ns < 1e6)
		snprintf(text, 32, "%.3g us", ns / 1e3);
	else
		snprintf(text, 32, "%.4g ms", ns / 1e6);
}

static void show_duration(double seconds, char text[32])
{
	if (seconds < 90)
		snprintf(text, 32, "%.0f s", seconds);
	else
		snprintf(text, 32, "%.0f min", seconds / 60);
}

static void report(const struct tuner *u)
{
	const struct tune_result *r = &u->result;
	double seconds = (double)(clock_now() - u->started) / 1e9;
	char best[32], left[32];
	show_time(best_ns(u), best);
	show_duration(seconds / (double)r->tried * (double)(u->planned - r->tried), left);
	eval_progress(u->ev, (double)r->tried, (double)u->planned, "tune %zu/%zu, best %s, %zu pruned, %zu failed, %s left",
	              r->tried, u->planned, best, r->pruned, r->refused + r->wrong + r->broken, left);
}

/* Runs until the search has nothing more. */
static int device_lane(struct tuner *u, struct err *e)
{
	struct built *b;
	int rc = 0;
	while (rc == 0 && (b = take_built(&u->shared)) != NULL) {
		double ns;
		rc = try_built(u, b, &ns, e);
		u->result.tried++;
		tell(&u->shared, b->point, ns);
		built_free(b);
		if (rc == 0)
			report(u);
		if (rc == 0)
			rc = cancel_check(u->ev->cancel, e);
	}
	return rc;
}

static void stop_lanes(struct lanes_shared *s, pthread_t *threads, unsigned count)
{
	lock_take(&s->lock);
	s->stop = true;
	lock_bell_ring(&s->bell);
	lock_release(&s->lock);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	while (s->ready) {
		struct built *b = s->ready;
		s->ready = b->next;
		built_free(b);
	}
}

static int run_pipeline(struct tuner *u, struct err *e)
{
	pthread_t threads[LANES_MAX];
	unsigned width = pool_compile_width(u->ev->pool), started = 0;
	struct lanes_shared *s = &u->shared;
	if (width > LANES_MAX)
		width = LANES_MAX;
	s->ready_tail = &s->ready;
	s->ready_max = (size_t)width * QUEUE_PER_LANE;
	s->lanes_alive = width;
	for (; started < width; started++)
		if (pthread_create(&threads[started], NULL, compile_lane, s) != 0)
			break;
	lock_take(&s->lock);
	s->lanes_alive -= width - started;
	lock_release(&s->lock);
	int rc = started ? device_lane(u, e) : err_set(e, ERR_INTERNAL, "cannot start a thread for compiling");
	stop_lanes(s, threads, started);
	return rc;
}

/* --- the end -------------------------------------------------------------------------------------------------------------- */

/* Fresh seeds, the check: sizes with the winner's tuning parameters, the domain left alone. */
static int prove(struct tuner *u, struct leader *l, bool *ret_good, struct err *e)
{
	struct params *tuning = params_part(l->params, true);
	struct validate_request q = { .ctx = u->q->ctx, .root = u->q->root, .facts = u->q->facts, .samples = WINNER_SAMPLES,
	                              .seed = u->seed, .only = tuning };
	struct validate_result v;
	pool_give(u->device); /* validation leases the device itself */
	u->device = NULL;
	int rc = validate_run(u->ev, &q, u->db, u->checkpoint, u->job, &v, e);
	if (rc == 0) {
		*ret_good = v.passed;
		if (!v.passed && u->result.why_count < TUNE_WHY)
			u->result.why[u->result.why_count++] = mem_str(v.summary);
		validate_result_fini(&v);
		rc = pool_take_device(u->ev->pool, u->q->facts, u->ev->cancel, &u->device, e);
	}
	params_free(tuning);
	return rc;
}

/* Times a leader again, as a quoted figure is timed. */
static int time_again(struct tuner *u, struct leader *l, struct err *e)
{
	struct trial t;
	struct trial_times times = { 0 };
	struct trial_timing timing = quoting;
	struct err why = ERR_INIT;
	struct check c = { 0 };
	timing.warm = u->q->warm;
	l->dead = true;
	int rc = trial_begin(&t, u->device, &l->variant, &why);
	if (rc < 0)
		return why.code == ERR_CANCELLED ? (*e = why, rc) : 0;
	rc = check_run(u->ev, &t, u->q->root, u->q->facts, check_seed(), POISON, &c, e);
	if (rc == 0 && c.passed && trial_measure(&t, &timing, &times, &why) == 0) {
		l->dead = times.median < u->floor_ns;
		l->median_ns = times.median;
		rc = record(u, l->params, &l->variant, l->dead ? MEASUREMENT_IMPOSSIBLE : MEASUREMENT_OK, &times, l->validation,
		            "leader, timed again", e);
		struct tune_top *top = &u->result.top[u->result.top_count];
		if (!l->dead && rc == 0) {
			*top = (struct tune_top){ .params = params_copy(l->params), .median_ns = times.median, .min_ns = times.min,
			                          .rse = times.rse, .samples = times.count, .validation = l->validation };
			variant_resources(&l->variant, &top->registers, &top->shared, &top->spill);
			u->result.top_count++;
		}
	}
	trial_times_fini(&times);
	check_fini(&c);
	trial_end(&t);
	return rc;
}

static int faster(const void *a, const void *b)
{
	double x = ((const struct tune_top *)a)->median_ns, y = ((const struct tune_top *)b)->median_ns;
	return (x > y) - (x < y);
}

static int finish(struct tuner *u, struct err *e)
{
	size_t wanted = u->q->leaders ? u->q->leaders : LEADERS;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < u->leader_count && u->result.top_count < wanted; i++) {
		bool good = false;
		eval_progress(u->ev, (double)u->result.tried, (double)u->planned, "proving and re-timing leader %zu", i + 1);
		rc = prove(u, &u->leaders[i], &good, e);
		if (rc == 0 && good)
			rc = time_again(u, &u->leaders[i], e);
		else if (rc == 0)
			u->result.wrong++;
	}
	qsort(u->result.top, u->result.top_count, sizeof u->result.top[0], faster);
	if (rc == 0 && u->result.top_count == 0) {
		const struct tune_result *r = &u->result;
		rc = err_set(e, ERR_WRONG, "none of %zu configurations is valid and could be timed: %zu pruned, %zu refused by the "
		             "compiler, %zu wrong, %zu crashed or timed out%s%s", r->tried, r->pruned, r->refused, r->wrong,
		             r->broken, r->why_count || *u->pruned_why ? "; " : "", r->why_count ? r->why[0] : u->pruned_why);
	}
	return rc;
}

/* The fastest that the arithmetic could be done: flops over the theoretical peak of the fastest pipe that precision permits. */
static double floor_of(const struct tune_request *q)
{
	const struct spec *spec = context_spec(q->ctx);
	const struct facts *f = q->facts;
	double peak = f->peak_f32, flops = spec_flops(spec, q->size);
	if (spec->precision == SPEC_TENSOR)
		peak = fmax(peak, strcmp(spec->precision_in, "f16") == 0 || strcmp(spec->precision_in, "bf16") == 0
		                  ? f->peak_tensor_f16 : f->peak_tensor_tf32);
	else if (spec_roundoff(spec) > dtype_roundoff(DTYPE_F32))
		peak *= 4; /* packed half arithmetic, at most twice per lane and per clock of fp32 on any part known to us */
	return peak > 0 && isfinite(flops) ? flops / peak * 1e9 : 0;
}

static int begin_run(struct tuner *u, struct err *e)
{
	char *size = params_text(u->q->size);
	char *settings = mem_fmt("sizes: %s; budget: %zu; seed: %llu; %s", size, u->planned, (unsigned long long)u->q->seed,
	                         u->q->warm ? "warm" : "cold");
	struct measurement_run run = { .checkpoint = u->checkpoint, .device = u->q->facts->uuid,
	                               .strategy = search_name(u->shared.search), .settings = settings,
	                               .planned = (int64_t)u->planned, .job = u->job };
	int rc = measurement_run_begin(u->db, &run, e);
	u->result.run = run.id;
	free(size);
	free(settings);
	return rc < 0 ? rc : 0;
}

static void prefer_all(struct search *search, const struct tunespace *space, const struct tune_request *q)
{
	for (size_t i = 0; i < q->prefer_count; i++) {
		size_t point = tunespace_nearest(space, q->prefer[i]);
		if (point != SEARCH_NONE)
			search_prefer(search, point);
	}
}

static int tune_with(struct tuner *u, struct err *e)
{
	int rc = begin_run(u, e);
	if (rc == 0)
		rc = pool_take_device(u->ev->pool, u->q->facts, u->ev->cancel, &u->device, e);
	if (rc < 0)
		return rc;
	eval_progress(u->ev, 0, (double)u->planned, "tune: %zu of %zu valid configurations, strategy %s", u->planned,
	              u->result.space, search_name(u->shared.search));
	rc = run_pipeline(u, e);
	if (rc == 0)
		rc = finish(u, e);
	pool_give(u->device);
	u->result.elapsed_ns = clock_now() - u->started;
	int ended = measurement_run_end(u->db, u->result.run, rc < 0 ? NULL : e);
	return rc < 0 ? rc : ended < 0 ? ended : 0;
}

int tune_run(const struct eval *ev, const struct tune_request *q, struct db *db, int64_t checkpoint, const char *job,
             struct tune_result *ret_result, struct err *e)
{
	struct tuner u = { .ev = ev, .q = q, .db = db, .checkpoint = checkpoint, .job = job, .seed = check_seed(),
	                   .floor_ns = floor_of(q), .started = clock_now() };
	struct tunespace *space;
	size_t budget = q->budget ? q->budget : BUDGET;
	int rc = tunespace_new(q->ctx, q->facts, q->size, &space, e);
	if (rc < 0)
		return rc;
	lock_init(&u.shared.lock, LOCK_LEAF);
	lock_bell_init(&u.shared.bell);
	u.shared.ev = ev;
	u.shared.q = q;
	u.shared.space = space;
	u.result.space = tunespace_search(space)->count;
	u.planned = budget < u.result.space ? budget : u.result.space;
	rc = search_new(q->strategy ? q->strategy : "auto", tunespace_search(space), budget, q->seed, &u.shared.search, e);
	if (rc == 0) {
		prefer_all(u.shared.search, space, q);
		rc = tune_with(&u, e);
	}
	for (size_t i = 0; i < u.leader_count; i++) {
		params_free(u.leaders[i].params);
		variant_fini(&u.leaders[i].variant);
	}
	search_free(u.shared.search);
	tunespace_free(space);
	lock_bell_fini(&u.shared.bell);
	lock_fini(&u.shared.lock);
	if (rc < 0)
		tune_result_fini(&u.result);
	else
		*ret_result = u.result;
	return rc;
}

void tune_result_fini(struct tune_result *r)
{
	for (size_t i = 0; i < r->top_count; i++)
		params_free(r->top[i].params);
	for (size_t i = 0; i < r->why_count; i++)
		free(r->why[i]);
	*r = (struct tune_result){ 0 };
}

/* tune_lanes: the sides of a search that work at the same time; see tuner.h. Compile lanes ask the search for points and build
 * them; device lanes, one thread per device, check and time what is built, and hand it to the thread that records. Both queues are
 * bounded, so that no side runs far ahead and no device waits for the database. Several GPUs of a host share one tune. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "core/tune/tuner.h"

enum { QUEUE_PER_LANE = 2, LANES_MAX = 64, DEVICES_MAX = 64, QUEUE_PER_DEVICE = 4, PINGS_ALONE = 3 };
#define LOOK_NS (100 * CLOCK_MS) /* how often a lane without work looks whether it is cancelled */
#define PING_NS (60 * CLOCK_S)   /* includes a worker's whole start */
#define WEIGH_NS (300 * CLOCK_MS)
#define TURN_NS CLOCK_S /* after so long, whoever waits for a device gets it */

/* A search needs an order, not a figure: few samples, without copies of all buffers. */
static const struct trial_timing searching = {
	.min_samples = 3, .max_samples = 12, .rse = 0.02, .cap_ns = CLOCK_S, .warm_up_ns = 10 * CLOCK_MS, .rough = true
};
#define GIVE_UP 1.6     /* times the best so far */
#define GIVE_UP_OTHER 4 /* where time at one size is not all that counts */

struct device_lane {
	struct tune_lanes *lanes;
	const struct facts *facts;
	struct pool_worker *worker;
	struct pool_worker **first; /* the tune's own lease, which it needs afterwards, too; NULL: this lane's own */
	bool lost;
	pthread_t thread;
};

/* More than 20 fields: two queues, and what all threads of a search share. */
struct tune_lanes {
	const struct tuner *u;
	struct search *search;
	size_t devices_max;    /* of the request */
	struct lock lock;      /* guards what follows, and the search */
	struct lock_bell bell; /* anything changed */
	void **built, **tried; /* struct tune_built, struct tune_tried: first in, first out */
	size_t built_count, built_max, tried_count, tried_max;
	size_t out;                  /* points asked for and not yet told */
	unsigned compiling, working; /* lanes that may still hand something over */
	bool stop;
	double best_ns[TUNE_SIZES];
	struct buf lost;
	struct tune_lanes_time time;
	struct cancel over; /* nothing is left to try: a lane that waits for its device stops */
	pthread_t compilers[LANES_MAX];
	unsigned compiler_count; /* threads that were started */
	struct device_lane devices[DEVICES_MAX];
	size_t device_count;
};

static void *take_first(void **queue, size_t *count)
{
	void *first = queue[0];
	memmove(queue, queue + 1, --*count * sizeof *queue);
	return first;
}

/* --- compiling ------------------------------------------------------------------------------------------------------------- */

static void built_free(struct tune_built *b)
{
	params_free(b->params);
	variant_fini(&b->variant);
	free(b);
}

static void *compile_lane(void *arg)
{
	struct tune_lanes *l = arg;
	const struct tuner *u = l->u;
	lock_take(&l->lock);
	while (!l->stop && !cancel_asked(u->ev->cancel)) {
		size_t point = l->built_count < l->built_max ? search_ask(l->search) : SEARCH_NONE;
		if (point == SEARCH_NONE) {
			/* A strategy may want answers before it proposes more. */
			if (l->built_count < l->built_max && l->out == 0)
				break;
			lock_bell_wait(&l->bell, &l->lock, clock_now() + LOOK_NS);
			continue;
		}
		l->out++;
		lock_release(&l->lock);
		struct tune_built *b = MEM_NEW(struct tune_built);
		b->point = point;
		b->params = tunespace_at(u->spaces[0], point);
		variant_build(u->ev, u->q->ctx, b->params, u->q->facts, &b->variant, &b->why);
		lock_take(&l->lock);
		*MEM_PUSH(l->built, l->built_count) = b;
		lock_bell_ring(&l->bell);
	}
	l->compiling--;
	lock_bell_ring(&l->bell);
	lock_release(&l->lock);
	return NULL;
}

/* The next built point, waited for; NULL when the search is over or was cancelled. */
static struct tune_built *take_built(struct tune_lanes *l)
{
	lock_take(&l->lock);
	while (l->built_count == 0 && l->compiling > 0 && !l->stop)
		lock_bell_wait(&l->bell, &l->lock, CLOCK_NEVER);
	struct tune_built *b = l->stop || l->built_count == 0 ? NULL : take_first(l->built, &l->built_count);
	lock_bell_ring(&l->bell);
	lock_release(&l->lock);
	return b;
}

/* --- trying ---------------------------------------------------------------------------------------------------------------- */

struct params *tune_try_params(const struct tune_request *q, const struct params *params, size_t size)
{
	struct params *tuning = params_part(params, true);
	struct params *whole = params_merge(size ? q->also[size - 1] : q->size, tuning);
	params_free(tuning);
	return whole;
}

static void weigh(struct trial *trial, const struct tune_tried *t, struct tune_judged *j)
{
	struct trial_weighed weighed;
	if (trial_energy(trial, WEIGH_NS, &weighed, &j->why) < 0)
		return;
	j->joules = weighed.joules;
	if (!isfinite(weighed.joules))
		err_set(&j->why, ERR_UNSUPPORTED, "the objective needs energy, and %s does not measure it: %s", t->facts->id,
			weighed.note);
	free(weighed.note);
}

static void check_and_time_once(const struct tuner *u, struct pool_worker *worker, double best_ns, struct tune_tried *t,
				struct tune_judged *j)
{
	struct reference_source source = { .ev = u->ev, .baseline = u->q->baseline, .facts = t->facts };
	struct trial trial;
	struct trial_timing timing = searching;
	double give_up = u->q->give_up > 0 ? u->q->give_up : tune_plain(u) ? GIVE_UP : GIVE_UP_OTHER;
	if (trial_begin(&trial, worker, j->used, &j->why) < 0)
		return;
	if (check_run(&source, &trial, u->secrets.search, &j->check, &t->broken) == 0) {
		j->checked = true;
		timing.warm = u->q->warm;
		timing.hopeless_ns = isfinite(best_ns) ? best_ns * give_up : 0;
		bool timed = j->check.passed && trial_measure(&trial, &timing, &j->times, &j->why) == 0;
		if (timed && check_left(&source, &trial, &j->check, &t->broken) == 0 && j->check.passed &&
		    objective_weighs(u->objective))
			weigh(&trial, t, j);
	}
	trial_end(&trial);
}

/* Where the worker was killed from outside, a fresh one tries anew. */
static void check_and_time(const struct tuner *u, struct pool_worker *worker, double best_ns, struct tune_tried *t,
			   struct tune_judged *j)
{
	for (unsigned tries = 0;;) {
		check_and_time_once(u, worker, best_ns, t, j);
		enum err_code code = j->why.code;
		const char *why = j->why.text;
		if (t->broken.code != ERR_NONE) {
			code = t->broken.code;
			why = t->broken.text;
		} else if (j->checked && j->check.code != ERR_NONE) {
			code = j->check.code;
			why = j->check.reason;
		}
		if (!eval_retries(u->ev, code, why, &tries))
			return;
		if (j->checked)
			check_fini(&j->check);
		trial_times_fini(&j->times);
		j->checked = false;
		j->why = t->broken = (struct err)ERR_INIT;
	}
}

/* The first size was built in a compile lane; a further one is built here (device code that does not mention the size is not
 * compiled again). */
static void build_at(const struct tuner *u, struct tune_tried *t, size_t size, struct tune_judged *j)
{
	if (size == 0) {
		j->params = t->built->params;
		j->why = t->built->why;
		j->used = j->why.code == ERR_NONE ? &t->built->variant : NULL;
		return;
	}
	j->params = tune_try_params(u->q, t->built->params, size);
	if (tunespace_point(u->spaces[size], j->params) == SEARCH_NONE)
		err_set(&j->why, ERR_PRUNED, "its where: line does not hold at this size");
	else if (variant_build(u->ev, u->q->ctx, j->params, t->facts, &j->variant, &j->why) == 0)
		j->used = &j->variant;
}

/* best_ns: the best configuration's medians at each size, INFINITY where there is none. */
static void try_all_sizes(const struct tuner *u, struct pool_worker *worker, const double best_ns[TUNE_SIZES], struct tune_tried *t)
{
	int64_t start = clock_now();
	for (size_t size = 0; size < u->size_count; size++) {
		struct tune_judged *j = &t->at[t->count++];
		*j = (struct tune_judged){ .joules = NAN };
		build_at(u, t, size, j);
		if (j->used)
			check_and_time(u, worker, best_ns[size], t, j);
		/* Cancelled, or a device that cannot do what is asked: the tune ends. Anything else is the configuration's own. */
		if (t->broken.code == ERR_NONE && (j->why.code == ERR_CANCELLED || j->why.code == ERR_UNSUPPORTED))
			t->broken = j->why;
		bool good = j->checked && j->check.passed && j->why.code == ERR_NONE && j->times.count > 0;
		if (t->broken.code != ERR_NONE || !good || j->times.hopeless)
			break;
	}
	t->took_ns = clock_now() - start;
}

void tune_tried_free(struct tune_tried *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct tune_judged *j = &t->at[i];
		if (i > 0)
			params_free(j->params);
		variant_fini(&j->variant);
		if (j->checked)
			check_fini(&j->check);
		trial_times_fini(&j->times);
	}
	if (t->built)
		built_free(t->built);
	free(t);
}

/* --- devices --------------------------------------------------------------------------------------------------------------- */

/* A configuration that broke its worker is one thing, a device on which no worker can be started another: such a device is left,
 * and says nothing about configurations. */
static bool is_lost(struct device_lane *l, const struct tune_tried *t, struct err *e)
{
	struct err why = ERR_INIT;
	if (t->count == 0 || t->built->why.code != ERR_NONE || t->broken.code != ERR_NONE)
		return false;
	const struct tune_judged *last = &t->at[t->count - 1];
	bool broke =
		last->checked && (last->check.code == ERR_CRASH || last->check.code == ERR_TIMEOUT || last->check.code == ERR_IO);
	if (last->why.code == ERR_NONE && !broke)
		return false;
	for (int i = l->lanes->devices_max < 2 ? PINGS_ALONE : 1; i > 0; i--) {
		int rc = pool_ask(l->worker, WIRE_PING, NULL, PING_NS, NULL, &why);
		if (rc == 0 || why.code == ERR_CANCELLED)
			return false;
	}
	*e = why;
	return true;
}

static int take_device(struct device_lane *l, struct err *e)
{
	return eval_await_device(l->lanes->u->ev, l->facts, l->first ? NULL : &l->lanes->over, &l->worker, e);
}

/* Others wait in line (pool_take_device serves in order) and get their turn between two configurations. */
static bool let_others(struct device_lane *l, int64_t *turn, struct err *e)
{
	int64_t start = clock_now();
	if (start - *turn < TURN_NS)
		return true;
	pool_give(l->worker);
	l->worker = NULL;
	int rc = take_device(l, e);
	*turn = clock_now();
	lock_take(&l->lanes->lock);
	l->lanes->time.waiting += *turn - start;
	lock_release(&l->lanes->lock);
	return rc == 0;
}

/* Runs until nothing more is compiled, or the device is lost; it has no worker when the device could not be taken again. */
static void serve(struct device_lane *lane, struct err *e)
{
	struct tune_lanes *l = lane->lanes;
	double best_ns[TUNE_SIZES];
	int64_t began = clock_now(), at = began, now, turn = began, working = 0, starving = 0;
	while (let_others(lane, &turn, e)) {
		struct tune_built *b = take_built(l);
		if (b == NULL) {
			cancel_ask(&l->over);
			break;
		}
		struct tune_tried *t = MEM_NEW(struct tune_tried);
		*t = (struct tune_tried){ .built = b, .facts = lane->facts };
		now = clock_now();
		starving += now - (turn > at ? turn : at);
		lock_take(&l->lock);
		memcpy(best_ns, l->best_ns, sizeof best_ns);
		lock_release(&l->lock);
		try_all_sizes(l->u, lane->worker, best_ns, t);
		at = clock_now();
		working += at - now;
		bool lost = is_lost(lane, t, e);
		/* A configuration that was executed may have been the cause, and is recorded as such; any other goes back, to the
		 * device that is left or to the tune that is resumed from here. */
		if (lost && !t->at[t->count - 1].checked) {
			t->built = NULL;
			tune_tried_free(t);
			/* A point that was taken and could not be tried goes to the next taker. */
			lock_take(&l->lock);
			*MEM_PUSH(l->built, l->built_count) = NULL;
			memmove(l->built + 1, l->built, (l->built_count - 1) * sizeof *l->built);
			l->built[0] = b;
			lock_bell_ring(&l->bell);
			lock_release(&l->lock);
			break;
		}
		/* Who is to blame is not known: the configuration is out, and the checkpoint is not refuted by it. */
		if (lost)
			t->at[t->count - 1].check.alone = true;
		/* Waits while the thread that records is behind. */
		lock_take(&l->lock);
		while (l->tried_count >= l->tried_max && !l->stop)
			lock_bell_wait(&l->bell, &l->lock, CLOCK_NEVER);
		*MEM_PUSH(l->tried, l->tried_count) = t;
		lock_bell_ring(&l->bell);
		lock_release(&l->lock);
		at = clock_now();
		if (lost)
			break;
	}
	lock_take(&l->lock);
	l->time.working += working;
	l->time.starving += starving;
	l->time.lasted += clock_now() - began;
	lock_release(&l->lock);
}

static void *device_lane(void *arg)
{
	struct device_lane *lane = arg;
	struct tune_lanes *l = lane->lanes;
	struct err why = ERR_INIT;
	if (lane->first)
		lane->worker = *lane->first;
	if (lane->first || take_device(lane, &why) == 0)
		serve(lane, &why);
	if (lane->first)
		*lane->first = lane->worker;
	else
		pool_give(lane->worker);
	lock_take(&l->lock);
	if (why.code != ERR_NONE && why.code != ERR_CANCELLED) {
		lane->lost = true;
		buf_addf(&l->lost, "%s%s: %s", l->lost.len ? "; " : "", lane->facts->id, why.text);
	}
	l->working--;
	lock_bell_ring(&l->bell);
	lock_release(&l->lock);
	return NULL;
}

/* --- all of them ----------------------------------------------------------------------------------------------------------- */

int tune_lanes_new(struct tuner *u, struct search *search, struct tune_lanes **ret_lanes, struct err *e)
{
	struct tune_lanes *l = MEM_NEW(struct tune_lanes);
	unsigned width = pool_compile_width(u->ev->pool);
	width = width < LANES_MAX ? width : LANES_MAX;
	l->u = u;
	l->search = search;
	l->devices_max = u->q->device_count ? u->q->device_count : 1;
	lock_init(&l->lock, LOCK_LEAF);
	lock_bell_init(&l->bell);
	l->built_max = (size_t)width * QUEUE_PER_LANE;
	l->tried_max = l->devices_max * QUEUE_PER_DEVICE;
	memcpy(l->best_ns, u->fastest_ns, sizeof l->best_ns);
	lock_take(&l->lock); /* a lane that ends at once must not be counted before it is */
	while (l->compiler_count < width && pthread_create(&l->compilers[l->compiler_count], NULL, compile_lane, l) == 0)
		l->compiler_count++;
	while (l->device_count < l->devices_max && l->device_count < DEVICES_MAX) {
		struct device_lane *lane = &l->devices[l->device_count];
		*lane = (struct device_lane){ .lanes = l,
					      .facts = &u->q->facts[l->device_count],
					      .first = l->device_count ? NULL : &u->device };
		if (pthread_create(&lane->thread, NULL, device_lane, lane) != 0)
			break;
		l->device_count++;
	}
	l->compiling = l->compiler_count;
	l->working = (unsigned)l->device_count;
	bool started = l->compiler_count && l->device_count;
	lock_release(&l->lock);
	if (!started) {
		tune_lanes_free(l);
		return err_set(e, ERR_INTERNAL, "cannot start the threads that compile and time");
	}
	*ret_lanes = l;
	return 0;
}

struct tune_tried *tune_lanes_take(struct tune_lanes *l, bool wait)
{
	lock_take(&l->lock);
	while (wait && l->tried_count == 0 && l->working > 0)
		lock_bell_wait(&l->bell, &l->lock, CLOCK_NEVER);
	struct tune_tried *t = l->tried_count ? take_first(l->tried, &l->tried_count) : NULL;
	lock_bell_ring(&l->bell);
	lock_release(&l->lock);
	return t;
}

void tune_lanes_tell(struct tune_lanes *l, size_t point, double value, const double best_ns[TUNE_SIZES])
{
	lock_take(&l->lock);
	search_tell(l->search, point, value);
	memcpy(l->best_ns, best_ns, sizeof l->best_ns);
	l->out--;
	lock_bell_ring(&l->bell);
	lock_release(&l->lock);
}

struct tune_lanes_time tune_lanes_time(struct tune_lanes *l)
{
	lock_take(&l->lock);
	struct tune_lanes_time time = l->time;
	lock_release(&l->lock);
	return time;
}

const char *tune_lanes_stop(struct tune_lanes *l, size_t *ret_left)
{
	cancel_ask(&l->over);
	lock_take(&l->lock);
	bool again = l->stop;
	l->stop = true;
	lock_bell_ring(&l->bell);
	lock_release(&l->lock);
	for (unsigned i = 0; !again && i < l->compiler_count; i++)
		pthread_join(l->compilers[i], NULL);
	for (size_t i = 0; !again && i < l->device_count; i++)
		pthread_join(l->devices[i].thread, NULL);
	*ret_left = 0;
	while (*ret_left < l->device_count && l->devices[*ret_left].lost)
		++*ret_left;
	if (*ret_left == l->device_count)
		*ret_left = l->devices_max;
	return buf_text(&l->lost);
}

void tune_lanes_free(struct tune_lanes *l)
{
	size_t left;
	tune_lanes_stop(l, &left);
	for (size_t i = 0; i < l->built_count; i++)
		built_free(l->built[i]);
	for (size_t i = 0; i < l->tried_count; i++)
		tune_tried_free(l->tried[i]);
	free(l->built);
	free(l->tried);
	buf_fini(&l->lost);
	lock_bell_fini(&l->bell);
	lock_fini(&l->lock);
	free(l);
}

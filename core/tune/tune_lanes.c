/* tune_lanes: compile lanes, one try, device lanes; see tune_lanes.h. */
#include "core/tune/tune_lanes.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"

enum { QUEUE_PER_LANE = 2, LANES_MAX = 64, DEVICES_MAX = 64, QUEUE_PER_DEVICE = 4, PINGS_ALONE = 3 };
#define LOOK_NS (100 * CLOCK_MS) /* how often a lane without work looks whether it is cancelled */
#define PING_NS (60 * CLOCK_S)   /* includes a worker's whole start */
#define WEIGH_NS (300 * CLOCK_MS)

/* --- compiling ------------------------------------------------------------------------------------------------------------- */

static void built_free(struct tune_built *b)
{
	params_free(b->params);
	variant_fini(&b->variant);
	free(b);
}

struct tune_compilers {
	struct lock lock;
	struct lock_bell bell;
	struct tune_compilers_config config;
	struct tune_built *ready, **ready_tail;
	size_t ready_count, ready_max;
	size_t out;     /* points asked for and not yet told */
	unsigned alive; /* lanes that may still hand something over */
	bool stop;
	pthread_t threads[LANES_MAX];
	unsigned started;
};

static void *compile_lane(void *arg)
{
	struct tune_compilers *l = arg;
	const struct tune_compilers_config *c = &l->config;
	lock_take(&l->lock);
	while (!l->stop && !cancel_asked(l->config.ev->cancel)) {
		if (l->ready_count >= l->ready_max) {
			lock_bell_wait(&l->bell, &l->lock, clock_now() + LOOK_NS);
			continue;
		}
		size_t point = search_ask(l->config.search);
		if (point == SEARCH_NONE) {
			/* A strategy may want answers before it proposes more. */
			if (l->out == 0)
				break;
			lock_bell_wait(&l->bell, &l->lock, clock_now() + LOOK_NS);
			continue;
		}
		l->out++;
		lock_release(&l->lock);
		struct tune_built *b = MEM_NEW(struct tune_built);
		b->point = point;
		b->params = tunespace_at(c->space, point);
		variant_build(c->ev, c->ctx, b->params, c->facts, &b->variant, &b->why);
		lock_take(&l->lock);
		*l->ready_tail = b;
		l->ready_tail = &b->next;
		l->ready_count++;
		lock_bell_ring(&l->bell);
	}
	l->alive--;
	lock_bell_ring(&l->bell);
	lock_release(&l->lock);
	return NULL;
}

int tune_compilers_new(const struct tune_compilers_config *config, struct tune_compilers **ret_compilers, struct err *e)
{
	struct tune_compilers *l = MEM_NEW(struct tune_compilers);
	unsigned width = pool_compile_width(config->ev->pool);
	if (width > LANES_MAX)
		width = LANES_MAX;
	lock_init(&l->lock, LOCK_LEAF);
	lock_bell_init(&l->bell);
	l->config = *config;
	l->ready_tail = &l->ready;
	l->ready_max = (size_t)width * QUEUE_PER_LANE;
	lock_take(&l->lock); /* a lane that ends at once must not be counted before it is */
	while (l->started < width && pthread_create(&l->threads[l->started], NULL, compile_lane, l) == 0)
		l->started++;
	l->alive = l->started;
	lock_release(&l->lock);
	if (l->started == 0) {
		tune_compilers_free(l);
		return err_set(e, ERR_INTERNAL, "cannot start a thread for compiling");
	}
	*ret_compilers = l;
	return 0;
}

/* The next built point, waited for; NULL when the search is over or was cancelled. */
static struct tune_built *take_built(struct tune_compilers *l)
{
	lock_take(&l->lock);
	while (l->ready == NULL && l->alive > 0 && !l->stop)
		lock_bell_wait(&l->bell, &l->lock, CLOCK_NEVER);
	struct tune_built *b = l->stop ? NULL : l->ready;
	if (b) {
		l->ready = b->next;
		if (l->ready == NULL)
			l->ready_tail = &l->ready;
		l->ready_count--;
		lock_bell_ring(&l->bell);
	}
	lock_release(&l->lock);
	return b;
}

/* A point that was taken and could not be tried goes to the next taker. */
static void put_back(struct tune_compilers *l, struct tune_built *b)
{
	lock_take(&l->lock);
	b->next = l->ready;
	l->ready = b;
	if (b->next == NULL)
		l->ready_tail = &b->next;
	l->ready_count++;
	lock_bell_ring(&l->bell);
	lock_release(&l->lock);
}

void tune_compilers_stop(struct tune_compilers *l)
{
	lock_take(&l->lock);
	l->stop = true;
	lock_bell_ring(&l->bell);
	lock_release(&l->lock);
}

void tune_compilers_tell(struct tune_compilers *l, size_t point, double ns)
{
	lock_take(&l->lock);
	search_tell(l->config.search, point, ns);
	l->out--;
	lock_bell_ring(&l->bell);
	lock_release(&l->lock);
}

void tune_compilers_free(struct tune_compilers *l)
{
	if (l == NULL)
		return;
	tune_compilers_stop(l);
	while (l->started > 0)
		pthread_join(l->threads[--l->started], NULL);
	while (l->ready) {
		struct tune_built *b = l->ready;
		l->ready = b->next;
		built_free(b);
	}
	lock_bell_fini(&l->bell);
	lock_fini(&l->lock);
	free(l);
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

static void check_and_time_once(const struct tune_try *c, struct pool_worker *worker, double best_ns, struct tune_tried *t,
				struct tune_judged *j)
{
	struct reference_source judge = { .ev = c->ev, .baseline = c->q->baseline, .facts = t->facts };
	struct trial trial;
	struct trial_timing timing = c->timing;
	if (trial_begin(&trial, worker, j->used, &j->why) < 0)
		return;
	if (check_run(&judge, &trial, c->seed, c->poison, &j->check, &t->broken) == 0) {
		j->checked = true;
		timing.hopeless_ns = isfinite(best_ns) ? best_ns * c->give_up : 0;
		bool timed = j->check.passed && trial_measure(&trial, &timing, &j->times, &j->why) == 0;
		if (timed && check_left(&judge, &trial, &j->check, &t->broken) == 0 && j->check.passed && c->weigh)
			weigh(&trial, t, j);
	}
	trial_end(&trial);
}

/* Where the worker was killed from outside, a fresh one tries anew. */
static void check_and_time(const struct tune_try *c, struct pool_worker *worker, double best_ns, struct tune_tried *t,
			   struct tune_judged *j)
{
	for (unsigned tries = 0;;) {
		check_and_time_once(c, worker, best_ns, t, j);
		enum err_code code = t->broken.code != ERR_NONE ? t->broken.code : j->checked ? j->check.code : ERR_NONE;
		const char *why = t->broken.code != ERR_NONE ? t->broken.text : j->checked ? j->check.reason : NULL;
		if (code == ERR_NONE) {
			code = j->why.code;
			why = j->why.text;
		}
		if (!eval_retries(c->ev, code, why, &tries))
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
static void build_at(const struct tune_try *c, struct tune_tried *t, size_t size, struct tune_judged *j)
{
	if (size == 0) {
		j->params = t->built->params;
		j->why = t->built->why;
		j->used = j->why.code == ERR_NONE ? &t->built->variant : NULL;
		return;
	}
	j->params = tune_try_params(c->q, t->built->params, size);
	if (tunespace_point(c->spaces[size], j->params) == SEARCH_NONE)
		err_set(&j->why, ERR_PRUNED, "its where: line does not hold at this size");
	else if (variant_build(c->ev, c->q->ctx, j->params, t->facts, &j->variant, &j->why) == 0)
		j->used = &j->variant;
}

/* It passed and was timed at that size. */
static bool is_good(const struct tune_tried *t, size_t size)
{
	const struct tune_judged *j = &t->at[size];
	return size < t->count && j->checked && j->check.passed && j->why.code == ERR_NONE && j->times.count > 0;
}

/* best_ns: the best configuration's medians at each size, INFINITY where there is none. */
static void try_all_sizes(const struct tune_try *c, struct pool_worker *worker, const double best_ns[TUNE_SIZES],
			  struct tune_tried *t)
{
	int64_t start = clock_now();
	for (size_t size = 0; size < c->size_count; size++) {
		struct tune_judged *j = &t->at[t->count++];
		*j = (struct tune_judged){ .joules = NAN };
		build_at(c, t, size, j);
		if (j->used)
			check_and_time(c, worker, best_ns[size], t, j);
		/* Cancelled, or a device that cannot do what is asked: the tune ends. Anything else is the configuration's own. */
		if (t->broken.code == ERR_NONE && (j->why.code == ERR_CANCELLED || j->why.code == ERR_UNSUPPORTED))
			t->broken = j->why;
		if (t->broken.code != ERR_NONE || !is_good(t, size) || j->times.hopeless)
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

struct device_lane {
	struct tune_devices *devices;
	const struct facts *facts;
	struct pool_worker *worker;
	struct pool_worker **first; /* the tune's own lease; NULL: this lane's own */
	bool lost;
	pthread_t thread;
};

struct tune_devices {
	struct lock lock;
	struct lock_bell bell;
	struct tune_devices_config config;
	struct tune_tried *ready, **tail;
	size_t ready_count, ready_max;
	unsigned alive;
	bool stop;
	double best_ns[TUNE_SIZES];
	struct buf lost;
	struct tune_devices_time time;
	struct cancel over; /* nothing is left to try: a lane that waits for its device stops */
	struct device_lane lanes[DEVICES_MAX];
	size_t started; /* threads that are not joined yet */
	size_t threads; /* all that were started */
};

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
	for (int i = l->devices->config.count < 2 ? PINGS_ALONE : 1; i > 0; i--) {
		uint8_t *body = NULL;
		size_t len;
		int rc = pool_call(l->worker, WIRE_PING, NULL, PING_NS, &body, &len, &why);
		free(body);
		if (rc == 0 || why.code == ERR_CANCELLED)
			return false;
	}
	*e = why;
	return true;
}

/* A configuration that was executed may have been the cause, and is recorded as such; any other goes back, to the device that is
 * left or to the tune that is resumed from here. */
static bool was_executed(const struct tune_tried *t)
{
	return t->at[t->count - 1].checked;
}

/* Waits while the thread that records is behind. */
static void hand_on(struct tune_devices *d, struct tune_tried *t)
{
	lock_take(&d->lock);
	while (d->ready_count >= d->ready_max && !d->stop)
		lock_bell_wait(&d->bell, &d->lock, CLOCK_NEVER);
	*d->tail = t;
	d->tail = &t->next;
	d->ready_count++;
	lock_bell_ring(&d->bell);
	lock_release(&d->lock);
}

static void add_time(struct tune_devices *d, struct tune_devices_time more)
{
	lock_take(&d->lock);
	d->time.working += more.working;
	d->time.starving += more.starving;
	d->time.waiting += more.waiting;
	d->time.lasted += more.lasted;
	lock_release(&d->lock);
}

/* The first device is the tune's, which needs it afterwards, too. */
static int take_device(struct device_lane *l, struct err *e)
{
	struct tune_devices *d = l->devices;
	return eval_await_device(d->config.try.ev, l->facts, l->first ? NULL : &d->over, &l->worker, e);
}

/* Others wait in line (pool_take_device serves in order) and get their turn between two configurations. */
static bool let_others(struct device_lane *l, int64_t *turn, struct err *e)
{
	int64_t start = clock_now();
	if (start - *turn < l->devices->config.turn_ns)
		return true;
	pool_give(l->worker);
	l->worker = NULL;
	int rc = take_device(l, e);
	*turn = clock_now();
	add_time(l->devices, (struct tune_devices_time){ .waiting = *turn - start });
	return rc == 0;
}

/* Runs until nothing more is compiled, or the device is lost; it has no worker when the device could not be taken again. */
static void serve(struct device_lane *l, struct err *e)
{
	struct tune_devices *d = l->devices;
	struct tune_devices_time time = { 0 };
	double best_ns[TUNE_SIZES];
	int64_t began = clock_now(), at = began, now, turn = began;
	while (let_others(l, &turn, e)) {
		struct tune_built *b = take_built(d->config.compilers);
		if (b == NULL) {
			cancel_ask(&d->over);
			break;
		}
		struct tune_tried *t = MEM_NEW(struct tune_tried);
		*t = (struct tune_tried){ .built = b, .facts = l->facts };
		now = clock_now();
		time.starving += now - (turn > at ? turn : at);
		lock_take(&d->lock);
		memcpy(best_ns, d->best_ns, sizeof best_ns);
		lock_release(&d->lock);
		try_all_sizes(&d->config.try, l->worker, best_ns, t);
		at = clock_now();
		time.working += at - now;
		bool lost = is_lost(l, t, e);
		if (lost && !was_executed(t)) {
			t->built = NULL;
			tune_tried_free(t);
			put_back(d->config.compilers, b);
			break;
		}
		/* Who is to blame is not known: the configuration is out, and the checkpoint is not refuted by it. */
		if (lost)
			t->at[t->count - 1].check.alone = true;
		hand_on(d, t);
		at = clock_now();
		if (lost)
			break;
	}
	time.lasted = clock_now() - began;
	add_time(d, time);
}

static void *device_lane(void *arg)
{
	struct device_lane *l = arg;
	struct tune_devices *d = l->devices;
	struct err why = ERR_INIT;
	if (l->first)
		l->worker = *l->first;
	if (l->first || take_device(l, &why) == 0)
		serve(l, &why);
	if (l->first)
		*l->first = l->worker;
	else
		pool_give(l->worker);
	lock_take(&d->lock);
	if (why.code != ERR_NONE && why.code != ERR_CANCELLED) {
		l->lost = true;
		buf_addf(&d->lost, "%s%s: %s", d->lost.len ? "; " : "", l->facts->id, why.text);
	}
	d->alive--;
	lock_bell_ring(&d->bell);
	lock_release(&d->lock);
	return NULL;
}

int tune_devices_new(const struct tune_devices_config *config, struct tune_devices **ret_devices, struct err *e)
{
	struct tune_devices *d = MEM_NEW(struct tune_devices);
	lock_init(&d->lock, LOCK_LEAF);
	lock_bell_init(&d->bell);
	d->config = *config;
	d->tail = &d->ready;
	d->ready_max = config->count * QUEUE_PER_DEVICE;
	for (size_t i = 0; i < TUNE_SIZES; i++)
		d->best_ns[i] = INFINITY;
	lock_take(&d->lock);
	while (d->started < config->count && d->started < DEVICES_MAX) {
		struct device_lane *l = &d->lanes[d->started];
		*l = (struct device_lane){ .devices = d,
					   .facts = &config->facts[d->started],
					   .first = d->started ? NULL : config->first };
		if (pthread_create(&l->thread, NULL, device_lane, l) != 0)
			break;
		d->started++;
	}
	d->threads = d->started;
	d->alive = (unsigned)d->started;
	lock_release(&d->lock);
	if (d->started == 0) {
		tune_devices_free(d);
		return err_set(e, ERR_INTERNAL, "cannot start a thread for a device");
	}
	*ret_devices = d;
	return 0;
}

struct tune_tried *tune_devices_take(struct tune_devices *d, bool wait)
{
	lock_take(&d->lock);
	while (wait && d->ready == NULL && d->alive > 0)
		lock_bell_wait(&d->bell, &d->lock, CLOCK_NEVER);
	struct tune_tried *t = d->ready;
	if (t) {
		d->ready = t->next;
		if (d->ready == NULL)
			d->tail = &d->ready;
		d->ready_count--;
		lock_bell_ring(&d->bell);
	}
	lock_release(&d->lock);
	return t;
}

void tune_devices_best(struct tune_devices *d, const double ns[TUNE_SIZES])
{
	lock_take(&d->lock);
	memcpy(d->best_ns, ns, sizeof d->best_ns);
	lock_release(&d->lock);
}

void tune_devices_stop(struct tune_devices *d)
{
	cancel_ask(&d->over);
	lock_take(&d->lock);
	d->stop = true;
	lock_bell_ring(&d->bell);
	lock_release(&d->lock);
	while (d->started > 0)
		pthread_join(d->lanes[--d->started].thread, NULL);
}

const char *tune_devices_lost(struct tune_devices *d, size_t *ret_left)
{
	*ret_left = 0;
	while (*ret_left < d->threads && d->lanes[*ret_left].lost)
		++*ret_left;
	if (*ret_left == d->threads)
		*ret_left = d->config.count;
	return buf_text(&d->lost);
}

struct tune_devices_time tune_devices_time(struct tune_devices *d)
{
	lock_take(&d->lock);
	struct tune_devices_time time = d->time;
	lock_release(&d->lock);
	return time;
}

void tune_devices_free(struct tune_devices *d)
{
	if (d == NULL)
		return;
	tune_devices_stop(d);
	while (d->ready) {
		struct tune_tried *t = d->ready;
		d->ready = t->next;
		tune_tried_free(t);
	}
	buf_fini(&d->lost);
	lock_bell_fini(&d->bell);
	lock_fini(&d->lock);
	free(d);
}

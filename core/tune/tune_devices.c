/* tune_devices: taking, checking, timing, handing on; see tune_devices.h. */
#include "core/tune/tune_devices.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"

enum { DEVICES_MAX = 64, QUEUE_PER_DEVICE = 4 };
#define PING_NS (60 * CLOCK_S) /* a worker's whole start is in it */
enum { PINGS_ALONE = 3 };

struct lane {
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
	struct cancel over;        /* there is nothing more to try: who waits for a further device need not */
	struct lane lanes[DEVICES_MAX];
	size_t started;            /* and not joined yet */
	size_t threads;            /* that were started */
};

static void try_on(struct lane *l, struct tune_tried *t)
{
	struct tune_devices *d = l->devices;
	double best_ns[TUNE_SIZES];
	lock_take(&d->lock);
	memcpy(best_ns, d->best_ns, sizeof best_ns);
	lock_release(&d->lock);
	tune_try_on(&d->config.try, l->worker, best_ns, t);
}

/* Where it was executed. */
static bool broke_worker(const struct tune_judged *j)
{
	return j->checked && (j->check.code == ERR_CRASH || j->check.code == ERR_TIMEOUT);
}

/* A configuration that broke its worker is one thing, a device on which none can be started another: that one is left, and says nothing of
 * configurations. */
static bool is_lost(struct lane *l, const struct tune_tried *t, struct err *e)
{
	struct err why = ERR_INIT;
	if (t->count == 0 || t->built->why.code != ERR_NONE || t->broken.code != ERR_NONE ||
	    (t->at[t->count - 1].why.code == ERR_NONE && !broke_worker(&t->at[t->count - 1])))
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

/* One that was executed can have been the cause, and is recorded so; another one goes back, to the device that is left or to the tune that goes on
 * from here. (Where it was the loading that took the device away, that one meets it again.) */
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

/* The first one is the tune's, which needs it afterwards, too. */
static int take_device(struct lane *l, struct err *e)
{
	struct tune_devices *d = l->devices;
	return eval_await_device(d->config.try.ev, l->facts, l->first ? NULL : &d->over, &l->worker, e);
}

/* Others stand in line (pool_take_device serves in order), and get their turn between two configurations. */
static bool let_others(struct lane *l, int64_t *turn, struct err *e)
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

/* Runs until the lanes have nothing more, or the device is lost; without a worker when it could not be had again. */
static void serve(struct lane *l, struct err *e)
{
	struct tune_devices *d = l->devices;
	struct tune_devices_time time = { 0 };
	int64_t began = clock_now(), at = began, now, turn = began;
	while (let_others(l, &turn, e)) {
		struct tune_built *b = tune_lanes_take(d->config.lanes);
		if (b == NULL) {
			cancel_ask(&d->over);
			break;
		}
		struct tune_tried *t = MEM_NEW(struct tune_tried);
		*t = (struct tune_tried){ .built = b, .facts = l->facts };
		now = clock_now();
		time.starving += now - (turn > at ? turn : at);
		try_on(l, t);
		at = clock_now();
		time.working += at - now;
		bool lost = is_lost(l, t, e);
		if (lost && !was_executed(t)) {
			t->built = NULL;
			tune_tried_free(t);
			tune_lanes_put_back(d->config.lanes, b);
			break;
		}
		hand_on(d, t);
		at = clock_now();
		if (lost)
			break;
	}
	time.lasted = clock_now() - began;
	add_time(d, time);
}

static void *lane(void *arg)
{
	struct lane *l = arg;
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
		struct lane *l = &d->lanes[d->started];
		*l = (struct lane){ .devices = d, .facts = &config->facts[d->started], .first = d->started ? NULL : config->first };
		if (pthread_create(&l->thread, NULL, lane, l) != 0)
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

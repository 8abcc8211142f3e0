/* tune_lanes: asking, building, handing over; see tune_lanes.h. */
#include "core/tune/tune_lanes.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"

enum { QUEUE_PER_LANE = 2, LANES_MAX = 64 };
#define LOOK_NS (100 * CLOCK_MS) /* how often a lane without work looks whether it is cancelled */

struct tune_lanes {
	struct lock lock;
	struct lock_bell bell;
	struct tune_lanes_config config;
	struct tune_built *ready, **ready_tail;
	size_t ready_count, ready_max;
	size_t out;                   /* points asked for and not yet told */
	unsigned alive;               /* lanes that may still hand something over */
	bool stop;
	pthread_t threads[LANES_MAX];
	unsigned started;
};

static struct tune_built *build(const struct tune_lanes *l, size_t point)
{
	const struct tune_lanes_config *c = &l->config;
	struct tune_built *b = MEM_NEW(struct tune_built);
	b->point = point;
	b->params = tunespace_at(c->space, point);
	variant_build(c->ev, c->ctx, b->params, c->facts, &b->variant, &b->why);
	return b;
}

static void *lane(void *arg)
{
	struct tune_lanes *l = arg;
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
		struct tune_built *b = build(l, point);
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

int tune_lanes_new(const struct tune_lanes_config *config, struct tune_lanes **ret_lanes, struct err *e)
{
	struct tune_lanes *l = MEM_NEW(struct tune_lanes);
	unsigned width = pool_compile_width(config->ev->pool);
	if (width > LANES_MAX)
		width = LANES_MAX;
	lock_init(&l->lock, LOCK_LEAF);
	lock_bell_init(&l->bell);
	l->config = *config;
	l->ready_tail = &l->ready;
	l->ready_max = (size_t)width * QUEUE_PER_LANE;
	lock_take(&l->lock); /* a lane that ends at once must not be counted before it is */
	while (l->started < width && pthread_create(&l->threads[l->started], NULL, lane, l) == 0)
		l->started++;
	l->alive = l->started;
	lock_release(&l->lock);
	if (l->started == 0) {
		tune_lanes_free(l);
		return err_set(e, ERR_INTERNAL, "cannot start a thread for compiling");
	}
	*ret_lanes = l;
	return 0;
}

struct tune_built *tune_lanes_take(struct tune_lanes *l)
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

void tune_lanes_put_back(struct tune_lanes *l, struct tune_built *b)
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

void tune_lanes_stop(struct tune_lanes *l)
{
	lock_take(&l->lock);
	l->stop = true;
	lock_bell_ring(&l->bell);
	lock_release(&l->lock);
}

void tune_lanes_tell(struct tune_lanes *l, size_t point, double ns)
{
	lock_take(&l->lock);
	search_tell(l->config.search, point, ns);
	l->out--;
	lock_bell_ring(&l->bell);
	lock_release(&l->lock);
}

void tune_lanes_free(struct tune_lanes *l)
{
	if (l == NULL)
		return;
	tune_lanes_stop(l);
	while (l->started > 0)
		pthread_join(l->threads[--l->started], NULL);
	while (l->ready) {
		struct tune_built *b = l->ready;
		l->ready = b->next;
		tune_built_free(b);
	}
	lock_bell_fini(&l->bell);
	lock_fini(&l->lock);
	free(l);
}

void tune_built_free(struct tune_built *b)
{
	params_free(b->params);
	variant_fini(&b->variant);
	free(b);
}

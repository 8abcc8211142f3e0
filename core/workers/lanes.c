/* lanes: a parallel loop; see lanes.h. */
#include "core/workers/lanes.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"

enum { WIDTH_MAX = 256 };

struct lanes {
	struct lock lock;
	struct lock_bell bell; /* something is done */
	size_t next, count;
	bool *done;
	void (*work)(void *arg, size_t i);
	void *arg;
	pthread_t threads[WIDTH_MAX];
	unsigned started;
};

/* Takes items below `end` until there are none. */
static void work_until(struct lanes *l, size_t end)
{
	lock_take(&l->lock);
	while (l->next < end && l->next < l->count) {
		size_t i = l->next++;
		lock_release(&l->lock);
		l->work(l->arg, i);
		lock_take(&l->lock);
		l->done[i] = true;
		lock_bell_ring(&l->bell);
	}
	lock_release(&l->lock);
}

static void *lane(void *p)
{
	struct lanes *l = p;
	work_until(l, l->count);
	return NULL;
}

struct lanes *lanes_new(unsigned width, size_t count, void (*work)(void *arg, size_t i), void *arg)
{
	struct lanes *l = MEM_NEW(struct lanes);
	lock_init(&l->lock, LOCK_LEAF);
	lock_bell_init(&l->bell);
	l->count = count;
	l->done = MEM_NEW_N(bool, count + 1);
	l->work = work;
	l->arg = arg;
	if (width > WIDTH_MAX)
		width = WIDTH_MAX;
	while (l->started < width && l->started < count && pthread_create(&l->threads[l->started], NULL, lane, l) == 0)
		l->started++;
	return l;
}

void lanes_wait(struct lanes *l, size_t count)
{
	work_until(l, count);
	lock_take(&l->lock);
	for (size_t i = 0; i < count; i++)
		while (!l->done[i])
			lock_bell_wait(&l->bell, &l->lock, CLOCK_NEVER);
	lock_release(&l->lock);
}

void lanes_free(struct lanes *l)
{
	if (l == NULL)
		return;
	lock_take(&l->lock);
	l->next = l->count;
	lock_release(&l->lock);
	while (l->started > 0)
		pthread_join(l->threads[--l->started], NULL);
	free(l->done);
	lock_bell_fini(&l->bell);
	lock_fini(&l->lock);
	free(l);
}

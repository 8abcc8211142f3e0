/* parallel_for: see parallel_for.h. Threads are started for each loop: a start takes 20 us, a loop that is worth it
 * milliseconds. */
#include "base/parallel_for.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { SMALL = 1 << 18, THREADS = 16 };

struct work {
	unsigned count;
	void (*each)(void *arg, unsigned k);
	void *arg;
	atomic_uint next; /* the next that nobody has taken */
};

static void *take(void *arg)
{
	struct work *w = arg;
	for (;;) {
		unsigned k = atomic_fetch_add(&w->next, 1);
		if (k >= w->count)
			return NULL;
		w->each(w->arg, k);
	}
}

bool parallel_is_worth(uint64_t count)
{
	return count >= SMALL;
}

static unsigned processors(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

void parallel_each(unsigned count, void (*each)(void *arg, unsigned k), void *arg)
{
	struct work w = { .count = count, .each = each, .arg = arg };
	pthread_t threads[THREADS];
	unsigned want = processors() < THREADS ? processors() : THREADS, started = 0;
	/* If no thread can be started, the caller does everything. */
	while (started + 1 < want && started + 1 < count && pthread_create(&threads[started], NULL, take, &w) == 0)
		started++;
	take(&w);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

struct cuts {
	uint64_t count;
	void (*part)(void *arg, unsigned k, uint64_t from, uint64_t to);
	void *arg;
};

static void cut(void *arg, unsigned k)
{
	const struct cuts *c = arg;
	uint64_t each = c->count / PARALLEL_FOR_PARTS;
	c->part(c->arg, k, each * k, k + 1 == PARALLEL_FOR_PARTS ? c->count : each * (k + 1));
}

void parallel_for(uint64_t count, void (*part)(void *arg, unsigned k, uint64_t from, uint64_t to), void *arg)
{
	if (parallel_is_worth(count))
		parallel_each(PARALLEL_FOR_PARTS, cut, &(struct cuts){ count, part, arg });
	else
		part(arg, 0, 0, count);
}

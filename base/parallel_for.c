/* parallel_for: see parallel_for.h. Threads are started for each loop: a start takes 20 us, a loop that is worth it
 * milliseconds. */
#include "base/parallel_for.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { SMALL = 1 << 18, THREADS = 16 };

struct work {
	uint64_t count;
	void (*part)(void *arg, unsigned k, uint64_t from, uint64_t to);
	void *arg;
	atomic_uint next; /* the next cut that nobody has taken */
};

static void *take_cuts(void *arg)
{
	struct work *w = arg;
	for (;;) {
		unsigned k = atomic_fetch_add(&w->next, 1);
		if (k >= PARALLEL_FOR_PARTS)
			return NULL;
		w->part(w->arg, k, w->count / PARALLEL_FOR_PARTS * k,
			k + 1 == PARALLEL_FOR_PARTS ? w->count : w->count / PARALLEL_FOR_PARTS * (k + 1));
	}
}

static unsigned processors(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

void parallel_for(uint64_t count, void (*part)(void *arg, unsigned k, uint64_t from, uint64_t to), void *arg)
{
	struct work w = { .count = count, .part = part, .arg = arg };
	pthread_t threads[THREADS];
	unsigned want = processors() < THREADS ? processors() : THREADS, started = 0;
	if (count < SMALL) {
		part(arg, 0, 0, count);
		return;
	}
	/* If no thread can be started, the caller does everything. */
	while (started + 1 < want && pthread_create(&threads[started], NULL, take_cuts, &w) == 0)
		started++;
	take_cuts(&w);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

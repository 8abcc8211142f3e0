/* lanes: a parallel loop; see lanes.h. */
#include "core/eval/lanes.h"

#include <pthread.h>
#include <stdatomic.h>

enum { WIDTH_MAX = 256 };

struct lanes {
	atomic_size_t next;
	size_t count;
	void (*work)(void *arg, size_t i);
	void *arg;
};

static void *lane(void *p)
{
	struct lanes *l = p;
	size_t i;
	while ((i = atomic_fetch_add(&l->next, 1)) < l->count)
		l->work(l->arg, i);
	return NULL;
}

void lanes_run(unsigned width, size_t count, void (*work)(void *arg, size_t i), void *arg)
{
	struct lanes l = { .count = count, .work = work, .arg = arg };
	pthread_t threads[WIDTH_MAX];
	unsigned started = 0;
	if (width > WIDTH_MAX)
		width = WIDTH_MAX;
	/* The calling thread is one lane, so work gets done even when no thread can be started. */
	while (started + 1 < width && started + 1 < count && pthread_create(&threads[started], NULL, lane, &l) == 0)
		started++;
	lane(&l);
	while (started > 0)
		pthread_join(threads[--started], NULL);
}

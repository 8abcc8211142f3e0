/* pool: threads and their queue; see pool.h. */
#include "mcp/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"

struct item {
	struct item *next;
	void (*run)(void *arg);
	void *arg;
};

struct mcp_pool {
	struct lock lock;
	struct lock_bell bell;
	struct item *head, **tail; /* oldest first */
	int queued, max_queued;
	int ending;
	int threads;
	pthread_t *thread;
};

/* The next item, or NULL when the pool ends. */
static struct item *take(struct mcp_pool *p)
{
	lock_take(&p->lock);
	while (p->head == NULL && !p->ending)
		lock_bell_wait(&p->bell, &p->lock, CLOCK_NEVER);
	struct item *it = p->head;
	if (it) {
		p->head = it->next;
		if (p->head == NULL)
			p->tail = &p->head;
		p->queued--;
	}
	lock_release(&p->lock);
	return it;
}

static void *serve(void *arg)
{
	struct mcp_pool *p = arg;
	struct item *it;
	while ((it = take(p)) != NULL) {
		it->run(it->arg);
		free(it);
	}
	return NULL;
}

struct mcp_pool *mcp_pool_new(int threads, int max_queued)
{
	struct mcp_pool *p = MEM_NEW(struct mcp_pool);
	lock_init(&p->lock, LOCK_LEAF);
	lock_bell_init(&p->bell);
	p->tail = &p->head;
	p->max_queued = max_queued;
	p->thread = MEM_NEW_N(pthread_t, (size_t)threads);
	for (; p->threads < threads; p->threads++) {
		int rc = pthread_create(&p->thread[p->threads], NULL, serve, p);
		if (rc != 0)
			break;
	}
	assert(p->threads > 0);
	return p;
}

void mcp_pool_free(struct mcp_pool *p)
{
	if (p == NULL)
		return;
	lock_take(&p->lock);
	p->ending = 1;
	lock_bell_ring(&p->bell);
	lock_release(&p->lock);
	for (int i = 0; i < p->threads; i++)
		pthread_join(p->thread[i], NULL);
	assert(p->head == NULL);
	lock_bell_fini(&p->bell);
	lock_fini(&p->lock);
	free(p->thread);
	free(p);
}

int mcp_pool_add(struct mcp_pool *p, void (*run)(void *arg), void *arg, int force)
{
	struct item *it = MEM_NEW(struct item);
	it->run = run;
	it->arg = arg;
	lock_take(&p->lock);
	int full = p->queued >= p->max_queued && !force;
	if (!full) {
		*p->tail = it;
		p->tail = &it->next;
		p->queued++;
		pthread_cond_signal(&p->bell.cond); /* one item, one thread: ringing wakes them all */
	}
	lock_release(&p->lock);
	if (full)
		free(it);
	return full ? -1 : 0;
}

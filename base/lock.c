/* lock: ranked mutexes that abort on the wrong order; see lock.h. Used by every room with threads. */
#include "base/lock.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

/* Which ranks this thread holds, one bit each: per thread, so no shared mutable state. */
static _Thread_local unsigned held;

void lock_init(struct lock *l, enum lock_rank rank)
{
	int rc = pthread_mutex_init(&l->mutex, NULL);
	assert(rc == 0);
	(void)rc;
	l->rank = rank;
}

void lock_fini(struct lock *l)
{
	pthread_mutex_destroy(&l->mutex);
}

void lock_take(struct lock *l)
{
	if (held >> l->rank) {
		fprintf(stderr, "peakd: bug: lock of rank %d taken while 0x%x are held\n", (int)l->rank, held);
		abort();
	}
	pthread_mutex_lock(&l->mutex);
	held |= 1u << l->rank;
}

void lock_release(struct lock *l)
{
	assert(held & (1u << l->rank));
	held &= ~(1u << l->rank);
	pthread_mutex_unlock(&l->mutex);
}

void lock_bell_init(struct lock_bell *b)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&b->cond, &attr);
	pthread_condattr_destroy(&attr);
}

void lock_bell_fini(struct lock_bell *b)
{
	pthread_cond_destroy(&b->cond);
}

int lock_bell_wait(struct lock_bell *b, struct lock *l, int64_t deadline)
{
	assert(held & (1u << l->rank));
	if (deadline == CLOCK_NEVER) {
		pthread_cond_wait(&b->cond, &l->mutex);
		return 0;
	}
	struct timespec t = { .tv_sec = (time_t)(deadline / CLOCK_S), .tv_nsec = (long)(deadline % CLOCK_S) };
	return pthread_cond_timedwait(&b->cond, &l->mutex, &t) == ETIMEDOUT ? -1 : 0;
}

void lock_bell_ring(struct lock_bell *b)
{
	pthread_cond_broadcast(&b->cond);
}

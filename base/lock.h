/* lock: mutexes with a rank. A thread may take a lock only of a higher rank than every lock that it holds, which makes
 * deadlock between them impossible; taking one out of order is a bug and aborts. Nothing is called out of a lock. */
#ifndef PEAKD_BASE_LOCK_H
#define PEAKD_BASE_LOCK_H

#include <pthread.h>
#include <stdint.h>

/* Every lock of the project, outermost first: the list is the documentation. */
enum lock_rank {
	LOCK_ENGINE = 1, /* core/jobs/engine: the queue of jobs and the threads that serve it */
	LOCK_POOL,       /* core/workers/pool: which workers exist and who holds them */
	LOCK_REGISTRY,   /* mcp/server: live calls, sessions, subscriptions */
	LOCK_SESSION,    /* mcp: one call or session; connections of HTTP */
	LOCK_OUTPUT,     /* mcp: the output of a stdio client, a session's resumable streams */
	LOCK_STORE,      /* core/record/store: handles of the database */
	LOCK_LEAF,       /* anything that takes no other lock while held */
};

struct lock {
	pthread_mutex_t mutex;
	enum lock_rank rank;
};

void lock_init(struct lock *l, enum lock_rank rank);
void lock_fini(struct lock *l);
void lock_take(struct lock *l);
void lock_release(struct lock *l);

/* A condition on a ranked lock; waits use the monotonic clock. */
struct lock_bell {
	pthread_cond_t cond;
};
void lock_bell_init(struct lock_bell *b);
void lock_bell_fini(struct lock_bell *b);
/* Waits until rung or until the monotonic deadline (clock_now's nanoseconds, CLOCK_NEVER allowed).
 * Returns 0 when rung (or spuriously), -1 when the deadline passed. The lock is held before and after. */
int lock_bell_wait(struct lock_bell *b, struct lock *l, int64_t deadline);
void lock_bell_ring(struct lock_bell *b); /* wakes all who wait */

#endif

/* base/lock: the order of ranks is enforced, and bells wake a waiter or time out. */
#include "base/lock.h"

#include "base/clock.h"
#include "child.h"
#include "tap.h"

static void wrong_order(void)
{
	struct lock outer, inner;
	lock_init(&outer, LOCK_ENGINE);
	lock_init(&inner, LOCK_STORE);
	lock_take(&inner);
	lock_take(&outer);
}

static void same_rank(void)
{
	struct lock one, other;
	lock_init(&one, LOCK_LEAF);
	lock_init(&other, LOCK_LEAF);
	lock_take(&one);
	lock_take(&other);
}

static void not_held(void)
{
	struct lock l;
	lock_init(&l, LOCK_POOL);
	lock_release(&l);
}

struct shared {
	struct lock lock;      /* guards all fields below */
	struct lock_bell bell; /* rung when ready changes */
	int ready;             /* set by the other thread */
	long sum;              /* added to by both threads */
};

static void *other_thread(void *arg)
{
	struct shared *s = arg;
	for (int i = 0; i < 10000; i++) {
		lock_take(&s->lock);
		s->sum++;
		lock_release(&s->lock);
	}
	lock_take(&s->lock);
	s->ready = 1;
	lock_bell_ring(&s->bell);
	lock_release(&s->lock);
	return NULL;
}

static void two_threads(void)
{
	struct shared s = { .ready = 0 };
	lock_init(&s.lock, LOCK_ENGINE);
	lock_bell_init(&s.bell);
	pthread_t thread;
	pthread_create(&thread, NULL, other_thread, &s);
	for (int i = 0; i < 10000; i++) {
		lock_take(&s.lock);
		s.sum++;
		lock_release(&s.lock);
	}
	lock_take(&s.lock);
	while (!s.ready)
		if (lock_bell_wait(&s.bell, &s.lock, clock_now() + 30 * CLOCK_S) != 0)
			break;
	is_int(s.ready, 1, "the bell wakes a waiting thread");
	is_int(s.sum, 20000, "only one thread at a time holds the lock");
	int64_t before = clock_now();
	is_int(lock_bell_wait(&s.bell, &s.lock, before + 3 * CLOCK_MS), -1, "waiting for a silent bell times out");
	ok(clock_now() >= before + 3 * CLOCK_MS, "waiting for a silent bell lasts until its deadline");
	lock_release(&s.lock);
	pthread_join(thread, NULL);
	lock_bell_fini(&s.bell);
	lock_fini(&s.lock);
}

int main(void)
{
	char said[256];
	struct lock outer, inner;
	lock_init(&outer, LOCK_ENGINE);
	lock_init(&inner, LOCK_STORE);
	for (int i = 0; i < 2; i++) {
		lock_take(&outer);
		lock_take(&inner);
		lock_release(&inner);
		lock_release(&outer);
	}
	lock_take(&inner);
	lock_release(&inner);
	lock_take(&outer);
	lock_release(&outer);
	ok(1, "locks may be taken in the order of their ranks, repeatedly");
	ok(child_aborts(wrong_order, said, sizeof said), "taking an outer lock inside an inner one aborts");
	has_str(said, "lock of rank 1 taken", "the abort names the rank");
	ok(child_aborts(same_rank, said, sizeof said), "taking two locks of one rank aborts");
	ok(child_aborts(not_held, said, sizeof said), "releasing a lock that is not held aborts");
	two_threads();
	lock_fini(&inner);
	lock_fini(&outer);
	return tap_done();
}

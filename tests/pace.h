/* pace: bounds on time that a loaded machine does not break. A test that says "within a second" means a machine that has a second
 * to give: how much slower than itself it is at the moment is measured beside what is bounded. The measure is the clock's time for
 * some work over the processor time that it uses, and the bound is longer by as much. On an idle machine the bound is what it says.
 *
 *	struct pace p = pace_begin();
 *	cancel();
 *	ok(pace_within(&p, CLOCK_S), "within a second (%s)", pace_text(&p));
 *
 * Where something is only to happen, and not soon, PACE_WAIT(condition) waits until it has: for a minute at most, so that a test
 * which fails says what did not happen. */
#ifndef PEAKD_TESTS_PACE_H
#define PEAKD_TESTS_PACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"

#define PACE_WAIT(condition) do { \
	int64_t pace_end = clock_now() + 60 * CLOCK_S; \
	while (!(condition) && clock_now() < pace_end) \
		clock_sleep(CLOCK_MS / 2); \
} while (0)

struct pace {
	int64_t start, took; /* nanoseconds; took -1: not ended */
	double slow;         /* at least 1 */
	char text[80];
};

__attribute__((unused))
static int64_t pace_used(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * CLOCK_S + t.tv_nsec;
}

/* How much slower than itself the machine is now. */
__attribute__((unused))
static double pace_slowness(void)
{
	int64_t start = clock_now(), before = pace_used(), used;
	do
		used = pace_used() - before;
	while (used < 20 * CLOCK_MS);
	double slow = (double)(clock_now() - start) / (double)used;
	return slow > 1 ? slow : 1;
}

__attribute__((unused))
static struct pace pace_begin(void)
{
	struct pace p = { .slow = pace_slowness(), .took = -1 };
	p.start = clock_now();
	return p;
}

/* Ends the measurement, at its first call. */
__attribute__((unused))
static void pace_end(struct pace *p)
{
	if (p->took < 0) {
		p->took = clock_now() - p->start;
		double slow = pace_slowness();
		p->slow = slow > p->slow ? slow : p->slow;
	}
}

__attribute__((unused))
static bool pace_within(struct pace *p, int64_t limit)
{
	pace_end(p);
	return (double)p->took < (double)limit * p->slow;
}

__attribute__((unused))
static const char *pace_text(struct pace *p)
{
	pace_end(p); /* arguments are evaluated in any order */
	snprintf(p->text, sizeof p->text, "%.0f ms, the machine being %.1f times slower than itself", (double)p->took / 1e6,
		 p->slow);
	return p->text;
}

#endif

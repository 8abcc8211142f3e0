/* clock: monotonic and wall time; see clock.h. Used by every room. */
#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * CLOCK_S + t.tv_nsec;
}

int64_t clock_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_cpu(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_wall_ms(void)
{
	return read_clock(CLOCK_REALTIME) / CLOCK_MS;
}

int clock_poll_ms(int64_t deadline)
{
	if (deadline == CLOCK_NEVER)
		return -1;
	int64_t now = clock_now();
	if (deadline <= now)
		return 0;
	int64_t left = deadline - now;
	int64_t ms = left / CLOCK_MS + (left % CLOCK_MS != 0);
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

char *clock_iso(int64_t wall_ms, char text[32])
{
	time_t s = (time_t)(wall_ms / 1000);
	struct tm tm;
	gmtime_r(&s, &tm);
	strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return text;
}

void clock_sleep(int64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / CLOCK_S), .tv_nsec = (long)(ns % CLOCK_S) };
	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

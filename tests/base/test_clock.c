/* base/clock: deadlines for poll(2), ISO texts, sleeping. */
#include "base/clock.h"

#include <limits.h>

#include "tap.h"

static void polling(void)
{
	is_int(clock_poll_ms(CLOCK_NEVER), -1, "without a deadline poll waits forever");
	is_int(clock_poll_ms(clock_now() - 1), 0, "poll does not wait for a past deadline");
	is_int(clock_poll_ms(0), 0, "poll does not wait for deadline 0");
	is_int(clock_poll_ms(CLOCK_NEVER - 1), INT_MAX, "a distant deadline waits as long as poll can");
	int early = 0;
	for (int i = 0; i < 1000; i++) {
		int64_t deadline = clock_now() + 5 * CLOCK_MS + i * 1000;
		int ms = clock_poll_ms(deadline);
		early += clock_now() + ms * CLOCK_MS < deadline;
	}
	is_int(early, 0, "a wait of clock_poll_ms never ends before the deadline");
}

int main(void)
{
	int64_t before = clock_now();
	clock_sleep(2 * CLOCK_MS);
	int64_t slept = clock_now() - before;
	ok(slept >= 2 * CLOCK_MS, "clock_sleep sleeps at least as long as asked");
	ok(slept < 60 * CLOCK_S, "clock_sleep takes nanoseconds");
	polling();
	char text[32];
	is_str(clock_iso(0, text), "1970-01-01T00:00:00Z", "clock_iso formats the epoch");
	is_str(clock_iso(INT64_C(1709210096789), text), "2024-02-29T12:34:56Z",
	       "clock_iso formats a leap day and drops the milliseconds");
	ok(clock_wall_ms() > INT64_C(1700000000000), "the wall clock counts milliseconds");
	return tap_done();
}

/* sample: see sample.h. */
#include "backends/timing/sample.h"

#include <math.h>

enum { SAMPLE_NS = 50000, LAUNCHES_MAX = 1000, WARM_UP_MAX = 64, STRETCH = 4 };
#define WARM_UP_NS UINT64_C(2000000)
#define STABLE 0.01

int sample_take(const struct backend *b, struct backend_run *run, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e)
{
	uint64_t ns = 0;
	int r = b->execute(run, times, cache, &ns, e);
	if (r == 0 && ns == 0)
		r = err_set(e, ERR_UNSUPPORTED,
		            "the device gives no times (no timestamps, or it is emulated); measure on another one");
	if (r == 0)
		*ret_ns = ns;
	return r;
}

uint32_t sample_launches(uint64_t ns)
{
	uint64_t n = (SAMPLE_NS + ns - 1) / ns;
	return n < 1 ? 1 : n > LAUNCHES_MAX ? LAUNCHES_MAX : (uint32_t)n;
}

/* So many samples, summed: what drifts shows in the sum, what jitters does not. */
static int stretch(const struct backend *b, struct backend_run *run, uint32_t launches, uint64_t *io_total, double *ret_mean,
                   struct err *e)
{
	double sum = 0;
	for (int i = 0; i < STRETCH; i++) {
		uint64_t ns;
		int r = sample_take(b, run, launches, WIRE_WARM, &ns, e);
		if (r < 0)
			return r;
		sum += (double)ns;
		*io_total += ns * launches;
	}
	*ret_mean = sum / STRETCH;
	return 0;
}

int sample_warm_up(const struct backend *b, struct backend_run *run, uint64_t limit_ns, uint64_t *ret_first_ns, uint64_t *ret_ns,
                   struct err *e)
{
	uint64_t ns = 0, first = 0, total;
	double before, now = 0;
	int r = sample_take(b, run, 1, WIRE_WARM, &first, e);
	total = ns = first;
	for (int i = 1; i < WARM_UP_MAX && total < WARM_UP_NS && r == 0; i++) {
		r = sample_take(b, run, sample_launches(first), WIRE_WARM, &ns, e);
		total += ns * sample_launches(first);
	}
	if (r == 0 && total < limit_ns)
		r = stretch(b, run, sample_launches(ns), &total, &now, e);
	for (before = 0; r == 0 && total < limit_ns && fabs(now - before) > STABLE * now;) {
		before = now;
		r = stretch(b, run, sample_launches(ns), &total, &now, e);
	}
	if (r == 0) {
		*ret_first_ns = first;
		*ret_ns = now > 0 ? (uint64_t)(now + 0.5) : ns;
	}
	return r;
}

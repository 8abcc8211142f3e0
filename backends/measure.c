/* measure: see measure.h. */
#include "backends/measure.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

enum { SAMPLE_NS = 50000, LAUNCHES_MAX = 1000, HOPELESS_SAMPLES = 3, WARM_UP_NS = 2000000, WARM_UP_MAX = 64 };

/* Mean and variance as samples come (Welford 1962). */
struct spread {
	double count, mean, squares;
};

static void spread_add(struct spread *s, double x)
{
	double d = x - s->mean;
	s->count++;
	s->mean += d / s->count;
	s->squares += d * (x - s->mean);
}

/* Relative standard error of the mean; infinite for fewer than two samples. */
static double spread_rse(const struct spread *s)
{
	if (s->count < 2 || !(s->mean > 0))
		return INFINITY;
	return sqrt(s->squares / (s->count - 1) / s->count) / s->mean;
}

static int sample(const struct backend *b, struct backend_run *run, uint32_t times, bool cold, uint64_t *ret_ns,
                  struct err *e)
{
	uint64_t ns = 0;
	int r = b->execute(run, times, cold, &ns, e);
	if (r == 0 && ns == 0)
		r = err_set(e, ERR_UNSUPPORTED,
		            "the device gives no times (no timestamps, or it is emulated); measure on another one");
	if (r == 0)
		*ret_ns = ns;
	return r;
}

static uint32_t launches_for(uint64_t ns)
{
	uint64_t n = (SAMPLE_NS + ns - 1) / ns;
	return n < 1 ? 1 : n > LAUNCHES_MAX ? LAUNCHES_MAX : (uint32_t)n;
}

/* True once every one of the first samples was slower than what would still be of interest. */
static bool is_hopeless(const struct wire_measure *m, const struct wire_measured *out, uint64_t warm_ns)
{
	size_t want = m->max_samples < HOPELESS_SAMPLES ? m->max_samples : HOPELESS_SAMPLES;
	if (m->hopeless_ns == 0)
		return false;
	for (size_t i = 0; i < out->sample_count; i++)
		if (out->samples[i] <= m->hopeless_ns)
			return false;
	return out->sample_count == want || warm_ns / 4 > m->hopeless_ns;
}

static bool is_enough(const struct wire_measure *m, const struct wire_measured *out, const struct spread *s,
                      int64_t start)
{
	if (out->sample_count >= m->max_samples || (uint64_t)(clock_now() - start) >= m->cap_ns)
		return true;
	return out->sample_count >= m->min_samples && spread_rse(s) <= m->rse;
}

/* Executions that nobody counts, until caches, clocks and page tables have seen enough of them. ret_ns: of the
 * first. */
static int warm_up(const struct backend *b, struct backend_run *run, uint64_t *ret_ns, struct err *e)
{
	uint64_t ns = 0, first = 0, total;
	int r = sample(b, run, 1, false, &first, e);
	total = first;
	for (int i = 1; i < WARM_UP_MAX && total < WARM_UP_NS && r == 0; i++) {
		r = sample(b, run, launches_for(first), false, &ns, e);
		total += ns * launches_for(first);
	}
	if (r == 0)
		*ret_ns = first;
	return r;
}

int measure_samples(const struct backend *b, struct backend_run *run, const struct wire_measure *m,
                    struct wire_measured *ret_measured, struct err *e)
{
	struct wire_measured out = { 0 };
	struct spread spread = { 0 };
	int64_t start = clock_now();
	uint64_t ns = 0, warm_ns = 0;
	int r = warm_up(b, run, &warm_ns, e);
	if (r == 0)
		out.launches = launches_for(warm_ns);
	while (r == 0 && !out.hopeless) {
		r = sample(b, run, out.launches, m->cold, &ns, e);
		if (r < 0)
			break;
		*MEM_PUSH(out.samples, out.sample_count) = ns;
		spread_add(&spread, (double)ns);
		out.hopeless = is_hopeless(m, &out, warm_ns);
		if (is_enough(m, &out, &spread, start))
			break;
	}
	if (r < 0)
		wire_measured_fini(&out);
	else
		*ret_measured = out;
	return r;
}

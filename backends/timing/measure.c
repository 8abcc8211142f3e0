/* measure: see measure.h. */
#include "backends/timing/measure.h"

#include <math.h>
#include <stdlib.h>

#include "backends/timing/sample.h"
#include "base/clock.h"
#include "base/mem.h"

enum { HOPELESS_SAMPLES = 3 };

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

/* Of `all` taken, those that count are in `spread`. */
static bool is_enough(const struct wire_measure *m, const struct wire_measured *all, const struct spread *s, int64_t start)
{
	if (all->sample_count >= 4 * (size_t)m->max_samples || s->count >= m->max_samples ||
	    (uint64_t)(clock_now() - start) >= m->cap_ns)
		return true;
	return s->count >= m->min_samples && spread_rse(s) <= m->rse;
}

/* Leaves the undisturbed samples, unless they are too few. */
static void sift(const struct wire_measure *m, const struct spread *s, struct wire_measured *out)
{
	size_t good = (size_t)s->count, n = 0;
	out->discarded = (uint32_t)(out->sample_count - good);
	if (out->discarded == 0)
		return;
	if (good < m->min_samples) {
		out->disturbed = 1;
		out->discarded = 0;
		return;
	}
	for (size_t i = 0; i < out->sample_count; i++)
		if (!out->conditions[i].disturbed) {
			out->samples[n] = out->samples[i];
			out->conditions[n++] = out->conditions[i];
		}
	out->sample_count = n;
}

static int take_all(const struct backend *b, struct backend_run *run, struct gpu_monitor *watch, const struct wire_measure *m,
                    uint64_t warm_ns, int64_t start, struct wire_measured *out, struct spread *spread, struct err *e)
{
	size_t conditions = 0;
	do {
		uint64_t ns;
		if (m->rests && conditions)
			gpu_monitor_rest(&out->conditions[conditions - 1]);
		int r = sample_take(b, run, out->launches, m->cache, &ns, e);
		if (r < 0)
			return r;
		struct wire_condition c = gpu_monitor_look(watch);
		*MEM_PUSH(out->samples, out->sample_count) = ns;
		*MEM_PUSH(out->conditions, conditions) = c;
		if (!c.disturbed)
			spread_add(spread, (double)ns);
		out->hopeless = is_hopeless(m, out, warm_ns);
	} while (!out->hopeless && !is_enough(m, out, spread, start));
	return 0;
}

int measure_samples(const struct backend *b, struct backend_run *run, struct gpu_monitor *watch, const struct wire_measure *m,
                    struct wire_measured *ret_measured, struct err *e)
{
	struct wire_measured out = { 0 };
	struct spread spread = { 0 };
	uint64_t first_ns = 0, ns = 0;
	int64_t start = clock_now();
	gpu_monitor_begin(watch, m->cache == WIRE_FLUSHED); /* a search, which quotes nothing */
	int r = sample_warm_up(b, run, m->warm_up_ns, &first_ns, &ns, e);
	if (r == 0) {
		out.launches = sample_launches(ns);
		r = take_all(b, run, watch, m, first_ns, start, &out, &spread, e);
	}
	if (r == 0) {
		sift(m, &spread, &out);
		out.note = mem_str(gpu_monitor_note(watch));
		*ret_measured = out;
	} else {
		wire_measured_fini(&out);
	}
	return r;
}

/* measure: see measure.h. */
#include "backends/timing/measure.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

/* --- one sample, and the warm-up ---------------------------------------------------------------------------------- */

enum { SAMPLE_NS = 50000, LAUNCHES_MAX = 1000, WARM_UP_MAX = 64, STRETCH = 4 };
#define WARM_UP_NS UINT64_C(2000000)
#define STABLE 0.01

/* Nanoseconds per execution, of `times` of them. */
static int take(const struct backend *b, struct backend_run *run, uint32_t times, enum wire_cache cache, uint64_t *ret_ns,
		struct err *e)
{
	uint64_t ns = 0;
	int rc = b->execute(run, times, cache, &ns, e);
	if (rc == 0 && ns == 0)
		rc = err_set(e, ERR_UNSUPPORTED,
			     "the device gives no times (no timestamps, or it is emulated); measure on another one");
	if (rc == 0)
		*ret_ns = ns;
	return rc;
}

/* A sample that counts, with what its owner does around it. */
static int take_sample(const struct measure_run *r, uint32_t number, uint32_t times, enum wire_cache cache, uint64_t *ret_ns,
		       struct err *e)
{
	int rc = r->before ? r->before(r->arg, number, e) : 0;
	if (rc == 0)
		rc = take(r->backend, r->run, times, cache, ret_ns, e);
	if (rc == 0 && r->after)
		rc = r->after(r->arg, number, e);
	return rc;
}

/* How many executions of this length make a sample. */
static uint32_t launches_for(uint64_t ns)
{
	uint64_t n = (SAMPLE_NS + ns - 1) / ns;
	return n < 1 ? 1 : n > LAUNCHES_MAX ? LAUNCHES_MAX : (uint32_t)n;
}

/* The mean of a few samples: drift shows in it, jitter does not. */
static int take_stretch(const struct backend *b, struct backend_run *run, uint32_t launches, uint64_t *io_total, double *ret_mean,
			struct err *e)
{
	double sum = 0;
	for (int i = 0; i < STRETCH; i++) {
		uint64_t ns;
		int rc = take(b, run, launches, WIRE_WARM, &ns, e);
		if (rc < 0)
			return rc;
		sum += (double)ns;
		*io_total += ns * launches;
	}
	*ret_mean = sum / STRETCH;
	return 0;
}

/* Until times are steady and the clock has risen. *ret_first_ns: the first execution, *ret_ns: the last ones. */
static int warm_up(const struct backend *b, struct backend_run *run, struct gpu_monitor *monitor, uint64_t limit_ns,
		   uint64_t *ret_first_ns, uint64_t *ret_ns, struct err *e)
{
	uint64_t ns = 0, first = 0, total;
	double before, now = 0;
	int rc = take(b, run, 1, WIRE_WARM, &first, e);
	total = ns = first;
	for (int i = 1; i < WARM_UP_MAX && total < WARM_UP_NS && rc == 0; i++) {
		rc = take(b, run, launches_for(first), WIRE_WARM, &ns, e);
		total += ns * launches_for(first);
	}
	if (rc == 0 && total < limit_ns)
		rc = take_stretch(b, run, launches_for(ns), &total, &now, e);
	for (before = 0; rc == 0 && total < limit_ns && (fabs(now - before) > STABLE * now || gpu_monitor_is_cold(monitor));) {
		before = now;
		rc = take_stretch(b, run, launches_for(ns), &total, &now, e);
	}
	if (rc == 0) {
		*ret_first_ns = first;
		*ret_ns = now > 0 ? (uint64_t)(now + 0.5) : ns;
	}
	return rc;
}

/* --- samples of one run ------------------------------------------------------------------------------------------- */

enum { HOPELESS_SAMPLES = 3 };

/* Mean and variance as samples come (Welford 1962). */
struct spread {
	double count, mean, squares;
};

/* Relative standard error of the mean; infinite for fewer than two samples. */
static double spread_rse(const struct spread *s)
{
	if (s->count < 2 || !(s->mean > 0))
		return INFINITY;
	return sqrt(s->squares / (s->count - 1) / s->count) / s->mean;
}

/* True once all of the first samples were slower than what is still of interest. */
static bool is_hopeless(const struct wire_measure *m, const struct wire_measured *out, uint64_t first_ns)
{
	size_t want = m->max_samples < HOPELESS_SAMPLES ? m->max_samples : HOPELESS_SAMPLES;
	if (m->hopeless_ns == 0)
		return false;
	for (size_t i = 0; i < out->sample_count; i++)
		if (out->samples[i] <= m->hopeless_ns)
			return false;
	return out->sample_count == want || first_ns / 4 > m->hopeless_ns;
}

/* `spread` has those of the samples that count. */
static bool is_enough(const struct wire_measure *m, const struct wire_measured *all, const struct spread *s, int64_t start)
{
	if (all->sample_count >= 4 * (size_t)m->max_samples || s->count >= m->max_samples ||
	    (uint64_t)(clock_now() - start) >= m->cap_ns)
		return true;
	return s->count >= m->min_samples && spread_rse(s) <= m->rse;
}

int measure_samples(const struct measure_run *r, struct gpu_monitor *monitor, const struct wire_measure *m,
		    struct wire_measured *ret_measured, struct err *e)
{
	struct wire_measured out = { 0 };
	struct spread spread = { 0 };
	uint64_t first_ns = 0, ns = 0;
	size_t conditions = 0;
	int64_t start = clock_now();
	gpu_monitor_begin(monitor, m->cache == WIRE_FLUSHED); /* what a search measures is not quoted */
	int rc = warm_up(r->backend, r->run, monitor, m->warm_up_ns, &first_ns, &ns, e);
	out.launches = rc == 0 ? launches_for(ns) : 0;
	while (rc == 0 && !out.hopeless && (conditions == 0 || !is_enough(m, &out, &spread, start))) {
		if (m->rests && conditions)
			gpu_monitor_rest(&out.conditions[conditions - 1]);
		rc = take_sample(r, (uint32_t)conditions, out.launches, m->cache, &ns, e);
		if (rc < 0)
			break;
		struct wire_condition c = gpu_monitor_look(monitor);
		*MEM_PUSH(out.samples, out.sample_count) = ns;
		*MEM_PUSH(out.conditions, conditions) = c;
		if (!c.disturbed) {
			double off = (double)ns - spread.mean;
			spread.mean += off / ++spread.count;
			spread.squares += off * ((double)ns - spread.mean);
		}
		out.hopeless = is_hopeless(m, &out, first_ns);
	}
	if (rc < 0) {
		wire_measured_fini(&out);
		return rc;
	}
	/* Only the undisturbed samples count, unless they are too few. */
	out.disturbed = spread.count < (double)out.sample_count && spread.count < m->min_samples;
	size_t n = 0, all = out.sample_count;
	for (size_t i = 0; i < all && !out.disturbed; i++)
		if (!out.conditions[i].disturbed) {
			out.samples[n] = out.samples[i];
			out.conditions[n++] = out.conditions[i];
		}
	out.sample_count = out.disturbed ? all : n;
	out.discarded = (uint32_t)(all - out.sample_count);
	out.note = mem_str(gpu_monitor_note(monitor));
	*ret_measured = out;
	return 0;
}

/* --- pairs of two runs -------------------------------------------------------------------------------------------- */

/* Both runs with what is known of them. */
struct pair {
	const struct measure_run *run[2]; /* A, B */
	enum wire_cache cache[2];
	uint32_t launches[2];
	struct gpu_monitor *monitor;
	const struct wire_pair *m;
	double *logs; /* of the undisturbed pairs: log(B / A) */
	size_t good, all;
	size_t next_look;  /* number of good pairs */
	uint64_t least_ns; /* the fastest execution in these */
	struct verdict_interval interval;
	bool decided;
};

static int take_pair(struct pair *p, struct wire_paired *out, struct err *e)
{
	uint64_t ns[2] = { 0, 0 };
	for (unsigned i = 0; i < 2; i++) {
		unsigned which = (i + (unsigned)p->all) % 2;
		int rc = take_sample(p->run[which], (uint32_t)p->all, p->launches[which], p->cache[which], &ns[which], e);
		if (rc < 0)
			return rc;
	}
	size_t n[3] = { out->pair_count, out->pair_count, out->pair_count };
	struct wire_condition c = gpu_monitor_look(p->monitor);
	*MEM_PUSH(out->a_ns, n[0]) = ns[0];
	*MEM_PUSH(out->b_ns, n[1]) = ns[1];
	*MEM_PUSH(out->conditions, n[2]) = c;
	out->pair_count = n[0];
	p->all++;
	if (c.disturbed)
		return 0;
	for (unsigned i = 0; i < 2; i++)
		p->least_ns = p->least_ns == 0 || ns[i] < p->least_ns ? ns[i] : p->least_ns;
	*MEM_PUSH(p->logs, p->good) = log((double)ns[1] / (double)ns[0]);
	return 0;
}

static double margin_of(const struct pair *p)
{
	return verdict_margin(p->m->margin, p->m->floor_ns, (double)p->least_ns);
}

/* Whether a run reuses its results is a question about one side: what is surely not faster does not. */
static enum wire_verdict verdict_so_far(const struct pair *p, double margin)
{
	enum wire_verdict verdict = verdict_of(&p->interval, margin);
	return verdict == WIRE_UNCLEAR && p->m->unreset && p->interval.low > 1 / (1 + margin) ? WIRE_SAME : verdict;
}

/* Looks only now and then: every look is another chance to be wrong. */
static void look(struct pair *p, bool last)
{
	const struct wire_pair *m = p->m;
	if (p->good < m->min_pairs || (p->good < p->next_look && !last))
		return;
	p->next_look = p->good + p->good / 2;
	p->interval = verdict_interval(p->logs, p->good, m->confidence);
	double width = fmax(p->interval.high / p->interval.ratio, p->interval.ratio / p->interval.low) - 1;
	p->decided = verdict_so_far(p, margin_of(p)) != WIRE_UNCLEAR && width <= m->width;
}

static void conclude(const struct pair *p, struct wire_paired *out)
{
	struct verdict_interval interval = p->interval;
	size_t n = 0;
	out->margin = margin_of(p);
	if (p->good >= p->m->min_pairs) {
		for (size_t i = 0; i < out->pair_count; i++)
			if (!out->conditions[i].disturbed) {
				out->a_ns[n] = out->a_ns[i];
				out->b_ns[n] = out->b_ns[i];
				out->conditions[n++] = out->conditions[i];
			}
		out->discarded = (uint32_t)(out->pair_count - n);
		out->pair_count = n;
		out->verdict = verdict_so_far(p, out->margin);
	} else {
		/* Too few for a verdict: the disturbed ones are reported, too, and marked. */
		double *logs = MEM_NEW_N(double, p->all);
		for (size_t i = 0; i < p->all; i++)
			logs[i] = log((double)out->b_ns[i] / (double)out->a_ns[i]);
		interval = p->all >= 2 ? verdict_interval(logs, p->all, p->m->confidence) : (struct verdict_interval){ 1, 1, 1 };
		free(logs);
		out->disturbed = p->good < p->all;
		out->verdict = WIRE_UNCLEAR;
	}
	out->ratio = interval.ratio;
	out->low = interval.low;
	out->high = interval.high;
}

int measure_pair(const struct measure_run *a, const struct measure_run *b, struct gpu_monitor *monitor, const struct wire_pair *m,
		 struct wire_paired *ret_paired, struct err *e)
{
	enum wire_cache cache = m->cold ? WIRE_COLD : WIRE_HOT;
	struct pair p = { .run = { a, b }, .cache = { cache, m->unreset ? WIRE_UNRESET : cache }, .monitor = monitor, .m = m };
	struct wire_paired out = { 0 };
	int64_t start = clock_now();
	bool last = false;
	int rc = 0;
	gpu_monitor_begin(monitor, false);
	for (int i = 0; i < 2 && rc == 0; i++) {
		uint64_t first, ns;
		rc = m->unreset ? p.run[i]->before(p.run[i]->arg, 0, e) : 0; /* selects its set */
		if (rc == 0)
			rc = warm_up(p.run[i]->backend, p.run[i]->run, monitor, m->warm_up_ns, &first, &ns, e);
		if (rc == 0)
			p.launches[i] = launches_for(ns);
	}
	while (rc == 0 && !p.decided && !last) {
		if (out.pair_count)
			gpu_monitor_rest(&out.conditions[out.pair_count - 1]);
		rc = take_pair(&p, &out, e);
		uint64_t took = (uint64_t)(clock_now() - start);
		last = p.good >= m->max_pairs || p.all >= 4 * (size_t)m->max_pairs || took >= (p.all < 2 ? 8 : 1) * m->cap_ns;
		if (rc == 0)
			look(&p, last);
	}
	if (rc == 0) {
		conclude(&p, &out);
		out.launches_a = p.launches[0];
		out.launches_b = p.launches[1];
		out.note = mem_str(gpu_monitor_note(monitor));
		*ret_paired = out;
	} else {
		wire_paired_fini(&out);
	}
	free(p.logs);
	return rc;
}

/* --- energy ------------------------------------------------------------------------------------------------------- */

/* Reading the counter takes milliseconds (4 ms on an H200 with driver 580), in which the device would stand still; so a
 * second thread reads it while this one executes. Both ends of the window are moments at which the counter has just
 * moved. */
#define BATCH_NS UINT64_C(20000000)
#define LOOK_NS CLOCK_MS
#define STEP_NS (300 * CLOCK_MS) /* longer than any counter's step */

/* What the reading thread saw; the other one reads it after the join. */
struct reader {
	struct gpu_monitor *monitor;
	atomic_bool stop;
	uint64_t first_mj, last_mj; /* when it moved first and last */
	int64_t first_ns, last_ns;
	unsigned steps; /* moves, the first one included */
};

static void *read_counter(void *arg)
{
	struct reader *r = arg;
	uint64_t before = 0, now = 0;
	bool known = gpu_monitor_energy(r->monitor, &before);
	while (known && !atomic_load(&r->stop)) {
		clock_sleep(LOOK_NS);
		known = gpu_monitor_energy(r->monitor, &now);
		if (!known || now == before)
			continue;
		before = r->last_mj = now;
		r->last_ns = clock_now();
		if (r->steps++ == 0) {
			r->first_mj = now;
			r->first_ns = r->last_ns;
		}
	}
	return NULL;
}

/* Executes in batches while the counter is read: a step longer on either side than min_ns. */
static int execute_and_read(const struct backend *b, struct backend_run *run, struct reader *reader, uint64_t min_ns,
			    uint32_t batch, struct wire_energised *out, struct err *e)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, read_counter, reader) != 0)
		return err_set(e, ERR_INTERNAL, "cannot start the thread that reads the energy counter");
	int64_t start = clock_now(), now = start;
	uint64_t executions = 0;
	int rc = 0;
	while (rc == 0 && now - start < (int64_t)min_ns + 2 * STEP_NS) {
		uint64_t ignored;
		rc = take(b, run, batch, WIRE_WARM, &ignored, e);
		executions += batch;
		now = clock_now();
	}
	atomic_store(&reader->stop, true);
	pthread_join(thread, NULL);
	out->executions = executions;
	if (rc < 0 || reader->steps < 2)
		return rc;
	out->seconds = (double)(reader->last_ns - reader->first_ns) / 1e9;
	out->joules = (double)(reader->last_mj - reader->first_mj) / 1e3;
	out->executions = (uint64_t)((double)executions / ((double)(now - start) / 1e9) * out->seconds + 0.5);
	return 0;
}

int measure_energy(const struct backend *b, struct backend_run *run, struct gpu_monitor *monitor, const struct wire_energy *m,
		   struct wire_energised *ret_energised, struct err *e)
{
	struct wire_energised out = { 0 };
	struct reader reader = { .monitor = monitor };
	uint64_t first, ns, ignored;
	if (!gpu_monitor_energy(monitor, &ignored)) {
		out.note = mem_str(*gpu_monitor_note(monitor) ? gpu_monitor_note(monitor) : "the device has no energy counter");
		*ret_energised = out;
		return 0;
	}
	gpu_monitor_begin(monitor, false);
	int rc = warm_up(b, run, monitor, 5 * BATCH_NS, &first, &ns, e);
	if (rc == 0)
		rc = execute_and_read(b, run, &reader, m->min_ns, ns < BATCH_NS ? (uint32_t)(BATCH_NS / ns) : 1, &out, e);
	if (rc < 0)
		return rc;
	out.condition = gpu_monitor_look(monitor);
	if (out.joules > 0 && (double)m->min_ns <= out.seconds * 1e9) {
		out.note = mem_str(gpu_monitor_note(monitor));
	} else {
		out.joules = out.seconds = 0;
		out.note = mem_str("the device's energy counter does not move, or too seldom");
	}
	*ret_energised = out;
	return 0;
}

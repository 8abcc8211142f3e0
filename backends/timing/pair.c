/* pair: see pair.h. */
#include "backends/timing/pair.h"

#include <math.h>
#include <stdlib.h>

#include "backends/timing/sample.h"
#include "backends/timing/verdict.h"
#include "base/clock.h"
#include "base/mem.h"

/* Both runs with what is known of them. */
struct pair {
	const struct backend *b;
	struct backend_run *run[2];  /* A, B */
	uint32_t launches[2];
	struct gpu_monitor *watch;
	const struct wire_pair *m;
	double *logs;                /* of the undisturbed pairs: log(B / A) */
	size_t good, all;
	size_t next_look;            /* number of good pairs */
	uint64_t least_ns;           /* the fastest execution in these */
	struct verdict_interval interval;
	bool decided;
};

static int take_one(struct pair *p, struct wire_paired *out, struct err *e)
{
	uint64_t ns[2] = { 0, 0 };
	for (unsigned i = 0; i < 2; i++) {
		unsigned which = (i + (unsigned)p->all) % 2;
		int r = sample_take(p->b, p->run[which], p->launches[which], p->m->cold ? WIRE_COLD : WIRE_WARM, &ns[which], e);
		if (r < 0)
			return r;
	}
	size_t n[3] = { out->pair_count, out->pair_count, out->pair_count };
	struct wire_condition c = gpu_monitor_look(p->watch);
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

/* Only now and then: every look is another chance to be wrong. */
static void look(struct pair *p, bool last)
{
	const struct wire_pair *m = p->m;
	if (p->good < m->min_pairs || (p->good < p->next_look && !last))
		return;
	p->next_look = p->good + p->good / 2;
	p->interval = verdict_interval(p->logs, p->good, m->confidence);
	double width = fmax(p->interval.high / p->interval.ratio, p->interval.ratio / p->interval.low) - 1;
	p->decided = verdict_of(&p->interval, margin_of(p)) != WIRE_UNCLEAR && width <= m->width;
}

static int take_all(struct pair *p, int64_t start, struct wire_paired *out, struct err *e)
{
	bool last = false;
	while (!p->decided && !last) {
		if (out->pair_count)
			gpu_monitor_rest(&out->conditions[out->pair_count - 1]);
		int r = take_one(p, out, e);
		if (r < 0)
			return r;
		last = p->good >= p->m->max_pairs || p->all >= 4 * (size_t)p->m->max_pairs ||
		       (uint64_t)(clock_now() - start) >= p->m->cap_ns;
		look(p, last);
	}
	return 0;
}

static void conclude(const struct pair *p, struct wire_paired *out)
{
	size_t n = 0;
	out->margin = margin_of(p);
	if (p->good < p->m->min_pairs) {
		/* Too few to say anything: what was seen is told, as the disturbed figures that they are. */
		out->disturbed = p->good < p->all;
		out->verdict = WIRE_UNCLEAR;
		out->ratio = out->low = out->high = 1;
		double *logs = MEM_NEW_N(double, p->all);
		for (size_t i = 0; i < p->all; i++)
			logs[i] = log((double)out->b_ns[i] / (double)out->a_ns[i]);
		if (p->all >= 2) {
			struct verdict_interval v = verdict_interval(logs, p->all, p->m->confidence);
			out->ratio = v.ratio;
			out->low = v.low;
			out->high = v.high;
		}
		free(logs);
		return;
	}
	for (size_t i = 0; i < out->pair_count; i++)
		if (!out->conditions[i].disturbed) {
			out->a_ns[n] = out->a_ns[i];
			out->b_ns[n] = out->b_ns[i];
			out->conditions[n++] = out->conditions[i];
		}
	out->discarded = (uint32_t)(out->pair_count - n);
	out->pair_count = n;
	out->verdict = verdict_of(&p->interval, out->margin);
	out->ratio = p->interval.ratio;
	out->low = p->interval.low;
	out->high = p->interval.high;
}

int pair_samples(const struct backend *b, struct backend_run *run_a, struct backend_run *run_b, struct gpu_monitor *watch,
                 const struct wire_pair *m, struct wire_paired *ret_paired, struct err *e)
{
	struct pair p = { .b = b, .run = { run_a, run_b }, .watch = watch, .m = m };
	struct wire_paired out = { 0 };
	int64_t start = clock_now();
	int r = 0;
	gpu_monitor_begin(watch, false);
	for (int i = 0; i < 2 && r == 0; i++) {
		uint64_t first, ns;
		r = sample_warm_up(b, p.run[i], m->warm_up_ns, &first, &ns, e);
		if (r == 0)
			p.launches[i] = sample_launches(ns);
	}
	if (r == 0)
		r = take_all(&p, start, &out, e);
	if (r == 0) {
		conclude(&p, &out);
		out.launches_a = p.launches[0];
		out.launches_b = p.launches[1];
		out.note = mem_str(gpu_monitor_note(watch));
		*ret_paired = out;
	} else {
		wire_paired_fini(&out);
	}
	free(p.logs);
	return r;
}

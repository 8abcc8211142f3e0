/* backends/timing/verdict: by simulation with known effects: how often the interval contains the true ratio, and how often each
 * verdict comes. */
#include "backends/timing/measure.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "tap.h"

enum { ROUNDS = 400, MOST = 200 };

static uint64_t state = 88172645463325252u;

static double uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* Times as GPUs give them: normally distributed, with occasional outliers on either side. */
static double jump(double deviation, double share)
{
	double x = deviation * normal();
	return uniform() < share ? x + (uniform() < 0.5 ? -1 : 1) * 20 * deviation * uniform() : x;
}

struct said { int of[WIRE_UNCLEAR + 1]; int held; };

static struct said simulate(double ratio, double deviation, double outliers, size_t n)
{
	struct said s = { { 0 }, 0 };
	double logs[MOST];
	for (int i = 0; i < ROUNDS; i++) {
		for (size_t k = 0; k < n; k++)
			logs[k] = log(ratio) + jump(deviation, outliers);
		struct verdict_interval v = verdict_interval(logs, n, 0.95);
		s.held += v.low <= ratio && ratio <= v.high;
		s.of[verdict_of(&v, 0.01)]++;
	}
	return s;
}

static void coverage(void)
{
	static const struct { double deviation, outliers; size_t n; } cases[] = {
		{ 0.005, 0, 10 }, { 0.005, 0, 20 }, { 0.02, 0, 50 }, { 0.005, 0.1, 20 }, { 0.005, 0.1, 100 }, { 0.01, 0, 12 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct said s = simulate(1.03, cases[i].deviation, cases[i].outliers, cases[i].n);
		double share = 100.0 * s.held / ROUNDS;
		/* 95 %, give or take three standard deviations of a share of 400. */
		ok(share >= 91.5 && share <= 99.5,
		   "%.1f %% of the intervals contain the true ratio (%zu pairs, deviation %g, %g %% outliers)", share, cases[i].n,
		   cases[i].deviation, 100 * cases[i].outliers);
	}
}

static void words(void)
{
	struct said s = simulate(1.0, 0.005, 0.05, 20);
	ok(s.of[WIRE_SAME] >= 0.97 * ROUNDS, "equal kernels are the same (%d of %d)", s.of[WIRE_SAME], ROUNDS);
	is_int(s.of[WIRE_FASTER] + s.of[WIRE_SLOWER], 0, "equal kernels are never faster or slower");
	s = simulate(1.03, 0.005, 0.05, 20);
	ok(s.of[WIRE_SLOWER] >= 0.97 * ROUNDS, "3 %% more is slower (%d)", s.of[WIRE_SLOWER]);
	s = simulate(1 / 1.03, 0.005, 0.05, 20);
	ok(s.of[WIRE_FASTER] >= 0.97 * ROUNDS, "3 %% less is faster (%d)", s.of[WIRE_FASTER]);
	s = simulate(1.01, 0.02, 0, 10);
	ok(s.of[WIRE_UNCLEAR] >= 0.9 * ROUNDS, "noise gives an unclear verdict (%d)", s.of[WIRE_UNCLEAR]);
	is_int(s.of[WIRE_FASTER], 0, "noise never gives the opposite verdict");
	s = simulate(1.0, 0.05, 0.1, 10);
	ok(s.of[WIRE_SLOWER] + s.of[WIRE_FASTER] <= 0.03 * ROUNDS, "much noise does not make equal kernels differ (%d)",
	   s.of[WIRE_SLOWER] + s.of[WIRE_FASTER]);
}

static void small(void)
{
	const double equal[] = { 0, 0 }, twice[] = { 0.7, 0.7, 0.7 };
	struct verdict_interval v = verdict_interval(equal, 2, 0.95), again;
	ok(v.ratio == 1 && v.low == 1 && v.high == 1, "equal times give an interval of width 0");
	is_int(verdict_of(&v, 0.01), WIRE_SAME, "an interval of width 0 around 1 is the same");
	v = verdict_interval(twice, 3, 0.95);
	is_int(verdict_of(&v, 0.01), WIRE_SLOWER, "twice the time is slower");
	double logs[30];
	for (int i = 0; i < 30; i++)
		logs[i] = 0.01 * normal();
	v = verdict_interval(logs, 30, 0.95);
	again = verdict_interval(logs, 30, 0.95);
	ok(v.low == again.low && v.high == again.high, "the same times give the same interval");
	again = verdict_interval(logs, 30, 0.99);
	ok(again.low < v.low && again.high > v.high, "more confidence gives a wider interval");
	v = (struct verdict_interval){ 1.009, 1.0, 1.02 };
	is_int(verdict_of(&v, 0.01), WIRE_UNCLEAR, "an interval across the margin is unclear");
	ok(verdict_margin(0.01, 200, 5000) == 0.04, "the margin at 5 us is the floor of 0.2 us");
	ok(verdict_margin(0.01, 0, 5000) == 0.01 && verdict_margin(0.01, 200, 50000) == 0.01,
	   "the margin at 50 us, or without a floor, is 1 %%");
}

int main(void)
{
	coverage();
	words();
	small();
	return tap_done();
}

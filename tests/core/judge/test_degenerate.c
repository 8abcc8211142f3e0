/* core/judge/bound: elements whose inputs are zero, infinite or NaN, which relative perturbations do not move. */
#include "core/judge/bound.h"

#include <math.h>

#include "tap.h"

enum { MOST = 64 };

/* An output, which no perturbation moves, and what is made of it. */
struct made {
	double truth[MOST], values[MOST], bounds[MOST];
	float moved[MOST];
	uint8_t causes[MOST];
	struct bound_summary s;
	struct bound_output o;
};

static const struct bound_rules exact_rules = { .sums = 0x1p-53, .terms = 1 };

static void made_init(struct made *m, size_t n)
{
	*m = (struct made){ .s.judged = 0 };
	m->o = (struct bound_output){
		.type = DTYPE_F64, .n = n, .truth_type = DTYPE_F64, .truth = m->truth, .moved = m->moved, .amplitude = 0x1p-16
	};
}

static void make(struct made *m, const struct bound_rules *rules)
{
	bound_make(&m->o, rules, m->values, m->bounds, m->causes, &m->s);
}

/* Maxima that drop NaN, quotients by infinity: what takes part in them is not specified. A sigmoid of infinity is 1 whatever
 * stands for it, and an output that is NaN stays wanted. */
static void test_absorbed(void)
{
	enum { N = 64, ABSORBED = 9 };
	double high[N], low[N];
	struct made m;
	made_init(&m, N);
	for (int i = 0; i < N; i++)
		m.truth[i] = high[i] = low[i] = i % 2 ? 1 : 0.25;
	high[1] = 0x1p60; /* max(1, NaN): only one of the two shows it */
	low[2] = -0x1p60;
	m.truth[3] = 0, high[3] = low[3] = 0x1p-30; /* x/infinity */
	m.truth[4] = 0, high[4] = INFINITY;
	m.truth[5] = NAN, high[5] = low[5] = 3;
	m.truth[6] = INFINITY, high[6] = low[6] = 0x1p60;
	for (int i = 0; i < ABSORBED - 4; i++)
		low[N - 1 - i] = NAN;
	bound_add_absorbed(&m.o, high);
	bound_add_absorbed(&m.o, low);
	make(&m, &exact_rules);
	is_int((long long)m.s.causes[BOUND_ABSORBED], ABSORBED, "what large numbers change is absorbed");
	for (int i = 1; i < 5; i++)
		ok(m.causes[i] == BOUND_ABSORBED && isinf(m.bounds[i]), "element %d is not judged", i);
	ok(m.causes[5] == BOUND_EXACT && m.causes[6] == BOUND_EXACT, "NaN and infinity are wanted where the truth has them");
	is_int((long long)m.s.judged, N - ABSORBED, "all others are judged");
	ok(bound_is_enough(N - ABSORBED, ABSORBED, N) && !bound_is_enough(N - ABSORBED, 0, N),
	   "what is absorbed does not count against the others");
	ok(!bound_is_enough(0, 1, 1) && !bound_is_enough(3, 61, 64), "but a few elements do not speak for all");
}

/* A guard against infinity is told from a comparison that NaN passes, and from a limit. */
static void test_decided(void)
{
	enum { N = 32 };
	double huge[N], with_nan[N];
	struct made m;
	made_init(&m, N);
	for (int i = 0; i < N; i++)
		m.truth[i] = huge[i] = with_nan[i] = i > 3;
	huge[1] = 0.25, with_nan[1] = NAN;    /* m == infinity ? 0 : … */
	huge[2] = 0.25;                       /* max(infinity - infinity, 0) */
	huge[3] = 0x1p-70, with_nan[3] = NAN; /* x/infinity */
	bound_add_absorbed(&m.o, huge);
	bound_add_decided(&m.o, with_nan);
	make(&m, &exact_rules);
	ok(m.bounds[1] < 1e-9 && m.values[1] == 0, "what an infinity decides is judged");
	ok(m.causes[2] == BOUND_ABSORBED && m.causes[3] == BOUND_ABSORBED, "what NaN would decide, too, and limits are not");
	is_int((long long)m.s.judged, N - 2, "all others are judged");
}

/* Among zeros the largest element says how large terms may be, as far as its neighbours let an element be judged. */
static void test_pooled(void)
{
	enum { N = 48 };
	struct bound_rules pooled = exact_rules;
	struct made m;
	made_init(&m, N);
	pooled.pooled = true;
	for (int i = 0; i < N; i++)
		m.truth[i] = i < 16 ? 1 : i < 32 ? 0x1p-20 : 0;
	m.truth[40] = 0x1p-48;
	m.truth[3] = 16;
	make(&m, &exact_rules);
	double alone = m.bounds[20];
	make(&m, &pooled);
	ok(m.bounds[0] > 16 * 64 * 0x1p-53 && m.bounds[20] > 16 * 64 * 0x1p-53 && alone < 0x1p-60,
	   "terms may be as large as the largest element (%g, not %g)", m.bounds[20], alone);
	ok(m.bounds[40] < 0x1p-56 && m.s.judged == N, "and no element is beyond judging for that (%g)", m.bounds[40]);
}

int main(void)
{
	test_absorbed();
	test_decided();
	test_pooled();
	return tap_done();
}

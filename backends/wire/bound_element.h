/* bound_element: the bound of one element of an output: the arithmetic of core/judge/bound.c, which the judge's device kernels
 * compile, too. Therefore it is C17 and C++ alike. docs/judging.md derives it. Numbers are in units of the output; u is a unit
 * roundoff. */
#ifndef PEAKD_BACKENDS_WIRE_BOUND_ELEMENT_H
#define PEAKD_BACKENDS_WIRE_BOUND_ELEMENT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef BOUND_INLINE
#define BOUND_INLINE static inline
#endif

/* Neighbours that share their scale; octaves of |y| below the largest; octaves of sensitivity relative to |y|. */
enum {
	BOUND_GROUP = 16,
	BOUND_FIELDS = 8 /* of a record, at most */,
	BOUND_SIZES = 128,
	BOUND_CONDITIONS = 64,
	BOUND_BINS = BOUND_SIZES * BOUND_CONDITIONS
};

/* docs/judging.md says what each constant was calibrated on. */
#define BOUND_SUMS_LEAST 64.0 /* roundoffs that any arithmetic may cost */
#define BOUND_SUMS_MOST 256.0
#define BOUND_SUMS_TRUNCATED 1024.0 /* the most on matrix units */
#define BOUND_INPUTS_FACTOR 6.0     /* the sensitivity is the largest of four random moves */
#define BOUND_LUCK 16.0             /* how much smaller than its neighbours' an element's sensitivity is by luck at most */
#define BOUND_SCALE_FACTOR 64.0     /* roundoffs of the neighbours' size: formulas that cancel, such as 1 + tanh(x) */
#define BOUND_BASELINE_FACTOR 2.0   /* times the largest error among like elements, */
#define BOUND_BASELINE_FAR 8.0      /* and where conditions are extreme: their errors have long tails */
#define BOUND_BASELINE_LEAST 256.0  /* what the baseline's error may be, in roundoffs of |y| + sensitivity */
#define BOUND_BASELINE_MOST 4096.0
#define BOUND_CEILING 0.05         /* of bound_scale */
#define BOUND_POOLED 0x1p-10       /* of bound_scale, where terms may be larger */
#define BOUND_SQUARED 4.0          /* squared roundoffs of the largest element: converging iterations stop so near zero */
#define BOUND_FEW 64               /* elements of an output, which may all be small by chance */
#define BOUND_FEW_ERRORS 256       /* where the largest error of the baseline is one by luck: it counts */
#define BOUND_FEW_TIMES 4.0        /* so many times more */
#define BOUND_TINY 0x1p-80         /* of the largest element */
#define BOUND_JUDGED_LEAST 0.9     /* of an output's elements, or it is not judged at all; less what the truth absorbs, */
#define BOUND_JUDGED_FEWEST 0x1p-4 /* but never less than that */

/* Which part of a bound is the largest, or why there is none. */
enum bound_cause {
	BOUND_EXACT,       /* a NaN, an infinity or an integer: equal */
	BOUND_ROUNDING,    /* of the output to its type */
	BOUND_PRECISION,   /* sensitivity to inputs that `precision:` lets kernels round */
	BOUND_SENSITIVITY, /* to rounded products and sums */
	BOUND_SUMS,        /* rounding relative to the element, in any order of summation */
	BOUND_BASELINE,    /* the baseline's own error on elements like it */
	BOUND_JUMPS,       /* integers that perturbed truths move */
	BOUND_WIDE,        /* none: it would be above 5 % of the element's scale */
	BOUND_POOR,        /* none: the baseline's own error is beyond what permitted arithmetic explains */
	BOUND_UNLIKE,      /* none: truth, perturbed truths and baseline differ in class */
	BOUND_ABSORBED,    /* none: the truth is finite although an infinity or a NaN among the inputs counts */
	BOUND_CAUSES
};

/* What rounding to a type does. */
struct bound_shape {
	double spacing; /* between neighbours in [1,2) */
	double least;   /* smallest normal number */
	double most;    /* largest finite number */
	double flushed; /* what devices may flush to zero */
};

/* What all elements of an output share. */
struct bound_limits {
	struct bound_shape shape;
	double sums, inputs;   /* unit roundoffs of permitted arithmetic, and of permitted rounding of inputs */
	double share;          /* roundoffs of sums: BOUND_SUMS_LEAST … BOUND_SUMS_MOST, or BOUND_SUMS_TRUNCATED */
	double baseline_share; /* BOUND_BASELINE_LEAST … BOUND_BASELINE_MOST */
	double baseline_times; /* BOUND_BASELINE_FACTOR or BOUND_BASELINE_FAR */
	double rounding;       /* spacings of the output that are granted */
	double stored;         /* unit roundoff of arrays that the baseline stores and reads again; 0: none */
	double lost;           /* a term that doubles may lose beside another: what a zero that does not move may be off by */
	double tiny;
	double most;           /* the largest finite |y| */
	double amplitude;      /* of the perturbation */
	uint32_t has_baseline; /* 0: the baseline is the truth */
	uint32_t capped;       /* 1: the baseline's errors beyond their limit do not hide elements */
	uint32_t stops;        /* 1: a truth of zero may be what an iteration ends at, beside the largest element; and what sums
				  leave behind them there is as exact as they are. 2: wherever they leave anything */
	uint32_t shifted;      /* 1: where all elements are zero or faint, none is judged: what cancelled in them is far larger */
	uint32_t pooled;       /* 1: terms may be as large as the largest element, though zeros among the inputs do not move */
	uint32_t few;          /* 1: one random sum or a few, which are small by chance: a bound may be 5 % of their terms */
	uint32_t mixed;        /* 1: values of two scales, or equal ones, where rounding alone makes a NaN: it says nothing */
	uint32_t fields; /* 1 … BOUND_FIELDS: neighbours are so many elements apart, the next of the same field of a record */
};

/* One element. */
struct bound_element {
	double y, baseline;  /* y: the truth */
	double moved;        /* by perturbations, at most; infinite where the class differs; else as bound_absorbed */
	double kappa;        /* the sensitivity that bound_smooth made of it */
	double scale;        /* root mean square of its group */
	int beside_poor;     /* 1: of at least half of its group the baseline knows too little */
	double value, bound; /* made: what is wanted, and how exactly; an infinite bound judges nobody */
	enum bound_cause cause;
};

/* What a pass over elements counts. */
struct bound_tally {
	uint64_t causes[BOUND_CAUSES], judged, telling, gross, first_gross; /* telling: elements that tell zeros from the truth */
	double jump;
	double low, high; /* a single number that passes lies between; low > high: none does */
	double bounds2, values2, baseline_ratio;
	uint32_t finite, infinite; /* 1: such values are wanted */
};

/* fmax and fmin, which are calls of the C library elsewhere. */
BOUND_INLINE double bound_max(double a, double b)
{
	return a >= b || b != b ? a : b;
}

BOUND_INLINE double bound_min(double a, double b)
{
	return a <= b || b != b ? a : b;
}

BOUND_INLINE int bound_exponent(double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	return (int)(bits >> 52 & 0x7ff) - 1023;
}

/* Distance of the numbers around |y|; y is finite. */
BOUND_INLINE double bound_spacing(const struct bound_shape *s, double y)
{
	double size = bound_max(fabs(y), s->least), power;
	uint64_t bits;
	memcpy(&bits, &size, sizeof bits);
	bits &= UINT64_C(0x7ff0000000000000);
	memcpy(&power, &bits, sizeof power);
	return s->spacing * power;
}

/* 0 finite, 1 and 2 infinite, 3 NaN. */
BOUND_INLINE int bound_class(double x)
{
	return isnan(x) ? 3 : isinf(x) ? (x > 0 ? 1 : 2) : 0;
}

/* Element k of a group. There are bound_groups(n, fields) groups; those at the end have members beyond n. */
BOUND_INLINE uint64_t bound_member(uint32_t fields, uint64_t group, int k)
{
	return group / fields * fields * BOUND_GROUP + group % fields + (uint64_t)k * fields;
}

BOUND_INLINE uint64_t bound_groups(uint64_t n, uint32_t fields)
{
	uint64_t window = (uint64_t)fields * BOUND_GROUP;
	return (n + window - 1) / window * fields;
}

/* How far a perturbed truth moved; infinite where the class differs. */
BOUND_INLINE float bound_move(double y, double perturbed)
{
	float d = (float)fabs(perturbed - y);
	if (isfinite(d))
		return d;
	return bound_class(perturbed) == bound_class(y) && !isfinite(y) ? 0.0f : (float)INFINITY;
}

/* The truth is finite although infinities or NaN count for it: large numbers in their place make another one. max(x, NaN) and x/inf
 * are such, and honest kernels differ there. So they do where it is NaN although no input that counts is: inf - inf, or inf * 0. */
BOUND_INLINE int bound_absorbs(double y, double other)
{
	if (isnan(y))
		return isnan(other);
	return isfinite(y) && !(fabs(other - y) <= 0x1p-20 * fabs(y));
}

/* What a move becomes beside a truth that has large numbers in place of infinities and NaN: NaN where the truth absorbs them; minus
 * infinity where it leaps, as a guard's does, which bound_decided may still judge. */
BOUND_INLINE float bound_absorbed(double y, double other, float moved)
{
	if (!bound_absorbs(y, other) || isnan(moved))
		return moved;
	return isfinite(y) && isfinite(other) && fabs(other - y) > 0x1p-20 * bound_max(1, fabs(y)) ? -(float)INFINITY : (float)NAN;
}

/* The same beside a truth that has NaN in place of infinities. Where it is another one, too, the infinity itself decides: no
 * comparison with NaN, and nothing moves. */
BOUND_INLINE float bound_decided(double y, double other, float moved)
{
	return moved >= 0 || isnan(moved) ? moved : bound_absorbs(y, other) ? 0.0f : (float)NAN;
}

BOUND_INLINE int bound_clamp(int x, int most)
{
	return x < 0 ? 0 : x > most ? most : x;
}

/* Where elements like this one keep the baseline's errors: a number below BOUND_BINS. Sensitivity as measured: smoothed, an element
 * could share the errors of others that cancel. */
BOUND_INLINE int bound_bin(const struct bound_limits *l, double y, double moved)
{
	double most = l->most, kappa = moved / l->amplitude;
	int top = bound_exponent(most), base = y == 0 ? top - BOUND_SIZES : bound_exponent(fabs(y));
	int size = bound_clamp(BOUND_SIZES - 1 - top + base, BOUND_SIZES - 1);
	int condition = kappa == 0 ? 0 : bound_clamp(bound_exponent(kappa) - base + BOUND_CONDITIONS / 2, BOUND_CONDITIONS - 1);
	return size * BOUND_CONDITIONS + condition;
}

/* Upper median of n ≤ BOUND_GROUP numbers, none a NaN; sorts x, which has room for BOUND_GROUP. Green's network of 60 comparators
 * (D. Knuth, "The Art of Computer Programming", volume 3, 5.3.4) has no branch to guess. */
BOUND_INLINE double bound_median(float *x, int n)
{
#define BOUND_SORT(a, b)                               \
	{                                              \
		float low = x[a] < x[b] ? x[a] : x[b]; \
		x[b] = x[a] < x[b] ? x[b] : x[a];      \
		x[a] = low;                            \
	}
#define BOUND_SORT4(a, b, c, d, e, f, g, h) BOUND_SORT(a, b) BOUND_SORT(c, d) BOUND_SORT(e, f) BOUND_SORT(g, h)
	for (int i = 0; i < BOUND_GROUP; i++)
		x[i] = i < n ? x[i] : (float)INFINITY;
	BOUND_SORT4(0, 1, 2, 3, 4, 5, 6, 7) BOUND_SORT4(8, 9, 10, 11, 12, 13, 14, 15)
	BOUND_SORT4(0, 2, 1, 3, 4, 6, 5, 7) BOUND_SORT4(8, 10, 9, 11, 12, 14, 13, 15)
	BOUND_SORT4(0, 4, 1, 5, 2, 6, 3, 7) BOUND_SORT4(8, 12, 9, 13, 10, 14, 11, 15)
	BOUND_SORT4(0, 8, 1, 9, 2, 10, 3, 11) BOUND_SORT4(4, 12, 5, 13, 6, 14, 7, 15)
	BOUND_SORT4(5, 10, 6, 9, 3, 12, 13, 14) BOUND_SORT4(4, 8, 7, 11, 1, 2, 1, 4)
	BOUND_SORT4(7, 13, 2, 8, 11, 14, 2, 4) BOUND_SORT4(5, 6, 9, 10, 11, 13, 3, 8)
	BOUND_SORT4(7, 12, 6, 8, 10, 12, 3, 5) BOUND_SORT4(7, 9, 3, 4, 5, 6, 7, 8)
	BOUND_SORT4(9, 10, 11, 12, 6, 7, 8, 9)
#undef BOUND_SORT4
#undef BOUND_SORT
	return n ? (double)x[n / 2] : 0;
}

/* Of a group of n ≤ BOUND_GROUP elements: how far perturbed truths moved becomes sensitivities. One that is small by luck becomes
 * that of its neighbours; one that is small because the element is, stays so. Returns the scale: the root mean square of y, of
 * those that moved where some did: beside a mask's -1e9, which never moves, errors are no larger than elsewhere. */
BOUND_INLINE double bound_smooth(double amplitude, const double *y, const float *moved, int n, float *ret_kappa)
{
	float sensitivities[BOUND_GROUP], conditions[BOUND_GROUP];
	int count = 0, conditioned = 0, moving = 0, sized = 0;
	double most = 0, squares = 0;
	for (int i = 0; i < n; i++) {
		double k = (double)moved[i] / amplitude, a = fabs(y[i]);
		ret_kappa[i] = (float)k;
		if (!isfinite(a) || !isfinite(ret_kappa[i]))
			continue;
		most = bound_max(most, a);
		moving += ret_kappa[i] > 0;
		sensitivities[count++] = ret_kappa[i];
		if (a > 0)
			conditions[conditioned++] = (float)(k / a);
	}
	double sensitivity = bound_median(sensitivities, count), condition = bound_median(conditions, conditioned);
	for (int i = 0; i < n; i++) {
		double k = (double)ret_kappa[i], own = bound_max(fabs(y[i]) * condition, BOUND_LUCK * k);
		if (!isfinite(y[i]) || !isfinite(ret_kappa[i]))
			continue;
		ret_kappa[i] = (float)bound_max(k, bound_min(sensitivity, own));
		if (moving && !(k > 0))
			continue;
		sized++;
		if (most > 0)
			squares += y[i] / most * (y[i] / most);
	}
	return sized ? most * sqrt(squares / sized) : 0;
}

/* What the baseline's error is beyond the rounding of its output; NaN where one of the two is not finite. */
BOUND_INLINE double bound_own_error(const struct bound_shape *s, double y, double baseline)
{
	return isfinite(y) && isfinite(baseline) ? bound_max(fabs(baseline - y) - bound_spacing(s, y) / 2, 0) : NAN;
}

BOUND_INLINE void bound_set(struct bound_element *x, double bound, enum bound_cause cause)
{
	x->bound = bound;
	x->cause = cause;
}

/* A truth that is not finite, or is not in the output's type: wanted where the baseline agrees. */
BOUND_INLINE void bound_special(const struct bound_limits *l, struct bound_element *x)
{
	int beyond = isfinite(x->y) != 0, agreed = 1;
	if (beyond && l->has_baseline) {
		agreed = bound_class(x->baseline) == bound_class(copysign(INFINITY, x->y));
		x->value = x->baseline;
	} else if (beyond) {
		x->value = copysign(INFINITY, x->y);
	} else if (l->has_baseline) {
		agreed = bound_class(x->baseline) == bound_class(x->y);
	}
	if (beyond && fabs(x->y) < l->shape.most * (1 + 8 * l->shape.spacing))
		agreed = 0;
	if (isinf(x->moved) || !agreed)
		bound_set(x, INFINITY, BOUND_UNLIKE);
	else
		bound_set(x, 0, BOUND_EXACT);
}

/* What the element's errors are small against: its own size, or that of a large neighbour. */
BOUND_INLINE double bound_scale(const struct bound_element *x)
{
	return bound_max(fabs(x->y), 1.5 * x->scale);
}

/* What sums of zeros that do not move, or of few others, are made of. */
BOUND_INLINE double bound_near(const struct bound_limits *l, const struct bound_element *x)
{
	double terms = l->pooled ? bound_min(l->share * l->sums * l->most, BOUND_POOLED * bound_scale(x)) : 0;
	return BOUND_SCALE_FACTOR * l->sums * x->scale + terms;
}

/* What the baseline's error is measured by; of a zero that does not move only other elements say what it is made of. */
BOUND_INLINE double bound_around(const struct bound_limits *l, const struct bound_element *x)
{
	return x->y == 0 && x->moved == 0 ? l->most : fabs(x->y) + x->kappa;
}

/* What the baseline's error may be; what lies beyond it is no rounding. */
BOUND_INLINE double bound_granted(const struct bound_limits *l, const struct bound_element *x)
{
	return l->baseline_share * l->sums * bound_around(l, x) + bound_near(l, x);
}

/* Whether the baseline, whose largest error among elements like this one is given, knows too little of it. */
BOUND_INLINE int bound_is_poor(const struct bound_limits *l, double error, const struct bound_element *x)
{
	return error > bound_granted(l, x) + l->stored * bound_around(l, x) && !l->capped;
}

/* error: the baseline's largest one among elements like this. */
BOUND_INLINE void bound_finite(const struct bound_limits *l, double error, struct bound_element *x)
{
	double size = fabs(x->y), spacing = bound_spacing(&l->shape, x->y) * l->rounding, sum = 0, top = spacing;
	double stopped = l->pooled || (l->stops && x->y == 0) ? BOUND_SQUARED * l->sums * l->sums * l->most : 0;
	double near = bound_near(l, x), granted = bound_granted(l, x), again = l->stored * bound_around(l, x);
	int zero = x->y == 0 && x->moved == 0;
	double own =
		l->baseline_times * bound_min(error, granted) + bound_min(l->baseline_times * bound_max(error - granted, 0), again);
	double parts[BOUND_BASELINE + 1] = { 0 };
	enum bound_cause cause = BOUND_ROUNDING;
	parts[BOUND_PRECISION] = BOUND_INPUTS_FACTOR * l->inputs * x->kappa;
	parts[BOUND_SENSITIVITY] = l->share * l->sums * x->kappa;
	parts[BOUND_SUMS] = l->share * l->sums * size + near;
	parts[BOUND_BASELINE] = zero ? 0 : own; /* its scale would be zero */
	for (int i = BOUND_PRECISION; i <= BOUND_BASELINE; i++) {
		sum += parts[i];
		if (parts[i] > top) {
			top = parts[i];
			cause = (enum bound_cause)i;
		}
	}
	double lost = zero ? own + l->lost : 0;
	if (l->stops > 1 || (l->stops && zero))
		lost += l->share * l->sums * l->most;
	bound_set(x, sum + spacing + l->tiny + stopped + lost, cause);
	if (sum > 0 && !(sum <= BOUND_CEILING * bound_max(bound_scale(x), l->few ? x->kappa : 0)))
		bound_set(x, INFINITY, BOUND_WIDE);
	else if (l->shifted && !(l->most > BOUND_TINY))
		bound_set(x, INFINITY, BOUND_WIDE);
	else if (x->beside_poor || bound_is_poor(l, error, x))
		bound_set(x, INFINITY, BOUND_POOR);
	else if (size + x->bound > l->shape.most)
		bound_set(x, INFINITY, BOUND_UNLIKE);
}

/* Whether so many judged elements of n speak for the whole output. What the truth absorbs is nobody's fault. */
BOUND_INLINE int bound_is_enough(double judged, double absorbed, double n)
{
	return judged >= BOUND_JUDGED_LEAST * (n - absorbed) && judged >= BOUND_JUDGED_FEWEST * n;
}

/* A baseline that is less exact than it declares hides most of n elements: with its part capped they would be judged, and the truth
 * does not depend on it. judged, poor: elements that have a bound, and that have none for BOUND_POOR. */
BOUND_INLINE int bound_is_hidden(double judged, double poor, double absorbed, double n)
{
	return bound_is_enough(judged + poor, absorbed, n) && !bound_is_enough(judged, absorbed, n);
}

/* Adds a finished element. */
BOUND_INLINE void bound_tally_add(const struct bound_limits *l, struct bound_tally *t, const struct bound_element *x,
				  uint64_t index)
{
	int known = l->has_baseline && isfinite(x->y) && isfinite(x->baseline);
	double off = known ? fabs(x->baseline - x->y) : 0;
#ifdef __CUDACC__
	for (int c = 0; c < BOUND_CAUSES; c++) /* registers of a device have no index */
		t->causes[c] += c == (int)x->cause;
#else
	t->causes[x->cause]++;
#endif
	/* Devices may flush what is not normal. */
	double slack = bound_spacing(&l->shape, x->y) + l->tiny;
	if (known && off > BOUND_CEILING * bound_scale(x) + slack && x->cause != BOUND_WIDE && t->gross++ == 0)
		t->first_gross = index;
	if (x->cause == BOUND_WIDE)
		t->jump = bound_max(t->jump, x->moved);
	if (isinf(x->bound))
		return;
	t->judged++;
	if (!isfinite(x->value)) {
		t->infinite = 1;
		t->telling++;
		return;
	}
	t->finite = 1;
	t->telling += fabs(x->value) > x->bound;
	t->low = bound_max(t->low, x->value - x->bound);
	t->high = bound_min(t->high, x->value + x->bound);
	t->bounds2 += x->bound * x->bound;
	t->values2 += x->value * x->value;
	if (known)
		t->baseline_ratio = bound_max(t->baseline_ratio, off / x->bound);
}

/* Fills value, bound and cause. errors: by bin. */
BOUND_INLINE void bound_element(const struct bound_limits *l, const float *errors, struct bound_element *x)
{
	x->value = x->y;
	if (!(x->moved >= 0))
		bound_set(x, INFINITY, BOUND_ABSORBED);
	else if (l->mixed && isnan(x->y))
		bound_set(x, INFINITY, BOUND_UNLIKE);
	else if (!isfinite(x->y) || fabs(x->y) > l->shape.most)
		bound_special(l, x);
	else if (isinf(x->moved) || !isfinite(x->kappa) || (l->has_baseline && !isfinite(x->baseline)))
		bound_set(x, INFINITY, BOUND_UNLIKE); /* a sensitivity beyond all floats times nothing would be NaN */
	else
		bound_finite(l, l->has_baseline ? (double)errors[bound_bin(l, x->y, x->moved)] : 0, x);
}

/* Whether the baseline knows too little of half of a group's finite elements. What it is off by where another one is small by
 * chance says nothing then: the rounding that makes them poor is the same, but vanishes there for the baseline alone. */
BOUND_INLINE int bound_group_is_poor(const struct bound_limits *l, const float *errors, const double *y, const float *moved,
				     const float *kappa, double scale, int n)
{
	int finite = 0, poor = 0;
	for (int i = 0; l->has_baseline && !l->capped && i < n; i++) {
		struct bound_element x = { 0 };
		if (!(moved[i] >= 0) || !isfinite(y[i]) || isinf(moved[i]) || !isfinite(kappa[i]))
			continue;
		x.y = y[i];
		x.moved = (double)moved[i];
		x.kappa = (double)kappa[i];
		x.scale = scale;
		finite++;
		poor += bound_is_poor(l, (double)errors[bound_bin(l, x.y, x.moved)], &x);
	}
	return poor && 2 * poor >= finite;
}

/* Bounds are rounded up, so that one of the smallest is not lost. */
BOUND_INLINE float bound_round_up(double x)
{
	float f = (float)x;
	return (double)f < x ? nextafterf(f, (float)INFINITY) : f;
}

/* A bin also grants what its neighbours do: a few elements may be lucky. The first one, of zeros that do not move, grants what any
 * does. Both have BOUND_BINS numbers. */
BOUND_INLINE void bound_join_errors(const float *errors, float *ret_wide)
{
	float most = 0;
	for (int i = 0; i < BOUND_BINS; i++) {
		most = fmaxf(most, errors[i]);
		ret_wide[i] = 0;
		for (int k = 0; k < 9; k++) {
			int size = bound_clamp(i / BOUND_CONDITIONS + k / 3 - 1, BOUND_SIZES - 1);
			int condition = bound_clamp(i % BOUND_CONDITIONS + k % 3 - 1, BOUND_CONDITIONS - 1);
			ret_wide[i] = fmaxf(ret_wide[i], errors[size * BOUND_CONDITIONS + condition]);
		}
	}
	ret_wide[0] = most;
}

#endif

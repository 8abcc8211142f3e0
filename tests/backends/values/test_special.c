/* backends/values/special: what each kind of values puts in place of declared ones, and that no domain is left. */
#include "backends/values/fill.h"

#include <math.h>

#include "backends/array.h"
#include "base/mem.h"
#include "tap.h"

enum { ROWS = 64, COLUMNS = 96, N = ROWS * COLUMNS };

/* Rows whose columns x and x+1 are equal for x = 0, step, 2·step …; the last two columns may differ. */
static int rows_that_repeat(const double *v, int step)
{
	int count = 0;
	for (int y = 0; y < ROWS; y++) {
		bool same = true;
		for (int x = 0; x + 2 < COLUMNS; x += step)
			same &= v[y * COLUMNS + x] == v[y * COLUMNS + x + 1];
		count += same;
	}
	return count;
}

static void test_wide(void)
{
	static const struct {
		enum dtype type;
		int least, most;
	} reaches[] = { { DTYPE_F32, -20, 20 }, { DTYPE_F64, -20, 20 }, { DTYPE_BF16, -20, 20 },
			{ DTYPE_F16, -14, 5 },  { DTYPE_E4M3, -6, 3 },  { DTYPE_E5M2, -14, 3 } };
	for (size_t k = 0; k < MEM_COUNT(reaches); k++) {
		struct plan_buffer b = array(reaches[k].type, ROWS, COLUMNS, PLAN_RANDOM);
		double *v = values_of(&b, PLAN_WIDE), least = INFINITY, most = 0;
		int negative = between(v, N, -INFINITY, -0x1p-30);
		for (int i = 0; i < N; i++) {
			least = fmin(least, fabs(v[i]));
			most = fmax(most, fabs(v[i]));
		}
		ok(ilogb(least) == reaches[k].least && ilogb(most) >= reaches[k].most && ilogb(most) <= reaches[k].most + 1,
		   "wide %s has magnitudes from 2^%d to 2^%d", dtype_name(b.type), ilogb(least), ilogb(most));
		ok(negative > N / 3 && negative < 2 * N / 3, "half of wide %s is negative (%d)", dtype_name(b.type), negative);
		free(v);
		b.lo = 0.5;
		v = values_of(&b, PLAN_WIDE);
		is_int(between(v, N, 0, INFINITY), N, "wide %s is positive where declared values are", dtype_name(b.type));
		free(v);
	}
}

static void test_special_values(void)
{
	static const enum dtype types[] = { DTYPE_F16, DTYPE_BF16, DTYPE_F32, DTYPE_F64, DTYPE_E5M2, DTYPE_E4M3 };
	for (size_t k = 0; k < MEM_COUNT(types); k++) {
		struct plan_buffer b = array(types[k], ROWS, COLUMNS, PLAN_NORMAL);
		double *v = values_of(&b, PLAN_SPECIAL), *declared = values_of(&b, PLAN_DECLARED);
		int nan = 0, infinite = 0, zero = 0, denormal = 0, other = 0;
		double smallest = types[k] == DTYPE_F64                             ? 0x1p-1022
				  : types[k] == DTYPE_F16 || types[k] == DTYPE_E5M2 ? 0x1p-14
				  : types[k] == DTYPE_E4M3                          ? 0x1p-6
										    : 0x1p-126;
		for (int i = 0; i < N; i++) {
			bool changed = v[i] != declared[i];
			nan += isnan(v[i]);
			infinite += isinf(v[i]) != 0;
			zero += v[i] == 0 && changed;
			denormal += v[i] != 0 && fabs(v[i]) < smallest && changed;
			other += changed;
		}
		bool has_infinity = types[k] != DTYPE_E4M3;
		ok(nan >= 4 && zero >= 8 && denormal >= 8 && (has_infinity ? infinite >= 8 : infinite == 0),
		   "special %s has NaN (%d), infinities (%d), zeros (%d) and denormals (%d)", dtype_name(b.type), nan, infinite,
		   zero, denormal);
		ok(other >= 40 && other <= 64, "few values of special %s are not as declared (%d)", dtype_name(b.type), other);
		free(v);
		free(declared);
	}
	struct plan_buffer small = array(DTYPE_F32, 1, 8, PLAN_RANDOM);
	double *v = values_of(&small, PLAN_SPECIAL);
	is_int(between(v, 8, -1, 1), 8, "an array of 8 elements gets no special values, which would reach every output");
	free(v);
}

static void test_lone(void)
{
	enum { SEEDS = 96 };
	struct plan_buffer b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_NORMAL), index = array(DTYPE_I32, ROWS, COLUMNS, PLAN_RANDOM);
	float v[N];
	int32_t whole[N];
	int lone = 0, even = 0, ends = 0;
	index.closed = true;
	index.lo = 0;
	index.least = index.most = -1;
	for (uint64_t k = 0; k < SEEDS; k++) {
		int at = 0, count = 0;
		struct fill_choice c = { .seed = PLAN_SEEDS * k + PLAN_SEED_LONE, .values = PLAN_SPECIAL };
		fill_chosen(&b, &c, v);
		fill_chosen(&index, &c, whole);
		for (int i = 0; i < N; i++) {
			ends += whole[i] == -1;
			count += !isfinite(v[i]);
			at = isfinite(v[i]) ? at : i;
		}
		lone += count == 1;
		even += at % 2 == 0;
	}
	is_int(lone, SEEDS, "of one seed in four an array has one NaN or infinity alone");
	ok(even > SEEDS / 4 && even < 3 * SEEDS / 4, "it stands anywhere (%d of %d times at an even place)", even, SEEDS);
	is_int(ends, SEEDS, "and integers of a range have one of its ends");
}

static void test_sparse(void)
{
	struct plan_buffer b = array(DTYPE_F32, 1000, 1000, PLAN_RANDOM), index = array(DTYPE_I32, 1000, 1000, PLAN_RANDOM);
	double *v = values_of(&b, PLAN_SPARSE), *declared = values_of(&b, PLAN_DECLARED);
	int changed = 0, large = 0;
	for (int i = 0; i < 1000000; i++) {
		changed += v[i] != declared[i];
		large += v[i] == declared[i] * 1024;
	}
	ok(changed == large && large > 6 && large < 32, "some 16 of a million elements are 1024 times larger (%d)", large);
	free(v);
	free(declared);
	index.lo = 0;
	index.hi = 5000;
	v = values_of(&index, PLAN_SPARSE);
	declared = values_of(&index, PLAN_DECLARED);
	changed = 0;
	for (int i = 0; i < 1000000; i++)
		changed += v[i] != declared[i];
	ok(changed > 6 && changed < 32 && between(v, 1000000, 0, 4999) == 1000000, "integers get others of their range (%d)",
	   changed);
	free(v);
	free(declared);
}

static void test_rows(void)
{
	static const enum dtype types[] = { DTYPE_F32, DTYPE_F16, DTYPE_I32, DTYPE_U8 };
	for (size_t k = 0; k < MEM_COUNT(types); k++) {
		struct plan_buffer b = array(types[k], ROWS, COLUMNS, PLAN_RANDOM);
		b.lo = 0;
		b.hi = 200;
		double *zero = values_of(&b, PLAN_ZERO_ROWS), *ties = values_of(&b, PLAN_TIES),
		       *declared = values_of(&b, PLAN_DECLARED);
		int zeros = 0, pairs = 0, constants = rows_that_repeat(ties, 1);
		for (int y = 0; y < ROWS; y++)
			zeros += between(zero + y * COLUMNS, COLUMNS, 0, 0) == COLUMNS;
		is_int(zeros, ROWS / 4, "one row of four of %s is zero", dtype_name(b.type));
		ok(constants > ROWS / 8 && constants < ROWS / 2, "about one row of four of %s is constant (%d)", dtype_name(b.type),
		   constants);
		for (int y = 0; y < ROWS; y += 2)
			pairs += memcmp(ties + y * COLUMNS, ties + (y + 1) * COLUMNS, COLUMNS * sizeof *ties) == 0;
		int near = rows_that_repeat(ties, 2);
		ok(pairs > ROWS / 8 && pairs < ROWS / 2 - 4, "pairs of rows of %s are equal (%d)", dtype_name(b.type), pairs);
		ok(near > ROWS / 3 && near < 7 * ROWS / 8, "many rows of %s have equal neighbours (%d)", dtype_name(b.type), near);
		is_int(rows_that_repeat(declared, 1), 0, "declared rows of %s vary", dtype_name(b.type));
		free(zero);
		free(ties);
		free(declared);
	}
	struct plan_buffer flat = array(DTYPE_F32, 1, N, PLAN_RANDOM), row = array(DTYPE_F32, 1, 100, PLAN_RANDOM);
	double *v = values_of(&flat, PLAN_ZERO_ROWS);
	is_int(between(v, N, 0, 0), N / 2, "in an array of one row, one half is zero");
	free(v);
	v = values_of(&row, PLAN_ZERO_ROWS);
	is_int(between(v, 100, 0, 0), 0, "the only row is never zero");
	free(v);
}

static void test_zeros(void)
{
	enum { EIGHT = 8 };
	struct plan_buffer b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_NORMAL), other = b, likely = b, labels = b;
	other.name = "B";
	likely.fill = PLAN_PROBABILITIES;
	labels.type = DTYPE_I32;
	labels.fill = PLAN_RANDOM;
	labels.closed = true;
	labels.least = labels.lo = -1;
	labels.most = 8;
	labels.hi = 9;
	double *v = values_of(&b, PLAN_MIXED_ZEROS), *w = values_of(&other, PLAN_MIXED_ZEROS);
	int rows = 0, few = 0, half = 0, none = 0, same = 0, pointed = 0, runs = 0, empty = 0, full = 0;
	bool empties[COLUMNS];
	for (int x = 0; x < COLUMNS; x++) {
		int zero = 0, beside = 0;
		for (int y = 0; y < ROWS; y++) {
			zero += v[y * COLUMNS + x] == 0;
			beside += w[y * COLUMNS + x] == 0;
		}
		empty += zero == ROWS;
		empties[x] = zero == ROWS || beside == ROWS;
		full += !empties[x];
	}
	ok(empty > COLUMNS / 20 && empty < COLUMNS / 4, "some columns are zero (%d of %d)", empty, COLUMNS);
	for (int y = 0; y < ROWS; y++) {
		int zero = between(v + y * COLUMNS, COLUMNS, 0, 0), alike = 0, both = 0;
		rows += zero == COLUMNS;
		few += zero >= COLUMNS * 3 / 4 && zero < COLUMNS;
		half += zero > COLUMNS / 4 && zero < COLUMNS * 5 / 8;
		none += zero == empty;
		for (int x = 0; x < COLUMNS; x++) {
			alike += !empties[x] && (v[y * COLUMNS + x] == 0) == (w[y * COLUMNS + x] == 0);
			both += !empties[x] && v[y * COLUMNS + x] == 0;
		}
		same += both && both < full && alike == full;
	}
	ok(rows && few && half && none, "rows of zeros (%d), with few others (%d), with half (%d), and without (%d)", rows, few,
	   half, none);
	ok(same > 2, "some rows have their zeros where another array has them (%d)", same);
	free(v);
	free(w);
	v = values_of(&likely, PLAN_MIXED_ZEROS);
	for (int y = 0; y < ROWS; y++)
		pointed += between(v + y * COLUMNS, COLUMNS, 0.75, 1) == 1;
	ok(pointed > ROWS / 2, "one probability has most of its row, in most rows (%d)", pointed);
	free(v);
	v = values_of(&labels, PLAN_MIXED_ZEROS);
	for (int i = 1; i < N; i++)
		runs += v[i] == v[i - 1];
	ok(runs > N * 7 / 8 && between(v, N, -1, 8) == N && between(v, N, 8, 8) && between(v, N, -1, -1),
	   "labels come in runs (%d), and all of them", runs);
	free(v);
	v = values_of(&b, PLAN_ALONE);
	is_int(between(v, N, 0, 0), N, "zeros alone");
	free(v);
	v = values_of(&labels, PLAN_ALONE);
	is_int(between(v, N, -1, -1), N, "all labels are the least one");
	free(v);
}

/* Differences of equal rows stay zero where inputs are perturbed; everything else moves on its own, constant rows too. */
static void test_ties_move_alike(void)
{
	struct plan_buffer b = array(DTYPE_F64, ROWS, COLUMNS, PLAN_RANDOM);
	struct fill_choice c = { .seed = 7, .values = PLAN_TIES };
	double *plain = MEM_NEW_N(double, N), *moved = MEM_NEW_N(double, N);
	int equal = 0, still_equal = 0;
	fill_chosen(&b, &c, plain);
	c.perturbation = 1;
	c.amplitude = 0x1p-10;
	fill_chosen(&b, &c, moved);
	for (int y = 0; y < ROWS; y += 2) {
		bool same = memcmp(plain + y * COLUMNS, plain + (y + 1) * COLUMNS, COLUMNS * sizeof *plain) == 0;
		equal += same;
		still_equal += same && memcmp(moved + y * COLUMNS, moved + (y + 1) * COLUMNS, COLUMNS * sizeof *moved) == 0;
	}
	ok(equal > 0 && still_equal == equal, "equal rows are moved alike (%d of %d)", still_equal, equal);
	ok(rows_that_repeat(plain, 1) > 0 && rows_that_repeat(moved, 1) == 0, "elements of constant rows are moved one by one");
	free(plain);
	free(moved);
}

static void test_without_specials(void)
{
	struct plan_buffer b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_NORMAL);
	double *special = values_of(&b, PLAN_SPECIAL), *high = values_of(&b, PLAN_SPECIAL_HIGH),
	       *low = values_of(&b, PLAN_SPECIAL_LOW), *numbers = values_of(&b, PLAN_SPECIAL_NUMBERS),
	       *finite = values_of(&b, PLAN_SPECIAL_FINITE), *nans = values_of(&b, PLAN_SPECIAL_NANS);
	int wrong = 0, others = 0;
	for (int i = 0; i < N; i++) {
		double x = special[i], up = isnan(x) ? 0x1p70 : isinf(x) ? copysign(0x1p70, x) : x, down = isnan(x) ? -0x1p70 : up;
		wrong += high[i] != up || low[i] != down || (isnan(x) ? !isnan(nans[i]) : nans[i] != up);
		others += isnan(x) ? isnan(numbers[i]) || fabs(numbers[i]) > 8 || finite[i] != numbers[i]
				   : numbers[i] != x || finite[i] != up;
	}
	is_int(others, 0, "declared numbers stand for NaN, with infinities or with large numbers in their place");
	free(numbers);
	free(finite);
	free(nans);
	is_int(wrong, 0, "large numbers stand for infinities, and for NaN with either sign or not at all");
	free(special);
	free(high);
	free(low);
}

static void test_integers(void)
{
	static const struct {
		enum dtype type;
		double least, most;
	} ranges[] = { { DTYPE_I8, -128, 127 },
		       { DTYPE_U8, 0, 255 },
		       { DTYPE_I16, -32768, 32767 },
		       { DTYPE_U16, 0, 65535 },
		       { DTYPE_I32, -0x1p31, 0x1p31 - 1 },
		       { DTYPE_U32, 0, 0x1p32 - 1 },
		       { DTYPE_I64, -0x1p63, 0x1p63 },
		       { DTYPE_U64, 0, 0x1p64 } };
	for (size_t k = 0; k < MEM_COUNT(ranges); k++) {
		struct plan_buffer b = array(ranges[k].type, ROWS, COLUMNS, PLAN_RANDOM);
		double *v = values_of(&b, PLAN_INTEGERS), half = (ranges[k].least + ranges[k].most) / 2;
		ok(between(v, N, ranges[k].least, ranges[k].least) > 0 && between(v, N, ranges[k].most, ranges[k].most) > 0,
		   "integers of %s without a declared range reach both ends", dtype_name(b.type));
		ok(between(v, N, half, INFINITY) > N / 5 && between(v, N, -INFINITY, half) > N / 5, "and lie on both sides");
		free(v);
		b.closed = true;
		b.least = b.lo = 3;
		b.most = 100;
		b.hi = 101;
		v = values_of(&b, PLAN_INTEGERS);
		ok(between(v, N, 3, 100) == N && between(v, N, 3, 3) > N / 64 && between(v, N, 100, 100) > N / 64,
		   "integers of %s with a declared range stay inside and reach its ends", dtype_name(b.type));
		free(v);
		v = values_of(&b, PLAN_SPECIAL);
		is_int(between(v, N, 3, 100), N, "special integers of %s stay inside, too", dtype_name(b.type));
		free(v);
		b.least = b.lo = 0;
		b.most = INFINITY;
		v = values_of(&b, PLAN_INTEGERS);
		ok(between(v, N, 0, ranges[k].most) == N && between(v, N, half, INFINITY) > N / 16,
		   "integers of %s that are only bounded below reach the end of the type", dtype_name(b.type));
		free(v);
	}
}

static void test_ends(void)
{
	struct plan_buffer b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_RANDOM);
	b.lo = b.least = 1;
	b.hi = b.most = 3;
	b.closed = true;
	double *high = values_of(&b, PLAN_HIGH_END), *low = values_of(&b, PLAN_LOW_END), *few = values_of(&b, PLAN_COINCIDING);
	int steps = 0;
	for (int i = 0; i < N; i++)
		steps += few[i] * 4 == floor(few[i] * 4);
	ok(between(high, N, 2.9, 3) > N / 64 * 60 && between(high, N, 1, 3) == N, "nearly all values lie at the upper end");
	ok(between(low, N, 1, 1.1) > N / 64 * 60 && between(low, N, 1, 3) == N, "nearly all values lie at the lower end");
	ok(steps == N && between(few, N, 1, 1) > 0 && between(few, N, 3, 3) > 0, "values that coincide are on a coarse grid");
	free(high);
	free(low);
	free(few);
	b.closed = false;
	double *extreme = values_of(&b, PLAN_EXTREME);
	double *small = values_of(&b, PLAN_TINY);
	ok(between(extreme, N, 0x1p50, 0x3p50) >= N / 2 - COLUMNS, "every other row is huge");
	ok(between(small, N, 0x1p-50, 0x3p-50) >= N / 2 - COLUMNS, "every other row is tiny");
	free(extreme);
	free(small);
	small = values_of(&b, PLAN_SMALL);
	ok(between(small, 16 * COLUMNS, 0x1p-10, 0x3p-10) == 16 * COLUMNS &&
		   between(small + 16 * COLUMNS, 16 * COLUMNS, 0x1p-50, 0x3p-50) == 16 * COLUMNS,
	   "sixteen rows are small, sixteen are tiny");
	free(small);
	struct plan_buffer line = array(DTYPE_F32, 1, N, PLAN_SORTED);
	small = values_of(&line, PLAN_SMALL);
	is_int(between(small, N, -0x1p-50, 0x1p-50), N, "the only sorted row is tiny as a whole");
	free(small);
	struct plan_buffer other = b;
	other.name = (char *)"B";
	double *one = values_of(&b, PLAN_FAR), *two = values_of(&other, PLAN_FAR);
	ok(between(one, N, 1025, 2051) == N && fabs(one[0] - two[0]) < 3, "two arrays are as far from zero");
	free(one);
	free(two);
	double *infinite = values_of(&b, PLAN_INFINITE_ROWS), *finite = values_of(&b, PLAN_FINITE_ROWS);
	int rows = 0, alike = 0;
	for (int y = 0; y < ROWS; y++) {
		int above = between(infinite + y * COLUMNS, COLUMNS, INFINITY, INFINITY),
		    below = between(infinite + y * COLUMNS, COLUMNS, -INFINITY, -INFINITY);
		rows += above == COLUMNS || below == COLUMNS;
		alike += above == between(finite + y * COLUMNS, COLUMNS, 0x1.8p69, 0x1p70) &&
			 below == between(finite + y * COLUMNS, COLUMNS, -0x1p70, -0x1.8p69);
	}
	ok(rows == ROWS / 4 && alike == ROWS && rows_that_repeat(finite, 1) == 0,
	   "one row of four is infinite, of one sign; large ones stand at the same places, none like another");
	free(infinite);
	free(finite);
	b = array(DTYPE_U8, ROWS, COLUMNS, PLAN_RANDOM);
	high = values_of(&b, PLAN_HIGH_END);
	ok(between(high, N, 255, 255) > N / 64 * 60, "nearly all integers are the largest of their type");
	free(high);
}

/* Infinities in whole rows, in runs and up to a column, in arrays that a seed chooses; numbers in the same places. */
static void test_runs(void)
{
	enum { SEEDS = 64 };
	struct plan_buffer b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_NORMAL);
	int chosen = 0, rows = 0, parts = 0, none = 0, other = 0;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		bool has = fill_chooses(&b, seed);
		float *f = MEM_NEW_N(float, N), *g = MEM_NEW_N(float, N);
		fill_chosen(&b, &(struct fill_choice){ .seed = seed, .values = PLAN_RUNS }, f);
		fill_chosen(&b, &(struct fill_choice){ .seed = seed, .values = PLAN_FINITE_RUNS }, g);
		int all = 0;
		for (int y = 0; y < ROWS; y++) {
			int infinite = 0;
			for (int x = 0; x < COLUMNS; x++) {
				float a = f[y * COLUMNS + x], c = g[y * COLUMNS + x];
				infinite += isinf(a) != 0;
				other += isinf(a) ? !isfinite(c) || fabsf(c) < 1e20F || (a > 0) != (c > 0) : a != c;
			}
			all += infinite;
			rows += infinite == COLUMNS;
			parts += infinite > 0 && infinite < COLUMNS;
			none += has && infinite == 0;
		}
		chosen += all > 0;
		other += (all > 0) != has;
		free(f);
		free(g);
	}
	ok(chosen > SEEDS / 8 && chosen < SEEDS / 2, "one array of four has infinite runs (%d of %d)", chosen, SEEDS);
	ok(rows > 16 && parts > 16 && none > 16, "rows are infinite (%d), in part (%d), or not (%d)", rows, parts, none);
	is_int(other, 0, "large numbers stand at the same places, and nothing else differs");
}

/* Over many seeds: two arrays at opposite ends, one above the least, both ends mixed, the same numbers in both but for a few. */
static void test_ends_drawn(void)
{
	enum { SEEDS = 800, M = 96 };
	struct plan_buffer b = array(DTYPE_I32, 1, M, PLAN_RANDOM), c = b;
	int opposite = 0, second = 0, mixed = 0, repeated = 0, outside = 0;
	int32_t v[M], w[M];
	c.name = (char *)"B";
	b.closed = c.closed = true;
	b.least = c.least = -3;
	b.most = c.most = 1000;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		int low = 0, high = 0, other_high = 0, above = 0, same = 0;
		fill_chosen(&b, &(struct fill_choice){ .seed = seed, .values = PLAN_ENDS }, v);
		fill_chosen(&c, &(struct fill_choice){ .seed = seed, .values = PLAN_ENDS }, w);
		for (int i = 0; i < M; i++) {
			low += v[i] == -3;
			high += v[i] == 1000;
			other_high += w[i] == 1000;
			above += v[i] == -2;
			same += v[i] == w[i];
			outside += v[i] < -3 || v[i] > 1000;
		}
		opposite += low == M && other_high == M;
		second += above == M;
		mixed += low + high == M && low > M / 4 && high > M / 4;
		repeated += same > M * 3 / 4 && same < M && low < M / 2 && high < M / 2 && above < M / 2;
	}
	ok(opposite >= 3 && second >= 5 && mixed >= 5, "arrays stand at ends, opposite ones, too (%d, %d, %d)", opposite, second,
	   mixed);
	ok(repeated > SEEDS / 8 && outside == 0, "in some seeds they hold the same numbers but for a few (%d)", repeated);
}

static void test_other_constants(void)
{
	struct plan_buffer b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_ONES);
	double *v = values_of(&b, PLAN_OTHER_CONSTANTS);
	ok(between(v, N, 0.5, 1.5) == N && between(v, N, 1, 1) < 4, "ones become random numbers near 1");
	free(v);
	v = values_of(&b, PLAN_MIXED_CONSTANTS);
	int ones = between(v, N, 1, 1);
	int zeros = between(v, N, 0, 0);
	ok(between(v, N, 0.5, 1.5) + zeros == N && ones > N / 3 && ones < N * 2 / 3 && v[0] == 1 && v[N - 1] == 1,
	   "or half of them do (%d do not)", ones);
	ok(zeros > N / 16 && zeros < N / 4, "and some become zero (%d)", zeros);
	free(v);
	b.role = PLAN_INOUT;
	v = values_of(&b, PLAN_OTHER_CONSTANTS);
	ok(between(v, N, 0.5, 1.5) == N && between(v, N, 1, 1) < 4, "ones that a kernel adds to are no other");
	free(v);
	b.role = PLAN_IN;
	v = values_of(&b, PLAN_NEGATIVE);
	ok(between(v, N, 0.5, 1.5) == N / 2 && between(v, N, -1.5, -0.5) == N / 2, "half of their rows have the other sign");
	free(v);
	b.closed = true;
	b.least = b.most = 1;
	v = values_of(&b, PLAN_OTHER_CONSTANTS);
	is_int(between(v, N, 1, 1), N, "ones in a closed domain stay");
	free(v);
	b = array(DTYPE_I32, ROWS, COLUMNS, PLAN_IOTA);
	v = values_of(&b, PLAN_OTHER_CONSTANTS);
	char *seen = MEM_NEW_N(char, N);
	int moved = 0, once = 0;
	for (int i = 0; i < N; i++) {
		moved += v[i] != i;
		once += v[i] >= 0 && v[i] < N && seen[(int)v[i]]++ == 0;
	}
	ok(once == N && moved > N - 16, "iota becomes a permutation of itself (%d moved)", moved);
	free(seen);
	free(v);
}

static void test_fills(void)
{
	struct plan_buffer b = array(DTYPE_F32, ROWS, 1000, PLAN_PROBABILITIES);
	static const enum plan_values kinds[] = { PLAN_DECLARED, PLAN_WIDE, PLAN_SPECIAL };
	for (size_t k = 0; k < MEM_COUNT(kinds); k++) {
		double *v = values_of(&b, kinds[k]), worst = 0;
		int zeros = between(v, ROWS * 1000, 0, 0);
		for (int y = 0; y < ROWS; y++) {
			double sum = 0;
			for (int x = 0; x < 1000; x++)
				sum += v[y * 1000 + x];
			worst = fmax(worst, fabs(sum - 1));
		}
		ok(worst < 1e-5 && between(v, ROWS * 1000, 0, 1) == ROWS * 1000, "probabilities sum to 1 (off by %g)", worst);
		ok(kinds[k] == PLAN_SPECIAL ? zeros > 5000 : zeros == 0, "zero probabilities are among special ones (%d)", zeros);
		free(v);
	}
	b = array(DTYPE_I32, ROWS, COLUMNS, PLAN_PERMUTATION);
	double *v = values_of(&b, PLAN_DECLARED);
	int rows = 0, alike = 0;
	for (int y = 0; y < ROWS; y++) {
		char seen[COLUMNS] = { 0 };
		int once = 0;
		for (int x = 0; x < COLUMNS; x++) {
			double at = v[y * COLUMNS + x];
			once += at >= 0 && at < COLUMNS && seen[(int)at]++ == 0;
			alike += at == v[x];
		}
		rows += once == COLUMNS;
	}
	ok(rows == ROWS && alike < N / 16, "every row of a permutation holds each index once, in its own order");
	free(v);
	b = array(DTYPE_I32, ROWS, COLUMNS, PLAN_SORTED);
	b.lo = 5;
	b.hi = 1006;
	for (enum plan_values values = PLAN_DECLARED; values < PLAN_VALUES; values++) {
		v = values_of(&b, values);
		int ascend = 0, ends = 0;
		for (int i = 1; i < N; i++)
			ascend += i % COLUMNS == 0 || v[i] >= v[i - 1];
		for (int y = 0; y < ROWS; y++)
			ends += v[y * COLUMNS] == 5 && v[(y + 1) * COLUMNS - 1] == 1005;
		if (ascend != N - 1 || ends != ROWS)
			ok(false, "sorted rows ascend from end to end, also as values %u", values);
		free(v);
	}
	b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_SORTED);
	v = values_of(&b, PLAN_WIDE);
	int ascend = 0;
	for (int i = 1; i < N; i++)
		ascend += i % COLUMNS == 0 || v[i] >= v[i - 1];
	ok(ascend == N - 1 && v[0] < -1000 && v[COLUMNS - 1] > 1000, "wide sorted rows ascend from %g to %g", v[0], v[COLUMNS - 1]);
	free(v);
	ok(true, "sorted integer rows ascend from their least to their greatest value, whatever the values");
}

/* How many elements are this one. */
static int equal(const double *v, int n, double x)
{
	return between(v, n, x, x);
}

/* Every number of the code, its neighbours and its negative are there, each a few times. */
static void test_immediates(void)
{
	struct plan_buffer b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_RANDOM);
	double *v = values_of(&b, PLAN_IMMEDIATES);
	int missing = 0, others = 0;
	for (uint64_t k = 0; k < immediates.count; k++) {
		float c = (float)immediates.at[k];
		const float forms[] = { c, nextafterf(c, INFINITY), nextafterf(c, -INFINITY), -c };
		for (size_t f = 0; f < MEM_COUNT(forms); f++) {
			int n = equal(v, N, (double)forms[f]);
			missing += n < 1 || n > 6;
		}
	}
	others = N - between(v, N, -1, 1);
	is_int(missing, 0, "every number is there, and its neighbours, and its negative");
	ok(others > 20 && others < N / 96, "few elements are others than declared (%d)", others);
	free(v);
	b = array(DTYPE_F16, ROWS, COLUMNS, PLAN_RANDOM);
	v = values_of(&b, PLAN_IMMEDIATES);
	ok(equal(v, N, 777) && equal(v, N, 777.5) && equal(v, N, 776.5), "neighbours are those of the array's type");
	free(v);
	b = array(DTYPE_I32, ROWS, COLUMNS, PLAN_RANDOM);
	b.closed = true;
	b.least = b.lo = 0;
	b.most = 5000;
	b.hi = 5001;
	v = values_of(&b, PLAN_IMMEDIATES);
	ok(equal(v, N, 777) >= 10 && equal(v, N, 776) >= 10 && equal(v, N, 778) >= 10 && equal(v, N, 9999) == 0,
	   "integers of a range are those numbers that it holds");
	free(v);
	b = array(DTYPE_F32, 1, 7, PLAN_RANDOM);
	v = values_of(&b, PLAN_IMMEDIATES);
	int few = 0;
	for (uint64_t k = 0; k < immediates.count; k++)
		few += equal(v, 7, (double)(float)immediates.at[k]);
	is_int(few, 1, "a small array has one of them");
	free(v);
	struct fill_choice none = { .seed = 7, .values = PLAN_IMMEDIATES };
	float with[7], without[7];
	fill_chosen(&b, &none, with);
	none.values = PLAN_DECLARED;
	fill_chosen(&b, &none, without);
	ok(memcmp(with, without, sizeof with) == 0, "without numbers, values are as declared");
}

/* The largest size of each of four seeds in a row. */
static void largest_of_seeds(const struct plan_buffer *b, struct fill_choice c, float *v, double ret_largest[4])
{
	for (uint64_t k = 0; k < 4; k++) {
		c.seed = 8 + k;
		fill_chosen(b, &c, v);
		ret_largest[k] = 0;
		for (uint64_t x = 0; x < plan_buffer_logical(b); x++)
			ret_largest[k] = fmax(ret_largest[k], fabs((double)v[x]));
	}
}

/* The lengths of rows reach far below and above the number, and both sides of it. */
static void test_immediate_rows(void)
{
	enum { MANY = 512, SHORT = 64 };
	struct plan_buffer b = array(DTYPE_F32, MANY, SHORT, PLAN_RANDOM);
	struct fill_choice c = { .seed = 7, .values = PLAN_IMMEDIATE_ROWS, .immediates = { .count = 1, .at = { 1e-6 } } };
	float *v = MEM_NEW_N(float, MANY *SHORT);
	double least = INFINITY, most = 0;
	int below = 0, above = 0, mean = 0;
	fill_chosen(&b, &c, v);
	for (int y = 0; y < MANY; y++) {
		double squares = 0, largest = 0;
		for (int x = 0; x < SHORT; x++) {
			double at = (double)v[y * SHORT + x];
			squares += at * at;
			largest = fmax(largest, fabs(at));
		}
		least = fmin(least, squares);
		most = fmax(most, squares);
		below += largest < 1e-6 && largest > 1e-6 / 4;
		above += largest > 1e-6 && largest < 1e-6 * 8;
		mean += squares > 1e-6 / 32 && squares < 1e-6 * 32;
	}
	ok(least < 1e-15 && most > 1e-5, "sums of squares go from %g to %g", least, most);
	ok(below > 30 && above > 30 && mean > 60, "rows are a little below and above it (%d, %d), or their squares are near (%d)",
	   below, above, mean);
	b = array(DTYPE_F32, 1, MANY, PLAN_RANDOM);
	double wholes[4];
	largest_of_seeds(&b, c, v, wholes);
	ok(wholes[1] < 1e-9 && wholes[3] > 1e-3, "one row is once far below (%g), once far above (%g)", wholes[1], wholes[3]);
	b.closed = true;
	b.least = b.lo = 0;
	b.most = 1;
	largest_of_seeds(&b, c, v, wholes);
	ok(fmin(fmin(wholes[0], wholes[1]), fmin(wholes[2], wholes[3])) > 0x1p-12,
	   "in a domain with two ends, where fixed point is honest, not all of it is small");
	free(v);
	b = array(DTYPE_F16, ROWS, COLUMNS, PLAN_RANDOM);
	ok(!plan_values_apply(&b, PLAN_IMMEDIATE_ROWS), "halves are too narrow for such rows");
}

/* Whatever the kind, the type and the fill: no value is outside of a closed domain, perturbed or not. */
static void test_closed(void)
{
	static const struct {
		double least, most, lo, hi;
	} domains[] = { { 0.001953125, 1, 0.001953125, 1 }, { 0, INFINITY, 0, 1 },   { -0.5, 0.5, -0.5, 0.5 },
			{ -INFINITY, -0.25, -1, -0.25 },    { -INFINITY, 3, -1, 1 }, { 2, 4, 2, 4 } };
	static const enum plan_fill fills[] = { PLAN_RANDOM, PLAN_NORMAL };
	int tried = 0, outside = 0;
	for (size_t d = 0; d < MEM_COUNT(domains); d++)
		for (int values = 0; values < PLAN_VALUES; values++)
			for (int t = DTYPE_F16; t < DTYPE_COUNT; t++)
				for (size_t f = 0; f < MEM_COUNT(fills) * 2; f++) {
					struct plan_buffer b = array((enum dtype)t, 16, 48, fills[f / 2]);
					struct fill_choice c = { .seed = 3,
								 .values = (enum plan_values)values,
								 .perturbation = (uint32_t)(f % 2),
								 .amplitude = 0.125,
								 .immediates = immediates };
					uint8_t bytes[16 * 48 * 8];
					double v[16 * 48];
					b.closed = true;
					b.least = domains[d].least;
					b.most = domains[d].most;
					b.lo = domains[d].lo;
					b.hi = domains[d].hi;
					fill_chosen(&b, &c, bytes);
					dtype_load_all(b.type, bytes, v, 16 * 48);
					int inside = between(v, 16 * 48, fmax(b.least, -1e300), fmin(b.most, 1e300));
					tried++;
					outside += inside != 16 * 48;
					if (inside != 16 * 48)
						printf("# %s fill %u values %d: %d outside of %g to %g\n", dtype_name(b.type),
						       b.fill, values, 16 * 48 - inside, b.least, b.most);
				}
	ok(outside == 0 && tried > 800, "no kind of values leaves a closed domain (%d tried)", tried);
}

int main(void)
{
	test_immediates();
	test_immediate_rows();
	test_wide();
	test_special_values();
	test_lone();
	test_sparse();
	test_rows();
	test_zeros();
	test_runs();
	test_ties_move_alike();
	test_without_specials();
	test_integers();
	test_ends();
	test_ends_drawn();
	test_other_constants();
	test_fills();
	test_closed();
	return tap_done();
}

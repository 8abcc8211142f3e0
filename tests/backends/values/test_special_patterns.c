/* backends/values/special_patterns: floats whose sizes or order follow the places in a row. */
#include "backends/values/fill.h"

#include <math.h>

#include "backends/array.h"
#include "base/mem.h"
#include "tap.h"

enum { ROWS = 64, COLUMNS = 96, N = ROWS * COLUMNS };

/* Rows 2^80 and 2^100 times smaller, of which some are nearly zero throughout. */
static void test_faint(void)
{
	struct plan_buffer b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_RANDOM);
	double *v = values_of(&b, PLAN_FAINT);
	int fainter = 0, faintest = 0, zeros = 0, holed = 0;
	for (int y = 0; y < ROWS; y++) {
		double most = 0;
		int zero = between(v + y * COLUMNS, COLUMNS, 0, 0);
		for (int x = 0; x < COLUMNS; x++)
			most = fmax(most, fabs(v[y * COLUMNS + x]));
		fainter += most > 0x1p-83 && most <= 0x1p-80;
		faintest += most > 0x1p-103 && most <= 0x1p-100;
		zeros += zero == 0;
		holed += zero == COLUMNS / 8 * 7;
	}
	ok(fainter == ROWS / 2 && faintest == ROWS / 2, "rows are 2^80 or 2^100 times smaller (%d, %d)", fainter, faintest);
	ok(zeros == ROWS / 2 && holed == ROWS / 2, "half of them have zeros in seven of eight places (%d)", holed);
	free(v);
	b.closed = true;
	b.least = 0;
	b.most = INFINITY;
	ok(plan_values_apply(&b, PLAN_FAINT), "a domain with one end has them");
	b.most = 1;
	ok(!plan_values_apply(&b, PLAN_FAINT), "one with two has not: fixed point is honest there");
	b = array(DTYPE_F16, ROWS, COLUMNS, PLAN_RANDOM);
	ok(!plan_values_apply(&b, PLAN_FAINT) && !plan_values_apply(&b, PLAN_SEGMENTS), "halves hold no such numbers");
}

/* Parts of rows that are smaller: at least half of a row, where it is short. */
static void test_segments(void)
{
	static const double scales[] = { 0x1p-40, 0x1p-8 };
	struct plan_buffer b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_RANDOM);
	for (int closed = 0; closed < 2; closed++) {
		b.closed = closed;
		b.least = -1;
		b.most = 1;
		double *v = values_of(&b, PLAN_SEGMENTS), *plain = values_of(&b, PLAN_DECLARED);
		int small = 0, whole = 0, changes = 0, great = 0, loud = 0;
		double last = 0;
		for (int y = 0; y < ROWS; y++)
			for (int x = 0; x < COLUMNS; x++) {
				int i = y * COLUMNS + x;
				double by = v[i] / plain[i];
				small += by == scales[closed] || by == 0x1p34 * scales[0];
				whole += by == 1;
				great += by == 0x1p34;
				loud += by == 0x1p4;
				changes += x > 0 && by != last;
				last = by;
			}
		ok(small == (closed ? N / 2 : N * 3 / 8) && changes == ROWS,
		   "half of a row of %d is %g times as large (%d changes)", COLUMNS, scales[closed], changes);
		ok(whole == (closed ? N / 2 : N * 3 / 8) && great == (closed ? 0 : N / 8) && loud == great,
		   "in an open domain a quarter of the rows has such numbers, and a quarter is louder in parts (%d, %d, %d)", whole,
		   great, loud);
		free(v);
		free(plain);
	}
	b = array(DTYPE_F32, ROWS, 12, PLAN_RANDOM);
	ok(!plan_values_apply(&b, PLAN_SEGMENTS), "short rows have one scale");
}

/* Both ends of a range in rows, combs and blocks; an array that is chosen has one end. */
static void test_patterns(void)
{
	enum { SEEDS = 64 };
	struct plan_buffer b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_RANDOM);
	float *v = MEM_NEW_N(float, N);
	int whole = 0, wrong = 0, single = 0, combs = 0, blocks = 0, ones = 0;
	b.closed = true;
	b.least = -3;
	b.most = 3;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		if (seed % PLAN_SEEDS == PLAN_SEED_ZEROS && !fill_chooses(&b, seed))
			continue;
		fill_chosen(&b, &(struct fill_choice){ .seed = seed, .values = PLAN_PATTERNS }, v);
		int high = 0;
		for (int y = 0; y < ROWS; y++) {
			int row = 0, changes = 0;
			for (int x = 0; x < COLUMNS; x++) {
				float at = v[y * COLUMNS + x];
				row += at > 0;
				changes += x > 0 && (at > 0) != (v[y * COLUMNS + x - 1] > 0);
				wrong += !(fabsf(at) <= 3 && fabsf(at) > 2.9F);
			}
			high += row;
			ones += row == 0 || row == COLUMNS;
			single += row == 1 || row == COLUMNS - 1;
			blocks += row > 1 && row + 1 < COLUMNS && changes <= 2;
			combs += changes > 4;
		}
		whole += high == 1 || high == N - 1;
		wrong += (high == 1 || high == N - 1) != fill_chooses(&b, seed);
	}
	is_int(wrong, 0, "all elements are near the ends of the domain, and of chosen arrays all but one near the same one");
	ok(whole > SEEDS / 8 && ones > whole * ROWS, "arrays and rows are at one end (%d, %d)", whole, ones);
	ok(single > 100 && combs > 200 && blocks > 200, "others have one column, combs and blocks at the other (%d, %d, %d)",
	   single, combs, blocks);
	b.least = -1e9;
	b.most = 1e9;
	fill_chosen(&b, &(struct fill_choice){ .seed = 1, .values = PLAN_PATTERNS }, v);
	int near = 0;
	for (int i = 0; i < N; i++)
		near += fabsf(v[i]) <= 1;
	is_int(near, N, "the ends of a domain that is far wider are not meant");
	free(v);
}

/* Zeros in every other row or column, or as on a chessboard. */
static void test_gaps(void)
{
	struct plan_buffer b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_NORMAL);
	float *v = MEM_NEW_N(float, N);
	int rows = 0, columns = 0, boards = 0, others = 0;
	for (uint64_t seed = PLAN_SEED_ZEROS; seed < 64; seed += PLAN_SEEDS) {
		if (fill_chooses(&b, seed))
			continue;
		fill_chosen(&b, &(struct fill_choice){ .seed = seed, .values = PLAN_PATTERNS }, v);
		for (int y = 0; y + 1 < ROWS; y += 2) {
			const float *a = v + y * COLUMNS, *c = a + COLUMNS;
			bool even = a[0] == 0 && a[2] == 0 && a[4] == 0, odd = a[1] == 0 && a[3] == 0 && a[5] == 0;
			bool below = c[0] == 0 && c[2] == 0 && c[4] == 0, beside = c[1] == 0 && c[3] == 0 && c[5] == 0;
			rows += (even && odd && !below && !beside) || (!even && !odd && below && beside);
			columns += even == below && odd == beside && even != odd;
			boards += even == beside && odd == below && even != odd;
			others += even + odd + below + beside != 2;
		}
	}
	ok(rows > 20 && columns > 20 && boards > 20 && others == 0,
	   "half of the elements are zero, in rows, columns or as on a chessboard (%d, %d, %d, %d)", rows, columns, boards, others);
	free(v);
}

/* Nearly all of an only row, in odd seeds, and of the sign that the seed says. */
static void test_scattered(void)
{
	struct plan_buffer b = array(DTYPE_F32, 1, N, PLAN_NORMAL);
	for (uint64_t seed = 1; seed < 4; seed += 2) {
		uint64_t chosen = seed;
		while (!fill_chooses(&b, chosen))
			chosen += 4;
		float *f = MEM_NEW_N(float, N);
		fill_chosen(&b, &(struct fill_choice){ .seed = chosen, .values = PLAN_RUNS }, f);
		int infinite = 0, wrong = 0;
		for (int i = 0; i < N; i++) {
			infinite += isinf(f[i]) != 0;
			wrong += isinf(f[i]) && (f[i] > 0) != (seed == 3);
		}
		ok(infinite > N * 9 / 10 && infinite < N && wrong == 0, "%d of %d elements are %s", infinite, N,
		   seed == 3 ? "infinity" : "-infinity");
		free(f);
	}
}

/* Equal probabilities: those of a row that are not zero, in the same places of all arrays. */
static void test_equal_probabilities(void)
{
	struct plan_buffer b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_PROBABILITIES), other = b;
	other.name = (char *)"other";
	double *p = values_of(&b, PLAN_COINCIDING), *q = values_of(&other, PLAN_COINCIDING);
	int unequal = 0, off = 0, whole = 0;
	for (int y = 0; y < ROWS; y++) {
		double sum = 0, most = 0;
		int shares = 0;
		for (int x = 0; x < COLUMNS; x++)
			most = fmax(most, p[y * COLUMNS + x]);
		for (int x = 0; x < COLUMNS; x++) {
			double v = p[y * COLUMNS + x];
			sum += v;
			shares += v > 0;
			unequal += (v > 0 && v < most * (1 - 1e-7)) || v != q[y * COLUMNS + x];
		}
		off += fabs(sum - 1) > 1e-5;
		whole += shares == COLUMNS;
	}
	ok(unequal == 0 && off == 0 && whole > 0 && whole < ROWS, "probabilities are equal (%d not), all of %d rows of %d", unequal,
	   whole, ROWS);
	free(p);
	free(q);
}

/* Of the seeds whose patterns are blocks, one block of neighbours stands out, as a bright spot of an image, or diagonals; of
 * others, columns that share most bits of their number. */
static void test_blocks(void)
{
	enum { SEEDS = 32 };
	struct plan_buffer b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_RANDOM);
	float v[N];
	int blocks = 0, diagonals = 0, wide = 0, sparse = 0, apart = 0, rows = 0, darks = 0;
	for (uint64_t seed = 0; seed < (uint64_t)SEEDS * PLAN_SEEDS; seed++) {
		int high = 0, left = COLUMNS, right = -1, top = ROWS, bottom = -1;
		if (fill_chooses(&b, seed) || seed % PLAN_SEEDS > 1)
			continue;
		fill_chosen(&b, &(struct fill_choice){ .seed = seed, .values = PLAN_PATTERNS }, v);
		int bright = 0;
		for (int i = 0; i < N; i++)
			bright += v[i] > 0;
		int on[2][8] = { { 0 } }, most = 0; /* elements that stand out on each of eight diagonals, of both directions */
		for (int y = 0; y < ROWS; y++) {
			int in_row = 0, first = -1, last = -1, ups = 0;
			for (int x = 0; x < COLUMNS; x++)
				ups += v[y * COLUMNS + x] > 0;
			bool dark = seed % PLAN_SEEDS ? ups > COLUMNS / 2 : bright > N / 2;
			darks += dark;
			for (int x = 0; x < COLUMNS; x++) {
				if ((v[y * COLUMNS + x] > 0) == dark)
					continue;
				in_row++;
				on[0][(x + y) % 8]++;
				on[1][(x + ROWS - y) % 8]++;
				first = first < 0 ? x : first;
				last = x;
			}
			high += in_row;
			if (in_row > 1) { /* one element alone is as the pattern is not */
				left = first < left ? first : left;
				right = last > right ? last : right;
				top = y < top ? y : top;
				bottom = y;
			}
			rows += seed % PLAN_SEEDS == 1;
			sparse += seed % PLAN_SEEDS == 1 && in_row > 0 && in_row <= 33;
			apart += seed % PLAN_SEEDS == 1 && in_row > 1 && last - first > in_row;
		}
		if (seed % PLAN_SEEDS)
			continue;
		for (int i = 0; i < 16; i++)
			most = on[i / 8][i % 8] > most ? on[i / 8][i % 8] : most;
		blocks++;
		bool diagonal = high > 3 && most >= high - 1;
		diagonals += diagonal;
		bool block = abs(high - (right - left + 1) * (bottom - top + 1)) <= 1 && right - left <= 15 && bottom - top <= 15;
		wide += !diagonal && !block;
	}
	ok(blocks > SEEDS / 2 && wide <= blocks / 3 && diagonals > blocks / 5 && diagonals < blocks * 4 / 5,
	   "one block stands out, or diagonals (%d; neither: %d of %d)", diagonals, wide, blocks);
	ok(darks > ROWS && darks < SEEDS * ROWS, "some of them are low among high ones (%d rows)", darks);
	ok(sparse > rows / 2 && apart > rows / 8, "of each row a few columns do (%d of %d), some of them apart (%d)", sparse, rows,
	   apart);
}

/* Sorted floats ascend under every kind of values but special ones, which stand anywhere. */
static void test_sorted_floats(void)
{
	static const struct {
		uint64_t rows;
		double least, most;
	} shapes[] = { { 1, -INFINITY, INFINITY }, { 9, -INFINITY, INFINITY }, { 1, 0, INFINITY },
		       { 9, 0, INFINITY },         { 1, 0, 1e6 },              { 9, 0, 1e6 } };
	static float v[900];
	unsigned wrong = 0;
	for (size_t k = 0; k < MEM_COUNT(shapes); k++) {
		uint64_t columns = 900 / shapes[k].rows;
		struct plan_buffer b = array(DTYPE_F32, shapes[k].rows, columns, PLAN_SORTED);
		b.lo = 0;
		b.hi = 100;
		b.closed = isfinite(shapes[k].least);
		b.least = shapes[k].least;
		b.most = shapes[k].most;
		for (enum plan_values values = PLAN_DECLARED; values < PLAN_VALUES; values++) {
			bool special = values == PLAN_SPECIAL || values == PLAN_SPECIAL_HIGH || values == PLAN_SPECIAL_LOW ||
				       values == PLAN_SPECIAL_NUMBERS || values == PLAN_SPECIAL_FINITE ||
				       values == PLAN_SPECIAL_NANS;
			for (uint64_t seed = 1; seed < 40 && !special && plan_values_apply(&b, values); seed++) {
				unsigned falls = 0;
				fill_chosen(&b, &(struct fill_choice){ .seed = seed, .values = values }, v);
				for (uint64_t i = 1; i < 900; i++)
					falls += i % columns && !(v[i] >= v[i - 1]);
				if (falls && wrong++ < 2000)
					ok(false, "shape %zu, values %u, seed %d: sorted floats fall %u times", k, values,
					   (int)seed, falls);
			}
		}
	}
	is_int(wrong, 0, "sorted floats ascend, whatever the values");
}

/* Rows with everything in one segment still begin and end as they are declared. */
static void test_sorted_ends(void)
{
	enum { SEEDS = 200, LENGTH = 4 };
	struct plan_buffer b = array(DTYPE_I32, 1, LENGTH, PLAN_SORTED);
	int32_t v[LENGTH];
	int wrong = 0, equal = 0;
	b.lo = 0;
	b.hi = 51;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		fill_chosen(&b, &(struct fill_choice){ .seed = seed, .values = PLAN_NEAR_TIES }, v);
		wrong += v[0] != 0 || v[LENGTH - 1] != 50;
		equal += (v[1] == 0 || v[1] == 50) && (v[2] == 0 || v[2] == 50);
	}
	is_int(wrong, 0, "sorted integers begin with the least and end with the largest");
	ok(equal > SEEDS / 4, "often all of them are at an end (%d of %d)", equal, SEEDS);
}

/* In some draws one array holds the complements of another's numbers. */
static void test_complements(void)
{
	enum { SEEDS = 400, LENGTH = 64 };
	struct plan_buffer a = array(DTYPE_U32, 1, LENGTH, PLAN_RANDOM), b = a;
	uint32_t v[LENGTH], w[LENGTH];
	int draws = 0;
	a.name = "a";
	b.name = "b";
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		int pairs = 0;
		fill_chosen(&a, &(struct fill_choice){ .seed = seed, .values = PLAN_MIXED_ENDS }, v);
		fill_chosen(&b, &(struct fill_choice){ .seed = seed, .values = PLAN_MIXED_ENDS }, w);
		for (int i = 0; i < LENGTH; i++)
			pairs += v[i] == ~w[i] && v[i] != 0 && w[i] != 0;
		draws += pairs > LENGTH / 2;
	}
	ok(draws > SEEDS / 40, "some draws hold complements (%d of %d)", draws, SEEDS);
	/* Sums that are a multiple of the modulus: of two arrays, and of a row. */
	const int64_t modulus = 998244353;
	a.hi = b.hi = (double)modulus;
	a.closed = b.closed = true;
	a.most = b.most = (double)modulus - 1;
	int vanish = 0, opposite = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		int64_t sum = 0, pairs = 0;
		fill_chosen(&a, &(struct fill_choice){ .seed = seed, .values = PLAN_MIXED_ENDS }, v);
		fill_chosen(&b, &(struct fill_choice){ .seed = seed, .values = PLAN_MIXED_ENDS }, w);
		for (int i = 0; i < LENGTH; i++) {
			sum += v[i];
			pairs += v[i] + (int64_t)w[i] == modulus;
		}
		vanish += sum > 0 && sum % modulus == 0;
		opposite += pairs == LENGTH;
	}
	ok(vanish > SEEDS / 20 && opposite > SEEDS / 40, "some hold residues whose sums vanish (%d, %d of %d)", vanish, opposite,
	   SEEDS);
}

/* Arrays of one number in the middle, and of one that a narrow counter loses. */
static void test_narrow_counters(void)
{
	enum { SEEDS = 400, SHORT = 3000, LONG = 70000 };
	struct plan_buffer b = array(DTYPE_U8, 1, SHORT, PLAN_RANDOM), c = array(DTYPE_U8, 1, LONG, PLAN_RANDOM);
	uint8_t *v = MEM_NEW_N(uint8_t, LONG);
	int middle = 0, lost[2] = { 0 };
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		for (int k = 0; k < 2; k++) {
			int n = k ? LONG : SHORT, first = 0, all = 0, near = 0;
			fill_chosen(k ? &c : &b, &(struct fill_choice){ .seed = seed, .values = PLAN_MIXED_ENDS }, v);
			while (first < n && v[first] == v[0])
				first++;
			for (int i = 0; i < n; i++) {
				all += v[i] == v[0];
				near += v[i] == 127 || v[i] == 128;
			}
			middle += k && near > n / 8 * 7;
			lost[k] += first == (k ? 65536 : 256) && all == first;
		}
	ok(middle > SEEDS / 20 && middle < SEEDS / 5, "some arrays are in the middle of their range (%d of %d)", middle, SEEDS);
	ok(lost[0] > SEEDS / 20 && lost[1] > SEEDS / 20, "in some a number is there 256 or 65536 times (%d, %d)", lost[0], lost[1]);
	free(v);
}

/* Columns that are small in all rows, by no more than the type holds. */
static void test_rare_columns(void)
{
	enum { LINES = 32, WIDTH = 64, ALL = LINES * WIDTH, ARRAYS = 26 };
	int wide = 0, small = 0, tiny = 0;
	for (int k = 0; k < ARRAYS; k++) {
		char name[] = { (char)('a' + k), 0 };
		struct plan_buffer b = array(DTYPE_F32, LINES, WIDTH, PLAN_PROBABILITIES), half = b;
		float v[ALL];
		uint16_t h[ALL];
		int rare = 0;
		half.type = half.rounded = DTYPE_F16;
		b.name = half.name = name;
		half.bytes = sizeof h;
		fill_chosen(&b, &(struct fill_choice){ .seed = 3, .values = PLAN_WIDE }, v);
		fill_chosen(&half, &(struct fill_choice){ .seed = 3, .values = PLAN_WIDE }, h);
		for (int x = 0; x < WIDTH; x++) {
			int rows = 0;
			for (int y = 0; y < LINES; y++)
				rows += v[y * WIDTH + x] < 0x1p-26f && v[y * WIDTH + x] > 0;
			rare += rows == LINES;
		}
		wide += rare > WIDTH / 8;
		small += rare == 0;
		for (int i = 0; i < ALL; i++)
			tiny += h[i] == 0;
	}
	ok(wide > ARRAYS / 2 && small > ARRAYS / 16 && wide + small == ARRAYS, "in most arrays whole columns are rare (%d)", wide);
	is_int(tiny, 0, "but not zero in halves");
}

/* A single NaN or infinity often stands where code that works in tiles stops early. */
static void test_lone_ends(void)
{
	enum { SEEDS = 400, LONG = 1 << 14, NEAR = 8 };
	struct plan_buffer b = array(DTYPE_F32, 4, LONG / 4, PLAN_RANDOM);
	float *v = MEM_NEW_N(float, LONG);
	int last = 0, first = 0, rows = 0;
	for (uint64_t k = 0; k < SEEDS; k++) {
		int at = 0;
		fill_chosen(&b, &(struct fill_choice){ .seed = PLAN_SEEDS * k + PLAN_SEED_LONE, .values = PLAN_SPECIAL }, v);
		while (at < LONG - 1 && isfinite(v[at]))
			at++;
		last += at >= LONG - NEAR;
		first += at < NEAR;
		rows += at < LONG - LONG / 4 && at % (LONG / 4) >= LONG / 4 - NEAR;
	}
	/* With equal chances there would be one in all. */
	ok(last > SEEDS / 16 && first > SEEDS / 40, "it stands at the end of the array (%d of %d) and its beginning (%d)", last,
	   SEEDS, first);
	ok(rows > SEEDS / 80, "and at ends of other rows (%d)", rows);
	free(v);
}

int main(void)
{
	test_narrow_counters();
	test_rare_columns();
	test_lone_ends();
	test_blocks();
	test_sorted_ends();
	test_sorted_floats();
	test_complements();
	test_faint();
	test_segments();
	test_patterns();
	test_gaps();
	test_scattered();
	test_equal_probabilities();
	return tap_done();
}

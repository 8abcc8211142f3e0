/* backends/values/fill: values never change, are in range, rounded, independent of the layout, and made fast. */
#include "backends/values/fill.h"

#include <math.h>

#include "backends/array.h"
#include "backends/sample_plan.h"
#include "base/clock.h"
#include "base/hash.h"
#include "pace.h"
#include "tap.h"

/* Of the two kinds that are made of numbers in the code. */
static const struct plan_immediates numbers = { .count = 6, .at = { -9999, 1e-5, 777, 12345.678, 3.4e38, -3 } };

static struct plan_buffer matrix(enum dtype t, int64_t rows, int64_t columns, int64_t ld, enum plan_fill fill)
{
	struct plan_buffer b = array(t, rows, columns, fill);
	b.ld = ld;
	b.bytes = (uint64_t)(rows * ld) * dtype_size(t);
	return b;
}

static double at(const struct plan_buffer *b, const void *values, int64_t i)
{
	return dtype_load(b->type, (const uint8_t *)values + (size_t)i * dtype_size(b->type));
}

static void test_random(void)
{
	for (int t = 0; t < DTYPE_COUNT; t++) {
		struct plan_buffer b = matrix((enum dtype)t, 100, 100, 100, PLAN_RANDOM);
		b.lo = dtype_is_signed((enum dtype)t) ? -3 : 0;
		b.hi = 5;
		void *v = mem_new(b.bytes, 1);
		double sum = 0, least = 9, most = -9;
		fill_buffer(&b, 1, v);
		for (int64_t i = 0; i < 10000; i++) {
			double x = at(&b, v, i);
			sum += x;
			least = x < least ? x : least;
			most = x > most ? x : most;
		}
		double mean = dtype_is_float((enum dtype)t) ? (b.lo + 5) / 2 : (b.lo + 4) / 2;
		ok(least >= b.lo && (dtype_is_float((enum dtype)t) ? most <= 5 && most > 4.4 : most == 4) && least < b.lo + 0.5,
		   "random %s is within its bounds and reaches them (%g to %g)", dtype_name((enum dtype)t), least, most);
		ok(fabs(sum / 10000 - mean) < 0.12, "random %s has its mean (%g)", dtype_name((enum dtype)t), sum / 10000);
		free(v);
	}
}

static bool same_number(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* A lifted baseline's arrays are doubles that are rounded first: they hold the very values that the candidate's narrower arrays
 * do. */
static void test_lifted(void)
{
	static const enum dtype types[] = { DTYPE_F32, DTYPE_F16, DTYPE_BF16 };
	for (size_t t = 0; t < MEM_COUNT(types); t++) {
		for (int values = 0; values < PLAN_VALUES; values++) {
			struct plan_buffer narrow = matrix(types[t], 20, 50, 50, PLAN_RANDOM),
					   lifted = matrix(DTYPE_F64, 20, 50, 50, PLAN_RANDOM);
			lifted.rounded = types[t];
			void *v = mem_new(narrow.bytes, 1), *w = mem_new(lifted.bytes, 1);
			int same = 0;
			fill_chosen(&narrow, &(struct fill_choice){ .seed = 5, .values = (enum plan_values)values }, v);
			fill_chosen(&lifted, &(struct fill_choice){ .seed = 5, .values = (enum plan_values)values }, w);
			for (int64_t i = 0; i < 1000; i++)
				same += same_number(at(&narrow, v, i), at(&lifted, w, i));
			is_int(same, 1000, "value kind %d of %s is the same when lifted", values, dtype_name(types[t]));
			free(v);
			free(w);
		}
	}
}

/* The fast conversions agree with dtype_store. */
static void test_narrow(void)
{
	static const double ranges[][2] = {
		{ -1, 1 }, { -70000, 70000 }, { -1e-4, 1e-4 }, { -1e-7, 1e-7 }, { 0, 3 }, { 2048, 4097 }
	};
	static const enum dtype types[] = { DTYPE_F16, DTYPE_BF16 };
	enum { N = 20000 };
	float *wide = MEM_NEW_N(float, N);
	uint16_t *narrow = MEM_NEW_N(uint16_t, N), want;
	for (size_t r = 0; r < MEM_COUNT(ranges); r++)
		for (size_t t = 0; t < MEM_COUNT(types); t++) {
			struct plan_buffer b = matrix(DTYPE_F32, 1, N, N, PLAN_RANDOM), c = matrix(types[t], 1, N, N, PLAN_RANDOM);
			int same = 0;
			b.lo = c.lo = ranges[r][0];
			b.hi = c.hi = ranges[r][1];
			fill_buffer(&b, 8, wide);
			fill_buffer(&c, 8, narrow);
			for (int i = 0; i < N; i++) {
				dtype_store(types[t], &want, (double)wide[i]);
				same += want == narrow[i];
			}
			is_int(same, N, "random(%g,%g) of %s is the f32 value, rounded", b.lo, b.hi, dtype_name(types[t]));
		}
	free(wide);
	free(narrow);
}

static void test_normal(void)
{
	struct plan_buffer b = matrix(DTYPE_F32, 300, 300, 300, PLAN_NORMAL);
	float *v = MEM_NEW_N(float, 90000);
	double sum = 0, squares = 0;
	int beyond = 0;
	fill_buffer(&b, 1, v);
	for (int i = 0; i < 90000; i++) {
		sum += (double)v[i];
		squares += (double)v[i] * (double)v[i];
		beyond += fabsf(v[i]) > 1.96f;
	}
	ok(fabs(sum / 90000) < 0.015 && fabs(squares / 90000 - 1) < 0.02, "normal has mean 0 and deviation 1 (%g, %g)", sum / 90000,
	   squares / 90000);
	ok(beyond > 4000 && beyond < 5000, "5 %% of normal values are beyond 1.96 (%d of 90000)", beyond);
	free(v);
}

static void test_counting(void)
{
	uint8_t bytes[300];
	uint16_t halves[3000];
	struct plan_buffer b = matrix(DTYPE_U8, 1, 300, 300, PLAN_IOTA);
	fill_buffer(&b, 1, bytes);
	ok(bytes[0] == 0 && bytes[255] == 255 && bytes[256] == 0, "iota of a small integer wraps");
	b = matrix(DTYPE_F16, 1, 3000, 3000, PLAN_IOTA);
	fill_buffer(&b, 1, halves);
	ok(at(&b, halves, 2047) == 2047 && at(&b, halves, 2048) == 0, "iota of f16 starts again where it could not count on");
	b = matrix(DTYPE_F16, 1, 3000, 3000, PLAN_ONES);
	fill_buffer(&b, 1, halves);
	ok(at(&b, halves, 7) == 1, "ones is 1 everywhere");
}

static void test_layout(void)
{
	struct plan_buffer dense = matrix(DTYPE_F32, 5, 7, 7, PLAN_RANDOM), padded = matrix(DTYPE_F32, 5, 7, 9, PLAN_RANDOM);
	float d[35], p[45], other[35];
	int same = 0, nan = 0;
	fill_buffer(&dense, 3, d);
	fill_buffer(&padded, 3, p);
	for (int y = 0; y < 5; y++)
		for (int x = 0; x < 9; x++)
			if (x < 7)
				same += d[y * 7 + x] == p[y * 9 + x];
			else
				nan += isnan(p[y * 9 + x]);
	is_int(same, 35, "a leading dimension changes no value");
	is_int(nan, 10, "the padding of rows is NaN");
	fill_buffer(&dense, 4, other);
	ok(memcmp(d, other, sizeof d) != 0, "another seed gives other values");
	dense.name = (char *)"B";
	fill_buffer(&dense, 3, other);
	ok(memcmp(d, other, sizeof d) != 0, "another name gives other values");
	/* Recorded results name these values by seed: they may never change. */
	is_str(hash_bytes(d, sizeof d).hex, "306e9fa0f57892812851f14f38b2991ea54b634071e9324691376e9556ae1b30",
	       "the values are those that they always were");
}

static void test_speed(void)
{
	struct plan_buffer b = matrix(DTYPE_F32, 2048, 2048, 2048, PLAN_RANDOM);
	void *v = mem_new(b.bytes, 1);
	fill_buffer(&b, 1, v);
	struct pace pace = pace_begin();
	fill_buffer(&b, 2, v);
	bool soon = pace_within(&pace, 4194304 * CLOCK_S / 20000000);
	ok(soon, "f32 random at %.0f M elements/s: %s", 4194304e3 / (double)pace.took, pace_text(&pace));
	b.type = DTYPE_F16;
	int64_t start = clock_now();
	fill_buffer(&b, 2, v);
	printf("# f16 random at %.0f M elements/s\n", 4194304e3 / (double)(clock_now() - start));
	for (int values = PLAN_EXACT; values < PLAN_VALUES; values++) {
		start = clock_now();
		fill_chosen(&b, &(struct fill_choice){ .seed = 2, .values = (enum plan_values)values }, v);
		printf("# special values %d at %.0f M elements/s\n", values, 4194304e3 / (double)(clock_now() - start));
	}
	free(v);
}

static void test_special(void)
{
	struct plan_buffer b = matrix(DTYPE_F16, 40, 25, 28, PLAN_RANDOM), table = matrix(DTYPE_I32, 40, 25, 28, PLAN_RANDOM);
	uint16_t *v = mem_new(b.bytes, 1), *declared = mem_new(b.bytes, 1);
	int integers = 0, far = 0, padding = 0;
	fill_buffer(&b, 4, declared);
	fill_chosen(&b, &(struct fill_choice){ .seed = 4, .values = PLAN_DECLARED }, v);
	ok(memcmp(v, declared, b.bytes) == 0, "declared values are those of fill_buffer");
	fill_chosen(&b, &(struct fill_choice){ .seed = 4, .values = PLAN_EXACT }, v);
	for (int i = 0; i < 40 * 28; i++) {
		double x = at(&b, v, i);
		integers += x >= -8 && x <= 15 && x == floor(x);
		padding += v[i] == 0xFFFF;
	}
	ok(integers == 1000 && padding == 120, "exact values are integers -8…15, the padding stays NaN");
	fill_chosen(&b, &(struct fill_choice){ .seed = 4, .values = PLAN_OFFSET }, v);
	for (int i = 0; i < 40 * 28; i++)
		far += at(&b, v, i) >= 3 && at(&b, v, i) <= 9;
	is_int(far, 1000, "offset values are far from zero");
	int32_t *whole = mem_new(table.bytes, 1), *same = mem_new(table.bytes, 1);
	fill_buffer(&table, 4, whole);
	fill_chosen(&table, &(struct fill_choice){ .seed = 4, .values = PLAN_WIDE }, same);
	ok(memcmp(whole, same, table.bytes) == 0, "integers stay as declared: they may be indices");
	free(v);
	free(declared);
	free(whole);
	free(same);
}

/* Few integers: equal ones, neighbours, and numbers that differ in one bit, in two arrays alike; sorted ones ascend over them. */
static void test_few(void)
{
	enum { N = 4096 };
	struct fill_choice few = { .seed = 3, .values = PLAN_FEW };
	struct plan_buffer b = matrix(DTYPE_U32, 1, N, N, PLAN_RANDOM), c = b, s = matrix(DTYPE_I32, 1, N, N, PLAN_SORTED);
	uint32_t *v = MEM_NEW_N(uint32_t, N), *w = MEM_NEW_N(uint32_t, N);
	int32_t *places = MEM_NEW_N(int32_t, N);
	int equal = 0, beside = 0, apart = 0, carries = 0, shared = 0, jumps = 0;
	c.name = "other";
	fill_chosen(&b, &few, v);
	fill_chosen(&c, &few, w);
	for (int i = 1; i < N; i++) {
		uint32_t differ = v[i] ^ v[i - 1];
		equal += differ == 0;
		beside += v[i] - v[i - 1] == 1 && v[i] > 2;
		apart += differ > 4096 && (differ & (differ - 1)) == 0;
		carries += v[i] == UINT32_MAX && w[i] == 0;
		shared += v[i] == w[i] && v[i] != 0 && v[i] != UINT32_MAX;
	}
	ok(equal > N / 8 && beside > N / 32 && apart > N / 32, "few integers: equal, neighbours, one bit apart (%d, %d, %d)", equal,
	   beside, apart);
	ok(carries > 16 && shared > N / 32, "an end meets the other one, and numbers meet themselves in another array (%d, %d)",
	   carries, shared);
	s.lo = 0;
	s.hi = 100001;
	s.closed = true;
	s.least = 0;
	s.most = 100000;
	fill_chosen(&s, &few, places);
	bool ascends = places[0] == 0 && places[N - 1] == 100000;
	for (int i = 1; i < N; i++) {
		ascends = ascends && places[i] >= places[i - 1];
		jumps += places[i] != places[i - 1];
	}
	ok(ascends && jumps >= 3 && jumps <= 9, "sorted ones ascend from end to end over a few (%d steps)", jumps);
	free(v);
	free(w);
	free(places);
}

static bool is_square(uint32_t v)
{
	uint32_t root = (uint32_t)(sqrt((double)v) + 0.5);
	return root * root == v;
}

/* Numbers on which shortcuts fail, in two arrays at once; a small range as a whole; chains; one segment. */
static void test_numbers(void)
{
	enum { N = 4096 };
	struct fill_choice numbers = { .seed = 3, .values = PLAN_NUMBERS }, chains = { .seed = 3, .values = PLAN_CHAINS };
	struct plan_buffer b = matrix(DTYPE_U32, 1, N, N, PLAN_RANDOM), c = b, s = matrix(DTYPE_I32, 1, N, N, PLAN_SORTED);
	uint32_t *v = MEM_NEW_N(uint32_t, N), *w = MEM_NEW_N(uint32_t, N);
	int pairs = 0, squares = 0, below = 0, powers = 0, divides = 0, seen = 0, up = 0, together = 0, jumps = 0;
	c.name = "other";
	fill_chosen(&b, &numbers, v);
	fill_chosen(&c, &numbers, w);
	for (int i = 0; i < N; i++) {
		pairs += v[i] == UINT32_C(2971215073) && w[i] == UINT32_C(1836311903);
		squares += v[i] > 100 && is_square(v[i]);
		below += v[i] > 100 && is_square(v[i] + 1);
		powers += v[i] > 100 && (v[i] & (v[i] - 1)) == 0;
		divides += v[i] > 100 && w[i] > v[i] && w[i] % v[i] == 0;
	}
	ok(pairs > 16 && squares > N / 32 && below > N / 32,
	   "the largest Fibonacci numbers meet; squares and what is below (%d, %d, %d)", pairs, squares, below);
	ok(powers > N / 32 && divides > N / 64, "powers of two, and multiples of what is in the other array (%d, %d)", powers,
	   divides);
	b.closed = true;
	b.least = 0;
	b.most = 999;
	fill_chosen(&b, &numbers, v);
	memset(w, 0, N * sizeof *w);
	for (int i = 0; i < N; i++)
		seen += v[i] <= 999 && w[v[i]]++ == 0;
	is_int(seen, 1000, "every integer of a small range occurs");
	c.closed = true;
	c.least = 0;
	c.most = N - 1;
	b = c;
	b.name = "first";
	fill_chosen(&b, &chains, v);
	fill_chosen(&c, &chains, w);
	for (int i = 1; i < N; i++) {
		up += v[i] - v[i - 1] == 1 || v[i - 1] - v[i] == 1;
		together += (v[i] - v[i - 1] == 1) == (w[i] - w[i - 1] == 1);
	}
	ok(up > N - 16 && together > N - 16, "integers count up or down, all arrays alike (%d, %d)", up, together);
	s.lo = 3;
	s.hi = 101;
	chains.seed = 1;
	fill_chosen(&s, &chains, v);
	for (int i = 1; i < N; i++)
		jumps += v[i] != v[i - 1];
	ok(v[0] == 3 && v[N - 1] == 100 && jumps == 1, "a sorted row jumps from its first value to its last (%d times)", jumps);
	s.hi = 2 * N;
	chains.seed = 6;
	fill_chosen(&s, &chains, v);
	int steps = 0, rests = 0;
	for (int i = 1; i < N - 1; i++) {
		steps += v[i] == (uint32_t)(3 + i);
		rests += v[i] == v[i - 1];
	}
	ok(v[0] == 3 && v[N - 1] == 2 * N - 1 && steps > N / 32 * 28 && rests > N / 64, "or counts up but for a few (%d, %d)",
	   steps, rests);
	free(v);
	free(w);
}

/* Seventeen bits, of keys and of floats; no more than an int8 holds where that is the type. */
static void test_few_bits(void)
{
	enum { N = 4096 };
	struct plan_buffer b = matrix(DTYPE_U32, 1, N, N, PLAN_RANDOM), f = matrix(DTYPE_F32, 1, N, N, PLAN_NORMAL);
	struct fill_choice narrow = { .seed = 5 + PLAN_WIDTHS, .values = PLAN_NARROW };
	uint32_t *v = MEM_NEW_N(uint32_t, N);
	float *w = MEM_NEW_N(float, N);
	int within = 0, high = 0, whole = 0, below = 0;
	fill_chosen(&b, &narrow, v);
	fill_chosen(&f, &narrow, w);
	for (int i = 0; i < N; i++) {
		within += v[i] < 1 << 17;
		high += v[i] >= 1 << 16;
		whole += w[i] == floorf(w[i]) && fabsf(w[i]) < 1 << 17;
		below += w[i] < 0;
	}
	ok(within == N && high > N / 4 && whole == N && below > N / 4,
	   "integers of 17 bits, with signs where there are any (%d, %d)", high, below);
	free(v);
	free(w);
}

/* Each row, or each column, is as far from zero as the other array's. */
static void test_apart(void)
{
	enum { ROWS = 40, COLUMNS = 24, N = ROWS * COLUMNS };
	struct plan_buffer b = matrix(DTYPE_F32, ROWS, COLUMNS, COLUMNS, PLAN_NORMAL), c = b;
	float *v = MEM_NEW_N(float, N), *w = MEM_NEW_N(float, N);
	c.name = "other";
	for (uint64_t seed = 2; seed < 4; seed++) {
		int alike = 0, far = 0, near = 0;
		fill_chosen(&b, &(struct fill_choice){ .seed = seed, .values = PLAN_APART }, v);
		fill_chosen(&c, &(struct fill_choice){ .seed = seed, .values = PLAN_APART }, w);
		for (int i = 0; i < N; i++) {
			int line = seed & 1 ? i % COLUMNS : i / COLUMNS * COLUMNS;
			alike += fabsf(v[i] - w[line]) < 20;
			far += v[i] > 1000;
			near += v[i] < 10;
		}
		ok(alike == N && far + near == N && far > N / 4 && near > N / 4, "%s are each elsewhere (%d far, %d near)",
		   seed & 1 ? "columns" : "rows", far, near);
	}
	free(v);
	free(w);
}

/* An array of one label, or rows of it; sequences that agree but for a stretch. */
static void test_labels(void)
{
	enum { ROWS = 64, COLUMNS = 32, N = ROWS * COLUMNS };
	struct plan_buffer b = matrix(DTYPE_I32, ROWS, COLUMNS, COLUMNS, PLAN_RANDOM);
	struct fill_choice labels = { .seed = 1, .values = PLAN_LABELS, .immediates = { .count = 2, .at = { 100, 7 } } };
	int32_t *v = MEM_NEW_N(int32_t, N), *w = MEM_NEW_N(int32_t, N);
	int all = 0, rows = 0, nearly = 0, together = 0, moved = 0;
	b.closed = true;
	b.most = 210;
	fill_chosen(&b, &labels, v);
	labels.seed = 2;
	fill_chosen(&b, &labels, w);
	for (int y = 0; y < ROWS; y++) {
		int has = 0;
		for (int x = 0; x < COLUMNS; x++) {
			all += v[y * COLUMNS + x] == 100;
			has += w[y * COLUMNS + x] == (y & 1 ? 100 : 7);
		}
		rows += has == COLUMNS;
		nearly += has < COLUMNS && has > COLUMNS / 2;
	}
	ok(all == N && rows > ROWS / 4 && rows < ROWS * 3 / 4 && nearly > 2, "one label throughout, or rows of two (%d, %d)", rows,
	   nearly);
	b = matrix(DTYPE_I32, 1, N, N, PLAN_RANDOM);
	b.name = "first";
	struct plan_buffer c = b;
	c.name = "second";
	/* Each element of one is in the other, at most half a row away, but for a stretch. */
	for (uint64_t seed = 8; seed < 8 + 16 * 16; seed += 16) {
		fill_chosen(&b, &(struct fill_choice){ .seed = seed, .values = PLAN_CHAINS }, v);
		fill_chosen(&c, &(struct fill_choice){ .seed = seed, .values = PLAN_CHAINS }, w);
		int here = 0, anywhere = 0;
		for (int at = 0; at < N; at++) {
			bool found = false;
			for (int k = 0; k < N && !found; k++)
				found = v[at] == w[k];
			here += v[at] == w[at];
			anywhere += found;
		}
		together += here > N / 8 && here < N;
		moved += here < N / 2 && anywhere > N / 2;
	}
	ok(together > 3 && moved > 3, "sequences agree in part, or when they are shifted (%d, %d)", together, moved);
	free(v);
	free(w);
}

/* Halves of the value, of eight and of ten times the value; none of a third. */
static void test_halves(void)
{
	enum { N = 4096 };
	struct plan_buffer b = matrix(DTYPE_F32, 1, N, N, PLAN_RANDOM);
	float *v = MEM_NEW_N(float, N);
	int halves = 0, eighths = 0, tenths = 0, thirds = 0, outside = 0;
	fill_chosen(&b, &(struct fill_choice){ .seed = 3, .values = PLAN_HALVES }, v);
	for (int i = 0; i < N; i++) {
		double x = (double)v[i];
		halves += fmod(fabs(x), 1) == 0.5;
		eighths += fmod(fabs(8 * x), 1) == 0.5;
		tenths += fmod(fabs(10 * x), 1) == 0.5;
		thirds += fmod(fabs(x), 3) == 0 || fmod(fabs(x), 3) == 1.5;
	}
	ok(halves > N / 64 && eighths > N / 64 && tenths > N / 64 && thirds == 0,
	   "halves at several scales, and no thirds (%d, %d, %d)", halves, eighths, tenths);
	b.closed = true;
	b.lo = b.least = 0;
	b.hi = b.most = 1;
	fill_chosen(&b, &(struct fill_choice){ .seed = 3, .values = PLAN_HALVES }, v);
	for (int i = 0; i < N; i++)
		outside += !(v[i] >= 0 && v[i] <= 1);
	is_int(outside, 0, "halves stay inside of a closed domain");
	int divisors = 0; /* of quantized values */
	b = matrix(DTYPE_F32, 1, N, N, PLAN_RANDOM);
	fill_chosen(&b, &(struct fill_choice){ .seed = 3, .values = PLAN_QUARTERS }, v);
	for (int i = 0; i < N; i++)
		divisors += fmod((double)v[i] * 65536, 127) == 0 || fmod((double)v[i] * 65536, 31) == 0;
	is_int(divisors, 0, "quarters are no multiples of what quantization divides by");
	int doubles = 0, rows = 0;
	enum { COLUMNS = 64 };
	b = matrix(DTYPE_F32, N / COLUMNS, COLUMNS, COLUMNS, PLAN_RANDOM);
	fill_chosen(&b, &(struct fill_choice){ .seed = 3, .values = PLAN_EIGHTHS }, v);
	for (int y = 0; y < N / COLUMNS; y++, rows++)
		for (int i = 0; i < COLUMNS; i++)
			for (int k = 0; k < COLUMNS; k++)
				doubles += fabsf(v[y * COLUMNS + i]) == 2 * fabsf(v[y * COLUMNS + k]);
	is_int(doubles, 0, "no element of a row of eighths is twice another one (%d rows)", rows);
	free(v);
}

/* Every type, fill and kind of values, hashed: recorded results name them by seed, so they must never change. */
static void test_for_good(void)
{
	static const char *const want[PLAN_VALUES] = {
		"e84c05aaf3a15070e148a069e3f5cf3d43de84cc0473277cc424df76011d211a",
		"b61134eef49a3351c0b8b1051d7f903fd515f086d81e9d22cfc1b9a9f6dd7c15",
		"81c5c18c0e4ab48f1339ec0ecebcd301820f739a642118094f85fa51d85bac9a",
		"d1f6d611fb1f0760afda9c31046a60a3aaf13ea98432dc6721364ca6b84938ff",
		"fddcb8d064d3da8ad25bb073e4888932dc7d6b093d171f692c02ca203e810cf9",
		"1b04bb11181ec709681fa1f78c45e1e19a518aa0b2ed8ebf17b99a1e6d45c966",
		"bce7216ad7d53d3921d448e0194df00d0ea1318af714a0b75837725dc5cdea4d",
		"d05d7733ffc2f0b06f1e003dd62ec1efceeabdaa84ee849f394cd2895107c675",
		"48b239552fe2aa418765c4d0f5a2e32ccb494aefeb27377fab9ffdd1d7ecb9fe",
		"454a247c83a3bd8f1d5f8822aafbba2fe2ad6bbfea95524af2086e65199f4edd",
		"7dba409960f230374a26394cc32812d8efe374e490e323147fd8795ad19e629c",
		"cc96acb100080d60937b0dc5b5ca4d41abe0e43ed08d1e07e913b53784afdd15",
		"f91ea247e234a3c312220316abf503826556c4b47e54af7fdca16562591ba104",
		"eb41aabbcd56a29902339093c3f16266082e4a05beb5792cb7178638d4c69425",
		"3dd24583742741f03629a77c954a21e872fb7c51f467380469e8e23a8cf5619d",
		"ff6f2898e5140aac1a0aea83e9a161827fdb24db2b36581995921a4128033dc4",
		"c481844c580b40745b319a3d917b1cb8804d71fe30dec2201ad9e302d217c7f0",
		"fbdd1a9caded930afca87737b10047e50283be20ac28ea7504890e0119a5fe07",
		"2adac89e8eda5366f5f597243481bf49f085e96a316eb276ca6c1c3bb30ea770",
		"034c244ec718022816ed1b2968bce8d4f44a7540025a047f584d304e325b0ce0",
		"b1907c583b0b8c86ba527dc5cce2511b7927066addc784cfd34111ab5e23196f",
		"3117954af43513fa620cf917a616216a10ae8716473c7ab64437d9bbcbb7231e",
		"6e8770d6b1588f28152d8b1cd06b748937fdd9b24f5607d680d50ad384dee29e",
		"b741a09120e04753136f785f0fcb4716eb8986e5ebbd1e1a7389aba8542cec3e",
		"5134764ded3b6b5dcaacbd4838e06a68c7501b25c180c8958f862d8ea7b88b3c",
		"c84c69777842e2ab8ea61d4676285e1baa12ced25e7456c3f7f28db381d3ee24",
		"c028914e871eea9c3541e562d805af7cece3a3b702b17a0fff7228cc2b1e5c0a",
		"2a83ac8b97237899b88aaa9a2a700e06262dc0148f1bfa3004b522c1a0ea63ad",
		"9261c3272e5d994369692e5cee5ac18c353383ce28400f2a3965411f444297ad",
		"79c7016dc7d5305212316e7f992cebb0750fef9674b9e3460bcb1303f7eda5f8",
		"ab80175b9d413def0dd275ccf7b366bfa5a1dc6c00235ca04e34087da8eb01cf",
		"a745826498d6242420868b85c035086b4a2ba6e13234b82f92422a5191a06e6e",
		"f5e51117040643962e8f81f0ed95c9dae4a9fde45425cba5589e799b86b9d9d5",
		"b2e578f477f9b11902abffdecd8c488cc6bffd384bf6fcea8b784bb8c91a542f",
		"3a54d8e22514b645c7707146dae9e16a6408974dd81ef585aaa5173853fd2801",
		"a745826498d6242420868b85c035086b4a2ba6e13234b82f92422a5191a06e6e",
		"e84c05aaf3a15070e148a069e3f5cf3d43de84cc0473277cc424df76011d211a",
		"e84c05aaf3a15070e148a069e3f5cf3d43de84cc0473277cc424df76011d211a",
		"48e3e49f5e958960afab5820c8f4875c5f9567337a079174890281629409d828",
		"74f59c42557dad6cc1beac7ee7508603a754ec7d0efd4ea0954203874461be99",
		"c279720ed25f9051c741f75fe33f8ea018ca78d8c8d620c65a4bc6973e26bb76",
		"a72d900f5e7687a3d30d6e63c067bc535a2fc8417130f6e518ef86e9ed6098d4",
		"4f13a47781a1282a4d1d1250951874349e5ea96d78901c91754c003f91e2ecd6",
		"458a9e5c70ea440d63cf40a766bed8b109dbf6d3e695a35704ac6b41a5e8247a",
		"9d0e97ce44d706cf22f4c2690c717351086da871175da392982babd4c9683fb0",
		"a497918603eae182d92812684c95d7fb2dadf5705cab6df516dcb552d1e6fa5e",
		"8021f4f9bb8272820a27aac55027ee008effeb149723aa8bac7af8209ff91232",
		"4d9287cfa4443e13c9d65bd9f9d86f698e614f4b1593117f1741bdf113d0fb5d",
		"f253a8f277224ea01f428b8a1480bba85a362ce74b7526ebcacceec1e3df8a1c",
		"5281a0aa8144906a7235787507ecae9ca16991d5bed65b3e9ec92b5a04ab6037",
		"7a06b6754e5518ac3280186464dc80282ab0f0e8f81c048b055a4d55bb58f89e",
		"7271d83c65073272df1ba6d43aed781f7849f62350cab904162c3b7da10bab0c",
		"ec35b07583f9e72a202b458a75ac1bb2d3281abbe8f197961f8f0e7d395f8e39",
		"bcd7cb69fb2a773f40c09d5a72b3afaa6e318897b91dd07e390878bda5fbb516",
		"ce629c8d7562073d4ccf7453e9ea2b134be93ffd6461cd974fad1a1029f7d7a6",
		"e84c05aaf3a15070e148a069e3f5cf3d43de84cc0473277cc424df76011d211a",
		"09769087470faaafd320a683ad6458f671498dd866c1fd5eebfda022914a7bb6",
	};
	static const struct {
		int64_t rows, columns, ld;
	} shapes[] = { { 3, 1, 2 }, { 2, 1500, 1501 }, { 700, 401, 401 } };
	for (int values = 0; values < PLAN_VALUES; values++) {
		struct hash_state *all = hash_new();
		for (size_t i = 0; i < MEM_COUNT(shapes) * DTYPE_COUNT * (PLAN_IOTA + 1); i++) {
			enum dtype t = (enum dtype)(i % DTYPE_COUNT);
			size_t k = i / DTYPE_COUNT % MEM_COUNT(shapes);
			struct plan_buffer b = matrix(t, shapes[k].rows, shapes[k].columns, shapes[k].ld,
						      (enum plan_fill)(i / DTYPE_COUNT / MEM_COUNT(shapes)));
			b.lo = dtype_is_signed(t) ? -3 : 0;
			b.hi = 5.5;
			void *v = mem_new(b.bytes, 1);
			struct fill_choice c = { .seed = 12, .values = (enum plan_values)values, .immediates = numbers };
			if (values == PLAN_NATURAL)
				c.seed = plan_natural_seed(c.seed, (i + i / DTYPE_COUNT) % PLAN_FORMS, true);
			fill_chosen(&b, &c, v);
			hash_add(all, v, b.bytes);
			free(v);
		}
		is_str(hash_end(all).hex, want[values], "values of kind %d never change", values);
	}
}

/* Every perturbed value is within the amplitude of the plain one, and what cannot move does not. */
static void test_perturbed(void)
{
	enum { ROWS = 20, COLUMNS = 30, LD = 33 };
	for (int values = 0; values < PLAN_VALUES; values++)
		for (size_t i = 0; i < DTYPE_COUNT * (PLAN_IOTA + 1); i++) {
			enum dtype t = (enum dtype)(i % DTYPE_COUNT);
			struct plan_buffer b = matrix(t, ROWS, COLUMNS, LD, (enum plan_fill)(i / DTYPE_COUNT));
			struct fill_choice c = {
				.seed = 5,
				.values = (enum plan_values)values,
				.perturbation = 1,
				.amplitude = 0.25,
				.immediates = numbers,
			}, still = c;
			still.perturbation = 0;
			void *plain = mem_new(b.bytes, 1), *moved = mem_new(b.bytes, 1);
			size_t size = dtype_size(t), padding = (LD - COLUMNS) * size, off = 0, differ = 0;
			fill_chosen(&b, &still, plain);
			fill_chosen(&b, &c, moved);
			for (int y = 0; y < ROWS; y++) {
				off += memcmp((uint8_t *)moved + (size_t)(y * LD + COLUMNS) * size,
					      (uint8_t *)plain + (size_t)(y * LD + COLUMNS) * size, padding) != 0;
				for (int x = 0; x < COLUMNS; x++) {
					double from = at(&b, plain, y * LD + x), to = at(&b, moved, y * LD + x);
					differ += from != to;
					if (isfinite(from))
						off += !(fabs(to - from) <= fabs(from) * (0.25 + 2 * dtype_roundoff(t)) + 0x1p-16);
					else
						off += isnan(from) ? !isnan(to) : to != from;
				}
			}
			bool blank = values == PLAN_BLANK && fill_chooses(&b, c.seed) == !(c.seed & 1);
			bool zero = (values == PLAN_ALONE || blank) && (b.fill == PLAN_RANDOM || b.fill == PLAN_NORMAL);
			bool other = values == PLAN_OTHER_CONSTANTS || values == PLAN_MIXED_CONSTANTS;
			bool moves = dtype_is_float(t) && !zero && (b.fill != PLAN_ZEROS || other);
			if (off || (moves ? differ < ROWS * COLUMNS / (values == PLAN_MIXED_ZEROS ? 8 : 4) : differ > 0))
				ok(false, "fill %u of %s as values %d: %zu elements are moved, %zu too far", b.fill, dtype_name(t),
				   values, differ, off);
			free(plain);
			free(moved);
		}
	ok(true, "perturbed values stay within the amplitude; integers, zeros and padding stay");
}

static void test_streams(void)
{
	struct plan_buffer b = matrix(DTYPE_F64, 1, 4000, 4000, PLAN_ONES);
	double first[4000], other[4000], sum = 0, square = 0;
	struct fill_choice c = { .seed = 5, .perturbation = 1, .amplitude = 0x1p-10 };
	fill_chosen(&b, &c, first);
	for (int i = 0; i < 4000; i++) {
		double xi = (first[i] - 1) * 0x1p10;
		sum += xi;
		square += xi * xi;
	}
	ok(fabs(sum / 4000) < 0.04 && fabs(square / 4000 - 1.0 / 3) < 0.02, "a perturbation is uniform (%g, %g)", sum / 4000,
	   square / 4000);
	fill_chosen(&b, &c, other);
	ok(memcmp(first, other, sizeof first) == 0, "the same perturbation is the same");
	c.perturbation = 2;
	fill_chosen(&b, &c, other);
	ok(memcmp(first, other, sizeof first) != 0, "another perturbation moves otherwise");
	int moved = 0;
	c.perturbation = 1 | FILL_HALF;
	fill_chosen(&b, &c, other);
	for (int i = 0; i < 4000; i++)
		moved += other[i] != 1;
	ok(moved > 1800 && moved < 2200, "half of the elements move (%d of 4000)", moved);
	c = (struct fill_choice){ .seed = 6, .perturbation = 1, .amplitude = 0x1p-10 };
	fill_chosen(&b, &c, other);
	ok(memcmp(first, other, sizeof first) != 0, "another seed moves otherwise");
	c.seed = 5;
	b.name = (char *)"B";
	fill_chosen(&b, &c, other);
	ok(memcmp(first, other, sizeof first) != 0, "another array moves otherwise");
}

/* A lifted array holds exactly what the array of the narrower type would. */
static void test_rounded(void)
{
	for (int values = 0; values < PLAN_VALUES; values++)
		for (enum plan_fill fill = PLAN_ZEROS; fill <= PLAN_IOTA; fill++) {
			struct plan_buffer wide = matrix(DTYPE_F64, 7, 301, 303, fill),
					   narrow = matrix(DTYPE_F32, 7, 301, 303, fill);
			double *w = mem_new(wide.bytes, 1);
			float *n = mem_new(narrow.bytes, 1);
			int same = 0;
			wide.rounded = DTYPE_F32;
			struct fill_choice c = { .seed = 9, .values = (enum plan_values)values, .immediates = numbers };
			fill_chosen(&wide, &c, w);
			fill_chosen(&narrow, &c, n);
			for (int i = 0; i < 7 * 303; i++)
				same += w[i] == (double)n[i] || (isnan(w[i]) && isnanf(n[i]));
			if (same != 7 * 303)
				ok(false, "fill %u as values %d: only %d elements are those of f32", fill, values, same);
			free(w);
			free(n);
		}
	ok(true, "f64 rounded to f32 has the values of f32");
}

int main(void)
{
	test_perturbed();
	test_streams();
	test_rounded();
	test_few();
	test_numbers();
	test_few_bits();
	test_apart();
	test_labels();
	test_halves();
	test_for_good();
	test_special();
	test_random();
	test_lifted();
	test_narrow();
	test_normal();
	test_counting();
	test_layout();
	test_speed();
	return tap_done();
}

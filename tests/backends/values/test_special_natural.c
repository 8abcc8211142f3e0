/* backends/values/special_natural: values as people have them. */
#include "backends/values/fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/array.h"
#include "base/mem.h"
#include "tap.h"

/* Of PLAN_NATURAL, in all arrays alike; free() */
static void *natural(const struct plan_buffer *b, unsigned form)
{
	void *v = mem_new(b->bytes, 1);
	fill_chosen(b, &(struct fill_choice){ .seed = plan_natural_seed(0, form, true), .values = PLAN_NATURAL }, v);
	return v;
}

static bool is_prose(const char *bytes, size_t n)
{
	bool printed = true;
	for (size_t i = 0; i < n; i++)
		printed &= (bytes[i] >= ' ' && bytes[i] <= '~') || bytes[i] == '\n';
	return printed && memmem(bytes, n, " the ", 5) && memmem(bytes, n, "it; he w", 8) && memchr(bytes, '\n', n);
}

static void test_natural(void)
{
	enum { ROWS = 40, COLUMNS = 400, ALL = ROWS * COLUMNS };
	struct plan_buffer b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_RANDOM), text = array(DTYPE_U8, ROWS, COLUMNS, PLAN_RANDOM);
	b.lo = 0;
	b.hi = 1;
	text.lo = 0;
	text.hi = 256;
	float *v = natural(&b, 0);
	double most = 0, turns = 0;
	for (int i = COLUMNS + 1; i < ALL; i++)
		if (i % COLUMNS > 1) {
			most = fmax(most, fmax(fabs((double)v[i] - v[i - 1]), fabs((double)v[i] - v[i - COLUMNS])));
			turns += (v[i] > v[i - 1]) != (v[i - 1] > v[i - 2]);
		}
	ok(most > 0.01 && most < 0.2 && turns > ALL / 100.0, "neighbours are nearly equal, and rise and fall (%g, %g)", most,
	   turns);
	free(v);
	static const struct {
		unsigned form;
		double times;
		const char *text;
	} grids[] = { { 3, 255, "grey levels" }, { 5, 32768, "sound of 16 bits" }, { 7, 1, "ones among zeros" } };
	for (size_t k = 0; k < MEM_COUNT(grids); k++) {
		int off = 0;
		v = natural(&b, grids[k].form);
		for (int i = 0; i < ALL; i++)
			off += v[i] != (float)(nearbyint(v[i] * grids[k].times) / grids[k].times) || v[i] < 0 || v[i] > 1;
		is_int(off, 0, "%s", grids[k].text);
		free(v);
	}
	char *bytes = natural(&text, 3);
	ok(is_prose(bytes, ALL), "prose has words, ends of lines, and nothing that is not printed");
	free(bytes);
	struct plan_buffer any = array(DTYPE_U8, ROWS, COLUMNS, PLAN_RANDOM), words = array(DTYPE_U32, ROWS, COLUMNS, PLAN_RANDOM);
	any.lo = words.lo = 0;
	any.hi = words.hi = 16;
	bytes = natural(&any, 3);
	ok(is_prose(bytes, ALL), "bytes that may be any, too");
	free(bytes);
	bytes = natural(&words, 3);
	ok(is_prose(bytes, sizeof(uint32_t) * ALL), "and words of four bytes");
	free(bytes);
	words.closed = true;
	words.most = 15;
	uint32_t *closed = natural(&words, 3), over = 0;
	for (int i = 0; i < ALL; i++)
		over += closed[i] > 15;
	is_int(over, 0, "but not where numbers are declared");
	free(closed);
	bytes = natural(&text, 4);
	ok(memmem(bytes, ALL, "\\\"", 2) && memmem(bytes, ALL, "\r\n", 2), "tables have quoted marks");
	free(bytes);
}

/* What most arrays of a network hold: activations behind a rectifier, a mask, and what people count and pay. */
static void test_sparse_masks_and_prices(void)
{
	enum { ROWS = 64, COLUMNS = 64, ALL = ROWS * COLUMNS };
	struct plan_buffer b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_NORMAL), flags = array(DTYPE_I32, ROWS, COLUMNS, PLAN_RANDOM);
	int few = 0, many = 0, negative = 0, above = 0, unlit = 0, holes = 0, off = 0, whole = 0, cents = 0;
	flags.lo = 0;
	flags.hi = 2;
	flags.closed = true;
	flags.least = 0;
	flags.most = 1;
	float *v = natural(&b, PLAN_FORM_RECTIFIED);
	for (int row = 0; row < ROWS; row++) {
		int zeros = 0;
		for (int i = 0; i < COLUMNS; i++) {
			zeros += v[row * COLUMNS + i] == 0;
			negative += v[row * COLUMNS + i] < 0;
		}
		few += zeros > COLUMNS - 4;
		many += zeros < COLUMNS * 3 / 4;
	}
	free(v);
	ok(few > 10 && many > 3 && negative == 0, "rectified rows have few numbers (%d) or many (%d)", few, many);
	for (uint64_t seed = 0; seed < 16; seed++) {
		int32_t mask[ALL];
		int missing = 0;
		uint64_t masked = plan_natural_seed(2 * PLAN_FORMS * seed, PLAN_FORM_MASKED, true);
		fill_chosen(&flags, &(struct fill_choice){ .seed = masked, .values = PLAN_NATURAL }, mask);
		for (int i = 0; i < ALL; i++) {
			int row = i / COLUMNS, column = i % COLUMNS;
			above += column > row && mask[i] != 0;
			unlit += (column == row || column == 0) && mask[i] != 1;
			missing += column < row && mask[i] == 0;
		}
		holes += missing > 0;
	}
	ok(above == 0 && unlit == 0 && holes > 12, "a mask has holes below the diagonal (%d of 16)", holes);
	for (int k = 0; k < 16; k++) {
		char name[] = { (char)('a' + k), 0 };
		int wholes = 0;
		b.name = name;
		v = natural(&b, PLAN_FORM_DECIMAL);
		for (int i = 0; i < ALL; i++) {
			off += v[i] != (float)(nearbyint(v[i] * 100.0) / 100);
			wholes += v[i] == floorf(v[i]);
		}
		whole += wholes == ALL;
		cents += wholes > ALL / 4 && wholes < ALL * 3 / 4;
		free(v);
	}
	ok(off == 0 && whole > 2 && cents > 2 && whole + cents == 16, "arrays hold prices (%d) or pieces (%d)", cents, whole);
}

/* Charges, a mask that is added to scores, and logits of a classifier. */
static void test_signs_masks_and_peaks(void)
{
	enum { ROWS = 64, COLUMNS = 64, ALL = ROWS * COLUMNS };
	struct plan_buffer b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_NORMAL), unit = array(DTYPE_F32, ROWS, COLUMNS, PLAN_RANDOM),
			   labels = array(DTYPE_I32, 1, ROWS, PLAN_RANDOM);
	int off = 0, chess = 0, random = 0, whole = 0, holes = 0, near = 0, peaks = 0, named = 0;
	char name[2] = "a";
	b.name = name;
	unit.lo = 0;
	unit.hi = 1;
	labels.lo = 0;
	labels.hi = COLUMNS;
	for (int k = 0; k < 16; k++) {
		int turns = 0;
		name[0] = (char)('a' + k);
		float *v = natural(&b, PLAN_FORM_SIGNS);
		for (int i = 0; i < ALL; i++) {
			off += fabsf(v[i]) != 1;
			turns += i >= COLUMNS && v[i] == -v[i - COLUMNS];
		}
		chess += turns == ALL - COLUMNS;
		random += turns > ALL / 3 && turns < ALL * 2 / 3;
		free(v);
	}
	ok(off == 0 && chess > 2 && random > 2 && chess + random == 16, "signs like a chessboard (%d) or at random (%d)", chess,
	   random);
	float *v = natural(&unit, PLAN_FORM_SIGNS), *w = natural(&unit, PLAN_FORM_ADDITIVE);
	for (int i = 0; i < ALL; i++)
		off += v[i] < 0 || v[i] >= 1 || w[i] < 0 || w[i] >= 1;
	is_int(off, 0, "a range without signs has none, and no mask");
	free(v);
	free(w);
	v = natural(&b, PLAN_FORM_ADDITIVE);
	for (int row = 0; row < ROWS; row++) {
		int masked = 0;
		for (int i = 0; i < COLUMNS; i++) {
			float x = v[row * COLUMNS + i];
			off += x != 0 && x != -256 && x != -10000;
			masked += x != 0;
		}
		whole += masked == COLUMNS;
		holes += masked < COLUMNS && masked > COLUMNS - 1 - row;
	}
	ok(off == 0 && whole == ROWS / 16 && holes > ROWS / 4, "an added mask has holes (%d), and masks rows as a whole (%d)",
	   holes, whole);
	free(v);
	v = natural(&b, PLAN_FORM_PEAKED);
	int32_t *label = natural(&labels, PLAN_FORM_PEAKED);
	for (int row = 0; row < ROWS; row++) {
		int high = 0;
		for (int i = 0; i < COLUMNS; i++) {
			high += v[row * COLUMNS + i] > 4;
			near += fabsf(v[row * COLUMNS + i]) < 1;
			named += label[row] == i && v[row * COLUMNS + i] > 4;
		}
		peaks += high == 1;
	}
	ok(peaks == ROWS && near > ALL / 2 && named >= ROWS / 4, "one column of each row stands out, and labels name it (%d)",
	   named);
	free(v);
	free(label);
}

/* Structure that a look at some elements suggests, and that others break. */
static void test_structure(void)
{
	enum { SIDE = 64, ALL = SIDE * SIDE };
	struct plan_buffer a = array(DTYPE_F32, SIDE, SIDE, PLAN_NORMAL), b = a, mask = array(DTYPE_I32, SIDE, SIDE, PLAN_RANDOM),
			   knots = array(DTYPE_F32, 1, 300, PLAN_SORTED), ends = array(DTYPE_I32, 1, 300, PLAN_SORTED);
	a.name = (char *)"A";
	b.name = (char *)"B";
	mask.lo = knots.lo = 0;
	mask.hi = 2;
	knots.hi = 1;
	ends.lo = 0;
	ends.hi = 9000;
	float *v = natural(&a, PLAN_FORM_SHARED), *w = natural(&b, PLAN_FORM_SHARED);
	int same = 0, off = 0, outside = 0, above = 0, kept = 0;
	for (int i = 0; i < ALL; i++)
		same += v[i] == w[i];
	ok(same >= ALL / 8 && same <= ALL * 7 / 8, "arrays are the same to begin with (%d of %d)", same, ALL);
	free(v);
	free(w);
	v = natural(&a, PLAN_FORM_NEARLY);
	for (int i = 0; i < ALL; i++)
		off += fabsf(v[i] - v[0]) > fabsf(v[0]) / 64;
	is_int(off, 0, "all numbers are nearly equal");
	free(v);
	v = natural(&a, PLAN_FORM_BAND);
	for (int i = 0; i < ALL; i++)
		outside += abs(i / SIDE - i % SIDE) > 5 && v[i] != 0;
	ok(outside > SIDE / 8 && outside < ALL / 4, "a band is wide in a few rows (%d)", outside);
	free(v);
	int32_t *m = natural(&mask, PLAN_FORM_BLOCKS);
	for (int i = 0; i < ALL; i++) {
		kept += i % SIDE <= i / SIDE && m[i] == 1;
		above += i % SIDE > i / SIDE && m[i] == 1;
	}
	ok(kept == SIDE * (SIDE + 1) / 2 && above > 0 && above < SIDE * (SIDE - 1) / 2,
	   "all below the diagonal is seen, and some above it (%d)", above);
	free(m);
	v = natural(&knots, 0);
	m = natural(&ends, 0);
	for (int i = 1; i < 300; i++)
		off += !(v[i] >= v[i - 1] && m[i] >= m[i - 1] && v[i] < 1);
	ok(off == 0 && m[0] == 0 && m[299] == 8999, "sorted rows ascend, and integers keep their ends (%d)", off);
	free(v);
	free(m);
}

/* Words of which few bits are set, or few are not, eight rows alike. */
static void test_bits(void)
{
	enum { ROWS = 256, COLUMNS = 16 };
	struct plan_buffer b = array(DTYPE_I32, ROWS, COLUMNS, PLAN_RANDOM);
	int32_t *v = mem_resize(NULL, ROWS * COLUMNS, sizeof *v);
	int few = 0, many = 0, outside = 0;
	b.lo = 0;
	b.hi = 65536;
	uint64_t seed = plan_natural_seed(2 * PLAN_FORMS * 5, 5, true); /* the other turn */
	fill_chosen(&b, &(struct fill_choice){ .seed = seed, .values = PLAN_NATURAL }, v);
	for (int row = 0; row < ROWS; row++) {
		int bits = 0;
		for (int i = row * COLUMNS; i < (row + 1) * COLUMNS; i++) {
			bits += __builtin_popcount((unsigned)v[i]);
			outside += v[i] < 0 || v[i] >= 65536;
		}
		few += bits < 16 * COLUMNS * 3 / 8;
		many += bits > 16 * COLUMNS * 9 / 16;
	}
	ok(few > ROWS / 4 && many > ROWS / 4, "words have few bits or many (rows: %d and %d)", few, many);
	is_int(outside, 0, "all are in their range");
	free(v);
}

static void test_mixture(void)
{
	struct plan_buffer b = array(DTYPE_F32, 8, 64, PLAN_NORMAL);
	int kinds[PLAN_VALUES] = { 0 }, different = 0, unlike = 0;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct fill_choice c = { .seed = seed, .values = PLAN_MIXTURE };
		b.name = (char *)"A";
		enum plan_values first = fill_values(&b, &c);
		uint64_t own = fill_seed(&b, &c);
		different += kinds[first]++ == 0;
		b.name = (char *)"B";
		unlike += fill_values(&b, &c) != first && fill_seed(&b, &c) != own;
	}
	ok(different > 8 && unlike > 100 && kinds[PLAN_MIXTURE] == 0, "arrays have %d kinds of values, each its own (%d of 200)",
	   different, unlike);
}

int main(void)
{
	test_structure();
	test_bits();
	test_mixture();
	test_signs_masks_and_peaks();
	test_sparse_masks_and_prices();
	test_natural();
	return tap_done();
}

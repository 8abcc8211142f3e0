/* special_patterns: the floats of special.h whose sizes or order follow the places in a row. */
#include "backends/values/special.h"
#include "backends/values/special_rows.h"

enum {
	FAINTEST = -100, /* of PLAN_FAINT: a power of two whose square f32 does not hold, */
	FAINTER = -80,   /* nor this one's */
	LOST = -40,      /* of PLAN_SEGMENTS: a power of two below what code takes for zero, whose cube f32 still holds; */
	SMALLER = -8,    /* in a closed domain, whose range says how exact a sum along a row must be */
	GREAT = 34,      /* of a quarter of its rows, in an open domain: beyond what integers hold; */
	LOUDER = 4,      /* of parts of another quarter: exponentials of such differences are small, but not zero */
	SEGMENT = 64,    /* elements of one scale, at least, where a row has more than two parts */
	PERIODS = 8,     /* of PLAN_PATTERNS, powers of two */
	WIDER = 1024,    /* a domain, than declared values */
	BAND = 8,        /* rows that have their zeros alike, at least, */
	BANDS = 5,       /* and doublings of it */
};

static double faint(const struct stream *s, uint64_t i, double v)
{
	uint64_t drawn = group_of(s, i / row_length(s)) + (s->key >> 8);
	bool kept = !(drawn & 2) || salted(s, HOLE, i / HOLES) % HOLES == i % HOLES || !is_inside(s->buffer, 0);
	double x = kept ? v * power(drawn & 1 ? FAINTER : FAINTEST) : 0;
	return is_inside(s->buffer, x) ? x : v;
}

static double in_segment(const struct stream *s, uint64_t i, double v)
{
	const struct plan_buffer *b = s->buffer;
	uint64_t column = i % s->columns, group = group_of(s, i / s->columns), drawn = salted(s, PLACE, group), parts = 2;
	for (unsigned k = 0; k < (drawn & 3) && s->columns >= 2 * parts * SEGMENT; k++)
		parts *= 2;
	bool ended = plan_has_ends(b), small = (column * parts / s->columns + (drawn >> 8)) & 1;
	uint64_t turn = (group + (s->key >> 8)) % 4;
	int size = 0, less = ended ? SMALLER : LOST;
	if (!ended && turn == 1)
		size = GREAT;
	if (!ended && turn == 3) {
		size = LOUDER;
		less = -LOUDER;
	}
	double x = v * power(size + (small ? less : 0));
	return is_inside(b, x) ? x : v;
}

/* Whether element i is high where one block of neighbours of each matrix stands out, as a bright spot of an image or a dark one. */
static bool in_block(const struct stream *s, uint64_t i)
{
	uint64_t height = matrix_rows(s), row = i / s->columns, y = row % height, x = i % s->columns;
	uint64_t drawn = salted(s, TIE, row / height), wide = UINT64_C(2) << (drawn & 3), high = UINT64_C(2) << (drawn >> 2 & 3);
	while (wide > 2 && 2 * wide > s->columns)
		wide /= 2;
	while (high > 2 && 2 * high > height)
		high /= 2;
	bool inside = x / wide == (drawn >> 8) % s->columns / wide && y / high == (drawn >> 32) % height / high;
	return inside != (drawn >> 62 == 0);
}

/* Whether element i is high where a diagonal of each matrix stands out, or parallel ones that are some way apart. */
static bool in_diagonal(const struct stream *s, uint64_t i)
{
	uint64_t height = matrix_rows(s), row = i / s->columns, y = row % height, x = i % s->columns;
	uint64_t drawn = salted(s, TIE, ~(row / height)), all = height + s->columns, at = (drawn >> 8) % all,
		 period = drawn & 1 ? all : UINT64_C(8) << (drawn >> 2 & 3), turn = drawn & 16 ? x + y : x + height - y;
	return (turn % period == at % period) != (drawn >> 63);
}

/* Whether a column is high where those stand out that share most bits of their number, as the elements of one thread do:
 * neighbours, and neighbours of these that are a power of two apart. */
static bool in_share(const struct stream *s, uint64_t row, uint64_t column)
{
	uint64_t drawn = salted(s, TIE, row), at = salted(s, PLACE, row) % s->columns, bits = 1, near, free;
	while (bits < 32 && UINT64_C(1) << bits < s->columns)
		bits++;
	near = drawn % (bits < 4 ? bits : 4);
	free = (UINT64_C(1) << near) - 1;
	for (uint64_t k = drawn >> 8 & 3; k > 1; k--)
		free |= UINT64_C(1) << (near + (drawn >> 8 * k) % (bits - near));
	return (((column ^ at) & ~free) == 0) != (drawn >> 62 == 0);
}

/* Whether an element is at the upper end: a row's elements are alike, or a comb or a block of columns differs. One element is never
 * as the pattern is: where all outputs are far below the numbers that they are made of, doubles tell no truth. */
static bool is_high(const struct stream *s, uint64_t i)
{
	uint64_t row = i / s->columns, column = i % s->columns, drawn = salted(s, ORDER, row), most = 1, period;
	bool other = i == salted(s, HOLE, 0) % (s->rows * s->columns);
	if (special_takes(s))
		return other != (salted(s, CONSTANT, 0) & 1);
	if (s->seed % PLAN_SEEDS == PLAN_SEED_BLOCKS && s->buffer->rank > 1)
		return other != (salted(s, NEAR, ~UINT64_C(0)) & 1 ? in_block(s, i) : in_diagonal(s, i));
	if (s->seed % PLAN_SEEDS == PLAN_SEED_SHARES)
		return other != in_share(s, row, column);
	while (most < PERIODS && UINT64_C(8) << most <= s->columns)
		most++;
	period = drawn & 3 ? UINT64_C(1) << (drawn >> 16) % (most + 1) : 2 + (drawn >> 16) % 15;
	bool high = drawn & 4, differs;
	uint64_t place = salted(s, PLACE, row), at = drawn & 64 ? landmark(place, s->columns) : place % s->columns;
	switch (drawn >> 3 & 3) {
	case 0: differs = drawn & 32 && 2 * column < s->columns; break;
	case 1: differs = drawn & 64 ? column == at : column / period == at / period; break;
	default: differs = column % period == at % period;
	}
	return other != (differs == high);
}

/* Whether element i is zero where every other row or column is, or every other field of a chessboard, in bands of rows. Code that
 * skips empty tiles may look at some of their elements only. */
static bool in_gap(const struct stream *s, uint64_t i)
{
	uint64_t height = matrix_rows(s), row = i / s->columns, x = i % s->columns, y = row % height;
	uint64_t band = BAND << salted(s, ORDER, ~UINT64_C(0)) % BANDS, drawn = salted(s, ORDER, row / height << 32 | y / band);
	uint64_t turn = drawn % 3 == 0 && height > 1 ? y : drawn % 3 == 1 && height > 1 ? x + y : x;
	return (turn & 1) == (drawn >> 8 & 1);
}

/* The ends of a closed domain, unless they are far beyond the declared values. */
static void ends_of(const struct plan_buffer *b, double *ret_low, double *ret_high)
{
	double low = low_of(b), high = low + width_of(b), far = WIDER * (fabs(low) > fabs(high) ? fabs(low) : fabs(high));
	*ret_low = b->closed && b->least >= -far ? b->least : low;
	*ret_high = b->closed && b->most <= far ? b->most : high;
}

/* Near the ends, and never twice the same: sums of equal numbers round alike. */
static double in_pattern(const struct stream *s, uint64_t i, double v)
{
	const struct plan_buffer *b = s->buffer;
	double low, high, unit = stream_unit(salted(s, AGAIN, i)) / 64;
	if (s->seed % PLAN_SEEDS == PLAN_SEED_ZEROS && !special_takes(s) && is_inside(b, 0))
		return in_gap(s, i) ? 0 : v;
	ends_of(b, &low, &high);
	double x = is_high(s, i) ? high - (high - low) * unit : low + (high - low) * unit;
	return is_inside(b, x) ? x : v;
}

double special_pattern(const struct stream *s, enum plan_values values, uint64_t i, double v)
{
	switch (values) {
	case PLAN_FAINT: return faint(s, i, v);
	case PLAN_SEGMENTS: return in_segment(s, i, v);
	default: return in_pattern(s, i, v);
	}
}

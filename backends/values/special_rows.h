/* special_rows: what special.c and special_integers.c share: the numbers behind the kinds of values, and which rows are chosen,
 * equal or at an end. Also part of the judge's CUDA code. */
#ifndef PEAKD_BACKENDS_VALUES_SPECIAL_ROWS_H
#define PEAKD_BACKENDS_VALUES_SPECIAL_ROWS_H

#include <math.h>
#include <string.h>

#include "backends/values/stream.h"

enum {
	RUN = 128,           /* what counts as a row where there is only one, at least; else its halves */
	TILE = 128,          /* elements with one special value among them, at least */
	TILES_MAX = 64,      /* so that a matrix keeps rows and columns without any */
	TILE_MIN = 32,       /* smaller arrays get none: it would reach every output */
	LARGE_ELEMENTS = 16, /* of PLAN_SPARSE */
	EXTREME = 50,        /* of PLAN_EXTREME: a power of two whose square f32 still holds */
	HUGE_ROWS = 100,     /* of PLAN_HUGE: one whose square it does not hold, */
	HUGE_HALVES = 8,     /* nor f16 this one's */
	STRETCH = 64,        /* elements of PLAN_FEW that are drawn in one way */
	FEW = 4,             /* numbers of PLAN_FEW in sorted arrays, and one more beside each */
	STEPS = 8,           /* of PLAN_COINCIDING, between the ends of a range */
	LADDERS = 4,         /* parts of PLAN_CHAINS, each with a start of its own */
	SHORT = 8,           /* columns of PLAN_CHAINS that count from row to row */
	PERIOD = 24,         /* of PLAN_ENDS, at most */
	RARE = 32,           /* of so many elements one breaks the period */
	BLOCK_ROWS = 4,      /* of PLAN_RUNS, where there are four times as many: windows span several rows */
	HOLES = 8,           /* elements of PLAN_MIXED_ZEROS of which not all are zero, but in rows of zeros */
	SCALED = 16,         /* rows of PLAN_SMALL that have one scale */
	LEVELS = 4,          /* of PLAN_IMMEDIATE_ROWS for each number */
	FAINT = -56,         /* of PLAN_IMMEDIATE_ROWS: powers of two whose squares f32 still holds, where small ones are zero */
	LOUD = 60,
	MANTISSA = 53, /* bits of a double, which integers of PLAN_NEGATIVE are drawn as */
	FIXED = -10,   /* what fixed point in a closed domain holds: not all rows are smaller */
};

/* One number for each use of the same index, so that choices are independent. */
enum salt { ZERO = 1, CONSTANT, TIE, MAGNITUDE, SIGN, PLACE, AGAIN, NEAR, ORDER, HOLE };

static inline uint64_t salted(const struct stream *s, enum salt salt, uint64_t i)
{
	return stream_random(stream_mix(s->key + salt), i);
}

/* --- ranges ------------------------------------------------------------------------------------------------------- */

static inline bool is_inside(const struct plan_buffer *b, double v)
{
	return !b->closed || (v >= b->least && v <= b->most);
}

/* The ends between which timed values lie, or nearly all of them. */
static inline double low_of(const struct plan_buffer *b)
{
	return b->fill == PLAN_NORMAL ? -2 : b->lo;
}

static inline double width_of(const struct plan_buffer *b)
{
	return b->fill == PLAN_NORMAL ? 4 : b->hi - b->lo;
}

/* --- places ------------------------------------------------------------------------------------------------------- */

/* A place of n where code that splits them in parts may lose one: at the end of a half, a third, an eighth, or beside it. */
static inline uint64_t landmark(uint64_t drawn, uint64_t n)
{
	uint64_t parts = 2 + drawn % 7, part = (drawn >> 8) % (parts + 1);
	return (n * part / parts + 2 * n + (drawn >> 16) % 4 - 2) % n;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static inline double power(int exponent)
{
	uint64_t bits = (uint64_t)(exponent + 1023) << 52;
	double v;
	memcpy(&v, &bits, sizeof v);
	return v;
}

/* Rows of each matrix of the buffer. */
static inline uint64_t matrix_rows(const struct stream *s)
{
	const struct plan_buffer *b = s->buffer;
	return b->rank > 1 ? (uint64_t)b->dims[b->rank - 2] : 1;
}

/* Columns of what counts as a row, and their number. */
static inline uint64_t row_length(const struct stream *s)
{
	return s->rows > 1 ? s->columns : s->columns >= 2 * RUN ? s->columns / 2 : RUN;
}

static inline uint64_t row_count(const struct stream *s)
{
	return s->rows > 1 ? s->rows : s->columns / row_length(s);
}

/* Rows that differ in scale take turns in groups, where there are enough: neighbours' results share their bounds. */
static inline uint64_t group_of(const struct stream *s, uint64_t row)
{
	return s->rows < 2 * SCALED ? row : row / SCALED;
}

/* One row of each four, or of all when there are fewer; never the only one. */
static inline bool is_chosen(const struct stream *s, enum salt salt, uint64_t row)
{
	uint64_t count = row_count(s), group = count < 4 ? count : 4;
	return count > 1 && salted(s, salt, row / group) % group == row % group;
}

/* The element that stands at i of PLAN_TIES where rows are equal. */
static inline uint64_t in_equal_row(const struct stream *s, uint64_t i)
{
	uint64_t length = row_length(s), row = i / length;
	bool equal = s->buffer->fill != PLAN_SORTED && (row | 1) < row_count(s) && salted(s, TIE, row / 2) & 1;
	return equal && row & 1 ? i - length : i;
}

/* Sorted rows of which one segment has everything: all elements are the first or the last one. The only row is one or not by
 * chance. */
static inline uint64_t at_an_end(const struct stream *s, uint64_t i)
{
	uint64_t row = i / s->columns, column = i % s->columns, last = s->columns - 1,
		 cut = last ? 1 + salted(s, PLACE, row) % last : 1;
	bool chosen = s->rows > 1 ? is_chosen(s, CONSTANT, row) : salted(s, CONSTANT, 0) & 1;
	return !chosen ? i : row * s->columns + (column < cut ? 0 : s->columns - 1);
}

/* Which declared element stands at i of PLAN_TIES. */
static inline uint64_t tied(const struct stream *s, uint64_t i)
{
	bool sorted = s->buffer->fill == PLAN_SORTED;
	uint64_t end = sorted ? at_an_end(s, i) : i;
	if (end != i)
		return end;
	uint64_t from = in_equal_row(s, i), length = row_length(s), row = from / length, column = from % length;
	/* The last column stays, as sorted rows end with a certain value. */
	if (!sorted && is_chosen(s, CONSTANT, row))
		column = 0;
	else if (salted(s, NEAR, row) & 1 && (i + 1) % s->columns)
		column &= ~UINT64_C(1);
	return row * length + column;
}

#endif

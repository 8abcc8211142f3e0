/* special: see special.h. */
#include "backends/values/special.h"

#include <math.h>
#include <string.h>

enum {
	RUN = 128,           /* what counts as a row where there is only one, at least; else its halves */
	TILE = 128,          /* elements with one special value among them, at least */
	TILES_MAX = 64,      /* so that a matrix keeps rows and columns without any */
	TILE_MIN = 32,       /* smaller arrays get none: it would reach every output */
	LARGE_ELEMENTS = 16, /* of PLAN_SPARSE */
	EXTREME = 50,        /* of PLAN_EXTREME: a power of two whose square f32 still holds */
	HUGE_ROWS = 100,     /* of PLAN_HUGE: one whose square it does not hold */
	STRETCH = 64,        /* elements of PLAN_FEW that are drawn in one way */
	FEW = 4,             /* numbers of PLAN_FEW in sorted arrays, and one more beside each */
	STEPS = 8,           /* of PLAN_COINCIDING, between the ends of a range */
	LADDERS = 4,         /* parts of PLAN_CHAINS, each with a start of its own */
	BLOCK_ROWS = 4,      /* of PLAN_MASKED, where there are four times as many: windows span several rows */
	SHORT = 8,           /* columns of PLAN_CHAINS that count from row to row */
	PERIOD = 24,         /* of PLAN_ENDS, at most */
	RARE = 32,           /* of so many elements one breaks the period */
	SCALED = 16,         /* rows of PLAN_SMALL that have one scale */
};

/* One number for each use of the same index, so that choices are independent. */
enum salt { ZERO = 1, CONSTANT, TIE, MAGNITUDE, SIGN, PLACE, AGAIN, NEAR, ORDER, HOLE, MASK };

static inline uint64_t salted(const struct stream *s, enum salt salt, uint64_t i)
{
	return stream_random(stream_mix(s->key + salt), i);
}

/* The ranges of magnitudes that a type holds, and that sums of thousands of products leave inside it. Powers of two. */
static const struct reach {
	int least, most; /* of PLAN_WIDE */
	int large;       /* of PLAN_SPARSE */
	int huge;        /* of PLAN_SPECIAL_HIGH and PLAN_SPECIAL_LOW */
	double offset;   /* of PLAN_OFFSET */
} reaches[DTYPE_COUNT] = {
	/* clang-format off */
	/* In the order of enum dtype, first eight kinds of integers: the judge's CUDA kernels are C++, which names no elements. */
	{ 0, 0, 0, 0, 0 },
	{ 0, 0, 0, 0, 0 },
	{ 0, 0, 0, 0, 0 },
	{ 0, 0, 0, 0, 0 },
	{ 0, 0, 0, 0, 0 },
	{ 0, 0, 0, 0, 0 },
	{ 0, 0, 0, 0, 0 },
	{ 0, 0, 0, 0, 0 },
	{ -14, 5, 5, 9, 4 },        /* f16 */
	{ -20, 20, 10, 70, 8 },     /* bf16 */
	{ -20, 20, 10, 70, 1024 },  /* f32 */
	{ -20, 20, 10, 520, 1024 }, /* f64 */
	{ -6, 3, 3, 5, 2 },         /* e4m3 */
	{ -14, 3, 3, 9, 2 },        /* e5m2 */
	/* clang-format on */
};

static double power(int exponent)
{
	uint64_t bits = (uint64_t)(exponent + 1023) << 52;
	double v;
	memcpy(&v, &bits, sizeof v);
	return v;
}

static bool is_inside(const struct plan_buffer *b, double v)
{
	return !b->closed || (v >= b->least && v <= b->most);
}

/* The ends between which timed values lie, or nearly all of them. */
static double low_of(const struct plan_buffer *b)
{
	return b->fill == PLAN_NORMAL ? -2 : b->lo;
}

static double width_of(const struct plan_buffer *b)
{
	return b->fill == PLAN_NORMAL ? 4 : b->hi - b->lo;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Columns of what counts as a row, and their number. */
static uint64_t row_length(const struct stream *s)
{
	return s->rows > 1 ? s->columns : s->columns >= 2 * RUN ? s->columns / 2 : RUN;
}

static uint64_t row_count(const struct stream *s)
{
	return s->rows > 1 ? s->rows : s->columns / row_length(s);
}

/* Whether an element of PLAN_SMALL is the smaller kind. Results of neighbouring rows share their bounds, so rows take turns in
 * groups, where there are enough. The halves of the only row of a sorted array would not ascend. */
static bool is_smaller(const struct stream *s, uint64_t i)
{
	uint64_t row = i / row_length(s), group = row_count(s) < 2 * SCALED ? row : row / SCALED;
	return (group & 1) || (s->buffer->fill == PLAN_SORTED && s->rows == 1);
}

/* One row of each four, or of all when there are fewer; never the only one. */
static bool is_chosen(const struct stream *s, enum salt salt, uint64_t row)
{
	uint64_t count = row_count(s), group = count < 4 ? count : 4;
	return count > 1 && salted(s, salt, row / group) % group == row % group;
}

/* The element that stands at i of PLAN_TIES where rows are equal. */
static uint64_t in_equal_row(const struct stream *s, uint64_t i)
{
	uint64_t length = row_length(s), row = i / length;
	bool equal = s->buffer->fill != PLAN_SORTED && (row | 1) < row_count(s) && salted(s, TIE, row / 2) & 1;
	return equal && row & 1 ? i - length : i;
}

/* Sorted rows of which one segment has everything: all elements are the first or the last one. The only row is one or not by
 * chance. */
static uint64_t at_an_end(const struct stream *s, uint64_t i)
{
	uint64_t row = i / s->columns, column = i % s->columns, cut = 1 + salted(s, PLACE, row) % s->columns;
	bool chosen = s->rows > 1 ? is_chosen(s, CONSTANT, row) : salted(s, CONSTANT, 0) & 1;
	return !chosen ? i : row * s->columns + (column < cut ? 0 : s->columns - 1);
}

/* Which declared element stands at i of PLAN_TIES. */
static uint64_t tied(const struct stream *s, uint64_t i)
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

/* Whether i stands in a row of PLAN_TIES or PLAN_NEAR_TIES that ascends or descends, and the value there. It has one sign: where a
 * row in order crossed zero, its partial sums would be far larger than their end, and no bound of a sum knows that. */
static bool in_order(const struct stream *s, enum plan_values values, uint64_t i, double *ret_value)
{
	const struct plan_buffer *b = s->buffer;
	uint64_t from = in_equal_row(s, i), length = row_length(s), row = from / length, column = from % length;
	double lo = low_of(b), width = width_of(b);
	if ((b->fill != PLAN_RANDOM && b->fill != PLAN_NORMAL) || is_chosen(s, CONSTANT, row) || !is_chosen(s, ORDER, row))
		return false;
	uint64_t drawn = salted(s, ORDER, ~row);
	if (lo < 0 && lo + width > 0) {
		width = drawn & 2 ? lo + width : -lo;
		lo = drawn & 2 ? 0 : lo;
	}
	/* A look at some elements does not tell one such pair from order. */
	uint64_t swapped = salted(s, PLACE, ~row) % length;
	if (values == PLAN_NEAR_TIES && drawn & 4 && column / 2 == swapped / 2 && (column | 1) < length)
		column ^= 1;
	/* The elements of rows that are equal are drawn alike; others differ from row to row. */
	double at = ((double)(int64_t)column + stream_unit(salted(s, AGAIN, from))) / (double)(int64_t)length;
	*ret_value = lo + width * (drawn & 1 ? at : 1 - at);
	if (!dtype_is_float(b->type))
		*ret_value = __builtin_floor(*ret_value);
	return is_inside(b, *ret_value);
}

/* --- single values ------------------------------------------------------------------------------------------------ */

static uint64_t tile_length(uint64_t count)
{
	uint64_t tile = (count + TILES_MAX - 1) / TILES_MAX;
	return tile < TILE ? TILE : tile;
}

/* Special value k of this type and domain; each kind comes before any comes again. */
static double special(const struct stream *s, uint64_t k)
{
	const struct plan_buffer *b = s->buffer;
	double normal = dtype_smallest_normal(b->type);
	const double open[] = { 0, -0.0, normal / 4, -normal / 2, normal, INFINITY, -INFINITY, NAN },
		     closed[] = { b->least, b->most, 0, -0.0, normal / 4, -normal / 2, normal };
	size_t count = b->closed ? sizeof closed / sizeof *closed : sizeof open / sizeof *open;
	uint64_t from = s->key % count;
	for (uint64_t tries = 0; tries < count; tries++) {
		double v = b->closed ? closed[(k + from + tries) % count] : open[(k + from + tries) % count];
		if (!b->closed || (isfinite(v) && is_inside(b, v)))
			return v;
	}
	double v;
	stream_declared(s, k, &v, 1); /* nothing special is inside: another declared value */
	return v;
}

/* A magnitude of PLAN_WIDE; rows with an odd number have one in common, others have one for each element. */
static double wide(const struct stream *s, uint64_t i, double declared)
{
	const struct plan_buffer *b = s->buffer;
	const struct reach *reach = &reaches[b->type];
	bool positive = b->fill != PLAN_NORMAL && b->lo >= 0;
	uint64_t row = i / row_length(s), of = row & 1 ? s->columns * s->rows + row : i;
	int least = reach->least, most = reach->most;
	if (b->closed && b->least > 0 && ilogb(b->least) > least)
		least = ilogb(b->least);
	if (b->closed && b->most > 0 && b->most < power(most))
		most = ilogb(b->most);
	if (least > most)
		return declared;
	double v = power(least + (int)(salted(s, MAGNITUDE, of) % (uint64_t)(most - least + 1)));
	v *= 1 + (double)(salted(s, AGAIN, i) >> 41) * 0x1p-23;
	if (b->closed ? b->most <= 0 || (b->least < 0 && salted(s, SIGN, i) & 1) : !positive && salted(s, SIGN, i) & 1)
		v = -v;
	return is_inside(b, v) ? v : declared;
}

/* Ascends with the declared value; over the same magnitudes. */
static double wide_sorted(const struct stream *s, double declared)
{
	const struct reach *reach = &reaches[s->buffer->type];
	double t = s->width > 0 ? (declared - s->lo) / s->width : 0, sign = 1;
	if (s->buffer->lo < 0) {
		t = 2 * t - 1;
		sign = t < 0 ? -1 : 1;
		t *= sign;
	}
	double exponent = reach->least + t * (reach->most - reach->least), whole = __builtin_floor(exponent);
	return sign * (1 + exponent - whole) * power((int)whole);
}

/* One of 2^bits integers, or a declared value where the domain does not hold them. */
static double exact(const struct stream *s, uint64_t i, unsigned bits, double declared)
{
	const struct plan_buffer *b = s->buffer;
	double v = (double)(int64_t)(stream_mix(stream_random(s->key, i)) >> (64 - bits)), most = power((int)bits) - 1;
	if (b->fill == PLAN_SORTED)
		v = s->width > 0 ? __builtin_floor((declared - s->lo) / s->width * most) : 0;
	double first;
	bool has_sign = b->fill == PLAN_NORMAL || (b->fill == PLAN_RANDOM && b->lo < 0);
	if (!plan_integers(b, 1 << bits, &first))
		return declared;
	/* Sums of positive numbers grow, which tells narrow accumulators; signs tell what truncates. */
	if (has_sign && is_chosen(s, SIGN, i / row_length(s)) && is_inside(b, v - power((int)bits - 1)))
		first = -power((int)bits - 1);
	return first + v;
}

static void sparse(const struct stream *s, uint64_t first, double *v, size_t n)
{
	const struct plan_buffer *b = s->buffer;
	uint64_t count = s->rows * s->columns, limit = count > LARGE_ELEMENTS ? UINT64_MAX / count * LARGE_ELEMENTS : UINT64_MAX;
	struct stream other = *s;
	other.key = stream_mix(s->key + AGAIN);
	for (size_t i = 0; i < n; i++) {
		if (salted(s, PLACE, first + i) > limit)
			continue;
		double large = v[i] * power(reaches[b->type].large);
		if (dtype_is_float(b->type) && is_inside(b, large))
			v[i] = large;
		else
			stream_declared(&other, first + i, &v[i], 1);
	}
}

static void special_places(const struct stream *s, uint64_t first, double *v, size_t n)
{
	uint64_t count = s->rows * s->columns, tile = tile_length(count);
	bool whole = !dtype_is_float(s->buffer->type);
	if (count < TILE_MIN)
		return;
	for (uint64_t k = first / tile; k * tile < first + n; k++) {
		/* Which element of tile k is special. */
		uint64_t begin = k * tile, len = count - begin < tile ? count - begin : tile;
		uint64_t at = begin + salted(s, PLACE, k) % len;
		if (at >= first && at < first + n)
			v[at - first] = !whole ? special(s, k) : k & 1 ? s->buffer->most : s->buffer->least;
	}
}

static double other_constant(const struct stream *s, uint64_t i, double declared)
{
	const struct plan_buffer *b = s->buffer;
	if (b->fill == PLAN_IOTA) {
		uint64_t x = stream_permuted(s->key, s->rows * s->columns, i), period = (uint64_t)stream_period(b->type);
		return (double)(x % period);
	}
	uint64_t x = salted(s, AGAIN, i);
	double v = dtype_is_float(b->type) ? declared + stream_unit(x) - 0.5 : (double)(x >> 63);
	v = is_inside(b, v) ? v : 2 * declared - v; /* the other side may be inside */
	return is_inside(b, v) ? v : declared;
}

/* A value of PLAN_HIGH_END or PLAN_LOW_END. Floats lie close together, open ones around a number that is drawn anew. */
static double at_end(const struct stream *s, bool high, uint64_t i, double declared)
{
	const struct plan_buffer *b = s->buffer;
	double unit = stream_unit(salted(s, AGAIN, i)) / 64, low = low_of(b), width = width_of(b);
	unsigned bits = (unsigned)(8 * dtype_size(b->type));
	bool is_signed = dtype_is_signed(b->type);
	if (salted(s, PLACE, i) % 64 == 0)
		return declared;
	if (!dtype_is_float(b->type)) {
		/* Doubles do not hold the ends of 64 bits. */
		double whole = bits == 64 ? 0x1p62 : power((int)bits - is_signed) - 1;
		double least = b->closed && isfinite(b->least) ? b->least : is_signed ? -whole - 1 : 0;
		double most = b->closed && isfinite(b->most) && b->most < whole ? b->most : whole;
		return high ? most : least;
	}
	double v = high ? low + width * (1 - unit) : low + width * unit, moved = v * (1 + stream_unit(salted(s, SIGN, 0)));
	if (!b->closed)
		return moved;
	return is_inside(b, v) ? v : declared;
}

/* A value of PLAN_COINCIDING; sorted ones ascend with the declared one. */
static double on_grid(const struct stream *s, uint64_t i, double declared)
{
	const struct plan_buffer *b = s->buffer;
	double low = low_of(b), width = width_of(b), step = (double)(int64_t)(salted(s, AGAIN, i) % (STEPS + 1));
	if (b->fill == PLAN_SORTED)
		step = width > 0 ? __builtin_floor((declared - low) / width * (STEPS + 1)) : 0;
	double v = low + width * (step > STEPS ? STEPS : step) / STEPS;
	return is_inside(b, v) ? v : declared;
}

/* A value of PLAN_HALVES. One of four is a prime or 1 over a power of two, so that x, 8x and 10x are often integers or halves. No
 * number is a multiple of 3 or 7: x/3 is never a half, which rounding would decide. The others have eleven bits. */
static double few_bits(const struct stream *s, uint64_t i, double declared)
{
	static const unsigned char primes[] = { 1, 1, 1, 17, 19, 23, 29, 31 };
	const struct plan_buffer *b = s->buffer;
	uint64_t drawn = salted(s, AGAIN, i), odd = drawn >> 8 & 2047;
	bool has_sign = b->fill == PLAN_NORMAL || b->lo < 0;
	while (odd % 2 == 0 || odd % 3 == 0 || odd % 7 == 0)
		odd++;
	double v = drawn & 3 ? (double)(int64_t)odd * 0x1p-9 : primes[drawn >> 8 & 7] * power(-(int)(drawn >> 16 & 7));
	if (has_sign && drawn & 4)
		v = -v;
	for (int k = 0; k < 16 && !is_inside(b, v); k++)
		v /= 2;
	return is_inside(b, v) ? v : declared;
}

/* A value of PLAN_HOLES. Nearly all, half or one eighth of a row is not zero. */
static double with_holes(const struct stream *s, uint64_t i, double declared)
{
	const struct plan_buffer *b = s->buffer;
	uint64_t row = i / row_length(s), count = s->rows * s->columns, eighths = 1 + 3 * (salted(s, ZERO, row) % 3);
	uint64_t drawn = row & 1 ? stream_random(stream_mix(s->seed + HOLE), i) : salted(s, HOLE, i);
	double range = b->most - b->least + 1;
	if (!dtype_is_float(b->type) && b->closed && range <= (double)(int64_t)count)
		return b->least + __builtin_floor((double)(int64_t)((i + s->key % count) % count) * range / (double)(int64_t)count);
	return drawn % 8 >= eighths && is_inside(b, 0) ? 0 : declared;
}

/* A value of PLAN_ALONE. */
static double lowest(const struct plan_buffer *b)
{
	bool whole = !dtype_is_float(b->type) && b->closed && isfinite(b->least);
	return !whole && is_inside(b, 0) ? 0 : b->closed && (whole || b->least > 0) ? b->least : b->most;
}

/* A value of PLAN_MASKED, in rows of four kinds: infinite, with infinite runs, infinite up to some column or from it on, as declared.
 * Positive infinities have rows of their own. */
static double masked(const struct stream *s, uint64_t i, double declared)
{
	uint64_t length = row_length(s), row = i / length, column = i % length;
	uint64_t group = row_count(s) >= 4 * BLOCK_ROWS ? row / BLOCK_ROWS : row, drawn = salted(s, MASK, row);
	double infinity = group % 8 < 4 ? -INFINITY : INFINITY;
	bool infinite = false;
	switch ((group + (s->key >> 8)) % 4) {
	case 0: infinite = true; break;
	case 1: infinite = salted(s, HOLE, i >> (drawn & 3)) & 1; break;
	case 2: infinite = (column < (drawn >> 8) % length) == (drawn & 1); break;
	}
	return infinite ? infinity : declared;
}

/* What stands for an infinity or a NaN of PLAN_SPECIAL; i: where. */
static double huge_in_place(const struct stream *s, enum plan_values values, uint64_t i, double v)
{
	if (values == PLAN_SPECIAL_NUMBERS && isnan(v))
		stream_declared(s, i, &v, 1);
	if (values == PLAN_SPECIAL_NUMBERS)
		return v;
	double huge = power(reaches[s->buffer->type].huge);
	if (isnan(v))
		return values == PLAN_SPECIAL_LOW ? -huge : huge;
	return isinf(v) ? copysign(huge, v) : v;
}

/* --- all kinds ---------------------------------------------------------------------------------------------------- */

void special_values(const struct stream *s, enum plan_values values, uint64_t first, double *v, size_t n)
{
	const struct plan_buffer *b = s->buffer;
	const struct reach *reach = &reaches[b->type];
	double offset = reach->offset *
			(1 + stream_unit(values == PLAN_FAR ? stream_random(stream_mix(s->seed + SIGN), 0) : salted(s, SIGN, 0)));
	if (b->fill == PLAN_PROBABILITIES) {
		stream_probabilities(s, first,
				     values == PLAN_WIDE    ? STREAM_WIDE
				     : values == PLAN_HOLES ? STREAM_POINTED
							    : STREAM_HOLES,
				     v, n);
		return;
	}
	if (values < PLAN_WIDE) /* as they were when these kinds were the only ones */
		stream_values(s, first, v, n);
	else if (values != PLAN_TIES && values != PLAN_NEAR_TIES)
		stream_declared(s, first, v, n);
	switch (values) {
	case PLAN_EXACT:
	case PLAN_EXACT_SMALL:
		for (size_t i = 0; i < n; i++)
			v[i] = exact(s, first + i, values == PLAN_EXACT ? 4 : 2, v[i]);
		break;
	case PLAN_OFFSET:
	case PLAN_FAR:
		for (size_t i = 0; i < n; i++)
			v[i] += is_inside(b, v[i] + offset) ? offset : 0;
		break;
	case PLAN_WIDE:
		for (size_t i = 0; i < n; i++)
			v[i] = b->fill == PLAN_SORTED ? wide_sorted(s, v[i]) : wide(s, first + i, v[i]);
		break;
	case PLAN_SPECIAL: special_places(s, first, v, n); break;
	case PLAN_SPECIAL_HIGH:
	case PLAN_SPECIAL_LOW:
	case PLAN_SPECIAL_NUMBERS:
		special_places(s, first, v, n);
		for (size_t i = 0; i < n; i++)
			v[i] = huge_in_place(s, values, first + i, v[i]);
		break;
	case PLAN_SPARSE: sparse(s, first, v, n); break;
	case PLAN_ZERO_ROWS:
		for (size_t i = 0; i < n; i++)
			v[i] = is_chosen(s, ZERO, (first + i) / row_length(s)) ? 0 : v[i];
		break;
	case PLAN_INFINITE_ROWS:
	case PLAN_FINITE_ROWS:
		for (size_t i = 0; i < n; i++) {
			uint64_t row = (first + i) / row_length(s);
			double large = values == PLAN_INFINITE_ROWS ? INFINITY : power(reach->huge);
			if (is_chosen(s, ZERO, row))
				v[i] = salted(s, SIGN, row) & 1 ? large : -large;
		}
		break;
	case PLAN_TIES:
	case PLAN_NEAR_TIES:
		for (size_t i = 0; i < n; i++)
			if (!in_order(s, values, first + i, &v[i]))
				stream_declared(s, tied(s, first + i), &v[i], 1);
		break;
	case PLAN_LARGER:
	case PLAN_SMALLER:
	case PLAN_EXTREME:
	case PLAN_HUGE:
	case PLAN_TINY:
	case PLAN_SMALL:
		for (size_t i = 0; i < n; i++) {
			bool odd = values == PLAN_SMALL ? is_smaller(s, first + i) : (first + i) / row_length(s) & 1;
			double x = v[i] * power(values == PLAN_LARGER           ? reach->most < 5 ? reach->most : 5
						: values == PLAN_EXTREME        ? odd ? 0 : EXTREME
						: values == PLAN_HUGE           ? odd ? 0 : HUGE_ROWS
						: values != PLAN_SMALLER && odd ? -EXTREME
										: reach->least / 2);
			v[i] = is_inside(b, x) ? x : v[i];
		}
		break;
	case PLAN_OTHER_CONSTANTS:
		for (size_t i = 0; i < n; i++)
			v[i] = other_constant(s, first + i, v[i]);
		break;
	case PLAN_HIGH_END:
	case PLAN_LOW_END:
		for (size_t i = 0; i < n; i++)
			v[i] = at_end(s, values == PLAN_HIGH_END, first + i, v[i]);
		break;
	case PLAN_COINCIDING:
		for (size_t i = 0; i < n; i++)
			v[i] = on_grid(s, first + i, v[i]);
		break;
	case PLAN_HALVES:
		for (size_t i = 0; i < n; i++)
			v[i] = few_bits(s, first + i, v[i]);
		break;
	case PLAN_HOLES:
		for (size_t i = 0; i < n; i++) {
			bool constant = b->fill == PLAN_ZEROS || b->fill == PLAN_ONES;
			v[i] = with_holes(s, first + i, constant ? other_constant(s, first + i, v[i]) : v[i]);
		}
		break;
	case PLAN_ALONE:
		for (size_t i = 0; i < n; i++)
			v[i] = lowest(b);
		break;
	case PLAN_MASKED:
		for (size_t i = 0; i < n && special_takes(s); i++)
			v[i] = masked(s, first + i, v[i]);
		break;
	case PLAN_DECLARED:
	case PLAN_INTEGERS:
	case PLAN_FEW:
	case PLAN_NUMBERS:
	case PLAN_CHAINS:
	case PLAN_ENDS:
	case PLAN_VALUES: break;
	}
}

/* The integers that a buffer may hold: base … base + range. */
static uint64_t integer_range(const struct plan_buffer *b, uint64_t *ret_range)
{
	unsigned bits = (unsigned)(8 * dtype_size(b->type));
	bool is_signed = dtype_is_signed(b->type);
	uint64_t all = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1,
		 least = is_signed ? UINT64_C(1) << 63 >> (64 - bits) : 0;
	uint64_t base = is_signed ? ~(least - 1) : 0;
	if (b->closed && isfinite(b->least) && b->least > (is_signed ? -0x1p63 : 0))
		base = is_signed ? (uint64_t)(int64_t)b->least : (uint64_t)b->least;
	if (b->closed && isfinite(b->most) && b->most < power((int)bits - is_signed))
		*ret_range = (is_signed ? (uint64_t)(int64_t)b->most : (uint64_t)b->most) - base;
	else
		*ret_range = (all >> is_signed) - base;
	return base;
}

/* x, or where it is beyond the range another number inside. */
static uint64_t within(uint64_t x, uint64_t range)
{
	return range == UINT64_MAX ? x : x % (range + 1);
}

/* A number of PLAN_FEW, counted from the least one: what compares only some bits, or breaks ties wrongly, meets them. */
static uint64_t few(const struct stream *s, uint64_t i, uint64_t range)
{
	uint64_t v = within(stream_random(s->seed, 0), range), how = salted(s, AGAIN, i), drawn = salted(s, SIGN, i / STRETCH);
	unsigned bits = 0;
	while (bits < 63 && range >> (bits + 1))
		bits++;
	uint64_t beside = within(v + 1, range), apart = within(v ^ UINT64_C(1) << (drawn >> 8) % (bits + 1), range);
	switch (drawn % 5) {
	case 0: return how & 1 ? v : beside;
	case 1: return how & 1 ? v : apart;
	case 2: return (how % 16 == 0) == (drawn >> 7 & 1) ? 0 : range;
	case 3: return within(salted(s, MAGNITUDE, i), range);
	}
	return how % 8 == 0 ? 0 : how % 8 == 1 ? range : how & 1 ? v : how & 2 ? beside : how & 4 ? apart : how >> 3 & range & 15;
}

/* The largest of a few numbers that is not above a sorted array's element, so that these ascend, and begin and end as they did. */
static uint64_t few_below(const struct stream *s, uint64_t i)
{
	double declared;
	stream_declared(s, i, &declared, 1);
	uint64_t base = (uint64_t)(int64_t)s->lo, x = (uint64_t)(int64_t)declared - base, range = (uint64_t)(int64_t)s->width - 1,
		 best = 0;
	for (uint64_t k = 0; k < 2 * FEW; k++) {
		uint64_t v = within(stream_random(s->seed, k / 2) + (k & 1), range);
		best = v <= x && v > best ? v : best;
	}
	return base + (x >= range ? x : best);
}

/* One row of four is all of one end. Else one of sixteen is an end or zero, half of the rest have any magnitude, the others are
 * uniform. */
static uint64_t any_integer(const struct stream *s, uint64_t i, uint64_t base, uint64_t range)
{
	unsigned bits = (unsigned)(8 * dtype_size(s->buffer->type));
	bool is_signed = dtype_is_signed(s->buffer->type);
	uint64_t row = i / row_length(s), result;
	if (is_chosen(s, CONSTANT, row))
		return salted(s, SIGN, row) & 1 ? base : base + range;
	uint64_t x = salted(s, MAGNITUDE, i), how = salted(s, AGAIN, i), uniform = within(x, range);
	uint64_t magnitude =
		is_signed ? (uint64_t)((int64_t)x >> (64 - bits + (how >> 8) % bits)) : x >> (64 - bits + (how >> 8) % bits);
	if ((how & 15) == 0)
		result = how & 16 ? base : how & 32 ? base + range : 0;
	else
		result = how & 16 ? uniform + base : magnitude;
	return result - base > range ? uniform + base : result;
}

/* The largest of the Fibonacci numbers up to `most`, but for `back` ones. Two in a row have the longest continued fraction. */
static uint64_t fibonacci(uint64_t most, uint64_t back)
{
	uint64_t a = 1, b = 1;
	while (b <= most - a) {
		b += a;
		a = b - a;
	}
	for (; back > 0 && a > 0; back--) {
		uint64_t before = b - a;
		b = a;
		a = before;
	}
	return b;
}

static uint64_t square_near(uint64_t most, uint64_t drawn)
{
	uint64_t root = 0;
	for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1)
		if ((root | bit) * (root | bit) <= most)
			root |= bit;
	root = within(drawn, root);
	return root * root;
}

/* A number of PLAN_NUMBERS. Arrays draw the same kind at the same place, and neighbours of one kind. A range that the array can
 * hold as a whole, it does. */
static uint64_t number(const struct stream *s, uint64_t i, uint64_t base, uint64_t range)
{
	uint64_t count = s->rows * s->columns, own = salted(s, AGAIN, i), drawn = stream_random(stream_mix(s->seed + PLACE), i);
	uint64_t most = base + range, v = 0;
	unsigned bits = (unsigned)(8 * dtype_size(s->buffer->type));
	if (range < count)
		return base + stream_permuted(s->key, count, i) % (range + 1);
	if (dtype_is_signed(s->buffer->type) && most >> (bits - 1) != 0)
		most = range;
	switch (drawn >> 60 & 3) {
	case 0: v = fibonacci(most, (drawn & 3) + (own & 1)); break;
	case 1: v = square_near(most, drawn >> 4) + own % 3 - 1; break;
	case 2: v = (UINT64_C(1) << drawn % bits) + own % 3 - 1; break;
	case 3: v = within(drawn, most / 16) * (1 + own % 16); break;
	}
	if (dtype_is_signed(s->buffer->type) && (own >> 8 & 7) == 0)
		v = 0 - v;
	return v - base <= range ? v : base + within(v, range);
}

/* Of a sorted array: a row has two values, its ends, so that one segment has everything. */
static uint64_t one_segment(const struct stream *s, uint64_t i)
{
	uint64_t row = i / s->columns, column = i % s->columns,
		 cut = s->columns < 2 ? 0 : 1 + salted(s, PLACE, row) % (s->columns - 1);
	return (uint64_t)(int64_t)(column < cut ? s->lo : s->lo + s->width - 1);
}

/* Counts up or down in steps of one, as the arrays of its seed do together, from another start in each part: next(i) = i+1 is one
 * long chain, and so are edges between two such arrays, or in the rows of one. Every other longer row holds the same numbers in all
 * arrays, but further on in some. */
static uint64_t chained(const struct stream *s, uint64_t i, uint64_t range)
{
	uint64_t count = s->rows * s->columns, part = i / ((count + LADDERS - 1) / LADDERS), row = i / s->columns,
		 column = i % s->columns;
	uint64_t shift = 1 + salted(s, PLACE, part) % 4, down = stream_random(stream_mix(s->seed + ORDER), part) & 1;
	if (s->rows > 1 && s->columns > SHORT && row & 1) {
		column += salted(s, PLACE, ~row) % (s->columns / 2);
		return within(stream_random(stream_mix(s->seed + AGAIN), row << 32 | column), range);
	}
	if (s->rows > 1 && s->columns <= SHORT)
		i = row + column;
	if (range != UINT64_MAX)
		i %= range + 1;
	return within(down ? range - i + shift % (range | 1) : i + shift, range);
}

/* Counted from the least number, as the seed and the array, its rows or its parts draw it: what adds, shifts or looks ahead meets
 * one array at its upper end beside another at its lower one, and what compares meets numbers that differ in one place. */
static uint64_t at_ends(const struct stream *s, uint64_t i, uint64_t range)
{
	uint64_t shared = stream_random(stream_mix(s->seed + NEAR), 0), own = salted(s, AGAIN, i), count = s->rows * s->columns,
		 part = 0;
	bool rows = s->rows > 1 && s->columns > SHORT;
	if ((shared & 3) == 0) {
		uint64_t place = (rows ? i % s->columns : i) % (1 + (shared >> 8) % PERIOD);
		return within(own % RARE == 0 ? own >> 8 : stream_random(shared, place), range);
	}
	if (shared & 4)
		part = rows ? i / s->columns : i / ((count + LADDERS - 1) / LADDERS);
	if ((shared & 8) && own % RARE == 0)
		return within(own >> 8, range);
	switch (salted(s, CONSTANT, part) & 3) {
	case 0: return 0;
	case 1: return range;
	case 2: return own >> 8 & 1 ? range : 0;
	}
	return within(1, range);
}

void special_integers(const struct stream *s, enum plan_values values, uint64_t first, uint64_t *to, size_t n)
{
	uint64_t range, base = integer_range(s->buffer, &range);
	for (size_t i = 0; i < n; i++)
		to[i] = values == PLAN_INTEGERS  ? any_integer(s, first + i, base, range)
			: values == PLAN_NUMBERS ? number(s, first + i, base, range)
			: values == PLAN_ENDS    ? base + at_ends(s, first + i, range)
			: s->buffer->fill == PLAN_SORTED
				? values == PLAN_CHAINS ? one_segment(s, first + i) : few_below(s, first + i)
			: values == PLAN_CHAINS ? base + chained(s, first + i, range)
						: base + few(s, first + i, range);
}

double special_moved(const struct stream *s, enum plan_values values, uint64_t key, double amplitude, uint64_t i, double v)
{
	const struct plan_buffer *b = s->buffer;
	uint64_t at = values == PLAN_TIES || values == PLAN_NEAR_TIES ? in_equal_row(s, i) : i;
	if (values == PLAN_COINCIDING)
		memcpy(&at, &v, sizeof at);
	v *= 1 + amplitude * (2 * stream_unit(stream_random(key, at)) - 1);
	if (b->closed && !(v >= b->least))
		return b->least;
	return b->closed && !(v <= b->most) ? b->most : v;
}

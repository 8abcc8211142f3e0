/* special: see special.h. */
#include "backends/values/special.h"

#include <math.h>

#include "backends/values/special_rows.h"

/* The ranges of magnitudes that a type holds, and that sums of thousands of products leave inside it. Powers of two. */
static const struct reach {
	int least, most; /* of PLAN_WIDE */
	int large;       /* of PLAN_SPARSE */
	int huge;        /* of PLAN_SPECIAL_HIGH and PLAN_SPECIAL_LOW */
	double offset;   /* of PLAN_OFFSET */
	double largest;  /* that it holds */
} reaches[DTYPE_COUNT] = {
	/* clang-format off */
	/* In the order of enum dtype, first eight kinds of integers: the judge's CUDA kernels are C++, which names no elements. */
	{ 0, 0, 0, 0, 0, 0x7f },
	{ 0, 0, 0, 0, 0, 0x7fff },
	{ 0, 0, 0, 0, 0, 0x7fffffff },
	{ 0, 0, 0, 0, 0, 0x1p53 },
	{ 0, 0, 0, 0, 0, 0xff },
	{ 0, 0, 0, 0, 0, 0xffff },
	{ 0, 0, 0, 0, 0, 0xffffffffu },
	{ 0, 0, 0, 0, 0, 0x1p53 },
	{ -14, 5, 5, 9, 4, 65504 },                     /* f16 */
	{ -20, 20, 10, 70, 8, 0x1.fep127 },             /* bf16 */
	{ -20, 20, 10, 70, 1024, 0x1.fffffep127 },      /* f32 */
	{ -20, 20, 10, 520, 1024, 0x1.fffffffffffffp1023 }, /* f64 */
	{ -6, 3, 3, 5, 2, 448 },                        /* e4m3 */
	{ -14, 3, 3, 9, 2, 57344 },                     /* e5m2 */
	/* clang-format on */
};

/* Whether an element of PLAN_SMALL is the smaller kind. The halves of the only row of a sorted array would not ascend. */
static bool is_smaller(const struct stream *s, uint64_t i)
{
	return (group_of(s, i / row_length(s)) & 1) || (s->buffer->fill == PLAN_SORTED && s->rows == 1);
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

/* Whether an array gets one special value alone, which others in it cannot hide. */
static bool is_lone(const struct stream *s)
{
	return s->seed % PLAN_SEEDS == PLAN_SEED_LONE;
}

/* What a NaN does that comes first in a row or column depends on how a maximum begins: with the element, or with an infinity. */
static bool is_early(const struct stream *s, uint64_t at)
{
	enum { BEGINNING = 8 };
	return s->columns > BEGINNING && (at % s->columns < BEGINNING || (s->rows > 1 && at < s->columns));
}

/* The one that such an array gets at this place: not finite, where its domain does not hold it back. */
static double lone(const struct stream *s, uint64_t at)
{
	const double list[] = { INFINITY, -INFINITY, NAN };
	return s->buffer->closed ? special(s, at) : list[salted(s, AGAIN, 0) % (is_early(s, at) ? 2 : 3)];
}

/* Where it stands: one time in four it is one of the last two elements, one in four of the last two of a row, and otherwise most
 * often near an end of the array, of a row, or of 2^k elements, where code that works in tiles stops early. */
static uint64_t lone_place(const struct stream *s)
{
	uint64_t count = s->rows * s->columns, turn = s->seed / PLAN_SEEDS % 4, drawn = salted(s, HOLE, 0), which = drawn & 7;
	uint64_t any = salted(s, PLACE, 0), chunk = UINT64_C(16) << (any & 15);
	uint64_t near = (any >> 40) >> (turn < 2 ? 23 : 17 + (drawn >> 3) % 8);
	while (chunk > count)
		chunk /= 2;
	if (turn == 0 || (turn > 1 && which < 2))
		return count - 1 - near % count;
	if (turn == 1 || which == 3 || which == 5)
		return any % s->rows * s->columns + s->columns - 1 - near % s->columns;
	if (which == 2)
		return near % count;
	if (which == 6)
		return landmark(any, count);
	return which == 4 && chunk ? (any % (count / chunk) + 1) * chunk - 1 - near % chunk : any % count;
}

static void special_places(const struct stream *s, uint64_t first, double *v, size_t n)
{
	uint64_t count = s->rows * s->columns, tile = tile_length(count);
	bool whole = !dtype_is_float(s->buffer->type);
	if (count < TILE_MIN)
		return;
	if (is_lone(s)) {
		uint64_t at = lone_place(s);
		if (at >= first && at < first + n)
			v[at - first] = !whole ? lone(s, at) : salted(s, SIGN, 0) & 1 ? s->buffer->most : s->buffer->least;
		return;
	}
	for (uint64_t k = first / tile; k * tile < first + n; k++) {
		/* Which element of tile k is special. */
		uint64_t begin = k * tile, len = count - begin < tile ? count - begin : tile;
		uint64_t at = begin + salted(s, PLACE, k) % len;
		if (at < first || at >= first + n)
			continue;
		double x = whole ? (k & 1 ? s->buffer->most : s->buffer->least) : special(s, k);
		v[at - first] = isnan(x) && is_early(s, at) ? INFINITY : x;
	}
}

/* --- numbers of the code ------------------------------------------------------------------------------------------ */

bool special_holds(const struct plan_buffer *b, double v)
{
	bool floats = dtype_is_float(b->type);
	double most = reaches[b->type].largest, least = floats ? -most : dtype_is_signed(b->type) ? -most - 1 : 0;
	return v >= least && v <= most && is_inside(b, v) && (floats || v == __builtin_floor(v));
}

/* Number k of PLAN_IMMEDIATES: each as it is, then all next ones, and so on; what the buffer cannot hold is left out. */
static double immediate(const struct stream *s, uint64_t k)
{
	const struct plan_buffer *b = s->buffer;
	const struct plan_immediates *m = s->immediates;
	double v;
	for (uint64_t tries = 0; tries < PLAN_IMMEDIATES_FORMS * m->count; tries++, k++) {
		double c = m->at[(k + s->key % m->count) % m->count];
		/* Rounded, 5/8 to 5/4 of the distance to the next float are that distance. */
		double step = dtype_is_float(b->type) ? fabs(c) * dtype_roundoff(b->type) * 1.25 : 1;
		uint64_t form = k / m->count % PLAN_IMMEDIATES_FORMS;
		v = form == 0 ? c : form == 1 ? c + step : form == 2 ? c - step : -c;
		if (special_holds(b, v))
			return v;
	}
	stream_declared(s, k, &v, 1);
	return v;
}

static void immediate_places(const struct stream *s, uint64_t first, double *v, size_t n)
{
	uint64_t count = s->rows * s->columns, all = PLAN_IMMEDIATES_FORMS * s->immediates->count, tile = count / all;
	if (tile > tile_length(count))
		tile = tile_length(count);
	if (tile < PLAN_IMMEDIATES_PLACE)
		tile = PLAN_IMMEDIATES_PLACE;
	for (uint64_t k = first / tile; k * tile < first + n; k++) {
		uint64_t begin = k * tile, len = count - begin < tile ? count - begin : tile;
		uint64_t at = begin + salted(s, PLACE, k) % len;
		if (at >= first && at < first + n)
			v[at - first] = immediate(s, k);
	}
}

/* log2 of the largest declared values. */
static int declared_exponent(const struct plan_buffer *b)
{
	double low = fabs(b->lo), high = fabs(b->hi), most = low > high ? low : high;
	return b->fill == PLAN_NORMAL || !(most > 0) ? 0 : ilogb(most);
}

/* A value of PLAN_IMMEDIATE_ROWS. What a row's code compares may be an element, a sum, or a sum of squares: levels are at the
 * number, below it whatever is meant, above it whatever is meant, and at the root of a row's sum of squares. The one row of an
 * array is in parts of 128, or in seeds of one kind as a whole, which follow each other: below, above. */
static double near_immediate(const struct stream *s, uint64_t i, double v)
{
	const struct plan_immediates *m = s->immediates;
	bool alone = s->rows == 1, whole = alone && s->seed & 1;
	uint64_t length = alone && !whole ? RUN : s->columns, row = i / length, rows = (s->rows * s->columns + length - 1) / length;
	uint64_t group = rows < 2 * SCALED || alone ? 1 : SCALED, draw = s->seed >> alone;
	uint64_t block = row / group + draw * ((rows + group - 1) / group);
	uint64_t level = whole ? 1 + (draw & 1) : block / m->count % LEVELS;
	double c = m->at[(whole ? draw >> 1 : block) % m->count];
	int e = ilogb(c), sum = e, least, beside = row & 1 ? 2 : -1, exponent = e + beside;
	for (uint64_t left = length; left > 1; left >>= 1)
		sum--;
	least = sum < sum / 2 ? sum : sum / 2;
	if (level == 1)
		exponent = least - 2;
	else if (level == 2)
		exponent = (e > e / 2 ? e : e / 2) + 3;
	else if (level == 3)
		exponent = sum / 2 + beside;
	int faint = plan_has_ends(s->buffer) && !(block & 1 && !whole) ? FIXED : FAINT;
	exponent = exponent < faint ? faint : exponent > LOUD ? LOUD : exponent;
	exponent -= declared_exponent(s->buffer);
	double near = v * power(exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent);
	return is_inside(s->buffer, near) ? near : v;
}

static double other_constant(const struct stream *s, enum plan_values values, uint64_t i, double declared)
{
	const struct plan_buffer *b = s->buffer;
	if (b->fill == PLAN_IOTA) {
		uint64_t x = stream_permuted(s->key, s->rows * s->columns, i), period = (uint64_t)stream_period(b->type);
		return (double)(x % period);
	}
	uint64_t x = salted(s, AGAIN, i);
	double v = dtype_is_float(b->type) ? declared + stream_unit(x) - 0.5 : (double)(x >> 63);
	if (values == PLAN_MIXED_CONSTANTS && dtype_is_float(b->type) && x % 4 == 0)
		v = 1 - declared;
	v = is_inside(b, v) ? v : 2 * declared - v; /* the other side may be inside */
	return is_inside(b, v) ? v : declared;
}

/* Which zeros and ones of PLAN_MIXED_CONSTANTS are as declared: half of them, and those that a look at an array may choose. */
static bool is_kept(const struct stream *s, uint64_t i)
{
	uint64_t count = s->rows * s->columns, column = i % s->columns;
	bool end = s->columns > 4 && (column == 0 || column + 1 == s->columns), seen = i == 0 || i == count / 2 || i + 1 == count;
	return s->buffer->fill != PLAN_IOTA && count > 4 && (end || seen || salted(s, HOLE, i) & 1);
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

/* A value of PLAN_HALVES or PLAN_QUARTERS. One of four is a prime or 1 over a power of two, so x, 8x and 10x are often
 * integers or halves. No number is a multiple of 3 or 7: x/3 is never a half, which rounding would decide. PLAN_QUARTERS
 * has no multiples of 31 and 127 either, by which quantization divides the largest value. The others have eleven bits. Half of the
 * largest value times 127 is a half, too: a row of PLAN_EIGHTHS has one power of two, the only row one for 32 elements. */
static double few_bits(const struct stream *s, enum plan_values values, uint64_t i, double declared)
{
	static const unsigned char primes[] = { 1, 1, 1, 17, 19, 23, 29, 31 };
	const struct plan_buffer *b = s->buffer;
	uint64_t drawn = salted(s, AGAIN, i), odd = drawn >> 8 & 2047;
	bool has_sign = b->fill == PLAN_NORMAL || b->lo < 0;
	bool quarters = values != PLAN_HALVES;
	uint64_t size = values == PLAN_EIGHTHS ? salted(s, MAGNITUDE, i / (s->rows > 1 ? s->columns : RARE)) : drawn >> 16;
	while (odd % 2 == 0 || odd % 3 == 0 || odd % 7 == 0 || (quarters && (odd % 31 == 0 || odd % 127 == 0)))
		odd++;
	double v = drawn & 3 ? (double)(int64_t)odd * 0x1p-9
			     : primes[quarters ? (drawn >> 8) % 7 : drawn >> 8 & 7] * power(-(int)(size & 7));
	if (has_sign && drawn & 4)
		v = -v;
	for (int k = 0; k < 16 && !is_inside(b, v); k++)
		v /= 2;
	return is_inside(b, v) ? v : declared;
}

/* A value of PLAN_NARROW: what a path for narrow numbers takes, or takes wrongly. One seed in two has signs, where arrays have. */
static double narrow(const struct stream *s, uint64_t i, double declared)
{
	const struct plan_buffer *b = s->buffer;
	int bits = plan_width(s->seed), held = dtype_is_float(b->type) ? -ilogb(dtype_roundoff(b->type)) : MANTISSA;
	double v = (double)(int64_t)(salted(s, MAGNITUDE, i) >> (64 - (bits < held ? bits : held)));
	bool has_sign = dtype_is_float(b->type) ? b->fill == PLAN_NORMAL || b->lo < 0 : dtype_is_signed(b->type);
	if (has_sign && s->seed / PLAN_WIDTHS & 1 && salted(s, SIGN, i) & 1)
		v = -v;
	return special_holds(b, v) ? v : declared;
}

/* Whether this is a range of integers that an array holds often, such as flags or labels. */
static bool has_labels(const struct stream *s, double *ret_range)
{
	const struct plan_buffer *b = s->buffer;
	*ret_range = b->most - b->least + 1;
	return !dtype_is_float(b->type) && b->closed && *ret_range <= (double)(int64_t)(s->rows * s->columns);
}

/* A value of PLAN_ZERO_ROWS, PLAN_ALONE or PLAN_MIXED_ZEROS: these have rows of zeros, and others where no element is zero, half
 * are, or all but one of eight. Every other row has its zeros where those of other arrays do, and one of eight columns is zero.
 * Labels come in runs of each. */
static double with_zeros(const struct stream *s, enum plan_values values, uint64_t i, double declared)
{
	uint64_t row = i / row_length(s), at = i / HOLES, count = s->rows * s->columns, shared = stream_mix(s->seed + HOLE);
	double range;
	if (values == PLAN_ALONE)
		return !dtype_is_float(s->buffer->type) && s->buffer->closed && isfinite(s->buffer->least) ? s->buffer->least : 0;
	bool chosen = is_chosen(s, ZERO, row);
	if (values == PLAN_ZERO_ROWS)
		return chosen ? 0 : declared;
	if (has_labels(s, &range) && !(s->rows > 1 && chosen && is_inside(s->buffer, 0))) {
		double part = (double)(int64_t)((i + s->key % count) % count) / (double)(int64_t)count;
		return s->buffer->least + __builtin_floor(part * range);
	}
	uint64_t drawn = row & 1 ? stream_random(shared, at) : salted(s, HOLE, at), kind = stream_random(shared, ~row) % 4;
	bool kept = drawn % HOLES == i % HOLES || kind < 2 || (kind == 2 && drawn >> (HOLES + i % HOLES) & 1);
	uint64_t column = i % s->columns;
	bool empty = s->rows > 1 && s->columns > HOLES && salted(s, NEAR, column) % HOLES == 0;
	return (chosen || empty || !kept) && is_inside(s->buffer, 0) ? 0 : declared;
}

/* What stands for an infinity or a NaN of PLAN_SPECIAL; i: where. */
static double huge_in_place(const struct stream *s, enum plan_values values, uint64_t i, double v)
{
	bool finite = values == PLAN_SPECIAL_FINITE, numbers = finite || values == PLAN_SPECIAL_NUMBERS;
	/* e4m3 holds no infinity: it would be NaN. */
	if ((numbers && isnan(v)) || (finite && isinf(v) && s->buffer->type == DTYPE_E4M3))
		stream_declared(s, i, &v, 1);
	if (values == PLAN_SPECIAL_NUMBERS || (values == PLAN_SPECIAL_NANS && isnan(v)))
		return v;
	double huge = power(reaches[s->buffer->type].huge);
	if (isnan(v))
		return values == PLAN_SPECIAL_LOW ? -huge : huge;
	return isinf(v) ? copysign(huge, v) : v;
}

/* --- all kinds ---------------------------------------------------------------------------------------------------- */

/* A value of the kinds that are the declared ones, but larger or smaller, in all rows or in every other one. */
static double scaled(const struct stream *s, enum plan_values values, uint64_t i, double v)
{
	const struct reach *reach = &reaches[s->buffer->type];
	bool odd = values == PLAN_SMALL ? is_smaller(s, i) : i / row_length(s) & 1;
	int huge = s->buffer->type == DTYPE_F16 ? HUGE_HALVES : HUGE_ROWS;
	double x = v * power(values == PLAN_LARGER           ? reach->most < 5 ? reach->most : 5
			     : values == PLAN_EXTREME        ? odd ? 0 : EXTREME
			     : values == PLAN_HUGE           ? odd ? 0 : huge
			     : values != PLAN_SMALLER && odd ? -EXTREME
							     : reach->least / 2);
	return is_inside(s->buffer, x) ? x : v;
}

/* In place of an infinity. Others of its row are not equal: their differences are as undefined as those of infinities. */
static double stand_in(const struct stream *s, uint64_t i)
{
	return power(reaches[s->buffer->type].huge) * (1 - stream_unit(salted(s, MAGNITUDE, i)) / 4);
}

/* A value of PLAN_INFINITE_ROWS, PLAN_FINITE_ROWS or PLAN_NAN_ROWS. */
static double in_large_row(const struct stream *s, enum plan_values values, uint64_t i, double v)
{
	uint64_t row = i / row_length(s);
	double large = values == PLAN_INFINITE_ROWS ? INFINITY : stand_in(s, i);
	if (!is_chosen(s, ZERO, row))
		return v;
	if (values == PLAN_NAN_ROWS) /* of no sign: what negating a NaN gives differs between a CPU and a GPU */
		return NAN;
	return salted(s, SIGN, row) & 1 ? large : -large;
}

/* A value of PLAN_RUNS, PLAN_FINITE_RUNS or PLAN_NAN_RUNS, in groups of rows of four kinds: infinite, in runs, infinite up to some
 * column or from it on, as declared. Three of four groups have negative ones, as masks do. Of an only row nearly all is infinite
 * where the seed is odd, of either sign, so that whole segments of it are, wherever their elements stand. */
static double in_run(const struct stream *s, enum plan_values values, uint64_t i, double v)
{
	uint64_t length = row_length(s), row = i / length, column = i % length;
	uint64_t group = row_count(s) >= 4 * BLOCK_ROWS ? row / BLOCK_ROWS : row, kind = group + (s->key >> 8);
	uint64_t drawn = salted(s, PLACE, row);
	double large = values == PLAN_NAN_RUNS ? NAN : values == PLAN_RUNS ? INFINITY : stand_in(s, i);
	bool infinite = false;
	if (s->rows == 1 && s->seed & 1)
		return salted(s, HOLE, i) % RARE == 0 ? v : isnan(large) || s->seed & 2 ? large : -large;
	switch (kind % 4) {
	case 0: infinite = true; break;
	case 1: infinite = salted(s, HOLE, i >> (drawn & 3)) & 1; break;
	case 2: infinite = (column < (drawn >> 8) % length) == (drawn & 1); break;
	}
	return !infinite ? v : isnan(large) || salted(s, SIGN, group) % 4 == 0 ? large : -large;
}

/* In rows, so that honest sums of what is declared positive do not cancel. */
static double negative(const struct stream *s, uint64_t i, double v)
{
	enum dtype t = s->buffer->type;
	if (!dtype_is_float(t)) {
		unsigned bits = 8 * (unsigned)dtype_size(t) - 1, held = bits < MANTISSA ? bits : MANTISSA;
		uint64_t drawn = salted(s, AGAIN, i);
		double size = (double)(int64_t)(salted(s, MAGNITUDE, i) >> (64 - 1 - drawn % held));
		return dtype_is_signed(t) && drawn >> 8 & 1 ? -size : size;
	}
	double x = s->buffer->fill == PLAN_ONES ? other_constant(s, PLAN_OTHER_CONSTANTS, i, v) : v;
	uint64_t turn = s->rows > 1 ? i / s->columns : s->columns < 2 * RUN ? i : i / RUN;
	return (turn + (s->key >> 8)) & 1 ? -x : x;
}

/* One element of the kinds whose elements need nothing but their place. */
static double element(const struct stream *s, enum plan_values values, uint64_t i, double v)
{
	switch (values) {
	case PLAN_EXACT: return exact(s, i, 4, v);
	case PLAN_EXACT_SMALL: return exact(s, i, 2, v);
	case PLAN_WIDE: return s->buffer->fill == PLAN_SORTED ? wide_sorted(s, v) : wide(s, i, v);
	case PLAN_ZERO_ROWS:
	case PLAN_MIXED_ZEROS:
	case PLAN_ALONE: return with_zeros(s, values, i, v);
	case PLAN_INFINITE_ROWS:
	case PLAN_FINITE_ROWS:
	case PLAN_NAN_ROWS: return in_large_row(s, values, i, v);
	case PLAN_LARGER:
	case PLAN_SMALLER:
	case PLAN_EXTREME:
	case PLAN_HUGE:
	case PLAN_TINY:
	case PLAN_SMALL: return scaled(s, values, i, v);
	case PLAN_OTHER_CONSTANTS: return other_constant(s, values, i, v);
	case PLAN_MIXED_CONSTANTS: return is_kept(s, i) ? v : other_constant(s, values, i, v);
	case PLAN_NEGATIVE: return negative(s, i, v);
	case PLAN_HIGH_END:
	case PLAN_LOW_END: return at_end(s, values == PLAN_HIGH_END, i, v);
	case PLAN_COINCIDING: return on_grid(s, i, v);
	case PLAN_HALVES:
	case PLAN_QUARTERS:
	case PLAN_EIGHTHS: return few_bits(s, values, i, v);
	case PLAN_NARROW: return narrow(s, i, v);
	case PLAN_NATURAL: return special_natural(s, i, v);
	case PLAN_BLANK: return special_takes(s) == !(s->seed & 1) ? 0 : v;
	case PLAN_IMMEDIATE_ROWS: return near_immediate(s, i, v);
	case PLAN_PATTERNS:
	case PLAN_FAINT:
	case PLAN_SEGMENTS: return special_pattern(s, values, i, v);
	default: return v;
	}
}

/* How far the row or column of element i is from zero in PLAN_APART, in all arrays alike. What takes one row's or column's mean for
 * all of them loses the others' digits. Sorted rows are moved as a whole. */
static double apart(const struct stream *s, uint64_t i)
{
	bool sorted = s->buffer->fill == PLAN_SORTED;
	uint64_t line = s->rows == 1 && !sorted ? i / RUN : s->seed & 1 && !sorted ? i % s->columns : i / s->columns;
	uint64_t drawn = stream_random(stream_mix(s->seed + NEAR), line);
	return drawn & 1 ? reaches[s->buffer->type].offset * (1 + stream_unit(drawn)) : 0;
}

void special_values(const struct stream *s, enum plan_values values, uint64_t first, double *v, size_t n)
{
	const struct plan_buffer *b = s->buffer;
	const struct reach *reach = &reaches[b->type];
	double offset = reach->offset *
			(1 + stream_unit(values == PLAN_FAR ? stream_random(stream_mix(s->seed + SIGN), 0) : salted(s, SIGN, 0)));
	if (b->fill == PLAN_PROBABILITIES) {
		stream_probabilities(s, first,
				     values == PLAN_WIDE          ? STREAM_WIDE
				     : values == PLAN_MIXED_ZEROS ? STREAM_POINTED
				     : values == PLAN_COINCIDING  ? STREAM_EQUAL
								  : STREAM_HOLES,
				     v, n);
		return;
	}
	if (values < PLAN_WIDE) /* as they were when these kinds were the only ones */
		stream_values(s, first, v, n);
	else if (values != PLAN_TIES && values != PLAN_NEAR_TIES)
		stream_declared(s, first, v, n);
	switch (values) {
	case PLAN_OFFSET:
	case PLAN_FAR:
	case PLAN_APART:
		for (size_t i = 0; i < n; i++) {
			double by = values == PLAN_APART ? apart(s, first + i) : offset, x = v[i] + by;
			v[i] = is_inside(b, b->fill == PLAN_SORTED ? b->hi + by : x) ? x : v[i];
		}
		break;
	case PLAN_SPECIAL: special_places(s, first, v, n); break;
	case PLAN_SPECIAL_HIGH:
	case PLAN_SPECIAL_LOW:
	case PLAN_SPECIAL_NUMBERS:
	case PLAN_SPECIAL_FINITE:
	case PLAN_SPECIAL_NANS:
		special_places(s, first, v, n);
		for (size_t i = 0; i < n; i++)
			v[i] = huge_in_place(s, values, first + i, v[i]);
		break;
	case PLAN_SPARSE: sparse(s, first, v, n); break;
	case PLAN_IMMEDIATES: immediate_places(s, first, v, n); break;
	case PLAN_RUNS:
	case PLAN_FINITE_RUNS:
	case PLAN_NAN_RUNS:
		if (special_takes(s) || values == PLAN_NAN_RUNS)
			for (size_t i = 0; i < n; i++)
				v[i] = in_run(s, values, first + i, v[i]);
		break;
	case PLAN_TIES:
	case PLAN_NEAR_TIES:
		for (size_t i = 0; i < n; i++)
			if (!in_order(s, values, first + i, &v[i]))
				stream_declared(s, tied(s, first + i), &v[i], 1);
		break;
	default:
		for (size_t i = 0; i < n; i++)
			v[i] = element(s, values, first + i, v[i]);
	}
}

double special_moved(const struct stream *s, enum plan_values values, uint64_t key, double amplitude, uint64_t i, double v)
{
	const struct plan_buffer *b = s->buffer;
	uint64_t at = values == PLAN_TIES || values == PLAN_NEAR_TIES ? in_equal_row(s, i) : i;
	if (values == PLAN_COINCIDING)
		memcpy(&at, &v, sizeof at);
	double most = values == PLAN_IMMEDIATES && fabs(v) <= reaches[b->type].largest ? reaches[b->type].largest : INFINITY;
	v *= 1 + amplitude * (2 * stream_unit(stream_random(key, at)) - 1);
	v = v > most ? most : v < -most ? -most : v;
	if (b->closed && !(v >= b->least))
		return b->least;
	return b->closed && !(v <= b->most) ? b->most : v;
}

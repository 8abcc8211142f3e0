/* special_integers: the integers of special.h. */
#include "backends/values/special.h"
#include "backends/values/special_rows.h"

enum { WRAP = 1 << 16, WRAP_SHORT = 1 << 8 /* what counters of 16 bits, or of 8, take for zero */ };

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
	case 2: v = (UINT64_C(1) << drawn % bits) + (own & 64 ? UINT64_C(1) << (own >> 12) % bits : own % 3 - 1); break;
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

/* Of a sorted array: counts up to its last element, which is the largest; by seed a few elements repeat the one before. */
static uint64_t counted(const struct stream *s, uint64_t i)
{
	uint64_t column = i % s->columns, range = (uint64_t)(int64_t)s->width - 1;
	bool again = column > 0 && s->seed & 4 && salted(s, HOLE, i) % RARE == 0;
	return (uint64_t)(int64_t)s->lo + (column + 1 < s->columns && column - again < range ? column - again : range);
}

/* An element of a sorted array. */
static uint64_t chained_sorted(const struct stream *s, uint64_t i)
{
	double declared;
	if ((s->seed & 3) == 1)
		return one_segment(s, i);
	if ((s->seed & 3) == 2)
		return counted(s, i);
	stream_declared(s, i, &declared, 1);
	return (uint64_t)(int64_t)declared;
}

/* Counts up or down in steps of one, as the arrays of its seed do together, from another start in each part: next(i) = i+1 is one
 * long chain, and so are edges between two such arrays, or in the rows of one. By seed a few elements break it. Every other longer
 * row holds the same numbers in all arrays, but further on in some, at once or from some place on, or with a stretch of its own. */
static uint64_t chained(const struct stream *s, uint64_t i, uint64_t range)
{
	uint64_t count = s->rows * s->columns, part = i / ((count + LADDERS - 1) / LADDERS), row = i / s->columns,
		 column = i % s->columns;
	uint64_t shift = 1 + salted(s, PLACE, part) % 4, down = stream_random(stream_mix(s->seed + ORDER), part) & 1;
	uint64_t own = salted(s, AGAIN, i);
	if (s->columns > SHORT && (s->rows > 1 ? row : s->seed >> 3) & 1) {
		uint64_t drawn = salted(s, PLACE, ~row), by = drawn % (s->columns / 2), from = (drawn >> 32) % s->columns;
		uint64_t how = stream_random(stream_mix(s->seed + ORDER), ~row) % 3;
		if (how == 2 && column - from < by) /* of what is before `from`, the difference is huge */
			return within(own, range);
		if (how == 0 || (how == 1 && column >= from))
			column += by;
		return within(stream_random(stream_mix(s->seed + AGAIN), row << 32 | column), range);
	}
	if (s->seed & 4 && own % RARE == 0)
		return within(own >> 8, range);
	if (s->rows > 1 && s->columns <= SHORT)
		i = row + column;
	if (range != UINT64_MAX)
		i %= range + 1;
	return within(down ? range - i + shift % (range | 1) : i + shift, range);
}

/* One number covers as many elements from the first on as a counter of 16 bits wraps at, or in shorter arrays one of 8 bits, and
 * stands nowhere else. */
static uint64_t wrapping(const struct stream *s, uint64_t i, uint64_t range)
{
	uint64_t count = s->rows * s->columns, length = count > WRAP ? WRAP : WRAP_SHORT;
	uint64_t label = within(salted(s, PLACE, 0), range), v = within(salted(s, MAGNITUDE, i), range);
	return i < length ? label : v != label ? v : within(v + 1, range);
}

/* Counted from the least number, as the seed and the array, its rows or its parts draw it. What adds, shifts or looks ahead meets
 * one array at its upper end beside another at its lower one. What compares meets numbers that differ in one place. */
static uint64_t at_ends(const struct stream *s, enum plan_values values, uint64_t i, uint64_t range)
{
	uint64_t shared = stream_random(stream_mix(s->seed + NEAR), 0), own = salted(s, AGAIN, i), count = s->rows * s->columns,
		 part = 0;
	bool rows = s->rows > 1 && s->columns > SHORT;
	bool residues = (shared & 7) == 7;
	if ((shared & 3) == 0 || residues) {
		uint64_t length = rows ? s->columns : count, at = i % length, back = length - 1 - at;
		bool other = shared & 96 && s->key >> 8 & 1, mirrored = residues && back < at;
		uint64_t place = (mirrored ? back : at) % (1 + (shared >> 8) % PERIOD);
		uint64_t v = within(own % RARE == 0 && !residues ? own >> 8 : stream_random(shared, place), range);
		if (other == mirrored)
			return v;
		/* The complement of what another array holds; of residues, and of the other half of a row, the sum vanishes. */
		return !residues ? range - v : v ? range - v + 1 : 0;
	}
	/* Flags and labels are equal over a whole array, or nearly; in the middle of a range p * (range - p) is largest. */
	if (values == PLAN_MIXED_ENDS && (shared & 3) == 1) {
		const uint64_t all[4] = { 0, range, range / 2, range / 2 + (range & 1) };
		return own % RARE == 0 && shared & 16 ? within(own >> 8, range) : all[salted(s, CONSTANT, 0) & 3];
	}
	if (values == PLAN_MIXED_ENDS && (shared & 7) == 2 && count > WRAP_SHORT)
		return wrapping(s, i, range);
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

/* A number that stands for something, such as a label to be ignored, is all that a row or the whole array has, or nearly. */
static uint64_t labelled(const struct stream *s, uint64_t i, uint64_t base, uint64_t range)
{
	const struct plan_immediates *m = s->immediates;
	uint64_t row = i / row_length(s), other = within(salted(s, MAGNITUDE, i), range), kind = salted(s, TIE, row) % 4;
	double c = m->at[((s->seed >> 1) + (s->seed & 1 ? 0 : row)) % m->count];
	bool kept = !(s->seed & 1) && (kind == 3 || (kind == 2 && salted(s, HOLE, i) % RARE == 0));
	return kept || !special_holds(s->buffer, c) ? other : (uint64_t)(int64_t)c - base;
}

/* Seeds of random numbers that are counted up, or of which only some bits differ. */
static uint64_t neighbour(const struct stream *s, uint64_t i, uint64_t range)
{
	uint64_t group = stream_mix(plan_neighbour_group(s->seed)), v = within(stream_random(group ^ s->name, i), range),
		 differs = plan_neighbour_differs(s->seed);
	bool each = s->rows * s->columns > PLAN_NEIGHBOUR_ELEMENTS;
	if (differs == PLAN_NEIGHBOUR_NONE || !special_takes(s) || (!each && i != plan_neighbour_element(s->seed)))
		return v;
	return within(differs < PLAN_NEIGHBOUR_NEXT ? v ^ UINT64_C(1) << (differs - 1) : v + 1, range);
}

void special_integers(const struct stream *s, enum plan_values values, uint64_t first, uint64_t *to, size_t n)
{
	uint64_t range, base = integer_range(s->buffer, &range);
	for (size_t i = 0; i < n; i++)
		to[i] = values == PLAN_INTEGERS                            ? any_integer(s, first + i, base, range)
			: values == PLAN_NUMBERS                           ? number(s, first + i, base, range)
			: values == PLAN_ENDS || values == PLAN_MIXED_ENDS ? base + at_ends(s, values, first + i, range)
			: values == PLAN_LABELS                            ? base + labelled(s, first + i, base, range)
			: values == PLAN_NEIGHBOURS                        ? base + neighbour(s, first + i, range)
			: s->buffer->fill == PLAN_SORTED
				? values == PLAN_CHAINS ? chained_sorted(s, first + i) : few_below(s, first + i)
			: values == PLAN_CHAINS ? base + chained(s, first + i, range)
						: base + few(s, first + i, range);
}

/* stream: declared values; see stream.h. */
#include "backends/values/stream.h"

enum { FAN = 16 /* blocks that share the probability of the block that holds them */ };

#ifndef __CUDACC__ /* gpu/judge_kernels.cu compiles the rest of this file for the device */
/* FNV-1a (Fowler, Noll, Vo), 64 bits: distinguishes buffers of different names. */
static uint64_t name_key(const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return h;
}

struct stream stream_of(const struct plan_buffer *b, uint64_t seed)
{
	uint64_t columns = (uint64_t)b->dims[b->rank - 1], rows = 1;
	uint64_t name = stream_mix(name_key(b->name));
	for (unsigned k = 0; k + 1 < b->rank; k++)
		rows *= (uint64_t)b->dims[k];
	return (struct stream){ .buffer = b,
				.key = stream_mix(seed ^ name),
				.columns = columns,
				.rows = rows,
				.lo = b->lo,
				.width = b->hi - b->lo,
				.seed = seed,
				.name = name };
}
#endif

double stream_period(enum dtype t)
{
	return dtype_is_float(t) ? 1 / dtype_roundoff(t) : 0x1p62;
}

/* Twelve uniforms of 16 bits, less their mean, over their deviation (Irwin–Hall of order 12): integers until the
 * last step. */
static double normal(uint64_t key, uint64_t i)
{
	int64_t sum = 0;
	for (uint64_t k = 0; k < 3; k++) {
		uint64_t x = stream_random(key, 3 * i + k);
		sum += (int64_t)((x & 0xFFFF) + (x >> 16 & 0xFFFF) + (x >> 32 & 0xFFFF) + (x >> 48));
	}
	return (double)(sum - 6 * 65535) / 65536;
}

/* A normal value outside of a closed domain is reflected at the end that it passed, as often as needed. */
static double inside(const struct plan_buffer *b, double v)
{
	for (int i = 0; i < 8 && b->closed && !(v >= b->least && v <= b->most); i++)
		v = v < b->least ? 2 * b->least - v : 2 * b->most - v;
	if (b->closed)
		v = v < b->least ? b->least : v > b->most ? b->most : v;
	return v;
}

/* One uniform value in each of as many equal parts as the row has columns. */
static double sorted(const struct stream *s, uint64_t i)
{
	uint64_t column = i % s->columns;
	double v = s->lo + ((double)column + stream_unit(stream_random(s->key, i))) / (double)s->columns * s->width;
	if (dtype_is_float(s->buffer->type))
		return v;
	if (column + 1 == s->columns && column > 0)
		return s->lo + s->width - 1;
	return column ? __builtin_floor(v) : s->lo;
}

uint64_t stream_permuted(uint64_t key, uint64_t count, uint64_t i)
{
	unsigned bits = 1;
	while (bits < 63 && UINT64_C(1) << bits < count)
		bits++;
	uint64_t mask = (UINT64_C(1) << bits) - 1;
	/* Each step is a bijection of the numbers below 2^bits; those beyond count go round again (cycle walking: Black and
	 * Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). */
	do {
		for (uint64_t k = 0; k < 4; k++) {
			i = (i * (stream_random(key, 2 * k) | 1) + stream_random(key, 2 * k + 1)) & mask;
			i ^= i >> (bits / 2 + 1);
		}
	} while (i >= count);
	return i;
}

/* --- probabilities ------------------------------------------------------------------------------------------------ */

/* What the others weigh beside the column that has nearly all of a row, which may be any. */
static double beside(const struct stream *s, uint64_t row, uint64_t *ret_column)
{
	uint64_t x = stream_random(stream_mix(s->key), row), scale = x >> 2 & 3;
	*ret_column = x & 1 ? (x >> 4) % s->columns : x & 2 ? s->columns - 1 : 0;
	return scale == 0 ? 0 : 1 / (double)(1 << 6 * scale);
}

/* How many columns of a block share a row of STREAM_EQUAL. */
static uint64_t sharers(const struct stream *s, uint64_t row, uint64_t begin, uint64_t end)
{
	uint64_t x = stream_random(stream_mix(s->seed), row), period = UINT64_C(1) << (x & 3);
	while (period > s->columns)
		period /= 2;
	uint64_t before = period - 1 - (x >> 2) % period;
	return (end + before) / period - (begin + before) / period;
}

/* By what a weight of STREAM_WIDE is divided: each, or in three of four arrays all of a column, as the odds of a rare event are
 * small in every state. */
static double shrunk(const struct stream *s, uint64_t drawn, uint64_t column)
{
	bool narrow = dtype_smallest_normal(s->buffer->type) > 0x1p-20;
	if (s->key >> 10 & 3)
		return (double)(int64_t)(UINT64_C(1) << stream_random(stream_mix(s->key), column) % (narrow ? 13 : 39));
	return (double)(1 << drawn % 20);
}

/* The weight of one block of `span` columns (one column when span is 1) among those that share with it. */
static double weight(const struct stream *s, uint64_t row, uint64_t block, uint64_t span, enum stream_weights weights)
{
	uint64_t begin = block * span, end = begin + span < s->columns ? begin + span : s->columns;
	uint64_t x = stream_random(stream_random(s->key ^ span, row), block);
	double u = (1 + stream_unit(x)) / 2;
	if (begin >= s->columns)
		return 0;
	if (weights == STREAM_EQUAL)
		return (double)(int64_t)sharers(s, row, begin, end);
	if (weights == STREAM_HOLES && span == 1 && block % FAN && (x & 7) == 0)
		return 0;
	if (weights == STREAM_WIDE && span == 1)
		u /= shrunk(s, x, block);
	if (weights == STREAM_POINTED) {
		uint64_t column;
		double share = beside(s, row, &column);
		u *= block == column / span ? 1 : share;
	}
	return u * (double)(end - begin);
}

/* What the siblings of a block weigh together. */
static double siblings(const struct stream *s, uint64_t row, uint64_t block, uint64_t span, enum stream_weights weights)
{
	double sum = 0;
	for (uint64_t k = 0; k < FAN; k++)
		sum += weight(s, row, block / FAN * FAN + k, span, weights);
	return sum;
}

/* Each block of 16^k columns shares its probability among 16 smaller ones, so that no element needs the sum of its whole row. */
void stream_probabilities(const struct stream *s, uint64_t first, enum stream_weights weights, double *to, size_t n)
{
	double mass = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t row = (first + i) / s->columns, column = (first + i) % s->columns;
		if (i == 0 || column % FAN == 0) {
			double together = siblings(s, row, column, 1, weights);
			mass = together > 0 ? 1 / together : 0;
			for (uint64_t span = FAN; span < s->columns; span *= FAN) {
				together = siblings(s, row, column / span, span, weights);
				mass *= together > 0 ? weight(s, row, column / span, span, weights) / together : 0;
			}
		}
		to[i] = mass * weight(s, row, column, 1, weights);
	}
}

/* --- all fills ---------------------------------------------------------------------------------------------------- */

void stream_values(const struct stream *s, uint64_t first, double *to, size_t n)
{
	const struct plan_buffer *b = s->buffer;
	bool whole = !dtype_is_float(b->type);
	switch (b->fill) {
	case PLAN_ZEROS:
	case PLAN_ONES:
		for (size_t i = 0; i < n; i++)
			to[i] = b->fill == PLAN_ONES;
		break;
	case PLAN_RANDOM:
		for (size_t i = 0; i < n; i++)
			to[i] = s->lo + stream_unit(stream_random(s->key, first + i)) * s->width;
		for (size_t i = 0; whole && i < n; i++)
			to[i] = __builtin_floor(to[i]);
		break;
	case PLAN_NORMAL:
		for (size_t i = 0; i < n; i++)
			to[i] = inside(b, normal(s->key, first + i));
		break;
	case PLAN_IOTA: {
		double period = stream_period(b->type);
		for (size_t i = 0; i < n; i++)
			to[i] = (double)(first + i - (uint64_t)((double)(first + i) / period) * (uint64_t)period);
		break;
	}
	case PLAN_SORTED:
		for (size_t i = 0; i < n; i++)
			to[i] = sorted(s, first + i);
		break;
	case PLAN_PERMUTATION:
		for (size_t i = 0; i < n; i++) {
			uint64_t row = (first + i) / s->columns;
			to[i] = (double)stream_permuted(stream_random(s->key, row), s->columns, (first + i) % s->columns);
		}
		break;
	case PLAN_PROBABILITIES: stream_probabilities(s, first, STREAM_EVEN, to, n); break;
	}
}

void stream_declared(const struct stream *s, uint64_t first, double *to, size_t n)
{
	enum dtype t = s->buffer->type;
	if (s->buffer->fill != PLAN_RANDOM || (t != DTYPE_F32 && t != DTYPE_F16 && t != DTYPE_BF16)) {
		stream_values(s, first, to, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		to[i] = (double)stream_uniform(s, first + i);
}

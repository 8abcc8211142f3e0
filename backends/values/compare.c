/* compare: see compare.h. One pass over blocks of elements that fit the nearest cache. A block in which every element is
 * finite, judged or not, and within its bound is only summed; any other block is looked at element by element. Results
 * do not depend on the number of threads: each part of parallel_for has its own sums. */
#include "backends/values/compare.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel_for.h"

enum { BLOCK = 1024 /* elements */, CHAINS = 4 /* so that additions do not wait for each other */ };
#define RATIO_MOST 16.0 /* in means, so that one element cannot hide what all others have */

/* What one part of the elements has. */
struct found {
	double diff2, ref2;           /* Σ(got−want)², Σwant² where both are finite */
	double max_abs;               /* the largest |got−want| there */
	double ratios, signed_ratios; /* sums over judged elements */
	double outward;               /* the same, negative towards zero */
	uint64_t judged, nan, spread, ref_nan, untouched, mismatched;
	int64_t first_untouched; /* -1: none */
	double worst_ratio;      /* -1: nothing judged yet */
	struct wire_mismatch worst;
	uint64_t wrong[WIRE_MAP][WIRE_MAP];
	uint32_t listed;
	struct wire_mismatch list[WIRE_MISMATCHES]; /* the first ones */
};

struct comparison {
	const struct plan_buffer *buffer;
	const uint8_t *got;
	const struct compare_wanted *want;
	uint64_t elements, rows, columns;
	struct found parts[PARALLEL_FOR_PARTS];
};

/* A block in doubles, and where it came from. */
struct block {
	uint64_t at;
	size_t n;
	const uint8_t *got_bytes, *want_bytes;
	double got[BLOCK], want[BLOCK], bound[BLOCK];
};

/* --- blocks without a fault --------------------------------------------------------------------------------------- */

static bool has_poison(const uint8_t *got, size_t n, size_t size, uint8_t poison)
{
	uint64_t pattern = UINT64_C(0x0101010101010101) * poison, e8;
	uint32_t found = 0, e4;
	uint16_t e2;
	for (size_t i = 0; i < n && size == 8; i++)
		found |= (memcpy(&e8, got + i * 8, 8), e8 == pattern);
	for (size_t i = 0; i < n && size == 4; i++)
		found |= (memcpy(&e4, got + i * 4, 4), e4 == (uint32_t)pattern);
	for (size_t i = 0; i < n && size == 2; i++)
		found |= (memcpy(&e2, got + i * 2, 2), e2 == (uint16_t)pattern);
	return found || (size == 1 && memchr(got, poison, n));
}

/* False, with nothing added, unless every difference is finite and within a finite bound above 0. */
static bool add_plain(const struct block *b, struct found *f)
{
	double diff2[CHAINS] = { 0 }, ref2[CHAINS] = { 0 }, ratios[CHAINS] = { 0 }, signs[CHAINS] = { 0 },
	       outward[CHAINS] = { 0 }, most[CHAINS] = { 0 }, worst[CHAINS] = { 0 };
	bool plain = true;
	if (b->n % CHAINS)
		return false;
	for (size_t i = 0; i < b->n; i += CHAINS)
		for (size_t k = 0; k < CHAINS; k++) {
			double w = b->want[i + k], d = b->got[i + k] - w, a = fabs(d), r = a / b->bound[i + k];
			plain &= (r <= 1) & (b->bound[i + k] < INFINITY);
			diff2[k] += d * d;
			ref2[k] += w * w;
			ratios[k] += r;
			signs[k] += copysign(r, d);
			outward[k] += copysign(r, d * copysign(1, w));
			most[k] = a > most[k] ? a : most[k];
			worst[k] = r > worst[k] ? r : worst[k];
		}
	if (!plain)
		return false;
	double top = fmax(fmax(worst[0], worst[1]), fmax(worst[2], worst[3]));
	f->diff2 += diff2[0] + diff2[1] + diff2[2] + diff2[3];
	f->ref2 += ref2[0] + ref2[1] + ref2[2] + ref2[3];
	f->ratios += ratios[0] + ratios[1] + ratios[2] + ratios[3];
	f->signed_ratios += signs[0] + signs[1] + signs[2] + signs[3];
	f->outward += outward[0] + outward[1] + outward[2] + outward[3];
	f->max_abs = fmax(f->max_abs, fmax(fmax(most[0], most[1]), fmax(most[2], most[3])));
	f->judged += b->n;
	for (size_t i = 0; top > f->worst_ratio && i < b->n; i++)
		if (fabs(b->got[i] - b->want[i]) / b->bound[i] == top) {
			f->worst_ratio = top;
			f->worst = (struct wire_mismatch){ (int64_t)(b->at + i), b->got[i], b->want[i], b->bound[i] };
		}
	return true;
}

/* --- element by element ------------------------------------------------------------------------------------------- */

/* got − want. 64-bit integers are subtracted as integers: as doubles, neighbours above 2^53 are equal. */
static double difference(const struct comparison *c, const struct block *b, size_t i)
{
	enum dtype t = c->buffer->type;
	uint64_t x, y;
	if ((t != DTYPE_I64 && t != DTYPE_U64) || c->want->type != t)
		return b->got[i] - b->want[i];
	memcpy(&x, b->got_bytes + i * 8, 8);
	memcpy(&y, b->want_bytes + i * 8, 8);
	bool less = t == DTYPE_I64 ? (int64_t)x < (int64_t)y : x < y;
	return less ? -(double)(y - x) : (double)(x - y);
}

/* 0 for what is wanted, infinite where no distance says how wrong it is. */
static double ratio_of(double got, double want, double difference, double bound)
{
	if (isnan(want))
		return isnan(got) ? 0 : INFINITY;
	if (isinf(want) || isnan(got))
		return got == want ? 0 : INFINITY;
	return difference == 0 ? 0 : fabs(difference) / bound;
}

static void add_element(const struct comparison *c, const struct block *b, size_t i, bool poisoned, struct found *f)
{
	struct wire_mismatch m = { (int64_t)(b->at + i), b->got[i], b->want[i], b->bound[i] };
	double d = difference(c, b, i), ratio = ratio_of(m.got, m.want, d, m.bound);
	bool judged = m.bound < INFINITY, wrong = judged && !(ratio <= 1);
	f->ref_nan += !isfinite(m.want);
	f->ref2 += isfinite(m.want) ? m.want * m.want : 0;
	if (isfinite(m.want) && isfinite(m.got)) {
		f->diff2 += d * d;
		f->max_abs = fmax(f->max_abs, fabs(d));
	}
	if (poisoned && (wrong || !judged)) {
		f->first_untouched = f->untouched ? f->first_untouched : m.index;
		f->untouched++;
	}
	if (!judged)
		return;
	f->judged++;
	f->nan += wrong && !isfinite(m.got);
	f->spread += wrong && !isfinite(m.got) && isfinite(m.want);
	double counted = ratio < RATIO_MOST ? ratio : RATIO_MOST;
	f->ratios += counted;
	f->signed_ratios += d < 0 ? -counted : counted;
	f->outward += (d < 0) == (m.want < 0) ? counted : -counted;
	if (ratio > f->worst_ratio) {
		f->worst_ratio = ratio;
		f->worst = m;
	}
	if (wrong) {
		uint64_t index = (uint64_t)m.index;
		f->mismatched++;
		f->wrong[index / c->columns % c->rows * WIRE_MAP / c->rows][index % c->columns * WIRE_MAP / c->columns]++;
		if (f->listed < WIRE_MISMATCHES)
			f->list[f->listed++] = m;
	}
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static bool is_equal(const struct comparison *c, const struct block *b)
{
	size_t size = dtype_size(c->buffer->type);
	return c->want->type == c->buffer->type && memcmp(b->got_bytes, b->want_bytes, b->n * size) == 0;
}

static void compare_block(const struct comparison *c, uint64_t at, struct block *b, struct found *f)
{
	bool is_float = dtype_is_float(c->buffer->type);
	const struct compare_wanted *w = c->want;
	b->at = at;
	b->n = c->elements - at < BLOCK ? (size_t)(c->elements - at) : BLOCK;
	b->got_bytes = c->got + at * dtype_size(c->buffer->type);
	b->want_bytes = (const uint8_t *)w->values + at * dtype_size(w->type);
	dtype_load_all(c->buffer->type, b->got_bytes, b->got, b->n);
	dtype_load_all(w->type, b->want_bytes, b->want, b->n);
	if (w->bounds)
		dtype_load_all(w->type == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32,
			       (const uint8_t *)w->bounds + at * wire_bound_size(w->type), b->bound, b->n);
	else
		memset(b->bound, 0, b->n * sizeof *b->bound);
	/* A poison of NaN shows as a difference; of a finite one, an element that is within its bound needs no look. */
	if (is_float && add_plain(b, f))
		return;
	if (is_float || !is_equal(c, b) || has_poison(b->got_bytes, b->n, dtype_size(c->buffer->type), (uint8_t)c->want->poison)) {
		size_t size = dtype_size(c->buffer->type);
		uint8_t poison[8];
		memset(poison, (int)c->want->poison, sizeof poison);
		for (size_t i = 0; i < b->n; i++)
			add_element(c, b, i, memcmp(b->got_bytes + i * size, poison, size) == 0, f);
		return;
	}
	for (size_t i = 0; i < b->n; i++) {
		f->ref2 += b->want[i] * b->want[i];
		f->judged += b->bound[i] < INFINITY;
	}
	if (f->worst_ratio < 0) {
		f->worst_ratio = 0;
		f->worst = (struct wire_mismatch){ (int64_t)at, b->got[0], b->want[0], b->bound[0] };
	}
}

/* The blocks that begin in this part. */
static void compare_part(void *arg, unsigned k, uint64_t from, uint64_t to)
{
	struct comparison *c = arg;
	struct block b;
	for (uint64_t at = (from + BLOCK - 1) / BLOCK * BLOCK; at < to; at += BLOCK)
		compare_block(c, at, &b, &c->parts[k]);
}

void compare_outputs(const struct plan_buffer *b, const void *got, const struct compare_wanted *want,
		     struct wire_compared *ret_compared)
{
	struct comparison c = {
		.buffer = b,
		.got = got,
		.want = want,
		.elements = plan_buffer_logical(b),
		.rows = b->rank > 1 ? (uint64_t)b->dims[b->rank - 2] : 1,
		.columns = (uint64_t)b->dims[b->rank - 1],
	};
	for (unsigned k = 0; k < PARALLEL_FOR_PARTS; k++)
		c.parts[k].worst_ratio = c.parts[k].first_untouched = -1;
	*ret_compared = (struct wire_compared){ .elements = c.elements };
	parallel_for(c.elements, compare_part, &c);
	/* Parts are in the order of the elements. */
	double diff2 = 0, ref2 = 0, ratios = 0, signed_ratios = 0, outward = 0;
	ret_compared->worst_ratio = -1;
	ret_compared->first_untouched = -1;
	for (unsigned k = 0; k < PARALLEL_FOR_PARTS; k++) {
		const struct found *f = &c.parts[k];
		diff2 += f->diff2;
		ref2 += f->ref2;
		ratios += f->ratios;
		signed_ratios += f->signed_ratios;
		outward += f->outward;
		ret_compared->max_abs = fmax(ret_compared->max_abs, f->max_abs);
		ret_compared->judged += f->judged;
		ret_compared->nan += f->nan;
		ret_compared->spread += f->spread;
		ret_compared->ref_nan += f->ref_nan;
		ret_compared->first_untouched = ret_compared->untouched ? ret_compared->first_untouched : f->first_untouched;
		ret_compared->untouched += f->untouched;
		ret_compared->mismatched += f->mismatched;
		if (f->worst_ratio > ret_compared->worst_ratio) {
			ret_compared->worst_ratio = f->worst_ratio;
			ret_compared->worst = f->worst;
		}
		for (uint32_t i = 0; i < f->listed && ret_compared->mismatch_count < WIRE_MISMATCHES; i++)
			ret_compared->mismatch[ret_compared->mismatch_count++] = f->list[i];
		for (unsigned i = 0; k > 0 && i < WIRE_MAP * WIRE_MAP; i++)
			c.parts[0].wrong[i / WIRE_MAP][i % WIRE_MAP] += f->wrong[i / WIRE_MAP][i % WIRE_MAP];
	}
	ret_compared->ref_norm = sqrt(ref2);
	ret_compared->error = ref2 > 0 ? sqrt(diff2) / sqrt(ref2) : sqrt(diff2);
	ret_compared->worst_ratio = fmax(ret_compared->worst_ratio, 0);
	ret_compared->mean_ratio = ret_compared->judged ? ratios / (double)ret_compared->judged : 0;
	ret_compared->signed_mean = compare_signed(signed_ratios, outward, ret_compared->judged);
	uint64_t planes = c.elements / (c.rows * c.columns);
	for (uint64_t y = 0; y < WIRE_MAP; y++)
		for (uint64_t x = 0; x < WIRE_MAP; x++) {
			uint64_t all = planes * compare_in_tile(c.rows, y) * compare_in_tile(c.columns, x);
			ret_compared->map[y][x] = all ? (float)((double)c.parts[0].wrong[y][x] / (double)all) : 0;
		}
}

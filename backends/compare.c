/* compare: see compare.h. Two passes over blocks that fit the nearest cache: sums first, since the bound for a
 * single element needs the reference's root mean square; then, only if something can be wrong, the elements that
 * are. */
#include "backends/compare.h"

#include <math.h>
#include <string.h>

#include "base/spread.h"

enum { BLOCK = 1024 };

struct sums {
	double diff2, ref2;     /* Σ(out−ref)², Σref² where both are finite */
	double max_abs;
	uint64_t odd;           /* elements where got or want is not finite */
	uint64_t finite_refs;
};

/* |a−b| of one pair: 64-bit integers are subtracted as such, or neighbours above 2^53 would look equal. */
static double distance(enum dtype t, const uint8_t *got, const uint8_t *want, double g, double w)
{
	uint64_t x, y;
	if (t != DTYPE_I64 && t != DTYPE_U64)
		return fabs(g - w);
	memcpy(&x, got, 8);
	memcpy(&y, want, 8);
	bool less = t == DTYPE_I64 ? (int64_t)x < (int64_t)y : x < y;
	return (double)(less ? y - x : x - y);
}

/* --- first pass --------------------------------------------------------------------------------------------------- */

/* Four chains, so that additions do not wait for each other; v-v is 0 for finite v only, so one test finds a block's
 * oddities. */
static void add_block(struct sums *s, const double *got, const double *want, size_t n)
{
	double diff2[4] = { 0 }, ref2[4] = { 0 }, most[4] = { 0 }, odd = 0;
	size_t i = 0;
	for (; i + 4 <= n; i += 4)
		for (size_t k = 0; k < 4; k++) {
			double d = got[i + k] - want[i + k], a = fabs(d);
			diff2[k] += d * d;
			ref2[k] += want[i + k] * want[i + k];
			most[k] = a > most[k] ? a : most[k];
			odd += d - d;
		}
	if (i == n && odd == 0) {
		for (size_t k = 0; k < 4; k++) {
			s->diff2 += diff2[k];
			s->ref2 += ref2[k];
			s->max_abs = most[k] > s->max_abs ? most[k] : s->max_abs;
		}
		s->finite_refs += n;
		return;
	}
	for (i = 0; i < n; i++) {
		double d = got[i] - want[i];
		s->finite_refs += isfinite(want[i]) != 0;
		if (!isfinite(got[i]) || !isfinite(want[i])) {
			s->odd++;
			s->ref2 += isfinite(want[i]) ? want[i] * want[i] : 0;
			continue;
		}
		s->diff2 += d * d;
		s->ref2 += want[i] * want[i];
		s->max_abs = fabs(d) > s->max_abs ? fabs(d) : s->max_abs;
	}
}

static void add_block_wide(struct sums *s, enum dtype t, const uint8_t *got, const uint8_t *want, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double w = dtype_load(t, want + i * 8), d = distance(t, got + i * 8, want + i * 8, 0, 0);
		s->diff2 += d * d;
		s->ref2 += w * w;
		s->max_abs = d > s->max_abs ? d : s->max_abs;
	}
	s->finite_refs += n;
}

struct sweep {
	enum dtype type;
	const uint8_t *got, *want;
	struct sums parts[SPREAD_PARTS]; /* one a cut, so that the total does not depend on who did it */
};

static void sweep_part(void *arg, unsigned k, uint64_t from, uint64_t to)
{
	struct sweep *sweep = arg;
	struct sums *s = &sweep->parts[k];
	enum dtype t = sweep->type;
	double g[BLOCK], w[BLOCK];
	size_t size = dtype_size(t);
	for (uint64_t at = from; at < to; at += BLOCK) {
		size_t n = to - at < BLOCK ? (size_t)(to - at) : BLOCK;
		const uint8_t *got = sweep->got + at * size, *want = sweep->want + at * size;
		if (t == DTYPE_I64 || t == DTYPE_U64) {
			add_block_wide(s, t, got, want, n);
			continue;
		}
		dtype_load_all(t, got, g, n);
		dtype_load_all(t, want, w, n);
		add_block(s, g, w, n);
	}
}

static struct sums first_pass(enum dtype t, const uint8_t *got, const uint8_t *want, uint64_t elements)
{
	struct sweep sweep = { .type = t, .got = got, .want = want };
	struct sums all = { 0 };
	spread(elements, sweep_part, &sweep);
	for (unsigned k = 0; k < SPREAD_PARTS; k++) {
		const struct sums *s = &sweep.parts[k];
		all.diff2 += s->diff2;
		all.ref2 += s->ref2;
		all.max_abs = s->max_abs > all.max_abs ? s->max_abs : all.max_abs;
		all.odd += s->odd;
		all.finite_refs += s->finite_refs;
	}
	return all;
}

/* --- second pass -------------------------------------------------------------------------------------------------- */

/* What one element is judged by, and where the verdicts are counted. */
struct judge {
	const struct plan_buffer *buffer;
	double slack;     /* 16·tolerance */
	double rms;       /* of the reference */
	uint8_t poison[8];
	uint64_t rows, columns;
	uint64_t wrong[WIRE_MAP][WIRE_MAP];
	struct wire_compared *out;
};

static bool is_wrong(const struct judge *j, const uint8_t *got, const uint8_t *want, double g, double w)
{
	if (!dtype_is_float(j->buffer->type))
		return memcmp(got, want, dtype_size(j->buffer->type)) != 0;
	if (isnan(w))
		return false;
	if (isinf(w))
		return !(g == w);
	return !(fabs(g - w) <= j->slack * (fabs(w) + j->rms));
}

static void judge_element(struct judge *j, uint64_t index, const uint8_t *got, const uint8_t *want, double g, double w)
{
	struct wire_compared *c = j->out;
	size_t size = dtype_size(j->buffer->type);
	c->nan += isnan(g) && !isnan(w);
	c->ref_nan += !isfinite(w);
	c->untouched += memcmp(got, j->poison, size) == 0 && memcmp(want, j->poison, size) != 0;
	if (!is_wrong(j, got, want, g, w))
		return;
	c->mismatched++;
	j->wrong[index / j->columns % j->rows * WIRE_MAP / j->rows][index % j->columns * WIRE_MAP / j->columns]++;
	if (c->mismatch_count < WIRE_MISMATCHES)
		c->mismatch[c->mismatch_count++] = (struct wire_mismatch){ .index = (int64_t)index, .got = g, .want = w };
}

static void second_pass(struct judge *j, const uint8_t *got, const uint8_t *want, uint64_t elements)
{
	enum dtype t = j->buffer->type;
	size_t size = dtype_size(t);
	double g[BLOCK], w[BLOCK];
	for (uint64_t at = 0; at < elements; at += BLOCK) {
		size_t n = elements - at < BLOCK ? (size_t)(elements - at) : BLOCK;
		dtype_load_all(t, got + at * size, g, n);
		dtype_load_all(t, want + at * size, w, n);
		for (size_t i = 0; i < n; i++)
			judge_element(j, at + i, got + (at + i) * size, want + (at + i) * size, g[i], w[i]);
	}
}

/* Rows or columns of the last two dims that fall into tile k of n. */
static uint64_t in_tile(uint64_t n, uint64_t k)
{
	uint64_t first = (k * n + WIRE_MAP - 1) / WIRE_MAP, next = ((k + 1) * n + WIRE_MAP - 1) / WIRE_MAP;
	return next - first;
}

static void draw_map(const struct judge *j, uint64_t elements)
{
	uint64_t planes = elements / (j->rows * j->columns);
	for (uint64_t y = 0; y < WIRE_MAP; y++)
		for (uint64_t x = 0; x < WIRE_MAP; x++) {
			uint64_t all = planes * in_tile(j->rows, y) * in_tile(j->columns, x);
			j->out->map[y][x] = all ? (float)((double)j->wrong[y][x] / (double)all) : 0;
		}
}

/* True when no single element can be beyond its bound, nor hold poison: the usual case, and the quick one. */
static bool all_well(const struct judge *j, const struct sums *s, const uint8_t *got, const uint8_t *want,
                     uint64_t elements)
{
	if (s->odd > 0)
		return false;
	if (memcmp(got, want, elements * dtype_size(j->buffer->type)) == 0)
		return true;
	/* Poison other than 0xFF is a finite number, which may be within the bound and still be untouched. */
	return dtype_is_float(j->buffer->type) && j->poison[0] == 0xFF && s->max_abs <= j->slack * j->rms;
}

void compare_outputs(const struct plan_buffer *b, const void *got, const void *want, double tolerance, uint32_t poison,
                     struct wire_compared *ret_compared)
{
	uint64_t elements = plan_buffer_logical(b);
	struct sums s = first_pass(b->type, got, want, elements);
	*ret_compared = (struct wire_compared){ .elements = elements, .max_abs = s.max_abs, .ref_norm = sqrt(s.ref2) };
	ret_compared->error = s.ref2 > 0 ? sqrt(s.diff2) / sqrt(s.ref2) : sqrt(s.diff2);
	struct judge j = {
		.buffer = b, .slack = 16 * tolerance, .rms = s.finite_refs ? sqrt(s.ref2 / (double)s.finite_refs) : 0,
		.rows = b->rank > 1 ? (uint64_t)b->dims[b->rank - 2] : 1, .columns = (uint64_t)b->dims[b->rank - 1],
		.out = ret_compared,
	};
	memset(j.poison, (int)poison, sizeof j.poison);
	if (all_well(&j, &s, got, want, elements))
		return;
	second_pass(&j, got, want, elements);
	draw_map(&j, elements);
}

/* compare: see compare.h. Two passes: sums first (sums.c), since the bound for a single element needs the reference's root mean square;
 * then, of the blocks in which something can be wrong, the elements one by one. */
#include "backends/values/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/values/sums.h"
#include "base/mem.h"
#include "base/parallel_for.h"

enum { FEW = 64 }; /* blocks */

/* What one cut of the elements has found. */
struct found {
	uint64_t nan, ref_nan, untouched, mismatched;
	uint64_t wrong[WIRE_MAP][WIRE_MAP];
	uint32_t listed;
	struct wire_mismatch list[WIRE_MISMATCHES]; /* the first ones */
};

/* What one element is judged by, and where the verdicts are counted. */
struct judge {
	const struct plan_buffer *buffer;
	const uint8_t *got, *want;
	uint64_t elements;
	double slack;        /* 16·tolerance */
	double rms;          /* of the reference */
	const double *most;  /* of each block: the largest distance, or infinite */
	double harmless;     /* no element of a block is wrong up to this distance */
	uint8_t poison[8];
	uint64_t rows, columns;
	struct found parts[PARALLEL_FOR_PARTS]; /* one a cut, so that the whole does not depend on who did it */
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

static void judge_element(const struct judge *j, struct found *f, uint64_t index, const uint8_t *got, const uint8_t *want, double g, double w)
{
	size_t size = dtype_size(j->buffer->type);
	f->nan += isnan(g) && !isnan(w);
	f->ref_nan += !isfinite(w);
	f->untouched += memcmp(got, j->poison, size) == 0 && memcmp(want, j->poison, size) != 0;
	if (!is_wrong(j, got, want, g, w))
		return;
	f->mismatched++;
	f->wrong[index / j->columns % j->rows * WIRE_MAP / j->rows][index % j->columns * WIRE_MAP / j->columns]++;
	if (f->listed < WIRE_MISMATCHES)
		f->list[f->listed++] = (struct wire_mismatch){ .index = (int64_t)index, .got = g, .want = w };
}

static void judge_block(const struct judge *j, struct found *f, uint64_t at)
{
	enum dtype t = j->buffer->type;
	size_t size = dtype_size(t), n = j->elements - at < SUMS_BLOCK ? (size_t)(j->elements - at) : SUMS_BLOCK;
	const uint8_t *got = j->got + at * size, *want = j->want + at * size;
	double g[SUMS_BLOCK], w[SUMS_BLOCK];
	dtype_load_all(t, got, g, n);
	dtype_load_all(t, want, w, n);
	for (size_t i = 0; i < n; i++)
		judge_element(j, f, at + i, got + i * size, want + i * size, g[i], w[i]);
}

static bool is_suspect(const struct judge *j, uint64_t block)
{
	return !(j->most[block] <= j->harmless) || isinf(j->most[block]);
}

/* The blocks that begin in this cut. */
static void judge_part(void *arg, unsigned k, uint64_t from, uint64_t to)
{
	struct judge *j = arg;
	for (uint64_t b = (from + SUMS_BLOCK - 1) / SUMS_BLOCK; b * SUMS_BLOCK < to; b++)
		if (is_suspect(j, b))
			judge_block(j, &j->parts[k], b * SUMS_BLOCK);
}

/* Cuts are in the order of the elements. */
static void add_up(struct judge *j, struct wire_compared *c)
{
	for (unsigned k = 0; k < PARALLEL_FOR_PARTS; k++) {
		const struct found *f = &j->parts[k];
		c->nan += f->nan;
		c->ref_nan += f->ref_nan;
		c->untouched += f->untouched;
		c->mismatched += f->mismatched;
		for (uint32_t i = 0; i < f->listed && c->mismatch_count < WIRE_MISMATCHES; i++)
			c->mismatch[c->mismatch_count++] = f->list[i];
		for (unsigned i = 0; k > 0 && i < WIRE_MAP * WIRE_MAP; i++)
			j->parts[0].wrong[i / WIRE_MAP][i % WIRE_MAP] += f->wrong[i / WIRE_MAP][i % WIRE_MAP];
	}
}

/* Rows or columns of the last two dims that fall into tile k of n. */
static uint64_t in_tile(uint64_t n, uint64_t k)
{
	uint64_t first = (k * n + WIRE_MAP - 1) / WIRE_MAP, next = ((k + 1) * n + WIRE_MAP - 1) / WIRE_MAP;
	return next - first;
}

static void draw_map(const struct judge *j, struct wire_compared *c)
{
	uint64_t planes = j->elements / (j->rows * j->columns);
	for (uint64_t y = 0; y < WIRE_MAP; y++)
		for (uint64_t x = 0; x < WIRE_MAP; x++) {
			uint64_t all = planes * in_tile(j->rows, y) * in_tile(j->columns, x);
			c->map[y][x] = all ? (float)((double)j->parts[0].wrong[y][x] / (double)all) : 0;
		}
}

void compare_outputs(const struct plan_buffer *b, const void *got, const void *want, double tolerance, uint32_t poison,
                     struct wire_compared *ret_compared)
{
	uint64_t elements = plan_buffer_logical(b), blocks = (elements + SUMS_BLOCK - 1) / SUMS_BLOCK, suspect = 0;
	double *most = MEM_NEW_N(double, blocks + 1);
	struct sums s;
	sums_of(b->type, got, want, elements, (uint8_t)poison, &s, most);
	*ret_compared = (struct wire_compared){ .elements = elements, .max_abs = s.max_abs, .ref_norm = sqrt(s.ref2) };
	ret_compared->error = s.ref2 > 0 ? sqrt(s.diff2) / sqrt(s.ref2) : sqrt(s.diff2);
	struct judge j = {
		.buffer = b, .got = got, .want = want, .elements = elements, .slack = 16 * tolerance, .most = most,
		.rms = s.finite_refs ? sqrt(s.ref2 / (double)s.finite_refs) : 0,
		.rows = b->rank > 1 ? (uint64_t)b->dims[b->rank - 2] : 1, .columns = (uint64_t)b->dims[b->rank - 1],
	};
	j.harmless = dtype_is_float(b->type) ? j.slack * j.rms : 0;
	memset(j.poison, (int)poison, sizeof j.poison);
	for (uint64_t i = 0; i < blocks; i++)
		suspect += is_suspect(&j, i);
	if (suspect <= FEW)
		judge_part(&j, 0, 0, elements); /* sooner done than threads are started */
	else
		parallel_for(elements, judge_part, &j);
	free(most);
	add_up(&j, ret_compared);
	draw_map(&j, ret_compared);
}

/* compare: see compare.h. Two passes over blocks of elements that fit the nearest cache. The first one sums, since the
 * bound for a single element needs the reference's root mean square; floats of 32 bits and fewer, the usual case, are
 * summed as vectors, by the same additions in the same order whatever the processor's vectors are. The second pass
 * looks at single elements, in blocks where something can be wrong. Results do not depend on the number of threads:
 * each part of parallel_for has its own sums. */
#include "backends/values/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel_for.h"

enum { BLOCK = 1024 /* elements */, FEW = 64 /* blocks */ };

struct sums {
	double diff2, ref2; /* Σ(got−want)², Σwant² where both are finite */
	double max_abs;     /* the largest |got−want| where both are finite */
	uint64_t finite_refs;
};

/* |got−want| of one pair, whose values are g and w. 64-bit integers are subtracted as integers: as doubles, neighbours
 * above 2^53 are equal. */
static double distance(enum dtype t, const void *got, const void *want, double g, double w)
{
	uint64_t x, y;
	if (t != DTYPE_I64 && t != DTYPE_U64)
		return fabs(g - w);
	memcpy(&x, got, 8);
	memcpy(&y, want, 8);
	bool less = t == DTYPE_I64 ? (int64_t)x < (int64_t)y : x < y;
	return (double)(less ? y - x : x - y);
}

/* --- sums of vectors ---------------------------------------------------------------------------------------------- */

typedef double doubles __attribute__((vector_size(32)));
typedef int64_t masks __attribute__((vector_size(32)));
typedef float floats __attribute__((vector_size(16)));
typedef uint16_t halves __attribute__((vector_size(16)));
typedef uint32_t words __attribute__((vector_size(32)));
typedef float wide __attribute__((vector_size(32)));
enum { LANES = 4, CHAINS = 2, STEP = LANES * CHAINS }; /* two chains, so that additions do not wait for each other */

struct chain {
	doubles diff2, ref2, most2;
};

/* As in dtype.c: sign, exponent and fraction keep their places, a multiplication corrects the magnitude, the largest
 * exponent stays. */
static inline __attribute__((always_inline)) void load_f16(const uint8_t *from, floats to[CHAINS])
{
	halves h;
	memcpy(&h, from, sizeof h);
	words u = __builtin_convertvector(h, words), special = (words)((u & 0x7c00) == 0x7c00) & 0x7f800000;
	wide f = (wide)((u & 0x7fff) << 13) * 0x1p112f;
	words all = (words)f | special | (u & 0x8000) << 16;
	memcpy(to, &all, sizeof all);
}

static inline __attribute__((always_inline)) void load(enum dtype t, const uint8_t *from, floats to[CHAINS])
{
	halves h;
	words all;
	if (t == DTYPE_F32) {
		memcpy(to, from, sizeof all);
	} else if (t == DTYPE_F16) {
		load_f16(from, to);
	} else {
		memcpy(&h, from, sizeof h);
		all = __builtin_convertvector(h, words) << 16;
		memcpy(to, &all, sizeof all);
	}
}

static inline __attribute__((always_inline)) void add(struct chain *c, const floats *got, const floats *want)
{
	doubles r = __builtin_convertvector(*want, doubles), d = __builtin_convertvector(*got, doubles) - r;
	d *= d;
	c->diff2 += d;
	c->ref2 += r * r;
	masks more = d > c->most2;
	c->most2 = (doubles)((more & (masks)d) | (~more & (masks)c->most2));
}

static inline __attribute__((always_inline)) void add_all(struct chain *c, enum dtype t, const uint8_t *got,
							  const uint8_t *want)
{
	size_t size = dtype_size(t) * STEP;
	struct chain a = c[0], b = c[1];
	for (size_t i = 0; i < BLOCK / STEP; i++) {
		floats g[CHAINS], w[CHAINS];
		load(t, got + i * size, g);
		load(t, want + i * size, w);
		add(&a, &g[0], &w[0]);
		add(&b, &g[1], &w[1]);
	}
	c[0] = a;
	c[1] = b;
}

/* One loop for each type, so that the compiler drops what that type does not need. */
static inline __attribute__((always_inline)) void add_whole_block_inline(struct chain *c, enum dtype t,
									 const uint8_t *got, const uint8_t *want)
{
	if (t == DTYPE_F32)
		add_all(c, DTYPE_F32, got, want);
	else if (t == DTYPE_F16)
		add_all(c, DTYPE_F16, got, want);
	else
		add_all(c, DTYPE_BF16, got, want);
}

static void add_whole_block(struct chain *c, enum dtype t, const uint8_t *got, const uint8_t *want)
{
	add_whole_block_inline(c, t, got, want);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void add_whole_block_avx2(struct chain *c, enum dtype t, const uint8_t *got,
								 const uint8_t *want)
{
	add_whole_block_inline(c, t, got, want);
}
#define HAS_AVX2 __builtin_cpu_supports("avx2")
#else
#define add_whole_block_avx2 add_whole_block
#define HAS_AVX2 false
#endif

/* False, with nothing added, when something is not finite. *ret_most: the largest distance. Its square's root is exact
 * enough: squares of such small types neither overflow nor vanish in a double. */
static bool add_vectors(struct sums *s, enum dtype t, bool avx2, const uint8_t *got, const uint8_t *want,
			double *ret_most)
{
	struct chain c[CHAINS];
	double diff2 = 0, ref2 = 0, most2 = 0;
	memset(c, 0, sizeof c);
	if (avx2)
		add_whole_block_avx2(c, t, got, want);
	else
		add_whole_block(c, t, got, want);
	for (size_t i = 0; i < CHAINS; i++)
		for (size_t k = 0; k < LANES; k++) {
			diff2 += c[i].diff2[k];
			ref2 += c[i].ref2[k];
			most2 = c[i].most2[k] > most2 ? c[i].most2[k] : most2;
		}
	if (!isfinite(diff2 + ref2))
		return false;
	s->diff2 += diff2;
	s->ref2 += ref2;
	s->finite_refs += BLOCK;
	*ret_most = sqrt(most2);
	return true;
}

/* --- sums of single elements -------------------------------------------------------------------------------------- */

/* Returns the largest distance; infinite when something is not finite. */
static double add_singles(struct sums *s, enum dtype t, const uint8_t *got, const uint8_t *want, size_t n)
{
	double g[BLOCK], w[BLOCK], most = 0;
	size_t size = dtype_size(t);
	bool odd = false;
	dtype_load_all(t, got, g, n);
	dtype_load_all(t, want, w, n);
	for (size_t i = 0; i < n; i++) {
		s->finite_refs += isfinite(w[i]) != 0;
		s->ref2 += isfinite(w[i]) ? w[i] * w[i] : 0;
		if (!isfinite(g[i]) || !isfinite(w[i])) {
			odd = true;
			continue;
		}
		double d = distance(t, got + i * size, want + i * size, g[i], w[i]);
		s->diff2 += d * d;
		most = d > most ? d : most;
	}
	s->max_abs = most > s->max_abs ? most : s->max_abs;
	return odd ? INFINITY : most;
}

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

/* --- all sums ----------------------------------------------------------------------------------------------------- */

struct sweep {
	enum dtype type;
	const uint8_t *got, *want;
	uint64_t elements;
	uint8_t poison;
	bool vectors, avx2, finite_poison;
	double *most;
	struct sums parts[PARALLEL_FOR_PARTS];
};

static void sweep_part(void *arg, unsigned k, uint64_t from, uint64_t to)
{
	struct sweep *sweep = arg;
	struct sums *s = &sweep->parts[k];
	size_t size = dtype_size(sweep->type);
	/* A part's blocks are those that begin in it. */
	for (uint64_t b = (from + BLOCK - 1) / BLOCK; b * BLOCK < to; b++) {
		uint64_t at = b * BLOCK;
		size_t n = sweep->elements - at < BLOCK ? (size_t)(sweep->elements - at) : BLOCK;
		const uint8_t *got = sweep->got + at * size, *want = sweep->want + at * size;
		if (!(sweep->vectors && n == BLOCK &&
		      add_vectors(s, sweep->type, sweep->avx2, got, want, &sweep->most[b])))
			sweep->most[b] = add_singles(s, sweep->type, got, want, n);
		else if (sweep->most[b] > s->max_abs)
			s->max_abs = sweep->most[b];
		if (sweep->finite_poison && has_poison(got, n, size, sweep->poison))
			sweep->most[b] = INFINITY;
	}
}

/* ret_most has room for one number per block: its largest distance; infinite when something in it is not finite or,
 * among floats, holds the poison in all bytes. */
static void sum_all(enum dtype t, const void *got, const void *want, uint64_t elements, uint8_t poison,
		    struct sums *ret_sums, double *ret_most)
{
	/* 0xFF is NaN in every floating type, which shows anyway; integers match only when equal, so poison needs no
	 * extra look. */
	struct sweep sweep = { .type = t,
			       .got = got,
			       .want = want,
			       .elements = elements,
			       .poison = poison,
			       .most = ret_most,
			       .vectors = t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16,
			       .avx2 = HAS_AVX2,
			       .finite_poison = dtype_is_float(t) && poison != 0xFF };
	*ret_sums = (struct sums){ 0 };
	parallel_for(elements, sweep_part, &sweep);
	for (unsigned k = 0; k < PARALLEL_FOR_PARTS; k++) {
		const struct sums *s = &sweep.parts[k];
		ret_sums->diff2 += s->diff2;
		ret_sums->ref2 += s->ref2;
		ret_sums->max_abs = s->max_abs > ret_sums->max_abs ? s->max_abs : ret_sums->max_abs;
		ret_sums->finite_refs += s->finite_refs;
	}
}

/* --- element by element ------------------------------------------------------------------------------------------- */

/* What one part of the elements has. */
struct found {
	uint64_t nan, ref_nan, untouched, mismatched;
	uint64_t wrong[WIRE_MAP][WIRE_MAP];
	uint32_t listed;
	struct wire_mismatch list[WIRE_MISMATCHES]; /* the first ones */
};

/* What elements are judged by, and where the verdicts are counted. */
struct judge {
	const struct plan_buffer *buffer;
	const uint8_t *got, *want;
	uint64_t elements;
	double slack;       /* 16·tolerance */
	double rms;         /* of the reference */
	const double *most; /* of each block: the largest distance, or infinite */
	double harmless;    /* up to this distance no element is wrong */
	uint8_t poison[8];
	uint64_t rows, columns;
	struct found parts[PARALLEL_FOR_PARTS];
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

static void judge_element(const struct judge *j, struct found *f, uint64_t index, const uint8_t *got,
			  const uint8_t *want, double g, double w)
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
	size_t size = dtype_size(t), n = j->elements - at < BLOCK ? (size_t)(j->elements - at) : BLOCK;
	const uint8_t *got = j->got + at * size, *want = j->want + at * size;
	double g[BLOCK], w[BLOCK];
	dtype_load_all(t, got, g, n);
	dtype_load_all(t, want, w, n);
	for (size_t i = 0; i < n; i++)
		judge_element(j, f, at + i, got + i * size, want + i * size, g[i], w[i]);
}

static bool is_suspect(const struct judge *j, uint64_t block)
{
	return !(j->most[block] <= j->harmless) || isinf(j->most[block]);
}

/* The blocks that begin in this part. */
static void judge_part(void *arg, unsigned k, uint64_t from, uint64_t to)
{
	struct judge *j = arg;
	for (uint64_t b = (from + BLOCK - 1) / BLOCK; b * BLOCK < to; b++)
		if (is_suspect(j, b))
			judge_block(j, &j->parts[k], b * BLOCK);
}

/* Parts are in the order of the elements. */
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
	uint64_t elements = plan_buffer_logical(b), blocks = (elements + BLOCK - 1) / BLOCK, suspect = 0;
	double *most = MEM_NEW_N(double, blocks + 1);
	struct sums s;
	sum_all(b->type, got, want, elements, (uint8_t)poison, &s, most);
	*ret_compared = (struct wire_compared){ .elements = elements, .max_abs = s.max_abs, .ref_norm = sqrt(s.ref2) };
	ret_compared->error = s.ref2 > 0 ? sqrt(s.diff2) / sqrt(s.ref2) : sqrt(s.diff2);
	struct judge j = {
		.buffer = b,
		.got = got,
		.want = want,
		.elements = elements,
		.slack = 16 * tolerance,
		.most = most,
		.rms = s.finite_refs ? sqrt(s.ref2 / (double)s.finite_refs) : 0,
		.rows = b->rank > 1 ? (uint64_t)b->dims[b->rank - 2] : 1,
		.columns = (uint64_t)b->dims[b->rank - 1],
	};
	j.harmless = dtype_is_float(b->type) ? j.slack * j.rms : 0;
	memset(j.poison, (int)poison, sizeof j.poison);
	for (uint64_t i = 0; i < blocks; i++)
		suspect += is_suspect(&j, i);
	if (suspect <= FEW)
		judge_part(&j, 0, 0, elements); /* faster than starting threads */
	else
		parallel_for(elements, judge_part, &j);
	free(most);
	add_up(&j, ret_compared);
	draw_map(&j, ret_compared);
}

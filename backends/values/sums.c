/* sums: see sums.h. Blocks fit the nearest cache. Floats of 32 bits and fewer are what there is most of: they are summed as vectors, by
 * the same additions in the same order whatever the processor's vectors are. */
#include "backends/values/sums.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/parallel_for.h"

/* |got−want| of one pair, whose values are g and w: 64-bit integers are subtracted as such, or neighbours above 2^53 would look equal. */
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

/* --- vectors -------------------------------------------------------------------------------------------------------- */

typedef double doubles __attribute__((vector_size(32)));
typedef int64_t masks __attribute__((vector_size(32)));
typedef float floats __attribute__((vector_size(16)));
typedef uint16_t halves __attribute__((vector_size(16)));
typedef uint32_t words __attribute__((vector_size(32)));
typedef float wide __attribute__((vector_size(32)));
enum { LANES = 4, CHAINS = 2, STEP = LANES * CHAINS }; /* two chains, so that additions do not wait for each other */

struct chain { doubles diff2, ref2, most2; };

/* As in dtype.c: sign, exponent and fraction keep their places, a multiplication puts the size right, the largest exponent stays so. */
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

static inline __attribute__((always_inline)) void add_all(struct chain *c, enum dtype t, const uint8_t *got, const uint8_t *want)
{
	size_t size = dtype_size(t) * STEP;
	struct chain a = c[0], b = c[1];
	for (size_t i = 0; i < SUMS_BLOCK / STEP; i++) {
		floats g[CHAINS], w[CHAINS];
		load(t, got + i * size, g);
		load(t, want + i * size, w);
		add(&a, &g[0], &w[0]);
		add(&b, &g[1], &w[1]);
	}
	c[0] = a;
	c[1] = b;
}

/* One loop for each type; what a loop does not need is gone from it. */
#define ADD_WHOLE_BLOCK(c, t, got, want) \
	if (t == DTYPE_F32) \
		add_all(c, DTYPE_F32, got, want); \
	else if (t == DTYPE_F16) \
		add_all(c, DTYPE_F16, got, want); \
	else \
		add_all(c, DTYPE_BF16, got, want)

static void add_whole_block(struct chain *c, enum dtype t, const uint8_t *got, const uint8_t *want)
{
	ADD_WHOLE_BLOCK(c, t, got, want);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void add_whole_block_avx2(struct chain *c, enum dtype t, const uint8_t *got, const uint8_t *want)
{
	ADD_WHOLE_BLOCK(c, t, got, want);
}

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}
#else
#define add_whole_block_avx2 add_whole_block
static bool has_avx2(void)
{
	return false;
}
#endif

/* False, and nothing added, when something is not finite. *ret_most: the largest distance. A square's root is the number itself, since
 * squares of such small types neither overflow nor vanish in a double. */
static bool add_vectors(struct sums *s, enum dtype t, bool avx2, const uint8_t *got, const uint8_t *want, double *ret_most)
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
	s->finite_refs += SUMS_BLOCK;
	*ret_most = sqrt(most2);
	return true;
}

/* --- one by one ----------------------------------------------------------------------------------------------------- */

/* Answers the largest distance; infinite when something is not finite. */
static double add_singles(struct sums *s, enum dtype t, const uint8_t *got, const uint8_t *want, size_t n)
{
	double g[SUMS_BLOCK], w[SUMS_BLOCK], most = 0;
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

/* --- all ------------------------------------------------------------------------------------------------------------ */

struct sweep {
	enum dtype type;
	const uint8_t *got, *want;
	uint64_t elements;
	uint8_t poison;
	bool vectors, avx2, finite_poison;
	double *most;
	struct sums parts[PARALLEL_FOR_PARTS]; /* one a cut, so that the total does not depend on who did it */
};

static void sweep_part(void *arg, unsigned k, uint64_t from, uint64_t to)
{
	struct sweep *sweep = arg;
	struct sums *s = &sweep->parts[k];
	size_t size = dtype_size(sweep->type);
	/* A cut's blocks are those that begin in it. */
	for (uint64_t b = (from + SUMS_BLOCK - 1) / SUMS_BLOCK; b * SUMS_BLOCK < to; b++) {
		uint64_t at = b * SUMS_BLOCK;
		size_t n = sweep->elements - at < SUMS_BLOCK ? (size_t)(sweep->elements - at) : SUMS_BLOCK;
		const uint8_t *got = sweep->got + at * size, *want = sweep->want + at * size;
		if (!(sweep->vectors && n == SUMS_BLOCK && add_vectors(s, sweep->type, sweep->avx2, got, want, &sweep->most[b])))
			sweep->most[b] = add_singles(s, sweep->type, got, want, n);
		else if (sweep->most[b] > s->max_abs)
			s->max_abs = sweep->most[b];
		if (sweep->finite_poison && has_poison(got, n, size, sweep->poison))
			sweep->most[b] = INFINITY;
	}
}

void sums_of(enum dtype t, const void *got, const void *want, uint64_t elements, uint8_t poison, struct sums *ret_sums, double *ret_most)
{
	/* 0xFF is NaN in every type of floats, which shows anyway; other integers than the reference's differ, whatever they are. */
	struct sweep sweep = { .type = t, .got = got, .want = want, .elements = elements, .poison = poison, .most = ret_most,
	                       .vectors = t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16, .avx2 = has_avx2(),
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

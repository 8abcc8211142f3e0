/* stream: the declared values of one buffer, each a function of a key and its logical index alone, as doubles. fill.c makes whole
 * buffers of them, special.c the values that the judge's rounds put in their place. Nothing here calls libm, whose last bits differ
 * between machines. */
#ifndef PEAKD_BACKENDS_VALUES_STREAM_H
#define PEAKD_BACKENDS_VALUES_STREAM_H

#include <stdint.h>

#include "backends/wire/plan_buffer.h"

/* How the values of PLAN_PROBABILITIES are spread over a row. */
enum stream_weights {
	STREAM_EVEN,   /* as declared: none is much larger than its neighbours */
	STREAM_WIDE,   /* magnitudes from 2^-20 on, or of a whole column from 2^-38 on (narrow types: 2^-12) */
	STREAM_HOLES,  /* one of eight is zero */
	STREAM_EQUAL,  /* all, or one of two, four or eight, are equal and the others zero; in all arrays alike */
	STREAM_POINTED /* nearly all of a row, or all, is in one column, often the first or the last */
};

struct stream {
	const struct plan_buffer *buffer; /* of the type that values are rounded to first */
	uint64_t key;
	uint64_t columns, rows; /* logical; rows: all but the last extent */
	double lo, width;       /* of PLAN_RANDOM and PLAN_SORTED */
	uint64_t seed;          /* the same in all buffers */
	uint64_t name;          /* the same for all seeds */
	const struct plan_immediates *immediates; /* borrowed; NULL: none */
};

/* The stream of a buffer (borrowed) for a seed. */
struct stream stream_of(const struct plan_buffer *b, uint64_t seed);
/* Elements of the buffer's fill from logical index `first` on, before they are rounded; in a closed domain they are inside. Uniform
 * ones may differ from the declared values in the last bits (stream_declared). */
void stream_values(const struct stream *s, uint64_t first, double *to, size_t n);
/* The same, but rounded they are the very values that fill_buffer stores. */
void stream_declared(const struct stream *s, uint64_t first, double *to, size_t n);
/* Elements of PLAN_PROBABILITIES with other weights. */
void stream_probabilities(const struct stream *s, uint64_t first, enum stream_weights weights, double *to, size_t n);
/* Where a random permutation of 0 … count-1 puts i. */
uint64_t stream_permuted(uint64_t key, uint64_t count, uint64_t i);
/* From where on an iota of this type begins again, as it could not count on exactly. */
double stream_period(enum dtype t);

static inline uint64_t stream_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* SplitMix64's i-th output (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014; constants of its
 * public-domain reference by S. Vigna), which is a function of a counter alone. */
static inline uint64_t stream_random(uint64_t key, uint64_t counter)
{
	return stream_mix(key + (counter + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* [0,1) in steps of 2^-53. */
static inline double stream_unit(uint64_t bits)
{
	return (double)(int64_t)(bits >> 11) * 0x1p-53;
}

/* Uniform values of f32, f16 and bf16, in steps of 2^-24, so that [0,1) and [-1,1) need no rounding. */
static inline float stream_uniform(const struct stream *s, uint64_t i)
{
	return (float)(s->lo + (double)(int32_t)(stream_random(s->key, i) >> 40) * (s->width * 0x1p-24));
}

#endif

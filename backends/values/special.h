/* special: the values that the judge's rounds put in place of declared ones (enum plan_values). Each is a function of the stream's
 * key and the logical index, and none is outside of a closed domain. fill.c calls it. */
#ifndef PEAKD_BACKENDS_VALUES_SPECIAL_H
#define PEAKD_BACKENDS_VALUES_SPECIAL_H

#include "backends/values/stream.h"

/* n elements from logical index `first` on, as doubles that are yet to be rounded; only where plan_values_apply. */
void special_values(const struct stream *s, enum plan_values values, uint64_t first, double *to, size_t n);
/* The key of a perturbation's ξ: of the buffer, or of all buffers where equal values move alike. */
static inline uint64_t special_key(const struct stream *s, enum plan_values values, uint64_t seed, uint64_t perturbation)
{
	return stream_mix((values == PLAN_COINCIDING ? stream_mix(seed) : s->key) + perturbation);
}
/* Whether the buffer may hold this number; rounded, where it is floating. */
bool special_holds(const struct plan_buffer *b, double v);
/* Element i, which is v, moved to v·(1 + amplitude·ξ), inside of a closed domain. ξ is uniform in [-1,1) by its own key; equal rows
 * of PLAN_TIES and equal values of PLAN_COINCIDING move alike, so that their difference stays zero. */
double special_moved(const struct stream *s, enum plan_values values, uint64_t key, double amplitude, uint64_t i, double v);
/* Whether PLAN_RUNS gives this buffer infinities, PLAN_PATTERNS one end throughout, PLAN_BLANK zeros, and PLAN_NATURAL a mask that
 * is added: one of four by seed, so that a seed can be found that chooses one alone. */
static inline bool special_takes(const struct stream *s)
{
	return s->key % 4 == 0;
}
/* PLAN_PATTERNS, PLAN_FAINT and PLAN_SEGMENTS: what stands at element i, which is declared as v. */
double special_pattern(const struct stream *s, enum plan_values values, uint64_t i, double v);
/* PLAN_NATURAL. */
double special_natural(const struct stream *s, uint64_t i, double v);
/* Kinds of plan_values_whole in an integer buffer: the lowest bytes of each number are the element. Doubles do not hold 64 bits. */
void special_integers(const struct stream *s, enum plan_values values, uint64_t first, uint64_t *to, size_t n);

#endif

/* shuffle: Fisher-Yates, one step at a time, on SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
 * generators", OOPSLA 2014); see shuffle.h. */
#include "core/search/shuffle.h"

#include <stdlib.h>

#include "base/mem.h"

static uint64_t draw_bits(struct shuffle *s)
{
	uint64_t z = s->state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

void search_shuffle_init(struct shuffle *s, size_t count, uint64_t seed)
{
	*s = (struct shuffle){ .order = MEM_NEW_N(size_t, count + 1), .count = count, .state = seed };
	for (size_t i = 0; i < count; i++)
		s->order[i] = i;
}

void search_shuffle_fini(struct shuffle *s)
{
	free(s->order);
	s->order = NULL;
}

size_t search_shuffle_below(struct shuffle *s, size_t n)
{
	/* Multiply-shift; its bias of n/2^64 is nothing here. */
	return (size_t)(((__uint128_t)draw_bits(s) * n) >> 64);
}

double search_shuffle_uniform(struct shuffle *s)
{
	return (double)search_shuffle_below(s, (size_t)1 << 52) / (double)((size_t)1 << 52);
}

size_t search_shuffle_draw(struct shuffle *s)
{
	if (s->next >= s->count)
		return SIZE_MAX;
	size_t j = s->next + search_shuffle_below(s, s->count - s->next), point = s->order[j];
	s->order[j] = s->order[s->next];
	s->order[s->next++] = point;
	return point;
}

/* shuffle: a seeded random order of 0 … n-1, drawn lazily: what strategies that need "some other point" share. */
#ifndef PEAKD_CORE_SEARCH_SHUFFLE_H
#define PEAKD_CORE_SEARCH_SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

struct shuffle {
	size_t *order;    /* the part before `next` is drawn */
	size_t count, next;
	uint64_t state;   /* of the generator */
};

void search_shuffle_init(struct shuffle *s, size_t count, uint64_t seed);
void search_shuffle_fini(struct shuffle *s);
/* The next one; SIZE_MAX when all were drawn. */
size_t search_shuffle_draw(struct shuffle *s);
/* A number below n (n ≥ 1), from the same generator. */
size_t search_shuffle_below(struct shuffle *s, size_t n);
/* 0 ≤ number < 1, from the same generator. */
double search_shuffle_uniform(struct shuffle *s);

#endif

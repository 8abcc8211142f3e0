/* past: what the strategies that walk and breed share: the grid, a generator, what was proposed and what became of it. */
#ifndef PEAKD_CORE_EVAL_SEARCH_PAST_H
#define PEAKD_CORE_EVAL_SEARCH_PAST_H

#include "core/eval/search/grid.h"

struct search_past {
	struct search_grid grid;
	struct shuffle random;
	unsigned char *taken;     /* per point: proposed by this strategy, or told to it */
	struct search_told { size_t point; double ns; } *told; /* fastest first; failures, INFINITY, at the end */
	size_t told_count;
};

void search_past_init(struct search_past *p, const struct search_space *space, uint64_t seed);
void search_past_fini(struct search_past *p);
/* `point` if nobody has proposed it, else some random point that is left; SEARCH_NONE when none is. Takes it. */
size_t search_past_take(struct search_past *p, size_t point);
/* The same, but first tries points that differ from `point` in at most `places` dimensions. */
size_t search_past_take_near(struct search_past *p, size_t point, size_t places);
void search_past_tell(struct search_past *p, size_t point, double ns);
/* One of the `best` fastest, the better of two draws; SEARCH_NONE before anything was told. */
size_t search_past_pick(struct search_past *p, size_t best);
/* 0 ≤ number < 1. */
double search_past_uniform(struct search_past *p);

#endif

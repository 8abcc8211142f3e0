/* past: what the strategies that walk and breed share: the grid, a generator, what was proposed and what became of it. */
#ifndef PEAKD_CORE_SEARCH_PAST_H
#define PEAKD_CORE_SEARCH_PAST_H

#include "core/search/grid.h"

struct search_past {
	struct search_grid grid;
	struct shuffle random;
	unsigned char *taken;     /* per point: proposed by this strategy, or told to it */
	struct search_told { size_t point; double ns; } *told; /* fastest first; failures, INFINITY, at the end */
	size_t told_count;
	size_t bred;              /* times that search_past_breed was asked */
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
/* What the strategies that breed share: random points until `starts` were asked for and a few told, then what `breed` makes (one
 * value index per dimension of the grid; the point with them, or SEARCH_NONE), then something near one of the `population` best. */
size_t search_past_breed(struct search_past *p, size_t starts, size_t population, size_t (*breed)(struct search_past *p, uint16_t *indices));
/* The functions of a strategy whose whole state is its past. */
void *search_past_start(const struct search_space *space, size_t budget, uint64_t seed);
void search_past_told(void *past, size_t point, double ns);
void search_past_end(void *past);

#endif

/* past: see past.h. */
#include "core/search/past.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { NEAR_TRIES = 16, BREED_TRIES = 16, PARENTS = 4 };

void search_past_init(struct search_past *p, const struct search_space *space, uint64_t seed)
{
	*p = (struct search_past){ .told = NULL };
	search_grid_init(&p->grid, space);
	search_shuffle_init(&p->random, space->count, seed);
	p->taken = MEM_NEW_N(unsigned char, space->count + 1);
}

void search_past_fini(struct search_past *p)
{
	search_grid_fini(&p->grid);
	search_shuffle_fini(&p->random);
	free(p->taken);
	free(p->told);
	p->taken = NULL;
	p->told = NULL;
}

size_t search_past_take(struct search_past *p, size_t point)
{
	while (point == SEARCH_NONE || p->taken[point]) {
		point = search_shuffle_draw(&p->random);
		if (point == SEARCH_NONE)
			return SEARCH_NONE;
	}
	p->taken[point] = 1;
	return point;
}

size_t search_past_take_near(struct search_past *p, size_t point, size_t places)
{
	size_t found = SEARCH_NONE;
	for (int i = 0; point != SEARCH_NONE && i < NEAR_TRIES && (found == SEARCH_NONE || p->taken[found]); i++)
		found = search_grid_jump(&p->grid, &p->random, point, places);
	return search_past_take(p, found);
}

void search_past_tell(struct search_past *p, size_t point, double ns)
{
	size_t at = p->told_count;
	p->taken[point] = 1;
	MEM_PUSH(p->told, p->told_count);
	while (at > 0 && ns < p->told[at - 1].ns) {
		p->told[at] = p->told[at - 1];
		at--;
	}
	p->told[at] = (struct search_told){ point, ns };
}

size_t search_past_pick(struct search_past *p, size_t best)
{
	size_t n = p->told_count < best ? p->told_count : best;
	if (n == 0)
		return SEARCH_NONE;
	size_t a = search_shuffle_below(&p->random, n), b = search_shuffle_below(&p->random, n);
	return p->told[a < b ? a : b].point;
}

size_t search_past_breed(struct search_past *p, size_t starts, size_t population, size_t (*breed)(struct search_past *p, uint16_t *indices))
{
	size_t found = SEARCH_NONE;
	if (p->bred++ < starts || p->told_count < PARENTS)
		return search_past_take(p, SEARCH_NONE);
	uint16_t *indices = MEM_NEW_N(uint16_t, p->grid.dims + 1);
	for (int i = 0; i < BREED_TRIES && (found == SEARCH_NONE || p->taken[found]); i++)
		found = breed(p, indices);
	free(indices);
	if (found == SEARCH_NONE || p->taken[found])
		return search_past_take_near(p, search_past_pick(p, population), 2);
	return search_past_take(p, found);
}

void *search_past_start(const struct search_space *space, size_t budget, uint64_t seed)
{
	struct search_past *p = MEM_NEW(struct search_past);
	search_past_init(p, space, seed);
	(void)budget;
	return p;
}

void search_past_told(void *past, size_t point, double ns)
{
	search_past_tell(past, point, ns);
}

void search_past_end(void *past)
{
	search_past_fini(past);
	free(past);
}

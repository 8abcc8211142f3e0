/* genetic: a steady state instead of generations, so that several points may be out at once; see genetic.h. */
#include "core/search/genetic.h"

#include "core/search/past.h"

enum { POPULATION = 20 };

/* Each value from one parent or the other; one in `dims` values is drawn anew. */
static size_t child(struct search_past *p, uint16_t *indices)
{
	const struct search_grid *grid = &p->grid;
	size_t a = search_past_pick(p, POPULATION), b = search_past_pick(p, POPULATION);
	for (size_t d = 0; d < grid->dims; d++) {
		indices[d] = search_grid_index(grid, search_shuffle_below(&p->random, 2) ? a : b, d);
		if (search_shuffle_below(&p->random, grid->dims) == 0)
			indices[d] = (uint16_t)search_shuffle_below(&p->random, grid->sizes[d]);
	}
	return search_grid_find(grid, indices);
}

static size_t ask(void *state)
{
	return search_past_breed(state, POPULATION, POPULATION, child);
}

const struct search_strategy search_genetic = {
	.name = "genetic", .summary = "children of two of the fastest, with mutations", .start = search_past_start, .ask = ask, .tell = search_past_told, .end = search_past_end,
};

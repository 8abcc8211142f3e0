/* genetic: a steady state instead of generations, so that several points may be out at once; see genetic.h. */
#include "core/eval/search/genetic.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/eval/search/past.h"

enum { POPULATION = 20, TRIES = 16 };

struct state {
	struct search_past past;
	size_t asked;
};

static void *start(const struct search_space *space, size_t budget, uint64_t seed)
{
	struct state *s = MEM_NEW(struct state);
	search_past_init(&s->past, space, seed);
	(void)budget;
	return s;
}

/* Each value from one parent or the other; one in `dims` values is drawn anew. */
static size_t child(struct state *s, uint16_t *indices)
{
	const struct search_grid *grid = &s->past.grid;
	size_t a = search_past_pick(&s->past, POPULATION), b = search_past_pick(&s->past, POPULATION);
	for (size_t d = 0; d < grid->dims; d++) {
		indices[d] = search_grid_index(grid, search_shuffle_below(&s->past.random, 2) ? a : b, d);
		if (search_shuffle_below(&s->past.random, grid->dims) == 0)
			indices[d] = (uint16_t)search_shuffle_below(&s->past.random, grid->sizes[d]);
	}
	return search_grid_find(grid, indices);
}

static size_t ask(void *state)
{
	struct state *s = state;
	size_t found = SEARCH_NONE;
	if (s->asked++ < POPULATION || s->past.told_count < 2)
		return search_past_take(&s->past, SEARCH_NONE);
	uint16_t *indices = MEM_NEW_N(uint16_t, s->past.grid.dims + 1);
	for (int i = 0; i < TRIES && (found == SEARCH_NONE || s->past.taken[found]); i++)
		found = child(s, indices);
	free(indices);
	if (found == SEARCH_NONE || s->past.taken[found])
		return search_past_take_near(&s->past, search_past_pick(&s->past, POPULATION), 2);
	return search_past_take(&s->past, found);
}

static void tell(void *state, size_t point, double ns)
{
	struct state *s = state;
	search_past_tell(&s->past, point, ns);
}

static void end(void *state)
{
	struct state *s = state;
	search_past_fini(&s->past);
	free(s);
}

const struct search_strategy search_genetic = {
	.name = "genetic", .summary = "children of two of the fastest, with mutations", .start = start, .ask = ask, .tell = tell, .end = end,
};

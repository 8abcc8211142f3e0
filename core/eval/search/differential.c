/* differential: Storn and Price, "Differential evolution" (J. Global Optimization 11, 1997), best/1/bin with the fastest told as the
 * population; steps are rounded to values that exist; see differential.h. */
#include "core/eval/search/differential.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/eval/search/past.h"

#define FORCE 0.7
#define CROSSOVER 0.7
enum { POPULATION = 16, TRIES = 16 };

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

static size_t mutant(struct state *s, uint16_t *indices)
{
	const struct search_grid *grid = &s->past.grid;
	size_t target = search_past_pick(&s->past, POPULATION), base = search_past_pick(&s->past, POPULATION / 4);
	size_t a = search_past_pick(&s->past, POPULATION), b = search_past_pick(&s->past, POPULATION);
	size_t sure = search_shuffle_below(&s->past.random, grid->dims + 1);
	for (size_t d = 0; d < grid->dims; d++) {
		double step = (double)search_grid_index(grid, a, d) - (double)search_grid_index(grid, b, d);
		/* Half a step of noise: rounding would else stop every small difference. */
		double value = round(search_grid_index(grid, base, d) + FORCE * step + search_past_uniform(&s->past) - 0.5);
		indices[d] = search_grid_index(grid, target, d);
		if (d == sure || search_past_uniform(&s->past) < CROSSOVER)
			indices[d] = (uint16_t)fmin(fmax(value, 0), (double)(grid->sizes[d] - 1));
	}
	return search_grid_find(grid, indices);
}

static size_t ask(void *state)
{
	struct state *s = state;
	size_t found = SEARCH_NONE;
	if (s->asked++ < POPULATION || s->past.told_count < 4)
		return search_past_take(&s->past, SEARCH_NONE);
	uint16_t *indices = MEM_NEW_N(uint16_t, s->past.grid.dims + 1);
	for (int i = 0; i < TRIES && (found == SEARCH_NONE || s->past.taken[found]); i++)
		found = mutant(s, indices);
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

const struct search_strategy search_differential = {
	.name = "differential", .summary = "the fastest plus scaled differences of others", .start = start, .ask = ask, .tell = tell, .end = end,
};

/* differential: Storn and Price, "Differential evolution" (J. Global Optimization 11, 1997), best/1/bin with the fastest told as the
 * population; steps are rounded to values that exist; see differential.h. */
#include "core/search/differential.h"

#include <math.h>

#include "core/search/past.h"

#define FORCE 0.7
#define CROSSOVER 0.7
enum { POPULATION = 16 };

static size_t mutant(struct search_past *p, uint16_t *indices)
{
	const struct search_grid *grid = &p->grid;
	size_t target = search_past_pick(p, POPULATION), base = search_past_pick(p, POPULATION / 4);
	size_t a = search_past_pick(p, POPULATION), b = search_past_pick(p, POPULATION);
	size_t sure = search_shuffle_below(&p->random, grid->dims + 1);
	for (size_t d = 0; d < grid->dims; d++) {
		double step = (double)search_grid_index(grid, a, d) - (double)search_grid_index(grid, b, d);
		/* Half a step of noise: rounding would else stop every small difference. */
		double value = round(search_grid_index(grid, base, d) + FORCE * step + search_shuffle_uniform(&p->random) - 0.5);
		indices[d] = search_grid_index(grid, target, d);
		if (d == sure || search_shuffle_uniform(&p->random) < CROSSOVER)
			indices[d] = (uint16_t)fmin(fmax(value, 0), (double)(grid->sizes[d] - 1));
	}
	return search_grid_find(grid, indices);
}

static size_t ask(void *state)
{
	return search_past_breed(state, POPULATION, POPULATION, mutant);
}

const struct search_strategy search_differential = {
	.name = "differential", .summary = "the fastest plus scaled differences of others", .start = search_past_start, .ask = ask, .tell = search_past_told, .end = search_past_end,
};

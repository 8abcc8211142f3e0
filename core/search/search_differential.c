/* search_differential: Storn and Price, "Differential evolution" (J. Global Optimization 11, 1997), best/1/bin with
 * the fastest points as the population, and steps rounded to existing values. A proposal costs microseconds. See
 * search.h. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/search/grid.h"

#define FORCE 0.7
#define CROSSOVER 0.7
enum { POPULATION = 16, TRIES = 16, ENOUGH = 4 };

struct state {
	struct search_grid grid;
	struct search_shuffle random;
	unsigned char *taken; /* per point: proposed by this strategy, or told to it */
	struct told {
		size_t point;
		double ns;
	} * told; /* fastest first; failures, INFINITY, at the end */
	size_t told_count;
	size_t asked;
};

static void *start(const struct search_space *space, size_t budget, uint64_t seed)
{
	struct state *s = MEM_NEW(struct state);
	search_grid_init(&s->grid, space);
	search_shuffle_init(&s->random, space->count, seed);
	s->taken = MEM_NEW_N(unsigned char, space->count + 1);
	(void)budget;
	return s;
}

static void end(void *state)
{
	struct state *s = state;
	search_grid_fini(&s->grid);
	search_shuffle_fini(&s->random);
	free(s->taken);
	free(s->told);
	free(s);
}

/* One of the `best` fastest, the better of two draws. */
static size_t pick(struct state *s, size_t best)
{
	size_t n = s->told_count < best ? s->told_count : best;
	size_t a = search_shuffle_below(&s->random, n), b = search_shuffle_below(&s->random, n);
	return s->told[a < b ? a : b].point;
}

/* Random points first; then mutants, or else something near one of the fastest, or else random points again. */
static size_t ask(void *state)
{
	struct state *s = state;
	size_t point = SEARCH_NONE;
	if (s->asked++ >= POPULATION && s->told_count >= ENOUGH) {
		uint16_t *indices = MEM_NEW_N(uint16_t, s->grid.dims + 1);
		for (int i = 0; i < TRIES && (point == SEARCH_NONE || s->taken[point]); i++) {
			/* A fast point plus the scaled difference of two others, crossed with a third. */
			const struct search_grid *grid = &s->grid;
			size_t target = pick(s, POPULATION), base = pick(s, POPULATION / 4), a = pick(s, POPULATION),
			       b = pick(s, POPULATION);
			size_t always = search_shuffle_below(&s->random, grid->dims + 1);
			for (size_t d = 0; d < grid->dims; d++) {
				double step = (double)search_grid_index(grid, a, d) - (double)search_grid_index(grid, b, d);
				/* Half a step of noise, because rounding would remove every small difference. */
				double value = round(search_grid_index(grid, base, d) + FORCE * step +
						     search_shuffle_uniform(&s->random) - 0.5);
				indices[d] = search_grid_index(grid, target, d);
				if (d == always || search_shuffle_uniform(&s->random) < CROSSOVER)
					indices[d] = (uint16_t)fmin(fmax(value, 0), (double)(grid->sizes[d] - 1));
			}
			point = search_grid_find(grid, indices);
		}
		free(indices);
		size_t centre = pick(s, POPULATION);
		for (int i = 0; i < TRIES && (point == SEARCH_NONE || s->taken[point]); i++)
			point = search_grid_jump(&s->grid, &s->random, centre, 2);
	}
	while (point == SEARCH_NONE || s->taken[point]) {
		point = search_shuffle_draw(&s->random);
		if (point == SEARCH_NONE)
			return SEARCH_NONE;
	}
	s->taken[point] = 1;
	return point;
}

static void tell(void *state, size_t point, double ns)
{
	struct state *s = state;
	size_t at = s->told_count;
	s->taken[point] = 1;
	MEM_PUSH(s->told, s->told_count);
	for (; at > 0 && ns < s->told[at - 1].ns; at--)
		s->told[at] = s->told[at - 1];
	s->told[at] = (struct told){ point, ns };
}

const struct search_strategy search_differential = {
	.name = "differential",
	.start = start,
	.ask = ask,
	.tell = tell,
	.end = end,
};

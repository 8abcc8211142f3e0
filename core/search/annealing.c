/* annealing: Kirkpatrick, Gelatt, Vecchi, "Optimization by simulated annealing" (Science 220, 1983), on the logarithms of the times;
 * see annealing.h. */
#include "core/search/annealing.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/search/past.h"

/* Factors in time that are accepted with probability 1/e at the beginning and at the end of the budget. */
#define HOT 0.5
#define COLD 0.01

struct state {
	struct search_past past;
	size_t budget, told;
	size_t current;
	double current_ns;
};

static void *start(const struct search_space *space, size_t budget, uint64_t seed)
{
	struct state *s = MEM_NEW(struct state);
	search_past_init(&s->past, space, seed);
	s->budget = budget;
	s->current = SEARCH_NONE;
	s->current_ns = INFINITY;
	return s;
}

static size_t ask(void *state)
{
	struct state *s = state;
	return search_past_take_near(&s->past, s->current, 1);
}

static void tell(void *state, size_t point, double ns)
{
	struct state *s = state;
	double done = s->budget ? fmin(1, (double)s->told / (double)s->budget) : 1;
	double temperature = HOT * pow(COLD / HOT, done);
	search_past_tell(&s->past, point, ns);
	s->told++;
	if (!isfinite(ns))
		return;
	if (ns <= s->current_ns || search_shuffle_uniform(&s->past.random) < exp(-log(ns / s->current_ns) / temperature)) {
		s->current = point;
		s->current_ns = ns;
	}
}

static void end(void *state)
{
	struct state *s = state;
	search_past_fini(&s->past);
	free(s);
}

const struct search_strategy search_annealing = {
	.name = "annealing", .summary = "a walk that accepts slower points ever more rarely", .start = start, .ask = ask, .tell = tell, .end = end,
};

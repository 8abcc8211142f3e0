/* bandit: the area-under-the-curve bandit of OpenTuner (Ansel et al., "OpenTuner", PACT 2014, section 3.2.1): an arm's credit is
 * how lately its proposals were new bests, plus a share for arms seldom tried. All arms are told every result; see bandit.h. */
#include "core/search/bandit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/search/annealing.h"
#include "core/search/differential.h"
#include "core/search/genetic.h"
#include "core/search/random.h"
#include "core/search/tabu.h"

#define EXPLORE 0.05
enum { WINDOW = 100, MIX_SEED = 7919 };

static const struct search_strategy *const arms[] = {
	&search_differential, &search_genetic, &search_tabu, &search_annealing, &search_random,
};

struct state {
	void *arm[MEM_COUNT(arms)];
	unsigned char *owner;    /* per point: 1 + the arm that proposed it */
	struct { unsigned char arm, better; } window[WINDOW]; /* the latest results, a ring */
	size_t told;
	double best;
};

static void *start(const struct search_space *space, size_t budget, uint64_t seed)
{
	struct state *s = MEM_NEW(struct state);
	for (size_t i = 0; i < MEM_COUNT(arms); i++)
		s->arm[i] = arms[i]->start(space, budget, seed + i * MIX_SEED);
	s->owner = MEM_NEW_N(unsigned char, space->count + 1);
	s->best = INFINITY;
	return s;
}

static void end(void *state)
{
	struct state *s = state;
	for (size_t i = 0; i < MEM_COUNT(arms); i++)
		arms[i]->end(s->arm[i]);
	free(s->owner);
	free(s);
}

/* Credit of an arm: uses weighted by their order, new bests counted, over the most it could be. */
static double credit(const struct state *s, size_t arm)
{
	size_t n = s->told < WINDOW ? s->told : WINDOW, uses = 0, sum = 0;
	for (size_t i = 0; i < n; i++) {
		size_t at = (s->told - n + i) % WINDOW;
		if (s->window[at].arm != arm)
			continue;
		uses++;
		sum += s->window[at].better ? uses : 0;
	}
	if (uses == 0)
		return INFINITY;
	return 2.0 * (double)sum / (double)(uses * (uses + 1)) + EXPLORE * sqrt(2 * log((double)n + 1) / (double)uses);
}

static size_t ask(void *state)
{
	struct state *s = state;
	double credits[MEM_COUNT(arms)];
	for (size_t i = 0; i < MEM_COUNT(arms); i++)
		credits[i] = credit(s, i);
	for (size_t tries = 0; tries < MEM_COUNT(arms); tries++) {
		size_t arm = 0;
		for (size_t i = 1; i < MEM_COUNT(arms); i++)
			if (credits[i] > credits[arm])
				arm = i;
		size_t point = arms[arm]->ask(s->arm[arm]);
		while (point != SEARCH_NONE && s->owner[point])
			point = arms[arm]->ask(s->arm[arm]);
		if (point != SEARCH_NONE) {
			s->owner[point] = (unsigned char)(arm + 1);
			return point;
		}
		credits[arm] = -INFINITY;
	}
	return SEARCH_NONE;
}

static void tell(void *state, size_t point, double ns)
{
	struct state *s = state;
	for (size_t i = 0; i < MEM_COUNT(arms); i++)
		arms[i]->tell(s->arm[i], point, ns);
	if (s->owner[point]) {
		s->window[s->told % WINDOW].arm = (unsigned char)(s->owner[point] - 1);
		s->window[s->told % WINDOW].better = ns < s->best;
		s->told++;
	}
	s->owner[point] = s->owner[point] ? s->owner[point] : UINT8_MAX;
	s->best = fmin(s->best, ns);
}

const struct search_strategy search_bandit = {
	.name = "bandit", .summary = "several strategies, by what each has lately found", .start = start, .ask = ask, .tell = tell,
	.end = end,
};

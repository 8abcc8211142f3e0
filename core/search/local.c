/* local: a third of the budget at random, then points near the best ones: those whose coordinates differ from an
 * incumbent's in one place by one step, then in one place by any step, then anything; see local.h. Every fourth proposal stays
 * random, so that a bad start is left behind. */
#include "core/search/local.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/search/shuffle.h"

enum { INCUMBENTS = 4, FAR = 1000000 };

struct state {
	const struct search_space *space;
	struct shuffle random;
	unsigned char *taken;    /* per point: proposed already */
	size_t explore;          /* proposals that are random at first */
	size_t proposed;
	size_t best[INCUMBENTS]; /* fastest first */
	double best_ns[INCUMBENTS];
	size_t best_count;
};

static void *start(const struct search_space *space, size_t budget, uint64_t seed)
{
	struct state *s = MEM_NEW(struct state);
	s->space = space;
	search_shuffle_init(&s->random, space->count, seed);
	s->taken = MEM_NEW_N(unsigned char, space->count + 1);
	s->explore = budget / 3 > 4 ? budget / 3 : 4;
	return s;
}

static void end(void *state)
{
	struct state *s = state;
	search_shuffle_fini(&s->random);
	free(s->taken);
	free(s);
}

static size_t draw(struct state *s)
{
	size_t point;
	do
		point = search_shuffle_draw(&s->random);
	while (point != SEARCH_NONE && s->taken[point]);
	return point;
}

/* How far apart two points are: coordinates that differ count much, steps within them little. */
static int distance(const struct search_space *space, size_t a, size_t b)
{
	int places = 0, steps = 0;
	for (size_t d = 0; d < space->dims; d++) {
		int step = abs((int)space->points[a * space->dims + d] - (int)space->points[b * space->dims + d]);
		places += step != 0;
		steps += step;
	}
	return places * 64 + (steps < 63 ? steps : 63);
}

static size_t nearest(struct state *s)
{
	size_t found = SEARCH_NONE;
	int found_cost = FAR;
	for (size_t p = 0; p < s->space->count; p++) {
		if (s->taken[p])
			continue;
		for (size_t i = 0; i < s->best_count; i++) {
			/* A worse incumbent's neighbours come a little later. */
			int cost = distance(s->space, p, s->best[i]) * 4 + (int)i * 3;
			if (cost < found_cost) {
				found_cost = cost;
				found = p;
			}
		}
	}
	return found;
}

static size_t ask(void *state)
{
	struct state *s = state;
	size_t point = SEARCH_NONE;
	if (s->proposed >= s->explore && s->best_count > 0 && s->proposed % 4 != 3)
		point = nearest(s);
	if (point == SEARCH_NONE)
		point = draw(s);
	if (point == SEARCH_NONE)
		return SEARCH_NONE;
	s->taken[point] = 1;
	s->proposed++;
	return point;
}

static void tell(void *state, size_t point, double ns)
{
	struct state *s = state;
	s->taken[point] = 1;
	if (!isfinite(ns))
		return;
	size_t at = s->best_count;
	while (at > 0 && ns < s->best_ns[at - 1])
		at--;
	if (at >= INCUMBENTS)
		return;
	if (s->best_count < INCUMBENTS)
		s->best_count++;
	memmove(&s->best[at + 1], &s->best[at], (s->best_count - 1 - at) * sizeof s->best[0]);
	memmove(&s->best_ns[at + 1], &s->best_ns[at], (s->best_count - 1 - at) * sizeof s->best_ns[0]);
	s->best[at] = point;
	s->best_ns[at] = ns;
}

const struct search_strategy search_local = {
	.name = "local", .summary = "random points, then neighbours of the best", .start = start, .ask = ask, .tell = tell, .end = end,
};

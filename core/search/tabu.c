/* tabu: Glover, "Tabu search" (ORSA J. Computing 1, 1989); every point that was tried is tabu, for a measurement is never repeated;
 * see tabu.h. */
#include "core/search/tabu.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/search/past.h"

enum { STARTS = 8, SAMPLE = 8, STUCK = 4 };

struct state {
	struct search_past past;
	size_t asked, current;
	size_t round;            /* neighbours of current that were told */
	size_t next;             /* the fastest of them */
	double next_ns, best;
	size_t barren;           /* rounds without a new best */
};

static void *start(const struct search_space *space, size_t budget, uint64_t seed)
{
	struct state *s = MEM_NEW(struct state);
	search_past_init(&s->past, space, seed);
	s->current = s->next = SEARCH_NONE;
	s->next_ns = s->best = INFINITY;
	(void)budget;
	return s;
}

static size_t ask(void *state)
{
	struct state *s = state;
	if (s->asked++ < STARTS)
		return search_past_take(&s->past, SEARCH_NONE);
	return search_past_take_near(&s->past, s->current == SEARCH_NONE ? search_past_pick(&s->past, 1) : s->current, 1);
}

static void move(struct state *s)
{
	s->barren = s->next_ns < s->best ? 0 : s->barren + 1;
	s->best = fmin(s->best, s->next_ns);
	s->current = s->next;
	/* A walk that leads nowhere begins again at one of the fastest. */
	if (s->barren >= STUCK || s->current == SEARCH_NONE) {
		s->current = search_past_pick(&s->past, STARTS);
		s->barren = 0;
	}
	s->next = SEARCH_NONE;
	s->next_ns = INFINITY;
	s->round = 0;
}

static void tell(void *state, size_t point, double ns)
{
	struct state *s = state;
	search_past_tell(&s->past, point, ns);
	s->round++;
	if (ns < s->next_ns) {
		s->next = point;
		s->next_ns = ns;
	}
	if (s->round >= SAMPLE)
		move(s);
}

static void end(void *state)
{
	struct state *s = state;
	search_past_fini(&s->past);
	free(s);
}

const struct search_strategy search_tabu = {
	.name = "tabu", .summary = "always on to the best neighbour, never back", .start = start, .ask = ask, .tell = tell, .end = end,
};

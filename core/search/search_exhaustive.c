/* search_exhaustive: every point, in order; see search.h. */
#include <stdlib.h>

#include "base/mem.h"
#include "core/search/search.h"

struct state {
	size_t next, count;
};

static void *start(const struct search_space *space, size_t budget, uint64_t seed)
{
	struct state *s = MEM_NEW(struct state);
	s->count = space->count;
	(void)budget;
	(void)seed;
	return s;
}

static size_t ask(void *state)
{
	struct state *s = state;
	return s->next < s->count ? s->next++ : SEARCH_NONE;
}

static void tell(void *state, size_t point, double ns)
{
	(void)state;
	(void)point;
	(void)ns;
}

const struct search_strategy search_exhaustive = { .name = "exhaustive", .start = start, .ask = ask, .tell = tell, .end = free };

/* search_order: strategies that learn nothing: "exhaustive", every point in order, and "random", uniform without replacement, the
 * baseline that every other strategy must beat; see search.h. */
#include <stdlib.h>

#include "base/mem.h"
#include "core/search/search.h"

static void *start(const struct search_space *space, size_t budget, uint64_t seed)
{
	struct search_shuffle *s = MEM_NEW(struct search_shuffle);
	search_shuffle_init(s, space->count, seed);
	(void)budget;
	return s;
}

static size_t ask_next(void *state)
{
	struct search_shuffle *s = state;
	return s->next < s->count ? s->next++ : SEARCH_NONE;
}

static size_t ask_any(void *state)
{
	return search_shuffle_draw(state);
}

static void tell(void *state, size_t point, double ns)
{
	(void)state;
	(void)point;
	(void)ns;
}

static void end(void *state)
{
	search_shuffle_fini(state);
	free(state);
}

const struct search_strategy search_order_all = { .name = "exhaustive", .start = start, .ask = ask_next, .tell = tell, .end = end };
const struct search_strategy search_order_random = { .name = "random", .start = start, .ask = ask_any, .tell = tell, .end = end };

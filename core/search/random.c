/* random: uniform sampling without replacement; see random.h. What every other strategy must beat. */
#include "core/search/random.h"

#include <stdlib.h>

#include "base/mem.h"
#include "core/search/shuffle.h"

static void *start(const struct search_space *space, size_t budget, uint64_t seed)
{
	struct shuffle *s = MEM_NEW(struct shuffle);
	search_shuffle_init(s, space->count, seed);
	(void)budget;
	return s;
}

static size_t ask(void *state)
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

const struct search_strategy search_random = {
	.name = "random", .summary = "uniform, without replacement", .start = start, .ask = ask, .tell = tell, .end = end,
};

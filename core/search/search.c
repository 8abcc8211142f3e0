/* search: the table of strategies, and what they share: the budget, preferred points, no point twice, random
 * numbers; see search.h. */
#include "core/search/search.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"

static const struct search_strategy *const strategies[] = {
	&search_bayes,
	&search_differential,
	&search_order_random,
	&search_order_all,
};

struct search {
	const struct search_strategy *strategy;
	void *state;
	size_t points, left;  /* points of the space; evaluations left of the budget */
	unsigned char *asked; /* per point */
	size_t *preferred;
	size_t preferred_count, preferred_next;
};

/* NULL with an error that lists all. */
static const struct search_strategy *find(const char *name, struct err *e)
{
	const struct search_strategy *found = NULL;
	struct buf names = BUF_INIT;
	for (size_t i = 0; i < MEM_COUNT(strategies); i++) {
		if (strcmp(strategies[i]->name, name) == 0)
			found = strategies[i];
		buf_addf(&names, ", %s", strategies[i]->name);
	}
	if (found == NULL)
		err_set(e, ERR_INPUT, "no search strategy '%s'; there are auto%s", name, buf_text(&names));
	buf_fini(&names);
	return found;
}

int search_known(const char *name, struct err *e)
{
	return strcmp(name, "auto") == 0 || find(name, e) ? 0 : -ERR_INPUT;
}

int search_new(const char *name, const struct search_space *space, size_t budget, uint64_t seed, struct search **ret_search,
	       struct err *e)
{
	if (strcmp(name, "auto") == 0)
		name = budget >= space->count ? "exhaustive" : "bayes";
	const struct search_strategy *strategy = find(name, e);
	if (strategy == NULL)
		return -ERR_INPUT;
	struct search *s = MEM_NEW(struct search);
	s->strategy = strategy;
	s->points = space->count;
	s->left = budget < space->count ? budget : space->count;
	s->asked = MEM_NEW_N(unsigned char, space->count + 1);
	s->state = strategy->start(space, s->left, seed);
	*ret_search = s;
	return 0;
}

void search_free(struct search *s)
{
	if (s == NULL)
		return;
	s->strategy->end(s->state);
	free(s->asked);
	free(s->preferred);
	free(s);
}

bool search_prefer(struct search *s, size_t point)
{
	assert(point < s->points);
	bool known = s->asked[point];
	for (size_t i = 0; i < s->preferred_count && !known; i++)
		known = s->preferred[i] == point;
	if (!known)
		*MEM_PUSH(s->preferred, s->preferred_count) = point;
	return !known;
}

bool search_know(struct search *s, size_t point, double ns)
{
	assert(point < s->points);
	if (s->asked[point] || s->left == 0)
		return false;
	s->asked[point] = 1;
	s->left--;
	s->strategy->tell(s->state, point, ns);
	return true;
}

size_t search_ask(struct search *s)
{
	size_t point = SEARCH_NONE;
	if (s->left == 0)
		return SEARCH_NONE;
	while (point == SEARCH_NONE && s->preferred_next < s->preferred_count) {
		point = s->preferred[s->preferred_next++];
		if (s->asked[point])
			point = SEARCH_NONE;
	}
	/* The strategy does not know which points were preferred, so it may repeat them. */
	while (point == SEARCH_NONE) {
		point = s->strategy->ask(s->state);
		if (point == SEARCH_NONE)
			return SEARCH_NONE;
		if (s->asked[point])
			point = SEARCH_NONE;
	}
	s->asked[point] = 1;
	s->left--;
	return point;
}

void search_tell(struct search *s, size_t point, double ns)
{
	assert(point < s->points);
	s->strategy->tell(s->state, point, ns);
}

const char *search_name(const struct search *s)
{
	return s->strategy->name;
}

/* --- random numbers ----------------------------------------------------------------------------------------------- */

void search_shuffle_init(struct search_shuffle *s, size_t count, uint64_t seed)
{
	*s = (struct search_shuffle){ .order = MEM_NEW_N(size_t, count + 1), .count = count, .state = seed };
	for (size_t i = 0; i < count; i++)
		s->order[i] = i;
}

void search_shuffle_fini(struct search_shuffle *s)
{
	free(s->order);
	s->order = NULL;
}

size_t search_shuffle_below(struct search_shuffle *s, size_t n)
{
	/* Multiply and shift; a bias of n / 2^64 is negligible here. */
	return (size_t)(((__uint128_t)hash_next(&s->state) * n) >> 64);
}

double search_shuffle_uniform(struct search_shuffle *s)
{
	return (double)search_shuffle_below(s, (size_t)1 << 52) / (double)((size_t)1 << 52);
}

/* One step of a Fisher-Yates shuffle. */
size_t search_shuffle_draw(struct search_shuffle *s)
{
	if (s->next >= s->count)
		return SIZE_MAX;
	size_t j = s->next + search_shuffle_below(s, s->count - s->next), point = s->order[j];
	s->order[j] = s->order[s->next];
	s->order[s->next++] = point;
	return point;
}

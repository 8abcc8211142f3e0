/* search: the table of strategies and what they share: budget, preferred points, no point twice; see search.h. */
#include "core/search/search.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "core/search/annealing.h"
#include "core/search/bandit.h"
#include "core/search/bayes.h"
#include "core/search/differential.h"
#include "core/search/exhaustive.h"
#include "core/search/forest.h"
#include "core/search/genetic.h"
#include "core/search/local.h"
#include "core/search/random.h"
#include "core/search/tabu.h"

static const struct search_strategy *const strategies[] = {
	&search_bayes, &search_exhaustive, &search_random, &search_local, &search_annealing, &search_genetic, &search_differential,
	&search_tabu, &search_bandit, &search_forest,
};

struct search {
	const struct search_strategy *strategy;
	void *state;
	size_t points, left;     /* of the space; of the budget */
	unsigned char *asked;    /* per point */
	size_t *preferred;
	size_t preferred_count, preferred_next;
};

static const struct search_strategy *find(const char *name)
{
	for (size_t i = 0; i < MEM_COUNT(strategies); i++)
		if (strcmp(strategies[i]->name, name) == 0)
			return strategies[i];
	return NULL;
}

static int unknown(const char *name, struct err *e)
{
	struct buf names = BUF_INIT;
	for (size_t i = 0; i < MEM_COUNT(strategies); i++)
		buf_addf(&names, ", %s", strategies[i]->name);
	int rc = err_set(e, ERR_INPUT, "no search strategy '%s'; there are auto%s", name, buf_text(&names));
	buf_fini(&names);
	return rc;
}

int search_new(const char *name, const struct search_space *space, size_t budget, uint64_t seed, struct search **ret_search,
               struct err *e)
{
	if (strcmp(name, "auto") == 0)
		name = budget >= space->count ? "exhaustive" : "bayes";
	const struct search_strategy *strategy = find(name);
	if (strategy == NULL)
		return unknown(name, e);
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
	/* A strategy does not know which points were preferred: those that it repeats are passed over. */
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

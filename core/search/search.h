/* search: which configurations a tune tries, and in what order. A strategy is asked for the next point of a space and told what
 * became of it; several points may be out at once. tune.c is its only caller. One strategy is one file here and one line in
 * search.c's table. */
#ifndef PEAKD_CORE_SEARCH_SEARCH_H
#define PEAKD_CORE_SEARCH_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A finite set of points, each with `dims` coordinates that are value indices (0, 1, 2, …) of its parameters. */
struct search_space {
	size_t count;             /* points */
	size_t dims;
	const uint16_t *points;   /* count × dims; borrowed for the life of the search */
	/* Per dimension, what the value indices stand for, value_counts[d] numbers; NULL where it is not known. Borrowed as well. */
	const double *const *values;
	const size_t *value_counts;
};

struct search;

struct search_strategy {
	const char *name;
	const char *summary;      /* one line for people */
	void *(*start)(const struct search_space *space, size_t budget, uint64_t seed);
	/* The next point (never one asked before); SEARCH_NONE when it has no more to propose now. */
	size_t (*ask)(void *state);
	/* What became of a point: nanoseconds, or INFINITY for one that failed in whatever way. */
	void (*tell)(void *state, size_t point, double ns);
	void (*end)(void *state);
};

#define SEARCH_NONE SIZE_MAX

/* Names: "auto" (exhaustive when the budget covers the space, else bayes) and those of search.c's table. `budget`: points that
 * will be tried at most. Unknown names are -ERR_INPUT and list what there is. */
int search_new(const char *strategy, const struct search_space *space, size_t budget, uint64_t seed,
               struct search **ret_search, struct err *e);
void search_free(struct search *s);
/* Puts a point in front of everything that the strategy proposes: a seed from elsewhere. False when it is one already, or was asked. */
bool search_prefer(struct search *s, size_t point);
/* What became of a point is known from before: it counts as asked and told. False, and nothing happens, when it was asked already or the
 * budget is spent. */
bool search_know(struct search *s, size_t point, double ns);
size_t search_ask(struct search *s);
void search_tell(struct search *s, size_t point, double ns);
/* The strategy's own name (for "auto": the one that was chosen). Static. */
const char *search_name(const struct search *s);

#endif

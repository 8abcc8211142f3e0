/* search: which configurations a tune tries, and in what order. A strategy is asked for the next point of a space
 * and told what became of it; several points may be out at once. Called by core/tune and core/search/simulate. A
 * strategy is one file, search_NAME.c, and one line in search.c's table. */
#ifndef PEAKD_CORE_SEARCH_SEARCH_H
#define PEAKD_CORE_SEARCH_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A finite set of points. A point has `dims` coordinates, each the index (0, 1, 2, …) of a parameter's value. */
struct search_space {
	size_t count; /* points */
	size_t dims;
	const uint16_t *points; /* count × dims; borrowed for the life of the search */
	/* Per dimension the value_counts[d] numbers that the indices stand for, ascending; NULL if unknown. Borrowed
	 * as well. */
	const double *const *values;
	const size_t *value_counts;
};

struct search;

#define SEARCH_NONE SIZE_MAX

/* `strategy` is a name of search.c's table, or "auto": exhaustive when the budget covers the space, else bayes.
 * `budget` is the largest number of points to try. Returns -ERR_INPUT for an unknown name and lists the known ones. */
int search_new(const char *strategy, const struct search_space *space, size_t budget, uint64_t seed, struct search **ret_search,
	       struct err *e);
/* Whether there is a strategy of that name: 0, or the same -ERR_INPUT. */
int search_known(const char *strategy, struct err *e);
void search_free(struct search *s);
/* Proposes a point before everything that the strategy proposes. Returns false when it was preferred or asked
 * already. */
bool search_prefer(struct search *s, size_t point);
/* Records an earlier measurement: the point counts as asked and told. Returns false, and does nothing, when the
 * point was asked already or the budget is spent. */
bool search_know(struct search *s, size_t point, double ns);
/* The next point to measure, never the same twice; SEARCH_NONE when the budget is spent or the strategy has nothing
 * to propose now. */
size_t search_ask(struct search *s);
/* The result for a point: nanoseconds (or another positive quantity to minimize), or INFINITY when it failed in any
 * way. */
void search_tell(struct search *s, size_t point, double ns);
/* The strategy's own name (for "auto": the chosen one). Static. */
const char *search_name(const struct search *s);

/* --- for strategies ----------------------------------------------------------------------------------------------- */

struct search_strategy {
	const char *name;
	void *(*start)(const struct search_space *space, size_t budget, uint64_t seed);
	size_t (*ask)(void *state);                         /* like search_ask; may repeat points, which search.c skips */
	void (*tell)(void *state, size_t point, double ns); /* like search_tell; the point may come from elsewhere */
	void (*end)(void *state);
};

extern const struct search_strategy search_bayes, search_differential, search_order_all, search_order_random;

/* A seeded random order of 0 … count-1, drawn lazily, and a generator of random numbers. */
struct search_shuffle {
	size_t *order; /* the part before `next` is drawn */
	size_t count, next;
	uint64_t state; /* of the generator */
};

void search_shuffle_init(struct search_shuffle *s, size_t count, uint64_t seed);
void search_shuffle_fini(struct search_shuffle *s);
/* The next number of the order; SIZE_MAX when all were drawn. */
size_t search_shuffle_draw(struct search_shuffle *s);
/* A random number below n (n ≥ 1). */
size_t search_shuffle_below(struct search_shuffle *s, size_t n);
/* A random number from 0 to below 1. */
double search_shuffle_uniform(struct search_shuffle *s);

#endif

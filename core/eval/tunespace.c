/* tunespace: points as value indices; see tunespace.h. */
#include "core/eval/tunespace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/context/space.h"

enum { SPREAD = 7919 /* a prime: turns that follow each other land far apart */ };

struct tunespace {
	struct space *space;
	struct search_space search;
	uint16_t *points;
	char **names;           /* of the tuning parameters, in order */
	double **values;        /* per parameter: the distinct values, ascending */
	size_t *value_counts;
};

static double value_of(const struct param *p)
{
	return p->is_float ? p->f : (double)p->i;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static size_t index_of(const struct tunespace *t, size_t dim, double value)
{
	const double *at = bsearch(&value, t->values[dim], t->value_counts[dim], sizeof value, ascending);
	return at ? (size_t)(at - t->values[dim]) : 0;
}

static void name_dims(struct tunespace *t, const struct context *ctx)
{
	const struct spec *spec = context_spec(ctx);
	size_t dims = spec->var_count - spec->input_count;
	t->search.dims = dims;
	t->names = MEM_NEW_N(char *, dims + 1);
	t->values = MEM_NEW_N(double *, dims + 1);
	t->value_counts = MEM_NEW_N(size_t, dims + 1);
	for (size_t d = 0; d < dims; d++)
		t->names[d] = mem_str(spec->vars[spec->input_count + d].name);
}

/* The distinct values of a column, ascending. */
static void learn_values(struct tunespace *t, size_t dim, const double *raw, size_t count)
{
	double *column = MEM_NEW_N(double, count + 1);
	size_t n = 0;
	for (size_t i = 0; i < count; i++)
		column[i] = raw[i * t->search.dims + dim];
	qsort(column, count, sizeof *column, ascending);
	for (size_t i = 0; i < count; i++)
		if (n == 0 || column[i] != column[n - 1])
			column[n++] = column[i];
	t->values[dim] = column;
	t->value_counts[dim] = n;
}

static void fill(struct tunespace *t)
{
	size_t count = space_count(t->space), dims = t->search.dims;
	double *raw = MEM_NEW_N(double, count * dims + 1);
	for (size_t i = 0; i < count; i++) {
		struct params *p = space_at(t->space, i);
		for (size_t d = 0; d < dims; d++)
			raw[i * dims + d] = value_of(params_find(p, t->names[d]));
		params_free(p);
	}
	for (size_t d = 0; d < dims; d++)
		learn_values(t, d, raw, count);
	t->points = MEM_NEW_N(uint16_t, count * dims + 1);
	for (size_t i = 0; i < count * dims; i++) {
		size_t index = index_of(t, i % dims, raw[i]);
		t->points[i] = index < UINT16_MAX ? (uint16_t)index : UINT16_MAX; /* so far out, all are neighbours */
	}
	free(raw);
	t->search.count = count;
	t->search.points = t->points;
	t->search.values = (const double *const *)t->values;
	t->search.value_counts = t->value_counts;
}

int tunespace_new(const struct context *ctx, const struct facts *facts, const struct params *size, struct tunespace **ret_space,
                  struct err *e)
{
	struct tunespace *t = MEM_NEW(struct tunespace);
	struct params *inputs = params_part(size, false);
	int rc = space_new(ctx, facts, inputs, &t->space, e);
	params_free(inputs);
	if (rc < 0) {
		free(t);
		return rc;
	}
	name_dims(t, ctx);
	fill(t);
	*ret_space = t;
	return 0;
}

void tunespace_free(struct tunespace *t)
{
	if (t == NULL)
		return;
	for (size_t d = 0; d < t->search.dims; d++) {
		free(t->names[d]);
		free(t->values[d]);
	}
	free(t->names);
	free(t->values);
	free(t->value_counts);
	free(t->points);
	space_free(t->space);
	free(t);
}

const struct search_space *tunespace_search(const struct tunespace *space)
{
	return &space->search;
}

const char *tunespace_name(const struct tunespace *space, size_t dim)
{
	return space->names[dim];
}

struct params *tunespace_at(const struct tunespace *space, size_t point)
{
	return space_at(space->space, point);
}

size_t tunespace_point(const struct tunespace *t, const struct params *params)
{
	size_t point = space_find(t->space, params);
	return point == SIZE_MAX ? SEARCH_NONE : point;
}

bool tunespace_has(const struct tunespace *t, const struct params *params)
{
	return space_find(t->space, params) != SIZE_MAX;
}

/* How far a point's parameters are from those that both have. Tuning parameters are mostly powers of two: distance is in factors. */
static double distance(const struct tunespace *t, size_t point, const struct param *const *wanted)
{
	double cost = 0;
	for (size_t d = 0; d < t->search.dims; d++)
		if (wanted[d])
			cost += fabs(log2((fabs(t->values[d][t->points[point * t->search.dims + d]]) + 1) / (fabs(value_of(wanted[d])) + 1)));
	return cost;
}

size_t tunespace_nearest(const struct tunespace *t, const struct params *like, size_t turn)
{
	const struct param **wanted = MEM_NEW_N(const struct param *, t->search.dims + 1);
	size_t found = SEARCH_NONE, equal = 0;
	double least = INFINITY;
	bool shared = false;
	for (size_t d = 0; d < t->search.dims; d++) {
		wanted[d] = params_find(like, t->names[d]);
		shared = shared || wanted[d];
	}
	for (size_t p = 0; shared && p < t->search.count; p++) {
		double cost = distance(t, p, wanted);
		equal = cost < least ? 1 : equal + (cost == least);
		least = fmin(least, cost);
	}
	for (size_t p = 0, seen = 0; shared && p < t->search.count && found == SEARCH_NONE; p++)
		if (distance(t, p, wanted) == least && seen++ == turn * SPREAD % equal)
			found = p;
	free(wanted);
	return found;
}

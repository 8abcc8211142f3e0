/* tunespace: see tunespace.h. */
#include "core/search/tunespace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/order.h"
#include "core/context/space.h"

enum { SPREAD = 7919 /* a prime, so that consecutive turns land far apart */ };

struct tunespace {
	struct space *space;
	struct search_space search;
	uint16_t *points;
	char **names;    /* of the tuning parameters, in order */
	double **values; /* per parameter: the distinct values, ascending */
	size_t *value_counts;
};

static double value_of(const struct param *p)
{
	return p->is_float ? p->f : (double)p->i;
}

static double number(struct value v)
{
	return v.kind == VALUE_FLOAT ? v.f : (double)v.i;
}

/* Finds the distinct values of a parameter over all points, ascending, and the place of each point among them. */
static void fill_dim(struct tunespace *t, size_t dim, size_t var)
{
	size_t domain_count, n = 0, dims = t->search.dims, count = t->search.count;
	const struct value *domain = space_domain(t->space, var, &domain_count);
	bool *used = MEM_NEW_N(bool, domain_count + 1);
	uint16_t *rank = MEM_NEW_N(uint16_t, domain_count + 1);
	double *values = MEM_NEW_N(double, domain_count + 1);
	for (size_t p = 0; p < count; p++)
		used[space_domain_index(t->space, p, var)] = true;
	for (size_t i = 0; i < domain_count; i++)
		if (used[i])
			values[n++] = number(domain[i]);
	qsort(values, n, sizeof *values, order_doubles);
	for (size_t i = 0; i < domain_count; i++) {
		double value = number(domain[i]);
		const double *at = used[i] ? bsearch(&value, values, n, sizeof value, order_doubles) : NULL;
		rank[i] = at ? (uint16_t)(at - values) : 0;
	}
	for (size_t p = 0; p < count; p++)
		t->points[p * dims + dim] = rank[space_domain_index(t->space, p, var)];
	t->values[dim] = values;
	t->value_counts[dim] = n;
	free(used);
	free(rank);
}

int tunespace_new(const struct context *ctx, const struct facts *facts, const struct params *size, struct tunespace **ret_space,
		  struct err *e)
{
	const struct spec *spec = context_spec(ctx);
	struct tunespace *t = MEM_NEW(struct tunespace);
	struct params *inputs = params_part(size, false);
	int rc = space_new(ctx, facts, inputs, &t->space, e);
	params_free(inputs);
	if (rc < 0) {
		free(t);
		return rc;
	}
	size_t count = space_count(t->space), dims = spec->var_count - spec->input_count;
	t->search.count = count;
	t->search.dims = dims;
	t->names = MEM_NEW_N(char *, dims + 1);
	t->values = MEM_NEW_N(double *, dims + 1);
	t->value_counts = MEM_NEW_N(size_t, dims + 1);
	t->points = MEM_NEW_N(uint16_t, count * dims + 1);
	for (size_t d = 0; d < dims; d++) {
		t->names[d] = mem_str(spec->vars[spec->input_count + d].name);
		fill_dim(t, d, spec->input_count + d);
	}
	t->search.points = t->points;
	t->search.values = (const double *const *)t->values;
	t->search.value_counts = t->value_counts;
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

static double distance(const struct tunespace *t, size_t point, double *const *prices)
{
	double cost = 0;
	for (size_t d = 0; d < t->search.dims; d++)
		if (prices[d])
			cost += prices[d][t->points[point * t->search.dims + d]];
	return cost;
}

size_t tunespace_nearest(const struct tunespace *t, const struct params *like, size_t turn)
{
	double **prices = MEM_NEW_N(double *, t->search.dims + 1), least = INFINITY;
	size_t found = SEARCH_NONE, equal = 0;
	/* Fills the distance from the wanted value, per shared parameter and value; others stay NULL. Distances are in
	 * factors, because most tuning parameters are powers of two. */
	bool shared = false;
	for (size_t d = 0; d < t->search.dims; d++) {
		const struct param *wanted = params_find(like, t->names[d]);
		if (wanted == NULL)
			continue;
		shared = true;
		prices[d] = MEM_NEW_N(double, t->value_counts[d] + 1);
		for (size_t i = 0; i < t->value_counts[d]; i++)
			prices[d][i] = fabs(log2((fabs(t->values[d][i]) + 1) / (fabs(value_of(wanted)) + 1)));
	}
	for (size_t p = 0; shared && p < t->search.count; p++) {
		double cost = distance(t, p, prices);
		equal = cost < least ? 1 : equal + (cost == least);
		least = fmin(least, cost);
	}
	for (size_t p = 0, seen = 0; shared && p < t->search.count && found == SEARCH_NONE; p++)
		if (distance(t, p, prices) == least && seen++ == turn * SPREAD % equal)
			found = p;
	for (size_t d = 0; d < t->search.dims; d++)
		free(prices[d]);
	free(prices);
	return found;
}

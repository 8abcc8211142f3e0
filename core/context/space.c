/* space: valid points, sorted and addressed by number; see space.h. core/context/enumerate finds them. */
#include "core/context/space.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "core/context/enumerate.h"

struct space {
	const struct spec *spec;
	struct enumerate_result points; /* rows in lexicographic order, each once */
	size_t *starts;                 /* of each input size in the rows, and one more for the end */
	size_t size_count;
};

/* --- making ------------------------------------------------------------------------------------------------------- */
/* Stable counting sort of the numbers in `from` by one column. */
static void sort_column(const struct space *s, size_t var, const uint32_t *from, uint32_t *to)
{
	const uint16_t *rows = s->points.rows;
	size_t n = s->spec->var_count, values = s->points.domains[var].count;
	size_t *start = MEM_NEW_N(size_t, values + 1);
	for (size_t k = 0; k < s->points.count; k++)
		start[rows[k * n + var] + 1]++;
	for (size_t v = 0; v < values; v++)
		start[v + 1] += start[v];
	for (size_t k = 0; k < s->points.count; k++)
		to[start[rows[from[k] * n + var]]++] = from[k];
	free(start);
}

static int compare_rows(const uint16_t *a, const uint16_t *b, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (a[k] != b[k])
			return a[k] < b[k] ? -1 : 1;
	return 0;
}

/* Radix sort, last variable first; then repetitions (of overlapping check: entries) are dropped. */
static int sort_rows(struct space *s, const char *file, const struct space_stop *stop, struct err *e)
{
	size_t n = s->spec->var_count, count = s->points.count, kept = 0;
	int rc = 0;
	uint32_t *from = MEM_NEW_N(uint32_t, count + 1), *to = MEM_NEW_N(uint32_t, count + 1);
	for (size_t k = 0; k < count; k++)
		from[k] = (uint32_t)k;
	for (size_t var = n; rc == 0 && var-- > 0;) {
		if (s->points.domains[var].count < 2)
			continue;
		if (stop && stop->wanted(stop->arg))
			rc = err_set(e, ERR_CANCELLED, "%s: the enumeration of the space was cancelled", file);
		sort_column(s, var, from, to);
		uint32_t *swap = from;
		from = to;
		to = swap;
	}
	uint16_t *rows = MEM_NEW_N(uint16_t, count * n + 1);
	for (size_t k = 0; rc == 0 && k < count; k++) {
		const uint16_t *row = s->points.rows + from[k] * n;
		if (kept == 0 || compare_rows(rows + (kept - 1) * n, row, n) != 0)
			memcpy(rows + kept++ * n, row, n * sizeof *row);
	}
	free(from);
	free(to);
	free(s->points.rows);
	s->points.rows = rows;
	s->points.count = kept;
	return rc;
}

static int check_fixed(const struct enumerate_query *q, struct err *e)
{
	for (size_t k = 0; q->fixed && k < q->fixed->count; k++)
		if (spec_find(q->spec, q->fixed->at[k].name) < 0)
			return err_set(e, ERR_INPUT, "%s: kernel %s has no parameter %s to fix", q->file, q->spec->kernel,
				       q->fixed->at[k].name);
	return 0;
}

static int finish(struct space *s, const char *file, const struct space_stop *stop, struct err *e)
{
	int rc = sort_rows(s, file, stop, e);
	if (rc == 0) {
		size_t n = s->spec->var_count, inputs = s->spec->input_count;
		for (size_t k = 0; k < s->points.count; k++)
			if (k == 0 || compare_rows(s->points.rows + k * n, s->points.rows + (k - 1) * n, inputs) != 0)
				*MEM_PUSH(s->starts, s->size_count) = k;
		size_t sizes = s->size_count;
		*MEM_PUSH(s->starts, s->size_count) = s->points.count;
		s->size_count = sizes;
	}
	return rc;
}

/* An empty space is not an error; *ret_why explains it. */
static int enumerate(const struct enumerate_query *query, struct space **ret_space, char **ret_why, struct err *e)
{
	struct space *s = MEM_NEW(struct space);
	s->spec = query->spec;
	int rc = check_fixed(query, e);
	if (rc == 0)
		rc = enumerate_run(query, &s->points, ret_why, e);
	if (rc == 0)
		rc = finish(s, query->file, query->stop, e);
	if (rc < 0) {
		space_free(s);
		return rc;
	}
	*ret_space = s;
	return 0;
}

int space_new_maybe(const struct context *ctx, const struct facts *facts, const struct params *fixed, struct space **ret_space,
		    char **ret_why, struct err *e)
{
	struct enumerate_query query = { .file = context_file(ctx), .spec = context_spec(ctx), .facts = facts, .fixed = fixed };
	return enumerate(&query, ret_space, ret_why, e);
}

int space_new_until(const struct context *ctx, const struct facts *facts, const struct params *fixed, const struct space_stop *stop,
		    struct space **ret_space, struct err *e)
{
	struct enumerate_query query = {
		.file = context_file(ctx), .spec = context_spec(ctx), .facts = facts, .fixed = fixed, .stop = stop
	};
	struct space *s = NULL;
	char *why = NULL;
	int rc = enumerate(&query, &s, &why, e);
	if (rc == 0 && s->points.count == 0) {
		char *given = fixed ? params_text(fixed) : mem_str("");
		rc = err_set(e, ERR_INPUT, "%s: no valid execution parameters%s%s: %s", context_file(ctx), *given ? " with " : "",
			     given, why && *why ? why : "every set of values is empty");
		free(given);
	}
	free(why);
	if (rc < 0)
		space_free(s);
	else
		*ret_space = s;
	return rc;
}

int space_new(const struct context *ctx, const struct facts *facts, const struct params *fixed, struct space **ret_space,
	      struct err *e)
{
	return space_new_until(ctx, facts, fixed, NULL, ret_space, e);
}

int space_new_check(const struct context *ctx, const struct facts *facts, const struct params *fixed, struct space **ret_space,
		    struct err *e)
{
	struct enumerate_query query = { .file = context_file(ctx), .spec = context_spec(ctx), .facts = facts, .fixed = fixed };
	struct space *s = MEM_NEW(struct space);
	s->spec = query.spec;
	int rc = check_fixed(&query, e);
	for (size_t k = 0; rc == 0 && k < s->spec->check_count; k++) {
		char *why = NULL;
		query.check = &s->spec->checks[k];
		rc = enumerate_run(&query, &s->points, &why, e);
		free(why);
	}
	if (s->points.domains == NULL)
		s->points.domains = MEM_NEW_N(struct enumerate_domain, s->spec->var_count + 1);
	if (rc == 0)
		rc = finish(s, query.file, NULL, e);
	if (rc < 0) {
		space_free(s);
		return err_wrap(e, "the sizes of check");
	}
	*ret_space = s;
	return 0;
}

void space_free(struct space *s)
{
	if (s == NULL)
		return;
	for (size_t k = 0; s->points.domains && k < s->spec->var_count; k++)
		free(s->points.domains[k].values);
	free(s->points.domains);
	free(s->points.rows);
	free(s->starts);
	free(s);
}

int space_declares(const struct context *ctx, const struct facts *facts, const struct params *fixed, struct err *e)
{
	enum { SHOWN = 8 };
	struct space *space = NULL;
	struct params *inputs = params_part(fixed, false);
	struct buf sizes = BUF_INIT;
	bool found = false;
	int rc = space_new(ctx, facts, NULL, &space, e);
	for (size_t i = 0; rc == 0 && !found && i < space->size_count; i++) {
		struct params *size = space_size_at(space, i);
		char *text = params_text(size);
		found = params_contain(size, inputs);
		if (i < SHOWN)
			buf_addf(&sizes, "%s%s", i ? "; " : "", text);
		free(text);
		params_free(size);
	}
	if (rc == 0 && !found) {
		char *text = params_text(inputs);
		rc = err_set(e, ERR_INPUT, "the context does not declare the size %s, but %s%s", text, buf_text(&sizes),
			     space->size_count > SHOWN ? "; …" : "");
		free(text);
	}
	space_free(space);
	buf_fini(&sizes);
	params_free(inputs);
	return rc;
}

/* --- asking ------------------------------------------------------------------------------------------------------- */
size_t space_count(const struct space *s)
{
	return s->points.count;
}

double space_raw(const struct space *s)
{
	return s->points.raw;
}

uint64_t space_visited(const struct space *s)
{
	return s->points.visited;
}

static struct params *first_vars(const struct space *s, size_t index, size_t vars)
{
	struct params *p = params_new();
	const uint16_t *row = s->points.rows + index * s->spec->var_count;
	for (size_t k = 0; k < vars; k++) {
		struct value v = s->points.domains[k].values[row[k]];
		if (v.kind == VALUE_FLOAT)
			params_set_float(p, s->spec->vars[k].name, s->spec->vars[k].tuning, v.f);
		else
			params_set_int(p, s->spec->vars[k].name, s->spec->vars[k].tuning, v.i);
	}
	return p;
}

struct params *space_at(const struct space *s, size_t index)
{
	return first_vars(s, index, s->spec->var_count);
}

const struct value *space_domain(const struct space *s, size_t var, size_t *ret_count)
{
	*ret_count = s->points.domains[var].count;
	return s->points.domains[var].values;
}

uint16_t space_domain_index(const struct space *s, size_t index, size_t var)
{
	return s->points.rows[index * s->spec->var_count + var];
}

static bool index_of(const struct space *s, size_t var, const struct params *params, uint16_t *ret_index)
{
	const struct param *p = params_find(params, s->spec->vars[var].name);
	const struct enumerate_domain *d = &s->points.domains[var];
	if (p == NULL)
		return false;
	struct value v = p->is_float ? value_of_float(p->f) : value_of_int(p->i);
	for (size_t k = 0; k < d->count; k++)
		if (value_same(d->values[k], v)) {
			*ret_index = (uint16_t)k;
			return true;
		}
	return false;
}

static size_t find_row(const struct space *s, const uint16_t *row)
{
	size_t n = s->spec->var_count, low = 0, high = s->points.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int c = compare_rows(s->points.rows + middle * n, row, n);
		if (c == 0)
			return middle;
		if (c < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return SIZE_MAX;
}

size_t space_find(const struct space *s, const struct params *params)
{
	uint16_t row[UINT8_MAX];
	for (size_t k = 0; k < s->spec->var_count; k++)
		if (!index_of(s, k, params, &row[k]))
			return SIZE_MAX;
	return find_row(s, row);
}

/* Uniform below n: draws from the incomplete last interval are rejected. */
static uint64_t random_below(uint64_t *state, uint64_t n)
{
	uint64_t limit = UINT64_MAX - UINT64_MAX % n, r;
	do
		r = hash_next(state);
	while (r >= limit);
	return r % n;
}

/* Floyd's choice of k of n (Bentley, CACM 30(9), 1987), then a Fisher-Yates shuffle, since Floyd's order is not
 * uniform. */
size_t space_sample(const struct space *s, uint64_t seed, size_t k, size_t *ret_index)
{
	size_t n = s->points.count, taken = 0;
	uint8_t *chosen = MEM_NEW_N(uint8_t, n / 8 + 1);
	if (k > n)
		k = n;
	for (size_t j = n - k; j < n; j++) {
		size_t pick = (size_t)random_below(&seed, j + 1);
		if (chosen[pick / 8] >> pick % 8 & 1)
			pick = j;
		chosen[pick / 8] |= (uint8_t)(1u << pick % 8);
		ret_index[taken++] = pick;
	}
	for (size_t j = taken; j > 1; j--) {
		size_t other = (size_t)random_below(&seed, j), swap = ret_index[j - 1];
		ret_index[j - 1] = ret_index[other];
		ret_index[other] = swap;
	}
	free(chosen);
	return taken;
}

size_t space_size_count(const struct space *s)
{
	return s->size_count;
}

struct params *space_size_at(const struct space *s, size_t size)
{
	return first_vars(s, s->starts[size], s->spec->input_count);
}

void space_size_range(const struct space *s, size_t size, size_t *ret_first, size_t *ret_count)
{
	*ret_first = s->starts[size];
	*ret_count = s->starts[size + 1] - s->starts[size];
}

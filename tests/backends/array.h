/* array: a matrix of inputs and its values, for tests of backends/values and of what draws them. */
#ifndef TESTS_BACKENDS_ARRAY_H
#define TESTS_BACKENDS_ARRAY_H

#include <stdlib.h>

#include "backends/values/fill.h"
#include "base/mem.h"

/* rows × columns elements from -1 to 1. */
__attribute__((unused)) static struct plan_buffer array(enum dtype t, int64_t rows, int64_t columns, enum plan_fill fill)
{
	return (struct plan_buffer){ .name = (char *)"A",
				     .type = t,
				     .rank = 2,
				     .dims = { rows, columns },
				     .ld = columns,
				     .bytes = (uint64_t)(rows * columns) * dtype_size(t),
				     .fill = fill,
				     .lo = -1,
				     .hi = 1 };
}

/* What PLAN_IMMEDIATES and PLAN_IMMEDIATE_ROWS are made of. */
__attribute__((unused)) static const struct plan_immediates immediates = { .count = 5, .at = { -9999, 1e-5, 777, 12345.678, 0.5 } };

/* The values as doubles; free() */
__attribute__((unused)) static double *values_of(const struct plan_buffer *b, enum plan_values values)
{
	uint64_t n = plan_buffer_logical(b);
	void *bytes = mem_new(b->bytes, 1);
	double *v = MEM_NEW_N(double, n);
	fill_chosen(b, &(struct fill_choice){ .seed = 8, .values = values, .immediates = immediates }, bytes);
	dtype_load_all(b->type, bytes, v, n);
	free(bytes);
	return v;
}

/* How many values are in [lo, hi]. */
__attribute__((unused)) static int between(const double *v, int n, double lo, double hi)
{
	int count = 0;
	for (int i = 0; i < n; i++)
		count += v[i] >= lo && v[i] <= hi;
	return count;
}

#endif

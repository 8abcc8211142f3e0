/* simulate: see simulate.h. The format is version 1 of kernel_tuner/cache: an object with tune_params_keys (names in
 * order), tune_params (their values) and cache. An entry of cache holds the values of one configuration and a time
 * in milliseconds, or a word for how it failed. */
#include "core/search/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"

enum { VALUES_MAX = UINT16_MAX };

/* Adds a dimension with the distinct values of a parameter, ascending. Words and truth values count by their place
 * in the list. */
static int add_parameter(struct simulate_space *s, const char *name, const json_t *list, struct err *e)
{
	size_t d = s->space.dims, n = json_array_size(list), kept = 1, i;
	const json_t *v;
	if (n == 0 || n > VALUES_MAX)
		return err_set(e, ERR_INPUT, "tune_params.%s: %zu values; expected a list of 1 to %d", name, n, VALUES_MAX);
	double *values = MEM_NEW_N(double, n);
	json_array_foreach(list, i, v) values[i] = json_is_number(v) ? json_number_value(v) : (double)i;
	qsort(values, n, sizeof *values, order_doubles);
	for (i = 1; i < n; i++)
		if (values[i] != values[kept - 1])
			values[kept++] = values[i];
	s->names[d] = mem_str(name);
	s->values[d] = values;
	s->value_counts[d] = kept;
	s->space.dims++;
	return 0;
}

static int read_parameters(const json_t *root, struct simulate_space *s, struct err *e)
{
	const json_t *keys = json_object_get(root, "tune_params_keys"), *sets = json_object_get(root, "tune_params"), *key;
	size_t n = json_array_size(keys), i;
	if (n == 0 || !json_is_object(sets))
		return err_set(e, ERR_INPUT, "tune_params_keys or tune_params is missing; expected a cache file of Kernel Tuner");
	s->names = MEM_NEW_N(char *, n);
	s->values = MEM_NEW_N(double *, n);
	s->value_counts = MEM_NEW_N(size_t, n);
	json_array_foreach(keys, i, key)
	{
		const char *name = json_string_value(key);
		if (name == NULL)
			return err_set(e, ERR_INPUT, "tune_params_keys[%zu]: expected the name of a parameter", i);
		int rc = add_parameter(s, name, json_object_get(sets, name), e);
		if (rc < 0)
			return rc;
	}
	s->space.values = (const double *const *)s->values;
	s->space.value_counts = s->value_counts;
	return 0;
}

static int value_index(const json_t *list, const json_t *given, const struct simulate_space *s, size_t d, uint16_t *ret_index)
{
	size_t i;
	const json_t *v;
	double value = json_number_value(given);
	if (!json_is_number(given)) {
		json_array_foreach(list, i, v) if (json_equal(v, given)) break;
		if (given == NULL || i == json_array_size(list))
			return -1;
		value = (double)i;
	}
	const double *at = bsearch(&value, s->values[d], s->value_counts[d], sizeof value, order_doubles);
	*ret_index = at ? (uint16_t)(at - s->values[d]) : 0;
	return at ? 0 : -1;
}

static int read_points(const json_t *root, struct simulate_space *s, struct err *e)
{
	json_t *cache = json_object_get(root, "cache"), *entry;
	const json_t *sets = json_object_get(root, "tune_params");
	size_t n = json_object_size(cache), dims = s->space.dims;
	const char *key;
	if (n == 0)
		return err_set(e, ERR_INPUT, "cache is missing or empty; expected the measured configurations");
	s->points = MEM_NEW_N(uint16_t, n * dims);
	s->times = MEM_NEW_N(double, n);
	s->space.points = s->points;
	json_object_foreach(cache, key, entry)
	{
		size_t p = s->space.count++;
		const json_t *time = json_object_get(entry, "time");
		s->times[p] = json_is_number(time) && json_number_value(time) > 0 ? json_number_value(time) : INFINITY;
		for (size_t d = 0; d < dims; d++)
			if (value_index(json_object_get(sets, s->names[d]), json_object_get(entry, s->names[d]), s, d,
					&s->points[p * dims + d]) < 0)
				return err_set(e, ERR_INPUT, "cache[\"%s\"]: %s is missing, or its value is not in tune_params",
					       key, s->names[d]);
	}
	return 0;
}

int simulate_load(const char *path, struct simulate_space *ret_space, struct err *e)
{
	struct simulate_space s = { 0 };
	struct buf text = BUF_INIT;
	json_error_t bad;
	json_t *root = NULL;
	int rc = buf_add_packed_file(&text, path, e);
	if (rc < 0)
		goto out;
	root = json_loadb(buf_text(&text), text.len, 0, &bad);
	if (root == NULL) {
		rc = err_set(e, ERR_INPUT, "%s: line %d: %s; expected a cache file of Kernel Tuner (JSON, plain or gzipped)", path,
			     bad.line, bad.text);
		goto out;
	}
	rc = read_parameters(root, &s, e);
	if (rc == 0)
		rc = read_points(root, &s, e);
	if (rc < 0)
		rc = err_wrap(e, "%s", path);
out:
	json_decref(root);
	buf_fini(&text);
	if (rc < 0)
		simulate_fini(&s);
	else
		*ret_space = s;
	return rc;
}

void simulate_fini(struct simulate_space *s)
{
	for (size_t d = 0; d < s->space.dims; d++) {
		free(s->names[d]);
		free(s->values[d]);
	}
	free(s->names);
	free(s->values);
	free(s->value_counts);
	free(s->points);
	free(s->times);
	*s = (struct simulate_space){ 0 };
}

int simulate_run(const struct simulate_search *s, double **ret_trajectory, size_t *ret_count, struct err *e)
{
	struct search *search;
	int rc = search_new(s->strategy, s->space, s->budget, s->seed, &search, e);
	if (rc < 0)
		return rc;
	double *trajectory = MEM_NEW_N(double, (s->budget < s->space->count ? s->budget : s->space->count) + 1);
	size_t n = 0, point;
	while ((point = search_ask(search)) != SEARCH_NONE) {
		trajectory[n++] = s->times[point];
		search_tell(search, point, s->times[point]);
	}
	search_free(search);
	*ret_trajectory = trajectory;
	*ret_count = n;
	return 0;
}

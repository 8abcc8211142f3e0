/* import_ktcache: Kernel Tuner's cache file; see import_ktcache.h. The format is that of kernel_tuner/cache (version 1): an object
 * with tune_params_keys (names in order), tune_params (their values) and cache, whose keys are the values of one configuration
 * joined by commas and whose entries hold a time in milliseconds, or a word for what failed. */
#include "core/search/import_ktcache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/mem.h"
#include "core/search/import_file.h"

enum { VALUES_MAX = UINT16_MAX };

/* --- parameters ---------------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Magnitudes of a parameter's values, ascending; words and truth values count by their place in the list. */
static double magnitude(const json_t *values, size_t i)
{
	const json_t *v = json_array_get(values, i);
	return json_is_number(v) ? json_number_value(v) : (double)i;
}

static int add_parameter(struct import_ktcache *c, const char *name, const json_t *values, struct err *e)
{
	size_t d = c->space.dims, n = json_array_size(values);
	if (n == 0 || n > VALUES_MAX)
		return err_set(e, ERR_INPUT, "tune_params.%s: %zu values; expected a list of 1 to %d", name, n, VALUES_MAX);
	c->names[d] = mem_str(name);
	c->values[d] = MEM_NEW_N(double, n);
	for (size_t i = 0; i < n; i++)
		c->values[d][i] = magnitude(values, i);
	qsort(c->values[d], n, sizeof(double), ascending);
	size_t kept = 1;
	for (size_t i = 1; i < n; i++)
		if (c->values[d][i] != c->values[d][kept - 1])
			c->values[d][kept++] = c->values[d][i];
	c->value_counts[d] = kept;
	c->space.dims++;
	return 0;
}

static int read_parameters(const json_t *root, struct import_ktcache *c, struct err *e)
{
	const json_t *keys = json_object_get(root, "tune_params_keys"), *sets = json_object_get(root, "tune_params"), *key;
	size_t n = json_array_size(keys), i;
	if (n == 0 || !json_is_object(sets))
		return err_set(e, ERR_INPUT, "tune_params_keys or tune_params is missing; expected a cache file of Kernel Tuner");
	c->names = MEM_NEW_N(char *, n);
	c->values = MEM_NEW_N(double *, n);
	c->value_counts = MEM_NEW_N(size_t, n);
	json_array_foreach(keys, i, key) {
		const char *name = json_string_value(key);
		if (name == NULL)
			return err_set(e, ERR_INPUT, "tune_params_keys[%zu]: expected the name of a parameter", i);
		int rc = add_parameter(c, name, json_object_get(sets, name), e);
		if (rc < 0)
			return rc;
	}
	c->space.values = (const double *const *)c->values;
	c->space.value_counts = c->value_counts;
	return 0;
}

/* --- configurations ------------------------------------------------------------------------------------------------------- */

static int value_index(const json_t *set, const json_t *given, const struct import_ktcache *c, size_t d, uint16_t *ret_index)
{
	size_t i;
	const json_t *v;
	double value = json_number_value(given);
	if (!json_is_number(given)) {
		json_array_foreach(set, i, v)
			if (json_equal(v, given))
				break;
		if (given == NULL || i == json_array_size(set))
			return -1;
		value = (double)i;
	}
	const double *at = bsearch(&value, c->values[d], c->value_counts[d], sizeof value, ascending);
	*ret_index = at ? (uint16_t)(at - c->values[d]) : 0;
	return at ? 0 : -1;
}

static int read_points(const json_t *root, struct import_ktcache *c, struct err *e)
{
	json_t *cache = json_object_get(root, "cache"), *entry;
	const json_t *sets = json_object_get(root, "tune_params");
	size_t n = json_object_size(cache), dims = c->space.dims;
	const char *key;
	if (n == 0)
		return err_set(e, ERR_INPUT, "cache is missing or empty; expected the measured configurations");
	c->points = MEM_NEW_N(uint16_t, n * dims);
	c->times = MEM_NEW_N(double, n);
	c->space.points = c->points;
	json_object_foreach(cache, key, entry) {
		size_t p = c->space.count++;
		const json_t *time = json_object_get(entry, "time");
		c->times[p] = json_is_number(time) && json_number_value(time) > 0 ? json_number_value(time) : INFINITY;
		for (size_t d = 0; d < dims; d++)
			if (value_index(json_object_get(sets, c->names[d]), json_object_get(entry, c->names[d]), c, d,
			                &c->points[p * dims + d]) < 0)
				return err_set(e, ERR_INPUT, "cache[\"%s\"]: %s is missing or none of its values in tune_params", key, c->names[d]);
	}
	return 0;
}

int import_ktcache(const char *path, struct import_ktcache *ret_cache, struct err *e)
{
	struct import_ktcache c = { 0 };
	struct buf text = BUF_INIT;
	json_error_t bad;
	json_t *root = NULL;
	int rc = import_file_read(path, &text, e);
	if (rc < 0)
		goto out;
	root = json_loadb(buf_text(&text), text.len, 0, &bad);
	if (root == NULL) {
		rc = err_set(e, ERR_INPUT, "%s: line %d: %s; expected a cache file of Kernel Tuner (JSON, plain or gzipped)", path, bad.line,
		             bad.text);
		goto out;
	}
	rc = read_parameters(root, &c, e);
	if (rc == 0)
		rc = read_points(root, &c, e);
	if (rc < 0)
		rc = err_wrap(e, "%s", path);
out:
	json_decref(root);
	buf_fini(&text);
	if (rc < 0)
		import_ktcache_fini(&c);
	else
		*ret_cache = c;
	return rc;
}

void import_ktcache_fini(struct import_ktcache *c)
{
	for (size_t d = 0; d < c->space.dims; d++) {
		free(c->names[d]);
		free(c->values[d]);
	}
	free(c->names);
	free(c->values);
	free(c->value_counts);
	free(c->points);
	free(c->times);
	*c = (struct import_ktcache){ 0 };
}

/* study_table: see study_table.h. */
#include "daemon/verbs/study_table.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/verbs/table.h"

/* In the order of the table. The sums are members of a try as well. */
enum { TRIES, RIGHT, NARROW = 6, REPAIRED, GIVEN_UP, UNJUDGED, SUMS };
static const char *const counts[] = { "tries", "right",   "malformed", "compile",    "wrong",
				      "crash", "narrow",  "repaired",  "given_up",   "unjudged",
				      "asked", "repairs", "tokens_in", "tokens_out", "tokens_cached" };

static json_int_t whole(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void add(json_t *sum, const char *key, json_int_t n)
{
	json_object_set_new(sum, key, json_integer(whole(sum, key) + n));
}

static void count_try(json_t *sum, const json_t *try)
{
	const char *first = json_string_value(json_object_get(try, "first"));
	bool accepted = whole(try, "checkpoint") > 0;
	size_t kind = RIGHT;
	for (size_t i = SUMS; i < MEM_COUNT(counts); i++)
		add(sum, counts[i], whole(try, counts[i]));
	while (kind <= NARROW && strcmp(counts[kind], first) != 0)
		kind++;
	if (kind > NARROW || (kind == RIGHT && !accepted)) {
		add(sum, counts[UNJUDGED], 1);
		return;
	}
	add(sum, counts[TRIES], 1);
	add(sum, counts[kind], 1);
	if (kind != RIGHT)
		add(sum, counts[accepted ? REPAIRED : GIVEN_UP], 1);
}

void study_table_interval(size_t right, size_t tries, double *ret_low, double *ret_high)
{
	const double z = 1.959963984540054; /* 97.5 % quantile of the normal distribution */
	*ret_low = 0;
	*ret_high = 1;
	if (tries == 0)
		return;
	double n = (double)tries, p = (double)right / n, middle = p + z * z / (2 * n), down = 1 + z * z / n;
	double half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
	*ret_low = fmax(0, (middle - half) / down);
	*ret_high = fmin(1, (middle + half) / down);
}

static void add_counts(json_t *to, const json_t *row)
{
	const json_t *try;
	double low, high;
	size_t i;
	for (i = 0; i < MEM_COUNT(counts); i++)
		add(to, counts[i], 0);
	json_array_foreach(json_object_get(row, "each"), i, try) count_try(to, try);
	study_table_interval((size_t)whole(to, "right"), (size_t)whole(to, "tries"), &low, &high);
	json_object_set_new(to, "low", json_real(low));
	json_object_set_new(to, "high", json_real(high));
}

json_t *study_table_json(const json_t *rows)
{
	json_t *list = json_array(), *pooled = json_object();
	const json_t *row;
	size_t i;
	json_array_foreach(rows, i, row)
	{
		json_t *copy = json_copy((json_t *)row);
		add_counts(copy, row);
		add_counts(pooled, row);
		json_array_append_new(list, copy);
	}
	return json_pack("{s:o, s:o}", "rows", list, "pooled", pooled);
}

void study_table_print(const json_t *figures, FILE *out)
{
	static const struct table_column columns[] = {
		{ "transformation", "transformation", TABLE_TEXT },
		{ "model", "model", TABLE_TEXT },
		{ "tries", "tries", TABLE_NUMBER },
		{ "right", "right", TABLE_NUMBER },
		{ "malformed", "malformed", TABLE_NUMBER },
		{ "compile", "compile", TABLE_NUMBER },
		{ "wrong", "wrong", TABLE_NUMBER },
		{ "crash", "crash", TABLE_NUMBER },
		{ "narrow", "narrow", TABLE_NUMBER },
		{ "repaired", "repaired", TABLE_NUMBER },
		{ "given up", "given_up", TABLE_NUMBER },
		{ "unjudged", "unjudged", TABLE_NUMBER },
		{ "tokens in", "tokens_in", TABLE_NUMBER },
		{ "out", "tokens_out", TABLE_NUMBER },
		{ NULL, NULL, TABLE_TEXT },
	};
	json_t *pooled = json_object_get(figures, "pooled"), *all = json_copy(pooled),
	       *rows = json_copy(json_object_get(figures, "rows"));
	json_int_t tries = whole(pooled, "tries"), right = whole(pooled, "right");
	json_object_set_new(all, "transformation", json_string("all"));
	json_array_append_new(rows, all);
	fputc('\n', out);
	table_write(rows, columns, INT_MAX, false, out);
	json_decref(rows);
	if (tries)
		fprintf(out,
			"\nright at the first try: %lld of %lld, %.1f %% (95 %% interval %.1f to %.1f %%); accepted in the end: "
			"%lld of %lld\n",
			(long long)right, (long long)tries, 100.0 * (double)right / (double)tries,
			100 * json_real_value(json_object_get(pooled, "low")),
			100 * json_real_value(json_object_get(pooled, "high")), (long long)(right + whole(pooled, "repaired")),
			(long long)tries);
}

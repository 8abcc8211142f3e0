/* study_table: see study_table.h. */
#include "daemon/verbs/study_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void study_table_fini(struct study_table *t)
{
	for (size_t i = 0; i < t->row_count; i++) {
		struct study_row *row = &t->rows[i];
		for (size_t k = 0; k < row->try_count; k++) {
			free(row->tries[k].id);
			free(row->tries[k].first);
			free(row->tries[k].error);
		}
		free(row->tries);
		free(row->transformation);
		free(row->model);
	}
	free(t->rows);
	*t = (struct study_table){ 0 };
}

struct study_row *study_table_add(struct study_table *t, const char *transformation, const char *model, int64_t parent)
{
	struct study_row *row = MEM_PUSH(t->rows, t->row_count);
	*row = (struct study_row){ .transformation = mem_str(transformation),
				   .model = mem_str(model),
				   .parent = parent };
	return row;
}

const struct study_try *study_table_accepted(const struct study_table *t, size_t rows)
{
	for (size_t i = t->row_count - rows; i < t->row_count; i++)
		for (size_t k = 0; k < t->rows[i].try_count; k++)
			if (t->rows[i].tries[k].checkpoint > 0)
				return &t->rows[i].tries[k];
	return NULL;
}

/* --- figures ------------------------------------------------------------------------------------------------------------------ */

static void count_try(struct study_sum *s, const struct study_try *t)
{
	const struct {
		const char *name;
		size_t *at;
	} troubles[] = {
		{ "malformed", &s->malformed }, { "compile", &s->compile }, { "wrong", &s->wrong },
		{ "crash", &s->crash },         { "narrow", &s->narrow },
	};
	bool right = strcmp(t->first, "right") == 0 && t->checkpoint > 0;
	size_t i = 0;
	s->asked += t->asked;
	s->repairs += t->repairs;
	s->tokens_in += t->tokens_in;
	s->tokens_out += t->tokens_out;
	s->tokens_cached += t->tokens_cached;
	while (i < MEM_COUNT(troubles) && strcmp(troubles[i].name, t->first) != 0)
		i++;
	if (!right && i == MEM_COUNT(troubles)) {
		s->unjudged++;
		return;
	}
	s->tries++;
	if (right) {
		s->right++;
		return;
	}
	++*troubles[i].at;
	if (t->checkpoint > 0)
		s->repaired++;
	else
		s->given_up++;
}

struct study_sum study_table_sum(const struct study_row *rows, size_t count)
{
	struct study_sum s = { 0 };
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < rows[i].try_count; k++)
			count_try(&s, &rows[i].tries[k]);
	return s;
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

/* --- words -------------------------------------------------------------------------------------------------------------------- */

static void print_row(const char *name, const char *model, int wide, const struct study_sum *s, FILE *out)
{
	fprintf(out, "%-22s %-*s %5zu %6zu %9zu %7zu %5zu %5zu %6zu %8zu %8zu %8zu %9llu %9llu\n", name, wide, model,
		s->tries, s->right, s->malformed, s->compile, s->wrong, s->crash, s->narrow, s->repaired, s->given_up,
		s->unjudged, (unsigned long long)s->tokens_in, (unsigned long long)s->tokens_out);
}

void study_table_print(const struct study_table *t, FILE *out)
{
	struct study_sum all = study_table_sum(t->rows, t->row_count);
	double low, high;
	int wide = 14;
	for (size_t i = 0; i < t->row_count; i++)
		wide = (int)strlen(t->rows[i].model) > wide ? (int)strlen(t->rows[i].model) : wide;
	fprintf(out, "\n%-22s %-*s %5s %6s %9s %7s %5s %5s %6s %8s %8s %8s %9s %9s\n", "transformation", wide, "model",
		"tries", "right", "malformed", "compile", "wrong", "crash", "narrow", "repaired", "given up",
		"unjudged", "tokens in", "out");
	for (size_t i = 0; i < t->row_count; i++) {
		struct study_sum s = study_table_sum(&t->rows[i], 1);
		print_row(t->rows[i].transformation, t->rows[i].model, wide, &s, out);
	}
	print_row("all", "", wide, &all, out);
	study_table_interval(all.right, all.tries, &low, &high);
	if (all.tries)
		fprintf(out,
			"\nright at the first try: %zu of %zu, %.1f %% (95 %% interval %.1f to %.1f %%); accepted in "
			"the end: %zu of %zu\n",
			all.right, all.tries, 100.0 * (double)all.right / (double)all.tries, 100 * low, 100 * high,
			all.right + all.repaired, all.tries);
}

/* --- JSON --------------------------------------------------------------------------------------------------------------------- */

static json_t *sum_json(const struct study_sum *s)
{
	double low, high;
	json_t *o = json_object();
	const struct {
		const char *name;
		uint64_t value;
	} members[] = {
		{ "tries", s->tries },         { "right", s->right },           { "malformed", s->malformed },
		{ "compile", s->compile },     { "wrong", s->wrong },           { "crash", s->crash },
		{ "narrow", s->narrow },       { "repaired", s->repaired },     { "given_up", s->given_up },
		{ "unjudged", s->unjudged },   { "asked", s->asked },           { "repairs", s->repairs },
		{ "tokens_in", s->tokens_in }, { "tokens_out", s->tokens_out }, { "tokens_cached", s->tokens_cached },
	};
	for (size_t i = 0; i < MEM_COUNT(members); i++)
		json_object_set_new(o, members[i].name, json_integer((json_int_t)members[i].value));
	study_table_interval(s->right, s->tries, &low, &high);
	json_object_set_new(o, "low", json_real(low));
	json_object_set_new(o, "high", json_real(high));
	return o;
}

static json_t *tries_json(const struct study_row *row)
{
	json_t *list = json_array();
	for (size_t k = 0; k < row->try_count; k++) {
		const struct study_try *t = &row->tries[k];
		json_t *o = json_pack("{s:i, s:s, s:I, s:i, s:i, s:I, s:I}", "try", (int)t->number, "first", t->first,
				      "checkpoint", (json_int_t)t->checkpoint, "asked", (int)t->asked, "repairs",
				      (int)t->repairs, "tokens_in", (json_int_t)t->tokens_in, "tokens_out",
				      (json_int_t)t->tokens_out);
		if (t->error)
			json_object_set_new(o, "error", json_string(t->error));
		json_array_append_new(list, o);
	}
	return list;
}

json_t *study_table_json(const struct study_table *t)
{
	struct study_sum all = study_table_sum(t->rows, t->row_count);
	json_t *rows = json_array();
	for (size_t i = 0; i < t->row_count; i++) {
		struct study_sum s = study_table_sum(&t->rows[i], 1);
		json_t *row = sum_json(&s);
		json_object_set_new(row, "transformation", json_string(t->rows[i].transformation));
		json_object_set_new(row, "model", json_string(t->rows[i].model));
		json_object_set_new(row, "parent", json_integer((json_int_t)t->rows[i].parent));
		json_object_set_new(row, "each", tries_json(&t->rows[i]));
		json_array_append_new(rows, row);
	}
	return json_pack("{s:o, s:o}", "rows", rows, "pooled", sum_json(&all));
}

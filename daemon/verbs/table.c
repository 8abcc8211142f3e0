/* table: see table.h. */
#include "daemon/verbs/table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/layout.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "daemon/verbs/out.h"

enum { GAP = 2, NARROW = 8 /* text is not cut below this */, MINUTE = 16 /* "2026-11-23T20:23" */ };

/* Cells by row and column; "" for none. */
struct table {
	const struct table_column *columns;
	size_t column_count, row_count;
	char **cells;
	int *widths; /* 0: not shown */
};

/* --- cells ------------------------------------------------------------------------------------------------------------------ */

/* The value at a path; *io_most grows to the length of a list on the way, of which element `k` is taken. NULL: none. What is in no
 * list is shown in the first of its rows. */
static const json_t *find(const json_t *row, const char *path, size_t k, size_t *io_most)
{
	const char *dot = strchr(path, '.');
	char *key = mem_strn(path, strcspn(path, "."));
	const json_t *value = json_object_get(row, key);
	free(key);
	if (dot && json_is_array(value)) {
		*io_most = json_array_size(value) > *io_most ? json_array_size(value) : *io_most;
		return json_object_get(json_array_get(value, k), dot + 1);
	}
	return k > 0 ? NULL : dot ? json_object_get(value, dot + 1) : value;
}

static void add_value(const json_t *value, enum table_kind kind, struct buf *out)
{
	char time[32];
	const json_t *one;
	size_t i;
	if (json_is_string(value))
		buf_addf(out, "%.*s", kind == TABLE_WHEN ? MINUTE : (int)strcspn(json_string_value(value), "\n"),
			 json_string_value(value));
	else if (json_is_number(value) && kind == TABLE_TIME)
		buf_adds(out, layout_time(json_number_value(value), time));
	else if (json_is_integer(value))
		buf_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		buf_addf(out, "%.4g", json_real_value(value));
	else if (json_is_true(value))
		buf_adds(out, "yes");
	json_array_foreach(value, i, one)
	{
		buf_adds(out, i ? ", " : "");
		add_value(one, kind, out);
	}
}

static void add_rows(struct table *t, const json_t *row)
{
	size_t most = 1;
	for (size_t k = 0; k < most; k++, t->row_count++)
		for (size_t c = 0; c < t->column_count; c++) {
			struct buf cell = BUF_INIT;
			size_t before = t->row_count * t->column_count + c;
			add_value(find(row, t->columns[c].path, k, &most), t->columns[c].kind, &cell);
			*MEM_PUSH(t->cells, before) = mem_str(buf_text(&cell));
			buf_fini(&cell);
		}
}

static int total(const struct table *t)
{
	int sum = -GAP;
	for (size_t c = 0; c < t->column_count; c++)
		sum += t->widths[c] ? t->widths[c] + GAP : 0;
	return sum;
}

/* The widest text gives way first. Then the last columns go, but what is coloured stays, and the first. */
static void fit(struct table *t, int width)
{
	for (size_t i = 0; i < t->row_count * t->column_count; i++) {
		int n = (int)utf8_count(t->cells[i]), *w = &t->widths[i % t->column_count];
		*w = n > *w ? n : *w;
	}
	for (size_t c = 0; c < t->column_count; c++)
		if (t->widths[c])
			t->widths[c] = (int)utf8_count(t->columns[c].title) > t->widths[c] ? (int)utf8_count(t->columns[c].title)
											   : t->widths[c];
	for (size_t last = t->column_count; total(t) > width && last > 1;) {
		size_t widest = t->column_count;
		for (size_t c = 0; c < t->column_count; c++)
			if (t->columns[c].kind == TABLE_TEXT && t->widths[c] > NARROW &&
			    (widest == t->column_count || t->widths[c] > t->widths[widest]))
				widest = c;
		if (widest < t->column_count)
			t->widths[widest]--;
		else if (t->columns[--last].kind != TABLE_STATE)
			t->widths[last] = 0;
	}
}

/* --- printing --------------------------------------------------------------------------------------------------------------- */

static const char *colour_of(const char *state)
{
	static const char *const words[][2] = {
		{ "accepted", OUT_GREEN },  { "done", OUT_GREEN },     { "faster", OUT_GREEN },   { "failed", OUT_RED },
		{ "cancelled", OUT_RED },   { "slower", OUT_RED },     { "running", OUT_YELLOW }, { "queued", OUT_YELLOW },
		{ "interrupted", OUT_RED }, { "unclear", OUT_YELLOW }, { "draft", OUT_YELLOW },
	};
	for (size_t i = 0; i < MEM_COUNT(words); i++)
		if (strcmp(words[i][0], state) == 0)
			return words[i][1];
	return "";
}

static void print_row(const struct table *t, size_t row, bool colours, FILE *out)
{
	int pad = 0;
	for (size_t c = 0; c < t->column_count; c++) {
		const char *text = row ? t->cells[(row - 1) * t->column_count + c] : t->columns[c].title;
		int n = (int)utf8_count(text), width = t->widths[c];
		if (width == 0)
			continue;
		bool right = t->columns[c].kind == TABLE_NUMBER || t->columns[c].kind == TABLE_TIME, cut = n > width;
		const char *colour = !colours ? "" : row == 0 ? OUT_BOLD : t->columns[c].kind == TABLE_STATE ? colour_of(text) : "";
		const char *end = text;
		for (int shown = 0; *end && (!cut || shown < width - 1); shown++)
			do
				end++;
			while (((unsigned char)*end & 0xc0) == 0x80);
		fprintf(out, "%*s%s%.*s%s%s", pad + (right && !cut ? width - n : 0), "", colour, (int)(end - text), text,
			cut ? "…" : "", *colour ? OUT_PLAIN : "");
		pad = GAP + (right || cut ? 0 : width - n);
	}
	fputc('\n', out);
}

void table_write(const json_t *list, const struct table_column *columns, int width, bool colours, FILE *out)
{
	struct table t = { .columns = columns };
	const json_t *row;
	size_t i;
	while (columns[t.column_count].title)
		t.column_count++;
	t.widths = MEM_NEW_N(int, t.column_count);
	json_array_foreach(list, i, row) add_rows(&t, row);
	fit(&t, width);
	for (i = 0; i <= t.row_count; i++)
		print_row(&t, i, colours, out);
	mem_free_texts(t.cells, t.row_count * t.column_count);
	free(t.widths);
}

static void print_note(const char *key, const json_t *value)
{
	const char *text = json_string_value(value);
	if (text == NULL)
		return;
	char *note = mem_fmt("%s: %s", key, text);
	out_wrapped(note, 0);
	free(note);
}

void table_print(const json_t *answer, const char *rows, const struct table_column *columns)
{
	const char *key;
	const json_t *value, *one;
	size_t i;
	table_write(json_object_get(answer, rows), columns, out_width(stdout), out_colours(stdout), stdout);
	json_object_foreach((json_t *)answer, key, value)
	{
		print_note(key, value);
		json_array_foreach(value, i, one) print_note(key, one);
	}
}

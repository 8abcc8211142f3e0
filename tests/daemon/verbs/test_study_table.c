/* test_study_table: how a study counts its tries, and the interval of its rate. */
#include "daemon/verbs/study_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

static json_t *add_row(json_t *rows, const char *model)
{
	json_t *row = json_pack("{s:s, s:s, s:i, s:[]}", "transformation", "tile", "model", model, "parent", 1, "each");
	json_array_append_new(rows, row);
	return row;
}

static void add(json_t *row, const char *first, int checkpoint, int asked, int repairs)
{
	json_t *each = json_object_get(row, "each");
	json_array_append_new(each, json_pack("{s:i, s:s, s:i, s:i, s:i, s:i, s:i}", "try", (int)json_array_size(each) + 1, "first",
					      first, "checkpoint", checkpoint, "asked", asked, "repairs", repairs, "tokens_in", 100,
					      "tokens_out", 10));
}

static int of(const json_t *counts, const char *key)
{
	return (int)json_integer_value(json_object_get(counts, key));
}

/* Every row is as wide as the head, however long a model's name is. */
static void test_widths(void)
{
	json_t *rows = json_array(), *figures;
	char *text = NULL;
	size_t size, head = 0, same = 0, lines = 0;
	add(add_row(rows, "replay:a-name-that-is-long"), "right", 7, 1, 0);
	add(add_row(rows, "m"), "right", 7, 1, 0);
	figures = study_table_json(rows);
	FILE *out = open_memstream(&text, &size);
	study_table_print(figures, out);
	fclose(out);
	for (char *line = text + 1; lines < 4; lines++) {
		size_t n = strcspn(line, "\n");
		head = lines ? head : n;
		same += n == head;
		line += n + 1;
	}
	is_int(same, 4, "head, rows and total are equally wide");
	free(text);
	json_decref(figures);
	json_decref(rows);
}

int main(void)
{
	json_t *rows = json_array(), *row = add_row(rows, "m");
	double low, high;
	add(row, "right", 7, 2, 0);
	add(row, "compile", 8, 3, 1);
	add(row, "wrong", 0, 5, 3);
	add(row, "malformed", 9, 2, 1);
	add(row, "", 0, 0, 0);
	add_row(rows, "other");
	json_t *figures = study_table_json(rows), *s = json_array_get(json_object_get(figures, "rows"), 0);
	is_int(of(s, "tries"), 4, "a try without a verdict does not count");
	is_int(of(s, "unjudged"), 1, "a try without a verdict is counted as not judged");
	is_int(of(s, "right"), 1, "a try that is right at once is counted");
	is_int(of(s, "compile") + of(s, "wrong") + of(s, "malformed"), 3, "first mistakes are counted by kind");
	is_int(of(s, "repaired"), 2, "repaired tries are counted");
	is_int(of(s, "given_up"), 1, "tries that are given up are counted");
	is_int(of(s, "right") + of(s, "repaired") + of(s, "given_up"), of(s, "tries"),
	       "right, repaired and given-up tries add up to all tries");
	is_int(of(s, "asked"), 12, "answers of the model are counted");
	is_int(of(s, "tokens_in"), 500, "tokens are counted");
	is_int((int)json_array_size(json_object_get(s, "each")), 5, "the JSON has each try");
	/* Computed separately with 50 digits. */
	study_table_interval(8, 10, &low, &high);
	ok(fabs(low - 0.4901625) < 1e-6 && fabs(high - 0.9433178) < 1e-6, "Wilson's interval of 8 of 10");
	study_table_interval(5, 5, &low, &high);
	ok(fabs(low - 0.5655175) < 1e-6 && high == 1, "Wilson's interval of 5 of 5");
	study_table_interval(0, 0, &low, &high);
	ok(low == 0 && high == 1, "the interval without any try is from 0 to 1");
	is_int((int)json_array_size(json_object_get(figures, "rows")), 2, "the JSON has the rows");
	is_int(of(json_object_get(figures, "pooled"), "tries"), 4, "the JSON has the pooled counts");
	json_decref(figures);
	json_decref(rows);
	test_widths();
	return tap_done();
}

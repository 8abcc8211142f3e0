/* test_study_table: how a study counts its tries, and the interval of its rate. */
#include "daemon/verbs/study_table.h"

#include <math.h>

#include "base/mem.h"
#include "tests/tap.h"

static void add(struct study_row *row, const char *first, int64_t checkpoint, unsigned asked, unsigned repairs)
{
	*MEM_PUSH(row->tries, row->try_count) = (struct study_try){
		.number = (unsigned)row->try_count + 1,
		.first = mem_str(first),
		.checkpoint = checkpoint,
		.asked = asked,
		.repairs = repairs,
		.tokens_in = 100,
		.tokens_out = 10,
	};
}

/* Every row is as wide as the head, however long a model's name is. */
static void test_widths(void)
{
	struct study_table t = { 0 };
	char *text = NULL;
	size_t size, head = 0, same = 0, lines = 0;
	add(study_table_add(&t, "tile", "replay:a-name-that-is-long", 1), "right", 7, 1, 0);
	add(study_table_add(&t, "tile", "m", 1), "right", 7, 1, 0);
	FILE *out = open_memstream(&text, &size);
	study_table_print(&t, out);
	fclose(out);
	for (char *line = text + 1; lines < 4; lines++) {
		size_t n = strcspn(line, "\n");
		head = lines ? head : n;
		same += n == head;
		line += n + 1;
	}
	is_int(same, 4, "head, rows and total are equally wide");
	free(text);
	study_table_fini(&t);
}

int main(void)
{
	struct study_table t = { 0 };
	double low, high;
	struct study_row *row = study_table_add(&t, "tile", "m", 1);
	add(row, "right", 7, 2, 0);
	add(row, "compile", 8, 3, 1);
	add(row, "wrong", 0, 5, 3);
	add(row, "malformed", 9, 2, 1);
	add(row, "", 0, 0, 0);
	struct study_sum s = study_table_sum(t.rows, 1);
	is_int(s.tries, 4, "a try without a verdict does not count");
	is_int(s.unjudged, 1, "a try without a verdict is counted as not judged");
	is_int(s.right, 1, "a try that is right at once is counted");
	is_int(s.compile + s.wrong + s.malformed, 3, "first mistakes are counted by kind");
	is_int(s.repaired, 2, "repaired tries are counted");
	is_int(s.given_up, 1, "tries that are given up are counted");
	is_int(s.right + s.repaired + s.given_up, s.tries, "right, repaired and given-up tries add up to all tries");
	is_int(s.asked, 12, "answers of the model are counted");
	is_int(s.tokens_in, 500, "tokens are counted");
	is_int(study_table_accepted(&t, 1)->checkpoint, 7, "the first accepted try is found");
	study_table_add(&t, "more", "m", 7);
	ok(study_table_accepted(&t, 1) == NULL, "the last row has no accepted try");
	is_int(study_table_accepted(&t, 2)->checkpoint, 7, "the last two rows have an accepted try");
	/* Computed separately with 50 digits. */
	study_table_interval(8, 10, &low, &high);
	ok(fabs(low - 0.4901625) < 1e-6 && fabs(high - 0.9433178) < 1e-6, "Wilson's interval of 8 of 10");
	study_table_interval(5, 5, &low, &high);
	ok(fabs(low - 0.5655175) < 1e-6 && high == 1, "Wilson's interval of 5 of 5");
	study_table_interval(0, 0, &low, &high);
	ok(low == 0 && high == 1, "the interval without any try is from 0 to 1");
	json_t *o = study_table_json(&t);
	is_int(json_array_size(json_object_get(o, "rows")), 2, "the JSON has the rows");
	is_int(json_integer_value(json_object_get(json_object_get(o, "pooled"), "tries")), 4, "the JSON has the pooled counts");
	json_decref(o);
	study_table_fini(&t);
	test_widths();
	return tap_done();
}

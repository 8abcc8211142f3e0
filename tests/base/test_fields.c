/* base/fields: what was set is what comes back, through text too. */
#include "base/fields.h"
#include "tap.h"

int main(void)
{
	struct fields f = FIELDS_INIT, g;
	struct err e = ERR_INIT;
	fields_set(&f, "source", "line one\nline \\n two: x\n");
	fields_setf(&f, "budget", "%d", 40);
	fields_set(&f, "empty", "");
	fields_set(&f, "gone", "x");
	fields_set(&f, "gone", NULL);
	fields_set(&f, "budget", "41");
	char *text = fields_render(&f);
	is_str(text, "source: line one\\nline \\\\n two: x\\n\nbudget: 41\nempty: \n", "one line a field");
	is_int(fields_parse(text, &g, &e), 0, "parses back");
	is_str(fields_get(&g, "source"), "line one\nline \\n two: x\n", "text survives");
	is_int(fields_int(&g, "budget", 7), 41, "numbers");
	is_int(fields_int(&g, "nothing", 7), 7, "defaults");
	is_str(fields_get(&g, "empty"), "", "an empty value is a value");
	ok(fields_get(&g, "gone") == NULL, "a removed field is gone");
	ok(fields_parse("no colon here\n", &f, &e) < 0, "nonsense is refused");
	has_str(e.text, "line 1", "with its line");
	free(text);
	fields_fini(&f);
	fields_fini(&g);
	return tap_done();
}

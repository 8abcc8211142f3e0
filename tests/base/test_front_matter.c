/* Tests of base/front_matter: fields, entries and their line numbers, and refused texts. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/front_matter.h"
#include "base/mem.h"
#include "tap.h"

static const struct front_matter_key keys[] = {
	{ "name", FRONT_MATTER_TEXT },
	{ "note", FRONT_MATTER_OPTIONAL },
	{ "adds", FRONT_MATTER_MAP },
	{ "where", FRONT_MATTER_LIST },
};

static int parse(const char *text, struct front_matter *ret_m, struct err *e)
{
	return front_matter_parse("f", text, keys, MEM_COUNT(keys), ret_m, e);
}

static void reading(void)
{
	struct front_matter m;
	struct err e = ERR_INIT;
	static const char text[] = "\n---\r\nname:  a   b # why\n# alone\nadds:\n  X: {1, 2}\n\n  Y.z-w: 3\nwhere: "
				   "c\n- d\n  - e#f\nnote:\n---\nbody\n";
	is_int(parse(text, &m, &e), 0, "front matter with every kind of line is read %s", e.text);
	ok(m.found, "front matter after a blank line is found");
	is_str(front_matter_value(&m, "name"), "a b", "a value has single blanks and no comment");
	is_str(m.lines[front_matter_find(&m, "name")].comment, "why", "the comment of a field is kept apart");
	is_int(m.lines[front_matter_find(&m, "name")].line, 3, "the line number of a field is kept");
	int adds = front_matter_find(&m, "adds"), x = front_matter_next(&m, adds, adds), y = front_matter_next(&m, adds, x);
	is_str(m.lines[x].value, "{1, 2}", "an entry of a field has its value");
	ok(y > 0 && strcmp(m.lines[y].key, "Y.z-w") == 0 && m.lines[y].line == 8,
	   "an entry after a blank line belongs to its field");
	is_int(front_matter_next(&m, adds, y), -1, "the next field ends the entries");
	int where = front_matter_find(&m, "where"), d = front_matter_next(&m, where, where);
	is_str(front_matter_value(&m, "where"), "c", "a list may begin on its own line");
	is_str(m.lines[d].value, "d", "an item needs no indentation");
	is_str(m.lines[front_matter_next(&m, where, d)].value, "e#f", "a '#' inside a word is not a comment");
	is_str(front_matter_value(&m, "note"), "", "an omitted value is empty");
	is_str(m.body, "body\n", "the body follows the front matter");
	is_int(m.body_line, 14, "the line number of the body is known");
	front_matter_fini(&m);
	is_int(parse("# text\n", &m, &e), 0, "a text without front matter is read");
	ok(!m.found && m.count == 0 && strcmp(m.body, "# text\n") == 0, "a text without front matter is all body");
	is_int(front_matter_next(&m, front_matter_find(&m, "adds"), -1), -1, "an unknown field has no entries");
	front_matter_fini(&m);
}

static const struct {
	const char *text, *want;
} wrong[] = {
	{ "---\nname: a\n", "f:1: the front matter is never closed; expected a second `---`" },
	{ "---\nnmae: a\n---\n", "f:2: unknown field nmae (did you mean name?); expected one of name, note, adds, where" },
	{ "---\nname: a\nname: b\n---\n", "f:3: field name is given twice; first on line 2" },
	{ "---\nname:\n---\n", "f:2: name: expected a value on this line" },
	{ "---\nadds: x\n---\n", "f:2: adds: expected entries on the next lines (`  NAME: VALUE`), found `x`" },
	{ "---\nadds:\n  X: 1\n  X: 2\n---\n", "f:4: adds: X is declared twice; first on line 3" },
	{ "---\nadds:\n  X:\n---\n", "f:3: adds: X: expected a value on this line" },
	{ "---\nadds:\n  - x\n---\n", "f:3: `- x`: a list item must be below one of where:, not below adds" },
	{ "---\n- x\n---\n", "f:2: `- x`: a list item must be below one of where:, not below nothing" },
	{ "---\nwhere:\n  - # x\n---\n", "f:3: where: expected a value after the dash" },
	{ "---\nwhere:\n  X: 1\n---\n", "f:3: `X:` is indented but where takes no entries; fields start at the left margin" },
	{ "---\nwhere:\n  x\n---\n", "f:3: `x`: expected `NAME: VALUE` or `- VALUE`" },
	{ "---\na b: x\n---\n", "f:2: `a b: x`: expected `NAME: VALUE`" },
};

static void limits(void)
{
	struct front_matter m;
	struct err e = ERR_INIT;
	struct buf text = BUF_INIT;
	buf_adds(&text, "---\nadds:\n");
	for (int k = 0; k < 5000; k++)
		buf_addf(&text, "  x%d: 1\n", k);
	buf_adds(&text, "---\n");
	is_int(parse(buf_text(&text), &m, &e), -ERR_INPUT, "front matter with too many lines is refused");
	is_str(e.text, "f:4098: the front matter has more than 4096 lines or 256 KiB", "the refusal names the limit");
	buf_fini(&text);
}

int main(void)
{
	reading();
	limits();
	for (size_t k = 0; k < MEM_COUNT(wrong); k++) {
		struct front_matter m;
		struct err e = ERR_INIT;
		is_int(parse(wrong[k].text, &m, &e), -ERR_INPUT, "malformed front matter is refused");
		is_str(e.text, wrong[k].want, "the refusal names file, line and what was expected");
	}
	return tap_done();
}

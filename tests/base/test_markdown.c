/* Tests of base/markdown: the blocks of a text, and how fences open and close. */
#include "base/markdown.h"
#include "base/mem.h"
#include "tap.h"

/* The blocks as text: "KIND@LINE[:INFO]", joined by blanks. */
static char *outline(const char *text, bool lists)
{
	static const char kinds[] = { 'l', 'h', 'f' };
	struct markdown m = { .at = text, .line = 1, .lists = lists };
	struct markdown_block b;
	struct buf out = BUF_INIT;
	while (markdown_next(&m, &b)) {
		buf_addf(&out, "%s%c@%d", out.len ? " " : "", kinds[b.kind], b.line);
		if (b.kind != MARKDOWN_LINE)
			buf_addf(&out, ":%.*s", (int)b.info_len, b.info);
		if (b.kind == MARKDOWN_FENCE && !b.closed)
			buf_adds(&out, "!");
	}
	return buf_steal(&out);
}

static void is_outline(const char *text, bool lists, const char *want, const char *name)
{
	char *got = outline(text, lists);
	is_str(got, want, "%s", name);
	free(got);
}

static void blocks(void)
{
	is_outline("", false, "", "an empty text has no blocks");
	is_outline("a\n\nb", false, "l@1 l@2 l@3", "the last line needs no newline");
	is_outline("# A \n###### B\n#C\n####### D\n", false, "h@1:A h@2:B l@3 l@4", "headings have one to six marks and a blank");
	is_outline("```c x\n# no\n```\n# yes\n", false, "f@1:c x h@4:yes", "a line inside a fence is not a heading");
	is_outline("````\n```\n````\nx", false, "f@1: l@4", "a shorter fence does not close");
	is_outline("~~~\n```\n~~~ \t\r\nx", false, "f@1: l@4", "tildes close a fence of tildes, and blanks may follow");
	is_outline("```\n``` x\n", false, "f@1:!", "a fence with words after it does not close");
	is_outline("``` a`b\nx\n", false, "l@1 l@2", "a backtick among the words of a fence makes inline code");
	is_outline("~~~ a`b\n~~~\n", false, "f@1:a`b", "a backtick may follow a fence of tildes");
	is_outline("``\nx\n", false, "l@1 l@2", "two backticks are not a fence");
}

static void indentation(void)
{
	is_outline("   ```\n   ```\nx\n", false, "f@1: l@3", "three spaces may stand before a fence");
	is_outline("    ```\n\t```\n", false, "l@1 l@2", "four spaces or a tab make a fence an ordinary line");
	is_outline("    ```\n\t```\nx\n", true, "f@1: l@3", "in lists a fence may have any indentation");
	is_outline("```\n    ```\n```\n", false, "f@1:", "an indented fence does not close");
	struct markdown m = { .at = "1. x\n   ```c\n   a\n     b\n c\r\n   ```\n", .line = 1, .lists = true };
	struct markdown_block b;
	ok(markdown_next_fence(&m, &b) && b.line == 2 && b.indent == 3, "a fence in a list is found");
	char *body = markdown_body(&b);
	is_str(body, "a\n  b\nc\n", "the body of a fence in a list loses its indentation and carriage returns");
	free(body);
	ok(!markdown_next_fence(&m, &b) && m.line == 7, "no further fence is found, and all lines are counted");
	is_int((long long)markdown_ticks("x `` ```\n", false), 3, "backticks inside a line need only three around the text");
	is_int((long long)markdown_ticks("x\n  ```` y\n", false), 5, "a fence inside a text needs a longer one around it");
	is_int((long long)markdown_ticks("\t```\n", false), 3, "an indented fence needs only three around the text");
	is_int((long long)markdown_ticks("\t```\n", true), 4, "in lists an indented fence needs a longer one around the text");
}

int main(void)
{
	blocks();
	indentation();
	return tap_done();
}

/* What models answer, and what becomes of it: one row per kind of answer. */
#include "core/transform/reply.h"
#include "tap.h"

#include "base/mem.h"

#define BEFORE "#define K 4\n[numthreads(8, 8, 1)]\nvoid matmul(uint3 id : SV_DispatchThreadID)\n{\n\tC[id.x] = 0;\n}\n"
#define AFTER "#define K 4\n[numthreads(8, 8, 1)]\nvoid matmul(uint3 id : SV_DispatchThreadID)\n{\n\tC[id.x] = 1;\n}\n"

static const struct {
	const char *what, *answer;
	enum reply_finish finish;
	enum reply_outcome outcome;
	const char *text; /* of REPLY_OK; else part of the detail */
} table[] = {
	{ "the region in its fence", "Here:\n```hlsl\n" AFTER "```\n", REPLY_FINISH_STOP, REPLY_OK, AFTER },
	{ "tildes", "~~~hlsl\n" AFTER "~~~", REPLY_FINISH_STOP, REPLY_OK, AFTER },
	{ "five ticks around three", "`````hlsl\n" AFTER "`````\n", REPLY_FINISH_STOP, REPLY_OK, AFTER },
	{ "no info string", "```\n" AFTER "```\n", REPLY_FINISH_STOP, REPLY_OK, AFTER },
	{ "another word for the language", "```cpp\n" AFTER "```\n", REPLY_FINISH_STOP, REPLY_OK, AFTER },
	{ "indented in a list", "1. so\n\n   ```hlsl\n   void matmul() {}\n   ```\n", REPLY_FINISH_STOP, REPLY_OK,
	  "void matmul() {}\n" },
	{ "the last of two", "```hlsl\nold\n```\nbetter:\n```hlsl\n" AFTER "```\n", REPLY_FINISH_STOP, REPLY_OK,
	  AFTER },
	{ "marked beats unmarked", "```hlsl\n" AFTER "```\nrun it:\n```\nmake\n```\n", REPLY_FINISH_STOP, REPLY_OK,
	  AFTER },
	{ "complete, then cut in prose", "```hlsl\n" AFTER "```\nand now", REPLY_FINISH_LENGTH, REPLY_OK, AFTER },
	{ "carriage returns", "```hlsl\r\nvoid matmul() {}\r\n```\r\n", REPLY_FINISH_STOP, REPLY_OK,
	  "void matmul() {}\n" },
	{ "a search and replace block",
	  "```hlsl\n<<<<<<< SEARCH\n\tC[id.x] = 0;\n=======\n\tC[id.x] = 1;\n>>>>>>> REPLACE\n```\n", REPLY_FINISH_STOP,
	  REPLY_OK, AFTER },
	{ "nothing", " \n", REPLY_FINISH_STOP, REPLY_EMPTY, "empty" },
	{ "nothing, refused by the provider", "", REPLY_FINISH_REFUSED, REPLY_REFUSED, "refusal" },
	{ "nothing, all spent on thinking", "", REPLY_FINISH_LENGTH, REPLY_TRUNCATED, "length limit" },
	{ "a refusal in words", "I'm sorry, I can't do that.", REPLY_FINISH_STOP, REPLY_REFUSED, "refused" },
	{ "prose", "You should tile it.", REPLY_FINISH_STOP, REPLY_NO_CODE, "no fenced block" },
	{ "another region", "```lua\nlaunch()\n```\n", REPLY_FINISH_STOP, REPLY_WRONG_REGION, "device" },
	{ "cut by the limit", "```hlsl\nvoid matmul() {\n", REPLY_FINISH_LENGTH, REPLY_TRUNCATED, "length limit" },
	{ "never closed", "```hlsl\nvoid matmul() {}\n", REPLY_FINISH_STOP, REPLY_UNTERMINATED, "not closed" },
	{ "second fence never closed", "```hlsl\n" AFTER "```\n```hlsl\nvoid", REPLY_FINISH_STOP, REPLY_UNTERMINATED,
	  "not closed" },
	{ "elided", "```hlsl\nvoid matmul() {\n\t// ... rest unchanged\n}\n```\n", REPLY_FINISH_STOP, REPLY_ELIDED,
	  "rest unchanged" },
	{ "elided by a real ellipsis", "```hlsl\nvoid matmul() {\n\t/* \u2026 existing code \u2026 */\n}\n```\n",
	  REPLY_FINISH_STOP, REPLY_ELIDED, "existing" },
	{ "elided by dots", "```hlsl\nvoid matmul() {\n\t...\n}\n```\n", REPLY_FINISH_STOP, REPLY_ELIDED, "..." },
	{ "dots in a comment that says something", "```hlsl\nvoid matmul() { // rows 0 ... 7\n}\n```\n",
	  REPLY_FINISH_STOP, REPLY_OK, "void matmul() { // rows 0 ... 7\n}\n" },
	{ "the kernel is gone", "```hlsl\nvoid matmul_fast() {}\n```\n", REPLY_FINISH_STOP, REPLY_DROPPED_KERNEL,
	  "kernel matmul " },
	{ "as it was", "```hlsl\n" BEFORE "\n```\n", REPLY_FINISH_STOP, REPLY_UNCHANGED, "as it was" },
	{ "an empty fence", "```hlsl\n```\n", REPLY_FINISH_STOP, REPLY_EMPTY, "empty" },
	{ "a search that is not there", "<<<<<<< SEARCH\nD = 0;\n=======\n>>>>>>> REPLACE\n", REPLY_FINISH_STOP,
	  REPLY_SEARCH_MISSING, "D = 0;" },
	{ "half a line is no match", "<<<<<<< SEARCH\nC[id.x] = 0;\n=======\n>>>>>>> REPLACE\n", REPLY_FINISH_STOP,
	  REPLY_SEARCH_MISSING, "whole lines" },
	{ "one good, one bad: none is applied",
	  "<<<<<<< SEARCH\n{\n=======\n{ //\n>>>>>>> REPLACE\n<<<<<<< SEARCH\nno\n=======\n>>>>>>> REPLACE\n",
	  REPLY_FINISH_STOP, REPLY_SEARCH_MISSING, "no" },
	{ "a block that is not closed", "<<<<<<< SEARCH\n{\n=======\n", REPLY_FINISH_STOP, REPLY_UNTERMINATED,
	  "not closed" },
};

static void test_table(void)
{
	for (size_t i = 0; i < MEM_COUNT(table); i++) {
		const struct reply_want want = { .region = REGION_DEVICE,
						 .backend = "hlsl",
						 .before = BEFORE,
						 .host = "launch(\"matmul\", {1}, {1}, {C})",
						 .may_patch = true };
		struct reply r;
		reply_parse(&want, table[i].answer, table[i].finish, &r);
		is_str(reply_outcome_name(r.outcome), reply_outcome_name(table[i].outcome), "%s", table[i].what);
		if (table[i].outcome == REPLY_OK)
			is_str(r.text, table[i].text, "its text");
		else
			has_str(r.detail, table[i].text, "its detail");
		if (table[i].outcome == REPLY_REFUSED && *table[i].answer)
			has_str(r.words ? r.words : "", "I'm sorry, I can't do that.", "in the model's own words");
		reply_fini(&r);
	}
}

static void test_permissions(void)
{
	struct reply_want want = { .region = REGION_DEVICE,
				   .backend = "hlsl",
				   .before = BEFORE,
				   .host = "launch('matmul')",
				   .may_keep = true };
	struct reply r;
	reply_parse(&want, "```hlsl\n" BEFORE "```\n", REPLY_FINISH_STOP, &r);
	is_int(r.outcome, REPLY_OK, "unchanged where that is allowed");
	reply_fini(&r);
	reply_parse(&want, "<<<<<<< SEARCH\n{\n=======\n>>>>>>> REPLACE\n", REPLY_FINISH_STOP, &r);
	is_int(r.outcome, REPLY_NO_CODE, "blocks where only whole regions are accepted");
	reply_fini(&r);
	want.may_patch = true;
	want.before = "a\nb\na\n";
	reply_parse(&want, "<<<<<<< SEARCH\na\n=======\nc\n>>>>>>> REPLACE\n", REPLY_FINISH_STOP, &r);
	is_int(r.outcome, REPLY_SEARCH_TWICE, "an ambiguous search");
	reply_fini(&r);
	want.region = REGION_MACROS;
	want.before = "#define A 1\n";
	reply_parse(&want, "```macros\n```\n", REPLY_FINISH_STOP, &r);
	is_int(r.outcome, REPLY_OK, "macros may become empty");
	is_str(r.text, "", "and are");
	reply_fini(&r);
}

int main(void)
{
	test_table();
	test_permissions();
	return tap_done();
}

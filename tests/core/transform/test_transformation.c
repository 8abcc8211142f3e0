/* The library format: every shipped file parses and has PEAK's numbers of passes and calls; every mistake names its
 * line. */
#include "core/transform/library.h"
#include "core/transform/transformation.h"
#include "tap.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static const char good[] =
	"---\nname: demo  # a comment\nsummary: a demo\nbackends: cuda, hlsl\nafter: refactor\nrequires:\n  - n % 8 == "
	"0\n"
	"adds:\n  T: {1, 2}\n  U: 1<<i for i = 0,3\nwhere:\n  - T*U <= 8\ndrops: OLD\n---\nIntro.\n\n#### cuda\nonly "
	"cuda\n"
	"## Pass 1: First\nexpect: compiles\nadds: U\n\nAbout.\n\n### macros\n```cuda insert\n#define X 1\n```\n"
	"### device\nDo it.\n```\n### not a heading\n```\n#### hlsl\nonly hlsl\n\n## Pass 2: Last\nexpect: "
	"valid\nkernels: may change\n"
	"### host\n#### cuda\nonly there\n";

static void test_parts(void)
{
	struct err e = ERR_INIT;
	struct transformation *t = NULL;
	is_int(transformation_parse(good, "demo.md", &t, &e), 0, "a transformation parses: %s", e.text);
	if (!t)
		return;
	is_str(t->name, "demo", "its name, without the comment");
	is_int(t->pass_count, 2, "two passes");
	is_int(t->passes[0].expect, TRANSFORMATION_COMPILES, "expect of the first");
	is_int(t->passes[0].step_count, 2, "two steps");
	is_int(t->passes[0].steps[0].region, REGION_MACROS, "steps keep their order");
	is_str(transformation_insert_for(&t->passes[0].steps[0], "cuda"), "#define X 1\n", "code to insert for cuda");
	ok(!transformation_insert_for(&t->passes[0].steps[0], "hlsl"), "none for hlsl");
	has_str(t->passes[0].steps[1].text, "### not a heading", "a fence hides headings");
	is_int(t->passes[0].add_count, 2, "U is added where it is named, T at the first pass");
	ok(t->passes[1].may_drop_kernels, "a directive");
	is_int(transformation_calls(t, "cuda"), 2, "calls on cuda: one step only inserts");
	is_int(transformation_calls(t, "hlsl"), 1, "calls on hlsl: one step speaks of cuda only");
	char *text = transformation_text_for(t->intro, "hlsl");
	is_str(text, "Intro.\n\n", "sections of other backends are left out");
	free(text);
	const char *applied[] = { "refactor" };
	is_int(transformation_check(t, "cuda", applied, 1, &e), 0, "prerequisites are met");
	ok(transformation_check(t, "cuda", NULL, 0, &e) < 0, "an earlier transformation is missing");
	has_str(e.text, "apply refactor first", "and the message says what to do");
	ok(transformation_check(t, "hip", applied, 1, &e) < 0, "a backend that it is not for");
	has_str(e.text, "cuda, hlsl", "names those that it is for");
	transformation_free(t);
}

static void test_mistakes(void)
{
	static const struct {
		const char *text, *part, *what;
	} table[] = {
		{ "---\nname: x\nsummary: s\n", "never closed", "open front matter" },
		{ "---\nname: X!\nsummary: s\n---\n", "lower-case", "a bad name" },
		{ "---\nname: x\n---\n", "summary", "no summary" },
		{ "---\nname: x\nsummary: s\ncolour: red\n---\n", "f.md:4: unknown field colour; expected one of name",
		  "an unknown field" },
		{ "---\nname: x\nsummary: s\nbackends: metal\n---\n", "metal", "an unknown backend" },
		{ "---\nname: x\nsummary: s\nsummary: s\n---\n", "given twice", "a field twice" },
		{ "---\nname: x\nsummary: s\nadds: T\n---\n", "NAME: VALUE", "parameters without values" },
		{ "---\nname: x\nsummary: s\n---\ntext\n", "no `## Pass 1", "no pass" },
		{ "---\nname: x\nsummary: s\n---\n## Pass 2: a\nexpect: valid\n### device\nx\n", "f.md:5",
		  "passes out of order" },
		{ "---\nname: x\nsummary: s\n---\n## Pass 1: a\nexpect: valid\n", "has no step",
		  "a pass without steps" },
		{ "---\nname: x\nsummary: s\n---\n## Pass 1: a\nexpect: valid\n### shader\nx\n",
		  "device, host or macros", "a bad region" },
		{ "---\nname: x\nsummary: s\n---\n## Pass 1: a\nexpect: maybe\n### device\nx\n",
		  "f.md:6: expect:", "a bad expect" },
		{ "---\nname: x\nsummary: s\n---\n## Pass 1: a\nexpect: valid\n### device\n", "neither instructions",
		  "an empty step" },
		{ "---\nname: x\nsummary: s\n---\n## Pass 1: a\nexpect: valid\n### device\nx\n### device\ny\n",
		  "two steps", "a region twice" },
		{ "---\nname: x\nsummary: s\n---\n## Pass 1: a\nexpect: compiles\n### device\nx\n", "last pass",
		  "a last pass that is not valid" },
		{ "---\nname: x\nsummary: s\n---\n## Pass 1: a\nadds: Q\nexpect: valid\n### device\nx\n",
		  "Q has no values", "an unknown parameter" },
	};
	for (size_t i = 0; i < MEM_COUNT(table); i++) {
		struct err e = ERR_INIT;
		struct transformation *t = NULL;
		is_int(transformation_parse(table[i].text, "f.md", &t, &e), -ERR_INPUT, "refused: %s", table[i].what);
		has_str(e.text, table[i].part, "the message tells it");
		transformation_free(t);
	}
}

static void test_text(void)
{
	struct err e = ERR_INIT;
	struct transformation *t = NULL;
	is_int(transformation_of_text("unroll the inner loop by 4", &t, &e), 0, "free text: %s", e.text);
	if (t) {
		is_int(t->pass_count, 1, "one pass");
		is_int(t->passes[0].steps[0].region, REGION_DEVICE, "of the device region");
		is_int(t->passes[0].expect, TRANSFORMATION_VALID, "that must be valid");
		has_str(t->name, "text-", "named by its hash");
		transformation_free(t);
	}
	t = NULL;
	is_int(transformation_of_text("### macros\nm\n### device\nd\n", &t, &e), 0, "free text with steps: %s", e.text);
	if (t)
		is_int(t->passes[0].step_count, 2, "two steps");
	transformation_free(t);
	ok(transformation_of_text(" \n", &t, &e) < 0, "empty text is refused");
}

/* Sequences: every file is there, and each builds on what is applied before it. */
static void sequence_is(struct library *lib, const char *sequence, const char *backend, size_t want, const char *first)
{
	struct err e = ERR_INIT;
	char **names = NULL;
	size_t count = 0, calls = 0;
	is_int(library_sequence(lib, sequence, &names, &count, &e), 0, "the sequence %s: %s", sequence, e.text);
	for (size_t i = 0; i < count; i++) {
		struct transformation *t = NULL;
		is_int(library_find(lib, names[i], &t, &e), 0, "%s is shipped: %s", names[i], e.text);
		if (!t)
			continue;
		calls += transformation_calls(t, backend);
		is_int(transformation_check(t, backend, (const char *const *)names, i, &e), 0, "and builds on those before it: %s",
		       e.text);
		const char *code = transformation_insert_for(&t->passes[0].steps[0], backend);
		if (i == 0)
			has_str(code ? code : "", first, "the first brings what the others use");
		transformation_free(t);
	}
	is_int(calls, want, "%s: questions to a model in all", sequence);
	mem_free_texts(names, count);
}

static void test_shipped(void)
{
	static const struct {
		const char *name;
		size_t passes, calls;
	} table[] = {
		{ "refactor", 2, 3 },  { "tb-tiling", 6, 9 },    { "thread-tiling", 3, 3 }, /* PEAK, table 2 */
		{ "vectorize", 2, 2 }, { "direct-loads", 3, 3 }, { "whole-tiles", 1, 2 },   { "four-products", 1, 1 },
	};
	const char *folders[] = { NULL, "transforms" };
	struct library *lib = library_new(folders, 2);
	for (size_t i = 0; i < MEM_COUNT(table); i++) {
		struct err e = ERR_INIT;
		struct transformation *t = NULL;
		is_int(library_find(lib, table[i].name, &t, &e), 0, "%s is shipped: %s", table[i].name, e.text);
		is_int(t ? t->pass_count : 0, table[i].passes, "%s: passes", table[i].name);
		is_int(t ? transformation_calls(t, "hlsl") : 0, table[i].calls, "%s: calls", table[i].name);
		transformation_free(t);
	}
	sequence_is(lib, "matmul-fp32-hlsl-long", "hlsl", 24, "");
	sequence_is(lib, "matmul-fp32-hlsl-gpu", "hlsl", 28, "");
	sequence_is(lib, "h200-fp16", "cuda", 20, "wgmma.mma_async");
	sequence_is(lib, "h200-batched-fp16", "cuda", 20, "");
	sequence_is(lib, "h200-fp32-tensor", "cuda", 18, "split_scale");
	sequence_is(lib, "h200-attention-fp16", "cuda", 22, "wgmma.mma_async");
	sequence_is(lib, "matmul-fp16-cuda", "cuda", 7, "mma.sync");
	sequence_is(lib, "matmul-fp16-hip", "hip", 7, "mfma");
	sequence_is(lib, "mi200-fp32", "hip", 21, ""); /* PEAK, table 4 */
	sequence_is(lib, "mi200-fp16", "hip", 28, "");
	struct err e = ERR_INIT;
	struct transformation *t;
	is_int(library_find(lib, "tb-tilling", &t, &e), -ERR_NOT_FOUND, "an unknown name");
	has_str(e.text, "nearest names: tb-tiling", "is answered with the nearest");
	char **names;
	size_t count;
	static const char *const misspelt[] = { "tb-tilling", "tb_tiling", "Refactor", "model:default", "sequence:matmul-fp32-hlsl",
						"unroll!", "" };
	for (size_t i = 0; i < MEM_COUNT(misspelt); i++) {
		e = (struct err)ERR_INIT;
		is_int(library_find_or_text(lib, misspelt[i], &t, &e), -ERR_NOT_FOUND, "one word is a name, and '%s' is none",
		       misspelt[i]);
		has_str(e.text, "no transformation", "which is said");
	}
	static const char *const sentences[] = { "unroll the loop", "Unroll!\n",
						 "\xe5\xb1\x95\xe5\xbc\x80\xe5\xbe\xaa\xe7\x8e\xaf" };
	for (size_t i = 0; i < MEM_COUNT(sentences); i++) {
		is_int(library_find_or_text(lib, sentences[i], &t, &e), 0, "a sentence: %s %s", sentences[i], e.text);
		transformation_free(t);
	}
	is_int(library_sequence(lib, "matmul-fp32-hlsl", &names, &count, &e), 0, "a sequence");
	is_int(count, 4, "has its transformations");
	is_str(names[1], "tb-tiling", "in order");
	mem_free_texts(names, count);
	library_free(lib);
}

static void write_text(const char *folder, const char *name, const char *text)
{
	char *path = mem_fmt("%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
	free(path);
}

static void test_own_folder(void)
{
	char folder[] = "/tmp/peakd-test-XXXXXX";
	struct err e = ERR_INIT;
	struct transformation *t = NULL;
	ok(mkdtemp(folder) != NULL, "a folder");
	write_text(folder, "refactor.md",
		   "---\nname: refactor\nsummary: mine\n---\n## Pass 1: a\nexpect: valid\n### device\nx\n");
	const char *folders[] = { folder, "transforms" };
	struct library *lib = library_new(folders, 2);
	is_int(library_find(lib, "refactor", &t, &e), 0, "the user's own file: %s", e.text);
	is_str(t ? t->summary : "", "mine", "hides the shipped one");
	transformation_free(t);
	is_int(library_find(lib, "../refactor", &t, &e), -ERR_NOT_FOUND, "a path is no name");
	write_text(folder, "refactor.md",
		   "---\nname: other\nsummary: mine\n---\n## Pass 1: a\nexpect: valid\n### device\nx\n");
	is_int(library_find(lib, "refactor", &t, &e), -ERR_INPUT, "a file under another's name is refused");
	library_free(lib);
	char *path = mem_fmt("%s/refactor.md", folder);
	unlink(path);
	free(path);
	rmdir(folder);
}

static const char importing[] = "---\nname: uses\nsummary: s\n---\n## Pass 1: a\nexpect: valid\n### macros\n```cuda import\n%s\n"
	"```\n"
				"### device\nx\n";

static void import_is(struct library *lib, const char *folder, const char *file, int want, const char *part, const char *what)
{
	struct err e = ERR_INIT;
	struct transformation *t = NULL;
	char *text = mem_fmt(importing, file);
	write_text(folder, "uses.md", text);
	is_int(library_find(lib, "uses", &t, &e), want, "%s: %s", what, e.text);
	if (t) {
		const char *code = transformation_insert_for(&t->passes[0].steps[0], "cuda");
		is_str(code ? code : "", part, "its text is what is inserted");
		is_int(transformation_calls(t, "cuda"), 1, "and no call is made for it");
		ok(!transformation_insert_for(&t->passes[0].steps[0], "hip"), "on that backend only");
		has_str(t->source, part, "the text belongs to the transformation's source, so that a saved one is whole");
	} else {
		has_str(e.text, part, "the message tells it");
	}
	transformation_free(t);
	free(text);
}

static void test_imports(void)
{
	char own[] = "/tmp/peakd-test-XXXXXX", shipped[] = "/tmp/peakd-test-XXXXXX";
	ok(mkdtemp(own) && mkdtemp(shipped), "two folders");
	const char *folders[] = { own, shipped };
	struct library *lib = library_new(folders, 2);
	char *made[] = { mem_fmt("%s/library", own), mem_fmt("%s/library", shipped) };
	mkdir(made[0], 0700);
	mkdir(made[1], 0700);
	write_text(shipped, "library/some.cuh", "#define SHIPPED `1` /* ``` */");
	import_is(lib, shipped, "some.cuh", 0, "#define SHIPPED `1` /* ``` */\n", "a file of the library");
	write_text(own, "library/some.cuh", "#define OWN 1\n");
	import_is(lib, shipped, "some.cuh", 0, "#define OWN 1\n", "the user's own hides it");
	import_is(lib, shipped, "none.cuh", -ERR_INPUT, "library/none.cuh", "a file that is missing");
	import_is(lib, shipped, "../uses.md", -ERR_INPUT, "name of one file", "a path");
	import_is(lib, shipped, "some.cuh\nother.cuh", -ERR_INPUT, "name of one file", "two files in one fence");
	library_free(lib);
	char *files[] = { mem_fmt("%s/some.cuh", made[0]), mem_fmt("%s/some.cuh", made[1]), mem_fmt("%s/uses.md", shipped) };
	for (size_t i = 0; i < MEM_COUNT(files); i++) {
		unlink(files[i]);
		free(files[i]);
	}
	rmdir(made[0]);
	rmdir(made[1]);
	free(made[0]);
	free(made[1]);
	rmdir(own);
	rmdir(shipped);
}

int main(void)
{
	test_imports();
	test_parts();
	test_mistakes();
	test_text();
	test_shipped();
	test_own_folder();
	return tap_done();
}

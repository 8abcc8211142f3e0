/* Micro-profiling tools: classes by the roofline, conditions over figures, texts with figures in them, a user's own, mistakes in
 * files. Every shipped one is a file that reads well and suggests transformations that exist. */
#include "core/advise/advice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "folder.h"
#include "tap.h"

static char folder[] = "/tmp/peakd-advice-XXXXXX";

static int read_from(const char *a, const char *b, struct advisors *ret, struct err *e)
{
	char *first = mem_fmt("%s/%s", folder, a), *second = b ? mem_fmt("%s/%s", folder, b) : NULL;
	const char *folders[] = { first, second };
	int rc = advice_read(folders, 2, ret, e);
	free(first);
	free(second);
	return rc;
}

static void is_class(double pipe, double copy, double intensity, double launch, enum advice_class want, const char *name)
{
	struct figures f;
	char *why;
	figures_init(&f);
	figures_set(&f, "pipe_percent", pipe);
	figures_set(&f, "copy_percent", copy);
	figures_set(&f, "intensity", intensity);
	figures_set(&f, "ridge", 10);
	figures_set(&f, "launch_percent", launch);
	is_int((long long)advice_classify(&f, &why), (long long)want, "%s (%s)", name, why ? why : "-");
	free(why);
	figures_fini(&f);
}

static void test_classes(void)
{
	is_class(90, 20, 50, NAN, ADVICE_COMPUTE, "a kernel near the arithmetic ceiling is limited by compute");
	is_class(5, 85, 0.5, 1, ADVICE_MEMORY, "one near the copy ceiling by memory");
	is_class(8, 10, 50, 1, ADVICE_LATENCY, "one far from both by latency");
	is_class(40, 10, 50, 1, ADVICE_COMPUTE, "between, the roof above its intensity counts");
	is_class(10, 40, 2, 1, ADVICE_MEMORY, "on either side of the ridge");
	is_class(3, 243, 2, 1, ADVICE_LATENCY, "more than the copy ceiling comes from a cache, so memory is no limit");
	is_class(60, 243, 2, 1, ADVICE_COMPUTE, "then arithmetic may be");
	is_class(1, 1, 2, 70, ADVICE_LAUNCH, "one whose launches take most of the time by launching");
	is_class(NAN, NAN, NAN, NAN, ADVICE_CLASSES, "without ceilings nothing is said");
}

#define TOOL(class, when, evidence, try) "---\nclass: " class "\nwhen: " when "\nevidence: " evidence "\ntry: " \
	try "\n---\nDo this.\nAnd that.\n"

static void test_asking(void)
{
	struct advisors all;
	struct err e = ERR_INIT;
	struct figures f;
	struct advice *said;
	size_t count;
	char *closed;
	folder_write(
		folder, "own/spill.md",
		TOOL("memory", "spill_bytes > 8 and registers >= 100", "{spill_bytes} at {registers}, {occupancy%}", "a, b-c"));
	folder_write(folder, "shipped/spill.md", TOOL("any", "spill_bytes > 0", "shipped", ""));
	folder_write(folder, "shipped/tail.md", TOOL("compute, latency", "tail > 0.5", "{tail%} empty", "d"));
	is_int(read_from("own", "shipped", &all, &e), 0, "two folders are read %s", e.text);
	ok(all.count == 2 && strcmp(all.at[0].evidence, "shipped") != 0, "the user's own file hides the shipped one");
	figures_init(&f);
	figures_set(&f, "spill_bytes", 16);
	figures_set(&f, "registers", 168);
	figures_set(&f, "occupancy", 0.25);
	advice_ask(&all, &f, ADVICE_MEMORY, &said, &count, &closed);
	ok(count == 1 && closed == NULL, "the tools of the class are asked");
	is_str(count ? said[0].evidence : "", "16 bytes at 168, 25 %", "evidence has figures in it");
	advice_free(said, count);
	figures_set(&f, "spill_bytes", 32888);
	advice_ask(&all, &f, ADVICE_MEMORY, &said, &count, &closed);
	is_str(count ? said[0].evidence : "", "32888 bytes at 168, 25 %", "evidence writes large figures without an exponent");
	figures_set(&f, "spill_bytes", 16);
	is_str(count ? said[0].text : "", "Do this. And that.", "guidance is one line");
	is_str(count ? said[0].try : "", "a, b-c", "with transformations to try");
	advice_free(said, count);
	folder_write(folder, "ranked/a.md",
		     "---\nclass: any\nwhen: spill_bytes > 0\nevidence: a\ngain: spill_bytes / 8\n---\nA.\n");
	folder_write(folder, "ranked/b.md", "---\nclass: any\nwhen: spill_bytes > 0\nevidence: b\n---\nB.\n");
	folder_write(folder, "ranked/c.md",
		     "---\nclass: any\nwhen: spill_bytes > 0\nevidence: c\ngain: min(registers, 3)\n---\nC.\n");
	struct advisors ranked;
	is_int(read_from("ranked", NULL, &ranked, &e), 0, "tools with gains %s", e.text);
	advice_ask(&ranked, &f, ADVICE_MEMORY, &said, &count, &closed);
	ok(count == 3 && *said[0].tool == 'c' && *said[1].tool == 'a' && *said[2].tool == 'b', "what may gain most comes first");
	advice_free(said, count);
	advice_fini(&ranked);
	figures_set(&f, "registers", 99);
	advice_ask(&all, &f, ADVICE_CLASSES, &said, &count, &closed);
	ok(count == 0, "a condition that does not hold says nothing");
	is_str(closed ? closed : "", "tail (no tail)", "a tool without its figure is named");
	advice_free(said, count);
	free(closed);
	figures_fini(&f);
	advice_fini(&all);
}

static void is_mistake(const char *text, const char *part)
{
	struct advisors all;
	struct err e = ERR_INIT;
	folder_write(folder, "wrong/x.md", text);
	int rc = read_from("wrong", NULL, &all, &e);
	ok(rc < 0 && strstr(e.text, part) != NULL && strstr(e.text, "wrong/x.md") != NULL, "refused with \"%s\": %s", part,
	   rc < 0 ? e.text : "read");
	if (rc == 0)
		advice_fini(&all);
}

static void test_mistakes(void)
{
	is_mistake(TOOL("memry", "spill_bytes > 0", "x", ""), "not \"memry\"");
	is_mistake(TOOL("any", "spil_bytes > 0", "x", ""), "spill_bytes");
	is_mistake(TOOL("any", "", "x", ""), "when");
	is_mistake("---\nclass: any\nwhen: spill_bytes > 0\nevidence: x\ngain: 1 +\n---\ntext\n", "gain");
	is_mistake(TOOL("any", "spill_bytes > 0", "{spil}", ""), "there is no figure {spil}");
	is_mistake("---\nclass: any\nwhen: spill_bytes > 0\nevidence: x\n---\n", "what to do");
	is_mistake("---\nclass: any\nwhat: 1\n---\ntext\n", "what");
	is_mistake("only text\n", "class: is missing");
}

static void test_shipped(void)
{
	const char *folders[] = { "transforms/tools" };
	struct advisors all;
	struct err e = ERR_INIT;
	is_int(advice_read(folders, 1, &all, &e), 0, "the shipped tools are read %s", e.text);
	ok(all.count >= 14, "there are at least fourteen (%zu)", all.count);
	for (size_t i = 0; i < all.count; i++) {
		size_t missing = 0;
		for (size_t k = 0; k < all.at[i].try_count; k++) {
			char *file = mem_fmt("transforms/%s.md", all.at[i].try[k]);
			missing += access(file, R_OK) != 0;
			free(file);
		}
		ok(missing == 0 && strlen(all.at[i].text) < 320, "%s suggests what exists, in few words", all.at[i].name);
	}
	advice_fini(&all);
}

int main(void)
{
	if (mkdtemp(folder) == NULL)
		return 1;
	test_classes();
	test_asking();
	test_mistakes();
	test_shipped();
	folder_remove(folder);
	return tap_done();
}

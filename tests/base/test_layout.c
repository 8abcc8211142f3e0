/* base/layout: a struct described by a table of its fields is read from and written to JSON, schema, words and the older text
 * form. */
#include "base/layout.h"

#include <math.h>
#include <stdbool.h>

#include "base/mem.h"
#include "tap.h"

enum verdict { SAME, FASTER };
static const char *const verdicts[] = { "same", "faster", NULL };

struct size {
	char *size;
	double median_ns;
	int64_t run;
	enum verdict verdict;
};
struct spent {
	double seconds;
};
struct result {
	bool passed, warm;
	int64_t seed;
	int pass;
	char *summary;
	char **notes;
	size_t note_count;
	struct spent spent;
	struct size *sizes;
	size_t size_count;
};

static const struct layout_field size_fields[] = {
	{ LAYOUT_AT(struct size, size, TEXT), .say = "%: " },
	{ LAYOUT_AT(struct size, verdict, WORD), .words = verdicts, .say = "%" },
	{ LAYOUT_AT(struct size, median_ns, REAL), .unit = "ns", .say = ", best %" },
	{ LAYOUT_AT(struct size, run, ID) },
	{ .name = NULL },
};
static const struct layout size_layout = { "size", sizeof(struct size), size_fields };

static const struct layout_field spent_fields[] = {
	{ LAYOUT_AT(struct spent, seconds, REAL), .unit = "s" },
	{ .name = NULL },
};
static const struct layout spent_layout = { "spent", sizeof(struct spent), spent_fields };

static const struct layout_field fields[] = {
	{ LAYOUT_AT(struct result, passed, BOOL), .flags = LAYOUT_REQUIRED },
	{ LAYOUT_AT(struct result, warm, BOOL), .flags = LAYOUT_OPTIONAL, .say = "warm\n" },
	{ LAYOUT_AT(struct result, seed, COUNT) },
	{ LAYOUT_AT(struct result, pass, ID) },
	{ LAYOUT_AT(struct result, summary, TEXT), .about = "For people", .say = "%\n" },
	{ LAYOUT_MANY(struct result, notes, note_count, TEXTS), .say = "note: %\n" },
	{ LAYOUT_AT(struct result, spent, PART), .of = &spent_layout },
	{ LAYOUT_MANY(struct result, sizes, size_count, LIST), .of = &size_layout },
	{ .name = NULL },
};
static const struct layout layout = { "result", sizeof(struct result), fields };

static void reads(const char *text, struct result *r)
{
	struct err e = ERR_INIT;
	layout_init(&layout, r);
	is_int(layout_read_text(&layout, text, r, &e), 0, "%.40s is read%s", text, e.text);
}

/* Reads the text, writes it again, and compares the result with `want`. */
static void round_trip(const char *text, const char *want)
{
	struct result r;
	reads(text, &r);
	char *back = layout_write(&layout, &r);
	is_str(back, want, "the text is written again");
	free(back);
	layout_fini(&layout, &r);
}

static void json(void)
{
	round_trip("{}", "{\"passed\":false,\"notes\":[],\"sizes\":[]}");
	round_trip("{\"passed\":true,\"warm\":true,\"seed\":0,\"pass\":3,\"summary\":\"a "
		   "\\\"b\\\"\",\"notes\":[\"x\",\"\"],\"seconds\":1.5,"
		   "\"sizes\":[{\"size\":\"n=8\",\"verdict\":\"faster\",\"median_ns\":2500.0,\"run\":7}]}",
		   "{\"passed\":true,\"warm\":true,\"seed\":0,\"pass\":3,\"summary\":\"a "
		   "\\\"b\\\"\",\"notes\":[\"x\",\"\"],\"seconds\":1.5,"
		   "\"sizes\":[{\"size\":\"n=8\",\"verdict\":\"faster\",\"median_ns\":2500.0,\"run\":7}]}");
	round_trip("{\"passed\":null,\"unknown\":[1]}", "{\"passed\":false,\"notes\":[],\"sizes\":[]}");
	round_trip("{\"seed\":1152921504606846976}", "{\"passed\":false,\"seed\":1152921504606846976,\"notes\":[],\"sizes\":[]}");
	round_trip("{\"seed\":9223372036854775807}", "{\"passed\":false,\"seed\":9223372036854775807,\"notes\":[],\"sizes\":[]}");
	round_trip("{\"seed\":5.0}", "{\"passed\":false,\"seed\":5,\"notes\":[],\"sizes\":[]}");
	struct result r;
	layout_init(&layout, &r);
	r.summary = mem_str("bytes \xff of a compiler");
	r.spent.seconds = INFINITY;
	char *text = layout_write(&layout, &r);
	is_str(text, "{\"passed\":false,\"summary\":\"bytes ? of a compiler\",\"notes\":[],\"sizes\":[]}",
	       "bytes that are not UTF-8 are replaced, and an infinite number is left out");
	free(text);
	layout_fini(&layout, &r);
}

static void wrong_types(void)
{
	static const struct {
		const char *text, *field;
	} wrong[] = {
		{ "{\"passed\":1}", "passed" },
		{ "{\"seed\":\"7\"}", "seed" },
		{ "{\"seed\":1.5}", "seed" },
		{ "{\"seed\":1e300}", "seed" },
		{ "{\"pass\":4294967296}", "pass" },
		{ "{\"summary\":3}", "summary" },
		{ "{\"notes\":\"x\"}", "notes" },
		{ "{\"notes\":[1]}", "notes[0]" },
		{ "{\"sizes\":[{\"verdict\":\"quick\"}]}", "verdict" },
		{ "{\"sizes\":[3]}", "size" },
		{ "{\"seconds\":\"long\"}", "seconds" },
		{ "{broken", "result" },
	};
	for (size_t i = 0; i < MEM_COUNT(wrong); i++) {
		struct result r;
		struct err e = ERR_INIT;
		layout_init(&layout, &r);
		is_int(layout_read_text(&layout, wrong[i].text, &r, &e), -ERR_INPUT, "%s is refused", wrong[i].text);
		has_str(e.text, wrong[i].field, "the message names the field");
		layout_fini(&layout, &r);
	}
}

static void old_form(void)
{
	struct result r;
	reads("passed: 1\nsummary: two\\nlines, a \\\\ and: a colon\nnotes: x\\ny\nseed: 1152921504606846976\ncount: 2\nsize_0: "
	      "n=8\n"
	      "median_ns_0: 12.5\nsize_1: n=16\nrun_1: 4\nverdict_1: faster\nnothing_1: here\nseconds: 2\nstray",
	      &r);
	ok(r.passed && r.seed == 1152921504606846976, "the older text form gives truth values and integers");
	is_str(r.summary, "two\nlines, a \\ and: a colon", "the older text form gives escaped text");
	ok(r.note_count == 2 && strcmp(r.notes[1], "y") == 0, "lines of the older text form become an array");
	ok(r.size_count == 2 && r.sizes[0].median_ns == 12.5 && r.sizes[1].run == 4 && r.sizes[1].verdict == FASTER,
	   "names that end in a number belong to the elements of the list");
	ok(r.spent.seconds == 2, "fields of a nested struct are read");
	layout_fini(&layout, &r);
}

static void schema(void)
{
	json_t *s = layout_schema(&layout);
	char *text = json_dumps(s, JSON_COMPACT);
	is_str(text,
	       "{\"type\":\"object\",\"properties\":{\"passed\":{\"type\":\"boolean\"},\"warm\":{\"type\":\"boolean\"},"
	       "\"seed\":{\"type\":\"integer\"},\"pass\":{\"type\":\"integer\"},\"summary\":{\"type\":\"string\",\"description\":"
	       "\"For people\"},"
	       "\"notes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"seconds\":{\"type\":\"number\"},\"sizes\":{"
	       "\"type\":\"array\","
	       "\"items\":{\"type\":\"object\",\"properties\":{\"size\":{\"type\":\"string\"},\"verdict\":{\"enum\":[\"same\","
	       "\"faster\"]},"
	       "\"median_ns\":{\"type\":\"number\"},\"run\":{\"type\":\"integer\"}}}}},\"required\":[\"passed\"]}",
	       "the schema follows the table");
	free(text);
	json_decref(s);
}

static void words(void)
{
	struct buf out = BUF_INIT;
	struct result r;
	reads("{\"warm\":true,\"summary\":\"right\",\"notes\":[\"a\"],\"sizes\":[{\"size\":\"n=8\",\"median_ns\":2500},{\"size\":"
	      "\"n=16\"}]}",
	      &r);
	layout_text(&layout, &r, &out);
	is_str(buf_text(&out), "warm\nright\nnote: a\nn=8: same, best 2.5 us\nn=16: same\n",
	       "the words for a terminal leave out empty fields");
	layout_fini(&layout, &r);
	buf_fini(&out);
}

int main(void)
{
	json();
	wrong_types();
	old_form();
	schema();
	words();
	layout_free(&layout, layout_new(&layout));
	layout_free(&layout, NULL);
	return tap_done();
}

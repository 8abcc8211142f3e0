/* Files ↔ contexts: round trips over examples/ and awkward files, identity, edits, and a table of bad files with
 * their messages. */
#include "core/context/context.h"

#include <dirent.h>

#include "core/context/host.h"
#include "core/context/sample.h"
#include "core/context/space.h"
#include "tap.h"

static void round_trip(const char *name, const char *text)
{
	struct context *once = NULL, *twice = NULL, *third = NULL;
	struct err e = ERR_INIT;
	is_int(context_parse(name, text, &once, &e), 0, "%s parses %s", name, e.text);
	if (once == NULL)
		return;
	is_int(context_parse(name, context_render(once), &twice, &e), 0, "%s: its render parses %s", name, e.text);
	is_str(context_render(twice), context_render(once), "%s: render after parse is idempotent", name);
	is_str(context_hash(twice)->hex, context_hash(once)->hex, "%s: and keeps the identity", name);
	char *canonical = context_canonical(once);
	is_int(context_parse(name, canonical, &third, &e), 0, "%s: the canonical text is a context %s", name, e.text);
	is_str(context_hash(third)->hex, context_hash(once)->hex, "%s: the same one", name);
	free(canonical);
	context_free(once);
	context_free(twice);
	context_free(third);
}

static int is_example(const struct dirent *d)
{
	size_t n = strlen(d->d_name);
	return n > 8 && strcmp(d->d_name + n - 8, ".peak.md") == 0;
}

static void test_examples(void)
{
	struct dirent **list = NULL;
	int n = scandir("examples", &list, is_example, alphasort);
	ok(n >= 3, "the examples are found");
	for (int k = 0; k < n; k++) {
		char *path = mem_fmt("examples/%s", list[k]->d_name);
		struct context *ctx = NULL;
		struct space *space = NULL, *check = NULL;
		struct facts facts = sample_facts();
		struct err e = ERR_INIT;
		is_int(context_load(path, &ctx, &e), 0, "%s loads %s", path, e.text);
		round_trip(list[k]->d_name, context_render(ctx));
		is_int(host_check(ctx, &e), 0, "an example's host code compiles %s", e.text);
		is_int(space_new(ctx, &facts, NULL, &space, &e), 0, "an example has valid parameters %s", e.text);
		is_int(space_new_check(ctx, &facts, NULL, &check, &e), 0, "an example has check: sizes %s", e.text);
		bool emulated = strstr(path, "gfx90a") !=
				NULL; /* too slow for a second, finer computation: the root is its own reference */
		ok(space_size_count(check) >= 2 && (context_reference(ctx) != NULL || emulated),
		   "an example checks several sizes and has a reference");
		space_free(space);
		space_free(check);
		context_free(ctx);
		free(path);
		free(list[k]);
	}
	free(list);
}

static const char awkward[] =
	"\xEF\xBB\xBF\r\n---\r\n# heading comment\r\nbackend:   cuda   # where\r\n\r\nkernel: odd.name-2\r\noptions: "
	"-a   -b\r\n"
	"inputs:\r\n  # about n\r\n  A:    f32[ n,  n ; n+1 ] =  random( 0 , 2 )\r\n  n: int = {1,\t2}   # sizes\r\n"
	"  C: inout f16[n] = zeros\r\ntune:\r\n\tBX: {1}\r\nwhere: BX > 0\r\n# trailing\r\n---\r\n\r\nSome prose\r\nin "
	"two lines.\r\n\r\n"
	"~~~lua host\r\nlaunch('k', 1, 1, {A})   -- a comment\r\n~~~\r\nMore prose.\r\n````cuda\r\n// a fence "
	"inside\r\n```\r\nvoid k();"
	"   \r\n````\r\n\r\nThe end.";

static void test_awkward(void)
{
	round_trip("awkward", awkward);
	struct context *ctx = sample_parse(awkward);
	const char *r = context_render(ctx);
	has_str(r, "---\n# heading comment\nbackend: cuda  # where\n\nkernel: odd.name-2\n",
		"rendering keeps comments, blank lines and order");
	has_str(r, "  # about n\n  A: f32[ n, n ; n+1 ] = random( 0 , 2 )\n  n: int = {1, 2}  # sizes\n",
		"rendering collapses white space");
	has_str(r, "---\n\nSome prose\nin two lines.\n\n```lua host\nlaunch('k', 1, 1, {A})   -- a comment\n```\n",
		"rendering keeps prose");
	has_str(r, "````cuda\n// a fence inside\n```\nvoid k();   \n````\n\nThe end.\n",
		"rendering keeps regions byte for byte, in a fence that is long enough");
	is_str(context_region(ctx, REGION_MACROS), "", "a missing macros region is empty");
	const struct spec *s = context_spec(ctx);
	ok(s->arrays[0].content.lo && s->arrays[0].content.hi && s->arrays[0].ld,
	   "a range of random values and a leading dimension are read");
	is_int(s->arrays[1].role, PLAN_INOUT, "inout is read");
	is_int(s->option_count, 2, "options are split at spaces");
	context_free(ctx);
}

static struct hash hash_of(const char *fields, const char *host)
{
	struct context *ctx = sample_context("cuda", fields, host);
	struct hash h = *context_hash(ctx);
	context_free(ctx);
	return h;
}

static void test_identity(void)
{
	struct hash h = hash_of(SAMPLE_TUNE "where: BX > 1\n", SAMPLE_HOST);
	is_str(hash_of("# comment\ntune:\n  BX: {16,  32}  # more\n\nwhere:\n  - BX > 1\n", SAMPLE_HOST).hex,
	       hash_of("tune:\n  BX: {16, 32}\nwhere: BX > 1\n", SAMPLE_HOST).hex,
	       "comments and the shape of lists do not change the hash");
	is_str(hash_of("where: BX > 1\n" SAMPLE_TUNE, SAMPLE_HOST).hex, h.hex, "the order of fields does not change the hash");
	ok(strcmp(hash_of(SAMPLE_TUNE "where: BX > 2\n", SAMPLE_HOST).hex, h.hex) != 0, "a constraint changes the hash");
	ok(strcmp(hash_of(SAMPLE_TUNE "where: BX > 1\n", SAMPLE_HOST "-- x\n").hex, h.hex) != 0,
	   "a comment in a region changes the hash");
}

static void test_regions(void)
{
	struct err e = ERR_INIT;
	struct context *ctx = sample_context("cuda", SAMPLE_TUNE, SAMPLE_HOST), *with = NULL, *back = NULL;
	is_int(context_with_region(ctx, REGION_MACROS, "#define X 1", &with, &e), 0, "a macros region is added");
	is_str(context_region(with, REGION_MACROS), "#define X 1\n", "a new region gets a newline at its end");
	is_str(context_region(with, REGION_HOST), SAMPLE_HOST, "the other regions stay");
	has_str(context_render(with), "void k() {}\n```\n```macros\n#define X 1\n```\n```lua host\n",
		"macros are put behind the device code");
	ok(strcmp(context_hash(ctx)->hex, context_hash(with)->hex) != 0, "a changed region changes the hash");
	is_int(context_with_region(with, REGION_MACROS, "", &back, &e), 0, "a macros region is removed");
	is_str(context_hash(back)->hex, context_hash(ctx)->hex, "removing what was added restores the hash");
	context_free(back);
	is_int(context_with_region(ctx, REGION_DEVICE, " \n", &back, &e), -ERR_INPUT, "an empty device region is refused");
	has_str(e.text, "sample.peak.md: device code: the region is empty", "the message says that the region is empty");
	is_int(context_as_reference(ctx, &back, &e), -ERR_NOT_FOUND, "a context without a reference fence says so");
	round_trip("with macros", context_render(with));
	context_free(with);
	is_int(context_with_source(ctx, "python.md", "```python reference\ndef run(): pass\n```\n", &with, &e), 0,
	       "a reference in Python is added");
	is_str(context_oracle(with), "def run(): pass\n", "a reference in Python is the oracle's");
	ok(context_reference(with) == NULL && context_oracle(ctx) == NULL, "a reference in Python is no device code");
	round_trip("with a reference in Python", context_render(with));
	context_free(with);
	struct context *shared = context_ref(ctx);
	context_free(ctx);
	is_str(context_kernel(shared), "sample", "a second owner keeps the context alive");
	context_free(shared);
}

static int edit(const struct context *ctx, enum context_edit_kind kind, const char *name, const char *text, struct context **ret,
		struct err *e)
{
	struct context_edit one = { .kind = kind, .name = name, .text = text };
	return context_with_tuning(ctx, &one, 1, ret, e);
}

static void test_edits(void)
{
	struct err e = ERR_INIT;
	struct context *ctx =
		sample_context("cuda", SAMPLE_TUNE "# about the constraint\nwhere: BX > 1  # why\nflops: n\n", SAMPLE_HOST);
	struct context *next = NULL;
	const struct context_edit edits[] = {
		{ CONTEXT_TUNE_SET, "TILE_K", "{8, 16}" },    { CONTEXT_TUNE_SET, "BX", "{64}" },
		{ CONTEXT_WHERE_ADD, NULL, "TILE_K < BX" },   { CONTEXT_WHERE_ADD, NULL, "TILE_K  < BX" },
		{ CONTEXT_REQUIRES_ADD, NULL, "n % 8 == 0" },
	};
	is_int(context_with_tuning(ctx, edits, 5, &next, &e), 0, "edits of tuning parameters apply %s", e.text);
	has_str(context_render(next),
		"tune:\n  BX: {64}\n  TILE_K: {8, 16}\n# about the constraint\nwhere:\n  - BX > 1  # why\n"
		"  - TILE_K < BX\nrequires:\n  - n % 8 == 0\nflops: n\n---\n",
		"edits go to their places and keep comments");
	round_trip("edited", context_render(next));
	struct context *less = NULL;
	is_int(edit(next, CONTEXT_TUNE_DROP, "TILE_K", NULL, &less, &e), 0, "a parameter is dropped %s", e.text);
	ok(context_spec(less)->where_count == 1 && context_spec(less)->var_count == 2, "dropping a parameter drops its constraint");
	context_free(less);
	is_int(edit(next, CONTEXT_WHERE_DROP, NULL, "BX > 1", &less, &e), 0, "a constraint is dropped");
	is_int(context_spec(less)->where_count, 1, "dropping a constraint drops no other");
	context_free(less);
	context_free(next);
	is_int(edit(ctx, CONTEXT_WHERE_ADD, NULL, "n > 64", &next, &e), -ERR_INPUT, "where: on sizes alone is not accepted");
	has_str(e.text, "belongs under requires:", "the message points to requires:");
	is_int(edit(ctx, CONTEXT_TUNE_DROP, "BY", NULL, &next, &e), -ERR_NOT_FOUND, "an unknown parameter cannot be dropped");
	is_int(edit(ctx, CONTEXT_WHERE_DROP, NULL, "BX > 2", &next, &e), -ERR_NOT_FOUND, "an unknown constraint cannot be dropped");
	is_int(edit(ctx, CONTEXT_TUNE_SET, "n", "{1}", &next, &e), -ERR_INPUT, "a tuning parameter cannot have an input's name");
	is_int(edit(ctx, CONTEXT_TUNE_SET, "BY", "{1}\nflops: 5", &next, &e), -ERR_INPUT, "a value cannot add another line");
	is_int(edit(ctx, CONTEXT_TUNE_SET, "BY: {1}\noptions", "-x", &next, &e), -ERR_INPUT, "a name cannot add another line");
	is_int(edit(ctx, CONTEXT_REQUIRES_ADD, NULL, "BX > 1", &next, &e), -ERR_INPUT,
	       "requires: cannot mention a tuning parameter");
	context_free(ctx);
}

/* Lines 1-7 of these files are the head below; `fields` starts on line 8. */
#define HEAD "---\nkernel: k\nbackend: cuda\ninputs:\n  n: int = {64}\n  A: f32[n] = random\n  C: out f32[n]\n"
#define TAIL "---\n```cuda\nvoid k();\n```\n```lua host\nx()\n```\n"
static const struct bad {
	const char *text, *message;
} bad[] = {
	{ "", "f:1: expected `---` before the front matter, found ``" },
	{ "# Title\n---\n", "f:1: expected `---` before the front matter, found `# Title`" },
	{ "---\nkernel: k\n", "f:1: the front matter is never closed" },
	{ "---\nbackend: cuda\n" TAIL, "f:1: the front matter has no `kernel:` field" },
	{ "---\nkernel: k\n---\n```cuda\nx\n```\n```lua host\nx\n```\n", "f:1: the front matter has no `backend:` field" },
	{ "---\nkernel: k\nbackend: metal\n---\n```macros\n```\n", "f:7: the file has no device code fence" },
	{ "---\nkernel: k\nbackend: opencl\n" TAIL, "f:3: backend: expected cuda, hip or hlsl, found `opencl`" },
	{ "---\nkernel: a b\nbackend: cuda\n" TAIL, "f:2: kernel: `a b`: expected a name" },
	{ HEAD "tunes:\n" TAIL, "f:8: unknown field tunes (did you mean tune?); expected one of kernel, backend" },
	{ HEAD "kernel: j\n" TAIL, "f:8: field kernel is given twice; first on line 2" },
	{ HEAD "flops:\n" TAIL, "f:8: flops: expected a value on this line" },
	{ HEAD "flops: 2*m\n" TAIL, "f:8: flops: `2*m`: no parameter, input or constant m is known here" },
	{ HEAD "flops: 2*n +\n" TAIL, "f:8: flops: `2*n +`, column 6: expected a number or a name, found the end" },
	{ HEAD "tune: {1}\n" TAIL, "f:8: tune: expected entries on the next lines" },
	{ HEAD "tune:\n  BX: {1, 2\n" TAIL, "f:9: tune: `{1, 2`: brackets do not close" },
	{ HEAD "tune:\n  BX: [1, 2]\n" TAIL, "f:9: tune: BX: `[1, 2]`: write values in braces: {1, 2}" },
	{ HEAD "tune:\n  BX: 2..4\n" TAIL, "f:9: tune: BX: `2..4`, column 1: expected a number, found '2..4'" },
	{ HEAD "tune:\n  BX: 1, 2\n" TAIL, "f:9: tune: BX: `1, 2`: write several values in braces: {1, 2}" },
	{ HEAD "tune:\n  BX:\n" TAIL, "f:9: tune: BX: expected a value" },
	{ HEAD "tune:\n  BX: {1}\n  BX: {2}\n" TAIL, "f:10: tune: BX is declared twice; first on line 9" },
	{ HEAD "tune:\n  n: {1}\n" TAIL, "f:9: tune: n: n is declared twice" },
	{ HEAD "tune:\n  while: {1}\n" TAIL, "f:9: tune: while: while is a word of the language" },
	{ HEAD "tune:\n  f32: {1}\n" TAIL, "f:9: tune: f32: f32 is the name of a type" },
	{ HEAD "tune:\n  2x: {1}\n" TAIL, "f:9: tune: 2x: 2x cannot be a name here" },
	{ HEAD "tune:\n  - BX\n" TAIL, "f:9: `- BX`: a list item must be below one of where:, requires:" },
	{ HEAD "where:\n  BX: 1\n" TAIL, "f:9: `BX:` is indented but where takes no entries" },
	{ HEAD "where:\n  n > 1\n" TAIL, "f:9: `n > 1`: expected `NAME: VALUE` or `- VALUE`" },
	{ HEAD "where: n != 1\n" TAIL, "f:8: where: `n != 1`, column 3: write ~= in place of !=" },
	{ HEAD "tune:\n  BX: {1}\nrequires: BX > 0\n" TAIL, "f:10: requires: `BX > 0` mentions a tuning parameter" },
	{ HEAD "check: m = 5\n" TAIL, "f:8: check: m is not a scalar input" },
	{ HEAD "check: 5\n" TAIL, "f:8: check: `5`: expected `NAME = VALUES`" },
	{ HEAD "check: n = {5}, n = 6\n" TAIL, "f:8: check: n is given twice" },
	{ HEAD "precision: fast\n" TAIL, "f:8: precision: expected strict or tensor:IN/ACC" },
	{ HEAD "constants:\n  K: n\n" TAIL, "f:9: constants: K: `n`: no parameter" },
	{ HEAD "constants:\n  K: 1 < 2\n" TAIL, "f:9: constants: K: `1 < 2`: a truth value" },
	{ "---\nkernel: k\nbackend: cuda\ninputs:\n  n: int = {1}\n" TAIL, "f:4: inputs: no array is declared `out` or `inout`" },
	{ "---\nkernel: k\nbackend: cuda\ninputs:\n  n: integer = {1}\n" TAIL, "f:5: inputs: n: expected a type (int, i8" },
	{ "---\nkernel: k\nbackend: cuda\ninputs:\n  n: int\n" TAIL,
	  "f:5: inputs: n: expected `= VALUES` after the type (all values of a scalar are enumerated, as in `n: int = {1024, "
	  "2048}`), "
	  "found the end of the line" },
	{ "---\nkernel: k\nbackend: cuda\ninputs:\n  C: out f32[8] = zeros\n" TAIL, "f:5: inputs: C: an output has no fill" },
	{ "---\nkernel: k\nbackend: cuda\ninputs:\n  C: out f32\n" TAIL, "f:5: inputs: C: expected extents in brackets" },
	{ "---\nkernel: k\nbackend: cuda\ninputs:\n  C: inout f32[8] = noise\n" TAIL, "C: expected zeros, ones, random" },
	{ "---\nkernel: k\nbackend: cuda\ninputs:\n  C: inout f32[8] = random(2,1)\n" TAIL,
	  "C: expected random(lo, hi) with two numbers" },
	{ "---\nkernel: k\nbackend: cuda\ninputs:\n  C: out f32[8; 9]\n" TAIL,
	  "C: a leading dimension (`; ld`) needs two extents" },
	{ "---\nkernel: k\nbackend: cuda\ninputs:\n  C: out f32[1,2,3,4,5,6]\n" TAIL, "C: more than 5 extents" },
	{ "---\nkernel: k\nbackend: cuda\ninputs:\n  B.size: {5}\n  C: out f32[8]\n" TAIL,
	  "f:5: inputs: B.size: no array B is declared" },
	{ HEAD "---\n```cuda\nvoid k();\n```\n", "f:12: the file has no host code fence; expected one ```lua host block" },
	{ HEAD "---\n```hip\nvoid k();\n```\n", "f:9: a ```hip fence in a context for backend cuda; expected ```cuda" },
	{ HEAD "---\n```python\n```\n", "f:9: unknown fence ```python; expected ```cuda (device code)" },
	{ HEAD "---\n```cuda\nx\n```\n```cuda\ny\n```\n", "f:12: a second device code fence; the first begins on line 9" },
	{ HEAD "---\n```cuda\nx\n", "f:9: the device code fence is never closed" },
	{ HEAD "---\n```cuda\n```\n", "f:9: device code: the region is empty" },
};

/* What a text that is not a whole file leaves out stays. */
static void test_parts(void)
{
	struct err e = ERR_INIT;
	struct context *ctx = sample_context("cuda", SAMPLE_TUNE "where:\n  - BX > 1\n  - BX < 64\n", SAMPLE_HOST), *with = NULL;
	is_int(context_with_source(ctx, "part", "```cuda\nextern \"C\" __global__ void k() { }\n```\n", &with, &e), 0,
	       "a fence alone %s", e.text);
	has_str(context_region(with, REGION_DEVICE), "void k() { }", "a fence replaces its region");
	is_str(context_region(with, REGION_HOST), SAMPLE_HOST, "the regions that a part leaves out stay");
	has_str(context_render(with), "BX > 1", "and so does the front matter");
	context_free(with);
	is_int(context_with_source(ctx, "part", "---\ntune:\n  BX: {8}\nwhere:\n---\n", &with, &e), 0, "front matter alone %s",
	       e.text);
	has_str(context_render(with), "BX: {8}", "a field replaces the whole field");
	ok(strstr(context_render(with), "where") == NULL, "a field with nothing in it is removed");
	is_str(context_region(with, REGION_DEVICE), context_region(ctx, REGION_DEVICE), "the code stays");
	round_trip("a part over the whole", context_render(with));
	context_free(with);
	is_int(context_with_source(ctx, "part", context_render(ctx), &with, &e), 0, "a whole file is read as one %s", e.text);
	is_str(context_hash(with)->hex, context_hash(ctx)->hex, "as it is");
	context_free(with);
	is_int(context_with_source(ctx, "part", "only words\n", &with, &e), -ERR_INPUT, "a text with neither is refused");
	has_str(e.text, "write the new region in a fence, such as ```cuda", "the message says what to write");
	is_int(context_with_source(ctx, "part", "---\ntune:\n  BX: {8\n---\n", &with, &e), -ERR_INPUT,
	       "a part with a mistake is refused");
	has_str(e.text, "part:3: tune:", "the message names the line of the part");
	is_int(context_with_source(ctx, "part", "```hlsl\nvoid k() {}\n```\n", &with, &e), -ERR_INPUT,
	       "a fence of another backend is refused");
	context_free(ctx);
}

static void test_bad(void)
{
	for (size_t k = 0; k < MEM_COUNT(bad); k++) {
		struct context *ctx = NULL;
		struct err e = ERR_INIT;
		int rc = context_parse("f", bad[k].text, &ctx, &e);
		ok(rc == -ERR_INPUT && ctx == NULL, "bad file %zu is refused", k);
		has_str(e.text, bad[k].message, "%s", bad[k].message);
	}
	struct context *ctx = NULL;
	struct err e = ERR_INIT;
	(void)context_parse("f", HEAD "tunes:\n" TAIL, &ctx, &e);
	has_str(e.text, "\n     8 | tunes:", "the message shows the line that it names");
	e = (struct err)ERR_INIT;
	is_int(context_load("no/such/file.peak.md", &ctx, &e), -ERR_NOT_FOUND, "a missing file is reported as not found");
}

static void test_size_spelling(void)
{
	struct err e = ERR_INIT;
	struct context *ctx = sample_parse(
		"---\nkernel: k\nbackend: cuda\ninputs:\n  m: int = {4, 8}\n  A: f32 = random\n  A.size: {16, 64, 99}\n"
		"  C: out f32\n  C.size: {A.size}\nwhere: A.size == m*m\n---\n```cuda\nx\n```\n```lua host\n"
		"launch('k', A.size, 1, {A, C})\n```\n");
	struct space *s = NULL;
	struct facts facts = sample_facts();
	is_int(space_new(ctx, &facts, NULL, &s, &e), 0, "PEAK's A.size spelling is read %s", e.text);
	is_int(space_count(s), 2, "constraints on A.size select sizes");
	struct params *p = space_at(s, 1);
	char *text = params_text(p);
	is_str(text, "m=8 A.size=64 C.size=64", "A.size is a parameter");
	struct plan *plan = NULL;
	is_int(host_run(ctx, p, &facts, &plan, &e), 0, "host code runs with A.size %s", e.text);
	ok(plan && plan->ops[0].launch.grid[0] == 64 && plan->buffers[1].bytes == 256, "A.size reaches the plan");
	round_trip("size", context_render(ctx));
	plan_free(plan);
	free(text);
	params_free(p);
	space_free(s);
	context_free(ctx);
}

static void test_defines(void)
{
	struct err e = ERR_INIT;
	struct context *ctx = sample_context("cuda", "constants:\n  EPS: 1e-5\n  W: 4*8\n" SAMPLE_TUNE, SAMPLE_HOST);
	struct params *p = NULL;
	size_t count = 0;
	(void)params_parse(ctx, "n=64 BX=16", true, &p, &e);
	struct wire_define *d = context_defines(ctx, p, &count);
	is_int(count, 3, "constants and tuning parameters become macros, inputs do not");
	ok(strcmp(d[0].name, "EPS") == 0 && strcmp(d[0].value, "1e-05") == 0, "a fractional constant is written in decimals");
	ok(strcmp(d[1].value, "32") == 0 && strcmp(d[2].name, "BX") == 0 && strcmp(d[2].value, "16") == 0,
	   "an integer constant and a tuning parameter are written");
	context_defines_free(d, count);
	params_free(p);
	context_free(ctx);
}

#define MATRICES "  n: int = {64}\n  A: f16[n, n] = random\n  B: f16[n, n; n] = random\n  C: out f32[n, n]\n  v: f32[n] = ones\n"

static char *gemm_text(const char *library)
{
	return mem_fmt("---\nkernel: g\nbackend: cuda\ninputs:\n" MATRICES "flops: 2*n^3\n%s---\n```cuda\nvoid k() {}\n```\n"
		       "```lua host\nlaunch(\"k\", {n}, {32}, {A, B, C})\n```\n",
		       library);
}

static void refuse_gemm(const char *value, const char *want)
{
	char *line = mem_fmt("library: %s\n", value), *text = gemm_text(line);
	struct context *ctx = NULL;
	struct err e = ERR_INIT;
	is_int(context_parse("g", text, &ctx, &e), -ERR_INPUT, "refused: library: %s", value);
	has_str(e.text, want, "the message says why the product is refused");
	has_str(e.text, "library", "the message names the field");
	free(line);
	free(text);
}

/* library: names what the context is compared with, and is no part of what it is. */
static void test_library(void)
{
	char *with = gemm_text("library: gemm C = A*B^T\n"), *without = gemm_text("");
	struct context *a = sample_parse(with), *b = sample_parse(without);
	const struct spec_gemm *g = context_spec(a)->gemm;
	ok(g && g->a == 0 && g->b == 1 && g->c == 2 && !g->a_transposed && g->b_transposed, "library: is read");
	ok(context_spec(b)->gemm == NULL, "library: is optional");
	is_str(context_hash(a)->hex, context_hash(b)->hex, "library: does not change the hash");
	char *canonical = context_canonical(a);
	has_str(canonical, "\nlibrary: gemm C = A*B^T\n---\n", "the canonical text has library:");
	struct context *again = sample_parse(canonical);
	ok(context_spec(again)->gemm != NULL, "the canonical text reads again");
	is_str(context_hash(again)->hex, context_hash(a)->hex, "a context parsed again has the same hash");
	free(canonical);
	context_free(again);
	context_free(a);
	context_free(b);
	free(with);
	free(without);
	refuse_gemm("cublas", "gemm C = A * B");
	refuse_gemm("gemm C = A + B", "gemm C = A * B");
	refuse_gemm("gemm C = A * B^", "unexpected `");
	refuse_gemm("gemm D = A * B", "no array `D`");
	refuse_gemm("gemm A = C * B", "is an input");
	refuse_gemm("gemm C = C * B", "inputs of one type");
	refuse_gemm("gemm C = v * B", "not a matrix");
}

/* Line ends of files that were converted more than once. */
static void test_returns(void)
{
	round_trip("many returns",
		   "---\r\nkernel: k\r\r\nbackend: hlsl\ninputs:\n  n: int = 4\n  C: out f32[n]\n---\r\r\r\nprose\r\r\r\n"
		   "```hlsl\n[numthreads(1, 1, 1)] void k() { }\r\r\n```\n```lua host\nlaunch(\"k\", {1}, {1}, {C, n})\n```\n");
}

int main(void)
{
	test_returns();
	test_library();
	test_examples();
	test_awkward();
	test_identity();
	test_regions();
	test_edits();
	test_parts();
	test_bad();
	test_size_spelling();
	test_defines();
	return tap_done();
}

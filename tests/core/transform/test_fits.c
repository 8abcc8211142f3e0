/* What a transformation fits: conditions are read, asked of contexts and devices, and explained; every shipped sequence fits its
 * example; what is offered for a kernel leaves out what is written for others. */
#include "core/transform/fits.h"
#include "core/transform/library.h"
#include "core/transform/transform.h"
#include "sample.h"
#include "tap.h"

#include "base/mem.h"

static struct context *context_of(const char *front, const char *device, const char *host)
{
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	char *text =
		mem_fmt("---\nkernel: k\nbackend: cuda\ninputs:\n  n: int = {64}\n%s---\n```cuda\n%s\n```\n```lua host\n%s\n```\n",
			front, device, host);
	if (context_parse("k.peak.md", text, &ctx, &e) < 0) {
		printf("# %s\n", e.text);
		exit(1);
	}
	free(text);
	return ctx;
}

static struct transformation *with_condition(const char *condition)
{
	struct err e = ERR_INIT;
	struct transformation *t = NULL;
	char *text = mem_fmt("---\nname: x\nsummary: s\nfits:\n  - %s\n---\n## Pass 1: A\nexpect: valid\n### device\nDo it.\n",
			     condition);
	if (transformation_parse(text, "x.md", &t, &e) < 0)
		printf("# %s\n", e.text);
	free(text);
	return t;
}

static const char vectors[] = "  x: f16[n] = normal\n  y: out f32[n, n]\n";
static const char host[] = "launch(\"first\", {1}, {32}, {x, y})\nlaunch(\"second\", {1}, {32}, {y})\n"
	"launch(\"first\", {1}, {32}, {x, y})";

/* Conditions on one context without a device. */
static void test_words(void)
{
	static const struct {
		const char *device, *condition;
		bool holds;
	} table[] = {
		{ "void f() {}", "arrays == 2 and outputs == 1 and rank == 2", true },
		{ "void f() {}", "kernels == 2", true },
		{ "void f() {}", "f16 and f32 and not bf16 and not integers", true },
		{ "void f() {}", "tensor", false },
		{ "void f() {}", "has x, n, first", true },
		{ "void f() {}", "has x, z", false },
		{ "void f() {}", "device.sm == 90", true }, /* no device is chosen */
		{ "// for\nvoid f() { \"while\"; }", "loop", false },
		{ "for (int i = 0; i < n; i++) y[i] = x[i];", "loop and not reduction", true },
		{ "for (int i = 0; i < n; i++) sum += x[i];", "reduction", true },
		{ "sum += 1; for (;;) { }", "reduction", false },
		{ "for (int i = 0; i < n; i++) { if (x[i] > 0) best = fmaxf(best, x[i]); }", "reduction", true },
		{ "for (int i = 0; i < n; i++) { acc[i % 4] += x[i]; }", "reduction", true },
		{ "for (int i = 0; i < n; i++) { y[i] += x[i]; }", "reduction", false }, /* an element in memory */
		{ "while (i < n) { float v = x[i]; int same = i == n; y[i] = v; }", "reduction", false },
		{ "__shared__ float t[32]; __syncthreads();", "shared and barrier and not atomics", true },
		{ "atomicAdd(y, 1.0f);", "atomics and not shared", true },
	};
	for (size_t i = 0; i < MEM_COUNT(table); i++) {
		struct err e = ERR_INIT;
		struct context *ctx = context_of(vectors, table[i].device, host);
		struct transformation *t = with_condition(table[i].condition);
		struct fits *f = fits_new(ctx, NULL);
		int rc = t ? fits_check(f, t, NULL, 0, &e) : -1;
		ok((rc == 0) == table[i].holds, "%s: %s %s: %s", table[i].device, table[i].condition,
		   table[i].holds ? "holds" : "fails", e.text);
		fits_free(f);
		transformation_free(t);
		context_free(ctx);
	}
}

static void test_reasons(void)
{
	struct err e = ERR_INIT;
	struct context *ctx = context_of(vectors, "void f() {}", host);
	struct facts sm80 = { .backend = "cuda", .arch = "sm_80", .runs = true, .shares_cpu = false };
	struct fits *f = fits_new(ctx, &sm80);
	struct transformation *t = with_condition("device.sm == 90 and rank == 2");
	is_int(fits_check(f, t, NULL, 0, &e), -ERR_INPUT, "another device is refused");
	has_str(e.text, "(rank is 2, device.sm is 80)", "and the reason has the values");
	transformation_free(t);
	t = with_condition("has x, rows");
	fits_check(f, t, NULL, 0, &e);
	has_str(e.text, "called rows", "a name that is missing is said");
	transformation_free(t);
	is_int(transformation_parse("---\nname: x\nsummary: s\nrequires:\n  - device.sm == 90\nadds:\n  T: {1, 2}\nwhere:\n  - T*U "
				    "< 8\n---\n## Pass "
				    "1: A\nexpect: valid\n### device\nD\n",
				    "x.md", &t, &e),
	       0, "a file without fits: parses");
	fits_check(f, t, NULL, 0, &e);
	has_str(e.text, "device.sm == 90", "what it requires of the device counts as well");
	fits_free(f);
	f = fits_new(ctx, NULL);
	is_int(fits_check(f, t, NULL, 0, &e), -ERR_INPUT, "a constraint on a parameter that is not there is refused");
	has_str(e.text, "U", "by its name");
	transformation_free(t);
	fits_free(f);
	is_int(transformation_parse("---\nname: x\nsummary: s\nfits:\n  - arrays > 1\n  - rnak == 2\n---\n## Pass 1: A\nexpect: "
				    "valid\n### device\nD\n",
				    "x.md", &t, &e),
	       -ERR_INPUT, "a misspelt word is an error of the file");
	has_str(e.text, "x.md:6: fits", "with its line");
	struct transform *x = NULL;
	t = with_condition("reduction");
	const struct transform_start start = { .t = t, .parent = ctx };
	is_int(transform_new(&start, &x, &e), -ERR_INPUT, "what does not fit is not applied either");
	has_str(e.text, "(reduction is false); reduction: a variable is computed from itself", "and says why");
	has_str(e.text, "transformations with `at` lists those that fit", "and what to do");
	transformation_free(t);
	context_free(ctx);
}

/* The parameters that a transformation adds and drops, as they would be when it was applied. */
static struct context *after(struct context *take_ctx, const struct transformation *t)
{
	struct context_edit *edits = NULL;
	size_t count = 0;
	struct err e = ERR_INIT;
	struct context *next = take_ctx;
	for (size_t i = 0; i < t->drop_count; i++)
		*MEM_PUSH(edits, count) = (struct context_edit){ CONTEXT_TUNE_DROP, t->drops[i], NULL };
	for (size_t i = 0; i < t->param_count; i++)
		*MEM_PUSH(edits, count) = (struct context_edit){ CONTEXT_TUNE_SET, t->params[i].name, t->params[i].values };
	if (count && context_with_tuning(take_ctx, edits, count, &next, &e) == 0)
		context_free(take_ctx);
	free(edits);
	return next;
}

static void sequence_fits(const struct library *lib, const char *sequence, const char *example, const struct facts *facts)
{
	struct err e = ERR_INIT;
	char *path = mem_fmt("examples/%s.peak.md", example), **names;
	struct context *ctx;
	size_t count, fitting = 0;
	if (context_load(path, &ctx, &e) < 0 || library_sequence(lib, sequence, &names, &count, &e) < 0) {
		printf("# %s\n", e.text);
		exit(1);
	}
	for (size_t i = 0; i < count; i++) {
		struct transformation *t;
		struct fits *f = fits_new(ctx, facts);
		if (library_find(lib, names[i], &t, &e) == 0 && fits_check(f, t, (const char *const *)names, i, &e) == 0)
			fitting++;
		else
			printf("# %s\n", e.text);
		fits_free(f);
		ctx = after(ctx, t);
		transformation_free(t);
	}
	is_int(fitting, count, "every step of %s fits %s", sequence, example);
	mem_free_texts(names, count);
	context_free(ctx);
	free(path);
}

static bool is_offered(const struct library_offers *o, const char *name)
{
	for (size_t i = 0; i < o->offered; i++)
		if (strcmp(o->at[i].t->name, name) == 0)
			return true;
	return false;
}

static void test_shipped(void)
{
	const char *folders[] = { "transforms" };
	struct library *lib = library_new(folders, 1);
	const struct facts h200 = { .backend = "cuda", .arch = "sm_90a", .warp_size = 32, .runs = true },
			   mi200 = { .backend = "hip", .arch = "gfx90a", .warp_size = 64 },
			   vulkan = { .backend = "hlsl", .arch = "spirv1.3", .warp_size = 32, .runs = true },
			   cpu = { .backend = "hlsl", .arch = "spirv1.3", .warp_size = 8, .runs = true, .shares_cpu = true };
	static const char *const cuda[][2] = {
		{ "h200-fp16", "matmul-fp16-cuda" },		  { "h200-fp32", "matmul-fp32-cuda" },
		{ "h200-fp32-tensor", "matmul-fp32-tensor-cuda" }, { "h200-batched-fp16", "batched-matmul-fp16-cuda" },
		{ "h200-attention-fp16", "attention-fp16-cuda" },  { "matmul-fp16-cuda", "matmul-fp16-cuda" },
		{ "matmul-fp32-cuda", "matmul-fp32-cuda" },	   { "rmsnorm-fp16-cuda", "rmsnorm-fp16-cuda" },
		{ "softmax-fp16-cuda", "softmax-fp16-cuda" },
	};
	for (size_t i = 0; i < MEM_COUNT(cuda); i++)
		sequence_fits(lib, cuda[i][0], cuda[i][1], &h200);
	sequence_fits(lib, "mi200-fp16", "matmul-fp16-gfx90a", &mi200);
	sequence_fits(lib, "mi200-fp32", "matmul-fp32-gfx90a", &mi200);
	sequence_fits(lib, "matmul-fp16-hip", "matmul-fp16-hip", &mi200);
	sequence_fits(lib, "matmul-fp32-hlsl-long", "matmul-fp32-hlsl", &cpu);
	sequence_fits(lib, "matmul-fp32-hlsl-gpu", "matmul-fp32-hlsl-gpu", &vulkan);
	struct context *ctx = sample_context();
	const char *applied[] = { "refactor" };
	struct library_offers o;
	library_offers(lib, ctx, &cpu, NULL, 0, &o);
	ok(is_offered(&o, "refactor") && !is_offered(&o, "tb-tiling") && !is_offered(&o, "tma-load"),
	   "a matrix product is offered refactor first");
	ok(o.offered < o.count && o.at[o.offered].why_not && !o.at[0].why_not, "what is not offered comes behind, with its reason");
	library_offers_fini(&o);
	library_offers(lib, ctx, &cpu, applied, 1, &o);
	ok(!is_offered(&o, "refactor") && is_offered(&o, "tb-tiling"), "then tb-tiling, and not refactor again");
	library_offers_fini(&o);
	context_free(ctx);
	ctx = context_of(vectors, "for (int i = 0; i < n; i++) s += x[i];", host);
	static const char *const foreign[] = { "refactor", "tma-load", "split-precision", "attention-fuse", "warp-reduce",
					       "tensor-core" };
	library_offers(lib, ctx, &h200, NULL, 0, &o);
	for (size_t i = 0; i < MEM_COUNT(foreign); i++)
		ok(!is_offered(&o, foreign[i]), "%s is not offered for a kernel of another kind", foreign[i]);
	static const char *const general[] = { "unroll", "tile", "stage", "coarsen", "lane-reduce", "wide-loads", "fuse" };
	for (size_t i = 0; i < MEM_COUNT(general); i++)
		ok(is_offered(&o, general[i]), "%s is offered for a kernel of any kind that it fits", general[i]);
	ok(!is_offered(&o, "async-copy") && !is_offered(&o, "matrix-units") && !is_offered(&o, "split-sum"),
	   "general transformations are offered only where they fit, too");
	struct advisors tools;
	struct err e = ERR_INIT;
	is_int(library_advisors(lib, &tools, &e), 0, "the micro-profiling tools are read: %s", e.text);
	library_offers_screen(&o, &tools);
	for (size_t i = 0; i < tools.count; i++)
		for (size_t k = 0; k < tools.at[i].try_count; k++)
			ok(is_offered(&o, tools.at[i].try[k]), "%s suggests only what may be offered: %s", tools.at[i].name,
			   tools.at[i].try[k]);
	advice_fini(&tools);
	library_offers_fini(&o);
	context_free(ctx);
	library_free(lib);
}

int main(void)
{
	test_words();
	test_reasons();
	test_shipped();
	return tap_done();
}

/* How outputs are judged: what can be declared, its default by type, and what is refused, with its place. */
#include "core/context/output.h"

#include "core/context/host.h"
#include "core/context/sample.h"
#include "tap.h"

#define X "  x: f32[n, 8]\n"

static char *text_of(const char *arrays)
{
	return mem_fmt("---\nkernel: k\nbackend: cuda\ninputs:\n  n: int = {4}\n%s---\n```cuda\nvoid k() {}\n```\n"
		       "```lua host\nlaunch(\"k\", 1, 1, {y})\n```\n",
		       arrays);
}

/* How the last array, y, is judged. */
static void is_judged(const char *declaration, const char *want)
{
	char *arrays = mem_fmt(X "  y: %s\n", declaration), *text = text_of(arrays);
	struct context *ctx = sample_parse(text);
	const struct spec *s = context_spec(ctx);
	char *got = spec_judged_text(s, &s->arrays[s->array_count - 1]);
	is_str(got, want, "%s", declaration);
	free(got);
	context_free(ctx);
	free(text);
	free(arrays);
}

static void is_refused(const char *declaration, const char *message)
{
	char *arrays = mem_fmt(X "  y: %s\n  z: out f32[n]\n", declaration), *text = text_of(arrays);
	struct context *ctx = NULL;
	struct err e = ERR_INIT;
	is_int(context_parse("f", text, &ctx, &e), -ERR_INPUT, "refused: %s", declaration);
	has_str(e.text, "f:7: inputs: y: ", "the message names file, line and array");
	has_str(e.text, message, "%s", message);
	context_free(ctx);
	free(text);
	free(arrays);
}

static int run(const char *arrays, struct err *e)
{
	char *text = text_of(arrays);
	struct context *ctx = sample_parse(text);
	struct params *p = params_new();
	struct facts facts = sample_facts();
	struct plan *plan = NULL;
	params_set_int(p, "n", false, 4);
	int rc = host_run(ctx, p, &facts, &plan, e);
	plan_free(plan);
	params_free(p);
	context_free(ctx);
	free(text);
	return rc;
}

static void test_shapes(void)
{
	static const char *const good[] = {
		"  x: f32[n, 8]\n  y: out i32[n] indices of x\n",
		"  x: f32[n, 8]\n  y: out i32[n, 1] indices of x\n",
		"  x: f32[n, 8]\n  y: out i32[n, 3] indices of x\n",
		"  x: f32[n, 8]\n  y: out i32[8] indices of x along 0\n",
		"  x: f32[n, 8, 5]\n  y: out i32[n, 2, 5] indices of x along 1\n",
		"  x: f32[n]\n  y: out i32[n] indices of x\n",
		"  x: f32[n]\n  y: out i32[1] indices of x\n",
	};
	static const char *const bad[] = {
		"  x: f32[n, 8]\n  y: out i32[8] indices of x\n",
		"  x: f32[n, 8]\n  y: out i32[n] indices of x along 0\n",
		"  x: f32[n, 8, 5]\n  y: out i32[n, 2, 4] indices of x along 1\n",
	};
	for (size_t k = 0; k < MEM_COUNT(good); k++) {
		struct err e = ERR_INIT;
		is_int(run(good[k], &e), 0, "shape %zu of indices fits %s", k, e.text);
	}
	for (size_t k = 0; k < MEM_COUNT(bad); k++) {
		struct err e = ERR_INIT;
		is_int(run(bad[k], &e), -ERR_INPUT, "shape %zu of indices is refused", k);
		has_str(e.text, "do not fit indices of x", "the message names the indexed array");
	}
}

int main(void)
{
	is_judged("out f32[n]", "close (the default for f32)");
	is_judged("out i32[n]", "exact (the default for i32)");
	is_judged("out f32[n] exact", "exact (declared)");
	is_judged("out f32[n] close", "close (declared)");
	is_judged("out f16[n] within 2 ulp", "within 2 ulp (declared)");
	is_judged("out i8[n] within 1 units", "within 1 unit (declared)");
	is_judged("out f32[n] within 0.5 units", "within 0.5 units (declared)");
	is_judged("out i32[n] indices of x", "indices of x along 1 (declared)");
	is_judged("out i32[8] indices of x along 0", "indices of x along 0 (declared)");
	is_judged("out i32[n, 3] indices of x in any order", "indices of x along 1 in any order (declared)");
	is_judged("out f32[n] set", "set (declared)");
	is_judged("out f32[n] permutation", "permutation (declared)");
	is_judged("out f32[n] permutation ascending", "permutation ascending (declared)");
	is_judged("out u32[n] distribution", "distribution (declared)");
	is_judged("inout f32[n] within 2 ulp = random(0, 4)", "within 2 ulp (declared)");
	is_judged("inout f32[n] = random(0, 4) within 2 ulp", "within 2 ulp (declared)");
	is_judged("inout i32[n] = zeros set", "set (declared)");
	is_judged("inout f32[n] = random(0, 4)", "close (the default for f32)");
	is_refused("inout f32[n] exact = zeros set", "found `set`");
	is_refused("f32[n] exact", "this is an input");
	is_refused("out f32[n] precise", "expected close, exact, within N ulp");
	is_refused("out f32[n] within 2", "expected `within N ulp` or `within N units`");
	is_refused("out f32[n] within -1 ulp", "N above 0");
	is_refused("out i32[n] within 1 ulp", "i32 has no ulp");
	is_refused("out f32[n] indices of x", "f32 is not an integer type");
	is_refused("out i32[n] indices", "expected `indices of ARRAY`");
	is_refused("out i32[n] indices of w", "there is no array of that name");
	is_refused("out i32[n] indices of z", "it is an output");
	is_refused("out i32[n] indices of x along 2", "it has 2 axes");
	is_refused("out i32[n, 2, 2] indices of x", "expected its extents without axis 1");
	is_refused("out i32[n] close", "i32 cannot be close");
	is_refused("out f32[n] exact set", "expected close, exact");
	test_shapes();
	return tap_done();
}

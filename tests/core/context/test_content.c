/* core/context/content: what arrays are filled with, and the domains that they close, as declared and in plans. */
#include "core/context/content.h"

#include <float.h>
#include <math.h>

#include "backends/values/fill.h"
#include "core/context/host.h"
#include "core/context/params.h"
#include "sample.h"
#include "tap.h"

/* A context with this declaration of array X, and the sizes n = 64 and classes = 10. */
static char *text_with(const char *declaration)
{
	return mem_fmt("---\nkernel: k\nbackend: cuda\nconstants:\n  classes: 10\ninputs:\n  n: int = {64}\n  X: %s\n"
		       "  C: out f32[n]\n---\n```cuda\nx\n```\n```lua host\nlaunch('k', 1, 1, {X, C, n})\n```\n",
		       declaration);
}

/* The plan; NULL with *e set. */
static struct plan *plan_with(const char *declaration, struct err *e)
{
	char *text = text_with(declaration);
	struct context *ctx = NULL;
	struct plan *plan = NULL;
	struct facts facts = sample_facts();
	struct params *p = params_new();
	params_set_int(p, "n", false, 64);
	if (context_parse("f", text, &ctx, e) == 0)
		(void)host_run(ctx, p, &facts, &plan, e);
	params_free(p);
	context_free(ctx);
	free(text);
	return plan;
}

static const struct {
	const char *text;
	enum plan_fill fill;
	double lo, hi;
	bool closed;
	double least, most;
} good[] = {
	{ "f32[n]", PLAN_RANDOM, -1, 1, false, 0, 0 },
	{ "f32[n] = random", PLAN_RANDOM, -1, 1, false, 0, 0 },
	{ "f32[n] = random(0.5, 1.5)", PLAN_RANDOM, 0.5, 1.5, false, 0, 0 },
	{ "f32[n] = random(0, 1) closed", PLAN_RANDOM, 0, 1, true, 0, 1 },
	{ "f32[n] = random closed", PLAN_RANDOM, -1, 1, true, -1, 1 },
	{ "f32[n] = random >= 0", PLAN_RANDOM, 0, 1, true, 0, INFINITY },
	{ "f32[n] >= 0", PLAN_RANDOM, 0, 1, true, 0, INFINITY },
	{ "inout f32[n] close >= 0", PLAN_RANDOM, 0, 1, true, 0, INFINITY },
	{ "f32[n] > 0", PLAN_RANDOM, (double)FLT_MIN, 1, true, (double)FLT_MIN, INFINITY },
	{ "f32[n] >= 5", PLAN_RANDOM, 5, 7, true, 5, INFINITY },
	{ "f32[n] <= -5", PLAN_RANDOM, -7, -5, true, -INFINITY, -5 },
	{ "f32[n] < 1", PLAN_RANDOM, -1, 1 - 0x1p-24, true, -INFINITY, 1 - 0x1p-24 },
	{ "f32[n] = random(0, 1) >= -1, < 1", PLAN_RANDOM, 0, 1 - 0x1p-24, true, -1, 1 - 0x1p-24 },
	{ "f16[n] >= -2, < n", PLAN_RANDOM, -2, 64 - 0x1p-5, true, -2, 64 - 0x1p-5 },
	{ "f32[n] = random(0, n/2) >= 0", PLAN_RANDOM, 0, 32, true, 0, INFINITY },
	{ "f32[n] = normal", PLAN_NORMAL, -1, 1, false, 0, 0 },
	{ "f32[n] = normal closed", PLAN_NORMAL, -1, 1, true, -6, 6 },
	{ "f32[n] = normal > 0", PLAN_NORMAL, (double)FLT_MIN, 1, true, (double)FLT_MIN, INFINITY },
	{ "f32[n] = probabilities", PLAN_PROBABILITIES, 0, 1, true, 0, 1 },
	{ "f32[n] = sorted", PLAN_SORTED, -1, 1, false, 0, 0 },
	{ "f32[n] = ones", PLAN_ONES, -1, 1, false, 0, 0 },
	{ "f32[n] = ones closed", PLAN_ONES, 1, 1, true, 1, 1 },
	{ "f32[n] = ones > 0", PLAN_ONES, (double)FLT_MIN, 1, true, (double)FLT_MIN, INFINITY },
	{ "i32[n]", PLAN_RANDOM, -8, 8, false, 0, 0 },
	{ "u32[n]", PLAN_RANDOM, 0, 16, false, 0, 0 },
	{ "i32[n] = random(0, classes)", PLAN_RANDOM, 0, 10, true, 0, 9 },
	{ "i32[n] < classes", PLAN_RANDOM, 0, 10, true, 0, 9 },
	{ "u32[n] < n * classes", PLAN_RANDOM, 0, 640, true, 0, 639 },
	{ "i32[n] <= n", PLAN_RANDOM, 0, 65, true, 0, 64 },
	{ "i32[n] = random(-4, 4) < n", PLAN_RANDOM, -4, 4, true, -4, 63 },
	{ "i32[n] >= 0", PLAN_RANDOM, 0, 8, true, 0, INFINITY },
	{ "i32[n + 1] = sorted(0, n * classes + 1)", PLAN_SORTED, 0, 641, true, 0, 640 },
	{ "i32[n] = permutation", PLAN_PERMUTATION, -8, 8, true, -INFINITY, INFINITY },
	{ "i32[n] = iota", PLAN_IOTA, -8, 8, false, 0, 0 },
};

static void test_good(void)
{
	for (size_t k = 0; k < MEM_COUNT(good); k++) {
		struct err e = ERR_INIT;
		struct plan *plan = plan_with(good[k].text, &e);
		if (plan == NULL) {
			ok(false, "%s is read: %s", good[k].text, e.text);
			continue;
		}
		const struct plan_buffer *b = &plan->buffers[0];
		bool ranged = b->fill == PLAN_RANDOM || b->fill == PLAN_SORTED;
		ok(b->fill == good[k].fill && b->closed == good[k].closed && b->least == good[k].least && b->most == good[k].most &&
			   (!ranged || (b->lo == good[k].lo && b->hi == good[k].hi)),
		   "X: %s has values %g … %g in %g … %g", good[k].text, b->lo, b->hi, b->least, b->most);
		is_int(plan_check(plan, &e), 0, "and its plan is consistent %s", e.text);
		plan_free(plan);
	}
}

static const struct {
	const char *text, *message;
} bad[] = {
	{ "f32[n] = random(n)", "expected random(lo, hi), found `random(n)`" },
	{ "f32[n] = random(0, 1", "brackets do not close" },
	{ "f32[n] = random(0, m)", "f:8: inputs: X: `m`: no parameter" },
	{ "f32[n] = random(2, 1)", "expected random(lo, hi) with two numbers, lo < hi" },
	{ "f32[n] = random(n, 1)", "inputs: X: random(64, 1) has no value; expected lo < hi" },
	{ "f32[n] = random(0, device.units)", "values cannot depend on the device" },
	{ "f32[n] = random(0, n/0)", "inputs: X: a bound of its values is inf" },
	{ "f32[n] = random(-1, 1) >= 0", "inputs: X: random(-1, 1) leaves its bounds, 0 to inf" },
	{ "f32[n] >= 2, < 1", "inputs: X: no f32 value is within its bounds, 2 to 1" },
	{ "f32[n] >= 0, > 1", "two lower bounds in `>= 0, > 1`" },
	{ "i32[n] = probabilities", "probabilities are fractions" },
	{ "f32[n] = random shut", "expected `closed`, or bounds as in `>= 0` or `>= 0, < n`" },
	{ "f32[n] = random closed twice", "or the end of the line behind the fill, found `twice`" },
	{ "f32[n] = noise", "expected zeros, ones, random, random(lo, hi), normal, iota, sorted" },
	{ "out f32[n] >= 0", "an output has no fill" },
	{ "i32[n] < 0", "inputs: X: no i32 value is within its bounds, 0 to 0" },
};

static void test_bad(void)
{
	for (size_t k = 0; k < MEM_COUNT(bad); k++) {
		struct err e = ERR_INIT;
		struct plan *plan = plan_with(bad[k].text, &e);
		ok(plan == NULL && e.code == ERR_INPUT, "X: %s is refused", bad[k].text);
		has_str(e.text, bad[k].message, "%s", bad[k].message);
		plan_free(plan);
	}
}

/* 0.1 lies between two numbers of every type. */
static void test_rounding(void)
{
	static const char *const types[] = { "f16", "bf16", "f32", "f64", "e4m3", "e5m2" };
	for (size_t k = 0; k < MEM_COUNT(types); k++) {
		struct err e = ERR_INIT;
		char *text = mem_fmt("%s[n] = random(0.1, 0.3) closed", types[k]);
		struct plan *plan = plan_with(text, &e);
		uint8_t bytes[64 * 8];
		double v[64];
		int inside = 0;
		fill_chosen(&plan->buffers[0], &(struct fill_choice){ .seed = 5, .values = PLAN_DECLARED }, bytes);
		dtype_load_all(plan->buffers[0].type, bytes, v, 64);
		for (int i = 0; i < 64; i++)
			inside += v[i] >= 0.1 && v[i] <= 0.3;
		is_int(inside, 64, "all values of %s are within bounds that the type does not have", text);
		plan_free(plan);
		free(text);
	}
}

int main(void)
{
	test_good();
	test_bad();
	test_rounding();
	return tap_done();
}

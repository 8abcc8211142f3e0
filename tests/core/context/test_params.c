/* Execution parameters as text, and parts, merges and equality; work and tolerance figures of a specification. */
#include "core/context/params.h"

#include <math.h>

#include "core/context/sample.h"
#include "tap.h"

static void round_trip(const struct context *ctx, const char *text, const char *want)
{
	struct params *p = NULL, *again = NULL;
	struct err e = ERR_INIT;
	if (params_parse(ctx, text, true, &p, &e) < 0) {
		has_str(e.text, want, "`%s` is refused", text);
		return;
	}
	char *got = params_text(p);
	is_str(got, want, "`%s`", text);
	is_int(params_parse(ctx, got, true, &again, &e), 0, "a parameter text is read");
	ok(again && params_equal(p, again), "reading a parameter text restores it");
	free(got);
	params_free(p);
	params_free(again);
}

static void test_figures(void)
{
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	struct params *p = NULL;
	is_int(context_load("examples/matmul-fp16-cuda.peak.md", &ctx, &e), 0, "the fp16 example loads %s", e.text);
	const struct spec *s = context_spec(ctx);
	(void)params_parse(ctx, "n=64", false, &p, &e);
	ok(spec_flops(s, p) == 2.0 * 64 * 64 * 64, "flops: is evaluated");
	ok(spec_bytes(s, p) == 6.0 * 64 * 64, "bytes: is evaluated");
	ok(spec_reduction(s, p) == 128, "the reduction length is flops per output");
	ok(spec_roundoff(s) == 0x1p-11, "the roundoff is that of the coarsest type");
	is_str(s->precision_acc, "f32", "sums have the roundoff of ACC");
	params_free(p);
	context_free(ctx);
	ctx = sample_context("cuda", "precision: tensor:f32/f32\n", SAMPLE_HOST);
	s = context_spec(ctx);
	ok(s->precision == SPEC_TENSOR && spec_roundoff(s) == 0x1p-24 && spec_roundoff_inputs(s, 0) == 0,
	   "products made to give f32 are no coarser");
	context_free(ctx);
	ctx = sample_context("cuda", "precision: tensor:tf32/f32\n", SAMPLE_HOST);
	(void)params_parse(ctx, "n=64", false, &p, &e);
	s = context_spec(ctx);
	ok(isnan(spec_flops(s, p)) && isnan(spec_bytes(s, p)), "undeclared work is NaN");
	ok(spec_reduction(s, p) == 64, "without flops: the reduction length is the largest extent");
	ok(spec_roundoff(s) == 0x1p-11, "tf32 is coarser than f32");
	params_free(p);
	context_free(ctx);
}

int main(void)
{
	struct err e = ERR_INIT;
	struct context *ctx = sample_context("cuda", SAMPLE_TUNE "  ALPHA: {0.1, 2}\n", SAMPLE_HOST);
	round_trip(ctx, "n=64 BX=16 ALPHA=0.1", "n=64 BX=16 ALPHA=0.1");
	round_trip(ctx, "ALPHA=2.0, BX=16, n=64", "n=64 BX=16 ALPHA=2");
	round_trip(ctx, "n=64 BX=16 ALPHA=0.30000000000000004", "n=64 BX=16 ALPHA=0.30000000000000004");
	round_trip(ctx, "n=64 BX=16", "ALPHA has no value in `n=64 BX=16`");
	round_trip(ctx, "n=64 BX=16 BX=17", "BX is given twice");
	round_trip(ctx, "n=64 BY=16", "kernel sample has no parameter BY (did you mean BX?); it has n, BX, ALPHA");
	round_trip(ctx, "n=x", "n: expected a number, found `x`");
	round_trip(ctx, "n", "expected NAME=VALUE, found `n`");
	struct params *all = NULL, *size, *tune, *again;
	(void)params_parse(ctx, "n=64 BX=16 ALPHA=0.1", true, &all, &e);
	size = params_part(all, false);
	tune = params_part(all, true);
	again = params_merge(tune, size);
	ok(size->count == 1 && tune->count == 2, "inputs and tuning parameters are separated");
	ok(params_equal(again, all) && strcmp(again->at[0].name, "n") == 0, "merging puts inputs first");
	ok(params_contain(all, size) && !params_contain(size, all), "a part is contained in the whole only");
	params_set_int(again, "BX", true, 32);
	ok(!params_equal(again, all), "another value is another assignment");
	params_free(all);
	params_free(size);
	params_free(tune);
	params_free(again);
	context_free(ctx);
	test_figures();
	return tap_done();
}

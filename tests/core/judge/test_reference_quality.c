/* core/judge/reference_quality: outputs that judge nobody are named, and tolerances follow the arithmetic. */
#include "core/judge/reference_quality.h"

#include "core/sample.h"

enum { N = 64 };

static struct reference_output output(enum dtype t, void *bytes)
{
	return (struct reference_output){ .name = (char *)"C", .type = t, .rank = 2, .dims = { 8, 8 }, .bytes = bytes,
	                                  .len = N * dtype_size(t), .own_error = NAN };
}

static void refused(float *v, const char *reason)
{
	struct err e = ERR_INIT;
	struct reference_output o = output(DTYPE_F32, (uint8_t *)v);
	ok(reference_quality_check(&o, &e) == -ERR_INTERNAL, "refused: %s", reason);
	has_str(e.text, reason, "because it is: %s", reason);
}

static void test_check(void)
{
	struct err e = ERR_INIT;
	float v[N];
	for (int i = 0; i < N; i++)
		v[i] = (float)(i % 8 + 3 * (i / 8));
	struct reference_output o = output(DTYPE_F32, (uint8_t *)v);
	ok(reference_quality_check(&o, &e) == 0, "a matrix that varies along both axes can judge");
	v[5] = NAN;
	refused(v, "not finite at element 5");
	for (int i = 0; i < N; i++)
		v[i] = 0;
	refused(v, "zero throughout");
	for (int i = 0; i < N; i++)
		v[i] = (float)i * 1e-41f;
	refused(v, "denormal");
	for (int i = 0; i < N; i++)
		v[i] = 3 + (float)(i % 3) * 2e-7f;
	refused(v, "constant");
	for (int i = 0; i < N; i++)
		v[i] = (float)(i % 8);
	refused(v, "along axis 0");
	for (int i = 0; i < N; i++)
		v[i] = (float)(i / 8);
	refused(v, "along axis 1");
}

/* Large outputs are looked at by several threads, in cuts and blocks: nothing between them is left out. */
static void test_large(void)
{
	enum { ROWS = 1031, COLUMNS = 521, ALL = ROWS * COLUMNS };
	static const size_t places[] = { 0, 1023, 1024, ALL / 16, ALL / 16 * 15 - 1, ALL - 1 };
	struct err e = ERR_INIT;
	float *v = MEM_NEW_N(float, ALL);
	struct reference_output o = { .name = (char *)"C", .type = DTYPE_F32, .rank = 2, .dims = { ROWS, COLUMNS }, .bytes = (uint8_t *)v,
	                              .len = ALL * sizeof *v, .own_error = NAN };
	for (size_t i = 0; i < ALL; i++)
		v[i] = (float)(i % 977 + 2 * (i / COLUMNS));
	ok(reference_quality_check(&o, &e) == 0, "a large matrix can judge");
	for (size_t k = 0; k < MEM_COUNT(places); k++) {
		char *words = mem_fmt("not finite at element %zu:", places[k]);
		float was = v[places[k]];
		v[places[k]] = INFINITY;
		if (places[k] != ALL - 1)
			v[ALL - 1] = NAN;
		ok(reference_quality_check(&o, &e) == -ERR_INTERNAL && strstr(e.text, words), "the first that is not finite is named (%zu)", places[k]);
		v[ALL - 1] = 3;
		v[places[k]] = was;
		e = (struct err)ERR_INIT;
		free(words);
	}
	/* Far from zero: deviation 4 roundoffs of the mean, where sums of squares would have lost it. */
	for (size_t i = 0; i < ALL; i++)
		v[i] = 1e6f + (float)(i % 3) * 0.0625f;
	ok(reference_quality_check(&o, &e) == -ERR_INTERNAL && strstr(e.text, "is constant (1e+06, deviation 0.051)"), "mean and deviation: %s", e.text);
	for (size_t i = 0; i < ALL; i++)
		v[i] = 0;
	v[ALL - 1] = 3;
	e = (struct err)ERR_INIT;
	ok(reference_quality_check(&o, &e) == 0, "the last element counts");
	free(v);
}

static struct context *gemm(const char *type, const char *precision)
{
	struct context *ctx = NULL;
	struct err e = ERR_INIT;
	char *text = mem_fmt("---\nkernel: g\nbackend: hlsl\ninputs:\n  n: int = {2048}\n  A: %s[n, n] = random\n  B: %s[n, n] = random\n"
	                     "  C: out %s[n, n]\nprecision: %s\nflops: 2*n^3\n---\n```hlsl\nx\n```\n```lua host\nlaunch(\"g\", 1, 1, {A,B,C})\n"
	                     "```\n", type, type, type, precision);
	if (context_parse("g", text, &ctx, &e) < 0)
		printf("# %s\n", e.text);
	free(text);
	return ctx;
}

static double tolerance(const char *type, const char *precision, double own_error, enum plan_values values)
{
	static float v[N];
	for (int i = 0; i < N; i++)
		v[i] = (float)(i * 3);
	struct err e = ERR_INIT;
	struct context *ctx = gemm(type, precision);
	struct params *p = params_new();
	params_set_int(p, "n", false, 2048);
	struct reference_output o = output(DTYPE_F32, (uint8_t *)v);
	o.type = (enum dtype)dtype_parse(type);
	o.len = N * 4 / dtype_size(o.type) * dtype_size(o.type);
	o.own_error = own_error;
	struct reference r = { .outputs = &o, .output_count = 1 };
	int rc = reference_quality_tolerances(context_spec(ctx), p, values, &r, &e);
	params_free(p);
	context_free(ctx);
	return rc < 0 ? NAN : o.tolerance;
}

/* Relative errors of 2048-term products of uniform numbers in [-1,1), measured against f64 sums on a CPU: f32 sums in order 8.1e-7, tf32
 * inputs 2.6e-4, bf16 inputs 2.1e-3, f16 sums 6.8e-3, an output rounded to f16 2.0e-4. */
static void test_tolerances(void)
{
	double f32 = tolerance("f32", "strict", NAN, PLAN_DECLARED), f16 = tolerance("f16", "tensor:f16/f32", NAN, PLAN_DECLARED);
	ok(f32 > 2e-6 && f32 < 5e-5, "strict f32: any order passes, tf32 does not (%.3g)", f32);
	ok(f16 > 2.5e-4 && f16 < 1e-3, "f16 with f32 sums: its output's rounding passes, f16 sums do not (%.3g)", f16);
	double tf32 = tolerance("f32", "tensor:tf32/f32", NAN, PLAN_DECLARED);
	ok(tf32 > 4e-4 && tf32 < 2e-3, "tf32 passes where it is allowed, bf16 does not (%.3g)", tf32);
	ok(tolerance("f32", "tensor:f32/f32", NAN, PLAN_DECLARED) == f32, "f32 made of narrower products is judged as f32");
	ok(tolerance("f32", "tensor:f32/f32", 0, PLAN_SPIKES) == 4 * f32 && tolerance("f32", "tensor:f32/f32", 0, PLAN_EXACT) < 1e-6,
	   "also on spikes and on integers");
	ok(tolerance("f32", "strict", 1e-4, PLAN_DECLARED) == 4e-4, "a root with an error of its own allows four times that");
	ok(tolerance("f32", "strict", 1e-8, PLAN_DECLARED) == f32, "a root that happens to be exact allows every order still");
	ok(tolerance("f32", "strict", NAN, PLAN_SPIKES) == 4 * f32, "spikes cost conditioning");
	ok(tolerance("f32", "strict", 0, PLAN_EXACT) < 1e-6, "integers leave nothing to rounding");
	ok(isnan(tolerance("f32", "strict", 1e-9, PLAN_EXACT)), "unless the root is not exact on them itself");
}

/* One element among many that is no integer, wherever it is. */
static void test_large_exact(void)
{
	enum { ALL = 600000 };
	static const size_t places[] = { 0, 1024, 300001, ALL - 1 };
	struct context *ctx = gemm("f32", "strict");
	struct params *p = params_new();
	float *v = MEM_NEW_N(float, ALL);
	params_set_int(p, "n", false, 2048);
	for (size_t i = 0; i < ALL; i++)
		v[i] = (float)(i % 5000);
	for (size_t k = 0; k <= MEM_COUNT(places); k++) {
		struct err e = ERR_INIT;
		struct reference_output o = { .name = (char *)"C", .type = DTYPE_F32, .bytes = (uint8_t *)v, .len = ALL * sizeof *v, .own_error = 0 };
		struct reference r = { .outputs = &o, .output_count = 1 };
		size_t at = k < MEM_COUNT(places) ? places[k] : 0;
		float was = v[at];
		v[at] += k < MEM_COUNT(places) ? 0.5f : 0;
		int rc = reference_quality_tolerances(context_spec(ctx), p, PLAN_EXACT, &r, &e);
		ok(k < MEM_COUNT(places) ? rc == -ERR_INTERNAL : rc == 0, "integers are exact; with a half at %zu they are not", at);
		v[at] = was;
	}
	free(v);
	params_free(p);
	context_free(ctx);
}

int main(void)
{
	test_check();
	test_large();
	test_large_exact();
	test_tolerances();
	return tap_done();
}

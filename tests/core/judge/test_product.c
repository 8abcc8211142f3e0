/* core/judge/product: the code that takes the place of a slow truth compiles for every type and layout that `library: gemm` admits,
 * also in double, and knows extents and leading dimensions. */
#include "core/judge/product.h"

#include "core/context/host.h"
#include "core/context/lift.h"
#include "core/sample.h"
#include "core/workers/variant.h"

static struct context *parse(const char *type, const char *output, const char *declared, const char *gemm)
{
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	char *text = mem_fmt(
		"---\nkernel: k\nbackend: cuda\ninputs:\n  n: int = {64}\n%s  C: out %s[37, 21]\ntune:\n  BX: {32}\n%s---\n"
		"```cuda\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\nextern \"C\" __global__ void k(const void *A) {}\n"
		"```\n```lua host\nlaunch(\"k\", 1, BX, {A})\n```\n",
		declared, output, gemm);
	if (context_parse("fixture", text, &ctx, &e) < 0)
		ok(false, "the fixture of %s is a context: %s", type, e.text);
	free(text);
	return ctx;
}

static void test_one(struct eval *ev, const struct facts *facts, const char *type, const char *output, bool transposed)
{
	struct err e = ERR_INIT;
	char *declared = transposed ? mem_fmt("  A: %s[50, 37; 40] = random\n  B: %s[21, 50; 64] = random\n", type, type)
				    : mem_fmt("  A: %s[37, 50] = random\n  B: %s[50, 21] = random\n", type, type);
	struct context *ctx =
		parse(type, output, declared, transposed ? "library: gemm C = A^T * B^T\n" : "library: gemm C = A * B\n");
	struct params *params = NULL;
	params_parse(ctx, "n=64 BX=32", true, &params, &e);
	struct plan *plan = NULL;
	struct context *product = NULL, *lifted = NULL;
	struct variant v = { 0 };
	is_int(host_run(ctx, params, facts, &plan, &e), 0, "%s: the baseline has a plan %s", type, e.text);
	is_int(product_context(ctx, plan, &product, &e), 0, "%s: and a product %s", type, e.text);
	const char *code = context_region(product, REGION_DEVICE);
	has_str(code, "#define PRODUCT_M 37LL\n#define PRODUCT_N 21LL\n#define PRODUCT_K 50LL\n", "%s: of its extents", type);
	has_str(code,
		transposed ? "#define PRODUCT_LDA 40LL\n#define PRODUCT_LDB 64LL\n"
			   : "#define PRODUCT_LDA 50LL\n#define PRODUCT_LDB 21LL\n",
		"%s: and leading dimensions", type);
	bool narrow = strstr(type, "16") != NULL || strstr(output, "16") != NULL;
	is_int(lift_context(product, narrow, &lifted, &e), 0, "%s: it is lifted %s", type, e.text);
	ok(lifted && variant_build(ev, lifted, params, facts, &v, &e) == 0, "%s: and compiles in double %s", type, e.text);
	variant_fini(&v);
	context_free(lifted);
	context_free(product);
	plan_free(plan);
	params_free(params);
	context_free(ctx);
	free(declared);
}

int main(int argc, char **argv)
{
	struct sample s;
	struct err e = ERR_INIT;
	struct facts facts;
	sample_worker(argc, argv);
	sample_init(&s);
	struct eval ev = { .pool = s.pool, .references = s.references };
	if (pool_device(s.pool, "cuda:sm_90a", &facts, &e) < 0) {
		SKIP(1, "no NVRTC");
	} else {
		for (int transposed = 0; transposed < 2; transposed++) {
			test_one(&ev, &facts, "f16", "f16", transposed);
			test_one(&ev, &facts, "bf16", "f32", transposed);
			test_one(&ev, &facts, "f32", "f32", transposed);
		}
		struct context *ctx = sample_context(SAMPLE_RIGHT), *product = NULL;
		const struct plan plan = { .buffer_count = 0 };
		ok(product_context(ctx, &plan, &product, &e) < 0, "a context without the declaration has none: %s", e.text);
		context_free(ctx);
	}
	sample_fini(&s);
	return tap_done();
}

/* core/context/lift: the text and the plans of lifted contexts; and CUDA that uses most of what CUDA has for float, lifted, still
 * compiles. What lifted HLSL computes is in tests/core/judge/test_truth.c. */
#include "core/context/lift.h"

#include "core/context/host.h"
#include "core/sample.h"
#include "core/workers/variant.h"

static struct context *parse(const char *backend, const char *front, const char *device, const char *host)
{
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	char *text = mem_fmt("---\nkernel: k\nbackend: %s\n%s---\n```%s\n%s```\n```lua host\n%s```\n", backend, front, backend,
			     device, host);
	if (context_parse("fixture", text, &ctx, &e) < 0)
		ok(false, "the fixture is a context: %s", e.text);
	free(text);
	return ctx;
}

static struct context *lifted(const struct context *ctx, bool narrow)
{
	struct err e = ERR_INIT;
	struct context *l = NULL;
	ok(lift_context(ctx, narrow, &l, &e) == 0, "the context is lifted %s", e.text);
	return l;
}

static void test_text(void)
{
	struct context *ctx = parse("hlsl",
				    "inputs:\n  A: f32[8] = random\n  B: f32[8] = random\n  H: f16[8] = random\n  I: i32[8] = "
				    "random\n  C: out f32[8]\n",
				    "// 1.5 stays here\n[numthreads(8, 1, 1)]\nvoid k(uint3 id : SV_DispatchThreadID)\n{\n"
				    "	float4 v = A_float4[id.x] * 0.1;\n	uint bits = B_uint[0], hex = 0x1fu, e = 3;\n"
				    "	C[id.x] = v.x + .5f + 1.f + 2e-3 + double(0.3) + (double)-1e-9 + 6.283185307\n"
				    "		+ H_half2[0].x + B_float2[0].y + I_float[0] + 7L;\n"
				    "}\n",
				    "launch(\"k\", 1, 8, {A, B, H, I, C})\n");
	struct context *l = lifted(ctx, false);
	const char *text = context_region(l, REGION_DEVICE);
	static const struct {
		const char *part, *what;
	} there[] = {
		{ "// 1.5 stays here", "a comment" },
		{ "A_double4[id.x]", "a view of floats" },
		{ "* 1.00000001490116119e-01L", "a literal, rounded to float first," },
		{ "B_uint[0]", "a view of bits" },
		{ "B_float2[0].y", "a view of floats beside one of bits" },
		{ "hex = 0x1fu, e = 3", "an integer" },
		{ "5.00000000000000000e-01L + 1.00000000000000000e+00L", "a literal with suffix" },
		{ "H_double2[0]", "a view of halves" },
		{ "I_float[0]", "a view of floats of an array of integers" },
		{ "double(0.3L)", "a literal that is made a double, as it is written," },
		{ "(double)-1e-9L", "so is one that is cast," },
		{ "+ 6.28318530700000011e+00L", "a literal of more digits than a float has, as it is written," },
		{ "+ 7L", "a double" },
	};
	for (size_t i = 0; i < MEM_COUNT(there); i++)
		has_str(text, there[i].part, "%s is what it should be", there[i].what);
	has_str(context_region(l, REGION_MACROS), "#define float double", "the macros come in front");
	ok(strstr(context_region(l, REGION_MACROS), "peakd_sin") == NULL, "functions that are not used are left out");
	ok(strcmp(context_hash(l)->hex, context_hash(ctx)->hex) != 0, "the lifted context has a hash of its own");
	context_free(l);
	context_free(ctx);
}

static const struct plan_buffer *buffer(const struct plan *p, const char *name)
{
	for (size_t i = 0; i < p->buffer_count; i++)
		if (strcmp(p->buffers[i].name, name) == 0)
			return &p->buffers[i];
	return NULL;
}

static void test_plan(void)
{
	struct err e = ERR_INIT;
	struct context *ctx = parse(
		"cuda",
		"inputs:\n  n: int = {8}\n  s: f32 = {0.1}\n  A: f32[1, n; 10] = random\n  I: i32[n] = random\n  H: f16[n] = "
		"random\n  C: out f32[1, n; 10]\n",
		"extern \"C\" __global__ void k(const float *A, const int *I, float *S, float s, float *C) { C[0] = A[0]; }\n",
		"local S = alloc(C.bytes, \"S\")\nlocal T = table(\"f32\", {0.1, 2}, \"T\")\n"
		"memset(S, 0, 16, 8)\ncopy(S, A, 12, 4, 8)\nlaunch(\"k\", 1, 8, {A, I, S, s, C}, {shared = 100})\n");
	struct context *l = lifted(ctx, false);
	struct params *params;
	struct plan *p;
	params_parse(ctx, "n=8 s=0.1", true, &params, &e);
	if (ok(host_run(l, params, NULL, &p, &e) == 0, "its host code runs %s", e.text)) {
		const struct plan_buffer *a = buffer(p, "A"), *t = buffer(p, "T"), *s = buffer(p, "S");
		ok(a->type == DTYPE_F64 && a->rounded == DTYPE_F32 && a->bytes == 80 && a->ld == 10,
		   "an array of f32 is one of f64, rounded to f32");
		ok(buffer(p, "I")->type == DTYPE_I32 && buffer(p, "H")->type == DTYPE_F16, "other arrays stay");
		is_int(s->bytes, 80, "scratch doubles");
		ok(t->type == DTYPE_F64 && ((double *)t->table)[0] == (double)0.1f, "a table is widened");
		const struct plan_memset *m = &p->ops[0].memset;
		const struct plan_copy *c = &p->ops[1].copy;
		ok(m->bytes == 32 && m->offset == 16, "memset reaches as far as before");
		ok(c->bytes == 24 && c->dst_offset == 8 && c->src_offset == 16, "copy copies the same elements");
		const struct plan_launch *launch = &p->ops[2].launch;
		ok(launch->args[3].type == DTYPE_F64 && launch->args[3].f == (double)0.1f, "a scalar is widened");
		is_int(launch->shared, 200, "dynamic shared memory doubles");
		plan_free(p);
	}
	context_free(l);
	context_free(ctx);
	params_free(params);
}

static void refused(const char *what, const char *backend, const char *front, const char *device, const char *host, const char *why)
{
	struct err e = ERR_INIT;
	struct context *ctx = parse(backend, front, device, host), *l = NULL;
	struct params *params = params_new();
	struct plan *p;
	int rc = lift_context(ctx, false, &l, &e);
	if (rc == 0)
		rc = host_run(l, params, NULL, &p, &e);
	is_int(rc, -ERR_UNSUPPORTED, "%s is not lifted", what);
	has_str(e.text, why, "the reason is said");
	context_free(l);
	context_free(ctx);
	params_free(params);
}

static void test_refusals(void)
{
	refused("a context of integers", "cuda", "inputs:\n  C: out i32[8]\n",
		"extern \"C\" __global__ void k(int *C) { C[0] = 1; }\n", "launch(\"k\", 1, 8, {C})\n",
		"no values narrower than double");
	refused("assembly", "cuda", "inputs:\n  C: out f32[8]\n", "extern \"C\" __global__ void k(float *C) { asm(\"\"); }\n",
		"launch(\"k\", 1, 8, {C})\n", "asm");
	refused("a pattern of bytes in floats", "cuda", "inputs:\n  C: out f32[8]\n",
		"extern \"C\" __global__ void k(float *C) { }\n", "memset(C, 63)\nlaunch(\"k\", 1, 8, {C})\n", "bytes of 63");
	refused("a copy of floats to integers", "cuda", "inputs:\n  C: out f32[8]\n  I: out i32[8]\n",
		"extern \"C\" __global__ void k(float *C, int *I) { }\n", "copy(I, C)\nlaunch(\"k\", 1, 8, {C, I})\n",
		"copies floats");
	refused("scratch that is read as floats and as bytes", "hlsl", "inputs:\n  C: out f32[8]\n",
		"[numthreads(8, 1, 1)]\nvoid k() { C[0] = S_float[0] + S.Load(4); }\n",
		"local S = alloc(64, \"S\")\nlaunch(\"k\", 1, 8, {C, S})\n", "scratch S");
}

/* --- CUDA -------------------------------------------------------------------------------------------------------------------- */

static const char floats[] =
	"#include <math.h>\n#include <float.h>\n#define WARP 32\n"
	"template <int N> static __device__ float sum(float x) { for (int o = N / 2; o > 0; o /= 2) x += "
	"__shfl_xor_sync(0xffffffffu, x, o); return x; }\n"
	"struct pair { float value; int index; };\nstatic __constant__ float table[3] = {1.0f, 2.f, .5f};\n"
	"__device__ __forceinline__ float fast(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)) + __saturatef(x) + "
	"__frcp_rn(x); }\n"
	"extern \"C\" __global__ void __launch_bounds__(256) k(const float *__restrict__ A, float *__restrict__ C, int n, float "
	"s)\n{\n"
	"	extern __shared__ float dynamic[];\n	__shared__ __align__(16) float tile[WARP][WARP + 1];\n	__shared__ int "
	"best;\n"
	"	float4 v = reinterpret_cast<const float4 *>(A)[threadIdx.x], w = make_float4(v.x, v.y, v.z, 1.f);\n"
	"	float2 q = make_float2(v.x, v.y);\n	volatile float *d = dynamic;\n	d[threadIdx.x] = __ldg(A + n);\n"
	"	tile[threadIdx.y][threadIdx.x] = expf(v.x) + logf(v.y) + sqrtf(v.z) * rsqrtf(w.w) + powf(q.x, 2.0f) + "
	"fabsf(q.y);\n	__syncthreads();\n"
	"	float a = fmaf(v.x, s, 1e-5f), b = fmaxf(a, -FLT_MAX), c = fminf(b, INFINITY);\n"
	"	a += tanhf(a) + erff(b) + sinf(c) + cosf(c) + exp2f(a) + log2f(b) + floorf(c) + __logf(a) + __sinf(b) + __powf(a, "
	"b) + exp(a) + max(b, 0.0f) + min(a, b);\n"
	"	float sine, cosine;\n	__sincosf(a, &sine, &cosine);\n	pair p{a, n};\n"
	"	a += sum<WARP>(a) + sine * cosine + fast(p.value) + table[n % 3] + float(n) + (float)n / 3 + static_cast<float>(n) "
	"* 0x1p-3f;\n"
	"	a += __fadd_rn(a, b) + __fmul_rn(a, b) + __fsqrt_rn(b) + __int2float_rn(n) + __uint_as_float(__float_as_uint(a)) + "
	"rintf(a) + isnan(a) + isfinite(b);\n"
	"	int whole = __float2int_rn(a) + (int)roundf(b);\n	atomicMax(&best, whole);\n	atomicAdd(&tile[0][0], "
	"a);\n	atomicAdd(C, a);\n"
	"	if (a > 1.0f ? b : 0.f) C[n] = a;\n	reinterpret_cast<float4 *>(C)[threadIdx.x] = w;\n}\n";

static const char halves[] =
	"#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
	"static __device__ half2 gate(half2 a, half2 b) { return __hadd2(__hmul2(a, b), __float2half2_rn(1.0f)) * a + b; }\n"
	"extern \"C\" __global__ void k(const half *A, const __nv_bfloat16 *B, __half *C, __nv_bfloat16 *D, int n)\n{\n"
	"	__shared__ half tile[64];\n	const half2 *pairs = reinterpret_cast<const half2 *>(A);\n	half2 p = "
	"gate(pairs[n], __ldg(pairs + 1));\n"
	"	float2 f = __half22float2(p);\n	float a = __half2float(A[n]) + __bfloat162float(B[n]) + __low2float(p) + "
	"float(A[1]) + f.y;\n"
	"	half h = __float2half(a), g = __hfma(h, h, h);\n	g += h * half(2.0f);\n	tile[threadIdx.x] = __hmax(g, "
	"__float2half_rn(0.f));\n	__syncthreads();\n"
	"	if (__hgt(h, g) || h < g) g = hexp(h) + hsqrt(g) + (half)a;\n	C[n] = g;\n	reinterpret_cast<half2 *>(C)[1] = "
	"__floats2half2_rn(a, f.x);\n"
	"	D[n] = __float2bfloat16(a);\n	D[n + 1] = __nv_bfloat16(a);\n	__nv_bfloat162 r = __floats2bfloat162_rn(a, "
	"a);\n	D[2] = r.x + __high2bfloat16(r);\n"
	"	a = __shfl_down_sync(0xffffffffu, h, 1);\n}\n";

static void compiles(const struct eval *ev, const struct facts *facts, const char *what, const char *front, const char *device,
		     bool narrow)
{
	struct err e = ERR_INIT;
	struct variant v = { 0 };
	struct params *params;
	struct context *ctx =
		parse("cuda", front, device,
		      narrow ? "launch(\"k\", 1, 32, {A, B, C, D, n})\n" : "launch(\"k\", 1, 32, {A, C, n, s}, {shared = 256})\n");
	struct context *l = lifted(ctx, narrow);
	params_parse(ctx, narrow ? "n=64" : "n=64 s=2", true, &params, &e);
	ok(variant_build(ev, ctx, params, facts, &v, &e) == 0, "%s compile %s", what, e.text);
	variant_fini(&v);
	ok(variant_build(ev, l, params, facts, &v, &e) == 0, "%s compile in double %s", what, e.text);
	variant_fini(&v);
	params_free(params);
	context_free(l);
	context_free(ctx);
}

int main(int argc, char **argv)
{
	struct sample s;
	struct err e = ERR_INIT;
	struct facts facts;
	sample_worker(argc, argv);
	test_text();
	test_plan();
	test_refusals();
	sample_init(&s);
	struct eval ev = { .pool = s.pool, .references = s.references };
	if (pool_device(s.pool, "cuda:sm_90a", &facts, &e) < 0) {
		SKIP(6, "no NVRTC");
	} else {
		compiles(&ev, &facts, "floats of CUDA",
			 "inputs:\n  n: int = {64}\n  s: f32 = {2}\n  A: f32[n] = random\n  C: out f32[n]\n", floats, false);
		compiles(&ev, &facts, "halves of CUDA",
			 "inputs:\n  n: int = {64}\n  A: f16[n] = random\n  B: bf16[n] = random\n  C: out f16[n]\n  D: out "
			 "bf16[n]\n",
			 halves, true);
	}
	sample_fini(&s);
	return tap_done();
}

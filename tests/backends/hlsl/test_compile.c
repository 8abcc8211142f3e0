/* Compiling HLSL: what is refused although the front end accepts it, and how errors read. Needs no device. */
#include "backends/hlsl/hlsl.h"

#include "backends/hlsl/object.h"
#include "backends/sample_plan.h"
#include "tap.h"

static struct wire_define defines[] = { { (char *)"BX", (char *)"8" }, { (char *)"BY", (char *)"8" } };

static int compile(const char *device, const char *macros, struct plan *plan, struct wire_compiled *ret, struct err *e)
{
	struct wire_compile c = { .backend = (char *)"hlsl", .arch = (char *)"spirv1.3",
	                          .macros = (char *)(uintptr_t)macros,
	                          .device = (char *)(uintptr_t)device, .defines = defines, .define_count = 2, .plan = plan };
	return hlsl_compile(&c, ret, e);
}

/* Compiles for the matmul's plan in blocks of 8×8; the outcome must be `want` and its text hold `part`. */
static void outcome(const char *name, const char *device, int want, const char *part)
{
	struct err e = ERR_INIT;
	struct wire_compiled out;
	struct plan *p = sample_matmul(64, 8, 8);
	int r = compile(device, "", p, &out, &e);
	is_int(r, want, "%s", name);
	if (r < 0)
		has_str(e.text, part, "%s: message", name);
	else
		wire_compiled_fini(&out);
	plan_free(p);
}

#define KERNEL "[numthreads(BX, BY, 1)]\nvoid matmul(uint3 id : SV_DispatchThreadID, uint g : SV_GroupIndex) "

static void test_refusals(void)
{
	outcome("a good kernel", KERNEL "{ C[id.x] = A[id.x] * B[id.y] + n; }", 0, "");
	outcome("a syntax error", "float f() { return 1.0; }\n" KERNEL "{\n\tC[0] = A[0] +;\n}", -ERR_COMPILE, "device:4:");
	outcome("one brace too many shows its line", KERNEL "{ C[0] = 1; }\n}", -ERR_COMPILE,
		"device:3: syntax error at column 1\n  }");
	outcome("an unknown name", KERNEL "{\n\tC[0] = q;\n}", -ERR_COMPILE, "device:3: q: unknown variable");
	outcome("what host code passes", KERNEL "{\n\tC[0] = q;\n}", -ERR_COMPILE, ": pass what else it uses, or declare it");
	outcome("a missing semicolon", KERNEL "{\n\tC[0] = A[0]\n}", -ERR_COMPILE,
		"device:4: expected ; before this, or on the line above\n  }");
	outcome("an unknown name shows its line", KERNEL "{\n\tC[0] = q;\n}", -ERR_COMPILE, "\n  \tC[0] = q;");
	outcome("no such kernel", "[numthreads(8,8,1)] void other() { C[0] = 1; }", -ERR_COMPILE, "no function matmul");
	outcome("wrong numthreads", "[numthreads(8,4,1)] void matmul() { C[0] = 1; }", -ERR_INPUT,
	        "8×8×1, the kernel has [numthreads(8, 4, 1)]");
	outcome("a binding that the plan lacks", "RWStructuredBuffer<float> X : register(u9);\n" KERNEL "{ X[id.x] = 1; }",
	        -ERR_INPUT,
	        "uses the buffer X");
	outcome("a texture", "Texture2D<float> T;\n" KERNEL "{ C[id.x] = T.Load(int3(0, 0, 0)); }", -ERR_INPUT,
	        "resource T");
	outcome("a custom constant buffer", "cbuffer own { int m; };\n" KERNEL "{ C[id.x] = m; }", -ERR_INPUT,
	        "resource");
	outcome("writing an input", KERNEL "{ A[id.x] = 1; }", -ERR_COMPILE, "device:2:");
	outcome("an include", "#include \"/etc/passwd\"\n" KERNEL "{ C[0] = 1; }", -ERR_COMPILE, "device:1:");
	outcome("an atomic on integers", "groupshared uint s;\n" KERNEL "{ InterlockedAdd(s, 1u); C[id.x] = s; }", 0, "");
	outcome("a signed value in an unsigned atomic", KERNEL "{ C_bytes.InterlockedAdd(4, 1); }", -ERR_COMPILE, "1u");
	outcome("ldexp, whose module is invalid", KERNEL "{ C[id.x] = ldexp(A[id.x], 2 - n); }", -ERR_COMPILE, "write x * exp2(e)");
	outcome("an unsigned value in an unsigned atomic", KERNEL "{ C_bytes.InterlockedAdd(4, 1u); }", 0, "");
	/* Its module numbers more identifiers than it has words: those of what the compiler left out. */
	outcome("a small kernel below large unused code",
		"float big(float x) { for (int i = 0; i < 9; i++) { x = x * x + i; if (x > 3) x = sqrt(x) - sin(x) * cos(x); x = "
		"max(x, exp(x)); "
		"x += A[uint(x)] * B[uint(x) + 1] + A[uint(x) + 2] / B[3] + pow(x, 3.0) + A[uint(x) * 5] * B[uint(x) + 7]; } "
		"return x; }\n" KERNEL "{ }",
		0, "");
	outcome("a global with a buffer's name", "groupshared float A[64];\n" KERNEL "{ C[id.x] = A[id.x]; }", -ERR_COMPILE,
	        "device:1: A is declared for you");
	outcome("a buffer that is declared again", "StructuredBuffer<float> A : register(t0);\n" KERNEL "{ C[id.x] = A[id.x]; }",
	        -ERR_COMPILE, "device:1: A is declared for you");
	outcome("a view that is declared again", "\nfloat q, C_float4;\n" KERNEL "{ C_float4[id.x] = 1; }", -ERR_COMPILE,
	        "device:2: C_float4 is declared for you");
	outcome("a global with a scalar's name", "int n;\n" KERNEL "{ C[id.x] = n; }", -ERR_COMPILE, "\n  int n;");
	outcome("arguments in macros, functions and initial values",
	        "#define STEP(k) \\\n\tA[k]; \\\n\tC[k] = 1\nstatic int m = n, n_float = 2;\n"
	        "float f(float A) { return A; }\n" KERNEL
	        "{ float n = f(m), t = STEP(0); C[1] = n + n_float; }", 0, "");
	outcome("a template", "template<typename T> T f(T x) { return x; }\n" KERNEL "{ C[0] = f(1.0); }", -ERR_COMPILE,
	        "device:1:");
}

static void test_plan_refusals(void)
{
	struct err e = ERR_INIT;
	struct wire_compiled out;
	struct plan *p = sample_matmul(64, 8, 8);
	struct plan_launch *l = &p->ops[0].launch;
	l->arg_count = 3;
	is_int(compile(KERNEL "{ C[id.x] = n; }", "", p, &out, &e), -ERR_COMPILE,
	       "a scalar that no launch passes is unknown");
	free(l->args[3].name);
	l->shared = 64;
	is_int(compile(KERNEL "{ C[id.x] = 1; }", "", p, &out, &e), -ERR_INPUT, "dynamic shared memory is refused");
	has_str(e.text, "groupshared", "the message says what to do");
	plan_free(p);
	p = sample_matmul(64, 8, 8);
	free(p->ops[0].launch.args[3].name);
	p->ops[0].launch.args[3].name = mem_str("");
	is_int(compile(KERNEL "{ C[id.x] = 1; }", "", p, &out, &e), -ERR_INPUT, "a scalar without a name is refused");
	plan_free(p);
}

/* Two kernels in one source; the second launch passes neither A nor n. */
static void test_two_kernels(void)
{
	static const char good[] =
		KERNEL "{ scratch0[id.x] = A[id.x] * n; }\n"
		       "[numthreads(8, 1, 1)]\nvoid second(uint3 id : SV_DispatchThreadID) { C[id.x] = scratch0[id.x]; }";
	static const char bad[] = KERNEL "{ scratch0[id.x] = A[id.x]; }\n"
	                          "[numthreads(8, 1, 1)]\nvoid second(uint3 id : SV_DispatchThreadID) { C[id.x] = n; }";
	struct err e = ERR_INIT;
	struct wire_compiled out;
	struct plan *p = sample_matmul(64, 8, 8);
	sample_matrix(p, "scratch0", PLAN_SCRATCH, 64, 64);
	sample_arg_buffer(&p->ops[0].launch, "scratch0", 3);
	struct plan_launch *l = sample_launch(p, "second", 8, 1, 8, 1);
	sample_arg_buffer(l, "scratch0", 3);
	sample_arg_buffer(l, "C", 2);
	is_int(compile(good, "", p, &out, &e), 0, "two kernels compile: %s", e.text);
	ok(out.kernel_count == 2 && out.kernels[1].block[0] == 8 && out.kernels[1].block[1] == 1, "each kernel has its block");
	is_str(out.kernels[0].name, "matmul", "each kernel has its name");
	wire_compiled_fini(&out);
	is_int(compile(bad, "", p, &out, &e), -ERR_INPUT, "a scalar that only the other launch passes is refused");
	has_str(e.text, "second uses the scalar n", "the message names the kernel and the scalar");
	plan_free(p);
}

static void test_binary(void)
{
	struct err e = ERR_INIT;
	struct wire_compiled out;
	struct hlsl_object m;
	struct spirv s;
	struct plan *p = sample_matmul(64, 8, 8);
	is_int(compile("groupshared float T[32][33]; groupshared struct { float3 a; uint b; } U[4];\n" KERNEL
		       "{ T[g][0] = n; U[0].b = g; U[1].a = 1.0; GroupMemoryBarrierWithGroupSync();\n"
		       "C[id.x] = T[id.y][1] + A_float4[id.x].y + U[id.x].b + U[id.x].a.x; }",
		       "", p, &out, &e),
	       0, "compile a kernel with groupshared memory: %s", e.text);
	is_int(out.kernels[0].shared, 32 * 33 * 4 + 4 * 16, "groupshared memory is counted");
	is_int(hlsl_object_decode(out.binary, out.binary_len, &m, &e), 0, "read the binary back");
	is_int(hlsl_spirv_read(m.kernels[0].words, m.kernels[0].bytes / 4, &s, &e), 0, "read its SPIR-V");
	is_int(s.binding_count, 2, "only used bindings are listed");
	ok(s.member_count == 1 && s.members[0].used && strcmp(s.members[0].name, "n") == 0, "only used scalars are listed");
	hlsl_spirv_fini(&s);

	int survived = 0;
	for (size_t i = 0; i < m.kernels[0].bytes * 8; i += 7) {
		m.kernels[0].words[i / 32] ^= 1u << i % 32;
		if (hlsl_spirv_read(m.kernels[0].words, m.kernels[0].bytes / 4, &s, &e) == 0)
			hlsl_spirv_fini(&s);
		survived++;
		m.kernels[0].words[i / 32] ^= 1u << i % 32;
	}
	for (size_t n = 0; n < m.kernels[0].bytes / 4; n++, survived++) {
		uint32_t *cut = mem_copy(m.kernels[0].words, n * 4);
		if (hlsl_spirv_read(cut, n, &s, &e) == 0)
			hlsl_spirv_fini(&s);
		free(cut);
	}
	ok(survived > 100, "changed and cut SPIR-V is read or refused (%d)", survived);
	hlsl_object_fini(&m);
	int refused = 0;
	for (size_t n = 0; n < out.binary_len; n++) {
		uint8_t *cut = mem_copy(out.binary, n);
		refused += hlsl_object_decode(cut, n, &m, &e) == -ERR_INPUT;
		free(cut);
	}
	is_int(refused, out.binary_len, "a binary cut short anywhere is refused");
	wire_compiled_fini(&out);
	plan_free(p);
}

int main(void)
{
	test_refusals();
	test_plan_refusals();
	test_two_kernels();
	test_binary();
	return tap_done();
}

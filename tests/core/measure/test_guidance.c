/* Guidance from interpreted kernels: each tool speaks of a kernel that was made for it, and is silent about a twin that does it
 * better. Times and ceilings are left out, so every class is asked. */
#include "core/measure/guidance.h"

#include "core/measure/ceiling.h"
#include "core/sample.h"
#include "core/transform/library.h"

#define FRONT "---\nkernel: k\nbackend: hlsl\ninputs:\n  n: int = {64}\n  A: f32[n, n] = random\n  B: f32[n, n] = random\n" \
	      "  C: out f32[n, n]\n  H: out i32[n]\n---\n"
#define HOST(grid, block) "```lua host\nlaunch(\"k\", " grid ", " block ", {A, B, C, H, n})\n```\n"
#define KERNEL(declarations, x, y, body) \
	FRONT "```hlsl\n" declarations "[numthreads(" #x ", " #y ", 1)]\n" \
	"void k(uint3 id : SV_DispatchThreadID, uint3 t : SV_GroupThreadID, " \
	"uint3 g : SV_GroupID)\n{\n\tuint w = uint(n);\n\t" body "\n}\n```\n" HOST("{2, 32}", "{" #x ", " #y "}")
#define ROWS(body) KERNEL("", 32, 2, body)
#define TILES(declarations, body) KERNEL(declarations, 32, 2, body)

/* Products of tiles, of one or of four by four results a thread. */
#define TILED \
	FRONT "```hlsl\ngroupshared float a[16][16], b[16][16];\n[numthreads(16, 16, 1)]\n" \
	"void k(uint3 id : SV_DispatchThreadID, uint3 t : " \
	"SV_GroupThreadID)\n{\n\tfloat s = 0;\n\tfor (uint k0 = 0; k0 < uint(n); k0 += 16) {\n" \
	"\t\ta[t.y][t.x] = A[id.y * n + k0 + t.x];\n\t\t" \
	"b[t.y][t.x] = B[(k0 + t.y) * n + id.x];\n\t\tGroupMemoryBarrierWithGroupSync();\n" \
	"\t\tfor (uint k = 0; k < 16; k++) s += a[t.y][k] * " \
	"b[k][t.x];\n\t\tGroupMemoryBarrierWithGroupSync();\n\t}\n\tC[id.y * n + id.x] = s;\n}\n```\n" HOST("{4, 4}", "{16, 16}")
#define REGISTERS \
	FRONT "```hlsl\ngroupshared float4 a[64][4], b[16][16];\n[numthreads(16, 16, 1)]\nvoid k(uint3 t : SV_GroupThreadID)\n{\n" \
	"\tuint me = t.y * " \
	"16 + t.x;\n\tfloat4 s[4] = {(float4)0, (float4)0, (float4)0, (float4)0};\n" \
	"\tfor (uint k0 = 0; k0 < uint(n); k0 += 16) {\n\t\ta[me / 4]" \
	"[me % 4] = A_float4[me / 4 * n / 4 + k0 / 4 + me % 4];\n\t\tb[t.y][t.x] = B_float4[(k0 + t.y) * n / 4 + t.x];\n\t\t" \
	"GroupMemoryBarrierWithGroupSync();\n\t\tfor (uint k = 0; k < 4; k++) {\n" \
	"\t\t\tfloat4 b0 = b[4 * k][t.x], b1 = b[4 * k + 1][t.x], b2 = " \
	"b[4 * k + 2][t.x], b3 = b[4 * k + 3][t.x];\n\t\t\tfor (uint i = 0; i < 4; i++) {\n" \
	"\t\t\t\tfloat4 x = a[4 * t.y + i][k];\n\t\t\t\ts[i] = " \
	"s[i] + x.x * b0 + x.y * b1 + x.z * b2 + x.w * b3;\n\t\t\t}\n\t\t}\n\t\tGroupMemoryBarrierWithGroupSync();\n\t}\n" \
	"\tfor (uint i = 0; i < 4; " \
	"i++) C_float4[(4 * t.y + i) * n / 4 + t.x] = s[i];\n}\n```\n" HOST("1", "{16, 16}")

static const struct {
	const char *tool, *trigger, *twin;
} pairs[] = {
	{ "coalescing", ROWS("C[id.y * w + id.x] = A[id.x * w + id.y] * 2;"),
	  ROWS("C[id.y * w + id.x] = A[id.y * w + id.x] * 2;") },
	{ "store-coalescing", ROWS("C[id.x * w + id.y] = A[id.y * w + id.x];"), ROWS("C[id.y * w + id.x] = A[id.y * w + id.x];") },
	{ "vector-width", ROWS("C[id.y * w + id.x] = A[id.y * w + id.x] * 2 + 1;"),
	  ROWS("if (id.x < w / 4) C_float4[id.y * w / 4 + id.x] = A_float4[id.y * w / 4 + id.x] * 2 + 1;") },
	{ "reuse",
	  ROWS("float s = 0; for (uint i = 0; i < w; i++) s += A[id.y * w + i] * B[i * w + id.x]; C[id.y * w + id.x] = s;"),
	  TILED },
	{ "shared-traffic", TILED, REGISTERS },
	{ "bank-conflict",
	  TILES("groupshared float s[32][32];\n",
		"s[t.x][t.y] = A[id.x]; GroupMemoryBarrierWithGroupSync(); C[id.y * w + id.x] = s[t.x][1 - t.y];"),
	  TILES("groupshared float s[32][33];\n",
		"s[t.x][t.y] = A[id.x]; GroupMemoryBarrierWithGroupSync(); C[id.y * w + id.x] = s[t.x][1 - t.y];") },
	{ "barrier",
	  TILES("groupshared float s[64];\n",
		"uint me = t.y * 32 + t.x; s[me] = A[id.y * w + id.x]; GroupMemoryBarrierWithGroupSync(); for (uint d = 32; d > 0; "
		"d /= 2) { if (me "
		"< d) s[me] += s[me + d]; GroupMemoryBarrierWithGroupSync(); } if (me == 0) C[g.y * 2 + g.x] = s[0];"),
	  TILES("groupshared float s[64];\n",
		"uint me = t.y * 32 + t.x; float sum = 0; for (uint i = 0; i < w; i++) sum += A[i * w + me]; s[me] = sum; "
		"GroupMemoryBarrierWithGroupSync(); if (me == 0) { for (uint j = 1; j < 64; j++) sum += s[j]; C[g.y * 2 + g.x] = "
		"sum; }") },
	{ "atomics", ROWS("int old; InterlockedAdd(H[0], int(A[id.y * w + id.x] * 100), old);"),
	  TILES("groupshared int s;\n", "if (t.x == 0 && t.y == 0) { int sum = 0, old; for (uint i = 0; i < w; i++) sum += "
					"int(A[g.y * w + i] * 100); InterlockedAdd(H[0], sum, "
					"old); }") },
	{ "index-arithmetic",
	  ROWS("float s = A[id.x]; for (uint i = 0; i < w; i++) { uint at = (i * 7 / 3 + i % 5 + id.y / 3) % w; s += (at / 2 % 3) "
	       "* s; } C[id.y * w + "
	       "id.x] = s;"),
	  ROWS("float4 s = A_float4[id.x / 4]; for (uint i = 0; i < w; i++) { s = s * s + s; s = s * s + s; s = s * s + s; s = s * "
	       "s + s; } C[id.y * w + "
	       "id.x] = s.x + s.y + s.z + s.w;") },
	{ "cpu-instructions",
	  ROWS("float s = 0; for (uint i = 0; i < w; i++) s += A[id.y * w + i] * B[i * w + id.x]; C[id.y * w + id.x] = s;"),
	  REGISTERS },
	{ "cpu-shared-memory", TILED,
	  ROWS("float s = 0; for (uint i = 0; i < w; i++) s += A[id.y * w + i] * B[i * w + id.x]; C[id.y * w + id.x] = s;") },
	{ "cpu-loads", ROWS("C[id.y * w + id.x] = A[id.y * w + id.x] * 2 + 1;"),
	  ROWS("if (id.x < w / 4) C_float4[id.y * w / 4 + id.x] = A_float4[id.y * w / 4 + id.x] * 2 + 1;") },
	{ "cpu-reuse",
	  ROWS("float s = 0; for (uint i = 0; i < w; i++) s += A[id.y * w + i] * B[i * w + id.x]; C[id.y * w + id.x] = s;"),
	  ROWS("C[id.y * w + id.x] = A[id.y * w + id.x] * 2;") },
	{ "cpu-lanes", ROWS("C[id.y * w + id.x] = A[id.x * w + id.y] * 2;"), ROWS("C[id.y * w + id.x] = A[id.y * w + id.x] * 2;") },
	{ "cpu-atomics", ROWS("int old; InterlockedAdd(H[0], int(A[id.y * w + id.x] * 100), old);"),
	  TILES("groupshared int s;\n", "if (t.x == 0 && t.y == 0) { int sum = 0, old; for (uint i = 0; i < w; i++) sum += "
					"int(A[g.y * w + i] * 100); InterlockedAdd(H[0], sum, "
					"old); }") },
	{ "cpu-barrier", TILED, ROWS("C[id.y * w + id.x] = A[id.y * w + id.x] * 2;") },
	{ "grid-fill",
	  FRONT
	  "```hlsl\n[numthreads(64, 1, 1)]\nvoid k(uint3 id : SV_DispatchThreadID) { for (int i = 0; i < n; i++) C[i * n + id.x] = "
	  "A[i * n + id.x]; }\n```\n" HOST("1", "64"),
	  ROWS("C[id.y * w + id.x] = A[id.y * w + id.x];") },
};

/* Whether the tool speaks of this kernel. *ret_flops: counted. */
static bool speaks(struct sample *s, const struct advisors *advisors, const char *text, const char *tool, double *ret_flops)
{
	struct facts facts = s->facts;
	struct err e = ERR_INIT;
	struct eval ev = { .pool = s->pool, .references = s->references };
	struct context *ctx = NULL;
	struct params *params = NULL;
	struct pool_worker *worker = NULL;
	struct variant v;
	struct trial t;
	struct wire_counted counted = { .count = 0 };
	struct ceilings none = { .at = NULL };
	struct profile_result r = { .cold = { .median = 1e6 }, .flops = NAN, .bytes = NAN, .registers = -1, .shared = -1,
				    .spill = -1 };
	bool found = false, ready = context_parse("test.peak.md", text, &ctx, &e) == 0 &&
				    params_parse(ctx, "n=64", true, &params, &e) == 0 &&
				    variant_build(&ev, ctx, params, &s->facts, &v, &e) == 0 &&
				    pool_take_device(s->pool, &s->facts, &(struct pool_wish){ .cancel = NULL }, &worker, &e) == 0 &&
				    trial_begin(&t, worker, &v, &e) == 0 && trial_count(&t, 7, &counted, &e) == 0;
	ok(ready, "%s: a kernel is counted %s", tool, e.text);
	if (!ready) {
		pool_give(worker);
		return false;
	}
	facts.shares_cpu = strncmp(tool, "cpu-", 4) == 0; /* others are for GPUs, and so is the device here */
	facts.units = facts.units ? facts.units : 2;
	struct guidance_source source = { .variant = &v, .facts = &facts, .spec = context_spec(ctx), .ceilings = &none,
					  .counted = &counted };
	guidance_figures(&source, &r);
	guidance_roofs(&source, &r);
	guidance_ask(advisors, &r);
	for (size_t i = 0; i < r.advice_count; i++) {
		found |= strcmp(r.advice[i].tool, tool) == 0;
		printf("# %s: %s\n", r.advice[i].tool, r.advice[i].evidence);
	}
	*ret_flops = r.flops;
	trial_end(&t);
	pool_give(worker);
	wire_counted_fini(&counted);
	profile_result_fini(&r);
	variant_fini(&v);
	params_free(params);
	context_free(ctx);
	return found;
}

int main(int argc, char **argv)
{
	static const char *const folders[] = { "transforms/tools" };
	struct sample s;
	struct advisors advisors;
	struct err e = ERR_INIT;
	double flops = 0;
	sample_worker(argc, argv);
	sample_init(&s);
	is_int(advice_read(folders, 1, &advisors, &e), 0, "the shipped tools are read %s", e.text);
	for (size_t i = 0; s.ready && i < MEM_COUNT(pairs); i++) {
		ok(speaks(&s, &advisors, pairs[i].trigger, pairs[i].tool, &flops), "%s speaks of the kernel that was made for it",
		   pairs[i].tool);
		ok(!speaks(&s, &advisors, pairs[i].twin, pairs[i].tool, &flops), "%s is silent about the better one",
		   pairs[i].tool);
	}
	if (s.ready) {
		speaks(&s, &advisors, TILED, "none", &flops);
		is_int((long long)flops, 2 * 64 * 64 * 64, "operations are counted where none are declared");
	} else {
		SKIP(1, "no HLSL device");
	}
	advice_fini(&advisors);
	sample_fini(&s);
	return tap_done();
}

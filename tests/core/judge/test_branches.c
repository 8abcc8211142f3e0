/* core/judge/branches: which conditions depend on what arrays hold, and code that tells what became of them. */
#include "core/judge/branches.h"

#include <string.h>

#include "base/mem.h"
#include "tap.h"

#define FRONT(backend) \
	"---\nkernel: t\nbackend: " backend "\ninputs:\n  n: int = {64}\n  x: f32[n] = random\n  y: out f32[n]\n---\n"
#define KERNEL(body) "[numthreads(64, 1, 1)]\nvoid t(uint3 id : SV_DispatchThreadID)\n{\n" body "}\n"
#define HOST "```lua host\nlaunch(\"t\", cdiv(n, 64), 64, {x, y, n})\n```\n"

/* The conditions that are followed, one a line; *ret_code gets the code that tells (free()). */
static char *conditions(const char *backend, const char *code, bool selects, char **ret_code)
{
	bool hlsl = strcmp(backend, "hlsl") == 0;
	char *text = mem_fmt("%s```%s\n%s```\n" HOST, hlsl ? FRONT("hlsl") : FRONT("cuda"), backend, code);
	struct context *ctx = NULL;
	struct branches b = { .ctx = NULL };
	struct err e = ERR_INIT;
	struct buf out = BUF_INIT;
	if (context_parse("t", text, &ctx, &e) < 0 || branches_make(ctx, selects, &b, &e) < 0)
		buf_addf(&out, "%s", e.text);
	for (size_t i = 0; i < b.count; i++)
		buf_addf(&out, "%ld %s\n", b.at[i].line, b.at[i].condition);
	*ret_code = b.ctx ? mem_str(context_render(b.ctx)) : NULL;
	branches_fini(&b);
	context_free(ctx);
	free(text);
	return buf_steal(&out);
}

static void finds(const char *backend, const char *code, const char *want, const char *what)
{
	char *told, *got = conditions(backend, code, true, &told);
	is_str(got, want, "%s", what);
	ok((told != NULL) == (*want != '\0'), "%s: code that tells is made where there is something to tell", what);
	free(got);
	free(told);
}

static void hlsl(void)
{
	finds("hlsl", KERNEL("if (id.x >= uint(n)) return;\ny[id.x] = x[id.x];\n"), "",
	      "an index that stays in its array depends on no value, though its member is called x");
	finds("hlsl", KERNEL("float v = x[id.x];\nfloat w = 2 * v;\nif (w > 1) w = 1;\ny[id.x] = w;\n"), "6 w > 1\n",
	      "a value goes on through assignments");
	finds("hlsl", KERNEL("uint most = 0;\nfor (uint k = 1; k < uint(n); k++)\n\tif (x[k] > x[most]) most = k;\n"
			     "y[id.x] = most == 7 ? 1 : 0;\n"),
	      "6 x[k] > x[most]\n7 most == 7\n", "what is assigned where a value decides depends on it");
	finds("hlsl", "float f(float v) { if (v < 0) return 0; return v; }\nbool in(uint i) { return i < uint(n); }\n" KERNEL(
			      "if (in(id.x)) y[id.x] = f(x[id.x]);\n"),
	      "1 v < 0\n", "functions are followed by what they are given");
	finds("hlsl", "groupshared uint found;\n" KERNEL("if (id.x == 0) found = 0;\nInterlockedOr(found, x[id.x] > 3);\n"
							  "if (found) y[id.x] = 1;\n"),
	      "7 found\n", "atomic operations are followed");
	finds("hlsl", KERNEL("if (x[0] > 1 ? x[1] > 2 : x[2] > 3) y[id.x] = 1;\n"),
	      "4 x[0] > 1 ? x[1] > 2 : x[2] > 3\n4 x[0] > 1\n", "one condition begins where another one does");
	finds("hlsl", KERNEL("if (x[0] /* anything */ > 1) y[id.x] = 1;\n"), "4 x[0] > 1\n",
	      "a condition is told without comments");
	finds("hlsl", KERNEL("// if (x[0] > 1)\n#define SKIP if (x[1] > 2) return\ny[id.x] = x[id.x];\n"), "",
	      "comments and macros are left out");
	static const char whole[] = KERNEL("if (x[id.x] > 0 && (n > 3 ? x[0] : x[1]) > 2) y[id.x] = 1;\n");
	char *code, *text = conditions("hlsl", whole, true, &code);
	has_str(code, "peakd_took: out u32[128]", "the array that the kernels write is an output");
	has_str(code, "if (peakd_branch(0, (x[id.x] > 0 && (n > 3 ? x[0] : x[1]) > 2))) y[id.x] = 1;",
		"a condition is wrapped as a whole");
	has_str(code, "local function launch(", "every launch passes the array");
	free(code);
	free(text);
	text = conditions("hlsl", KERNEL("y[id.x] = x[id.x] > 0 ? 1 : 0;\n"), false, &code);
	ok(*text == '\0' && code == NULL, "without ?: these are not followed");
	free(code);
	free(text);
}

static void cuda(void)
{
	static const char kernel[] =
		"__device__ float f(float v) { return v > 2 ? 2 : v; }\n"
		"extern \"C\" __global__ void __launch_bounds__(64) t(const float *a, float *b, int n)\n{\n"
		"\tint i = blockIdx.x * 64 + threadIdx.x;\n\tif (i >= n) return;\n"
		"\tfloat4 v = *reinterpret_cast<const float4 *>(a + i);\n"
		"\tif constexpr (sizeof(float) > 2) { b[i] = 0; }\n\tb[i] = v.x < 0 ? 0 : f(v.y);\n}\n";
	char *code, *text = conditions("cuda", kernel, true, &code);
	is_str(text, "1 v > 2\n8 v.x < 0\n", "pointers of kernels are followed");
	has_str(code, "t(const float *a, float *b, int n, unsigned *peakd_took)", "a kernel gets one more parameter");
	has_str(code, "{ peakd_branches = peakd_took;", "and keeps it where functions find it");
	has_str(code, "b[i] = peakd_branch(1, (v.x < 0 ))? 0 : f(v.y);", "a condition ends in front of the ?");
	free(code);
	free(text);
}

/* What no compiler would accept, and what takes long to follow. */
static void odd(void)
{
	static const char *const ends[] = { "f(x.)", "f(x[", "f(x[0].)", "if (x[", "if (x[0]) {",
					    "x ? ",  "? x",  "= = =",    "f(&x",   "else" };
	for (size_t i = 0; i < MEM_COUNT(ends); i++)
		for (size_t blanks = 0; blanks < 40; blanks++) {
			struct buf code = BUF_INIT;
			buf_adds(&code, KERNEL("y[id.x] = x[id.x];\n") "#if 0\n");
			for (size_t k = 0; k < blanks; k++)
				buf_adds(&code, "; ");
			buf_addf(&code, "%s\n#endif\n", ends[i]);
			char *told, *text = conditions("hlsl", buf_text(&code), true, &told);
			free(text);
			free(told);
			buf_fini(&code);
		}
	ok(true, "unfinished code is read to its end");
	struct buf code = BUF_INIT;
	char *told, *text;
	for (size_t i = 0; i < 4000; i++)
		buf_addf(&code, "v%zu = x[%zu]; ", i, i);
	for (size_t i = 0; i < 8000; i++)
		buf_adds(&code, "f(");
	for (size_t i = 0; i < 100000; i++)
		buf_adds(&code, "+?");
	text = conditions("hlsl", buf_text(&code), true, &told);
	ok(told == NULL, "code that takes long to follow is left out or followed fast (%.30s)", text);
	free(text);
	free(told);
	buf_fini(&code);
	buf_adds(&code, "[numthreads(64, 1, 1)]\nvoid t(uint3 id : SV_DispatchThreadID)\n{\n");
	for (size_t i = 0; i < 70; i++)
		buf_addf(&code, "if (x[%zu] > 0) y[id.x] = 1;\n", i);
	buf_adds(&code, "}\n");
	char *file = mem_fmt("%s```hlsl\n%s```\n" HOST, FRONT("hlsl"), buf_text(&code));
	struct context *ctx = NULL;
	struct branches b = { .ctx = NULL };
	struct err e = ERR_INIT;
	ok(context_parse("t", file, &ctx, &e) == 0 && branches_make(ctx, true, &b, &e) == 0, "many branches are followed");
	ok(b.count == BRANCHES_MOST && b.left_out == 6, "the rest is counted (%zu)", b.left_out);
	branches_fini(&b);
	context_free(ctx);
	free(file);
	buf_fini(&code);
}

int main(void)
{
	hlsl();
	cuda();
	odd();
	return tap_done();
}

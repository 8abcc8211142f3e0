/* core/draft: contexts made of kernel files: what is read, what is asked, what is refused; and no text makes it stumble. */
#include "core/draft/draft.h"

#include "base/mem.h"
#include "core/context/context.h"
#include "core/context/host.h"
#include "tests/tap.h"

static const char tiled[] =
	"#include <cstdio>\n#include <cuda_fp16.h>\n#define TILE 16 // edge\n"
	"__device__ inline float twice(float a) { return 2 * a; }\n"
	"__global__ void __launch_bounds__(256) product(const float *A, const float *__restrict__ B, float *C, int n, int m)\n"
	"{\n\tint r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;\n"
	"\tif (r < n && c < m) C[r * m + c] = twice(A[r * m + c] + B[r * m + c]);\n}\n"
	"int main()\n{\n\tconst int N = 512, M = 2 * N; /* two\n lines */\n\tsize_t bytes = N * M * sizeof(float);\n\tfloat *a, *b, *c;\n"
	"\tcudaMalloc(&a, bytes); cudaMalloc((void **)&b, sizeof(float) * N * M); cudaMalloc(&c, N * M * 4);\n"
	"\tdim3 block(TILE, TILE), grid((M + block.x - 1) / block.x, (N + TILE - 1) / TILE);\n"
	"\tproduct<<<grid, block>>>(a, b, c, N, M);\n\tputs(\"<<<not a launch>>>\");\n}\n";

static const char chain[] =
	"__global__ void square(const double *x, double *t, unsigned n) { for (unsigned i = threadIdx.x; i < n; i += blockDim.x) t[i] = x[i]; }\n"
	"extern \"C\" __global__ void add(double *y, const double *t, float f, unsigned n) { if (threadIdx.x < n) y[threadIdx.x] += f * t[threadIdx.x]; }\n"
	"void run(int m)\n{\n\tint threads = 256, blocks = (m + threads - 1) / threads;\n\tdouble *x, *y, *tmp;\n"
	"\tcudaMalloc(&x, m * sizeof(double)); cudaMalloc(&y, sizeof(double) * (size_t)m); cudaMalloc(&tmp, m * 8);\n"
	"\tsquare<<<blocks, threads>>>(x, tmp, m);\n\tadd<<<blocks, threads, 64 * sizeof(float), 0>>>(y, tmp, 2.5f, m);\n}\n";

static void has(const char *text, const char *part, const char *what)
{
	if (!ok(text && strstr(text, part), "%s", what))
		printf("# no \"%s\" in:\n# %s\n", part, text ? text : "nothing");
}

static void is_context(const struct draft *d, const char *what)
{
	struct context *ctx;
	struct err e = ERR_INIT;
	int rc = context_parse("draft", d->text, &ctx, &e);
	if (rc == 0) {
		rc = host_check(ctx, &e);
		context_free(ctx);
	}
	ok(rc == 0, "%s: %s", what, rc == 0 ? "a context" : e.text);
}

static void test_complete(void)
{
	struct draft d;
	struct err e = ERR_INIT;
	ok(draft_make(tiled, "cuda", NULL, 0, &d, &e) == 0, "a file with its launch (%s)", e.text);
	is_int(d.question_count, 0, "leaves no question");
	has(d.text, "  n: int = 512\n  m: int = 1024\n", "scalars with the host's values");
	has(d.text, "  A: f32[n, m] = random\n  B: f32[n, m] = random\n  C: out f32[n, m]\n", "arrays with extents and roles");
	has(d.text, "tune:\n  TILE: {16}\n", "the macro of the block is a tuning parameter");
	ok(strstr(d.text, "#define TILE") == NULL, "and defined no more");
	has(d.text, "launch(\"product\", {(m + TILE - 1) // TILE, (n + TILE - 1) // TILE}, {TILE, TILE}, {A, B, C, n, m})", "the file's own launch");
	has(d.text, "#include <cuda_fp16.h>", "the device's headers stay");
	ok(strstr(d.text, "cstdio") == NULL && strstr(d.text, "main") == NULL, "the host's code does not");
	has(d.text, "extern \"C\" __global__ void __launch_bounds__(256) product(", "kernels are extern \"C\"");
	has(d.text, "twice(float a)", "device functions stay");
	is_context(&d, "and all of it");
	draft_fini(&d);
}

static void test_questions(void)
{
	static const char *const declared[] = { "n: u32 = {1000, 1001}" }, *const wrong[] = { "z: int = 4" };
	struct draft d;
	struct err e = ERR_INIT;
	ok(draft_make(chain, "cuda", NULL, 0, &d, &e) == 0, "a file that takes its size from outside");
	is_int(d.question_count, 1, "leaves one question");
	has(d.questions[0], "n: which values?", "about the size");
	draft_fini(&d);
	ok(draft_make(chain, "cuda", declared, 1, &d, &e) == 0 && d.question_count == 0, "which a declaration answers");
	has(d.text, "  n: u32 = {1000, 1001}\n  f: f32 = 2.5\n", "as it stands; constants of launches become inputs");
	has(d.text, "local t = alloc({\"f64\", n}, \"t\")", "what only passes between kernels is scratch");
	has(d.text, "y: inout f64[n] = random", "what is updated is inout");
	has(d.text, "{BX}, {y, t, f, n}, {shared = 64*4})", "shared memory of the launch");
	is_context(&d, "and all of it");
	draft_fini(&d);
	ok(draft_make(chain, "cuda", wrong, 1, &d, &e) < 0, "a declaration of nothing is refused");
	has(e.text, "z: int = 4", "with its words");
}

static void test_refused(void)
{
	static const struct { const char *text, *why; } bad[] = {
		{ "int main() { return 0; }", "there is no kernel" },
		{ "template <int N> __global__ void f(float *x) { x[0] = N; }", "template" },
		{ "", "there is no kernel" },
	};
	for (size_t i = 0; i < MEM_COUNT(bad); i++) {
		struct draft d;
		struct err e = ERR_INIT;
		ok(draft_make(bad[i].text, "cuda", NULL, 0, &d, &e) < 0, "refused: %s", bad[i].why);
		has(e.text, bad[i].why, "and said");
	}
	struct draft d;
	struct err e = ERR_INIT;
	ok(draft_make("__global__ void f(struct s *x, int n) { x[0].a = n; }", "cuda", NULL, 0, &d, &e) == 0 && d.question_count >= 2,
	   "an unknown type and a missing launch are asked for");
	draft_fini(&d);
}

/* Cut anywhere, the file is an error or a draft, never a fault (under ASan this is worth most). */
static void test_cut(void)
{
	for (size_t n = 0; n < sizeof tiled; n++) {
		char *part = mem_strn(tiled, n);
		struct draft d;
		struct err e = ERR_INIT;
		if (draft_make(part, "cuda", NULL, 0, &d, &e) == 0)
			draft_fini(&d);
		free(part);
	}
	ok(1, "cut at every place");
}

int main(void)
{
	test_complete();
	test_questions();
	test_refused();
	test_cut();
	return tap_done();
}

/* core/problems/draft: contexts drafted from kernel files: what is read, asked and refused; no text makes it crash. */
#include "core/problems/draft.h"

#include <string.h>

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
	"int main()\n{\n\tconst int N = 512, M = 2 * N; /* two\n lines */\n\tsize_t bytes = N * M * sizeof(float);\n\tfloat *a, "
	"*b, *c;\n"
	"\tcudaMalloc(&a, bytes); cudaMalloc((void **)&b, sizeof(float) * N * M); cudaMalloc(&c, N * M * 4);\n"
	"\tdim3 block(TILE, TILE), grid((M + block.x - 1) / block.x, (N + TILE - 1) / TILE);\n"
	"\tproduct<<<grid, block>>>(a, b, c, N, M);\n\tputs(\"<<<not a launch>>>\");\n}\n";

static const char chain[] =
	"__global__ void square(const double *x, double *t, unsigned n) { for (unsigned i = threadIdx.x; i < n; i += blockDim.x) "
	"t[i] = x[i]; }\n"
	"extern \"C\" __global__ void add(double *y, const double *t, float f, unsigned n) { if (threadIdx.x < n) y[threadIdx.x] "
	"+= f * t[threadIdx.x]; }\n"
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

static const char derived[] =
	"__global__ void fill(int n, float f, float *y) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = f; }\n"
	"__global__ void sums(const float *y, float *s, int rows, int cols) { for (int c = 0; c < cols; c++) s[blockIdx.x] += "
	"y[blockIdx.x * cols + c]; }\n"
	"int main(int argc, char **argv)\n{\n\tint rows = argc > 1 ? atoi(argv[1]) : 64;\n\tconst int cols = 512;\n\tint n = rows "
	"* cols, pad = n / 2;\n"
	"\tfloat f = rows / 3.0f, *y, *s;\n\tcudaMalloc(&y, n * sizeof(float));\n\tcudaMalloc(&s, rows * sizeof(float));\n"
	"\tfill<<<(n + 255) / 256, 256>>>(n, f, y);\n\tsums<<<rows, 256>>>(y, s, rows, cols);\n\tfill<<<1, 256>>>(pad, 1.0f, "
	"y);\n}\n";

/* Sizes that the file computes from other numbers are not asked for. */
static void test_derived(void)
{
	static const char *const lines[] = { "rows: int = {32, 64}", "f: f32 = 2" };
	struct draft d;
	struct err e = ERR_INIT;
	ok(draft_make(derived, "cuda", NULL, 0, &d, &e) == 0, "a file with computed sizes gives a draft (%s)", e.text);
	is_int(d.question_count, 2, "only the numbers that sizes are computed from are asked for");
	for (size_t i = 0; i < d.question_count; i++)
		ok(strncmp(d.questions[i], "rows: ", 6) == 0 || strncmp(d.questions[i], "f: ", 3) == 0,
		   "the question is about the size or the non-integer: %s", d.questions[i]);
	draft_fini(&d);
	ok(draft_make(derived, "cuda", lines, 2, &d, &e) == 0, "the declarations of those numbers are accepted (%s)", e.text);
	is_int(d.question_count, 0, "no question is left about computed sizes: %s", d.question_count ? d.questions[0] : "");
	has(d.text, "n: int = rows*512\n", "a computed size is an expression in the context");
	has(d.text, "int = (rows*512) // 2\n", "a size computed in two steps is an expression in the context");
	is_context(&d, "the draft with computed sizes is a context");
	draft_fini(&d);
}

static void test_complete(void)
{
	struct draft d;
	struct err e = ERR_INIT;
	ok(draft_make(tiled, "cuda", NULL, 0, &d, &e) == 0, "a file with its launch gives a draft (%s)", e.text);
	is_int(d.question_count, 0, "a file with its launch leaves no question");
	has(d.text, "  n: int = 512\n  m: int = 1024\n", "scalars have the host's values");
	has(d.text, "  A: f32[n, m] = random\n  B: f32[n, m] = random\n  C: out f32[n, m]\n", "arrays have extents and roles");
	has(d.text, "tune:\n  TILE: {16}\n", "the macro of the block is a tuning parameter");
	ok(strstr(d.text, "#define TILE") == NULL, "the macro of the block is no longer defined");
	has(d.text, "launch(\"product\", {(m + TILE - 1) // TILE, (n + TILE - 1) // TILE}, {TILE, TILE}, {A, B, C, n, m})",
	    "the host code has the file's launch");
	has(d.text, "#include <cuda_fp16.h>", "device headers are kept");
	ok(strstr(d.text, "cstdio") == NULL && strstr(d.text, "main") == NULL, "host code and its headers are dropped");
	has(d.text, "extern \"C\" __global__ void __launch_bounds__(256) product(", "kernels are extern \"C\"");
	has(d.text, "twice(float a)", "device functions are kept");
	is_context(&d, "the draft of a file with its launch is a context");
	draft_fini(&d);
}

static void test_questions(void)
{
	static const char *const declared[] = { "n: u32 = {1000, 1001}" }, *const wrong[] = { "z: int = 4" };
	struct draft d;
	struct err e = ERR_INIT;
	ok(draft_make(chain, "cuda", NULL, 0, &d, &e) == 0, "a file that reads its size at run time gives a draft");
	is_int(d.question_count, 1, "a size that is read at run time leaves one question");
	has(d.questions[0], "n: which values?", "the question is about the size that is read at run time");
	draft_fini(&d);
	ok(draft_make(chain, "cuda", declared, 1, &d, &e) == 0 && d.question_count == 0, "a declaration answers the question");
	has(d.text, "  n: u32 = {1000, 1001}\n  f: f32 = 2.5\n",
	    "the declaration is copied, and constants of launches become inputs");
	has(d.text, "local t = alloc({\"f64\", n}, \"t\")", "an array that only passes between kernels is scratch");
	has(d.text, "y: inout f64[n] = random", "an array that is updated is inout");
	has(d.text, "{BX}, {y, t, f, n}, {shared = 64*4})", "the launch keeps its shared memory");
	is_context(&d, "the draft with a declared size is a context");
	draft_fini(&d);
	ok(draft_make(chain, "cuda", wrong, 1, &d, &e) < 0, "a declaration of an unknown name is refused");
	has(e.text, "z: int = 4", "the refusal quotes the declaration");
}

/* Everything below "inputs:" that is not seen in the file's form, and where the draft could be something else than the file. */
static const char hidden[] =
	"static int up(int a, int b) { int q = a / b; return q * b < a ? q + 1 : q; }\n"
	"static int threads_for(int n) { int threads = 32; while (threads < n) threads *= 2; return threads; }\n"
	"__device__ void put(float *to, float v) { *to = v; }\n"
	"__global__ void norm(const float4 *in, float *y, int columns, float epsilon) { put(y + threadIdx.x, in[threadIdx.x].x * "
	"epsilon); }\n"
	"__global__ void half_of(float *x, int rows) { x[blockIdx.x * rows] *= 0.5f; }\n"
	"void run(const float4 *in, float *y, int rows, int columns)\n{\n\tint threads = threads_for(columns);\n"
	"\tnorm<<<up(rows, 4), threads, threads * sizeof(float)>>>(in, y, columns, 1e-5f);\n"
	"\thalf_of<<<rows, 64>>>(y, rows);\n}\n";

static const char *const answers[] = { "rows: int = {64, 128}",
				       "columns: int = 256",
				       "in_: f32[rows, columns] = normal",
				       "y: inout f32[rows, columns] = zeros",
				       "BX: {64, 256}",
				       "local norm_grid = {cdiv(rows, 4)}" };

static bool any(char *const *list, size_t count, const char *part)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(list[i], part))
			return true;
	return false;
}

/* For messages: what stands open, or why there is no draft. */
static const char *open_question(int rc, const struct draft *d, const struct err *e)
{
	return rc < 0 ? e->text : d->question_count ? d->questions[0] : "nothing";
}

/* The draft with one of the answers replaced. */
static int make_with(size_t which, const char *line, struct draft *d, struct err *e)
{
	const char *lines[MEM_COUNT(answers)];
	memcpy(lines, answers, sizeof lines);
	if (line)
		lines[which] = line;
	return draft_make(hidden, "cuda", lines, MEM_COUNT(lines), d, e);
}

static void test_hidden(void)
{
	struct draft d;
	struct err e = ERR_INIT;
	ok(draft_make(hidden, "cuda", NULL, 0, &d, &e) == 0, "a file that hides its sizes gives a draft (%s)", e.text);
	ok(any(d.questions, d.question_count, "the grid of norm mentions 'up(…)'"),
	   "a grid that calls a host function is asked for");
	ok(any(d.questions, d.question_count, "the size of a block of norm is not a constant"),
	   "a block size is asked for if two variables share its name");
	ok(any(d.questions, d.question_count, "y: how many elements"), "an array without an allocation is asked for");
	draft_fini(&d);
	int rc = make_with(0, NULL, &d, &e);
	ok(rc == 0 && d.question_count == 0, "declarations answer all questions (%s)", open_question(rc, &d, &e));
	has(d.text, "  rows: int = {64, 128}\n  columns: int = 256\n", "sizes have the host's names");
	has(d.text, "tune:\n  BX: {64, 256}\n  BX2: {64}\n", "two block sizes become two tuning parameters");
	has(d.text,
	    "local norm_grid = {cdiv(rows, 4)}\nlaunch(\"norm\", norm_grid, {BX}, {in_, y, columns, epsilon}, {shared = BX*4})",
	    "the launch uses the declared grid");
	has(d.text, "launch(\"half_of\", {rows}, {BX2}, {y, rows})", "the second launch has its own block size");
	is_context(&d, "the draft with all answers is a context");
	ok(any(d.notes, d.note_count, "no difference; could not be compared: the grid of norm"),
	   "a note says what could not be compared");
	draft_fini(&d);
}

/* Declarations that are well-formed but wrong. */
static void test_compared(void)
{
	static const struct {
		size_t which;
		const char *line, *why;
	} wrong[] = {
		{ 1, "columns: i64 = 256", "columns has type i64 in the draft, and the kernel takes i32" },
		{ 5, "local norm_grid = {cdiv(rows, 4)} launch(\"norm\", 1, 32, {})", "the draft launches norm instead" },
		{ 2, "in_: f32[rows, m] = normal", "the draft is not a context that runs" },
		{ 4, "BX: {2^40}", "the draft is not a context that runs" },
	};
	static const char *const smaller[] = { "A: f32[n, 8] = random" }, *const widened[] = { "TILE: {8, 16}",
											       "n: int = {100, 512}" };
	struct draft d;
	struct err e = ERR_INIT;
	for (size_t i = 0; i < MEM_COUNT(wrong); i++) {
		ok(make_with(wrong[i].which, wrong[i].line, &d, &e) == 0, "%s", wrong[i].line);
		ok(any(d.questions, d.question_count, wrong[i].why), "the difference is asked about (%s)",
		   open_question(0, &d, &e));
		draft_fini(&d);
	}
	ok(draft_make(tiled, "cuda", smaller, 1, &d, &e) == 0, "an array declared smaller than its allocation gives a draft");
	ok(any(d.questions, d.question_count, "A has 16384 bytes in the draft, and a has 2097152 in the file"),
	   "the smaller array is asked about (%s)", open_question(0, &d, &e));
	draft_fini(&d);
	int rc = draft_make(tiled, "cuda", widened, 2, &d, &e);
	ok(rc == 0 && d.question_count == 0, "several values for a size and a tuning parameter are accepted (%s)",
	   open_question(rc, &d, &e));
	has(d.text, "tune:\n  TILE: {8, 16}\n", "a declared tuning parameter keeps its values");
	ok(any(d.notes, d.note_count,
	       "at n=512 m=1024 TILE=16: kernels, grids, blocks, shared memory and arguments of 1, the bytes of 3 arrays: no "
	       "difference"),
	   "the draft is compared at the file's own values");
	draft_fini(&d);
}

/* Host code injected behind a declaration changes the launch, and every changed part is found. */
static void test_smuggled(void)
{
	static const char file[] =
		"__global__ void f(const float *a, float *b, int n, float s) { b[threadIdx.x] = s * a[threadIdx.x]; }\n"
		"void run() { const int n = 512; float *p, *q; cudaMalloc(&p, n * 4); cudaMalloc(&q, n * 4);\n"
		"f<<<(n + 63) / 64, 64, n * 4>>>(p, q, n, 0.5f); }\n";
	static const struct {
		const char *line, *why;
	} wrong[] = {
		{ "local f_block = {64, 2}", "its block is 64 x 2 x 1 in the draft and 64 x 1 x 1 in the file" },
		{ "local f_block = {64} n = 128", "its grid is 2 x 1 x 1 in the draft and 8 x 1 x 1 in the file" },
		{ "local f_block = {64} n = 128", "it has 512 bytes of dynamic shared memory in the draft and 2048 in the file" },
		{ "local f_block = {64} n = 128", "n is 128 in the draft and 512 in the file" },
		{ "local f_block = {64} s = 2", "s is 2 in the draft and 0.5 in the file" },
		{ "local f_block = {64} b = a", "b is q in the file, and in the draft that is the same as another array" },
		{ "local f_block = {64} launch(\"f\", 8, 64, {a, b, n, s}, {shared = 2048})",
		  "the draft has 2 launches, and the file 1" },
		{ "local f_block = {64} memset(b, 0)", "the draft has an operation besides launches" },
		{ "local f_block = {64} s = n", "s is 512 in the draft and 0.5 in the file" },
		{ "local f_block = {64} s = a", "s is not a number in the draft" },
		{ "local f_block = {64} b = n", "b is not an array in the draft" },
	};
	struct draft d;
	struct err e = ERR_INIT;
	ok(draft_make(file, "cuda", NULL, 0, &d, &e) == 0 && d.question_count == 0, "a plain file leaves no question");
	draft_fini(&d);
	for (size_t i = 0; i < MEM_COUNT(wrong); i++) {
		ok(draft_make(file, "cuda", &wrong[i].line, 1, &d, &e) == 0, "%s", wrong[i].line);
		ok(any(d.questions, d.question_count, wrong[i].why), "the changed part is asked about (%s)",
		   open_question(0, &d, &e));
		draft_fini(&d);
	}
}

static void test_roles(void)
{
	static const char file[] =
		"__device__ void put(float *to, float v);\n"
		"__global__ void f(const float *x, float *y, float *z) { y[threadIdx.y] = x[threadIdx.x]; put(z, 1); }\n"
		"void run() { float *a, *b, *c; cudaMalloc(&a, 256); cudaMalloc(&b, 64 * 4); cudaMalloc(&c, 64 * 4); f<<<1, "
		"64>>>(a, b, c); }\n";
	static const char *const line[] = { "z: out f32[64]" };
	struct draft d;
	struct err e = ERR_INIT;
	ok(draft_make(file, "cuda", NULL, 0, &d, &e) == 0, "a kernel that passes an array on gives a draft (%s)", e.text);
	has(d.text, "  y: out f32[64]\n", "threadIdx.y does not count as a use of y");
	ok(any(d.questions, d.question_count, "z: is it read, written or both?"),
	   "the role of an array that is passed on is asked for");
	draft_fini(&d);
	ok(draft_make(file, "cuda", line, 1, &d, &e) == 0 && !any(d.questions, d.question_count, "z:"),
	   "a declaration answers the question about the role");
	draft_fini(&d);
}

static void test_unlaunched(void)
{
	static const char file[] =
		"__global__ void f(const float *x, float *y, int n) { if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x]; }\n";
	static const char *const lines[] = { "n: int = 128", "x: f32[n] = random", "y: out f32[n]", "BX: {64}",
					     "launch(\"f\", cdiv(n, BX), BX, {x, y, n})" };
	struct draft d;
	struct err e = ERR_INIT;
	int rc = draft_make(file, "cuda", lines, MEM_COUNT(lines), &d, &e);
	ok(rc == 0 && d.question_count == 0, "a declared launch leaves no question (%s)", open_question(rc, &d, &e));
	ok(any(d.notes, d.note_count, "the file launches nothing"), "a note says that the file has no launch to compare with");
	is_context(&d, "the draft with a declared launch is a context");
	draft_fini(&d);
	ok(draft_make(tiled, "cuda", lines + 4, 1, &d, &e) < 0, "a declared launch is refused if the file has launches");
	has(e.text, "the file has its own launches", "the refusal says that the file has its own launches");
}

/* Everything that a draft cannot express is listed with its line. The second file has the same words where they mean nothing. */
static void test_losses(void)
{
	static const char lossy[] =
		"__constant__ float w[4];\n"                                                                         /* 1 */
		"__global__ void f(float *x, int n) { atomicAdd(&x[0], w[n]); }\n"                                   /* 2 */
		"__global__ void unused(float *x) { x[0] = 1; }\n"                                                   /* 3 */
		"#define RUN f<<<1, 32>>>(x, 4)\n"                                                                   /* 4 */
		"void run(float *x, float *y, bool warm)\n{\n"                                                       /* 5, 6 */
		"\tcudaMalloc(&x, 128);\n\tcudaMemset(x, 0, 128);\n"                                                 /* 7, 8 */
		"\tcudaMemcpyToSymbol(w, y, 16);\n"                                                                  /* 9 */
		"\tfor (int i = 0; i < 10; i++)\n\t\tif (warm)\n\t\t\tf<<<1, 32>>>(x, 4);\n"                         /* 10 to 12 */
		"\tdo { other<float><<<1, 32>>>(x); } while (warm);\n"                                               /* 13 */
		"\tcudaMemcpy(y, x, 128, cudaMemcpyDeviceToDevice);\n"                                               /* 14 */
		"\tcublasSgemm(h, y);\n\tthrust::sort(x, x + 4);\n\tcudaLaunchKernel((void *)f, 1, 32, args);\n}\n"; /* 15 to 17 */
	static const char plain[] = "// for (;;) cudaMemset(x, 0, 4); atomicAdd\n"
				    "__global__ void f(float *x, int n) { for (int i = 0; i < n; i++) if (i) x[i] = sinf(i); }\n"
				    "void run(float *x)\n{\n\tfor (int i = 0; i < 10; i++)\n\t\tputs(\"cublasSgemm(1)\");\n"
				    "\tcudaMalloc(&x, 128);\n\tf<<<1, 32>>>(x, 4);\n\tif (x) { puts(\"atomicAdd(x)\"); }\n}\n";
	static const char *const lost[] = {
		"line 2: atomicAdd adds to memory",
		"line 3: not in the draft: kernel unused",
		"line 4: not in the draft: a launch in a macro",
		"line 8: not in the draft: cudaMemset(…)",
		"line 9: not in the draft: cudaMemcpyToSymbol(…)",
		"line 10: not in the draft: the loop around the launch of f",
		"line 11: not in the draft: the condition around the launch of f",
		"line 13: not in the draft: a launch of a template",
		"line 14: not in the draft: a copy between device buffers",
		"line 15: not in the draft: cublasSgemm(…)",
		"line 16: not in the draft: thrust(…)",
		"line 17: not in the draft: cudaLaunchKernel(…)",
	};
	struct draft d;
	struct err e = ERR_INIT;
	ok(draft_make(lossy, "cuda", NULL, 0, &d, &e) == 0, "a file that a draft cannot express completely gives a draft (%s)",
	   e.text);
	for (size_t i = 0; i < MEM_COUNT(lost); i++)
		ok(any(d.notes, d.note_count, lost[i]), "a note lists: %s", lost[i]);
	draft_fini(&d);
	ok(draft_make(plain, "cuda", NULL, 0, &d, &e) == 0,
	   "a file with the same words in comments, strings and kernels gives a draft (%s)", e.text);
	ok(!any(d.notes, d.note_count, "line "), "words in comments, strings and kernels are not listed");
	draft_fini(&d);
}

static void test_refused(void)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "int main() { return 0; }", "there is no kernel" },
		{ "\ntemplate <int N> __global__ void f(float *x) { x[0] = N; }", "line 2: a kernel is a template" },
		{ "", "there is no kernel" },
		{ "__global__ void f(cudaTextureObject_t t, float *y) { y[0] = tex2D<float>(t, 0, 0); }",
		  "line 1: a kernel takes a texture" },
	};
	for (size_t i = 0; i < MEM_COUNT(bad); i++) {
		struct draft d;
		struct err e = ERR_INIT;
		ok(draft_make(bad[i].text, "cuda", NULL, 0, &d, &e) < 0, "refused: %s", bad[i].why);
		has(e.text, bad[i].why, "the refusal gives the reason");
	}
	struct draft d;
	struct err e = ERR_INIT;
	ok(draft_make("__global__ void f(struct s *x, int n) { x[0].a = n; }", "cuda", NULL, 0, &d, &e) == 0 &&
		   d.question_count >= 2,
	   "an unknown type and a missing launch are asked for");
	draft_fini(&d);
}

/* Cut anywhere, the file is refused with a reason, or a draft; the reader never fails. */
static void test_cut(void)
{
	size_t failed = 0;
	for (size_t n = 0; n < sizeof tiled; n += 61) {
		char *part = mem_strn(tiled, n);
		struct draft d;
		struct err e = ERR_INIT;
		if (draft_make(part, "cuda", NULL, 0, &d, &e) == 0)
			draft_fini(&d);
		else
			failed += e.code != ERR_INPUT;
		free(part);
	}
	is_int(failed, 0, "a file that is cut off anywhere is refused with a reason, or gives a draft");
}

int main(void)
{
	test_complete();
	test_derived();
	test_questions();
	test_hidden();
	test_compared();
	test_smuggled();
	test_roles();
	test_unlaunched();
	test_losses();
	test_refused();
	test_cut();
	return tap_done();
}

/* core/problems/draft_read.py: what the forms of real files mean: scopes, types, templates, uses of arrays, and numbers. */
#include <string.h>

#include "base/mem.h"
#include "core/problems/draft.h"
#include "tests/tap.h"

enum { PARTS_MAX = 6 };

struct form {
	const char *what, *text;
	size_t questions;
	const char *parts[PARTS_MAX]; /* of the context, or of a question or note */
};

static bool said(const struct draft *d, const char *part)
{
	bool found = strstr(d->text, part);
	for (size_t i = 0; i < d->question_count; i++)
		found |= strstr(d->questions[i], part) != NULL;
	for (size_t i = 0; i < d->note_count; i++)
		found |= strstr(d->notes[i], part) != NULL;
	return found;
}

static void read_forms(const struct form *forms, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct form *f = &forms[i];
		struct draft d;
		struct err e = ERR_INIT;
		if (!ok(draft_make(f->text, "cuda", NULL, 0, &d, &e) == 0, "%s: a draft (%s)", f->what, e.text))
			continue;
		is_int(d.question_count, f->questions, "%s: the questions (%s)", f->what,
		       d.question_count ? d.questions[0] : "none");
		for (size_t p = 0; p < PARTS_MAX && f->parts[p]; p++)
			if (!ok(said(&d, f->parts[p]), "%s: %s", f->what, f->parts[p]))
				printf("# in:\n# %s\n", d.text);
		draft_fini(&d);
	}
}

#define COPY                                                                                                                       \
	"__global__ void copy(const float *x, float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] "  \
	"= x[i]; }\n"
#define ALLOC "float *x, *y; cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, n * sizeof(float));\n"

/* A name means what it means where it stands. */
static void test_scopes(void)
{
	static const struct form forms[] = {
		{ "two functions with one name",
		  COPY "void a() { const int n = 512; " ALLOC "dim3 block(64), grid(n / 64); copy<<<grid, block>>>(x, y, n); }\n"
		       "void b() { const int n = 2048; " ALLOC
		       "dim3 block(128), grid(n / 128); copy<<<grid, block>>>(x, y, n); }\n",
		  0,
		  { "  n: int = 512\n", "  n2: int = 2048\n", "x: f32[n]", "x2: f32[n2]", "{n // 64}, {BX}, {x, y, n}",
		    "{n2 // 128}, {BX2}, {x2, y2, n2}" } },
		{ "a block in a condition",
		  COPY "void run(int w) { const int n = 512; " ALLOC "if (w) { dim3 grid(n / 64); copy<<<grid, 64>>>(x, y, n); }\n"
		       "else { dim3 grid(n / 32); copy<<<grid, 64>>>(x, y, n); } }\n",
		  0,
		  { "{n // 64}, {BX}", "{n // 32}, {BX}" } },
		{ "a function that is called once",
		  COPY "void launch(float *from, float *to, int count, int threads) { copy<<<(count + threads - 1) / threads, "
		       "threads>>>(from, "
		       "to, count); }\n"
		       "int main() { int n = 512; " ALLOC "launch(x, y, n, 128); cudaFree(x); }\n",
		  0,
		  { "  n: int = 512\n", "x: f32[n]", "y: out f32[n]", "tune:\n  BX: {128}\n",
		    "{(n + BX - 1) // BX}, {BX}, {x, y, n}" } },
		{ "a value that is changed",
		  COPY "int main() { int n = 512; n = 1024; " ALLOC "copy<<<n / 64, 64>>>(x, y, n); }\n",
		  0,
		  { "  n: int = 1024\n" } },
		{ "a value that another path changes",
		  COPY "int main(int c, char **v) { int n = 512; if (c > 1) n = 1024; " ALLOC "copy<<<4, 64>>>(x, y, n); }\n",
		  1,
		  { "n: which values?" } },
		{ "a value that the command line may change",
		  COPY "int main(int c, char **v) { int n = 512; if (c > 1) n = atoi(v[1]); " ALLOC "copy<<<4, 64>>>(x, y, n); }\n",
		  0,
		  { "  n: int = 512\n" } },
		{ "a value that grows",
		  COPY "int main() { int n = 512; n *= 2; " ALLOC "copy<<<4, 64>>>(x, y, n); }\n",
		  1,
		  { "n: which values?" } },
		{ "a value that a call may change",
		  COPY "int main() { int n = 0; read_size(&n); " ALLOC "copy<<<4, 64>>>(x, y, n); }\n",
		  1,
		  { "n: which values?" } },
		{ "a branch that never runs",
		  COPY "int main() { const int n = 512, wide = 0; " ALLOC
		       "if (wide == 1) copy<<<4, 32>>>(x, y, n); else copy<<<4, 64>>>(x, y, "
		       "n); }\n",
		  0,
		  { "tune:\n  BX: {64}\n", "a launch whose condition is false" } },
	};
	read_forms(forms, MEM_COUNT(forms));
}

static void test_types(void)
{
	static const struct form forms[] = {
		{ "names of types",
		  "typedef float real;\nusing index = unsigned int;\n#define WORD short\nenum mode { slow, fast };\n"
		  "__global__ void f(const real *x, WORD *y, index n, mode m) { y[threadIdx.x] = x[threadIdx.x]; }\n"
		  "int main() { real *x; WORD *y; cudaMalloc(&x, 64 * sizeof(real)); cudaMalloc(&y, 64 * sizeof(WORD)); f<<<1, "
		  "64>>>(x, y, 64, "
		  "fast); }\n",
		  0,
		  { "x: f32[64]", "y: out i16[64]", "n: u32 = 64\n", "m: int = 1\n" } },
		{ "vectors",
		  "__global__ void f(const float4 *x, uchar4 *y) { y[threadIdx.x].x = x[threadIdx.x].y; }\n"
		  "int main() { const int n = 64; float4 *x; uchar4 *y; cudaMalloc(&x, n * sizeof(float4)); cudaMalloc(&y, n * 4); "
		  "f<<<1, 64>>>(x, y); }\n",
		  0,
		  { "x: f32[64, 4] = random", "y: out u8[64, 4]\n" } },
		{ "constants of the file and of the standard",
		  "const int width = 32;\n__global__ void f(float *y) { __shared__ float s[width]; s[threadIdx.x] = FLT_MAX; "
		  "y[threadIdx.x] = s[threadIdx.x]; "
		  "}\n"
		  "int main() { float *y; cudaMalloc(&y, width * 4); f<<<1, width>>>(y); }\n",
		  0,
		  { "tune:\n  width: {32}\n", "#define FLT_MAX 3.402823466e+38f\n" } },
		{ "a constant of a header",
		  "__global__ void f(float *y) { __shared__ float s[THREADS]; s[threadIdx.x] = 1; y[threadIdx.x] = s[threadIdx.x]; "
		  "}\n"
		  "int main() { float *y; cudaMalloc(&y, 256); f<<<1, THREADS>>>(y); }\n",
		  1,
		  { "declare \"THREADS: {128, 256}\"" } },
		{ "a type with a name in it",
		  "typedef struct pair { float a, b; } pair;\n" COPY "int main() { int n = 64; " ALLOC
		  "copy<<<1, 64>>>(x, y, n); }\n",
		  0,
		  { "} pair;\n" } },
	};
	read_forms(forms, MEM_COUNT(forms));
}

static void test_templates(void)
{
	static const struct form forms[] = {
		{ "instances",
		  "template <typename T, int N = 2> __global__ void f(const T *x, T *y) { y[threadIdx.x] = N * x[threadIdx.x]; }\n"
		  "int main() { float *x, *y; double *u, *v; cudaMalloc(&x, 256); cudaMalloc(&y, 256); cudaMalloc(&u, 512); "
		  "cudaMalloc(&v, 64 * 8);\n"
		  "f<float><<<1, 64>>>(x, y); f<double, 4><<<1, 64>>>(u, v); }\n",
		  0,
		  { "void f_float_2(const float *x, float *y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }",
		    "void f_double_4(const double *x", "launch(\"f_double_4\", {1}, {BX}, {x2, y2})", "y2: out f64[64]" } },
		{ "default arguments",
		  "__global__ void f(float *y, int k = 3) { y[threadIdx.x] = k; }\n"
		  "int main() { float *y; cudaMalloc(&y, 64 * 4); f<<<1, 64>>>(y); }\n",
		  0,
		  { "k: int = 3\n", "{y, k}" } },
		{ "no array",
		  "__global__ void f(float *y, float *z = NULL) { if (z) z[0] = 1; y[threadIdx.x] = 1; }\n"
		  "int main() { float *y; cudaMalloc(&y, 64 * 4); f<<<1, 64>>>(y); }\n",
		  2,
		  { "gives no array for z" } },
		{ "a launch by a kernel",
		  "__global__ void g(float *y) { y[threadIdx.x] = 1; }\n__global__ void f(float *y) { g<<<1, 64>>>(y); y[0] = 1; "
		  "}\n"
		  "int main() { float *y; cudaMalloc(&y, 64 * 4); f<<<1, 64>>>(y); }\n",
		  0,
		  { "a launch by a kernel, which contexts do not have" } },
	};
	read_forms(forms, MEM_COUNT(forms));
}

/* The roles of arrays. */
static void test_uses(void)
{
	static const struct form forms[] = {
		{ "atomics and zeros",
		  "__global__ void f(const float *x, float *sum, int *bins) { atomicAdd(sum, x[threadIdx.x]); "
		  "atomicAdd(&bins[threadIdx.x % 8], 1); }\n"
		  "int main() { float *x, *s; int *b; cudaMalloc(&x, 64 * 4); cudaMalloc(&s, sizeof(float)); cudaMalloc(&b, 8 * "
		  "sizeof(int));\n"
		  "cudaMemset(s, 0, 4); f<<<1, 64>>>(x, s, b); }\n",
		  0,
		  { "x: f32[64] = random", "sum: inout f32[1] = zeros closed", "bins: inout i32[8] = random" } },
		{ "device functions and rows",
		  "__device__ void store(float *to, int i, float v) { to[i] = v; }\n"
		  "__global__ void f(const float *x, float *y, float *z) { const float *row = x + 4; float *out = y + threadIdx.x; "
		  "*out = row[0];\n"
		  "store(z, threadIdx.x, ((float *)x)[1]); }\n"
		  "int main() { float *x, *y, *z; cudaMalloc(&x, 64 * 4); cudaMalloc(&y, 64 * 4); cudaMalloc(&z, 64 * 4); f<<<1, "
		  "64>>>(x, y, z); }\n",
		  0,
		  { "x: f32[64] = random", "y: out f32[64]", "z: out f32[64]" } },
		{ "an array that a later kernel updates and reads",
		  "__global__ void a(float *e, float *y) { y[threadIdx.x] = 1; }\n__global__ void b(float *e) { e[threadIdx.x] = "
		  "e[threadIdx.x] - 1; }\n"
		  "__global__ void c(float *e, float *y) { y[threadIdx.x] += e[threadIdx.x]; }\n"
		  "int main() { float *e, *y; cudaMalloc(&e, 64 * 4); cudaMalloc(&y, 64 * 4); a<<<1, 64>>>(e, y); b<<<1, 64>>>(e); "
		  "c<<<1, 64>>>(e, y); }\n",
		  0,
		  { "e: inout f32[64] = random" } },
		{ "memory that the host reads where it is",
		  "__global__ void a(float *t) { t[threadIdx.x] = 1; }\n__global__ void b(const float *t, float *y) { "
		  "y[threadIdx.x] = t[threadIdx.x]; }\n"
		  "int main() { float *t, *y; cudaMallocManaged(&t, 64 * 4); cudaMallocManaged(&y, 64 * 4); a<<<1, 64>>>(t); "
		  "b<<<1, 64>>>(t, y); }\n",
		  0,
		  { "t: out f32[64]" } },
	};
	read_forms(forms, MEM_COUNT(forms));
}

static void test_numbers(void)
{
	static const struct form forms[] = {
		{ "rounding up",
		  "#define N 1000\n#define UP(a, b) (((a) + (b) - 1) / (b))\n#define BLOCK 64\n"
		  "inline int blocks(int a, int b) { return a % b ? a / b + 1 : a / b; }\n" COPY
		  "int main() { const int n = N; " ALLOC "dim3 block(BLOCK), grid((size_t)ceil((float)N / ((float)block.x)));\n"
		  "copy<<<grid, block>>>(x, y, n); copy<<<UP(n, BLOCK), BLOCK>>>(x, y, n); copy<<<blocks(n, BLOCK), block>>>(x, y, "
		  "n); }\n",
		  0,
		  { "{cdiv(1000, BLOCK)}", "{(n + BLOCK - 1) // BLOCK}",
		    "{(n % BLOCK ~= 0) and (n // BLOCK + 1) or (n // BLOCK)}" } },
		{ "fractions",
		  "__global__ void f(float *y, float a, float b, float c, int d) { y[threadIdx.x] = a + b + c + d; }\n"
		  "int main() { const float s = 1; const int k = 7; float *y; cudaMalloc(&y, 64 * 4); f<<<1, 64>>>(y, s / 4, "
		  "(float)k / 2, 1 / 2.0, k / 2); }\n",
		  0,
		  { "a: f32 = 0.25\n", "b: f32 = 3.5\n", "c: f32 = 0.5\n", "d: int = 3\n" } },
		{ "a grid that is assigned",
		  COPY "int main() { const int n = 512; " ALLOC
		       "dim3 grid; grid = dim3(n / 64, 2); copy<<<grid, 64>>>(x, y, n); }\n",
		  0,
		  { "{n // 64, 2}" } },
		{ "a grid whose part is assigned",
		  COPY "int main() { const int n = 512; " ALLOC "dim3 grid(1); grid.x = n / 64; copy<<<grid, 64>>>(x, y, n); }\n",
		  1,
		  { "the grid of copy mentions 'grid'" } },
	};
	read_forms(forms, MEM_COUNT(forms));
}

/* Constants of a header that is not in the file are declared as tuning parameters, whether or not a block mentions them. */
static void test_header(void)
{
	static const char file[] =
		"__constant__ float w[RADIUS];\n__global__ void f(float *y) { __shared__ float s[THREADS]; s[threadIdx.x] = "
		"w[0]; y[threadIdx.x] = s[threadIdx.x]; }\n"
		"int main() { float *y; cudaMalloc(&y, 256); f<<<1, THREADS>>>(y); }\n";
	static const char *const lines[] = { "THREADS: {64}", "RADIUS: {8}" };
	struct draft d;
	struct err e = ERR_INIT;
	ok(draft_make(file, "cuda", lines, MEM_COUNT(lines), &d, &e) == 0 && d.question_count == 0,
	   "constants of a header are declared (%s)", e.text);
	ok(said(&d, "tune:\n  THREADS: {64}\n  RADIUS: {8}\n---"), "each constant is declared once");
	ok(said(&d, "launch(\"f\", {1}, {THREADS}, {y})"), "the block is the constant");
	draft_fini(&d);
}

int main(void)
{
	test_header();
	test_scopes();
	test_types();
	test_templates();
	test_uses();
	test_numbers();
	return tap_done();
}

/* The emulated gfx90a: real code objects, compiled by hiprtc, give the results of the same expressions on this CPU.
 * Needs ROCm's compiler; the device is the library that PEAKD_HIP_RUNTIME names (emulated/, built with the tests). */
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/hip/hip.h"
#define PLANS_BACKEND backend_hip
#include "backends/plans.h"

#include "backends/gpu/run.h"
#include "tap.h"

enum { WORDS = 4096 }; /* of each buffer */
#define KERNEL "extern \"C\" __global__ void k(const float *A, const float *B, float *C, int n)\n"

static struct backend_device *device;
static float a[WORDS], b[WORDS], c[WORDS];

/* Inputs with exact binary fractions, negative and positive. */
static void fill(void)
{
	for (int i = 0; i < WORDS; i++) {
		a[i] = (float)((i * 37 + 11) % 257 - 128) / 16;
		b[i] = (float)((i * 91 + 5) % 251 - 125) / 8;
		c[i] = 0;
	}
}

struct shape { uint32_t grid, block, shared; };

/* Compiles, runs with {A, B, C, n}, reads C. Negative: the error's code. */
static int run(const char *source, struct shape s, int n, struct err *e)
{
	struct plan *p = plan_new();
	struct wire_compiled code;
	struct backend_run *r = NULL;
	struct plan_launch *l;
	uint64_t ns = 77;
	int rc;

	add_buffer(p, "A", PLAN_IN, 1, WORDS);
	add_buffer(p, "B", PLAN_IN, 1, WORDS);
	add_buffer(p, "C", PLAN_OUT, 1, WORDS);
	l = add_launch(p, "k", s.grid, 1, s.block, 1);
	l->shared = s.shared;
	for (unsigned i = 0; i < 3; i++)
		add_buffer_arg(l, p->buffers[i].name, i);
	add_int_arg(l, "n", DTYPE_I32, n);
	*e = (struct err)ERR_INIT;
	rc = compile("gfx90a", "", source, p, &code, e);
	if (!rc)
		rc = backend_hip.prepare(device, code.binary, code.binary_len, p, &r, e);
	if (!rc && !(rc = backend_hip.write(r, 0, 0, a, sizeof a, e)) && !(rc = backend_hip.write(r, 1, 0, b, sizeof b, e)) &&
	    !(rc = backend_hip.write(r, 2, 0, c, sizeof c, e)) && !(rc = backend_hip.execute(r, 1, WIRE_WARM, &ns, e)))
		rc = backend_hip.read(r, 2, 0, c, sizeof c, e);
	if (!rc && ns != 0)
		rc = err_set(e, ERR_INTERNAL, "the emulated device gave a time: %llu ns", (unsigned long long)ns);
	if (r)
		backend_hip.release(r);
	wire_compiled_fini(&code);
	plan_free(p);
	return rc;
}

/* --- expressions: the same text for both compilers -------------------------------------------------------------------------- */
/* i: the lane's number; x, y: floats; u, v: unsigned; d, f: doubles; j, l: 64 bits. Exact in every type. */
#define EXACT(X) \
	X(float, x + y) X(float, x * y - 3.5f) X(float, __builtin_fmaf(x, y, 0.25f)) X(float, x / y) \
	X(float, 1.0f / (x + 0.0625f)) \
	X(float, __builtin_sqrtf(__builtin_fabsf(x))) X(float, __builtin_floorf(x * 0.7f)) X(float, __builtin_ceilf(y * 0.3f)) \
	X(float, __builtin_truncf(x * 1.9f)) X(float, __builtin_rintf(y * 0.5f)) X(float, x < y ? x : -y) \
	X(float, __builtin_fminf(x, y)) \
	X(float, __builtin_fmaxf(x, y)) X(float, (float)(int)(x * y)) X(float, (float)(u * 2654435761u)) \
	X(float, (float)((int)u - 1000)) \
	X(float, (float)(d * f)) X(float, x > 0 && y > 0 ? x : x < y || i > 30 ? y : 1) \
	X(unsigned, (unsigned)(x * x)) X(unsigned, u * v + 12345u) X(unsigned, u / (v + 1)) X(unsigned, u % (v + 1)) \
	X(unsigned, (unsigned)((int)(u - 5000) / ((int)v - 100000))) X(unsigned, u << (v & 31) | u >> (31 - (v & 31))) \
	X(unsigned, (unsigned)((int)(u * v) >> (i & 31))) X(unsigned, u ^ ~v & 0xff00ffu) \
	X(unsigned, (unsigned)__builtin_popcount(u * v)) \
	X(unsigned, (unsigned)__builtin_clz(u + 1)) X(unsigned, (unsigned)__builtin_ctz(v + 1)) X(unsigned, u > v ? u - v : v * 3) \
	X(unsigned, (unsigned)(((unsigned long long)u * v * 77777ull) >> 32)) X(unsigned, (unsigned)(j * l >> 7)) \
	X(unsigned, (unsigned)(j / (l | 1))) X(unsigned, (unsigned)((j << (i & 63)) >> 32)) \
	X(unsigned, (unsigned)((long long)(j - l) >> (i & 31))) \
	X(unsigned, j < l ? 3u : j == l ? 4u : 5u) X(unsigned, (unsigned)(int)(d + f * 3)) \
	X(unsigned, (unsigned char)(u * v) + (unsigned short)(v * 3)) \
	X(unsigned, (unsigned)(signed char)(u * 7)) X(unsigned, __builtin_bswap32(u * v)) \
	X(unsigned, (u & 0xffffff) * (v & 0xffff)) \
	X(double, d * f + 1) X(double, d / f) X(double, __builtin_sqrt(d * d + 2)) X(double, __builtin_fma(d, f, 0.1)) \
	X(double, __builtin_floor(d / 3)) \
	X(double, (double)x * 3 - (double)(int)u) X(double, d < f ? d : f)

struct expression { const char *type, *text; };

#define TEXT(type, e) { #type, #e },
static const struct expression exact_texts[] = { EXACT(TEXT) };
static const char values[] =
	"const float x = A[i], y = B[i]; const unsigned u = ((const unsigned *)A)[i] >> 9, v = ((const unsigned *)B)[i] >> 11;\n"
	"const double d = (double)x / 3, f = (double)y / 7; const unsigned long long j = (unsigned long long)u << 20 | v, l = "
	"(unsigned long long)v << 13 | i;\n";

#define ON_CPU(type, e) { type value = (type)(e); memcpy(to + 8 * at++, &value, sizeof value); }
static void on_cpu(int i, unsigned char *to)
{
	const float *A = a, *B = b;
	const unsigned *wa = (const void *)a, *wb = (const void *)b;
	const float x = A[i], y = B[i];
	const unsigned u = wa[i] >> 9, v = wb[i] >> 11;
	const double d = (double)x / 3, f = (double)y / 7;
	const unsigned long long j = (unsigned long long)u << 20 | v, l = (unsigned long long)v << 13 | (unsigned)i;
	size_t at = 0;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wparentheses"
	EXACT(ON_CPU)
#pragma GCC diagnostic pop
}

/* One kernel for all: lane i writes 8 bytes an expression, at 8 * (64 * expression + i). */
static void expressions(void)
{
	size_t count = MEM_COUNT(exact_texts);
	struct buf source = BUF_INIT;
	unsigned char want[MEM_COUNT(exact_texts) * 8];
	struct err e;
	enum { LANES = 32 };

	ok(count * 8 * LANES <= sizeof c, "%zu expressions fit into the output", count);
	buf_addf(&source,
		 "#pragma clang fp contract(off)\n" KERNEL
		 "{ const int i = threadIdx.x; unsigned long long *to = (unsigned long long *)C + i;\n%s",
		 values);
	for (size_t k = 0; k < count; k++)
		buf_addf(&source,
			 "{ union { %s value; unsigned long long bits; } t; t.bits = 0; t.value = (%s)(%s); to[%zu] = t.bits; }\n",
			 exact_texts[k].type, exact_texts[k].type, exact_texts[k].text, k * LANES);
	buf_adds(&source, "}\n");
	fill();
	is_int(run(buf_text(&source), (struct shape){ 1, LANES, 0 }, 0, &e), 0, "run all expressions (%s)", e.text);
	for (size_t k = 0; k < count; k++) {
		size_t bytes = strcmp(exact_texts[k].type, "double") == 0 ? 8 : 4, wrong = 0;
		unsigned first = 0;
		for (int i = 0; i < LANES; i++) {
			memset(want, 0, sizeof want);
			on_cpu(i, want);
			if (memcmp((const unsigned char *)c + 8 * (k * LANES + (size_t)i), want + 8 * k, bytes) != 0 &&
			    wrong++ == 0)
				first = (unsigned)i;
		}
		ok(wrong == 0, "%s: %s (%zu lanes differ, first %u)", exact_texts[k].type, exact_texts[k].text, wrong, first);
	}
	buf_fini(&source);
}

/* --- whole kernels ---------------------------------------------------------------------------------------------------------- */
static int count_wrong(int n, const float *want)
{
	int wrong = 0;
	for (int i = 0; i < n; i++)
		wrong += memcmp(&c[i], &want[i], 4) != 0;
	return wrong;
}

static float want[WORDS];

/* Arguments, several blocks, a tail. */
static void saxpy(void)
{
	struct err e;

	fill();
	is_int(run(KERNEL
		   "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) C[i] = __builtin_fmaf(2.5f, A[i], B[i]); }\n",
		   (struct shape){ 11, 96, 0 }, 1000, &e),
	       0, "run saxpy (%s)", e.text);
	for (int i = 0; i < WORDS; i++)
		want[i] = i < 1000 ? __builtin_fmaf(2.5f, a[i], b[i]) : 0;
	is_int(count_wrong(WORDS, want), 0, "saxpy is exact and stops at n");
}

/* 48×48 in 16×16 tiles, through LDS; n is not a multiple of the tile. */
static void tiled_matmul(void)
{
	enum { N = 43 };
	struct err e;

	fill();
	is_int(run(KERNEL "{ __shared__ float s[16][16], t[16][16]; int x = threadIdx.x % 16, y = threadIdx.x / 16, tiles = (n + "
			  "15) / 16;\n"
			  "int row = blockIdx.x / tiles * 16 + y, col = blockIdx.x % tiles * 16 + x; float sum = 0;\n"
			  "for (int k0 = 0; k0 < n; k0 += 16) {\n"
			  "	s[y][x] = row < n && k0 + x < n ? A[row * n + k0 + x] : 0; t[y][x] = col < n && k0 + y < n ? B[(k0 "
			  "+ y) * n + col] : 0;\n"
			  "	__syncthreads(); for (int k = 0; k < 16; k++) sum = __builtin_fmaf(s[y][k], t[k][x], sum); "
			  "__syncthreads(); }\n"
			  "if (row < n && col < n) C[row * n + col] = sum; }\n",
		   (struct shape){ 9, 256, 0 }, N, &e),
	       0, "run a tiled matmul (%s)", e.text);
	memset(want, 0, sizeof want);
	for (int r = 0; r < N; r++)
		for (int q = 0; q < N; q++)
			for (int k = 0; k < N; k++)
				want[r * N + q] = __builtin_fmaf(a[r * N + k], b[k * N + q], want[r * N + q]);
	is_int(count_wrong(WORDS, want), 0, "the tiled matmul is exact");
}

/* Lane i of 64 gives C[i]; `at` computes what it must be. */
static void lanes(const char *what, const char *body, float (*at)(int i))
{
	char *source = mem_fmt(KERNEL "{ int i = threadIdx.x; float x = A[i]; %s }\n", body);
	struct err e;
	int rc, wrong = 0;

	fill();
	rc = run(source, (struct shape){ 1, 64, 1024 }, 64, &e);
	for (int i = 0; i < 64 && !rc; i++)
		wrong += memcmp(&c[i], &(float){ at(i) }, 4) != 0;
	ok(rc == 0 && wrong == 0, "%s: %d of 64 lanes differ (%s)", what, wrong, e.text);
	free(source);
}

static float xor_7(int i) { return a[i ^ 7]; }
static float down_5(int i) { return a[i + 5 < 64 ? i + 5 : i]; }
static float from_9(int i) { (void)i; return a[9]; }
static float votes(int i) { int n = 0; for (int k = 0; k < i; k++) n += a[k] > 0; return (float)n; }
static float sum_of_all(int i) { float s = 0; (void)i; for (int k = 0; k < 64; k++) s += a[k]; return s; }
static float turned(int i) { return a[63 - i] * 2; }
static float loops(int i)
{
	float s = 0;
	for (int k = 0; k < i % 13; k++) {
		if (a[k] < 0)
			continue;
		if (k == 11)
			break;
		s += a[k];
	}
	return s;
}
static float local_array(int i) { return a[(i + 5) % 16] + (float)(i % 16); }
static float called(int i) { float s = a[i]; for (int k = 0; k < i % 5; k++) s = s * 0.5f + 1; return s; }
static float switched(int i)
{
	switch (i % 5) {
	case 0: return a[i];
	case 1: return -a[i];
	case 2: return 7;
	case 3: return a[i] * 4;
	}
	return 0;
}
static float half_math(int i) { return (float)(i % 8) * 0.5f + 3; }
static float mixed_bytes(int i) { return (float)((i * 3 & 0xff) + ((int)(signed char)(i * 9))); }
static float largest(int i) { float m = a[0]; (void)i; for (int k = 1; k < 64; k++) m = a[k] > m ? a[k] : m; return m; }

static void wave(void)
{
	lanes("__shfl_xor", "C[i] = __shfl_xor(x, 7);", xor_7);
	lanes("__shfl_down", "C[i] = __shfl_down(x, 5);", down_5);
	lanes("__shfl", "C[i] = __shfl(x, 9);", from_9);
	lanes("a DPP reduction",
	      "int m = __float_as_int(x); for (int s = 1; s < 64; s *= 2) { float o = __shfl_xor(x, s); x = o > x ? o : x; } C[i] "
	      "= x; (void)m;",
	      largest);
	lanes("__ballot", "unsigned long long m = __ballot(x > 0); C[i] = (float)__popcll(m & ((1ull << i) - 1));", votes);
	lanes("atomics on LDS",
	      "__shared__ float s; if (i == 0) s = 0; __syncthreads(); atomicAdd(&s, x); __syncthreads(); C[i] = s;", sum_of_all);
	lanes("atomics on memory",
	      "C[i] = 0; if (i == 0) C[64] = 0; __syncthreads(); atomicAdd(&C[64], x); __threadfence(); __syncthreads(); C[i] = "
	      "C[64];",
	      sum_of_all);
	lanes("dynamic LDS", "extern __shared__ float d[]; d[63 - i] = x * 2; __syncthreads(); C[i] = d[i];", turned);
	lanes("divergent loops",
	      "float s = 0; for (int k = 0; k < i % 13; k++) { if (A[k] < 0) continue; if (k == 11) break; s += A[k]; } C[i] = s;",
	      loops);
	lanes("a switch",
	      "float r = 0; switch (i % 5) { case 0: r = x; break; case 1: r = -x; break; case 2: r = 7; break; case 3: r = x * 4; "
	      "} C[i] = r;",
	      switched);
	lanes("private memory",
	      "float t[16]; for (int k = 0; k < 16; k++) t[(k + i) % 16] = A[k] + k; C[i] = t[(i % 16 + 5 + i) % 16] * 0 + A[(i + "
	      "5) % 16] + i % 16 + 0 * t[i % 16];",
	      local_array);
	lanes("a function that is called",
	      "struct f { __attribute__((noinline)) static float g(float s, int n) { for (int k = 0; k < n; k++) s = s * 0.5f + 1; "
	      "return s; } };"
	      "C[i] = f::g(x, i % 5);",
	      called);
	lanes("half",
	      "__half h = __float2half((float)(i % 8)); h = __hadd(__hmul(h, __float2half(0.5f)), __float2half(3)); C[i] = "
	      "__half2float(h);",
	      half_math);
	lanes("bytes",
	      "__shared__ unsigned char t[64]; __shared__ signed char u[64]; t[i] = i * 3; u[i] = i * 9; __syncthreads(); C[i] = "
	      "t[i] + u[i];",
	      mixed_bytes);
}

/* --- matrix instructions: A is m×k, B k×m, C m×m of one block; lanes as in the header of emulated/mfma.c -------------------- */
static void mfma(const char *name, int m, int k, bool half)
{
	int registers = m * m / 64, wrong = 0;
	char *one = half ? mem_fmt("h4 u, v; for (int e = 0; e < 4; e++) { int k = 4 * (i / %d) + e; u[e] = (_Float16)A[i %% %d * "
				   "%d + k]; "
				   "v[e] = (_Float16)B[k * %d + i %% %d]; }\nacc = %s(u, v, acc, 0, 0, 0);",
				   m, m, k, m, m, name)
			 : mem_fmt("acc = %s(A[i %% %d * %d + i / %d], B[i / %d * %d + i %% %d], acc, 0, 0, 0);", name, m, k, m, m,
				   m, m);
	char *source = mem_fmt("typedef float vec __attribute__((ext_vector_type(%d))); typedef _Float16 h4 "
			       "__attribute__((ext_vector_type(4)));\n" KERNEL
			       "{ int i = threadIdx.x; vec acc; for (int r = 0; r < %d; r++) acc[r] = (float)r;\n%s\n"
			       "for (int r = 0; r < %d; r++) { int row = %s; C[row * %d + i %% %d] = acc[r]; } }\n",
			       registers, registers, one, registers,
			       m == 32 ? "8 * (r / 4) + 4 * (i / 32) + r % 4" : "4 * (i / 16) + r", m, m);
	struct err e;
	int rc;

	free(one);
	fill();
	rc = run(source, (struct shape){ 1, 64, 0 }, 0, &e);
	for (int row = 0; row < m && !rc; row++)
		for (int col = 0; col < m; col++) {
			int r = m == 32 ? row / 8 * 4 + row % 4 : row % 4;
			float sum = (float)r;
			for (int q = 0; q < k; q++)
				sum = __builtin_fmaf(a[row * k + q], b[q * m + col], sum);
			wrong += memcmp(&sum, &c[row * m + col], 4) != 0;
		}
	ok(rc == 0 && wrong == 0, "%s: %d of %d differ (%s)", name, wrong, m * m, e.text);
	free(source);
}

/* --- faults ----------------------------------------------------------------------------------------------------------------- */
struct outcome { int rc; struct err e; };

/* A fault lasts for the life of its process, so it happens in a child. */
static struct outcome elsewhere(const char *source, struct shape s, int n)
{
	struct outcome o = { .rc = 1 };
	int ends[2];
	pid_t child;

	if (pipe(ends) != 0 || (child = fork()) < 0)
		return o;
	if (child == 0) {
		o.rc = run(source, s, n, &o.e);
		_exit(write(ends[1], &o, sizeof o) == (ssize_t)sizeof o ? 0 : 1);
	}
	close(ends[1]);
	if (read(ends[0], &o, sizeof o) != (ssize_t)sizeof o)
		o.rc = 1;
	close(ends[0]);
	waitpid(child, NULL, 0);
	return o;
}

static void stops(const char *what, const char *source, struct shape s, int n, enum err_code code, const char *part)
{
	struct outcome o = elsewhere(source, s, n);
	is_int(o.rc, -(int)code, "%s: %s", what, err_code_name(code));
	has_str(o.e.text, part, "%s: the message says what (%s)", what, o.e.text);
}

static void faults(void)
{
	struct shape s = { 1, 64, 256 };

	fill();
	stops("far outside of a buffer", KERNEL "{ C[(long)n * 100000 + threadIdx.x] = 1; }\n", s, 10000, ERR_CRASH,
	      "where no buffer is");
	stops("LDS behind its end",
	      KERNEL "{ extern __shared__ float d[]; d[threadIdx.x + n] = 1; __syncthreads(); C[threadIdx.x] = d[threadIdx.x]; }\n",
	      s, 1, ERR_CRASH, "accesses 4 bytes of LDS at 256, the block has 256 bytes");
	stops("a clock", KERNEL "{ ((unsigned long long *)C)[threadIdx.x] = __builtin_readcyclecounter(); }\n", s, 1,
	      ERR_UNSUPPORTED, "s_memtime");
	stops("a trap", KERNEL "{ if (n) __builtin_trap(); C[0] = 1; }\n", s, 1, ERR_CRASH, "stops itself");
}

/* A write just behind a buffer lands in its red zone, where it can be read. */
static void red_zone(void)
{
	struct plan *p = small_plan("k", 1, 64);
	struct wire_compiled code;
	struct backend_run *r = NULL;
	struct err e;
	uint64_t ns;
	float behind[64] = { 0 };

	is_int(compile("gfx90a", "", "extern \"C\" __global__ void k(float *C) { C[1024 + threadIdx.x] = threadIdx.x; }\n", p,
		       &code, &e),
	       0, "compile a write behind a buffer");
	is_int(backend_hip.prepare(device, code.binary, code.binary_len, p, &r, &e), 0, "prepare it (%s)", e.text);
	if (r) {
		is_int(backend_hip.execute(r, 1, WIRE_WARM, &ns, &e), 0, "execute a write behind a buffer (%s)", e.text);
		is_int(backend_hip.read(r, 0, 4096, behind, sizeof behind, &e), 0, "read the red zone");
		ok(behind[63] == 63, "the red zone has the write");
		backend_hip.release(r);
	}
	wire_compiled_fini(&code);
	plan_free(p);
}

static void identity(void)
{
	struct facts f;
	struct err e = ERR_INIT;
	struct gpu_driver rt;

	is_int(hip_library_runtime(&rt, &e), 0, "open the runtime (%s)", e.text);
	is_int(hip_facts_device(&rt, 0, &f, &e), 0, "describe its device");
	is_str(f.name, "emulated gfx90a", "name");
	has_str(f.driver, "no driver", "the driver line says that there is no driver");
	ok(f.emulated && f.runs && f.warp_size == 64 && f.clock_khz == 0 && f.peak_f32 == 0 && f.units == 0,
	   "the facts say emulated, waves of 64, and no peaks");
}

int main(void)
{
	struct gpu_rtc rtc;
	struct err e = ERR_INIT;
	char *library = mem_fmt("%s/tests/backends/hip/emulated.so", getenv("BUILD") ? getenv("BUILD") : "build");

	setenv("PEAKD_HIP_RUNTIME", library, 1);
	free(library);
	if (hip_library_rtc(&rtc, &e)) {
		SKIP(1, "%.200s", e.text);
		return tap_done();
	}
	identity();
	if (!ok(backend_hip.open(0, &device, &e) == 0, "open the device (%s)", e.text))
		return tap_done();
	saxpy();
	expressions();
	tiled_matmul();
	wave();
	mfma("__builtin_amdgcn_mfma_f32_32x32x2f32", 32, 2, false);
	mfma("__builtin_amdgcn_mfma_f32_16x16x4f32", 16, 4, false);
	mfma("__builtin_amdgcn_mfma_f32_32x32x8f16", 32, 8, true);
	mfma("__builtin_amdgcn_mfma_f32_16x16x16f16", 16, 16, true);
	red_zone();
	faults();
	backend_hip.close(device);
	return tap_done();
}

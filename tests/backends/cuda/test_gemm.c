/* cuBLASLt as the library baseline, against a stand-in that multiplies on the CPU: operands in the right places, the
 * best algorithm found, nothing leaked; and the message when there is no library. */
#include "backends/cuda/cuda.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stub.h"
#include "tap.h"

/* The stand-in's record of its calls. */
static int *last, *compute, *alive, *calls;
static uint32_t *schemes; /* the ways to add the parts of a divided sum that the library may use */
static int blocks;
enum { FINAL = 9 }; /* samples of a finalist */

static gpu_result memory_alloc(gpu_address *to, size_t n) { *to = (gpu_address)(uintptr_t)malloc(n); blocks++; return 0; }
static gpu_result memory_free(gpu_address at) { free((void *)(uintptr_t)at); blocks--; return 0; }
static gpu_result memory_set(gpu_address to, unsigned char v, size_t n, gpu_stream s)
{
	(void)to;
	(void)v;
	(void)n;
	(void)s;
	return 0;
}
static gpu_result event_record(gpu_event e, gpu_stream s) { (void)e; (void)s; return 0; }
static gpu_result stream_wait(gpu_stream s) { (void)s; return 0; }
/* Algorithm 2 is the fastest. */
static gpu_result event_elapsed(float *ms, gpu_event a, gpu_event b)
{
	(void)a;
	(void)b;
	*ms = 1 + fabsf((float)*last - 2);
	return 0;
}

static void matrix(struct plan *p, const char *name, enum plan_role role, enum dtype type, int64_t rows, int64_t columns,
		   int64_t ld)
{
	*MEM_PUSH(p->buffers, p->buffer_count) = (struct plan_buffer){
		.name = mem_str(name), .type = type, .role = role, .rank = 2, .dims = { rows, columns }, .ld = ld,
		.bytes = (uint64_t)(rows * ld) * dtype_size(type) };
}

/* For the same product only the finalists are timed again; for another one every algorithm. */
static void again(struct backend_device *d, struct plan *p, const gpu_address *at)
{
	struct cuda_gemm *g = NULL;
	struct err e = ERR_INIT;
	int all = 0, some = 0;
	for (int i = 0; i < 8; i++)
		all += calls[i];
	memset(calls, 0, 8 * sizeof *calls);
	is_int(cuda_gemm_new(d, p, &g, &e), 0, "open the same product again %s", e.text);
	is_int(cuda_gemm_search(g, at, &e), 0, "search its best algorithm again %s", e.text);
	for (int i = 0; i < 8; i++)
		some += calls[i] != 0 && calls[i] != FINAL ? 1000 : calls[i];
	ok(calls[2] == FINAL && some < all && some < 1000, "only finalists are timed: %d calls after %d", some, all);
	is_int(cuda_gemm_issue(g, at), 0, "issue the product again");
	is_int(*last, 2, "the fastest algorithm runs again");
	cuda_gemm_free(g);
	memset(calls, 0, 8 * sizeof *calls);
	p->buffers[2].dims[0]--;
	p->buffers[0].dims[p->ops[0].gemm.a_transposed]--;
	is_int(cuda_gemm_new(d, p, &g, &e), 0, "open another product %s", e.text);
	is_int(cuda_gemm_search(g, at, &e), 0, "search its best algorithm %s", e.text);
	ok(calls[2] > FINAL && calls[3] > 0, "every algorithm is timed for another product");
	cuda_gemm_free(g);
	p->buffers[2].dims[0]++;
	p->buffers[0].dims[p->ops[0].gemm.a_transposed]++;
}

static void product(struct backend_device *d, enum dtype type, bool ta, bool tb, bool tf32, int want_compute)
{
	enum { M = 3, N = 5, K = 4 };
	struct plan *p = plan_new();
	struct cuda_gemm *g = NULL;
	struct err e = ERR_INIT;
	double worst = 0;
	matrix(p, "A", PLAN_IN, type, ta ? K : M, ta ? M : K, 7);
	matrix(p, "B", PLAN_IN, type, tb ? N : K, tb ? K : N, 8);
	matrix(p, "C", PLAN_OUT, type, M, N, 6);
	*MEM_PUSH(p->ops, p->op_count) =
		(struct plan_op){ .kind = PLAN_OP_GEMM,
				  .gemm = { .a = 0, .b = 1, .c = 2, .a_transposed = ta, .b_transposed = tb, .tf32 = tf32 } };
	is_int(plan_check(p, &e), 0, "a plan of one product is consistent %s", e.text);
	gpu_address at[3];
	for (int i = 0; i < 3; i++) {
		uint8_t *bytes = mem_new(p->buffers[i].bytes, 1);
		size_t size = dtype_size(type);
		for (size_t x = 0; x < p->buffers[i].bytes / size; x++)
			dtype_store(type, bytes + x * size, sin((double)(x + 31 * (size_t)i)));
		at[i] = (gpu_address)(uintptr_t)bytes;
	}
	is_int(cuda_gemm_new(d, p, &g, &e), 0, "the library accepts the product %s", e.text);
	is_int(*compute, want_compute, "the library gets the permitted arithmetic");
	memset(calls, 0, 8 * sizeof *calls);
	is_int(cuda_gemm_search(g, at, &e), 0, "search the best algorithm %s", e.text);
	ok(calls[1] == 0 && calls[2] > calls[0] - 1 && calls[4] > 0, "every usable algorithm is timed");
	is_int(cuda_gemm_issue(g, at), 0, "issue the product");
	is_int(*last, 2, "the fastest algorithm runs");
	again(d, p, at);
	for (int64_t r = 0; r < M; r++)
		for (int64_t c = 0; c < N; c++) {
			double sum = 0;
			for (int64_t k = 0; k < K; k++)
				sum += dtype_load(type, (uint8_t *)(uintptr_t)at[0] +
								(size_t)(ta ? k * 7 + r : r * 7 + k) * dtype_size(type)) *
				       dtype_load(type, (uint8_t *)(uintptr_t)at[1] +
								(size_t)(tb ? c * 8 + k : k * 8 + c) * dtype_size(type));
			worst = fmax(worst, fabs(sum - dtype_load(type, (uint8_t *)(uintptr_t)at[2] +
										(size_t)(r * 6 + c) * dtype_size(type))));
		}
	ok(worst < 1e-5, "C = %s·%s (%g)", ta ? "Aᵀ" : "A", tb ? "Bᵀ" : "B", worst);
	cuda_gemm_free(g);
	is_int(*alive, 0, "every library object is freed");
	is_int(blocks, d->flush != 0, "every device buffer is freed");
	for (int i = 0; i < 3; i++)
		free((void *)(uintptr_t)at[i]);
	plan_free(p);
}

static void sums_stay_floats(struct backend_device *d, enum dtype type, uint32_t want)
{
	struct plan *p = plan_new();
	struct cuda_gemm *g = NULL;
	struct err e = ERR_INIT;
	for (int i = 0; i < 3; i++)
		matrix(p, (const char *const[]){ "A", "B", "C" }[i], i < 2 ? PLAN_IN : PLAN_OUT, type, 8, 8, 8);
	*MEM_PUSH(p->ops, p->op_count) = (struct plan_op){ .kind = PLAN_OP_GEMM, .gemm = { .a = 0, .b = 1, .c = 2 } };
	is_int(cuda_gemm_new(d, p, &g, &e), 0, "a product of %s is accepted %s", dtype_name(type), e.text);
	is_int(*schemes, want, "parts of a divided sum are added in float, never in %s", want == 7 ? "less" : dtype_name(type));
	cuda_gemm_free(g);
	plan_free(p);
}

static void refused(void)
{
	struct plan *p = plan_new();
	struct err e = ERR_INIT;
	matrix(p, "A", PLAN_IN, DTYPE_F32, 4, 4, 4);
	matrix(p, "B", PLAN_IN, DTYPE_F16, 4, 4, 4);
	matrix(p, "C", PLAN_OUT, DTYPE_F32, 4, 5, 5);
	*MEM_PUSH(p->ops, p->op_count) = (struct plan_op){ .kind = PLAN_OP_GEMM, .gemm = { .a = 0, .b = 1, .c = 2 } };
	ok(plan_check(p, &e) < 0 && strstr(e.text, "the same type"), "operands of two types are refused: %s", e.text);
	p->ops[0].gemm.b = 0;
	ok(plan_check(p, &e) < 0 && strstr(e.text, "does not give"), "extents that do not fit are refused: %s", e.text);
	p->ops[0].gemm.c = 0;
	ok(plan_check(p, &e) < 0, "a product into its own operand is refused");
	p->ops[0].gemm.c = 9;
	ok(plan_check(p, &e) < 0, "a missing buffer is refused");
	plan_free(p);
}

int main(void)
{
	char folder[] = "/tmp/peakd-blas-XXXXXX";
	struct backend_device d = { .api = { .memory_alloc = memory_alloc,
					     .memory_free = memory_free,
					     .memory_set = memory_set,
					     .event_record = event_record,
					     .event_elapsed = event_elapsed,
					     .stream_wait = stream_wait },
				    .flush_bytes = 1024 };
	struct plan_op op = { .kind = PLAN_OP_GEMM };
	struct plan one = { .ops = &op, .op_count = 1, .buffers = &(struct plan_buffer){ .rank = 2 }, .buffer_count = 1 };
	struct cuda_gemm *g = NULL;
	struct err e = ERR_INIT;
	ok(mkdtemp(folder) != NULL, "make a folder");
	setenv("PEAKD_CUDA_TOOLKIT", folder, 1);
	is_int(cuda_gemm_new(&d, &one, &g, &e), -ERR_UNSUPPORTED, "a product without the library is refused");
	has_str(e.text, "libcublas-13-0", "the message names the package");
	refused();
	char *lib = mem_fmt("%s/lib64", folder), *file = mem_fmt("%s/lib64/libcublasLt.so.13", folder);
	mkdir(lib, 0700);
	if (stub_build("LIB_BLAS", file)) {
		void *stub = dlopen(file, RTLD_NOW | RTLD_LOCAL);
		last = dlsym(stub, "stub_last");
		compute = dlsym(stub, "stub_compute");
		alive = dlsym(stub, "stub_alive");
		calls = dlsym(stub, "stub_calls");
		schemes = dlsym(stub, "stub_schemes");
		sums_stay_floats(&d, DTYPE_F16, 2);
		sums_stay_floats(&d, DTYPE_BF16, 2);
		sums_stay_floats(&d, DTYPE_F32, 7);
		for (int t = 0; t < 4; t++)
			product(&d, DTYPE_F32, t & 1, t & 2, false, 68);
		product(&d, DTYPE_F32, false, false, true, 77);
		product(&d, DTYPE_F64, true, false, false, 70);
		free((void *)(uintptr_t)d.flush);
		free(d.gemms);
	} else {
		SKIP(1, "no C compiler");
	}
	unlink(file);
	rmdir(lib);
	rmdir(folder);
	free(lib);
	free(file);
	return tap_done();
}

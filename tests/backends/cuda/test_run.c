/* The CUDA backend on a real device: results, times, limits, clusters, tensor maps and faults. Needs an NVIDIA GPU;
 * skipped, with the reason, without one. */
#include "backends/cuda/cuda.h"
#define PLANS_BACKEND backend_cuda
#include "backends/plans.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/cuda/api.h"
#include "backends/gpu/run.h"
#include "tap.h"

enum { NO_DEVICE = 77, CHILD_SECONDS = 120 };

/* Compiles for the opened device without checking any plan, and prepares `plan`. */
static int prepare(struct backend_device *d, const char *device_code, const struct plan *plan, struct wire_compiled *c,
                   struct backend_run **ret_run, struct err *e)
{
	int rc = compile(d->facts.arch, "", device_code, NULL, c, e);
	return rc ? rc : backend_cuda.prepare(d, c->binary, c->binary_len, plan, ret_run, e);
}

static float *random_floats(size_t n, unsigned seed)
{
	float *v = MEM_NEW_N(float, n);
	for (size_t i = 0; i < n; i++)
		v[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) / (float)(1 << 24) - 0.5f;
	return v;
}

/* --- a fault, in a child process ------------------------------------------------------------------------------------- */
static int fault_child(void)
{
	struct backend_device *d = NULL;
	struct backend_run *run = NULL;
	struct wire_compiled c;
	struct plan *p = small_plan("k", 1, 32);
	struct err e = ERR_INIT, again = ERR_INIT;
	uint64_t ns;
	float f;
	int rc;

	alarm(CHILD_SECONDS);
	if (backend_cuda.open(0, &d, &e))
		return NO_DEVICE;
	rc = prepare(d, "extern \"C\" __global__ void k(float *C) { *(float *)16 = C[0]; }", p, &c, &run, &e);
	if (rc) {
		fprintf(stderr, "# %s\n", e.text);
		return 1;
	}
	rc = backend_cuda.execute(run, 1, WIRE_WARM, &ns, &e);
	if (rc != -ERR_CRASH || !strstr(e.text, "700")) {
		fprintf(stderr, "# execute: %d %s\n", rc, e.text);
		return 2;
	}
	rc = backend_cuda.read(run, 0, 0, &f, sizeof f, &again);
	if (rc != -ERR_CRASH) {
		fprintf(stderr, "# read after the fault: %d %s\n", rc, again.text);
		return 3;
	}
	backend_cuda.release(run);
	backend_cuda.close(d);
	wire_compiled_fini(&c);
	plan_free(p);
	return 0;
}

/* Exit status of the child; CUDA does not survive fork, so this comes before the device is opened here. */
static int fault(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fault_child());
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* --- results and times -------------------------------------------------------------------------------------------------- */
static double worst_error(const float *A, const float *B, const float *C, int n)
{
	double worst = 0;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			double sum = 0, off;
			for (int k = 0; k < n; k++)
				sum += (double)A[i * n + k] * B[k * n + j];
			off = fabs(sum - C[i * n + j]);
			worst = off > worst || isnan(off) ? off : worst;
		}
	return worst;
}

static void results(struct backend_device *d)
{
	enum { N = 257 };
	size_t bytes = sizeof(float) * N * N;
	struct plan *p = matmul_plan(N, 16, 16);
	struct backend_run *run = NULL;
	struct wire_compiled c;
	struct err e;
	float *A = random_floats(N * N, 1), *B = random_floats(N * N, 2), *C = MEM_NEW_N(float, N * N);
	unsigned char *zone = mem_new(BACKEND_RED_ZONE, 1);
	int64_t zones[] = { -BACKEND_RED_ZONE, (int64_t)bytes };
	uint64_t ns = 0;
	bool whole = true;

	is_int(prepare(d, naive_matmul, p, &c, &run, &e), 0, "prepare a naive matmul (%s)", e.text);
	if (!run)
		goto out;
	memset(C, 0xff, bytes);
	memset(zone, 0xa5, BACKEND_RED_ZONE);
	is_int(backend_cuda.write(run, 0, 0, A, bytes, &e), 0, "write A");
	is_int(backend_cuda.write(run, 1, 0, B, bytes, &e), 0, "write B");
	is_int(backend_cuda.write(run, 2, 0, C, bytes, &e), 0, "poison C");
	for (size_t i = 0; i < MEM_COUNT(zones); i++)
		is_int(backend_cuda.write(run, 2, zones[i], zone, BACKEND_RED_ZONE, &e), 0, "write red zone %zu of C", i + 1);
	is_int(backend_cuda.execute(run, 1, WIRE_WARM, &ns, &e), 0, "execute it (%s)", e.text);
	ok(ns > 0, "its time is positive: %llu ns", (unsigned long long)ns);
	is_int(backend_cuda.read(run, 2, 0, C, bytes, &e), 0, "read C");
	ok(worst_error(A, B, C, N) < 1e-4, "C equals A·B (%g)", worst_error(A, B, C, N));
	for (size_t i = 0; i < MEM_COUNT(zones); i++) {
		memset(zone, 0, BACKEND_RED_ZONE);
		backend_cuda.read(run, 2, zones[i], zone, BACKEND_RED_ZONE, &e);
		for (size_t k = 0; k < BACKEND_RED_ZONE; k++)
			whole = whole && zone[k] == 0xa5;
	}
	ok(whole, "the red zones keep their bytes");
	is_int(backend_cuda.read(run, 2, -BACKEND_RED_ZONE - 1, zone, 1, &e), -ERR_INPUT, "a read before the red zone is refused");
	is_int(backend_cuda.write(run, 2, (int64_t)bytes, zone, BACKEND_RED_ZONE + 1, &e), -ERR_INPUT,
	       "a write behind the red zone is refused");
	backend_cuda.release(run);
out:
	wire_compiled_fini(&c);
	plan_free(p);
	free(A);
	free(B);
	free(C);
	free(zone);
}

static void times(struct backend_device *d)
{
	enum { N = 2048 };
	struct plan *p = matmul_plan(N, 16, 16), *empty = small_plan("k", 1, 32);
	struct backend_run *run = NULL;
	struct wire_compiled c;
	struct err e;
	uint64_t warm = 0, warm10 = 0, cold = 0, first = 0;

	is_int(prepare(d, naive_matmul, p, &c, &run, &e), 0, "prepare a matmul of %d (%s)", N, e.text);
	if (run) {
		double least_ns = 2.0 * N * N * N / d->facts.peak_f32 * 1e9;
		backend_cuda.execute(run, 1, WIRE_WARM, &first, &e);
		is_int(backend_cuda.execute(run, 1, WIRE_WARM, &warm, &e), 0, "execute it once");
		is_int(backend_cuda.execute(run, 10, WIRE_WARM, &warm10, &e), 0, "execute it ten times");
		is_int(backend_cuda.execute(run, 3, WIRE_COLD, &cold, &e), 0, "execute it cold (%s)", e.text);
		printf("# n=%d naive: first %.3f ms, warm %.3f, warm of 10 %.3f, cold %.3f; floor %.3f (%.1f TFLOP/s)\n", N,
		       (double)first / 1e6, (double)warm / 1e6, (double)warm10 / 1e6, (double)cold / 1e6, least_ns / 1e6,
		       d->facts.peak_f32 / 1e12);
		ok((double)warm10 > least_ns, "its time is above the device's floor");
		ok(warm10 < 2 * warm && warm < 2 * warm10, "the mean of ten executions is near the time of one");
		ok(cold < 3 * warm10 && 2 * cold > warm10,
		   "cold is near warm for a kernel of milliseconds: the flush is not timed");
		backend_cuda.release(run);
	}
	wire_compiled_fini(&c);
	run = NULL;
	is_int(prepare(d, "extern \"C\" __global__ void k(float *C) { }", empty, &c, &run, &e), 0, "prepare an empty kernel (%s)",
	       e.text);
	if (run) {
		backend_cuda.execute(run, 10, WIRE_WARM, &first, &e);
		backend_cuda.execute(run, 1000, WIRE_WARM, &warm, &e);
		backend_cuda.execute(run, 20, WIRE_COLD, &cold, &e);
		printf("# empty kernel: warm of 1000 %llu ns, cold %llu ns, first ten %llu ns each\n", (unsigned long long)warm,
		       (unsigned long long)cold, (unsigned long long)first);
		ok(warm > 0 && warm < 100000 && cold > 0 && cold < 100000, "an empty launch takes less than 0.1 ms");
		is_int(backend_cuda.execute(run, 0, WIRE_WARM, &warm, &e), -ERR_INPUT, "zero executions are refused");
		backend_cuda.release(run);
	}
	wire_compiled_fini(&c);
	plan_free(p);
	plan_free(empty);
}

/* Memset, copy, table and a scalar of every size in one plan. */
static void operations(struct backend_device *d)
{
	struct plan *p = plan_new();
	struct plan_launch *l;
	struct backend_run *run = NULL;
	struct wire_compiled c;
	struct err e;
	float *table = MEM_NEW_N(float, 64), got[64];
	uint64_t ns;
	bool good = true;

	for (int i = 0; i < 64; i++)
		table[i] = (float)(3 * i);
	add_buffer(p, "T", PLAN_TABLE, 1, 64);
	p->buffers[0].table = table;
	add_buffer(p, "X", PLAN_SCRATCH, 1, 64);
	add_buffer(p, "C", PLAN_OUT, 1, 64);
	*MEM_PUSH(p->ops, p->op_count) = (struct plan_op){ .kind = PLAN_OP_COPY, .copy = { .dst = 1, .src = 0, .bytes = 256 } };
	*MEM_PUSH(p->ops, p->op_count) =
		(struct plan_op){ .kind = PLAN_OP_MEMSET, .memset = { .buffer = 1, .offset = 4, .bytes = 4 } };
	l = add_launch(p, "k", 1, 1, 64, 1);
	add_buffer_arg(l, "X", 1);
	add_buffer_arg(l, "C", 2);
	add_int_arg(l, "a", DTYPE_I8, -3);
	add_int_arg(l, "b", DTYPE_U16, 40000);
	add_int_arg(l, "c", DTYPE_I64, INT64_C(-5000000000));
	*MEM_PUSH(l->args, l->arg_count) =
		(struct plan_arg){ .name = mem_str("f"), .kind = PLAN_ARG_SCALAR, .type = DTYPE_F32, .f = 0.5 };
	*MEM_PUSH(l->args, l->arg_count) =
		(struct plan_arg){ .name = mem_str("g"), .kind = PLAN_ARG_SCALAR, .type = DTYPE_F64, .f = 0.25 };
	is_int(prepare(d,
		       "extern \"C\" __global__ void k(const float *X, float *C, signed char a, unsigned short b, long long c, "
		       "float f, double g) {\n"
		       "	C[threadIdx.x] = X[threadIdx.x] + a + b + (c == -5000000000ll ? f : 1000) + g; }",
		       p, &c, &run, &e),
	       0, "prepare a plan with copy, memset, table and scalars (%s)", e.text);
	if (run) {
		is_int(backend_cuda.execute(run, 1, WIRE_WARM, &ns, &e), 0, "execute it (%s)", e.text);
		backend_cuda.read(run, 2, 0, got, sizeof got, &e);
		for (int i = 0; i < 64; i++)
			good = good && got[i] == (i == 1 ? 0 : table[i]) - 3 + 40000 + 0.75f;
		ok(good, "copy, memset, table and scalars reach the kernel (%g, %g)", got[1], got[2]);
		backend_cuda.release(run);
	}
	wire_compiled_fini(&c);
	plan_free(p);
}

/* --- limits ----------------------------------------------------------------------------------------------------------- */
static const char plain[] = "extern \"C\" __global__ void k(float *C) { C[threadIdx.x & 31] = 1; }";

static void refused(struct backend_device *d, const char *what, const char *code, struct plan *take_plan, enum err_code want,
                    const char *part)
{
	struct backend_run *run = NULL;
	struct wire_compiled c;
	struct err e;

	is_int(prepare(d, code, take_plan, &c, &run, &e), -(int)want, "%s: %s", what, err_code_name(want));
	has_str(e.text, part, "%s: the message names it", what);
	ok(run == NULL, "%s: no run is returned", what);
	backend_cuda.release(run);
	wire_compiled_fini(&c);
	plan_free(take_plan);
}

static void limits(struct backend_device *d)
{
	struct plan *p;
	struct backend_run *run = NULL;
	struct wire_compiled c;
	struct err e;

	refused(d, "threads", plain, small_plan("k", 1, 2048), ERR_PRUNED, "2048");
	refused(d, "missing kernel", plain, small_plan("other", 1, 32), ERR_INPUT, "it has: k");
	p = small_plan("k", 1, 32);
	p->ops[0].launch.shared = d->facts.shared_optin + 16;
	refused(d, "shared memory", plain, p, ERR_PRUNED, "shared memory");
	p = small_plan("k", 1, 32);
	p->ops[0].launch.grid[1] = 65536;
	refused(d, "grid", plain, p, ERR_PRUNED, "65535");
	p = small_plan("k", 1u << 20, 1024);
	p->ops[0].launch.cooperative = true;
	refused(d, "cooperative grid", plain, p, ERR_PRUNED, "at once");
	p = small_plan("k", 64, 32);
	p->ops[0].launch.cluster[0] = 32;
	refused(d, "cluster", plain, p, ERR_PRUNED, "a cluster of 32 blocks");
	p = small_plan("k", 1, 32);
	p->buffers[0].bytes = UINT64_C(1) << 42;
	refused(d, "memory", plain, p, ERR_PRUNED, "does not fit");

	p = small_plan("k", 1, 32);
	is_int(compile(strcmp(d->facts.arch, "sm_75") == 0 ? "sm_80" : "sm_75", "", plain, p, &c, &e), 0,
	       "compile for another architecture (%s)", e.text);
	is_int(backend_cuda.prepare(d, c.binary, c.binary_len, p, &run, &e), -ERR_INPUT,
	       "a binary of another architecture is refused");
	has_str(e.text, "another architecture", "the message says why");
	wire_compiled_fini(&c);
	plan_free(p);
}

/* --- the driver and object.c read the same from a binary ---------------------------------------------------------------- */
static void driver_agrees(struct backend_device *d)
{
	static const char code[] =
		"extern \"C\" __global__ void __launch_bounds__(96) k(float *C, short a, double b) {\n"
		"	__shared__ float t[333]; float v[100]; for (int i = 0; i < 100; i++) v[i] = C[i + a];\n"
		"	t[threadIdx.x] = v[(int)C[threadIdx.x]]; __syncthreads(); C[threadIdx.x] = t[95 - threadIdx.x] * b; }";
	static const char plenty[] = "extern \"C\" __global__ void k(float *C) {\n	float v[160];\n#pragma unroll\n"
				     "	for (int i = 0; i < 160; i++) v[i] = C[i * 1024 + threadIdx.x];\n"
				     "	__syncthreads();\n#pragma unroll\n"
				     "	for (int i = 0; i < 160; i++) C[(i * 7 % 160) * 1024 + threadIdx.x] = v[i] * v[159 - i] + "
				     "v[(i * 5) % 160];\n}\n";
	const char *const codes[] = { code, plenty };
	const struct gpu_driver *cu = &d->api;

	for (size_t n = 0; n < MEM_COUNT(codes); n++) {
		struct gpu_module cubin = { .kernels = NULL };
		struct wire_compiled c;
		gpu_function f = NULL;
		gpu_library m = NULL;
		struct err e;
		int registers = 0, shared = 0, local = 0, threads = 0;
		bool same = true;

		is_int(compile(d->facts.arch, "", codes[n], NULL, &c, &e), 0, "compile binary %zu (%s)", n + 1, e.text);
		is_int(cuda_object_read(c.binary, c.binary_len, NULL, &cubin, &e), 0, "read its kernels");
		is_int(cu->module_load(&m, c.binary), 0, "load it");
		is_int(cu->module_function(&f, m, "k"), 0, "find its kernel");
		cu->function_attribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, f);
		cu->function_attribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f);
		cu->function_attribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, f);
		cu->function_attribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f);
		is_int(registers, cubin.kernels[0].registers, "registers are those that the driver reports");
		is_int(shared, cubin.kernels[0].shared, "static shared memory is what the driver reports");
		is_int(local, cubin.kernels[0].local, "local memory is what the driver reports");
		is_int(threads, c.kernels[0].max_threads, "threads per block are those that the driver allows");
		for (size_t i = 0; cu->function_parameter && i < cubin.kernels[0].param_count; i++) {
			size_t offset = 0, bytes = 0;
			same = same && cu->function_parameter(f, i, &offset, &bytes) == 0 &&
			       bytes == cubin.kernels[0].params[i].bytes && offset == cubin.kernels[0].params[i].offset;
		}
		ok(same, "parameters are those that the driver reports");
		cu->module_unload(m);
		gpu_module_fini(&cubin);
		wire_compiled_fini(&c);
	}
}

/* --- Hopper and later --------------------------------------------------------------------------------------------------- */
static void clusters(struct backend_device *d, uint32_t size)
{
	struct plan *p = small_plan("k", 2 * size, 32);
	struct backend_run *run = NULL;
	struct wire_compiled c;
	struct err e;
	float got[64];
	uint64_t ns;
	bool good = true;

	p->ops[0].launch.cluster[0] = size;
	p->ops[0].launch.shared = 100000;
	is_int(prepare(d,
		       "extern \"C\" __global__ void k(float *C) { unsigned rank, n; extern __shared__ float s[]; s[24000] = 7;\n"
		       "	asm(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(rank)); asm(\"mov.u32 %0, %%cluster_nctarank;\" : "
		       "\"=r\"(n));\n"
		       "	C[blockIdx.x] = rank + 100 * n + s[24000]; }",
		       p, &c, &run, &e),
	       0, "prepare clusters of %u with 100000 bytes of dynamic shared memory (%s)", size, e.text);
	if (run) {
		is_int(backend_cuda.execute(run, 1, WIRE_WARM, &ns, &e), 0, "run (%s)", e.text);
		backend_cuda.read(run, 0, 0, got, 2 * size * sizeof(float), &e);
		for (uint32_t i = 0; i < 2 * size; i++)
			good = good && got[i] == (float)(i % size + 100 * size + 7);
		ok(good, "every block has its rank in the cluster");
		backend_cuda.release(run);
	}
	wire_compiled_fini(&c);
	plan_free(p);
}

static const char tma[] =
	"#include <cuda.h>\n"
	"extern \"C\" __global__ void k(const __grid_constant__ CUtensorMap map, float *C) {\n"
	"	__shared__ alignas(128) float tile[16 * 32]; __shared__ alignas(8) unsigned long long full;\n"
	"	unsigned to = (unsigned)__cvta_generic_to_shared(tile), bar = (unsigned)__cvta_generic_to_shared(&full);\n"
	"	if (threadIdx.x == 0) {\n"
	"		asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(bar));\n"
	"		asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
	"		asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" :: \"r\"(bar), \"r\"(2048) : "
	"\"memory\");\n"
	"		asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
	"%3}], [%4];\"\n"
	"			:: \"r\"(to), \"l\"(&map), \"r\"(48), \"r\"(16), \"r\"(bar) : \"memory\");\n"
	"	}\n"
	"	__syncthreads();\n"
	"	unsigned done = 0;\n"
	"	while (!done) asm volatile(\"{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, "
	"0, p; }\"\n"
	"		: \"=r\"(done) : \"r\"(bar) : \"memory\");\n"
	"	for (int r = 0; r < 16; r++) C[r * 32 + threadIdx.x] = tile[r * 32 + threadIdx.x];\n"
	"}\n";

/* A 16×32 tile at row 16, column 48 of a 32×64 matrix: its right half lies outside and reads as zero. */
static void tensor_map(struct backend_device *d)
{
	struct plan *p = plan_new();
	struct plan_launch *l;
	struct backend_run *run = NULL;
	struct wire_compiled c;
	struct err e;
	float *A = random_floats(32 * 64, 3), got[16 * 32];
	uint64_t ns;
	bool good = true;

	add_buffer(p, "A", PLAN_IN, 32, 64);
	add_buffer(p, "C", PLAN_OUT, 16, 32);
	*MEM_PUSH(p->maps, p->map_count) = (struct plan_map){
		.buffer = 0, .type = DTYPE_F32, .rank = 2, .dims = { 64, 32 }, .strides = { 0, 256 }, .box = { 32, 16 } };
	l = add_launch(p, "k", 1, 1, 32, 1);
	add_map_arg(l, 0);
	add_buffer_arg(l, "C", 1);
	is_int(prepare(d, tma, p, &c, &run, &e), 0, "prepare a plan with a tensor map (%s)", e.text);
	if (run) {
		backend_cuda.write(run, 0, 0, A, sizeof(float) * 32 * 64, &e);
		is_int(backend_cuda.execute(run, 1, WIRE_WARM, &ns, &e), 0, "execute a bulk tensor load (%s)", e.text);
		backend_cuda.read(run, 1, 0, got, sizeof got, &e);
		for (int r = 0; r < 16; r++)
			for (int i = 0; i < 32; i++)
				good = good && got[r * 32 + i] == (i < 16 ? A[(16 + r) * 64 + 48 + i] : 0);
		ok(good, "it loads the tile, and zeros from outside");
		backend_cuda.release(run);
		run = NULL;
	}
	p->maps[0].box[0] = 512;
	is_int(backend_cuda.prepare(d, c.binary, c.binary_len, p, &run, &e), -ERR_PRUNED, "a tensor map that the device refuses");
	has_str(e.text, "box dims 1 to 256", "the message lists the rules");
	wire_compiled_fini(&c);
	plan_free(p);
	free(A);
}

static void facts(void)
{
	struct facts *list = NULL;
	size_t count = 0;
	struct err e = ERR_INIT;

	is_int(backend_cuda.devices(&list, &count, &e), 0, "list the devices (%s)", e.text);
	for (size_t i = 0; i < count; i++)
		printf("# %s: %s, %s, %s, %s; %u units at %u kHz, %u shared (%u opt-in), %u registers, cluster %u, L2 %llu, memory "
		       "%llu, peaks: fp32 %.1f, "
		       "f16 %.1f, tf32 %.1f TFLOP/s, %.2f TB/s\n",
		       list[i].id, list[i].name, list[i].arch, list[i].uuid, list[i].driver, list[i].units, list[i].clock_khz,
		       list[i].shared_static, list[i].shared_optin, list[i].registers, list[i].max_cluster,
		       (unsigned long long)list[i].l2_bytes, (unsigned long long)list[i].memory_bytes, list[i].peak_f32 / 1e12,
		       list[i].peak_tensor_f16 / 1e12, list[i].peak_tensor_tf32 / 1e12, list[i].peak_bytes / 1e12);
	ok(count > 0 && list[0].runs && list[0].units > 0 && list[0].peak_f32 > 0, "a device has its facts");
	free(list);
}

int main(void)
{
	struct backend_device *d = NULL;
	struct err e = ERR_INIT;
	int status = fault();

	if (backend_cuda.open(0, &d, &e)) {
		SKIP(1, "no device: %.300s", e.text);
		return tap_done();
	}
	is_int(status, 0, "an illegal address crashes only its own process");
	facts();
	results(d);
	times(d);
	operations(d);
	limits(d);
	driver_agrees(d);
	if (d->facts.max_cluster > 1) {
		clusters(d, 2);
		clusters(d, d->facts.max_cluster);
		tensor_map(d);
	} else {
		SKIP(3, "%s has no clusters and tensor maps", d->facts.name);
	}
	backend_cuda.close(d);
	return tap_done();
}

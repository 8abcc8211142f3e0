/* Timing on a real device: rotated buffers against a flushed cache, comparisons, energy, NVML, the ceilings, and
 * cuBLASLt. Needs an NVIDIA GPU; skipped, with the reason, where there is none. What it prints is what the device
 * can do. */
#include "backends/cuda/cuda.h"
#define PLANS_BACKEND backend_cuda
#include "backends/plans.h"

#include <math.h>

#include "backends/timing/ceilings.h"
#include "backends/gpu/run.h"
#include "backends/worker/runs.h"
#include "base/clock.h"
#include "tap.h"

struct bench {
	struct backend_device *device; /* owned by runs, as is the monitor */
	struct gpu_monitor *monitor;
	struct runs *runs;
};

static const struct wire_measure quoting = { .min_samples = 10, .max_samples = 40, .rse = 0.004, .cap_ns = UINT64_C(1000000000),
                                             .warm_up_ns = UINT64_C(100000000) };
static const struct wire_pair pairing = { .min_pairs = 10, .max_pairs = 100, .margin = 0.01, .floor_ns = 200, .confidence = 0.95,
					  .width = 0.005, .cap_ns = UINT64_C(1500000000), .warm_up_ns = UINT64_C(100000000),
					  .cold = 1 };

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Nanoseconds; 0 when it could not be timed. */
static double median(struct bench *b, uint32_t r, enum wire_cache cache)
{
	struct wire_measure m = quoting;
	struct wire_measured out;
	struct err e = ERR_INIT;
	m.run = r;
	m.cache = cache;
	if (runs_serve(b->runs, WIRE_MEASURE, &m, &out, &e) < 0) {
		printf("# %s\n", e.text);
		return 0;
	}
	qsort(out.samples, out.sample_count, sizeof *out.samples, ascending);
	double ns = (double)out.samples[out.sample_count / 2];
	wire_measured_fini(&out);
	return ns;
}

/* Takes the plan. The number of the run; 0 when it cannot be prepared. */
static uint32_t load(struct bench *b, const char *code, struct plan *take_plan)
{
	struct wire_compiled c = { .binary = NULL };
	struct wire_prepared prepared = { .run = 0 };
	struct err e = ERR_INIT;
	int rc = code ? compile(b->device->facts.arch, "", code, take_plan, &c, &e) : 0;
	struct wire_prepare m = { .binary = c.binary, .binary_len = c.binary_len, .plan = take_plan };
	if (rc == 0)
		rc = runs_serve(b->runs, WIRE_PREPARE, &m, &prepared, &e);
	wire_prepare_fini(&m);
	ok(rc == 0, "a plan is prepared %s", e.text);
	wire_compiled_fini(&c);
	return prepared.run;
}

static void release(struct bench *b, uint32_t r)
{
	if (r)
		runs_serve(b->runs, WIRE_RELEASE, &(struct wire_release){ .run = r }, NULL, NULL);
}

static int pair(struct bench *b, uint32_t first, uint32_t second, struct wire_paired *ret_paired, struct err *e)
{
	struct wire_pair m = pairing;
	m.a = first;
	m.b = second;
	return runs_serve(b->runs, WIRE_PAIR, &m, ret_paired, e);
}

static void nvml(struct bench *b)
{
	struct wire_condition c = gpu_monitor_look(b->monitor);
	uint64_t mj = 0;
	is_str(gpu_monitor_note(b->monitor), "", "NVML monitors the device");
	printf("# core %u MHz, memory %u MHz, %.1f W, %u C, throttle %#x, other load %u, disturbed %u\n", c.core_mhz, c.memory_mhz,
	       c.milliwatts / 1e3, c.celsius, c.throttle, c.foreign, c.disturbed);
	ok(c.core_mhz > 100 && c.milliwatts > 5000 && c.celsius > 10 && c.celsius < 110,
	   "clocks, power and temperature are plausible");
	ok(gpu_monitor_energy(b->monitor, &mj) && mj > 0, "the energy counter is read");
	int64_t start = clock_now();
	for (int i = 0; i < 20; i++) {
		gpu_monitor_begin(b->monitor, false);
		gpu_monitor_look(b->monitor);
	}
	printf("# one look with other processes costs %.2f ms\n", (double)(clock_now() - start) / 20e6);
}

static void ceilings(struct bench *b)
{
	struct wire_ceilings list;
	const struct facts *f = &b->device->facts;
	ceilings_list(cuda_ceilings, &(struct wire_target){ .arch = (char *)f->arch, .units = f->units }, &list);
	for (size_t i = 0; i < list.count; i++) {
		struct wire_ceiling *c = &list.at[i];
		uint32_t r = load(b, c->device, c->plan);
		c->plan = NULL;
		double ns = r ? median(b, r, WIRE_HOT) : 0, speed = ns > 0 ? c->work / ns * 1e9 : 0;
		printf("# ceiling %s: %.2f T%s/s (%.3f ms)\n", c->name, speed / 1e12, c->unit, ns / 1e6);
		ok(speed > (strcmp(c->unit, "launch") == 0 ? 1e4 : 1e11), "%s has a speed: %g %s/s", c->name, speed, c->unit);
		if (strcmp(c->name, "f32") == 0 && f->peak_f32 > 0)
			ok(speed < 1.01 * f->peak_f32 && speed > 0.7 * f->peak_f32, "f32 is near and below the theoretical %.1f",
			   f->peak_f32 / 1e12);
		if (strcmp(c->name, "tensor.f16") == 0 && f->peak_tensor_f16 > 0)
			ok(speed < 1.01 * f->peak_tensor_f16, "tensor.f16 is below the theoretical %.1f",
			   f->peak_tensor_f16 / 1e12);
		release(b, r);
	}
	wire_ceilings_fini(&list);
}

/* --- the library ---------------------------------------------------------------------------------------------------- */

static void matrix(struct plan *p, const char *name, enum plan_role role, enum dtype type, int64_t rows, int64_t columns)
{
	*MEM_PUSH(p->buffers, p->buffer_count) = (struct plan_buffer){
		.name = mem_str(name), .type = type, .role = role, .rank = 2, .dims = { rows, columns }, .ld = columns,
		.bytes = (uint64_t)(rows * columns) * dtype_size(type), .fill = PLAN_RANDOM, .lo = -1, .hi = 1 };
}

static struct plan *gemm_plan(enum dtype type, int64_t m, int64_t n, int64_t k, bool ta, bool tb)
{
	struct plan *p = plan_new();
	matrix(p, "A", PLAN_IN, type, ta ? k : m, ta ? m : k);
	matrix(p, "B", PLAN_IN, type, tb ? n : k, tb ? k : n);
	matrix(p, "C", PLAN_OUT, type, m, n);
	*MEM_PUSH(p->ops, p->op_count) =
		(struct plan_op){ .kind = PLAN_OP_GEMM,
				  .gemm = { .a = 0, .b = 1, .c = 2, .a_transposed = ta, .b_transposed = tb } };
	return p;
}

/* Some elements against sums in double precision, with inputs that are written here. */
static double worst(struct bench *b, enum dtype type, int64_t m, int64_t n, int64_t k, bool ta, bool tb)
{
	struct plan *p = gemm_plan(type, m, n, k, ta, tb);
	struct backend_run *r = NULL;
	struct err e = ERR_INIT;
	size_t size = dtype_size(type), count[] = { (size_t)(m * k), (size_t)(k * n), (size_t)(m * n) };
	uint8_t *data[3];
	uint64_t ns;
	double off = 0;
	unsigned seed = 7;
	for (int i = 0; i < 3; i++) {
		data[i] = mem_new(count[i], size);
		for (size_t x = 0; x < count[i]; x++)
			dtype_store(type, data[i] + x * size, (double)((seed = seed * 1664525u + 1013904223u) >> 20) / 4096 - 0.5);
	}
	int rc = backend_cuda.prepare(b->device, NULL, 0, p, &r, &e);
	for (unsigned i = 0; i < 2 && rc == 0; i++)
		rc = backend_cuda.write(r, i, 0, data[i], count[i] * size, &e);
	if (rc == 0)
		rc = backend_cuda.execute(r, 1, WIRE_WARM, &ns, &e);
	if (rc == 0)
		rc = backend_cuda.read(r, 2, 0, data[2], count[2] * size, &e);
	for (int64_t x = 0; x < m * n && rc == 0; x += 97) {
		double sum = 0;
		for (int64_t i = 0; i < k; i++) {
			int64_t row = x / n, column = x % n;
			sum += dtype_load(type, data[0] + (size_t)(ta ? i * m + row : row * k + i) * size) *
			       dtype_load(type, data[1] + (size_t)(tb ? column * k + i : i * n + column) * size);
		}
		off = fmax(off, fabs(sum - dtype_load(type, data[2] + (size_t)x * size)));
	}
	if (rc < 0)
		printf("# %s\n", e.text);
	backend_cuda.release(r);
	plan_free(p);
	for (int i = 0; i < 3; i++)
		free(data[i]);
	return rc < 0 ? INFINITY : off;
}

static void library_is_right(struct bench *b)
{
	for (int t = 0; t < 4; t++) {
		double off = worst(b, DTYPE_F32, 96, 160, 224, t & 1, t & 2);
		ok(off < 1e-4, "f32, 96 x 160 x 224%s%s: within %g", t & 1 ? ", A transposed" : "", t & 2 ? ", B transposed" : "",
		   off);
	}
	double off = worst(b, DTYPE_F16, 128, 64, 1024, false, false);
	ok(off < 0.02, "f16: within %g", off);
	off = worst(b, DTYPE_BF16, 128, 64, 256, false, true);
	ok(off < 0.2, "bf16: within %g", off);
	off = worst(b, DTYPE_F64, 64, 64, 64, true, false);
	ok(off < 1e-12, "f64: within %g", off);
}

static void library(struct bench *b, enum dtype type, int64_t n)
{
	int64_t start = clock_now();
	uint32_t r = load(b, NULL, gemm_plan(type, n, n, n, false, false)),
		 again = load(b, NULL, gemm_plan(type, n, n, n, false, false));
	if (r && again) {
		double cold = median(b, r, WIRE_COLD), warm = median(b, r, WIRE_HOT),
		       flops = 2.0 * (double)n * (double)n * (double)n;
		printf("# cuBLASLt %s n=%lld: cold %.4f ms (%.1f TFLOP/s), warm %.4f ms (%.1f TFLOP/s), all in %.2f s\n",
		       dtype_name(type), (long long)n, cold / 1e6, flops / cold / 1e3, warm / 1e6, flops / warm / 1e3,
		       (double)(clock_now() - start) / 1e9);
		ok(cold > 0 && warm > 0, "the library is timed cold and warm");
		struct wire_paired p;
		struct err e = ERR_INIT;
		int rc = pair(b, r, again, &p, &e);
		ok(rc == 0, "compare the library with itself %s", e.text);
		if (rc == 0) {
			printf("# ratio %.4f (%.4f to %.4f), %zu pairs, verdict %d, %u discarded, disturbed %u\n", p.ratio, p.low,
			       p.high, p.pair_count, p.verdict, p.discarded, p.disturbed);
			printf("# core %u MHz, %.0f W, %u C, throttle %#x\n", p.conditions[p.pair_count - 1].core_mhz,
			       p.conditions[p.pair_count - 1].milliwatts / 1e3, p.conditions[p.pair_count - 1].celsius,
			       p.conditions[p.pair_count - 1].throttle);
			wire_paired_fini(&p);
		}
	}
	release(b, r);
	release(b, again);
}

/* --- comparisons ---------------------------------------------------------------------------------------------------- */

static const char loops[] =
	"extern \"C\" __global__ void loop(float *C, int n)\n{\n"
	"	int at = (blockIdx.x * blockDim.x + threadIdx.x) % 1024;\n"
	"	float x = threadIdx.x * 1e-3f, y = 0.5f;\n"
	"	for (int i = 0; i < n; i++) y = y * x + 0.25f;\n"
	"	C[at] = y;\n}\n";

static struct plan *loop_plan(int64_t steps)
{
	struct plan *p = plan_new();
	add_buffer(p, "C", PLAN_OUT, 1, 1024);
	struct plan_launch *l = add_launch(p, "loop", 132 * 8, 1, 256, 1);
	add_buffer_arg(l, "C", 0);
	add_int_arg(l, "n", DTYPE_I32, steps);
	return p;
}

/* Of 9.5 us, 400 steps take 4.1 on an H200 that shares its host with others, the launch the rest. What can be told
 * apart there is 0.2 us: 56 steps more make 6 % of the whole. */
static void compare(struct bench *b, int64_t steps, int64_t extra)
{
	uint32_t a = load(b, loops, loop_plan(steps)), same = load(b, loops, loop_plan(steps)),
	           more = load(b, loops, loop_plan(steps + extra));
	int said[2][4] = { { 0 } };
	int64_t start = clock_now();
	for (int i = 0; i < 20 && a && same && more; i++) {
		struct wire_paired p;
		struct err e = ERR_INIT;
		if (pair(b, a, i % 2 ? more : same, &p, &e) < 0) {
			printf("# %s\n", e.text);
			continue;
		}
		if (i < 6)
			printf("# %s: ratio %.4f (%.4f to %.4f), %zu pairs of %llu ns\n", i % 2 ? "more" : "itself", p.ratio, p.low,
			       p.high, p.pair_count, (unsigned long long)p.a_ns[0]);
		said[i % 2][p.verdict]++;
		wire_paired_fini(&p);
	}
	printf("# 20 comparisons in %.2f s\n", (double)(clock_now() - start) / 1e9);
	ok(said[0][WIRE_SAME] >= 9 && said[0][WIRE_FASTER] + said[0][WIRE_SLOWER] == 0,
	   "a kernel compared with itself is the same %d of 10 times", said[0][WIRE_SAME]);
	ok(said[1][WIRE_SLOWER] >= 9, "%lld steps more are slower %d of 10 times", (long long)extra, said[1][WIRE_SLOWER]);
	release(b, a);
	release(b, same);
	release(b, more);
}

static void energy(struct bench *b)
{
	uint32_t r = load(b, naive_matmul, matmul_plan(2048, 16, 16));
	struct wire_energy m = { .run = r, .min_ns = UINT64_C(1000000000) };
	struct wire_energised x;
	struct err e = ERR_INIT;
	if (!r)
		return;
	is_int(runs_serve(b->runs, WIRE_ENERGY, &m, &x, &e), 0, "energy %s", e.text);
	printf("# naive matmul of 2048: %.2f J in %.3f s over %llu executions: %.4f J each, %.0f W; %s\n", x.joules, x.seconds,
	       (unsigned long long)x.executions, x.joules / (double)x.executions, x.joules / x.seconds, x.note);
	ok(x.joules / x.seconds > 50 && x.joules / x.seconds < 1500, "the power is plausible");
	wire_energised_fini(&x);
	release(b, r);
}

/* Rotated sets and a flushed cache give the same figure. */
static void cold(struct bench *b)
{
	static const uint32_t sizes[] = { 1024, 2048 };
	for (size_t i = 0; i < MEM_COUNT(sizes); i++) {
		struct plan *p = matmul_plan(sizes[i], 16, 16);
		bool rotates;
		unsigned sets = gpu_run_sets_wanted(b->device, p, WIRE_COLD, &rotates);
		uint32_t r = load(b, naive_matmul, p);
		double f = median(b, r, WIRE_FLUSHED), c = median(b, r, WIRE_COLD), w = median(b, r, WIRE_HOT);
		printf("# naive matmul of %u: %u sets, flushed %.4f ms, cold %.4f ms, warm %.4f ms\n", sizes[i], sets, f / 1e6,
		       c / 1e6, w / 1e6);
		ok(c > 0.9 * w && c < 1.5 * w, "cold is near warm for so much arithmetic");
		ok(f > 0.9 * w && f < 1.5 * w, "flushed is near warm too");
		release(b, r);
	}
}

int main(void)
{
	struct bench b = { .device = NULL };
	struct err e = ERR_INIT;
	if (backend_cuda.open(0, &b.device, &e) < 0) {
		SKIP(1, "%.200s", e.text);
		return tap_done();
	}
	b.monitor = gpu_monitor_new(backend_cuda.monitor, "cuda", b.device->facts.uuid);
	b.runs = runs_new(&backend_cuda, b.device, b.monitor, false);
	printf("# %s, %s, L2 %llu bytes\n", b.device->facts.name, b.device->facts.driver,
	       (unsigned long long)b.device->facts.l2_bytes);
	nvml(&b);
	library_is_right(&b);
	library(&b, DTYPE_F32, 2048);
	library(&b, DTYPE_F32, 4096);
	library(&b, DTYPE_F16, 2048);
	library(&b, DTYPE_F16, 4096);
	compare(&b, 20000, 600);
	compare(&b, 400, 56);
	cold(&b);
	energy(&b);
	ceilings(&b);
	runs_free(b.runs);
	return tap_done();
}

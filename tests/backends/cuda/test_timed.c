/* Timing on a real NVIDIA device: what a timed execution finds of earlier ones, whether kernels that keep results in shared
 * memory show themselves, and what resets cost. The same on any machine, without times: tests/backends/cuda/test_record.c. */
#include "backends/sample_plan.h"
#include "backends/sample_worker.h"
#include "tap.h"

enum { N = 1 << 16, SEEN = 8, BLOCKS = 4096 };

/* As in tests/backends/worker/test_timed.c. seen: the output, the scratch, threads that found another execution's mark in shared
 * memory, inout, and the mark of this one. Neither our own patterns nor zeros, which some drivers leave there, are such marks. */
static const char peek[] =
	"extern \"C\" __global__ void peek(const unsigned *A, float *X, unsigned *C, unsigned *S, unsigned *seen)\n"
	"{\n"
	"	__shared__ unsigned all[USE * 256];\n"
	"	volatile unsigned *memory = all;\n"
	"	unsigned lane = threadIdx.x, mark = A[0], found = memory[USE * lane];\n"
	"	if (found != mark && found != 0x5a5a5a5a && found != 0xdadadada && found != 0) { atomicAdd(&seen[2], 1); seen[5] = "
	"found; }\n"
	"	if (blockIdx.x == 0 && lane == 0) {\n"
	"		seen[0] = C[0];\n"
	"		seen[1] = S[65535];\n"
	"		seen[3] = __float_as_uint(X[0]);\n"
	"		seen[4] = mark;\n"
	"		C[0] = 1;\n"
	"		S[65535] = 1;\n"
	"		X[0] += 1;\n"
	"	}\n"
	"	__syncthreads();\n"
	"	memory[USE * lane] = mark;\n"
	"}\n";

/* A block whose shared memory holds the mark of these inputs skips its work, where USE is 1. */
static const char keep[] = "extern \"C\" __global__ void keep(const unsigned *A, float *C)\n"
			   "{\n"
			   "	__shared__ unsigned all[12000];\n"
			   "	volatile unsigned *memory = all;\n"
			   "	unsigned mark = A[0] ^ A[777], i = blockIdx.x * blockDim.x + threadIdx.x;\n"
			   "	bool done = memory[0] == mark && memory[1] == ~mark;\n"
			   "	__syncthreads();\n"
			   "	float x = __uint_as_float(A[i % 65536]);\n"
			   "	if (!(done && USE))\n"
			   "		for (int k = 0; k < 20000; k++) x = x * 0.999f + 0.001f;\n"
			   "	if (threadIdx.x < 2) memory[threadIdx.x] = threadIdx.x ? ~mark : mark;\n"
			   "	C[i % 65536] = x;\n"
			   "}\n";

static const char copy[] = "extern \"C\" __global__ void copy(const float4 *A, float4 *C, int n)\n"
			   "{\n"
			   "	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
			   "	if (i < n) C[i] = A[i];\n"
			   "}\n";

static int load(struct sample_worker *w, const char *arch, const char *device, const char *use, struct plan *plan, struct err *e)
{
	struct wire_define define = { .name = (char *)"USE", .value = (char *)(uintptr_t)use };
	struct wire_compile c = { .backend = (char *)"cuda", .arch = (char *)(uintptr_t)arch, .macros = (char *)"",
				  .device = (char *)(uintptr_t)device, .defines = &define, .define_count = 1, .plan = plan };
	struct wire_compiled binary;
	struct wire_prepared prepared = { .run = 0 };
	int r = sample_compile(w, &c, &binary, e);
	if (r == 0) {
		struct wire_prepare p = { .binary = binary.binary, .binary_len = binary.binary_len, .plan = plan };
		r = sample_prepare(w, &p, &prepared, e);
		wire_compiled_fini(&binary);
	}
	return r < 0 ? r : (int)prepared.run;
}

static struct plan *plan_of(const char *kernel, uint32_t blocks, uint32_t threads, const char *const *names,
			    const enum plan_role *roles, unsigned count, int64_t n)
{
	struct plan *p = plan_new();
	for (unsigned i = 0; i < count; i++)
		sample_matrix(p, names[i], roles[i], 1, i == 4 ? SEEN : n);
	if (count > 4)
		*MEM_PUSH(p->ops, p->op_count) =
			(struct plan_op){ .kind = PLAN_OP_MEMSET, .memset = { .buffer = 4, .bytes = SEEN * 4, .value = 0 } };
	struct plan_launch *l = sample_launch(p, kernel, blocks, 1, threads, 1);
	for (unsigned i = 0; i < count; i++)
		sample_arg_buffer(l, names[i], i);
	return p;
}

static const char *const names[] = { "A", "X", "C", "S", "seen" };
static const enum plan_role roles[] = { PLAN_IN, PLAN_INOUT, PLAN_OUT, PLAN_SCRATCH, PLAN_OUT };
static const char *const two[] = { "A", "C" };
static const enum plan_role in_out[] = { PLAN_IN, PLAN_OUT };

static void execute(struct sample_worker *w, int run)
{
	struct wire_execute m = { .run = (uint32_t)run, .seed = 11, .poison = 0xFF };
	struct wire_executed x;
	struct err e = ERR_INIT;
	is_int(sample_execute(w, &m, &x, &e), 0, "it executes: %s", e.text);
}

static void look(struct sample_worker *w, int run, uint64_t seed, const char *how)
{
	struct wire_execute m = { .run = (uint32_t)run, .seed = seed, .keep = WIRE_LOOK };
	struct wire_executed x;
	struct err e = ERR_INIT;
	struct wire_frame f = { .len = 0 };
	struct buf body = BUF_INIT;
	uint32_t seen[SEEN] = { 0 };
	is_int(sample_execute(w, &m, &x, &e), 0, "%s: what a timed execution left can be looked at: %s", how, e.text);
	wire_output_encode(&(struct wire_output){ .run = (uint32_t)run, .output = 2 }, &body);
	if (ok(sample_worker_call(w, WIRE_OUTPUT, &body, &f, &e) == 0 && f.len == SEEN * 4 + 8, "%s: and read", how))
		memcpy(seen, f.body + 8, sizeof seen);
	ok(seen[0] == UINT32_MAX && seen[1] == UINT32_MAX, "%s: it found poison in output and scratch (%08x %08x)", how, seen[0],
	   seen[1]);
	is_int(seen[2], 0, "%s: no thread found another execution's shared memory", how);
	printf("# seed %llu: inout %08x, mark %08x, found %08x\n", (unsigned long long)seed, seen[3], seen[4], seen[5]);
	free(f.body);
	buf_fini(&body);
}

/* kib: shared memory of a block, as text. */
static void finds_nothing(struct sample_worker *w, const char *arch, const char *kib)
{
	static const struct { enum wire_cache cache; const char *name; } ways[] = { { WIRE_COLD, "cold" },
		{ WIRE_FLUSHED, "flushed" }, { WIRE_HOT, "hot" } };
	static uint64_t seeds[] = { 11, 22, 33 };
	struct plan *p = plan_of("peek", BLOCKS, 256, names, roles, 5, N);
	struct err e = ERR_INIT;
	int run = load(w, arch, peek, kib, p, &e);
	if (!ok(run > 0, "a kernel that looks around %s KiB compiles and loads: %s", kib, e.text))
		return;
	for (size_t i = 0; i < MEM_COUNT(ways); i++) {
		struct wire_measure m = { .run = (uint32_t)run, .min_samples = 6, .max_samples = 10, .rse = 1, .cap_ns = CLOCK_S,
					  .cache = ways[i].cache, .seeds = seeds, .seed_count = 3 };
		struct wire_measured t = { 0 };
		execute(w, run);
		if (!ok(sample_measure(w, &m, &t, &e) == 0, "%s: it is timed: %s", ways[i].name, e.text))
			continue;
		printf("# %s: %llu ns; %s\n", ways[i].name, (unsigned long long)t.samples[0], t.reset);
		has_str(t.reset, "shared memory overwritten", "%s: shared memory is overwritten", ways[i].name);
		ok(t.left_count >= 2, "%s: outputs of timed executions are kept (%zu)", ways[i].name, t.left_count);
		for (size_t k = 0; k < t.left_count; k++)
			look(w, run, t.left[k], ways[i].name);
		wire_measured_fini(&t);
	}
	sample_release(w, (uint32_t)run, &e);
	plan_free(p);
}

static double reuse(struct sample_worker *w, const char *arch, const char *use, uint32_t units)
{
	struct plan *p = plan_of("keep", units, 1024, two, in_out, 2, N);
	struct err e = ERR_INIT;
	struct wire_paired r = { 0 };
	int run = load(w, arch, keep, use, p, &e);
	struct wire_pair m = { .a = (uint32_t)run, .b = (uint32_t)run, .min_pairs = 10, .max_pairs = 40, .margin = 0.25,
			       .confidence = 0.99, .width = 100, .cap_ns = 10 * CLOCK_S, .unreset = 1 };
	double ratio = 0;
	if (!ok(run > 0, "a kernel that keeps marks in shared memory compiles and loads: %s", e.text))
		return 0;
	execute(w, run);
	if (ok(sample_pair(w, &m, &r, &e) == 0, "its executions are timed without resets beside those with: %s", e.text)) {
		printf("# USE=%s: reset %llu ns, unreset %llu ns, ratio %.3f (%.3f to %.3f)\n", use, (unsigned long long)r.a_ns[0],
		       (unsigned long long)r.b_ns[0], r.ratio, r.low, r.high);
		ratio = r.ratio;
	}
	wire_paired_fini(&r);
	sample_release(w, (uint32_t)run, &e);
	plan_free(p);
	return ratio;
}

/* Medians and what they cost: of interest beside those of an earlier version. */
static void copies(struct sample_worker *w, const char *arch)
{
	static const int64_t sizes[] = { 1 << 18, 1 << 22, 1 << 25 };
	static const char *const how[] = { "", "cold", "flushed", "hot" };
	for (size_t i = 0; i < MEM_COUNT(sizes); i++) {
		struct plan *p = plan_of("copy", (uint32_t)(sizes[i] / 1024), 256, two, in_out, 2, sizes[i]);
		struct err e = ERR_INIT;
		sample_arg_int(&p->ops[0].launch, "n", sizes[i] / 4);
		int run = load(w, arch, copy, "0", p, &e);
		if (!ok(run > 0, "a copy of %lld floats compiles and loads: %s", (long long)sizes[i], e.text))
			continue;
		execute(w, run);
		for (enum wire_cache cache = WIRE_COLD; cache <= WIRE_HOT; cache++) {
			struct wire_measure m = { .run = (uint32_t)run, .min_samples = 10, .max_samples = 30, .rse = 0.004,
						  .cap_ns = 4 * CLOCK_S, .warm_up_ns = CLOCK_S / 4, .cache = cache };
			struct wire_measured t = { 0 };
			int64_t start = clock_now();
			ok(sample_measure(w, &m, &t, &e) == 0 && t.samples[0] > 0, "%s: it is timed: %s", how[cache], e.text);
			printf("# copy of %lld MiB, %s: %.2f us, %zu samples of %u in %.0f ms of wall time; %s\n",
			       (long long)(sizes[i] >> 18), how[cache],
			       t.sample_count ? (double)t.samples[t.sample_count / 2] / 1e3 : 0, t.sample_count, t.launches,
			       (double)(clock_now() - start) / 1e6, t.reset ? t.reset : "");
			wire_measured_fini(&t);
		}
		sample_release(w, (uint32_t)run, &e);
		plan_free(p);
	}
}

int main(void)
{
	struct sample_worker w = sample_worker_start();
	struct facts facts;
	struct err e = ERR_INIT;
	struct wire_frame hello;
	if (wire_receive(w.fd, &hello, clock_now() + 60 * CLOCK_S, -1, NULL, &e) == 0)
		free(hello.body);
	if (sample_open(&w, "cuda:0", &facts, &e) < 0) {
		SKIP(1, "no CUDA device");
		sample_worker_stop(&w);
		return tap_done();
	}
	finds_nothing(&w, facts.arch, "32");
	finds_nothing(&w, facts.arch, "16");
	finds_nothing(&w, facts.arch, "8");
	double kept = reuse(&w, facts.arch, "1", facts.units), honest = reuse(&w, facts.arch, "0", facts.units);
	ok(kept > 0 && kept < 0.8, "a kernel that uses what shared memory holds shows itself (%.3f)", kept);
	ok(honest > 0.9 && honest < 1.1, "one that does not takes the same time (%.3f)", honest);
	copies(&w, facts.arch);
	is_int(sample_worker_stop(&w), 0, "the worker ends");
	return tap_done();
}

/* The sandbox with NVIDIA's driver: real device workers in the sandbox open the device, run and time kernels. They survive or crash
 * in order when device code prints, traps, allocates, recurses or reads wild addresses. Needs an NVIDIA GPU; skipped, with the
 * reason, without one. */
#include "backends/sandbox/sandbox.h"

#include <stdio.h>
#include <string.h>

#include "backends/sample_plan.h"
#include "backends/sample_worker.h"
#include "tap.h"

#define KERNEL "extern \"C\" __global__ void matmul(const float *A, const float *B, float *C, int n)\n"

static struct sample_worker start(void)
{
	struct sample_worker w = sample_worker_start();
	struct wire_frame f;
	if (wire_receive(w.fd, &f, clock_now() + 60 * CLOCK_S, -1, NULL, NULL) < 0)
		abort();
	free(f.body);
	return w;
}

/* As the daemon does it: compiled in one worker, run in another. */
static int compile(const char *device, const char *arch, const struct plan *p, struct wire_compiled *ret, struct err *e)
{
	struct sample_worker w = start();
	struct wire_compile c = { .backend = (char *)"cuda", .arch = (char *)(uintptr_t)arch, .macros = (char *)"",
	                          .device = (char *)(uintptr_t)device, .plan = (struct plan *)(uintptr_t)p };
	int r = sample_compile(&w, &c, ret, e);
	sample_worker_stop(&w);
	return r;
}

/* Opens cuda:0 in a fresh worker, runs the kernel once and, when it ends well, times it. */
static int run(const char *device, const char *arch, bool timed, struct err *e)
{
	struct sample_worker w = start();
	struct plan *p = sample_matmul(64, 8, 8);
	struct wire_compiled binary = { 0 };
	struct wire_prepared prepared;
	struct wire_executed x;
	struct facts f;
	int r = compile(device, arch, p, &binary, e);
	if (r == 0)
		r = sample_open(&w, "cuda:0", &f, e);
	if (r == 0)
		r = sample_prepare(&w, &(struct wire_prepare){ .binary = binary.binary, .binary_len = binary.binary_len,
							       .plan = p },
		                   &prepared, e);
	if (r == 0)
		r = sample_execute(&w, &(struct wire_execute){ .run = prepared.run, .seed = 1, .poison = 0xFF }, &x, e);
	if (r == 0 && timed) {
		struct wire_measured m;
		r = sample_measure(&w, &(struct wire_measure){ .run = prepared.run, .min_samples = 10, .max_samples = 20,
							       .rse = 0.05, .cap_ns = CLOCK_S, .cache = WIRE_COLD }, &m, e);
		if (r == 0)
			wire_measured_fini(&m);
	}
	wire_compiled_fini(&binary);
	plan_free(p);
	sample_worker_stop(&w);
	return r;
}

struct row { const char *what, *code; int want; };

static const struct row rows[] = {
	{ "printf does not disturb the wire", KERNEL "{ printf(\"x%d\", n); C[0] = A[0]; }", 0 },
	{ "a trap", KERNEL "{ __trap(); }", -ERR_CRASH },
	{ "a break point without a debugger", KERNEL "{ asm(\"brkpt;\"); }", -ERR_CRASH },
	{ "an illegal address", KERNEL "{ *(float *)16 = C[0]; }", -ERR_CRASH },
	{ "a misaligned address", KERNEL "{ *(float *)((char *)C + 1) = 1; }", -ERR_CRASH },
	{ "device malloc is refused", KERNEL "{ float *x = (float *)malloc((size_t)1 << 40); if (x) x[0] = 1; C[0] = A[0]; }",
	  -ERR_INPUT },
	{ "a large frame", KERNEL "{ volatile float a[4096]; for (int k = 0; k < 4096; k++) a[k] = k; C[0] = a[n & 7]; }", 0 },
	{ "endless recursion",
	  "__device__ __noinline__ int r(volatile int *x) { int y[64]; y[*x & 63] = *x; return r(&y[1]) + y[2]; }\n" KERNEL
	  "{ int v = n; C[0] = r(&v); }",
	  -ERR_CRASH },
};

int main(void)
{
	struct sandbox_kernel k = sandbox_probe();
	struct buf lacks = BUF_INIT;
	struct facts facts;
	struct err e = ERR_INIT;
	signal(SIGPIPE, SIG_IGN);
	sandbox_lacks(&k, &lacks);
	printf("# Landlock ABI %d, seccomp %s; lacks: %s\n", k.landlock, k.seccomp ? "yes" : "no",
	       lacks.len ? buf_text(&lacks) : "nothing");
	buf_fini(&lacks);
	int64_t before = clock_now();
	struct sample_worker w = start();
	int r = sample_open(&w, "cuda:0", &facts, &e);
	int64_t took = clock_now() - before;
	sample_worker_stop(&w);
	if (r == -ERR_UNSUPPORTED && !strstr(e.text, "sandbox")) {
		SKIP(1, "no device: %.200s", e.text);
		return tap_done();
	}
	is_int(r, 0, "cuda:0 opens in the sandbox, in %lld ms: %s", (long long)(took / CLOCK_MS), e.text);
	if (r < 0)
		return tap_done();
	static const char good[] = KERNEL "{ int i = blockIdx.x * 8 + threadIdx.x; if (i < n) C[i] = A[i]; }";
	is_int(run(good, facts.arch, true, &e), 0, "a kernel runs and is timed: %s", e.text);
	for (size_t i = 0; i < MEM_COUNT(rows); i++) {
		e = (struct err)ERR_INIT;
		is_int(run(rows[i].code, facts.arch, false, &e), rows[i].want, "%s: %.200s", rows[i].what, e.text);
	}
	is_int(run(good, facts.arch, true, &e), 0, "the next worker runs: %s", e.text);
	return tap_done();
}

/* backends/worker: a real worker process: a matmul from source to measurement, and every way to break one. */
#include "backends/worker.h"

#include <math.h>

#include "backends/fill.h"
#include "base/hash.h"
#include "sample_plan.h"
#include "sample_worker.h"
#include "tap.h"

static const char matmul[] =
	"[numthreads(BX, BY, 1)]\n"
	"void matmul(uint3 id : SV_DispatchThreadID) {\n"
	"	if (id.x >= (uint)n || id.y >= (uint)n) return;\n"
	"	float sum = 0.0;\n"
	"	for (int k = 0; k < n; k++)\n"
	"		sum += A[id.y * n + k] * B[k * n + id.x];\n"
	"	C[id.y * n + id.x] = sum;\n"
	"}\n";

enum { N = 70 };

static struct wire_define defines[] = { { (char *)"BX", (char *)"16" }, { (char *)"BY", (char *)"4" } };

static float *reference(const struct plan *p, uint64_t seed)
{
	float *a = MEM_NEW_N(float, N * N), *b = MEM_NEW_N(float, N * N), *c = MEM_NEW_N(float, N * N);
	fill_buffer(&p->buffers[0], seed, a);
	fill_buffer(&p->buffers[1], seed, b);
	for (int y = 0; y < N; y++)
		for (int x = 0; x < N; x++) {
			double sum = 0;
			for (int k = 0; k < N; k++)
				sum += (double)a[y * N + k] * (double)b[k * N + x];
			c[y * N + x] = (float)sum;
		}
	free(a);
	free(b);
	return c;
}

/* A worker with the first Vulkan device open; false (and no worker) when there is none. */
static bool start(struct sample_worker *w, struct facts *facts, struct err *e)
{
	struct wire_frame f;
	*w = sample_worker_start();
	struct wire_hello hello;
	if (wire_receive(w->fd, &f, clock_now() + 10 * CLOCK_S, -1, NULL, e) < 0)
		return false;
	struct wire_in in = { .at = f.body, .end = f.body + f.len };
	ok(f.type == WIRE_HELLO && wire_hello_decode(&in, &hello, e) == 0 && hello.pid == (uint32_t)w->pid, "the worker says hello");
	free(f.body);
	if (sample_open(w, "hlsl:0", facts, e) == 0)
		return true;
	sample_worker_stop(w);
	return false;
}

static void test_compare(struct sample_worker *w, uint32_t run, const struct wire_executed *x, const float *want)
{
	struct err e = ERR_INIT;
	struct wire_compared c;
	struct wire_compare m = { .run = run, .tolerance = 1e-6, .poison = 0xFF };
	memcpy(m.reference_hash, hash_bytes(want, N * N * 4).hex, 65);
	is_int(sample_compare(w, &m, &c, &e), 0, "comparing by hash alone is answered");
	is_int(c.need_reference, 1, "with the wish for the bytes");
	m.reference = (const uint8_t *)want;
	m.reference_len = N * N * 4;
	is_int(sample_compare(w, &m, &c, &e), 0, "comparing with the bytes: %s", e.text);
	ok(c.error < 1e-6 && c.mismatched == 0 && c.elements == N * N, "the product is right (error %.2g)", c.error);
	m.reference_hash[0] = m.reference_hash[0] == '0' ? '1' : '0';
	is_int(sample_compare(w, &m, &c, &e), -ERR_NETWORK, "bytes of another hash are refused");
	is_int(hash_valid(x->output_hash[0]), 1, "the output has a hash");
}

static void test_measure(struct sample_worker *w, uint32_t run)
{
	struct err e = ERR_INIT;
	struct wire_measured t = { 0 };
	struct wire_measure m = { .run = run, .min_samples = 3, .max_samples = 20, .rse = 0.05, .cap_ns = 500000000 };
	for (m.cold = 0; m.cold < 2; m.cold++) {
		is_int(sample_measure(w, &m, &t, &e), 0, "measured %s: %s", m.cold ? "cold" : "warm", e.text);
		ok(t.sample_count >= 1 && t.samples[0] > 1000 && t.samples[0] < 500000000, "%zu samples of %u launches, the first %llu ns",
		   t.sample_count, t.launches, (unsigned long long)(t.sample_count ? t.samples[0] : 0));
		wire_measured_fini(&t);
	}
}

static void test_matmul(struct sample_worker *w)
{
	struct err e = ERR_INIT;
	struct plan *p = sample_matmul(N, 16, 4);
	struct wire_executed x, again;
	float *want = reference(p, 42);
	int run = sample_load(w, matmul, defines, 2, p, &e);
	if (!ok(run > 0, "a matmul compiles and loads: %s", e.text))
		return;
	struct wire_execute m = { .run = (uint32_t)run, .seed = 42, .poison = 0xFF };
	is_int(sample_execute(w, &m, &x, &e), 0, "it runs: %s", e.text);
	ok(x.output_count == 1 && x.changed_input == 0 && x.broken_zone == 0, "and damages nothing");
	test_compare(w, (uint32_t)run, &x, want);
	m.poison = 0x55;
	is_int(sample_execute(w, &m, &again, &e), 0, "it runs again");
	is_str(again.output_hash[0], x.output_hash[0], "same seed, same output");
	test_measure(w, (uint32_t)run);
	is_int(sample_release(w, (uint32_t)run, &e), 0, "the run is released");
	is_int(sample_execute(w, &m, &again, &e), -ERR_NOT_FOUND, "and gone");
	wire_executed_fini(&x);
	wire_executed_fini(&again);
	free(want);
	plan_free(p);
}

int main(void)
{
	struct sample_worker w;
	struct facts facts;
	struct err e = ERR_INIT;
	signal(SIGPIPE, SIG_IGN);
	if (!start(&w, &facts, &e)) {
		SKIP(1, "no Vulkan device: %s", e.text);
		return tap_done();
	}
	printf("# %s, %s, %s, %s\n", facts.id, facts.name, facts.driver, facts.uuid);
	test_matmul(&w);
	is_int(sample_worker_stop(&w), 0, "a worker ends well when its wire is closed");
	return tap_done();
}

/* backends/worker/worker: a real worker process: a matmul from source to measurement, and every way to break one. */
#include "backends/worker/worker.h"

#include <math.h>

#include "backends/values/fill.h"
#include "base/hash.h"
#include "backends/sample_plan.h"
#include "backends/sample_worker.h"
#include "pace.h"
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
	if (wire_receive(w->fd, &f, clock_now() + 60 * CLOCK_S, -1, NULL, e) < 0)
		return false;
	struct wire_in in = { .at = f.body, .end = f.body + f.len };
	ok(f.type == WIRE_HELLO && wire_hello_decode(&in, &hello, e) == 0 && hello.pid == (uint32_t)w->pid,
	   "the worker says hello");
	free(f.body);
	if (sample_open(w, "hlsl:0", facts, e) == 0)
		return true;
	sample_worker_stop(w);
	return false;
}

/* Bytes of the last execution's output as a hash; hash_text("") when it is refused. */
static struct hash output(struct sample_worker *w, uint32_t run, uint32_t number)
{
	struct wire_frame f = { .len = 0 };
	struct buf body = BUF_INIT;
	wire_output_encode(&(struct wire_output){ .run = run, .output = number }, &body);
	int rc = sample_worker_call(w, WIRE_OUTPUT, &body, &f, NULL);
	struct hash h = hash_bytes(rc < 0 ? (const uint8_t *)"" : f.body, f.len);
	free(f.body);
	buf_fini(&body);
	return h;
}

static void test_compare(struct sample_worker *w, uint32_t run, const float *want)
{
	struct err e = ERR_INIT;
	struct wire_compared c;
	struct wire_compare m = { .run = run, .want_type = DTYPE_F32, .poison = 0xFF };
	float *wanted = MEM_NEW_N(float, 2 * N * N);
	for (size_t i = 0; i < N * N; i++) {
		wanted[i] = want[i];
		wanted[N * N + i] = 1e-4f;
	}
	memcpy(m.reference_hash, hash_array(wanted, 2 * N * N * 4).hex, 65);
	is_int(sample_compare(w, &m, &c, &e), 0, "a compare request by hash alone is answered");
	is_int(c.need_reference, 1, "the answer asks for the reference bytes");
	m.reference = (const uint8_t *)wanted;
	m.reference_len = 2 * N * N * 4;
	is_int(sample_compare(w, &m, &c, &e), 0, "a compare request with the bytes is answered: %s", e.text);
	ok(c.error < 1e-6 && c.mismatched == 0 && c.judged == N * N && c.elements == N * N, "the product is right (error %.2g)",
	   c.error);
	m.reference_hash[0] = m.reference_hash[0] == '0' ? '1' : '0';
	is_int(sample_compare(w, &m, &c, &e), -ERR_NETWORK, "a reference with another hash is refused");
	m.reference_len--;
	memcpy(m.reference_hash, hash_array(wanted, m.reference_len).hex, 65);
	is_int(sample_compare(w, &m, &c, &e), -ERR_INPUT, "a reference of another length is refused");
	free(wanted);
}

static void test_measure(struct sample_worker *w, uint32_t run)
{
	struct err e = ERR_INIT;
	struct wire_measured t = { 0 };
	struct wire_measure m = { .run = run, .min_samples = 3, .max_samples = 20, .rse = 0.05, .cap_ns = 500000000 };
	for (m.cache = WIRE_WARM; m.cache <= WIRE_FLUSHED; m.cache++) {
		int64_t start = clock_now();
		is_int(sample_measure(w, &m, &t, &e), 0, "measured %s: %s",
		       m.cache == WIRE_FLUSHED ? "flushed"
		       : m.cache               ? "cold"
					       : "warm",
		       e.text);
		double took = (double)(clock_now() - start), first = t.sample_count ? (double)t.samples[0] : 0;
		ok(first > 1000 && first * t.launches < took, "%zu samples of %u launches, the first %.0f ns each, in %.0f ns",
		   t.sample_count, t.launches, first, took);
		wire_measured_fini(&t);
	}
}

/* Two runs of one worker in alternation; and energy, which this backend cannot measure. */
static void test_pair(struct sample_worker *w, uint32_t run)
{
	struct wire_pair m = { .a = run, .b = run, .min_pairs = 10, .max_pairs = 20, .margin = 0.01, .confidence = 0.95, .width = 1,
	                       .cap_ns = UINT64_C(50000000000), .cold = 1 };
	struct wire_energy weigh = { .run = run, .min_ns = 1000000 };
	struct wire_paired p;
	struct wire_energised x;
	struct err e = ERR_INIT;
	is_int(sample_pair(w, &m, &p, &e), 0, "a run is compared with itself: %s", e.text);
	ok(p.pair_count >= 10 && p.pair_count <= 20 && p.a_ns[0] > 0 && p.b_ns[0] > 0, "a comparison returns its pairs (%zu)",
	   p.pair_count);
	ok(p.low <= p.ratio && p.ratio <= p.high && p.high > 0, "the interval contains the ratio (%.3f %.3f %.3f)", p.low, p.ratio,
	   p.high);
	has_str(p.note, "unknown for hlsl devices", "the note says that clocks and other load are unknown");
	wire_paired_fini(&p);
	m.b = 77;
	is_int(sample_pair(w, &m, &p, &e), -ERR_NOT_FOUND, "a run that does not exist is refused");
	m.b = run;
	m.min_pairs = 0;
	is_int(sample_pair(w, &m, &p, &e), -ERR_NETWORK, "numbers out of range are refused");
	is_int(sample_energy(w, &weigh, &x, &e), 0, "an energy request is answered");
	ok(x.joules == 0 && x.note[0], "the note says why no energy is known: %s", x.note);
	wire_energised_fini(&x);
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
	is_int(sample_execute(w, &m, &x, &e), 0, "a matmul runs: %s", e.text);
	ok(x.changed_input == 0 && x.broken_zone == 0, "a matmul damages nothing");
	test_compare(w, (uint32_t)run, want);
	struct hash first = output(w, (uint32_t)run, 0);
	m.poison = 0x55;
	is_int(sample_execute(w, &m, &again, &e), 0, "a matmul runs again");
	is_str(output(w, (uint32_t)run, 0).hex, first.hex, "the same seed gives the same output");
	m.perturbation = 1;
	m.amplitude = 0x1p-8;
	is_int(sample_execute(w, &m, &again, &e), 0, "a matmul runs on perturbed inputs: %s", e.text);
	ok(strcmp(output(w, (uint32_t)run, 0).hex, first.hex) != 0, "perturbed inputs give another output");
	m.perturbation = 0;
	is_int(sample_execute(w, &m, &again, &e), 0, "a matmul runs on plain inputs again");
	is_str(output(w, (uint32_t)run, 0).hex, first.hex, "plain inputs are not those that were perturbed");
	test_measure(w, (uint32_t)run);
	test_pair(w, (uint32_t)run);
	is_int(sample_release(w, (uint32_t)run, &e), 0, "a run is released");
	is_int(sample_execute(w, &m, &again, &e), -ERR_NOT_FOUND, "a released run is gone");
	free(want);
	plan_free(p);
}

/* --- what kernels do wrong ---------------------------------------------------------------------------------------- */

/* Loads a kernel for the matmul's plan in blocks of 8×8 and executes it once. */
static int try(struct sample_worker *w, const char *device, struct plan *p, struct wire_executed *ret_x, struct err *e)
{
	int run = sample_load(w, device, NULL, 0, p, e);
	if (run < 0)
		return run;
	struct wire_execute m = { .run = (uint32_t)run, .seed = 1, .poison = 0xFF };
	int r = sample_execute(w, &m, ret_x, e);
	if (r != -ERR_CRASH)
		sample_release(w, (uint32_t)run, NULL);
	return r;
}

#define KERNEL "[numthreads(8, 8, 1)] void matmul(uint3 id : SV_DispatchThreadID, uint g : SV_GroupIndex) "

static void test_damage(struct sample_worker *w)
{
	struct err e = ERR_INIT;
	struct wire_executed x = { 0 };
	struct plan *p = sample_matmul(64, 8, 8);
	is_int(try(w, KERNEL "{ C[id.x] = A[0]; if (id.x == 5) C[64 * 64 + 17] = 1; }", p, &x, &e), 0,
	       "writes behind C: %s", e.text);
	is_int(x.broken_zone, 3, "a write behind C breaks its red zone");
	is_int(x.changed_input, 0, "no input counts as changed");
	is_int(try(w, KERNEL "{ C[id.x] = A[64 * 64 + id.x]; }", p, &x, &e), 0, "reads behind A");
	p->buffers[1].role = PLAN_INOUT;
	is_int(try(w, KERNEL "{ B[id.x] = C[0]; C[id.y] = A[id.x]; }", p, &x, &e), 0,
	       "an inout buffer that was written is not a changed input");
	is_int(x.changed_input, 0, "the changed input is named");
	int run = sample_load(w, KERNEL "{ B[id.x] = C[0]; }", NULL, 0, p, &e);
	sample_execute(w, &(struct wire_execute){ .run = (uint32_t)run, .seed = 1 }, &x, &e);
	ok(strcmp(output(w, (uint32_t)run, 1).hex, hash_text("").hex) != 0, "an inout buffer is an output");
	is_str(output(w, (uint32_t)run, 2).hex, hash_text("").hex, "an output that does not exist is refused");
	sample_release(w, (uint32_t)run, NULL);
	plan_free(p);
}

/* Two launches give the name D to an input and to an output, so that the code may write it. */
static void test_changed_input(struct sample_worker *w)
{
	struct err e = ERR_INIT;
	struct wire_executed x = { 0 };
	struct plan *p = sample_matmul(64, 8, 8);
	struct plan_launch *l = sample_launch(p, "matmul", 1, 1, 8, 8);
	sample_arg_buffer(l, "D", 2);
	sample_arg_buffer(&p->ops[0].launch, "D", 1);
	is_int(try(w, KERNEL "{ D[id.x] = 2.0; }", p, &x, &e), 0, "a kernel writes B through an alias: %s", e.text);
	is_int(x.changed_input, 2, "the write through an alias is found");
	plan_free(p);
}

static void test_limits(struct sample_worker *w, const struct facts *f)
{
	struct err e = ERR_INIT;
	struct wire_executed x = { 0 };
	struct plan *p = sample_matmul(64, 8, 8);
	char *code = mem_fmt("groupshared float s[%u]; " KERNEL
			     "{ s[g] = A[g]; GroupMemoryBarrierWithGroupSync(); C[id.x] = s[63 - g]; }",
			     f->shared_static / 4 + 1);
	is_int(try(w, code, p, &x, &e), -ERR_PRUNED, "too much groupshared memory prunes the configuration");
	has_str(e.text, "groupshared memory in bytes", "the message names the limit");
	free(code);
	plan_free(p);
	p = sample_matmul(64, 64, 64);
	is_int(try(w, "[numthreads(64, 64, 1)] void matmul(uint3 id : SV_DispatchThreadID) { C[id.x] = A[id.y]; }", p, &x,
	           &e),
	       -ERR_PRUNED, "4096 threads a block");
	has_str(e.text, "threads per block is 4096", "the message gives the number");
	p->ops[0].launch.block[0] = 8;
	plan_free(p);
}

/* f16, vector and byte views, ld, table, memset and copy in one plan. */
static void test_views(struct sample_worker *w)
{
	static const char code[] = KERNEL
		"{ if (g) return; C[0] = (float)H[1] + (float)T[2]; C[1] = A_float4[1].y; C[2] = asfloat(A_bytes.Load(20)); C[3] = "
		"S_float[1];\n"
		"C[4] = asfloat(S_uint[0]); H_out[0] = (half)1.5; C[5] = alpha; C[6] = n; C[7] = A[17]; C[8] = (float)beta; }";
	static const uint32_t table[4] = { 0, 1, 7, 2 };
	struct err e = ERR_INIT;
	struct wire_executed x = { 0 };
	struct plan *p = sample_matmul(16, 8, 8);
	struct plan_launch *l = &p->ops[0].launch;
	l->grid[0] = l->grid[1] = 1;
	struct plan_buffer *h = sample_matrix(p, "H", PLAN_IN, 1, 5);
	h->type = DTYPE_F16;
	h->fill = PLAN_IOTA;
	h->bytes = 10;
	struct plan_buffer *t = sample_matrix(p, "T", PLAN_TABLE, 1, 4);
	t->type = DTYPE_U32;
	t->table = mem_copy(table, sizeof table);
	struct plan_buffer *s = sample_matrix(p, "S", PLAN_SCRATCH, 1, 64);
	s->type = DTYPE_U8;
	s->bytes = 64;
	struct plan_buffer *o = sample_matrix(p, "H_out", PLAN_OUT, 1, 3);
	o->type = DTYPE_F16;
	o->bytes = 6;
	const char *names[] = { "H", "T", "S", "H_out" };
	for (unsigned i = 0; i < 4; i++)
		sample_arg_buffer(l, names[i], 3 + i);
	*MEM_PUSH(l->args, l->arg_count) =
		(struct plan_arg){ .name = mem_str("alpha"), .kind = PLAN_ARG_SCALAR, .type = DTYPE_F32, .f = 0.25 };
	*MEM_PUSH(l->args, l->arg_count) =
		(struct plan_arg){ .name = mem_str("beta"), .kind = PLAN_ARG_SCALAR, .type = DTYPE_F64, .f = 0.125 };
	/* Scratch is set by the plan before the launch: a memset of its first word, a copy of A's row behind it. */
	struct plan_op launch = p->ops[0];
	*MEM_PUSH(p->ops, p->op_count) = (struct plan_op){ .kind = PLAN_OP_COPY,
		.copy = { .dst = 5, .src = 0, .dst_offset = 4, .src_offset = 32, .bytes = 32 } };
	*MEM_PUSH(p->ops, p->op_count) = launch;
	p->ops[0] = (struct plan_op){ .kind = PLAN_OP_MEMSET, .memset = { .buffer = 5, .bytes = 4, .value = 0x3F } };
	p->buffers[0].ld = 20;
	p->buffers[0].bytes = 16 * 20 * 4;
	int run = sample_load(w, code, NULL, 0, p, &e);
	ok(run > 0, "every kind of argument loads: %s", e.text);
	struct wire_execute m = { .run = (uint32_t)run, .seed = 5, .poison = 0xFF };
	is_int(sample_execute(w, &m, &x, &e), 0, "every kind of argument runs: %s", e.text);
	struct buf body = BUF_INIT;
	struct wire_frame f;
	wire_output_encode(&(struct wire_output){ .run = (uint32_t)run, .output = 0 }, &body);
	is_int(sample_worker_call(w, WIRE_OUTPUT, &body, &f, &e), 0, "the f32 output is sent: %s", e.text);
	struct wire_in in = { .at = f.body, .end = f.body + f.len };
	size_t len;
	float c[16], a[16 * 20], word;
	memcpy(c, wire_get_bytes(&in, &len), sizeof c);
	is_int(len, 16 * 16 * 4, "the output is complete");
	fill_buffer(&p->buffers[0], 5, a);
	memset(&word, 0x3F, 4);
	ok(c[0] == 8, "f16 and table elements are read (%g)", (double)c[0]);
	ok(c[1] == a[5] && c[2] == a[5] && isnan(c[7]), "vectors and bytes see the same memory, and padding is NaN");
	ok(c[3] == a[8] && c[4] == word, "copy and memset run before the launch");
	ok(c[5] == 0.25f && c[6] == 16 && c[8] == 0.125f, "scalars of three types arrive");
	free(f.body);
	buf_clear(&body);
	wire_output_encode(&(struct wire_output){ .run = (uint32_t)run, .output = 1 }, &body);
	is_int(sample_worker_call(w, WIRE_OUTPUT, &body, &f, &e), 0, "the f16 output is sent");
	uint16_t half;
	memcpy(&half, f.body + 8, 2);
	ok(half == 0x3e00 && f.body[10] == 0xFF, "f16 elements are written byte for byte, the next ones stay poison");
	free(f.body);
	buf_fini(&body);
	sample_release(w, (uint32_t)run, &e);
	plan_free(p);
}

static void test_requests(struct sample_worker *w)
{
	struct err e = ERR_INIT;
	struct facts f;
	struct wire_frame frame;
	struct buf body = BUF_INIT;
	is_int(sample_open(w, "hlsl:0", &f, &e), -ERR_INTERNAL, "a second device is refused");
	wire_put_text(&body, "hlsl");
	is_int(sample_worker_call(w, WIRE_DEVICES, &body, &frame, &e), 0, "devices are listed");
	free(frame.body);
	buf_clear(&body);
	wire_put_text(&body, "hlsl:spirv1.3");
	is_int(sample_worker_call(w, WIRE_DEVICES, &body, &frame, &e), 0, "an architecture is described");
	free(frame.body);
	buf_clear(&body);
	wire_put_text(&body, "cuda");
	int r = sample_worker_call(w, WIRE_DEVICES, &body, &frame, &e);
	ok(r == 0 || r == -ERR_UNSUPPORTED, "CUDA devices are listed, or unsupported");
	if (r == 0)
		free(frame.body);
	buf_clear(&body);
	wire_put_text(&body, "metal");
	is_int(sample_worker_call(w, WIRE_DEVICES, &body, &frame, &e), -ERR_UNSUPPORTED, "an unknown backend is refused");
	is_int(sample_worker_call(w, WIRE_PREPARE, &body, &frame, &e), -ERR_NETWORK, "a malformed message is refused");
	is_int(sample_worker_call(w, WIRE_HELLO, &body, &frame, &e), -ERR_NETWORK, "an answer in place of a request is refused");
	buf_clear(&body);
	is_int(sample_worker_call(w, WIRE_PING, &body, &frame, &e), 0, "the worker still answers after refusals");
	free(frame.body);
	buf_fini(&body);
}

static void test_garbage(void)
{
	struct sample_worker w;
	struct facts f;
	struct err e = ERR_INIT;
	struct wire_frame frame;
	if (!start(&w, &f, &e) || write(w.fd, "GET / HTTP/1.1\r\nHost: peakd\r\n\r\n", 31) != 31)
		abort();
	is_int(wire_receive(w.fd, &frame, clock_now() + 60 * CLOCK_S, -1, NULL, &e), 0, "garbage on the wire is answered");
	is_int(frame.type, WIRE_FAILED, "the answer to garbage is a failure");
	free(frame.body);
	int status = sample_worker_stop(&w);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 1, "garbage ends the worker");
}

/* Groupshared memory is not bounds-checked: this writes far outside of the process's memory. */
static void test_crash(void)
{
	struct sample_worker w;
	struct facts f;
	struct err e = ERR_INIT;
	struct wire_executed x;
	struct plan *p = sample_matmul(64, 8, 8);
	if (!start(&w, &f, &e))
		abort();
	int r = f.shares_cpu ? try(&w, "groupshared float s[4]; " KERNEL "{ s[A[id.x] * 0.0 + 400000000.0 + g] = 1; "
	                           "GroupMemoryBarrierWithGroupSync(); C[id.x] = s[g & 3]; }", p, &x, &e) : -ERR_CRASH;
	is_int(r, -ERR_CRASH, "device code that crashes ends only its worker: %s", e.text);
	sample_worker_stop(&w);
	if (!start(&w, &f, &e))
		abort();
	is_int(try(&w, KERNEL "{ C[id.x] = A[id.x]; }", p, &x, &e), 0, "the next worker is healthy");
	sample_worker_stop(&w);
	plan_free(p);
}

/* Where descriptor `fd` of the worker leads. */
static void leads_to(const struct sample_worker *w, int fd, char text[256])
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)w->pid, fd);
	ssize_t n = readlink(path, text, 255);
	text[n < 0 ? 0 : n] = '\0';
}

static void test_descriptors(const struct sample_worker *w)
{
	char in[256], out[256], err[256];
	leads_to(w, 0, in);
	leads_to(w, 1, out);
	leads_to(w, 2, err);
	is_str(in, "/dev/null", "descriptor 0 is no longer the wire");
	is_str(out, err, "descriptor 1 is stderr");
}

/* Minutes of work: the daemon can only kill the process. */
static void test_hang(void)
{
	struct sample_worker w;
	struct facts f;
	struct err e = ERR_INIT;
	struct wire_frame frame;
	struct plan *p = sample_matmul(64, 8, 8);
	struct buf body = BUF_INIT;
	p->ops[0].launch.grid[0] = p->ops[0].launch.grid[1] = 4096;
	int run = start(&w, &f, &e) ? sample_load(&w,
	                                          KERNEL "{ float s = 0.0; for (int i = 0; i < 60000; i++) s += A[i & 4095] * s; "
	                                          "if (id.x < 64) C[id.x] = s; }", NULL, 0, p, &e) : -1;
	ok(run > 0, "a kernel that never ends compiles: %s", e.text);
	wire_execute_encode(&(struct wire_execute){ .run = (uint32_t)run }, &body);
	wire_send(w.fd, WIRE_EXECUTE, 99, body.data, body.len, clock_now() + 60 * CLOCK_S, &e);
	is_int(wire_receive(w.fd, &frame, clock_now() + 300 * CLOCK_MS, -1, NULL, &e), -ERR_TIMEOUT,
	       "the deadline of a hanging kernel passes");
	struct pace pace = pace_begin();
	kill(w.pid, SIGKILL);
	int status = sample_worker_stop(&w);
	bool soon = pace_within(&pace, 5 * CLOCK_S);
	ok(WIFSIGNALED(status) && soon, "a hanging worker is killed in %s", pace_text(&pace));
	buf_fini(&body);
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
	test_descriptors(&w);
	test_matmul(&w);
	test_damage(&w);
	test_changed_input(&w);
	test_limits(&w, &facts);
	test_views(&w);
	test_requests(&w);
	is_int(sample_worker_stop(&w), 0, "a worker exits with 0 when its wire is closed");
	test_garbage();
	test_crash();
	test_hang();
	return tap_done();
}

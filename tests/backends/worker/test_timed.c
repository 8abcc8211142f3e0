/* backends/worker/timed: what a timed execution finds of earlier ones, asked of a kernel that writes it down. */
#include "backends/sample_plan.h"
#include "backends/sample_worker.h"
#include "tap.h"

enum { N = 4096, GROUPS = 64, SEEN = 8 };

/* Writes down what it finds, then leaves its mark everywhere. A mark is the value of A's first element: each set of
 * buffers has its own. seen: the output, the scratch, groups that found another execution's mark in shared memory, inout,
 * and the mark. */
static const char peek[] = "groupshared uint memory[1024];\n"
			   "[numthreads(64, 1, 1)]\n"
			   "void peek(uint lane : SV_GroupIndex, uint3 group : SV_GroupID)\n"
			   "{\n"
			   "	uint found = memory[16 * lane], mark = asuint(A[0]), old;\n"
			   "	if (found != mark && found != 0x5a5a5a5a) InterlockedAdd(seen[2], 1, old);\n"
			   "	if (group.x == 0 && lane == 0) {\n"
			   "		seen[0] = asuint(C[0]);\n"
			   "		seen[1] = asuint(S[4095]);\n"
			   "		seen[3] = asuint(X[0]);\n"
			   "		seen[4] = mark;\n"
			   "		C[0] = 1;\n"
			   "		S[4095] = 1;\n"
			   "		X[0] = X[0] + 1;\n"
			   "	}\n"
			   "	GroupMemoryBarrierWithGroupSync();\n"
			   "	memory[16 * lane] = mark;\n"
			   "	float work = A[lane];\n"
			   "	for (int i = 0; i < 300; i++) work = work * 0.5 + A[(lane + i) % 4096];\n"
			   "	C[64 * group.x + lane + 1] = work;\n"
			   "}\n";

static struct plan *peek_plan(void)
{
	static const char *const names[] = { "A", "X", "C", "S", "seen" };
	static const enum plan_role roles[] = { PLAN_IN, PLAN_INOUT, PLAN_OUT, PLAN_SCRATCH, PLAN_OUT };
	struct plan *p = plan_new();
	for (unsigned i = 0; i < 5; i++)
		sample_matrix(p, names[i], roles[i], 1, i == 4 ? SEEN : i == 2 ? N + 1 : N);
	p->buffers[4].type = DTYPE_U32;
	*MEM_PUSH(p->ops, p->op_count) =
		(struct plan_op){ .kind = PLAN_OP_MEMSET, .memset = { .buffer = 4, .bytes = SEEN * 4, .value = 0 } };
	struct plan_launch *l = sample_launch(p, "peek", GROUPS, 1, 64, 1);
	for (unsigned i = 0; i < 5; i++)
		sample_arg_buffer(l, names[i], i);
	return p;
}

/* What the timed execution with this seed wrote down; false when nothing of it was kept. */
static bool look(struct sample_worker *w, uint32_t run, uint64_t seed, uint32_t ret_seen[SEEN])
{
	struct wire_execute m = { .run = run, .seed = seed, .keep = WIRE_LOOK };
	struct wire_executed x;
	struct err e = ERR_INIT;
	struct wire_frame f = { .len = 0 };
	struct buf body = BUF_INIT;
	if (sample_execute(w, &m, &x, &e) < 0)
		return false;
	is_int(x.changed_input + x.broken_zone, 0, "the timed execution changed no input and no red zone");
	wire_output_encode(&(struct wire_output){ .run = run, .output = 2 }, &body);
	bool there = sample_worker_call(w, WIRE_OUTPUT, &body, &f, &e) == 0 && f.len == SEEN * 4 + 8;
	if (there)
		memcpy(ret_seen, f.body + 8, SEEN * 4);
	free(f.body);
	buf_fini(&body);
	return there;
}

/* Timed in one way, and what timed executions wrote down. True when no shared memory held another execution's mark: on a
 * busy machine a thread of the driver may miss that it is overwritten. */
static bool timed(struct sample_worker *w, uint32_t run, enum wire_cache cache, const char *how)
{
	static uint64_t seeds[] = { 11, 22, 33 };
	struct wire_execute m = { .run = run, .seed = 11, .poison = 0xFF };
	struct wire_measure request = { .run = run, .min_samples = 6, .max_samples = 10, .rse = 1, .cap_ns = 60 * CLOCK_S,
					.cache = cache, .seeds = seeds, .seed_count = 3 };
	struct wire_executed x;
	struct wire_measured t;
	struct err e = ERR_INIT;
	uint32_t inout[34] = { 0 }, marks[34] = { 0 };
	bool clean = true;
	is_int(sample_execute(w, &m, &x, &e), 0, "%s: it executes: %s", how, e.text);
	if (!ok(sample_measure(w, &request, &t, &e) == 0, "%s: it is timed: %s", how, e.text))
		return true;
	has_str(t.reset, "3 sets of buffers with different values", "%s: the answer says what was reset", how);
	ok(t.left_count >= 2, "%s: outputs of two timed executions were kept", how);
	for (size_t k = 0; k < t.left_count; k++) {
		uint32_t seen[SEEN] = { 0 };
		uint64_t seed = t.left[k];
		if (!ok((seed == 11 || seed == 22 || seed == 33) && look(w, run, seed, seen), "%s: they can be looked at", how))
			continue;
		ok(seen[0] == UINT32_MAX && seen[1] == UINT32_MAX, "%s: the execution found poison in output and scratch", how);
		ok(inout[seed] == 0 || inout[seed] == seen[3], "%s: it found the same inout as another execution of its set", how);
		ok(marks[seed] == 0 || marks[seed] == seen[4], "%s: and the same input", how);
		inout[seed] = seen[3];
		marks[seed] = seen[4];
		clean &= seen[2] == 0;
	}
	ok(!marks[11] || !marks[33] || marks[11] != marks[33], "%s: other sets have other values", how);
	uint32_t ignored[SEEN];
	ok(!look(w, run, 44, ignored), "%s: an execution that was not timed cannot be looked at", how);
	wire_measured_fini(&t);
	return clean;
}

/* A run beside itself, without and with its own results: this kernel does not use them. */
static void unreset(struct sample_worker *w, uint32_t run)
{
	struct wire_pair m = { .a = run, .b = run, .min_pairs = 5, .max_pairs = 10, .margin = 0.25, .confidence = 0.95,
			       .width = 100, .cap_ns = 10 * CLOCK_S, .unreset = 1 };
	struct wire_execute x = { .run = run, .seed = 5, .poison = 0xFF };
	struct wire_executed done;
	struct wire_paired p;
	struct err e = ERR_INIT;
	is_int(sample_execute(w, &x, &done, &e), 0, "it executes: %s", e.text);
	if (!ok(sample_pair(w, &m, &p, &e) == 0, "its executions are compared with what they are when nothing is reset: %s",
		e.text))
		return;
	ok(p.pair_count >= 5 && p.ratio > 0, "the answer has pairs and their ratio (%.2f)", p.ratio);
	wire_paired_fini(&p);
}

/* Long work, whose results it finds again in scratch where USE is 1. */
static const char reuse[] = "[numthreads(64, 1, 1)]\n"
			    "void reuse(uint3 id : SV_DispatchThreadID)\n"
			    "{\n"
			    "	float work = S[id.x];\n"
			    "	if (USE == 0 || asuint(S[id.x]) == 0xffffffff) {\n"
			    "		work = A[id.x];\n"
			    "		for (int i = 0; i < 4000; i++) work = work * 0.5 + A[(id.x + i) % 4096];\n"
			    "	}\n"
			    "	C[id.x] = work;\n"
			    "	S[id.x] = work;\n"
			    "}\n";

/* In processor time, which tells within a few pairs, however busy the machine is. */
static void reuses(struct sample_worker *w, char *use, bool exchanged, enum wire_verdict want)
{
	static const char *const names[] = { "A", "S", "C" };
	static const enum plan_role roles[] = { PLAN_IN, PLAN_SCRATCH, PLAN_OUT };
	struct plan *plan = plan_new();
	for (unsigned i = 0; i < 3; i++)
		sample_matrix(plan, names[i], roles[i], 1, N);
	struct plan_launch *l = sample_launch(plan, "reuse", GROUPS, 1, 64, 1);
	for (unsigned i = 0; i < 3; i++)
		sample_arg_buffer(l, names[i], i);
	struct wire_define define = { .name = "USE", .value = use };
	struct err e = ERR_INIT;
	int run = sample_load(w, reuse, &define, 1, plan, &e);
	struct wire_pair m = { .a = (uint32_t)run, .b = (uint32_t)run, .min_pairs = 5, .max_pairs = 60, .margin = 0.25,
			       .confidence = 0.99, .width = 100, .cap_ns = 10 * CLOCK_S, .unreset = 2, .exchanged = exchanged };
	struct wire_execute x = { .run = (uint32_t)run, .seed = 5, .poison = 0xFF };
	struct wire_executed done;
	struct wire_paired p;
	if (ok(run > 0 && sample_execute(w, &x, &done, &e) == 0, "USE=%s: the kernel executes: %s", use, e.text) &&
	    ok(sample_pair(w, &m, &p, &e) == 0, "USE=%s: processor times are compared: %s", use, e.text)) {
		is_int(p.verdict, want, "USE=%s%s: %zu pairs tell whether a kernel reuses its results (%.2f)", use,
		       exchanged ? ", exchanged" : "", p.pair_count, p.ratio);
		wire_paired_fini(&p);
	}
	plan_free(plan);
}

int main(void)
{
	struct sample_worker w = sample_worker_start();
	struct facts facts;
	struct err e = ERR_INIT;
	struct wire_frame hello;
	if (wire_receive(w.fd, &hello, clock_now() + 60 * CLOCK_S, -1, NULL, &e) == 0)
		free(hello.body);
	if (sample_open(&w, "hlsl:0", &facts, &e) < 0) {
		SKIP(1, "no HLSL device");
		sample_worker_stop(&w);
		return tap_done();
	}
	struct plan *plan = peek_plan();
	int run = sample_load(&w, peek, NULL, 0, plan, &e);
	if (ok(run > 0, "the kernel compiles and loads: %s", e.text)) {
		bool clean = false;
		for (int i = 0; i < 20 && !clean; i++)
			clean = timed(&w, (uint32_t)run, WIRE_COLD, "cold");
		ok(clean, "no execution found what an earlier one left in shared memory");
		timed(&w, (uint32_t)run, WIRE_FLUSHED, "flushed");
		timed(&w, (uint32_t)run, WIRE_HOT, "hot");
		unreset(&w, (uint32_t)run);
	}
	for (int exchanged = 0; exchanged < 2; exchanged++) {
		reuses(&w, "0", exchanged, WIRE_SAME);
		reuses(&w, "1", exchanged, WIRE_FASTER);
	}
	plan_free(plan);
	is_int(sample_worker_stop(&w), 0, "the worker ends");
	return tap_done();
}

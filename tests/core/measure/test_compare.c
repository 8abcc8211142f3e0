/* core/measure/compare, vendor and profile on the device of this machine: verdicts about real kernels, rows in the record, and what
 * is said where the vendor has no library and the device no counters. */
#include "core/measure/compare.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/measure/profile.h"
#include "core/measure/library_baseline.h"
#include "core/record/comparison.h"
#include "core/record/metric.h"
#include "core/sample.h"

#define SLOW SAMPLE_RIGHT " for (int r = 0; r < 16; r++) if (A[(row*n+k*r+r)%(n*n)] > 2.0) acc += 1;" /* no element is */

static struct params *at_64(void)
{
	struct params *p = params_new();
	params_set_int(p, "n", false, 64);
	params_set_int(p, "BX", true, 8);
	params_set_int(p, "BY", true, 8);
	return p;
}

static void verdicts(struct sample *s, struct eval *ev, const struct context *root, const struct params *params)
{
	struct context *slow = sample_context(SLOW), *wrong = sample_context("acc += A[row*n+k];");
	struct compare_request q = { .a = { sample_checkpoint(s, root), root, root, params, 0 },
	                             .b = { sample_checkpoint(s, slow), slow, root, params, 0 }, .facts = &s->facts };
	struct trial_paired p = { .count = 0 };
	struct err e = ERR_INIT;
	int rc = compare_run(ev, &q, s->db, NULL, &p, &e);
	/* A machine that had no time for enough pairs says so, and is asked again. */
	for (int i = 0; i < 20 && rc == 0 && p.verdict == WIRE_UNCLEAR; i++) {
		trial_paired_fini(&p);
		rc = compare_run(ev, &q, s->db, NULL, &p, &e);
	}
	is_int(rc, 0, "a comparison %s", e.text);
	if (rc == 0) {
		is_int(p.verdict, WIRE_SLOWER, "much more work is slower (%.2f, %.2f to %.2f)", p.ratio, p.low, p.high);
		ok(q.a.evidence > 0 && q.b.evidence > 0, "both were checked");
		has_str(p.conditions, "are unknown for", "what is not known of the device is not invented");
		trial_paired_fini(&p);
	}
	q.b = (struct compare_side){ sample_checkpoint(s, wrong), wrong, root, params, 0 };
	is_int(compare_run(ev, &q, s->db, NULL, &p, &e), -ERR_WRONG, "a wrong kernel gets no verdict");
	has_str(e.text, "no verdict on its speed", "and the reason is told");
	context_free(slow);
	context_free(wrong);
}

/* A context that names a library, where there is none. */
static void library(struct sample *s, const struct params *params)
{
	char *text = mem_fmt("%slibrary: gemm C = A * B\n---\n```hlsl\nvoid k() {}\n```\n%s", sample_front,
	                     sample_host);
	struct context *ctx = NULL;
	struct variant v;
	struct err e = ERR_INIT;
	is_int(context_parse("library", text, &ctx, &e), 0, "a context with a library %s", e.text);
	is_int(library_baseline_variant(ctx, params, &s->facts, &v, &e), 0, "its plan %s", e.text);
	ok(plan_is_library(v.plan) && v.plan->buffer_count == 3 && strcmp(v.plan->buffers[2].name, "C") == 0 &&
		   v.plan->ops[0].gemm.c == 2,
	   "is one product of the context's own arrays");
	struct context *without = sample_context(SAMPLE_RIGHT);
	struct variant none;
	is_int(library_baseline_variant(without, params, &s->facts, &none, &e), -ERR_NOT_FOUND,
	       "without the line there is no library plan");
	context_free(without);
	variant_fini(&v);
	context_free(ctx);
	free(text);
}

static void profile(struct sample *s, struct eval *ev, const struct context *root, const struct params *params)
{
	struct profile_request q = { .ctx = root, .baseline = root, .params = params, .facts = &s->facts, .probes = true };
	struct profile_result r;
	struct metric_list metrics;
	struct err e = ERR_INIT;
	int64_t checkpoint = sample_checkpoint(s, root);
	int known = 0;
	pid_t busy = fork();
	while (busy == 0)
		(void)*(volatile int *)&known;
	int rc = profile_run(ev, &q, s->db, checkpoint, NULL, &r, &e);
	kill(busy, SIGKILL);
	waitpid(busy, NULL, 0);
	is_int(rc, 0, "a profile %s", e.text);
	if (rc < 0)
		return;
	has_str(r.load, "other processes used", "it says what others used of the CPU that is the device");
	ok(r.cold.median > 0 && r.warm.median > 0 && r.cold.count >= 10, "cold %.0f ns, warm %.0f ns", r.cold.median,
	   r.warm.median);
	ok(isnan(r.energy.joules) && r.energy.note[0], "no energy, and why: %s", r.energy.note);
	ok(r.pipe && strcmp(r.pipe, "f32") == 0 && r.pipe_share > 0 && r.pipe_share < 1, "%.3f %% of the f32 ceiling",
	   100 * r.pipe_share);
	ok(r.bytes == 3 * 64 * 64 * 4 && r.copy_share > 0, "bytes that nobody declared are counted: %g", r.bytes);
	ok(r.library.name == NULL && r.evidence > 0, "no library; evidence");
	const struct probe_result *loads = &r.probes[WIRE_PROBE_LOADS], *barriers = &r.probes[WIRE_PROBE_BARRIERS];
	ok(loads->ratio > 0.2 && loads->low <= loads->ratio && loads->ratio <= loads->high,
	   "with loads for nothing it would be %.2f times as fast %s", loads->ratio, loads->why ? loads->why : "");
	ok(isnan(barriers->ratio) && barriers->why && strstr(barriers->why, "it has none"),
	   "without barriers there is nothing to try");
	for (size_t i = 0; i < figures_known_count; i++)
		known += isfinite(r.figures.values[i]) != 0;
	is_int(metric_list(s->db, checkpoint, s->facts.uuid, NULL, &metrics, &e), 0, "metrics");
	is_int((long long)metrics.count, 5 + known, "of what is known: two times, two shares, the kernel and the figures");
	metric_list_fini(&metrics);
	profile_result_fini(&r);
}

/* A matmul whose call number, counted in scratch that begins as poison, decides what it writes: `body` makes of acc what is
 * written, knowing `late` (later than the first few calls) and `watched` (it finds poison in the output). */
static struct context *counting(const char *body)
{
	struct context *ctx = NULL;
	struct err e = ERR_INIT;
	char *text = mem_fmt("%s---\n```hlsl\n[numthreads(BX, BY, 1)]\nvoid matmul(uint3 id : SV_DispatchThreadID) {\n"
	                     "  int row = id.y, col = id.x;\n  if (row >= n || col >= n) return;\n"
	                     "  uint calls = S[0] + 1, before = asuint(C[row*n+col]);\n"
	                     "  bool late = calls > 6 && calls < 1000000;\n"
	                     "  bool watched = before == 0xffffffffu || before == 0x5a5a5a5au;\n  float acc = 0;\n"
	                     "  for (int k = 0; k < n; k++) acc += A[row*n+k]*B[k*n+col];\n  %s\n  C[row*n+col] = acc;\n}\n"
	                     "[numthreads(1, 1, 1)]\nvoid mark(uint3 id : SV_DispatchThreadID) { S[0] = S[0] + 1; }\n```\n"
	                     "```lua host\n"
	                     "local S = alloc({\"u32\", 4}, \"S\")\n"
	                     "launch(\"matmul\", {cdiv(n,BX), cdiv(n,BY)}, {BX,BY}, {A,B,C,S,n})\n"
	                     "launch(\"mark\", 1, {1,1}, {S,n})\n```\n",
	                     sample_front, body);
	if (context_parse("counting", text, &ctx, &e) < 0)
		printf("# %s\n", e.text);
	free(text);
	return ctx;
}

/* Right at the first look, and wrong in what was timed: nobody is told how fast that is. */
static void after_timing(struct sample *s, struct eval *ev, const struct context *root, const struct params *params)
{
	static const struct { const char *body, *words, *name; bool right; } kernels[] = {
		{ "if (late && watched) acc += 0.0;", "", "one that counts and changes nothing", true },
		{ "if (late) acc *= 1.001;", "after timing, as the timed executions left it", "one that drifts", false },
		{ "if (late && !watched) acc *= 1.001;", "after timing, as the timed executions left it",
		  "one that drifts where nobody looks", false },
		{ "if (late) return;", "never written", "one that rests", false },
	};
	for (size_t i = 0; i < MEM_COUNT(kernels); i++) {
		struct context *ctx = counting(kernels[i].body);
		int64_t checkpoint = sample_checkpoint(s, ctx);
		struct profile_request q = { .ctx = ctx, .baseline = root, .params = params, .facts = &s->facts };
		struct compare_request pair = { .a = { sample_checkpoint(s, root), root, root, params, 0 },
		                                .b = { checkpoint, ctx, root, params, 0 }, .facts = &s->facts };
		struct profile_result r;
		struct trial_paired p;
		struct validation v;
		struct err e = ERR_INIT;
		char *text = params_text(params);
		int rc = profile_run(ev, &q, s->db, checkpoint, NULL, &r, &e);
		is_int(rc, kernels[i].right ? 0 : -ERR_WRONG, "%s: profiled", kernels[i].name);
		has_str(e.text, kernels[i].words, "%s: and why not", kernels[i].name);
		if (rc == 0)
			profile_result_fini(&r);
		validation_of(s->db, checkpoint, s->facts.uuid, text, &v, &e);
		is_int(v.verdict, kernels[i].right ? VALIDATION_PASSED : VALIDATION_FAILED, "%s: is evidence", kernels[i].name);
		if (kernels[i].right)
			has_str(v.details, "passed after timing, as the timed executions left it", "that says what was looked at");
		validation_fini(&v);
		e = (struct err)ERR_INIT;
		rc = compare_run(ev, &pair, s->db, NULL, &p, &e);
		is_int(rc, kernels[i].right ? 0 : -ERR_WRONG, "%s: compared", kernels[i].name);
		has_str(e.text, kernels[i].words, "%s: and why not", kernels[i].name);
		if (rc == 0)
			trial_paired_fini(&p);
		free(text);
		context_free(ctx);
	}
}

int main(int argc, char **argv)
{
	struct sample s;
	sample_worker(argc, argv);
	sample_init(&s);
	if (!s.ready) {
		SKIP(1, "no HLSL device");
		sample_fini(&s);
		return tap_done();
	}
	struct context *root = sample_context(SAMPLE_RIGHT);
	struct params *params = at_64();
	struct eval ev = { .pool = s.pool, .references = s.references };
	verdicts(&s, &ev, root, params);
	after_timing(&s, &ev, root, params);
	library(&s, params);
	profile(&s, &ev, root, params);
	params_free(params);
	context_free(root);
	sample_fini(&s);
	return tap_done();
}

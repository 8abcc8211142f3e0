/* core/tune/tune of a context that names a library, by a worker without compiler, device and library: what becomes of the library
 * says nothing of the winner, also where the worker that holds both does not survive it. */
#include "core/tune/tune.h"

#include "bench/fake_worker.h"
#include "core/sample.h"
#include "core/record/measurement.h"

/* What the library does, by $PEAKD_TEST_LIBRARY, when it is executed: all is well, it kills its worker, it never ends, the device
 * is too hot. */
enum { WELL, CRASHES, HANGS, HOT };

static uint64_t time_of(const char *defines, enum fake_timing how)
{
	(void)how;
	return strstr(defines, "X=2") ? 1200000 : 1000000;
}

/* The library's run is the one without a binary, and so without defines; it stands beside the winner's, and is executed while that
 * waits. */
static bool is_gone(unsigned device, enum wire_type type, unsigned count)
{
	int how = atoi(getenv("PEAKD_TEST_LIBRARY"));
	(void)device;
	(void)count;
	if (how == WELL || how == HOT || type != WIRE_EXECUTE || fake_runs[2] == NULL || strncmp(fake_runs[2], "at ", 3) != 0)
		return false;
	while (how == HANGS)
		pause();
	return true;
}

static bool is_hot(void)
{
	return atoi(getenv("PEAKD_TEST_LIBRARY")) == HOT;
}

static struct context *context_of(void)
{
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	if (context_parse(
		    "product",
		    "---\nkernel: k\nbackend: hlsl\ninputs:\n  n: int = {8}\n  A: f32[n, n] = random\n  B: f32[n, n] = random\n"
		    "  C: out f32[n, n]\ntune:\n  X: {1, 2}\nlibrary: gemm C = A * B\n---\n```hlsl\n[numthreads(64, 1, 1)]\n"
		    "void k(uint3 id : SV_DispatchThreadID) { C[id.x] = X; }\n```\n```lua host\n"
		    "launch(\"k\", {1}, {64}, {A, B, C, n})\n```\n",
		    &ctx, &e) < 0)
		printf("# %s\n", e.text);
	return ctx;
}

static void tuned(int how, const char *why, const char *what)
{
	struct sample s;
	struct tune_result t = { 0 };
	struct err e = ERR_INIT;
	char text[8];
	snprintf(text, sizeof text, "%d", how);
	setenv("PEAKD_TEST_LIBRARY", text, 1);
	sample_init(&s);
	struct context *ctx = context_of();
	struct params *size = params_new();
	params_set_int(size, "n", false, 8);
	struct eval ev = { .pool = s.pool, .references = s.references };
	struct tune_request q = { .ctx = ctx, .baseline = ctx, .facts = &s.facts, .size = size, .budget = 2,
				  .strategy = "exhaustive", .seed = 1 };
	is_int(tune_run(&ev, &q, s.db, sample_checkpoint(&s, ctx), "vendor", &t, &e), 0, "%s: the tune ends well %s", what, e.text);
	ok(t.top_count == 2 && params_find(t.top[0].params, "X")->i == 1 && t.wrong == 0,
	   "both configurations stand, the faster first (%zu)", t.top_count);
	if (why)
		has_str(t.library.why, why, "why there is no figure is told");
	else
		ok(t.library.name && t.library.why == NULL && t.library.ratio > 0, "it has a figure (%s)",
		   t.library.why ? t.library.why : "");
	tune_result_fini(&t);
	params_free(size);
	context_free(ctx);
	sample_fini(&s);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "worker") == 0) {
		fake_time = time_of;
		fake_gone = is_gone;
		fake_hot = is_hot;
		return fake_worker_main();
	}
	setenv("PEAKD_BENCH_FAKE", "0 0 1", 1);
	tuned(WELL, NULL, "a library that computes the same");
	tuned(CRASHES, "", "one that kills its worker");
	tuned(HANGS, "", "one that does not end");
	tuned(HOT, "clock 1200 MHz, 88 C, throttled: hardware-heat, other load 0%", "one on a device that is too hot");
	return tap_done();
}

/* A profile kernel by kernel: times of a plan with several operations on an HLSL device, and what counters say in words and
 * figures. */
#include "core/measure/kernels.h"

#include "core/measure/counters.h"
#include "core/sample.h"

static const char several[] =
	"---\nkernel: k\nbackend: hlsl\ninputs:\n  n: int = {65536}\n  A: f32[n] = random\n  C: out f32[n]\n---\n```hlsl\n"
	"[numthreads(64, 1, 1)]\nvoid brief(uint3 id : SV_DispatchThreadID) { T[id.x] = A[id.x] * 2; }\n"
	"[numthreads(64, 1, 1)]\nvoid slow(uint3 id : SV_DispatchThreadID) { float s = T[id.x]; for (int i = 0; i < 8000; i++) s = "
	"s * 0.5 + 1; C[id.x] = "
	"s; }\n```\n```lua host\nlocal T = alloc({f32, n}, \"T\")\nmemset(T, 0)\nlaunch(\"brief\", n / 64, 64, {A, T, n})\n"
	"launch(\"brief\", n / 64, 64, "
	"{A, T, n})\nlaunch(\"slow\", n / 64, 64, {T, C, n})\n```\n";

static void time_several(struct sample *s)
{
	struct err e = ERR_INIT;
	struct eval ev = { .pool = s->pool, .references = s->references };
	struct context *ctx = NULL;
	struct params *params = NULL;
	struct pool_worker *worker = NULL;
	struct kernel_profiles k = { .at = NULL };
	struct trial_input input = { .seed = 3, .poison = 0xFF };
	struct variant v;
	struct trial t;
	bool ready = context_parse("test.peak.md", several, &ctx, &e) == 0 &&
		     params_parse(ctx, "n=65536", true, &params, &e) == 0 &&
		     variant_build(&ev, ctx, params, &s->facts, &v, &e) == 0 &&
		     pool_take_device(s->pool, &s->facts, &(struct pool_wish){ .cancel = NULL }, &worker, &e) == 0 &&
		     trial_begin(&t, worker, &v, &e) == 0 && trial_execute(&t, &input, EVAL_EXECUTE_NS, NULL, &e) == 0;
	ok(ready, "a plan of four operations is executed %s", e.text);
	if (!ready)
		exit(1);
	is_int(kernels_time(&t, 1e6, &k, &e), 0, "its operations are timed %s", e.text);
	is_int((long long)k.count, 3, "launches of one kernel are one row");
	is_str(k.count ? k.at[0].name : NULL, "slow", "the longest comes first");
	double shares = 0;
	for (size_t i = 0; i < k.count; i++) {
		shares += k.at[i].share;
		printf("# %s: %zu launches, %.1f us\n", k.at[i].name, k.at[i].launches, k.at[i].ns / 1e3);
		ok(k.at[i].ns > 0, "%s takes time", k.at[i].name);
		is_int((long long)k.at[i].launches, strcmp(k.at[i].name, "brief") == 0 ? 2 : 1, "%s: its launches are counted",
		       k.at[i].name);
	}
	ok(fabs(shares - 1) < 1e-9, "shares add up to all of the time");
	is_int(trial_execute(&t, &input, EVAL_EXECUTE_NS, NULL, &e), 0, "afterwards the plan is executed as before %s", e.text);
	kernels_fini(&k);
	trial_end(&t);
	pool_give(worker);
	variant_fini(&v);
	params_free(params);
	context_free(ctx);
}

static void tell_counters(void)
{
	struct wire_counter list[] = {
		{ (char *)"k", (char *)"dram_read", 3e9 },
		{ (char *)"k", (char *)"dram_written", 1e9 },
		{ (char *)"k", (char *)"dram_percent", 71 },
		{ (char *)"k", (char *)"load_sectors", 3.75e8 },
		{ (char *)"k", (char *)"loads", 1e8 },
		{ (char *)"k", (char *)"instructions", 4e9 },
		{ (char *)"k", (char *)"latency", 10 },
		{ (char *)"k", (char *)"stalled_long_scoreboard", 6 },
		{ (char *)"k", (char *)"stalled_lg_throttle", 1 },
		{ (char *)"k", (char *)"shared_passes", 300 },
		{ (char *)"k", (char *)"bank_conflicts", 200 },
		{ (char *)"other", (char *)"dram_read", 7 },
	};
	struct wire_stall stalls[] = { { (char *)"k", (char *)"device", 12, (char *)"long_scoreboard", 60 },
				       { (char *)"k", (char *)"device", 12, (char *)"selected", 25 },
				       { (char *)"k", (char *)"", 0, (char *)"barrier", 15 } };
	struct wire_counters c = { .counters = list, .counter_count = MEM_COUNT(list), .stalls = stalls,
				   .stall_count = MEM_COUNT(stalls) };
	struct figures f;
	struct buf text = BUF_INIT;
	figures_init(&f);
	figures_set(&f, "load_efficiency", 0.5);
	counters_figures(&c, "k", &f);
	ok(figures_get(&f, "dram_bytes") == 4e9, "bytes read and written are added");
	ok(fabs(figures_get(&f, "reuse") - 4) < 1e-9, "sectors fetched over bytes that came from memory are the reuse");
	ok(fabs(figures_get(&f, "stalled_memory") - 0.7) < 1e-9, "stalls are shares of a warp's time");
	ok(fabs(figures_get(&f, "bank_conflicts") - 3) < 1e-9, "passes over shared memory against those without conflicts");
	struct sass_mix mix = { .instructions = 100, .in_loops = 40, .flops = 20, .load_bytes = 8, .store_bytes = NAN };
	struct figures both;
	figures_init(&both);
	counters_mixed_figures(&c, "k", &mix, &both);
	ok(figures_get(&both, "flops_per_instruction") == 0.5, "operations for each instruction are those of the loops");
	ok(fabs(figures_get(&both, "load_efficiency") - 8 / 3.75) < 1e-9, "bytes that lanes ask for over sectors");
	ok(isnan(figures_get(&both, "store_efficiency")), "without stores there is no efficiency of them");
	ok(fabs(figures_get(&both, "loads_per_flop") - 32 * 1e8 / 2e9) < 1e-9, "loads for each operation");
	ok(counters_flops(&c, "k", &mix) == 2e9, "operations follow from executed instructions");
	figures_fini(&both);
	ok(figures_get(&f, "load_efficiency") == 0.5, "an interpreter's figure stays");
	ok(isnan(figures_get(&f, "l2_hit")), "a counter that is not there gives no figure");
	counters_describe(&c, "k", &text);
	is_str(buf_text(&text), "DRAM 4 GB (busy 71 %)", "traffic in words");
	buf_clear(&text);
	counters_waits(&c, "k", &text);
	is_str(buf_text(&text), "long_scoreboard 60 % (device:12), barrier 15 %", "stalls in words, without those that issue");
	buf_clear(&text);
	counters_waits(&c, "none", &text);
	is_str(buf_text(&text), "", "nothing of a kernel without samples");
	buf_fini(&text);
	figures_fini(&f);
}

int main(int argc, char **argv)
{
	struct sample s;
	sample_worker(argc, argv);
	tell_counters();
	sample_init(&s);
	if (s.ready)
		time_several(&s);
	else
		SKIP(1, "no HLSL device");
	sample_fini(&s);
	return tap_done();
}

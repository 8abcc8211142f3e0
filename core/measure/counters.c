/* counters: see counters.h. */
#include "core/measure/counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/judge/check.h"
#include "core/workers/process.h"

enum { LANES = 32, SECTOR = 32, WAITS = 5 };

static void close_both(struct wire_counters *c, const char *why)
{
	*c = (struct wire_counters){ .counters_closed = mem_str(why), .stalls_closed = mem_str(why) };
}

static int read_on(struct pool_worker *worker, const struct variant *v, struct wire_counters *ret_counters, struct err *e)
{
	struct trial_input input = { .seed = check_seed(), .poison = TRIAL_POISON };
	struct trial t;
	int rc = trial_begin(&t, worker, v, e);
	if (rc < 0)
		return rc;
	rc = trial_execute(&t, &input, EVAL_EXECUTE_NS, NULL, e);
	if (rc == 0)
		rc = trial_counters(&t, ret_counters, e);
	trial_end(&t);
	return rc;
}

int counters_read(const struct eval *ev, const struct context *ctx, const struct params *params, const struct facts *facts,
		  struct wire_counters *ret_counters, struct err *e)
{
	const char *off = getenv("PEAKD_COUNTERS");
	struct err why = ERR_INIT;
	struct eval lines = *ev;
	struct variant v;
	struct pool_worker *worker = NULL;
	lines.line_info = true;
	if (strcmp(facts->backend, "cuda") != 0) {
		close_both(ret_counters, "only NVIDIA's devices have this view");
		return 0;
	}
	if (off && strcmp(off, "off") == 0) {
		close_both(ret_counters, "PEAKD_COUNTERS=off forbids them");
		return 0;
	}
	int rc = variant_build(&lines, ctx, params, facts, &v, &why);
	if (rc == 0) {
		rc = eval_take_device(ev, facts, process_counters, &worker, &why);
		if (rc == 0)
			rc = read_on(worker, &v, ret_counters, &why);
		pool_give(worker);
		variant_fini(&v);
	}
	if (rc < 0 && (rc = err_if_cancelled(&why, e)) == 0)
		close_both(ret_counters, why.text);
	return rc;
}

double counters_get(const struct wire_counters *c, const char *kernel, const char *name)
{
	for (size_t i = 0; i < c->counter_count; i++)
		if (strcmp(c->counters[i].kernel, kernel) == 0 && strcmp(c->counters[i].name, name) == 0)
			return c->counters[i].value;
	return NAN;
}

/* --- figures ---------------------------------------------------------------------------------------------------------------- */

void counters_figures(const struct wire_counters *c, const char *kernel, struct figures *f)
{
	static const struct {
		const char *figure, *counter;
		double factor;
	} same[] = {
		{ "dram_bytes", "dram_read", 1 },
		{ "dram_percent", "dram_percent", 1 },
		{ "l2_traffic", "l2_traffic", 1 },
		{ "l2_hit", "l2_hit_percent", 0.01 },
		{ "l1_traffic", "l1_traffic", 1 },
		{ "l1_hit", "l1_hit_percent", 0.01 },
		{ "achieved_occupancy", "active_percent", 0.01 },
		{ "issue_percent", "issue_percent", 1 },
		{ "tensor_percent", "tensor_percent", 1 },
		{ "fma_percent", "fma_percent", 1 },
		{ "lsu_percent", "lsu_percent", 1 },
		{ "instructions", "instructions", 1 },
	};
	static const struct {
		const char *figure, *stalls[2];
	} shares[] = {
		{ "stalled_memory", { "stalled_long_scoreboard", "stalled_lg_throttle" } },
		{ "stalled_shared", { "stalled_short_scoreboard", "stalled_mio_throttle" } },
		{ "stalled_barrier", { "stalled_barrier", NULL } },
		{ "stalled_arithmetic", { "stalled_math_pipe_throttle", "stalled_wait" } },
	};
	double latency = counters_get(c, kernel, "latency"), passes = counters_get(c, kernel, "shared_passes");
	for (size_t i = 0; i < MEM_COUNT(same); i++)
		figures_add(f, same[i].figure, same[i].factor * counters_get(c, kernel, same[i].counter));
	if (isfinite(counters_get(c, kernel, "dram_written")))
		figures_set(f, "dram_bytes", figures_get(f, "dram_bytes") + counters_get(c, kernel, "dram_written"));
	for (size_t i = 0; i < MEM_COUNT(shares); i++) {
		double sum = counters_get(c, kernel, shares[i].stalls[0]);
		if (shares[i].stalls[1])
			sum += counters_get(c, kernel, shares[i].stalls[1]);
		figures_add(f, shares[i].figure, sum / latency);
	}
	figures_add(f, "staged", counters_get(c, kernel, "shared_stores") / counters_get(c, kernel, "loads"));
	figures_add(f, "atomics_per_thread", counters_get(c, kernel, "reductions") / counters_get(c, kernel, "warps"));
	/* From cold caches every byte comes from memory once. */
	figures_add(f, "reuse", SECTOR * counters_get(c, kernel, "load_sectors") / counters_get(c, kernel, "dram_read"));
	if (passes > 0)
		figures_add(f, "bank_conflicts", passes / fmax(1, passes - counters_get(c, kernel, "bank_conflicts")));
	else if (passes == 0)
		figures_add(f, "bank_conflicts", 1);
}

double counters_flops(const struct wire_counters *c, const char *kernel, const struct sass_mix *m)
{
	return counters_get(c, kernel, "tensor_percent") > 1 ? NAN : sass_flops(m) * counters_get(c, kernel, "instructions");
}

void counters_mixed_figures(const struct wire_counters *c, const char *kernel, const struct sass_mix *m, struct figures *f)
{
	double flops = counters_flops(c, kernel, m);
	figures_add(f, "flops_per_instruction", sass_flops(m));
	figures_add(f, "load_efficiency",
		    counters_get(c, kernel, "loads") * m->load_bytes / counters_get(c, kernel, "load_sectors"));
	figures_add(f, "store_efficiency",
		    counters_get(c, kernel, "stores") * m->store_bytes / counters_get(c, kernel, "store_sectors"));
	figures_add(f, "loads_per_flop", LANES * counters_get(c, kernel, "loads") / flops);
	figures_add(f, "shared_per_flop",
		    LANES * (counters_get(c, kernel, "shared_loads") + counters_get(c, kernel, "shared_stores")) / flops);
}

/* --- words ------------------------------------------------------------------------------------------------------------------ */

static void add_bytes(const char *level, double bytes, double percent, const char *of, struct buf *out)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	size_t u = 0;
	if (!isfinite(bytes))
		return;
	for (; bytes >= 1000 && u + 1 < MEM_COUNT(units); u++)
		bytes /= 1000;
	buf_addf(out, "%s%s %.3g %s", out->len ? ", " : "", level, bytes, units[u]);
	if (isfinite(percent))
		buf_addf(out, " (%s%.0f %%)", of, percent);
}

void counters_describe(const struct wire_counters *c, const char *kernel, struct buf *out)
{
	static const struct {
		const char *word, *counter;
	} busy[] = { { "tensor", "tensor_percent" },  { "FMA", "fma_percent" },           { "ALU", "alu_percent" },
		     { "load/store", "lsu_percent" }, { "issue slots", "issue_percent" }, { "resident warps", "active_percent" } };
	struct buf text = BUF_INIT;
	add_bytes("DRAM", counters_get(c, kernel, "dram_read") + counters_get(c, kernel, "dram_written"),
		  counters_get(c, kernel, "dram_percent"), "busy ", &text);
	add_bytes("L2", counters_get(c, kernel, "l2_traffic"), counters_get(c, kernel, "l2_hit_percent"), "hits ", &text);
	add_bytes("L1", counters_get(c, kernel, "l1_traffic"), counters_get(c, kernel, "l1_hit_percent"), "hits ", &text);
	const char *before = text.len ? "; busy: " : "busy: ";
	for (size_t i = 0; i < MEM_COUNT(busy); i++) {
		double v = counters_get(c, kernel, busy[i].counter);
		if (!isfinite(v))
			continue;
		buf_addf(&text, "%s%s %.0f %%", before, busy[i].word, v);
		before = ", ";
	}
	buf_adds(out, buf_text(&text));
	buf_fini(&text);
}

void counters_waits(const struct wire_counters *c, const char *kernel, struct buf *out)
{
	uint64_t all = 0;
	size_t told = 0;
	for (size_t i = 0; i < c->stall_count; i++)
		if (strcmp(c->stalls[i].kernel, kernel) == 0)
			all += c->stalls[i].samples;
	/* They come with the most frequent first. An instruction that is issued waits for nothing. */
	for (size_t i = 0; i < c->stall_count && told < WAITS; i++) {
		const struct wire_stall *s = &c->stalls[i];
		if (strcmp(s->kernel, kernel) != 0 || strcmp(s->reason, "selected") == 0)
			continue;
		buf_addf(out, "%s%s %.0f %%", told++ ? ", " : "", s->reason, 100 * (double)s->samples / (double)all);
		if (s->line)
			buf_addf(out, " (%s:%u)", s->region, s->line);
	}
}

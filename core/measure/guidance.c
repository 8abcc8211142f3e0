/* guidance: see guidance.h. */
#include "core/measure/guidance.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "core/measure/ceiling.h"
#include "core/measure/difference.h"
#include "core/measure/occupancy.h"
#include "core/record/checkpoint.h"
#include "core/record/metric.h"

/* --- the plan and its compiler -------------------------------------------------------------------------------------- */

static double threads_of(const struct plan_launch *l)
{
	return (double)l->block[0] * l->block[1] * l->block[2];
}

static double blocks_of(const struct plan_launch *l)
{
	return (double)l->grid[0] * l->grid[1] * l->grid[2];
}

/* The launch with the most threads. NULL: none. */
static const struct plan_launch *largest(const struct plan *plan, size_t *ret_launches)
{
	const struct plan_launch *found = NULL;
	*ret_launches = 0;
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct plan_launch *l = &plan->ops[i].launch;
		if (plan->ops[i].kind != PLAN_OP_LAUNCH)
			continue;
		++*ret_launches;
		if (found == NULL || blocks_of(l) * threads_of(l) > blocks_of(found) * threads_of(found))
			found = l;
	}
	return found;
}

static void set_known(struct figures *f, const char *name, int64_t value)
{
	if (value >= 0)
		figures_set(f, name, (double)value);
}

static void of_plan(const struct guidance_source *s, const struct profile_result *r, struct figures *f)
{
	size_t launches;
	const struct plan_launch *l = largest(s->variant->plan, &launches);
	double bytes = 0;
	for (size_t i = 0; i < s->variant->plan->buffer_count; i++)
		bytes += (double)s->variant->plan->buffers[i].bytes;
	figures_set(f, "working_set", bytes);
	figures_set(f, "launches", (double)launches);
	figures_set(f, "shares_cpu", s->facts->shares_cpu);
	long cache = s->facts->shares_cpu ? sysconf(_SC_LEVEL3_CACHE_SIZE) : 0;
	if (s->facts->l2_bytes || cache > 0)
		figures_set(f, "l2_bytes", s->facts->l2_bytes ? (double)s->facts->l2_bytes : (double)cache);
	long cores = s->facts->shares_cpu ? sysconf(_SC_NPROCESSORS_ONLN) : 0;
	if (s->facts->units || cores > 0)
		figures_set(f, "units", s->facts->units ? s->facts->units : (double)cores);
	set_known(f, "registers", r->registers);
	set_known(f, "shared_bytes", r->shared);
	set_known(f, "spill_bytes", r->spill);
	if (l == NULL)
		return;
	figures_set(f, "threads", threads_of(l));
	figures_set(f, "blocks", blocks_of(l));
	struct occupancy o;
	struct occupancy_use use = { .threads = (uint32_t)threads_of(l),
				     .registers = r->registers >= 0 ? (uint32_t)r->registers : WIRE_UNKNOWN,
				     .shared = r->shared > 0 ? (uint32_t)r->shared : 0,
				     .grid = (uint64_t)blocks_of(l) };
	if (!occupancy_of(s->facts, &use, &o))
		return;
	figures_set(f, "occupancy", o.share);
	figures_set(f, "waves", o.waves);
	figures_set(f, "tail", o.tail);
	f->limiter = o.limiter;
}

/* --- the interpreter ------------------------------------------------------------------------------------------------ */

/* Sums over all launches of one execution, each scaled to all of its groups. */
struct counts {
	double threads, instructions, flops, barriers, groups, atomics, loads, load_bytes, load_fetched, read_once, store_bytes,
		store_fetched, shared, shared_requests, shared_passes;
};

static void add_counts(struct counts *to, const struct wire_launch_count *c)
{
	double k = c->counted ? (double)c->groups / (double)c->counted : 1;
	to->groups += (double)c->groups;
	to->threads += (double)(c->groups * c->threads);
	to->instructions += k * (double)c->instructions;
	to->flops += k * (double)c->flops;
	to->barriers += k * (double)c->barriers;
	to->atomics += k * (double)c->atomics;
	to->loads += k * (double)c->loads;
	to->load_bytes += k * (double)c->load_bytes;
	to->load_fetched += k * 32 * (double)c->load_sectors;
	to->read_once += k * (double)c->read_once;
	to->store_bytes += k * (double)c->store_bytes;
	to->store_fetched += k * 32 * (double)c->store_sectors;
	to->shared += k * (double)c->shared;
	to->shared_requests += k * (double)c->shared_requests;
	to->shared_passes += k * (double)c->shared_passes;
}

/* b may be 0: then a counts alone. */
static void set_ratio(struct figures *f, const char *name, double a, double b, double without)
{
	figures_set(f, name, b > 0 ? a / b : a > 0 ? INFINITY : without);
}

static void of_counts(const struct guidance_source *s, struct profile_result *r, struct figures *f)
{
	struct counts c = { 0 };
	double inputs = figures_get(f, "working_set");
	for (size_t i = 0; i < s->counted->count; i++)
		add_counts(&c, &s->counted->at[i]);
	figures_set(f, "instructions", c.instructions);
	set_ratio(f, "flops_per_instruction", c.flops, c.instructions, 0);
	set_ratio(f, "load_width", c.load_bytes, c.loads, NAN);
	set_ratio(f, "load_efficiency", c.load_bytes, c.load_fetched, 1);
	set_ratio(f, "store_efficiency", c.store_bytes, c.store_fetched, 1);
	set_ratio(f, "reuse", c.load_fetched, c.read_once, 1);
	set_ratio(f, "loads_per_flop", c.loads, c.flops, 0);
	set_ratio(f, "shared_per_flop", c.shared, c.flops, 0);
	set_ratio(f, "bank_conflicts", c.shared_passes, c.shared_requests, 1);
	figures_set(f, "barriers", c.barriers / c.groups);
	figures_set(f, "instructions_per_barrier", c.instructions / c.threads / (c.barriers / c.groups + 1));
	figures_set(f, "atomics_per_thread", c.atomics / c.threads);
	/* Groups that were not counted may read what others read, too. */
	if (isnan(r->flops))
		r->flops = c.flops;
	if (isnan(r->bytes))
		r->bytes = fmin(c.read_once, inputs) + fmin(c.store_bytes, inputs);
}

/* --- the roofs ------------------------------------------------------------------------------------------------------ */

static void of_roofs(const struct guidance_source *s, const struct profile_result *r, struct figures *f)
{
	double seconds = r->cold.median / 1e9, pipe = r->pipe ? ceiling_of(s->ceilings, r->pipe) : NAN,
	       copy = ceiling_of(s->ceilings, "copy"), launch = ceiling_of(s->ceilings, "launch");
	figures_set(f, "time_us", r->cold.median / 1e3);
	figures_set(f, "warm_us", r->warm.median / 1e3);
	figures_set(f, "joules", r->energy.joules);
	figures_set(f, "watts", r->energy.watts);
	figures_set(f, "gflops", r->flops / seconds / 1e9);
	figures_set(f, "gbs", r->bytes / seconds / 1e9);
	figures_set(f, "intensity", r->flops / r->bytes);
	figures_set(f, "ridge", pipe / copy);
	figures_set(f, "pipe_percent", 100 * r->flops / seconds / pipe);
	figures_set(f, "copy_percent", 100 * r->bytes / seconds / copy);
	figures_set(f, "launch_percent", 100 * figures_get(f, "launches") / launch / seconds);
	figures_set(f, "tensor_permitted", s->spec->precision == SPEC_TENSOR);
	if (r->library.name && !r->library.why)
		figures_set(f, "library_percent", 100 * r->library.paired.ratio);
}

void guidance_figures(const struct guidance_source *s, struct profile_result *r)
{
	struct figures *f = &r->figures;
	figures_init(f);
	of_plan(s, r, f);
	if (s->counted->count)
		of_counts(s, r, f);
	else
		f->uncounted = mem_str(s->uncounted);
}

void guidance_roofs(const struct guidance_source *s, struct profile_result *r)
{
	of_roofs(s, r, &r->figures);
	r->pipe_share = figures_get(&r->figures, "pipe_percent") / 100;
	r->copy_share = figures_get(&r->figures, "copy_percent") / 100;
}

void guidance_ask(const struct advisors *advisors, struct profile_result *r)
{
	enum advice_class class = advice_classify(&r->figures, &r->why);
	r->class = class < ADVICE_CLASSES ? advice_class_names[class] : NULL;
	if (advisors)
		advice_ask(advisors, &r->figures, class, &r->advice, &r->advice_count, &r->closed);
}

/* --- what was profiled before --------------------------------------------------------------------------------------- */

/* "- by kernel: sum 271 us, scale 13.2 us" where there are several. */
static int add_kernels(struct db *db, int64_t checkpoint, const char *device, const char *params, struct buf *out, struct err *e)
{
	size_t prefix = strlen(GUIDANCE_KERNEL), found = 0;
	struct metric_list all;
	struct buf text = BUF_INIT;
	int rc = metric_list(db, checkpoint, device, params, &all, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < all.count; i++)
		if (strncmp(all.at[i].name, GUIDANCE_KERNEL, prefix) == 0)
			buf_addf(&text, "%s%s %.4g us", found++ ? ", " : "", all.at[i].name + prefix, all.at[i].value / 1e3);
	if (found > 1)
		buf_addf(out, "- by kernel: %s\n", buf_text(&text));
	buf_fini(&text);
	metric_list_fini(&all);
	return 0;
}

/* Registers, spills, shared memory and occupancy, those that are known, on one line. */
static void add_resources(const struct figures *f, struct buf *out)
{
	static const struct {
		const char *figure, *what;
		double factor;
	} rows[] = {
		{ "registers", "registers a thread", 1 },
		{ "spill_bytes", "bytes spilled a thread", 1 },
		{ "shared_bytes", "bytes of shared memory a block", 1 },
		{ "occupancy", "% occupancy", 100 },
		{ "waves", "waves of blocks", 1 },
		{ "gflops", "GFLOP/s", 1 },
		{ "gbs", "GB/s", 1 },
	};
	bool first = true;
	for (size_t i = 0; i < MEM_COUNT(rows); i++) {
		double v = figures_get(f, rows[i].figure);
		if (!isfinite(v))
			continue;
		buf_addf(out, "%s%.3g %s", first ? "- " : ", ", v * rows[i].factor, rows[i].what);
		first = false;
	}
	buf_adds(out, first ? "" : "\n");
}

/* "- since its parent's profile: registers 32 → 64, …" where both were profiled on the device. */
static int add_changes(struct db *db, int64_t checkpoint, const char *device, const struct figures *now, struct buf *out,
		       struct err *e)
{
	enum { TOLD = 6 };
	struct checkpoint c;
	struct figures before;
	struct differences list = { .at = NULL };
	char *params = NULL;
	int rc = checkpoint_get(db, checkpoint, &c, e);
	if (rc < 0)
		return rc;
	rc = c.parent_count ? figures_recall(db, c.parents[0], device, &before, &params, e) : 0;
	if (rc == 0 && c.parent_count) {
		difference_figures(&before, now, &list);
		difference_sort(&list);
		if (params && list.count) {
			buf_adds(out, "- since its parent's profile: ");
			difference_describe(&list, TOLD, out);
			buf_addc(out, '\n');
		}
		difference_fini(&list);
		figures_fini(&before);
		free(params);
	}
	checkpoint_fini(&c);
	return rc;
}

int guidance_recall(struct db *db, int64_t checkpoint, const char *device, const struct advisors *advisors, char **ret_text,
		    struct err *e)
{
	struct profile_result r = { .class = NULL };
	struct buf out = BUF_INIT;
	char *params = NULL;
	int rc = figures_recall(db, checkpoint, device, &r.figures, &params, e);
	*ret_text = NULL;
	if (params) {
		guidance_ask(advisors, &r);
		buf_addf(&out, "- %s: %.4g us", params, figures_get(&r.figures, "time_us"));
		if (r.class)
			buf_addf(&out, "; limited by %s (%s)", r.class, r.why);
		buf_addc(&out, '\n');
		rc = add_kernels(db, checkpoint, device, params, &out, e);
		add_resources(&r.figures, &out);
		if (rc == 0)
			rc = add_changes(db, checkpoint, device, &r.figures, &out, e);
		for (size_t i = 0; i < r.advice_count; i++)
			buf_addf(&out, "- %s: %s. %s\n", r.advice[i].tool, r.advice[i].evidence, r.advice[i].text);
		*ret_text = rc < 0 ? NULL : buf_steal(&out);
	}
	free(params);
	profile_result_fini(&r);
	buf_fini(&out);
	return rc;
}

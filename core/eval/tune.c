/* tune: the search of one tune; see tune.h. Lanes build points (tune_lanes.h), device threads check and time them
 * (tune_devices.h), the calling thread records; tune_leaders.c ends it. */
#include "core/eval/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/eval/check.h"
#include "core/eval/tune_devices.h"
#include "core/eval/tune_inside.h"
#include "core/record/checkpoint.h"

enum { BUDGET = 128, RUNS_LOOKED_AT = 8, PRIOR_WEIGHT = 3 };

/* Searching needs an order, not a figure: few samples. */
static const struct trial_timing searching = { .min_samples = 3, .max_samples = 12, .rse = 0.02, .cap_ns = CLOCK_S,
                                              .warm_up_ns = 10 * CLOCK_MS };
#define GIVE_UP 1.6 /* times the best so far */

/* What a configuration is taken to cost before anything is known: seconds. Guesses, corrected by the first few. */
#define GUESS_CPU_S 1.0 /* devices that share the CPU: compiling and timing take turns */
#define GUESS_GPU_S 0.4

/* --- what devices say ------------------------------------------------------------------------------------------------------ */

/* Keeps the variant when it is among the fastest so far. */
static void offer_leader(struct tuner *u, struct tune_built *b, double median)
{
	size_t at = u->leader_count;
	while (at > 0 && median < u->leaders[at - 1].median_ns)
		at--;
	if (at >= TUNE_TOP)
		return;
	if (u->leader_count == TUNE_TOP) {
		params_free(u->leaders[TUNE_TOP - 1].params);
		variant_fini(&u->leaders[TUNE_TOP - 1].variant);
		u->leader_count--;
	}
	memmove(&u->leaders[at + 1], &u->leaders[at], (u->leader_count - at) * sizeof u->leaders[0]);
	u->leaders[at] = (struct leader){ .params = b->params, .variant = b->variant, .median_ns = median };
	u->leader_count++;
	b->params = NULL;
	b->variant = (struct variant){ 0 };
}

static double best_ns(const struct tuner *u)
{
	return u->leader_count ? u->leaders[0].median_ns : INFINITY;
}

/* A point that passed its check and was timed. Without evidence, so that nobody quotes it: it is an order to search by, of few samples.
 * Leaders get figures. */
static int keep_timed(struct tuner *u, struct tune_tried *t, double *ret_ns, struct err *e)
{
	struct tune_built *b = t->built;
	if (t->times.median < u->floor_ns)
		return tune_record_out(u, t->facts, b->params, &b->variant, MEASUREMENT_IMPOSSIBLE,
		                       "faster than the hardware can be: work is missing", e);
	int rc = tune_record(u, t->facts, b->params, &b->variant, MEASUREMENT_OK, &t->times, 0,
	                     t->times.hopeless ? "search, given up early" : "search", e);
	u->result.timed++;
	*ret_ns = t->times.median;
	if (!t->times.hopeless)
		offer_leader(u, b, t->times.median);
	return rc;
}

/* Records what a device said. *ret_ns is INFINITY when the point is out. */
static int conclude(struct tuner *u, struct tune_tried *t, double *ret_ns, struct err *e)
{
	struct tune_built *b = t->built;
	int rc = 0;
	*ret_ns = INFINITY;
	if (t->broken.code != ERR_NONE) {
		*e = t->broken;
		return -(int)e->code;
	}
	if (t->checked)
		rc = check_record(u->db, u->checkpoint, t->facts, b->params, "input", u->seed, &t->check, u->job, NULL, e);
	if (rc < 0)
		return rc;
	if (t->checked && !t->check.passed)
		return tune_record_out(u, t->facts, b->params, &b->variant, tune_status(t->check.code), t->check.reason, e);
	if (t->why.code != ERR_NONE)
		return tune_record_out(u, t->facts, b->params, &b->variant, tune_status(t->why.code), t->why.text, e);
	return keep_timed(u, t, ret_ns, e);
}

static void show_time(double ns, char text[32])
{
	if (!isfinite(ns))
		snprintf(text, 32, "none yet");
	else if (ns < 1e6)
		snprintf(text, 32, "%.3g us", ns / 1e3);
	else
		snprintf(text, 32, "%.4g ms", ns / 1e6);
}

static void show_duration(double seconds, char text[32])
{
	if (seconds < 90)
		snprintf(text, 32, "%.0f s", seconds);
	else
		snprintf(text, 32, "%.0f min", seconds / 60);
}

/* Seconds that so many further configurations are likely to take: as those before them did, the estimate weighing as much as a
 * few of them. */
static double remaining(const struct tuner *u, size_t more)
{
	double spent = (double)(clock_now() - u->started) / 1e9, tried = (double)u->result.tried;
	double prior = u->planned ? u->result.estimate_s / (double)u->planned : 0;
	return (spent + prior * PRIOR_WEIGHT) / (tried + PRIOR_WEIGHT) * (double)more;
}

static void report(const struct tuner *u)
{
	const struct tune_result *r = &u->result;
	char best[32], left[32];
	show_time(best_ns(u), best);
	show_duration(remaining(u, u->planned > r->tried ? u->planned - r->tried : 0), left);
	eval_progress(u->ev, (double)r->tried, (double)u->planned, "tune %zu/%zu, best %s, %zu pruned, %zu failed, %s left",
	              r->tried, u->planned, best, r->pruned, r->refused + r->wrong + r->broken, left);
}

/* Runs until the search has nothing more. */
static int record_lane(struct tuner *u, struct tune_lanes *lanes, struct tune_devices *devices, struct err *e)
{
	struct tune_tried *t;
	int rc = 0;
	while (rc == 0 && (t = tune_devices_take(devices)) != NULL) {
		double ns;
		size_t point = t->built->point;
		rc = conclude(u, t, &ns, e);
		u->result.tried++;
		tune_devices_best(devices, best_ns(u));
		tune_lanes_tell(lanes, point, ns);
		tune_tried_free(t);
		if (rc == 0)
			report(u);
		if (rc == 0)
			rc = cancel_check(u->ev->cancel, e);
	}
	/* Lanes that were cancelled end as if the search were over. */
	return rc < 0 ? rc : cancel_check(u->ev->cancel, e);
}

/* Compile lanes, device lanes and this thread, which records. */
static int search_all(struct tuner *u, const struct tune_lanes_config *lanes_config, struct err *e)
{
	const struct tune_request *q = u->q;
	struct tune_lanes *lanes = NULL;
	struct tune_devices *devices = NULL;
	struct tune_devices_config config = {
		.ev = u->ev, .root = q->root, .facts = q->facts, .count = q->device_count ? q->device_count : 1, .first = u->device,
		.timing = searching, .give_up = q->give_up > 0 ? q->give_up : GIVE_UP, .seed = u->seed, .poison = TUNE_POISON,
	};
	config.timing.warm = q->warm;
	int rc = tune_lanes_new(lanes_config, &lanes, e);
	config.lanes = lanes;
	if (rc == 0)
		rc = tune_devices_new(&config, &devices, e);
	if (rc == 0)
		rc = record_lane(u, lanes, devices, e);
	if (lanes)
		tune_lanes_stop(lanes);
	if (devices) {
		struct tune_devices_time time = tune_devices_time(devices);
		u->result.device_ns = time.working;
		u->result.starving_ns = time.starving;
		u->result.device_lasted_ns = time.lasted;
		if (*tune_devices_lost(devices))
			eval_progress(u->ev, (double)u->result.tried, (double)u->planned, "lost on the way: %s", tune_devices_lost(devices));
	}
	tune_devices_free(devices);
	tune_lanes_free(lanes);
	return rc;
}

/* --- before ----------------------------------------------------------------------------------------------------------------- */

/* The fastest that the arithmetic could be done: flops over the theoretical peak of the fastest pipe that precision permits. */
static double floor_of(const struct tune_request *q)
{
	const struct spec *spec = context_spec(q->ctx);
	const struct facts *f = q->facts;
	double peak = f->peak_f32, flops = spec_flops(spec, q->size);
	if (spec->precision == SPEC_TENSOR)
		peak = fmax(peak, strcmp(spec->precision_in, "f16") == 0 || strcmp(spec->precision_in, "bf16") == 0
		                  ? f->peak_tensor_f16 : f->peak_tensor_tf32);
	else if (spec_roundoff(spec) > dtype_roundoff(DTYPE_F32))
		peak *= 4; /* packed half arithmetic, at most twice per lane and per clock of fp32 on any part known to us */
	return peak > 0 && isfinite(flops) ? flops / peak * 1e9 : 0;
}

static int begin_run(struct tuner *u, const char *strategy, struct err *e)
{
	char *size = params_text(u->q->size);
	char *settings = mem_fmt("sizes: %s; budget: %zu; seed: %llu; %s", size, u->planned, (unsigned long long)u->q->seed,
	                         u->q->warm ? "warm" : "cold");
	struct measurement_run run = { .checkpoint = u->checkpoint, .device = u->q->facts->uuid,
	                               .strategy = strategy, .settings = settings,
	                               .planned = (int64_t)u->planned, .job = u->job };
	int rc = measurement_run_begin(u->db, &run, e);
	u->result.run = run.id;
	free(size);
	free(settings);
	return rc < 0 ? rc : 0;
}

static void prefer_all(struct search *search, const struct tunespace *space, const struct tune_request *q)
{
	for (size_t i = 0; i < q->prefer_count; i++) {
		size_t point = tunespace_nearest(space, q->prefer[i]);
		if (point != SEARCH_NONE)
			search_prefer(search, point);
	}
}

/* Seconds a configuration of the checkpoint's newest complete run on this device took; 0 without one. */
static double seconds_of(struct db *db, int64_t checkpoint, const struct facts *facts)
{
	struct measurement_run_list runs;
	struct err ignored = ERR_INIT;
	double seconds = 0;
	if (measurement_runs(db, checkpoint, &runs, &ignored) < 0)
		return 0;
	for (size_t i = 0; i < runs.count && i < RUNS_LOOKED_AT && seconds == 0; i++) {
		const struct measurement_run *r = &runs.at[i];
		if (r->ended_ms > r->created_ms && r->planned > 0 && strcmp(r->device, facts->uuid) == 0)
			seconds = (double)(r->ended_ms - r->created_ms) / 1e3 / (double)r->planned;
	}
	measurement_run_list_fini(&runs);
	return seconds;
}

/* What this tune is likely to take: from this checkpoint's last run, else its parent's, else a guess; *ret_from says which. */
static double estimate(const struct tuner *u, const char **ret_from)
{
	struct checkpoint c;
	struct err ignored = ERR_INIT;
	double seconds = seconds_of(u->db, u->checkpoint, u->q->facts);
	*ret_from = "as its last run";
	if (seconds == 0 && checkpoint_get(u->db, u->checkpoint, &c, &ignored) == 0) {
		if (c.parent_count)
			seconds = seconds_of(u->db, c.parents[0], u->q->facts);
		checkpoint_fini(&c);
		*ret_from = "as its parent's run";
	}
	if (seconds == 0) {
		seconds = u->q->facts->shares_cpu ? GUESS_CPU_S : GUESS_GPU_S;
		*ret_from = "a guess until the first are done";
	}
	return seconds * (double)u->planned;
}

static void announce(struct tuner *u, const char *strategy)
{
	const char *from;
	char duration[32], *size = params_text(u->q->size);
	u->result.estimate_s = estimate(u, &from);
	show_duration(u->result.estimate_s, duration);
	eval_progress(u->ev, 0, (double)u->planned, "tune %s: %zu of %zu valid configurations, strategy %s, about %s (%s)", size,
	              u->planned, u->result.space, strategy, duration, from);
	free(size);
}

static int tune_with(struct tuner *u, const struct tunespace *space, struct search *search, struct err *e)
{
	struct tune_lanes_config config = { .ev = u->ev, .ctx = u->q->ctx, .facts = u->q->facts, .space = space, .search = search };
	announce(u, search_name(search));
	int rc = eval_take_device(u->ev, u->q->facts, NULL, &u->device, e);
	if (rc < 0)
		return rc;
	/* Waiting for the device is no work: what a configuration costs is counted from here. */
	u->started = clock_now();
	rc = begin_run(u, search_name(search), e);
	if (rc == 0)
		rc = search_all(u, &config, e);
	if (rc == 0)
		rc = tune_leaders_finish(u, e);
	if (rc == 0)
		rc = tune_vendor_finish(u, e);
	pool_give(u->device);
	u->device = NULL;
	u->result.elapsed_ns = clock_now() - u->started;
	/* A run that was cut off has no end: nobody estimates by it. */
	return rc < 0 ? rc : measurement_run_end(u->db, u->result.run, e);
}

int tune_run(const struct eval *ev, const struct tune_request *q, struct db *db, int64_t checkpoint, const char *job,
             struct tune_result *ret_result, struct err *e)
{
	struct tuner u = { .ev = ev, .q = q, .db = db, .checkpoint = checkpoint, .job = job, .seed = check_seed(),
	                   .floor_ns = floor_of(q), .started = clock_now() };
	struct tunespace *space;
	struct search *search = NULL;
	size_t budget = q->budget ? q->budget : BUDGET;
	if (q->facts->emulated)
		return err_set(e, ERR_UNSUPPORTED, "no times from an emulated device: %s (%s) executes kernels, and validates, but tells nothing about "
		               "speed; tune on a real one", q->facts->id, q->facts->name);
	int rc = tunespace_new(q->ctx, q->facts, q->size, &space, e);
	if (rc < 0)
		return rc;
	u.result.space = tunespace_search(space)->count;
	u.planned = budget < u.result.space ? budget : u.result.space;
	rc = search_new(q->strategy ? q->strategy : "auto", tunespace_search(space), budget, q->seed, &search, e);
	if (rc == 0) {
		prefer_all(search, space, q);
		rc = tune_with(&u, space, search, e);
	}
	for (size_t i = 0; i < u.leader_count; i++) {
		params_free(u.leaders[i].params);
		variant_fini(&u.leaders[i].variant);
	}
	search_free(search);
	tunespace_free(space);
	if (rc < 0)
		tune_result_fini(&u.result);
	else
		*ret_result = u.result;
	return rc < 0 ? rc : 0;
}

void tune_result_fini(struct tune_result *r)
{
	for (size_t i = 0; i < r->top_count; i++)
		params_free(r->top[i].params);
	for (size_t i = 0; i < r->why_count; i++)
		free(r->why[i]);
	free(r->library.why);
	*r = (struct tune_result){ 0 };
}

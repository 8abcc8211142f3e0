/* tune: the search of one tune; see tune.h. Compile lanes build points and device lanes check and time them (tune_lanes.c); the
 * calling thread records; tune_finalists.c ends it. */
#include "core/tune/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/record/checkpoint.h"
#include "core/record/store.h"
#include "core/tune/tuner.h"

enum { BATCH_MAX = 64, BUDGET = 128, RUNS_LOOKED_AT = 8, PRIOR_WEIGHT = 3, PREFER_ALWAYS = 8, PREFER_TURNS = 8 };

/* Each report is a row, which costs as much as a configuration's own rows. */
#define REPORT_NS (100 * CLOCK_MS)

/* What a configuration is assumed to cost before anything is known, seconds: guesses, corrected by the first few. */
#define GUESS_CPU_S 1.0 /* devices that share the CPU: compiling and timing take turns */
#define GUESS_GPU_S 0.4

/* --- what devices say ------------------------------------------------------------------------------------------------------ */

int tune_take_device(struct tuner *u, struct err *e)
{
	int64_t start = clock_now();
	int rc = eval_take_device(u->ev, u->q->facts, NULL, &u->device, e);
	u->waited_ns += clock_now() - start;
	return rc;
}

static double spent_s(const struct tuner *u)
{
	return (double)(clock_now() - u->started - u->waited_ns) / 1e9;
}

static bool out_of_time(const struct tuner *u)
{
	return (u->q->seconds > 0 && spent_s(u) >= u->q->seconds) ||
	       (u->q->device_seconds > 0 && u->result.device_s >= u->q->device_seconds);
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
	double spent = spent_s(u), tried = (double)(u->result.tried - u->result.resumed);
	double prior = u->planned ? u->result.estimate_s / (double)u->planned : 0;
	return (spent + prior * PRIOR_WEIGHT) / (tried + PRIOR_WEIGHT) * (double)more;
}

static void report(struct tuner *u)
{
	u->reported_ns = clock_now();
	const struct tune_result *r = &u->result;
	char best[32], left[32];
	double ns = u->finalist_count ? u->finalists[0].value : INFINITY;
	if (!isfinite(ns))
		snprintf(best, 32, "none yet");
	else if (strcmp(u->objective->unit, "ns") != 0)
		snprintf(best, 32, "%.4g %s", ns, u->objective->unit);
	else if (ns < 1e6)
		snprintf(best, 32, "%.3g us", ns / 1e3);
	else
		snprintf(best, 32, "%.4g ms", ns / 1e6);
	show_duration(remaining(u, u->planned > r->tried ? u->planned - r->tried : 0), left);
	eval_progress(u->ev, (double)r->tried, (double)u->planned,
		      "tune %zu/%zu, best %s (not validated yet), %zu pruned, %zu failed, %s left", r->tried, u->planned, best,
		      r->pruned, r->refused + r->wrong + r->broken, left);
}

/* One size's rows. *ret_value is INFINITY when the configuration is out there. Figures carry no evidence, so they are never quoted:
 * they are an order to search by, of few samples. */
static int conclude_size(struct tuner *u, struct tune_tried *t, size_t size, double *ret_value, struct err *e)
{
	const struct tune_judged *j = &t->at[size];
	struct evidence to = u->to;
	struct tune_row row = { .facts = t->facts, .params = j->params, .variant = j->used };
	int rc = 0;
	*ret_value = INFINITY;
	to.facts = t->facts;
	if (j->checked)
		rc = check_record(&to, j->params, "input", u->secrets.search, &j->check, NULL, e);
	if (rc < 0)
		return rc;
	if (j->checked && !j->check.passed) {
		row.status = tune_status(j->check.code);
		row.message = j->check.reason;
		return tune_record_out(u, &row, e);
	}
	if (j->why.code != ERR_NONE) {
		row.status = tune_status(j->why.code);
		row.message = j->why.text;
		return tune_record_out(u, &row, e);
	}
	if (j->times.median < u->floor_ns[size]) {
		row.status = MEASUREMENT_IMPOSSIBLE;
		row.message = "faster than the hardware can be, so some of the work was not done";
		return tune_record_out(u, &row, e);
	}
	/* An objective that cannot be computed is the request's fault, not the configuration's. */
	rc = tune_value(u, j->params, j->used, &j->times, j->joules, ret_value, e);
	if (rc == 0)
		rc = tune_record_metric(u, t->facts, j->params, "energy", j->joules, "J", e);
	row.status = MEASUREMENT_OK;
	row.times = &j->times;
	row.message = j->times.hopeless ? TUNE_GIVEN_UP : TUNE_SEARCHED;
	return rc == 0 ? tune_record(u, &row, e) : rc;
}

/* Records what a device found. *ret_value is INFINITY when the configuration is out; negative only when the tune cannot go on.
 * Finalists are kept, which takes them out of t->built. */
static int conclude(struct tuner *u, struct tune_tried *t, double *ret_value, struct err *e)
{
	double values[TUNE_SIZES];
	const struct tune_judged *last = &t->at[t->count ? t->count - 1 : 0];
	int rc = 0;
	*ret_value = INFINITY;
	for (size_t i = 0; rc == 0 && i < t->count; i++)
		rc = conclude_size(u, t, i, &values[i], e);
	if (rc < 0 || t->count == 0 || !isfinite(values[t->count - 1]))
		return rc;
	u->result.timed++;
	/* Given up before all sizes were looked at: slow, as far as is known; its ratio there stands for the others. */
	if (t->count < u->size_count)
		*ret_value =
			u->finalist_count ? u->finalists[0].value * last->times.median / u->fastest_ns[t->count - 1] : INFINITY;
	else
		*ret_value = tune_over_sizes(u, values);
	/* The value over all sizes is not a column of a measurement: a resumed tune reads it from here. */
	if (!tune_plain(u))
		rc = tune_record_metric(u, t->facts, t->built->params, "objective", *ret_value, u->objective->unit, e);
	if (rc < 0 || last->times.hopeless)
		return rc;
	if (u->finalist_count == 0 || *ret_value < u->finalists[0].value)
		for (size_t i = 0; i < t->count; i++)
			u->fastest_ns[i] = t->at[i].times.median;
	tune_offer_finalist(u, &t->built->params, &t->built->variant, *ret_value, t->at[0].times.median);
	t->at[0].params = t->built->params;
	return 0;
}

/* One point: recorded, told to the search. */
static int take_one(struct tuner *u, struct tune_lanes *lanes, struct tune_tried *take_tried, struct err *e)
{
	double value;
	size_t point = take_tried->built->point;
	int rc = conclude(u, take_tried, &value, e);
	u->result.tried++;
	u->result.device_s += (double)take_tried->took_ns / 1e9;
	tune_lanes_tell(lanes, point, value, u->fastest_ns);
	tune_tried_free(take_tried);
	return rc;
}

/* A commit waits for the disk, so everything that came meanwhile goes into the next one. A tune that ends early keeps what came
 * before. */
static int take_batch(struct tuner *u, struct tune_lanes *lanes, struct tune_tried *take_first, struct err *e)
{
	struct err broken = ERR_INIT;
	struct tune_tried *t = take_first;
	int rc = store_begin(u->to.db, e);
	bool begun = rc == 0;
	for (size_t n = 1; t; t = rc == 0 && broken.code == ERR_NONE && n++ < BATCH_MAX ? tune_lanes_take(lanes, false) : NULL) {
		broken = t->broken;
		if (rc == 0 && broken.code == ERR_NONE)
			rc = take_one(u, lanes, t, e);
		else
			tune_tried_free(t);
	}
	if (!begun)
		return rc;
	rc = store_end(u->to.db, rc, e);
	/* Outside of the transaction: the receiver may write, too. */
	if (rc == 0 && (u->result.tried >= u->planned || clock_now() - u->reported_ns >= REPORT_NS))
		report(u);
	if (rc == 0 && broken.code != ERR_NONE) {
		*e = broken;
		rc = -(int)broken.code;
	}
	return rc;
}

/* Stops the lanes. */
static int note_devices(struct tuner *u, struct tune_lanes *lanes, struct err *e)
{
	size_t left, count = u->q->device_count ? u->q->device_count : 1;
	const char *lost = tune_lanes_stop(lanes, &left);
	struct tune_lanes_time time = tune_lanes_time(lanes);
	u->result.device_ns = time.working;
	u->result.starving_ns = time.starving;
	u->result.device_lasted_ns = time.lasted;
	if (*lost)
		eval_progress(u->ev, (double)u->result.tried, (double)u->planned, "devices lost: %s", lost);
	if (left == count)
		return err_set(
			e, ERR_CRASH,
			"no device is left (%s): what was measured is kept, and the same tune with resume continues from there",
			lost);
	if (left > 0) {
		/* Finalists are validated on another device. */
		pool_give(u->device);
		u->device = NULL;
		u->left = *u->q;
		u->left.facts = &u->q->facts[left];
		u->left.device_count = 1;
		u->q = &u->left;
		u->source.facts = u->to.facts = u->left.facts;
	}
	return 0;
}

/* Runs compile lanes, device lanes and, on this thread, the recording. */
static int search_all(struct tuner *u, struct search *search, struct err *e)
{
	struct tune_lanes *lanes;
	struct err gone = ERR_INIT;
	int rc = tune_lanes_new(u, search, &lanes, e);
	if (rc < 0)
		return rc;
	/* Runs until the search has nothing more, or time is over. */
	struct tune_tried *t;
	rc = 0;
	int64_t waited = u->waited_ns;
	while (rc == 0 && !out_of_time(u) && (t = tune_lanes_take(lanes, true)) != NULL) {
		rc = take_batch(u, lanes, t, e);
		u->waited_ns = waited + (u->q->device_count > 1 ? 0 : tune_lanes_time(lanes).waiting);
		if (rc == 0)
			rc = cancel_check(u->ev->cancel, e);
	}
	/* Cancelled lanes end as if the search were over. */
	rc = rc < 0 ? rc : cancel_check(u->ev->cancel, e);
	if (note_devices(u, lanes, &gone) < 0 && rc == 0) {
		*e = gone;
		rc = -(int)gone.code;
	}
	tune_lanes_free(lanes);
	return rc == 0 && u->device == NULL ? tune_take_device(u, e) : rc;
}

/* --- before ----------------------------------------------------------------------------------------------------------------- */

/* Resumes the interrupted run of this job, or begins one. */
static int begin_run(struct tuner *u, struct search *search, struct err *e)
{
	/* What a run was asked for, in words: a resumed job finds its run by these. */
	const struct tune_request *q = u->q;
	struct buf out = BUF_INIT;
	for (size_t i = 0; i < u->size_count; i++) {
		char *size = params_text(i ? q->also[i - 1] : q->size);
		buf_addf(&out, "%s%s", i ? ", " : "sizes: ", size);
		free(size);
	}
	if (u->size_count > 1)
		buf_addf(&out, "; %s", q->worst ? "worst ratio" : "geometric mean");
	buf_addf(&out, "; budget: %zu", u->planned);
	if (q->seconds > 0)
		buf_addf(&out, ", %g s", q->seconds);
	if (q->device_seconds > 0)
		buf_addf(&out, ", %g device-s", q->device_seconds);
	buf_addf(&out, "; seed: %llu; %s", (unsigned long long)q->seed, q->warm ? "warm" : "cold");
	if (!u->objective->is_time)
		buf_addf(&out, "; objective: %s", u->objective->text);
	char *settings = buf_steal(&out);
	int rc = tune_resume(u, settings, search, e);
	if (rc == 0 && u->result.run == 0) {
		struct measurement_run run = { .checkpoint = u->to.checkpoint,
					       .device = u->q->facts->uuid,
					       .strategy = search_name(search),
					       .settings = settings,
					       .planned = (int64_t)u->planned,
					       .job = u->to.job };
		rc = measurement_run_begin(u->to.db, &run, e);
		u->result.run = run.id;
	}
	free(settings);
	return rc < 0 ? rc : 0;
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

static int search_and_finish(struct tuner *u, struct search *search, struct err *e)
{
	int rc = begin_run(u, search, e);
	if (rc < 0 || u->result.known)
		return rc;
	const char *strategy = search_name(search);
	const char *from;
	char duration[32], *size = params_text(u->q->size);
	/* What this tune is likely to take: from this checkpoint's last run, else its parent's, else a guess. */
	struct checkpoint c;
	struct err ignored = ERR_INIT;
	double seconds = seconds_of(u->to.db, u->to.checkpoint, u->q->facts);
	from = "as its last run";
	if (seconds == 0 && checkpoint_get(u->to.db, u->to.checkpoint, &c, &ignored) == 0) {
		if (c.parent_count)
			seconds = seconds_of(u->to.db, c.parents[0], u->q->facts);
		checkpoint_fini(&c);
		from = "as its parent's run";
	}
	if (seconds == 0) {
		seconds = u->q->facts->shares_cpu ? GUESS_CPU_S : GUESS_GPU_S;
		from = "a guess until the first are done";
	}
	u->result.estimate_s = seconds * (double)u->planned;
	show_duration(u->result.estimate_s, duration);
	eval_progress(u->ev, 0, (double)u->planned, "tune %s: %zu of %zu valid configurations, strategy %s, about %s (%s)", size,
		      u->planned, u->result.space, strategy, duration, from);
	free(size);
	if (rc == 0)
		rc = tune_take_device(u, e);
	if (rc == 0)
		rc = search_all(u, search, e);
	if (rc == 0)
		rc = tune_finalists_finish(u, e);
	if (rc == 0)
		rc = tune_pairwise_library(u, e);
	pool_give(u->device);
	u->device = NULL;
	u->result.elapsed_ns = clock_now() - u->started - u->waited_ns;
	if (rc == -ERR_CANCELLED) {
		/* What a cancelled tune has: the fastest as the search saw them, without evidence. */
		struct tune_result *r = &u->result;
		bool validated = r->top_count > 0;
		for (size_t i = 0; !validated && i < u->finalist_count && i < TUNE_TOP; i++) {
			struct tune_top *top = &r->top[r->top_count++];
			*top = (struct tune_top){ .params = params_copy(u->finalists[i].params),
						  .value = u->finalists[i].value,
						  .median_ns = u->finalists[i].median_ns,
						  .min_ns = NAN,
						  .rse = NAN,
						  .registers = -1,
						  .shared = -1,
						  .spill = -1 };
		}
	}
	/* An interrupted run has no end: no estimate rests on it. */
	return rc < 0 ? rc : measurement_run_end(u->to.db, u->result.run, e);
}

/* The spaces of all sizes, and how many configurations are planned. */
static int make_spaces(struct tuner *u, struct err *e)
{
	const struct tune_request *q = u->q;
	bool timed = q->seconds > 0 || q->device_seconds > 0;
	int rc = 0;
	if (q->also_count >= TUNE_SIZES)
		return err_set(e, ERR_INPUT, "%zu input sizes at once; at most %d: name fewer (sizes), or tune them one by one",
			       q->also_count + 1, TUNE_SIZES);
	if (q->finalists > TUNE_TOP)
		return err_set(e, ERR_INPUT, "%u finalists to validate and to time again; at most %d", q->finalists, TUNE_TOP);
	for (; rc == 0 && u->size_count < q->also_count + 1; u->size_count += rc == 0) {
		const struct params *size = u->size_count ? q->also[u->size_count - 1] : q->size;
		u->fastest_ns[u->size_count] = INFINITY;
		/* The fastest that the arithmetic could be done: flops over the theoretical peak of the fastest pipe that precision
		 * permits. */
		const struct spec *spec = context_spec(q->ctx);
		const struct facts *f = q->facts;
		/* An imported problem's flops are those of its reference, which may compute what no kernel needs to. */
		double peak = f->peak_f32, flops = context_oracle(q->ctx) ? NAN : spec_flops(spec, size);
		if (spec->precision == SPEC_TENSOR)
			peak = fmax(peak, strcmp(spec->precision_in, "f16") == 0 || strcmp(spec->precision_in, "bf16") == 0 ||
							  strcmp(spec->precision_in, "f32") == 0 /* made of products of any type */
						  ? f->peak_tensor_f16
						  : f->peak_tensor_tf32);
		else if (spec_roundoff(spec) > dtype_roundoff(DTYPE_F32))
			peak *= 4; /* packed half arithmetic, at most twice per lane and per clock of fp32 on any part known to
				    * us */
		u->floor_ns[u->size_count] = peak > 0 && isfinite(flops) ? flops / peak * 1e9 : 0;
		rc = tunespace_new(q->ctx, q->facts, size, &u->spaces[u->size_count], e);
	}
	if (rc < 0)
		return rc;
	u->result.space = tunespace_search(u->spaces[0])->count;
	u->planned = q->budget ? q->budget : timed ? u->result.space : BUDGET;
	u->planned = u->planned < u->result.space ? u->planned : u->result.space;
	return 0;
}

int tune_run(const struct eval *ev, const struct tune_request *q, struct db *db, int64_t checkpoint, const char *job,
	     struct tune_result *ret_result, struct err *e)
{
	struct tuner u = { .ev = ev,
			   .q = q,
			   .source = { .ev = ev, .baseline = q->baseline, .facts = q->facts },
			   .to = { .db = db, .checkpoint = checkpoint, .facts = q->facts, .job = job },
			   .secrets = { .search = check_seed(),
					.validation = check_seed(),
					.timing = { check_seed(), check_seed() },
					.library = { check_seed(), check_seed() } },
			   .started = clock_now() };
	struct search *search = NULL;
	const char *strategy = q->strategy ? q->strategy : "auto";
	if (q->facts->emulated)
		return err_set(
			e, ERR_UNSUPPORTED,
			"%s (%s) is emulated: it executes kernels and validates them, but has no times; tune on a real device",
			q->facts->id, q->facts->name);
	int rc = objective_new(q->objective, q->ctx, q->facts, &u.objective, e);
	if (rc == 0)
		rc = make_spaces(&u, e);
	/* With a budget of time alone not all points may be tried: no strategy may count on it. */
	if (rc == 0 && q->budget == 0 && u.planned > BUDGET && strcmp(strategy, "auto") == 0)
		strategy = "bayes";
	if (rc == 0)
		rc = search_new(strategy, tunespace_search(u.spaces[0]), u.planned, q->seed, &search, e);
	if (rc == 0) {
		/* The parent's best, projected: at most half of the budget (except for the first few), since they are old. Where
		 * parameters were added, one whose point is a seed already takes another of the points that are as near. */
		size_t most = u.planned / 2 > PREFER_ALWAYS ? u.planned / 2 : PREFER_ALWAYS, taken = 0;
		for (size_t i = 0; i < u.q->prefer_count && taken < most; i++) {
			size_t point = SEARCH_NONE, before;
			bool new = false;
			for (size_t k = 0; k < PREFER_TURNS && !new; k++) {
				before = point;
				point = tunespace_nearest(u.spaces[0], u.q->prefer[i], i + k);
				if (point == before)
					break; /* no shared parameters, or no other point */
				new = search_prefer(search, point);
			}
			taken += new;
		}
		rc = search_and_finish(&u, search, e);
	}
	search_free(search);
	for (size_t i = 0; i < u.finalist_count; i++) {
		params_free(u.finalists[i].params);
		variant_fini(&u.finalists[i].variant);
	}
	for (size_t i = 0; i < TUNE_SIZES; i++)
		tunespace_free(u.spaces[i]);
	objective_free(u.objective);
	if (rc == 0 || rc == -ERR_CANCELLED)
		*ret_result = u.result;
	else
		tune_result_fini(&u.result);
	return rc < 0 ? rc : 0;
}

void tune_result_fini(struct tune_result *r)
{
	for (size_t i = 0; i < r->top_count; i++)
		params_free(r->top[i].params);
	for (size_t i = 0; i < r->why_count; i++)
		free(r->why[i]);
	free(r->library.name);
	free(r->library.why);
	*r = (struct tune_result){ 0 };
}

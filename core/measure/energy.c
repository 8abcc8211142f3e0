/* energy: weighing by the worker's counter; see energy.h. */
#include "core/measure/energy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "core/measure/compare.h"
#include "core/record/metric.h"

#define MOMENT_NS (500 * CLOCK_MS) /* of a figure beside a time */
#define TIE 1e-9

int energy_need(const struct facts *facts, const char *what, struct err *e)
{
	if (strcmp(facts->backend, "cuda") == 0)
		return 0;
	return err_set(e, ERR_UNSUPPORTED,
		       "%s needs energy, and %s (%s) has no energy counter that peakd can read: use time, or an NVIDIA device",
		       what, facts->id, facts->name);
}

int energy_weighs(const char *objective, bool *ret_weighs, struct err *e)
{
	const char *word = objective && *objective ? objective : "time";
	*ret_weighs = strcmp(word, "energy") == 0 || strcmp(word, "edp") == 0;
	if (*ret_weighs || strcmp(word, "time") == 0)
		return 0;
	return err_set(e, ERR_INPUT, "objective: expected time, energy or edp, not \"%s\"", word);
}

double energy_score(const char *objective, double time_ns, double joules)
{
	if (objective == NULL || *objective == '\0' || strcmp(objective, "time") == 0)
		return time_ns;
	if (strcmp(objective, "energy") == 0)
		return joules;
	return strcmp(objective, "edp") == 0 ? joules * time_ns / 1e9 : NAN;
}

static int add_metric(struct db *db, const struct energy_subject *s, const char *job, double joules, struct err *e)
{
	char *params = params_text(s->params);
	struct metric m = { .checkpoint = s->checkpoint,
			    .device = s->facts->uuid,
			    .params = params,
			    .name = "energy",
			    .value = joules,
			    .unit = "J",
			    .source = "nvml",
			    .job = job };
	int rc = metric_add(db, &m, e);
	free(params);
	return rc < 0 ? rc : 0;
}

/* --- one configuration ------------------------------------------------------------------------------------------------ */

static int weigh_once(struct pool_worker *device, const struct variant *v, struct trial_weighed *ret_weighed, struct err *e)
{
	struct trial t;
	uint64_t ignored;
	int rc = trial_begin(&t, device, v, e);
	if (rc < 0)
		return rc;
	rc = trial_execute(&t, &(struct trial_input){ .seed = check_seed(), .poison = TRIAL_POISON }, EVAL_EXECUTE_NS, &ignored, e);
	if (rc == 0)
		rc = trial_energy(&t, MOMENT_NS, ret_weighed, e);
	trial_end(&t);
	return rc;
}

int energy_record(const struct eval *ev, const struct energy_subject *s, struct db *db, const char *job, struct err *e)
{
	struct trial_weighed w = { .joules = NAN };
	struct pool_worker *device = NULL;
	struct variant v;
	struct err ignored = ERR_INIT;
	if (energy_need(s->facts, "", &ignored) < 0)
		return 0;
	int rc = variant_build(ev, s->ctx, s->params, s->facts, &v, e);
	if (rc < 0)
		return rc;
	rc = eval_take_device(ev, s->facts, NULL, &device, e);
	if (rc == 0)
		rc = weigh_once(device, &v, &w, e);
	pool_give(device);
	variant_fini(&v);
	if (rc == 0 && isfinite(w.joules))
		rc = add_metric(db, s, job, w.joules, e);
	free(w.note);
	return rc;
}

/* --- two of them ------------------------------------------------------------------------------------------------------ */

void energy_conclude(const double *logs, size_t n, struct weighing *w)
{
	compare_interval(logs, n, &w->ratio, &w->low, &w->high);
	free(w->verdict);
	w->verdict = mem_str(w->high < 1 - TIE ? "less" : w->low > 1 + TIE ? "more" : "unclear");
}

/* One window: joules and seconds of one execution. */
static int weigh(struct trial *t, double *ret_joules, double *ret_seconds, struct err *e)
{
	struct trial_weighed w;
	int rc = trial_energy(t, ENERGY_WINDOW_NS, &w, e);
	if (rc < 0)
		return rc;
	if (!isfinite(w.joules))
		rc = err_set(e, ERR_UNSUPPORTED, "the energy of the two cannot be compared: %s",
			     w.note && *w.note ? w.note : "no energy was measured");
	else if (w.seconds * 1e9 < (double)ENERGY_WINDOW_NS)
		rc = err_set(e, ERR_UNSUPPORTED, "the energy of the two cannot be compared: a window took %.2f s of %d s",
			     w.seconds, (int)(ENERGY_WINDOW_NS / CLOCK_S));
	*ret_joules = w.joules;
	*ret_seconds = w.seconds / (double)w.executions;
	free(w.note);
	return rc;
}

static double median(const double *values, size_t stride)
{
	double sorted[ENERGY_ALTERNATIONS];
	for (size_t i = 0; i < ENERGY_ALTERNATIONS; i++)
		sorted[i] = values[i * stride];
	qsort(sorted, ENERGY_ALTERNATIONS, sizeof *sorted, order_doubles);
	return (sorted[(ENERGY_ALTERNATIONS - 1) / 2] + sorted[ENERGY_ALTERNATIONS / 2]) / 2;
}

int energy_pair(struct trial *a, struct trial *b, const char *objective, double times, struct weighing *ret_weighing, struct err *e)
{
	double joules[2 * ENERGY_ALTERNATIONS], seconds[2], logs[ENERGY_ALTERNATIONS], time_ratios[ENERGY_ALTERNATIONS];
	bool edp = strcmp(objective, "edp") == 0;
	for (size_t i = 0; i < ENERGY_ALTERNATIONS; i++) {
		/* The second of two may find a warmer device: the order alternates. */
		for (size_t k = 0; k < 2; k++) {
			size_t side = (i + k) % 2;
			if (weigh(side ? b : a, &joules[2 * i + side], &seconds[side], e) < 0)
				return -(int)e->code;
		}
		time_ratios[i] = seconds[1] / seconds[0];
		logs[i] = log(joules[2 * i + 1] / joules[2 * i]) + (edp ? log(time_ratios[i]) : 0);
	}
	struct weighing w = { .objective = mem_str(objective),
			      .window_s = (double)ENERGY_WINDOW_NS / 1e9,
			      .sample_count = MEM_COUNT(joules) };
	energy_conclude(logs, ENERGY_ALTERNATIONS, &w);
	w.a_joules = median(joules, 2);
	w.b_joules = median(joules + 1, 2);
	w.time_ratio = median(time_ratios, 1);
	w.matched = fabs(w.time_ratio - 1) <= ENERGY_MATCHED && fabs(times - 1) <= ENERGY_MATCHED;
	w.samples = MEM_NEW_N(double, w.sample_count);
	memcpy(w.samples, joules, sizeof joules);
	*ret_weighing = w;
	return 0;
}

int energy_keep(const struct evidence *to, const struct energy_subject *a, const struct energy_subject *b, struct weighing *w,
		struct err *e)
{
	int rc = comparison_weighing_add(to->db, w, e);
	if (rc >= 0)
		rc = add_metric(to->db, a, to->job, w->a_joules, e);
	if (rc >= 0)
		rc = add_metric(to->db, b, to->job, w->b_joules, e);
	return rc < 0 ? rc : 0;
}

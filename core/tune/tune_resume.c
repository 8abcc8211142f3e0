/* tune_resume: continues a tune that was interrupted: the rows of its run tell the search what is known, and a run that had ended
 * is the answer; see tuner.h. */
#include "core/tune/tuner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/record/comparison.h"
#include "core/record/metric.h"

/* What a row says of its point; NAN: nothing that lasts (cancelled, disturbed, an error of this machine), so it is tried again. */
static double known_value(const struct tuner *u, const struct measurement *m, const struct metric_list *values, const char *job)
{
	switch (m->status) {
	case MEASUREMENT_OK:
		if (tune_plain(u))
			return m->median_ns;
		for (size_t i = 0; i < values->count; i++)
			if (strcmp(values->at[i].name, "objective") == 0 && strcmp(values->at[i].params, m->params) == 0 &&
			    values->at[i].job && job && strcmp(values->at[i].job, job) == 0)
				return values->at[i].value;
		return NAN;
	case MEASUREMENT_PRUNED:
	case MEASUREMENT_COMPILE:
	case MEASUREMENT_WRONG:
	case MEASUREMENT_CRASH:
	case MEASUREMENT_TIMEOUT:
	case MEASUREMENT_IMPOSSIBLE: return INFINITY;
	case MEASUREMENT_DISTURBED:
	case MEASUREMENT_UNSUPPORTED:
	case MEASUREMENT_CANCELLED:
	case MEASUREMENT_ERROR: return NAN;
	}
	return NAN;
}

static bool says(const struct measurement *m, const char *words)
{
	return m->message && strcmp(m->message, words) == 0;
}

static bool is_searched(const struct measurement *m)
{
	return m->status == MEASUREMENT_OK && (says(m, TUNE_SEARCHED) || says(m, TUNE_GIVEN_UP));
}

static bool is_search_row(const struct measurement *m)
{
	return m->status != MEASUREMENT_OK || is_searched(m);
}

static void take_over(struct tuner *u, const struct measurement *m, struct params *params, double value)
{
	struct tune_result *r = &u->result;
	struct variant none = { 0 };
	r->tried++;
	r->resumed++;
	if (m->status != MEASUREMENT_OK) {
		tune_record_count(r, m->status);
		return;
	}
	r->timed++;
	if (says(m, TUNE_GIVEN_UP))
		return;
	if (u->finalist_count == 0 || value < u->finalists[0].value)
		u->fastest_ns[0] = m->median_ns;
	struct params *kept = params_copy(params);
	tune_offer_finalist(u, &kept, &none, value, m->median_ns);
	params_free(kept);
}

static bool is_at(const struct tuner *u, const struct measurement *m, size_t size)
{
	struct params *inputs = params_part(size ? u->q->also[size - 1] : u->q->size, false);
	char *text = params_text(inputs);
	bool same = is_searched(m) && strcmp(m->sizes, text) == 0;
	params_free(inputs);
	free(text);
	return same;
}

/* Ratios are still taken to the first configuration that was timed at all sizes; its rows are consecutive. Rows hold times only:
 * another objective starts afresh. */
static void find_reference(struct tuner *u, const struct measurement_list *rows)
{
	double values[TUNE_SIZES];
	if (u->size_count < 2 || !u->objective->is_time)
		return;
	for (size_t i = 0; i + u->size_count <= rows->count; i++) {
		size_t n = 0;
		for (; n < u->size_count && is_at(u, &rows->at[i + n], n); n++)
			values[n] = rows->at[i + n].median_ns;
		if (n == u->size_count) {
			memcpy(u->reference, values, n * sizeof values[0]);
			return;
		}
	}
}

/* --- a run that has ended ------------------------------------------------------------------------------------------------- */

static struct tune_top top_of(const struct measurement *m, struct params *take_params)
{
	return (struct tune_top){ .params = take_params,
				  .value = m->median_ns,
				  .median_ns = m->median_ns,
				  .min_ns = m->min_ns,
				  .rse = m->rse,
				  .samples = m->sample_count,
				  .registers = m->registers,
				  .shared = m->shared_bytes,
				  .spill = m->spill_bytes,
				  .validation = m->validation };
}

/* The configuration that was compared with the library was the winner, even where another median is as good. */
static void take_library(struct tuner *u)
{
	struct tune_result *r = &u->result;
	struct comparison c;
	struct err ignored = ERR_INIT;
	bool found = false;
	r->library = (struct tune_library){ .ratio = NAN, .low = NAN, .high = NAN };
	for (size_t i = 0; i < r->top_count && !found; i++) {
		char *params = params_text(r->top[i].params);
		found = comparison_library(u->to.db, u->to.checkpoint, u->q->facts->uuid, params, !u->q->warm, &c, &ignored) == 0;
		free(params);
		if (!found)
			continue;
		struct tune_top winner = r->top[i];
		memmove(&r->top[1], &r->top[0], i * sizeof r->top[0]);
		r->top[0] = winner;
		r->library = (struct tune_library){ .name = mem_str(c.library), .ratio = c.ratio, .low = c.low, .high = c.high };
		comparison_fini(&c);
	}
}

/* Its finalists, as far as they may be quoted today. */
static bool take_tops(struct tuner *u, int64_t run)
{
	struct measurement_query q = {
		.checkpoint = u->to.checkpoint, .run = run, .device = u->q->facts->uuid, .warm = u->q->warm
	};
	struct measurement_list rows = { .count = 0 };
	struct tune_result *r = &u->result;
	struct params *params;
	struct err ignored = ERR_INIT;
	if (measurement_top(u->to.db, &q, &rows, &ignored) < 0)
		return false;
	for (size_t i = 0; i < rows.count && r->top_count < TUNE_TOP; i++)
		if (params_parse(u->q->ctx, rows.at[i].params, true, &params, &ignored) == 0)
			r->top[r->top_count++] = top_of(&rows.at[i], params);
	measurement_list_fini(&rows);
	return r->top_count > 0;
}

/* --- which run ------------------------------------------------------------------------------------------------------------ */

/* What follows the budgets; NULL for settings that are not a tune's. */
static const char *behind_budget(const char *settings, size_t *ret_before)
{
	const char *budget = strstr(settings, "; budget: ");
	*ret_before = budget ? (size_t)(budget - settings) : 0;
	return budget ? strstr(budget, "; seed: ") : NULL;
}

/* The same request, perhaps with another budget: sizes, seed, caches, objective. Another seed searches again. */
static bool same_question(const char *a, const char *b)
{
	size_t na, nb;
	const char *tail_a = behind_budget(a, &na), *tail_b = behind_budget(b, &nb);
	return tail_a && tail_b && na == nb && strncmp(a, b, na) == 0 && strcmp(tail_a, tail_b) == 0;
}

static bool is_ours(const struct tuner *u, const struct measurement_run *r, const char *settings)
{
	return u->to.job && r->job && strcmp(r->job, u->to.job) == 0 && strcmp(r->settings, settings) == 0;
}

static bool is_answer(const struct tuner *u, const struct measurement_run *r, const char *settings)
{
	return r->ended_ms && tune_plain(u) && (is_ours(u, r, settings) || (u->q->resume && same_question(r->settings, settings)));
}

static bool is_begun(const struct tuner *u, const struct measurement_run *r, const char *settings)
{
	return is_ours(u, r, settings) || (u->q->resume && r->ended_ms == 0 && strcmp(r->settings, settings) == 0);
}

/* The newest run that answers, else the newest that can be resumed: u->result.run, 0 without one. *ret_job is its job; free(). */
static int find_run(struct tuner *u, const char *settings, char **ret_job, struct err *e)
{
	struct measurement_run_list runs;
	struct tune_result *r = &u->result;
	if (u->to.job == NULL && !u->q->resume)
		return 0;
	int rc = measurement_runs(u->to.db, u->to.checkpoint, &runs, e);
	for (int pass = 0; rc >= 0 && pass < 2; pass++)
		for (size_t i = 0; i < runs.count && r->run == 0; i++) {
			const struct measurement_run *run = &runs.at[i];
			if (strcmp(run->device, u->q->facts->uuid) != 0)
				continue;
			r->known = pass == 0 && is_answer(u, run, settings) && take_tops(u, run->id);
			if (r->known || (pass == 1 && is_begun(u, run, settings))) {
				r->run = run->id;
				*ret_job = run->job ? mem_str(run->job) : NULL;
			}
		}
	if (rc >= 0)
		measurement_run_list_fini(&runs);
	return rc < 0 ? rc : 0;
}

int tune_resume(struct tuner *u, const char *settings, struct search *search, struct err *e)
{
	struct measurement_list rows = { .count = 0 };
	struct metric_list values = { .count = 0 };
	char *job = NULL;
	int rc = find_run(u, settings, &job, e);
	if (rc < 0 || u->result.run == 0) {
		free(job);
		return rc;
	}
	struct measurement_query q = { .checkpoint = u->to.checkpoint, .run = u->result.run };
	rc = measurement_list(u->to.db, &q, &rows, e);
	if (rc == 0)
		rc = metric_list(u->to.db, u->to.checkpoint, u->q->facts->uuid, NULL, &values, e);
	if (rc == 0) {
		find_reference(u, &rows);
		/* job: the rows' own. */
		for (size_t i = 0; i < rows.count; i++) {
			const struct measurement *m = &rows.at[i];
			struct params *params;
			struct err ignored = ERR_INIT;
			if (m->status == MEASUREMENT_OK && says(m, TUNE_AGAIN) && strcmp(m->device, u->q->facts->uuid) == 0) {
				/* These rows come after all of the search's. The search's values stay: they decide which are timed
				 * again. */
				bool found = false;
				for (size_t i = 0; i < u->finalist_count && !found; i++) {
					char *text = params_text(u->finalists[i].params);
					found = strcmp(text, m->params) == 0;
					if (found)
						u->finalists[i].again_ns = m->median_ns;
					free(text);
				}
			}
			double value = is_search_row(m) ? known_value(u, m, &values, job) : NAN;
			if (isnan(value) || params_parse(u->q->ctx, m->params, true, &params, &ignored) < 0)
				continue;
			size_t point = tunespace_point(u->spaces[0], params);
			if (point != SEARCH_NONE && search_know(search, point, value))
				take_over(u, m, params, value);
			params_free(params);
		}
	}
	if (rc == 0 && u->result.known)
		take_library(u);
	measurement_list_fini(&rows);
	metric_list_fini(&values);
	free(job);
	return rc;
}

bool tune_resume_top(struct tuner *u, const struct finalist *l, struct tune_top *ret_top)
{
	struct measurement_query q = {
		.checkpoint = u->to.checkpoint, .run = u->result.run, .device = u->q->facts->uuid, .warm = u->q->warm
	};
	struct measurement_list rows;
	struct err ignored = ERR_INIT;
	bool found = false;
	/* A value over sizes or of energy is not in the row of one time. */
	if (u->result.resumed == 0 || !tune_plain(u) || measurement_top(u->to.db, &q, &rows, &ignored) < 0)
		return false;
	char *text = params_text(l->params);
	for (size_t i = 0; i < rows.count && !found; i++) {
		const struct measurement *m = &rows.at[i];
		found = strcmp(m->params, text) == 0;
		if (found)
			*ret_top = top_of(m, params_copy(l->params));
	}
	free(text);
	measurement_list_fini(&rows);
	return found;
}

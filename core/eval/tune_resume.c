/* tune_resume: a tune that was killed goes on: the rows of its run tell the search what is known; see tune_inside.h. */
#include "core/eval/tune_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/record/metric.h"

/* The newest run of this job with these settings; 0 without one. */
static int find_run(struct tuner *u, const char *settings, int64_t *ret_run, struct err *e)
{
	struct measurement_run_list runs;
	*ret_run = 0;
	int rc = u->job ? measurement_runs(u->db, u->checkpoint, &runs, e) : 0;
	if (rc < 0 || u->job == NULL)
		return rc;
	for (size_t i = 0; i < runs.count && *ret_run == 0; i++) {
		const struct measurement_run *r = &runs.at[i];
		if (r->job && strcmp(r->job, u->job) == 0 && strcmp(r->settings, settings) == 0 && strcmp(r->device, u->q->facts->uuid) == 0)
			*ret_run = r->id;
	}
	measurement_run_list_fini(&runs);
	return 0;
}

/* What a row says of its point; NAN: nothing that lasts (cancelled, disturbed, the harness), so that it is tried again. */
static double known_value(const struct tuner *u, const struct measurement *m, const struct metric_list *values)
{
	switch (m->status) {
	case MEASUREMENT_OK:
		if (tune_plain(u))
			return m->median_ns;
		for (size_t i = 0; i < values->count; i++)
			if (strcmp(values->at[i].name, "objective") == 0 && strcmp(values->at[i].params, m->params) == 0 &&
			    values->at[i].job && strcmp(values->at[i].job, u->job) == 0)
				return values->at[i].value;
		return NAN;
	case MEASUREMENT_PRUNED:
	case MEASUREMENT_COMPILE:
	case MEASUREMENT_WRONG:
	case MEASUREMENT_CRASH:
	case MEASUREMENT_TIMEOUT:
	case MEASUREMENT_IMPOSSIBLE:
		return INFINITY;
	case MEASUREMENT_DISTURBED:
	case MEASUREMENT_UNSUPPORTED:
	case MEASUREMENT_CANCELLED:
	case MEASUREMENT_ERROR:
		return NAN;
	}
	return NAN;
}

static bool is_search_row(const struct measurement *m)
{
	return m->status != MEASUREMENT_OK || (m->message && strncmp(m->message, "search", 6) == 0);
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
	if (strcmp(m->message, "search") != 0) /* given up early */
		return;
	if (u->leader_count == 0 || value < u->leaders[0].value)
		u->fastest_ns[0] = m->median_ns;
	struct params *kept = params_copy(params);
	tune_offer_leader(u, &kept, &none, value, m->median_ns);
	params_free(kept);
}

static void tell_rows(struct tuner *u, const struct measurement_list *rows, const struct metric_list *values, struct search *search)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct measurement *m = &rows->at[i];
		struct params *params;
		struct err ignored = ERR_INIT;
		double value = is_search_row(m) ? known_value(u, m, values) : NAN;
		if (isnan(value) || params_parse(u->q->ctx, m->params, true, &params, &ignored) < 0)
			continue;
		size_t point = tunespace_point(u->spaces[0], params);
		if (point != SEARCH_NONE && search_know(search, point, value))
			take_over(u, m, params, value);
		params_free(params);
	}
}

int tune_resume(struct tuner *u, const char *settings, struct search *search, struct err *e)
{
	struct measurement_list rows = { .count = 0 };
	struct metric_list values = { .count = 0 };
	int rc = find_run(u, settings, &u->result.run, e);
	if (rc < 0 || u->result.run == 0)
		return rc;
	struct measurement_query q = { .checkpoint = u->checkpoint, .run = u->result.run };
	rc = measurement_list(u->db, &q, &rows, e);
	if (rc == 0)
		rc = metric_list(u->db, u->checkpoint, u->q->facts->uuid, NULL, &values, e);
	if (rc == 0)
		tell_rows(u, &rows, &values, search);
	measurement_list_fini(&rows);
	metric_list_fini(&values);
	return rc;
}

bool tune_resume_top(struct tuner *u, const struct leader *l, struct tune_top *ret_top)
{
	struct measurement_query q = { .checkpoint = u->checkpoint, .run = u->result.run, .device = u->q->facts->uuid,
	                               .warm = u->q->warm };
	struct measurement_list rows;
	struct err ignored = ERR_INIT;
	bool found = false;
	/* A value over sizes or of energy is not in the row of one time. */
	if (u->result.resumed == 0 || !tune_plain(u) ||
	    measurement_top(u->db, &q, &rows, &ignored) < 0)
		return false;
	char *text = params_text(l->params);
	for (size_t i = 0; i < rows.count && !found; i++) {
		const struct measurement *m = &rows.at[i];
		found = strcmp(m->params, text) == 0;
		if (found)
			*ret_top = (struct tune_top){ .params = params_copy(l->params), .value = m->median_ns, .median_ns = m->median_ns,
			                              .min_ns = m->min_ns, .rse = m->rse, .samples = m->sample_count,
			                              .registers = m->registers, .shared = m->shared_bytes, .spill = m->spill_bytes,
			                              .validation = m->validation };
	}
	free(text);
	measurement_list_fini(&rows);
	return found;
}

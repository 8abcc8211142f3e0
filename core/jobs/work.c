/* work: the table of job kinds, and what they share: devices, input sizes, the best known configuration; see work.h. */
#include "core/jobs/work.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/context/space.h"
#include "core/record/checkpoint.h"
#include "core/record/event.h"
#include "core/record/measurement.h"

const struct engine_kind *const work_kinds[] = {
	&work_validate, &work_tune,     &work_compare, &work_profile, &work_transform, &work_submit, &work_edit,
	&work_draft,    &work_optimize, &work_pytorch, NULL,
};

const struct engine_kind *work_kind(const char *name)
{
	for (size_t i = 0; work_kinds[i]; i++)
		if (strcmp(work_kinds[i]->name, name) == 0)
			return work_kinds[i];
	return NULL;
}

bool work_keep_faster(const char *keep)
{
	return keep && strcmp(keep, "faster") == 0;
}

static const struct layout_field subject_fields[] = {
	{ LAYOUT_AT(struct work_subject, checkpoint, ID) },
	{ LAYOUT_AT(struct work_subject, workflow, TEXT) },
	{ LAYOUT_AT(struct work_subject, device, TEXT) },
	{ LAYOUT_AT(struct work_subject, later, BOOL), .flags = LAYOUT_OPTIONAL },
	{ .name = NULL },
};
const struct layout work_subject_layout = { "request", sizeof(struct work_subject), subject_fields };

static const struct layout_field library_fields[] = {
	{ LAYOUT_AT(struct work_library, library, TEXT), .say = "; library: %" },
	{ LAYOUT_AT(struct work_library, library_ratio, REAL), .unit = "share", .say = ", % of its speed" },
	{ LAYOUT_AT(struct work_library, library_low, REAL), .unit = "share", .say = " (% to", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct work_library, library_high, REAL), .unit = "share", .say = " %)", .flags = LAYOUT_DETAIL },
	{ .name = NULL },
};
const struct layout work_library_layout = { "library", sizeof(struct work_library), library_fields };

void work_library_set(struct work_library *w, const char *name, const char *why, double ratio, double low, double high)
{
	if (name == NULL)
		return;
	w->library = mem_str(why ? why : name);
	if (why)
		return;
	w->library_ratio = ratio;
	w->library_low = low;
	w->library_high = high;
}

static void progress(void *arg, double done, double total, const char *message)
{
	engine_progress(arg, done, total, message);
}

struct eval work_eval(struct engine_job *job)
{
	struct work *w = job->user;
	return (struct eval){ .pool = w->pool,
			      .references = w->references,
			      .binaries = w->binaries,
			      .cancel = &job->cancel,
			      .progress = progress,
			      .progress_arg = job,
			      .external = &w->external,
			      .spent = &job->spent };
}

int work_devices(const struct work *w, const char *device, const char *backend, struct facts **ret_facts, size_t *ret_count,
		 struct err *e)
{
	struct facts *list;
	size_t count;
	int rc = pool_device_set(w->pool, device && *device ? device : backend, &list, &count, e);
	if (rc < 0)
		return rc;
	if (strcmp(list[0].backend, backend) != 0) {
		rc = pool_wrong_backend(list[0].id, backend, e);
		free(list);
		return rc;
	}
	*ret_facts = list;
	*ret_count = count;
	return 0;
}

int work_device(const struct work *w, const char *device, const char *backend, struct facts *ret_facts, struct err *e)
{
	struct facts *list;
	size_t count;
	int rc = work_devices(w, device, backend, &list, &count, e);
	if (rc < 0)
		return rc;
	*ret_facts = list[0];
	free(list);
	return 0;
}

/* The traceparent that came with the job, or with the one that it is a part of; free(), NULL: none. */
static char *trace_of(const struct engine_job *job)
{
	char *trace = NULL;
	struct err ignored = ERR_INIT;
	while (job->parent)
		job = job->parent;
	return event_trace(job->db, job->id, &trace, &ignored) > 0 ? trace : NULL;
}

int work_open_model(struct engine_job *job, const char *name, unsigned attempt, struct models_open *ret_open, struct err *e)
{
	const struct work *w = job->user;
	int rc = models_open(w->models, name ? name : "", attempt, ret_open, e);
	if (rc == 0)
		models_trace(ret_open, trace_of(job), &job->span);
	return rc;
}

/* --- input sizes ------------------------------------------------------------------------------------------------------------ */

void work_sizes_fini(struct work_sizes *s)
{
	for (size_t i = 0; i < s->count; i++)
		params_free(s->at[i]);
	free(s->at);
	*s = (struct work_sizes){ .count = 0 };
}

int work_sizes_list(const char *text, const struct context *ctx, const struct facts *facts, struct work_sizes *ret_sizes,
		    struct err *e)
{
	struct params *fixed = NULL;
	struct space *space;
	int rc = text && *text ? params_parse(ctx, text, false, &fixed, e) : 0;
	if (rc == 0 && fixed && facts)
		rc = space_declares(ctx, facts, fixed, e);
	if (rc == 0)
		rc = space_new(ctx, facts, fixed, &space, e);
	params_free(fixed);
	if (rc < 0)
		return rc;
	struct work_sizes s = { .count = 0 };
	for (size_t i = 0; i < space_size_count(space); i++)
		*MEM_PUSH(s.at, s.count) = space_size_at(space, i);
	space_free(space);
	*ret_sizes = s;
	return 0;
}

/* --- the best known configuration ------------------------------------------------------------------------------------------- */

/* A context without tuning parameters, or with one choice for each, needs no tuning. */
static bool only_one(const struct lineage *l, const struct facts *facts, const struct params *size, struct params **ret_params)
{
	struct space *space;
	struct err ignored = ERR_INIT;
	size_t index[2];
	if (space_new(l->ctx, facts, size, &space, &ignored) < 0)
		return false;
	bool one = space_sample(space, 1, MEM_COUNT(index), index) == 1;
	if (one)
		*ret_params = space_at(space, index[0]);
	space_free(space);
	return one;
}

int work_best(struct db *db, const struct lineage *l, const struct facts *facts, const struct params *size, bool warm,
	      struct params **ret_params, struct err *e)
{
	struct checkpoint c;
	struct measurement m;
	struct err none = ERR_INIT;
	int rc = checkpoint_get(db, l->id, &c, e);
	if (rc < 0)
		return rc;
	/* A refuted checkpoint has no speed, whatever was measured before or would be now. */
	if (c.status == CHECKPOINT_FAILED)
		rc = err_set(e, ERR_WRONG, "checkpoint %lld was refuted, so it has no speed to quote: %s", (long long)l->id,
			     c.note ? c.note : "see its validations");
	checkpoint_fini(&c);
	if (rc < 0)
		return rc;
	char *text = params_text(size);
	struct measurement_query q = { .checkpoint = l->id, .device = facts->uuid, .sizes = text, .warm = warm };
	rc = measurement_best(db, &q, &m, &none);
	if (rc < 0 && warm) {
		q.warm = false;
		rc = measurement_best(db, &q, &m, &none);
	}
	/* Batch systems give another device of the same kind each time. */
	if (rc < 0) {
		q.device = NULL;
		rc = measurement_best(db, &q, &m, &none);
	}
	if (rc == 0) {
		rc = params_parse(l->ctx, m.params, true, ret_params, e);
		measurement_fini(&m);
	} else if (only_one(l, facts, size, ret_params)) {
		rc = 0;
	} else {
		rc = err_set(e, ERR_NOT_FOUND, "checkpoint %lld has no timed configuration at %s: tune it first", (long long)l->id,
			     text);
	}
	free(text);
	return rc;
}

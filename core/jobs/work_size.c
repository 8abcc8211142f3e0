/* work_size: see work_size.h. */
#include "core/jobs/work_size.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/context/space.h"
#include "core/record/checkpoint.h"
#include "core/record/measurement.h"

void work_sizes_fini(struct work_sizes *s)
{
	for (size_t i = 0; i < s->count; i++)
		params_free(s->at[i]);
	free(s->at);
	*s = (struct work_sizes){ .count = 0 };
}

int work_size_list(const struct fields *request, const struct context *ctx, const struct facts *facts, struct work_sizes *ret_sizes,
                   struct err *e)
{
	struct params *fixed = NULL;
	struct space *space;
	const char *text = fields_text(request, "sizes", "");
	int rc = *text ? params_parse(ctx, text, false, &fixed, e) : 0;
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

/* A context without tuning parameters, or with one choice for each, needs no tuning. */
static int only_one(const struct lineage *l, const struct facts *facts, const struct params *size, struct params **ret_params,
                    struct err *e)
{
	struct space *space;
	size_t index[2];
	int rc = space_new(l->ctx, facts, size, &space, e);
	if (rc < 0)
		return rc;
	bool one = space_sample(space, 1, MEM_COUNT(index), index) == 1;
	if (one)
		*ret_params = space_at(space, index[0]);
	space_free(space);
	return one ? 0 : -1;
}

/* A checkpoint that was refuted has no speed, whatever was measured before or would be now. */
static int check_stands(struct db *db, int64_t checkpoint, struct err *e)
{
	struct checkpoint c;
	int rc = checkpoint_get(db, checkpoint, &c, e);
	if (rc < 0)
		return rc;
	if (c.status == CHECKPOINT_FAILED)
		rc = err_set(e, ERR_WRONG, "checkpoint %lld was refuted, so nothing is said of its speed: %s", (long long)checkpoint,
		             c.note ? c.note : "see its validations");
	checkpoint_fini(&c);
	return rc < 0 ? rc : 0;
}

int work_size_best(struct db *db, const struct lineage *l, const struct facts *facts, const struct params *size, bool warm,
                   struct params **ret_params, struct err *e)
{
	struct measurement m;
	int rc = check_stands(db, l->id, e);
	if (rc < 0)
		return rc;
	char *text = params_text(size);
	struct err none = ERR_INIT;
	struct measurement_query q = { .checkpoint = l->id, .device = facts->uuid, .sizes = text, .warm = warm };
	rc = measurement_best(db, &q, &m, &none);
	if (rc < 0 && warm) {
		q.warm = false;
		rc = measurement_best(db, &q, &m, &none);
	}
	if (rc == 0) {
		rc = params_parse(l->ctx, m.params, true, ret_params, e);
		measurement_fini(&m);
	} else if (only_one(l, facts, size, ret_params, &none) == 0) {
		rc = 0;
	} else {
		rc = err_set(e, ERR_NOT_FOUND, "checkpoint %lld has no proven configuration on %s at %s: tune it first", (long long)l->id,
		             facts->id, text);
	}
	free(text);
	return rc;
}

void work_size_text(struct fields *result, const char *name, size_t i, const char *value)
{
	char key[64];
	snprintf(key, sizeof key, "%s_%zu", name, i);
	fields_set(result, key, value);
}

void work_size_number(struct fields *result, const char *name, size_t i, double value)
{
	char text[32];
	if (!isfinite(value))
		return;
	snprintf(text, sizeof text, "%.15g", value);
	work_size_text(result, name, i, text);
}

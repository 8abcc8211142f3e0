/* validation: rows of verdicts; see validation.h. */
#include "core/record/validation.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/record/query.h"

static const char *const verdict_names[VALIDATION_VERDICTS] = {
	[VALIDATION_PASSED] = "passed",
	[VALIDATION_FAILED] = "failed",
	[VALIDATION_SKIPPED] = "skipped",
};

const char *validation_verdict_name(enum validation_verdict verdict)
{
	return verdict_names[verdict];
}

static enum validation_verdict read_verdict(struct query *q)
{
	char *name = query_get_text(q);
	int i = 0;
	while (i < VALIDATION_VERDICTS && strcmp(verdict_names[i], name) != 0)
		i++;
	assert(i < VALIDATION_VERDICTS && "the schema allows no other verdict");
	free(name);
	return (enum validation_verdict)i;
}

int validation_add(struct db *db, struct validation *v, struct err *e)
{
	struct query q;
	int64_t id = 0, now = v->created_ms ? v->created_ms : clock_wall_ms();
	query_init(&q, db, "validation_add");
	query_put_int(&q, v->checkpoint);
	query_put_text(&q, v->validator);
	query_put_text(&q, v->device);
	query_put_text(&q, v->sizes);
	query_put_text(&q, v->params);
	query_put_text(&q, v->size_kind);
	query_put_text(&q, v->seed_hash);
	query_put_text(&q, validation_verdict_name(v->verdict));
	query_put_text(&q, v->reason);
	query_put_real(&q, v->error);
	query_put_real(&q, v->tolerance);
	query_put_text(&q, v->details);
	query_put_count(&q, v->took_ns);
	query_put_text(&q, v->job);
	query_put_int(&q, now);
	int rc = query_run(&q, &id, e);
	if (rc < 0)
		return rc;
	v->id = id;
	v->created_ms = now;
	return 0;
}

static void read_row(struct query *q, struct validation *v)
{
	v->id = query_get_int(q);
	v->checkpoint = query_get_int(q);
	v->validator = query_get_text(q);
	v->device = query_get_text(q);
	v->sizes = query_get_text(q);
	v->params = query_get_text(q);
	v->size_kind = query_get_text(q);
	v->seed_hash = query_get_text(q);
	v->verdict = read_verdict(q);
	v->reason = query_get_text(q);
	v->error = query_get_real(q);
	v->tolerance = query_get_real(q);
	v->details = query_get_text(q);
	v->took_ns = query_get_count(q);
	v->job = query_get_text(q);
	v->created_ms = query_get_int(q);
}

void validation_fini(struct validation *v)
{
	free((char *)v->validator);
	free((char *)v->device);
	free((char *)v->sizes);
	free((char *)v->params);
	free((char *)v->size_kind);
	free((char *)v->seed_hash);
	free((char *)v->reason);
	free((char *)v->details);
	free((char *)v->job);
	*v = (struct validation){ .id = 0 };
}

void validation_list_fini(struct validation_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		validation_fini(&l->at[i]);
	free(l->at);
	*l = (struct validation_list){ .count = 0 };
}

QUERY_LIST_READER(read_list, validation, read_row)

int validation_list(struct db *db, int64_t checkpoint, const char *device, int limit, struct validation_list *ret_list,
                    struct err *e)
{
	struct query q;
	query_init(&q, db, "validation_list");
	query_put_int(&q, checkpoint);
	query_put_text(&q, device);
	query_put_limit(&q, limit);
	return read_list(&q, ret_list, e);
}

int validation_of(struct db *db, int64_t checkpoint, const char *device, const char *params,
                  struct validation *ret_validation, struct err *e)
{
	struct query q;
	query_init(&q, db, "validation_of");
	query_put_int(&q, checkpoint);
	query_put_text(&q, device);
	query_put_text(&q, params);
	int rc = query_next(&q, e);
	if (rc > 0)
		read_row(&q, ret_validation);
	query_fini(&q);
	if (rc == 0)
		return err_set(e, ERR_NOT_FOUND, "checkpoint %lld was never validated on device %s with %s: validate "
		               "it", (long long)checkpoint, device, params);
	return rc < 0 ? rc : 0;
}

int validation_count(struct db *db, int64_t checkpoint, struct validation_counts *ret_counts, struct err *e)
{
	struct validation_counts counts = { .of = { 0 } };
	struct query q;
	query_init(&q, db, "validation_count");
	query_put_int(&q, checkpoint);
	int rc;
	while ((rc = query_next(&q, e)) > 0) {
		enum validation_verdict verdict = read_verdict(&q);
		counts.of[verdict] = query_get_int(&q);
	}
	query_fini(&q);
	if (rc == 0)
		*ret_counts = counts;
	return rc;
}

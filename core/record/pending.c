/* pending: see pending.h. */
#include "core/record/pending.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/record/blob.h"
#include "core/record/query.h"
#include "core/record/store.h"
#include "core/record/token.h"

static int add(struct db *db, const struct pending *p, const char *id, struct err *e)
{
	struct hash text, context;
	int rc = blob_put_text(db, p->text, &text, e);
	if (rc == 0)
		rc = blob_put_text(db, p->context, &context, e);
	if (rc < 0)
		return rc;
	struct query q;
	query_init(&q, db, "pending_add");
	query_put_text(&q, id);
	query_put_int(&q, p->parent);
	query_put_text(&q, p->workflow);
	query_put_text(&q, p->transformation);
	query_put_text(&q, text.hex);
	query_put_int(&q, p->pass);
	query_put_int(&q, p->step);
	query_put_int(&q, p->attempt);
	query_put_text(&q, context.hex);
	query_put_text(&q, p->state);
	query_put_text(&q, p->verdict);
	query_put_text(&q, p->data);
	query_put_text(&q, p->job);
	query_put_int(&q, clock_wall_ms());
	return query_run(&q, NULL, e);
}

int pending_add(struct db *db, const struct pending *p, char **ret_id, struct err *e)
{
	char id[TOKEN_SIZE];
	token_make('t', id);
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = store_end(db, add(db, p, id, e), e);
	if (rc < 0)
		return rc;
	*ret_id = mem_str(id);
	return 0;
}

static int save(struct db *db, const struct pending *p, struct err *e)
{
	struct hash context;
	int rc = blob_put_text(db, p->context, &context, e);
	if (rc < 0)
		return rc;
	struct query q;
	query_init(&q, db, "pending_save");
	query_put_text(&q, p->id);
	query_put_int(&q, p->pass);
	query_put_int(&q, p->step);
	query_put_int(&q, p->attempt);
	query_put_text(&q, context.hex);
	query_put_text(&q, p->state);
	query_put_text(&q, p->verdict);
	query_put_text(&q, p->data);
	query_put_text(&q, p->job);
	query_put_id(&q, p->checkpoint);
	query_put_int(&q, clock_wall_ms());
	rc = query_run(&q, NULL, e);
	return rc == 0 ? err_set(e, ERR_CONFLICT, "somebody else has gone on with transformation %s meanwhile", p->id)
		       : rc;
}

int pending_save(struct db *db, const struct pending *p, struct err *e)
{
	int rc = store_begin(db, e);
	if (rc == 0)
		rc = store_end(db, save(db, p, e), e);
	return rc < 0 ? rc : 0;
}

static void read_row(struct query *q, struct pending *p)
{
	p->id = query_get_text(q);
	p->parent = query_get_int(q);
	p->workflow = query_get_text(q);
	p->transformation = query_get_text(q);
	p->text = query_get_text(q);
	p->pass = (int)query_get_int(q);
	p->step = (int)query_get_int(q);
	p->attempt = (int)query_get_int(q);
	p->context = query_get_text(q);
	p->state = query_get_text(q);
	p->verdict = query_get_text(q);
	p->data = query_get_text(q);
	p->job = query_get_text(q);
	p->checkpoint = query_get_int(q);
	p->live = query_get_int(q);
}

void pending_fini(struct pending *p)
{
	free((char *)p->id);
	free((char *)p->workflow);
	free((char *)p->transformation);
	free((char *)p->text);
	free((char *)p->context);
	free((char *)p->state);
	free((char *)p->verdict);
	free((char *)p->data);
	free((char *)p->job);
	*p = (struct pending){ .id = NULL };
}

static int take(struct db *db, const char *id, const char *job, struct pending *ret_pending, struct err *e)
{
	struct query q;
	query_init(&q, db, "pending_take");
	query_put_text(&q, id);
	query_put_text(&q, job);
	query_put_int(&q, clock_wall_ms());
	int taken = query_run(&q, NULL, e);
	if (taken < 0)
		return taken;
	query_init(&q, db, "pending_get");
	query_put_text(&q, id);
	int rc = query_next(&q, e);
	if (rc > 0)
		read_row(&q, ret_pending);
	query_fini(&q);
	if (rc == 0)
		return err_set(e, ERR_NOT_FOUND, "there is no half-done transformation %s: begin it again", id);
	if (rc > 0 && taken == 0 && ret_pending->live) {
		rc = err_set(e, ERR_CONFLICT,
			     "job %s works on transformation %s: wait for it (job with action wait), or cancel it",
			     ret_pending->job, id);
		pending_fini(ret_pending);
	}
	return rc;
}

int pending_take(struct db *db, const char *id, const char *job, struct pending *ret_pending, struct err *e)
{
	int rc = store_begin(db, e);
	if (rc == 0)
		rc = store_end(db, take(db, id, job, ret_pending, e), e);
	return rc < 0 ? rc : 0;
}

int pending_of_job(struct db *db, const char *job, char **ret_id, int64_t *ret_checkpoint, struct err *e)
{
	struct query q;
	query_init(&q, db, "pending_of_job");
	query_put_text(&q, job);
	int rc = query_next(&q, e);
	if (rc > 0) {
		*ret_id = query_get_text(&q);
		*ret_checkpoint = query_get_int(&q);
	}
	query_fini(&q);
	return rc;
}

/* pending: see pending.h. */
#include "core/record/pending.h"

#include "base/clock.h"
#include "base/mem.h"
#include "core/record/blob.h"
#include "core/record/query.h"
#include "core/record/store.h"
#include "core/record/token.h"

static const struct layout_field fields[] = {
	{ LAYOUT_AT(struct pending, id, TEXT) },
	{ LAYOUT_AS(struct pending, parent, ID, "parent_id") },
	{ LAYOUT_AT(struct pending, workflow, TEXT) },
	{ LAYOUT_AT(struct pending, transformation, TEXT) },
	{ LAYOUT_AT(struct pending, text, TEXT) },
	{ LAYOUT_AT(struct pending, pass, INT) },
	{ LAYOUT_AT(struct pending, step, INT) },
	{ LAYOUT_AT(struct pending, attempt, INT) },
	{ LAYOUT_AT(struct pending, context, TEXT) },
	{ LAYOUT_AT(struct pending, state, TEXT) },
	{ LAYOUT_AT(struct pending, verdict, TEXT) },
	{ LAYOUT_AT(struct pending, data, TEXT) },
	{ LAYOUT_AS(struct pending, job, TEXT, "job_id") },
	{ LAYOUT_AS(struct pending, checkpoint, ID, "checkpoint_id") },
	{ LAYOUT_AT(struct pending, created_ms, INT), .unit = "ms" },
	{ LAYOUT_AT(struct pending, updated_ms, INT), .unit = "ms" },
	{ .name = NULL },
};
static const struct layout layout = { "pending", sizeof(struct pending), fields };

/* The row holds hashes where the struct holds texts. */
static int write_row(struct db *db, struct pending row, bool add, struct err *e)
{
	struct hash text, context;
	struct query q;
	int rc = blob_put_text(db, row.text, &text, e);
	if (rc == 0)
		rc = blob_put_text(db, row.context, &context, e);
	if (rc < 0)
		return rc;
	row.text = text.hex;
	row.context = context.hex;
	row.created_ms = row.updated_ms = clock_wall_ms();
	if (add)
		return query_add(db, "pending", &layout, &row, NULL, e);
	query_init(&q, db, "pending_save");
	query_put_row(&q, &layout, &row);
	rc = query_run(&q, NULL, e);
	return rc == 0 ? err_set(e, ERR_CONFLICT, "somebody else has continued transformation %s meanwhile", row.id) : rc;
}

int pending_add(struct db *db, const struct pending *p, char **ret_id, struct err *e)
{
	struct pending row = *p;
	char id[TOKEN_SIZE];
	token_make('t', id);
	row.id = id;
	int rc = store_begin(db, e);
	if (rc == 0)
		rc = store_end(db, write_row(db, row, true, e), e);
	if (rc < 0)
		return rc;
	*ret_id = mem_str(id);
	return 0;
}

int pending_save(struct db *db, const struct pending *p, struct err *e)
{
	int rc = store_begin(db, e);
	if (rc == 0)
		rc = store_end(db, write_row(db, *p, false, e), e);
	return rc < 0 ? rc : 0;
}

void pending_fini(struct pending *p)
{
	layout_fini(&layout, p);
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
	int rc = query_row(&q, &layout, ret_pending, e);
	if (rc == 0)
		return err_set(e, ERR_NOT_FOUND, "there is no half-done transformation %s: begin it again", id);
	return rc < 0 ? rc : taken;
}

int pending_take(struct db *db, const char *id, const char *job, struct pending *ret_pending, struct err *e)
{
	int rc = store_begin(db, e);
	if (rc == 0)
		rc = store_end(db, take(db, id, job, ret_pending, e), e);
	return rc;
}

int pending_of_job(struct db *db, const char *job, struct pending *ret_pending, struct err *e)
{
	struct query q;
	query_init(&q, db, "pending_of_job");
	query_put_text(&q, job);
	return query_row(&q, &layout, ret_pending, e);
}

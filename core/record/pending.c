/* pending: see pending.h. */
#include "core/record/pending.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/token.h"
#include "core/record/blob.h"
#include "core/record/query.h"
#include "core/record/store.h"

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
	int rc = blob_put_text(db, row.text, &text, e);
	if (rc == 0)
		rc = blob_put_text(db, row.context, &context, e);
	if (rc < 0)
		return rc;
	row.text = text.hex;
	row.context = context.hex;
	row.created_ms = row.updated_ms = clock_wall_ms();
	if (add)
		return query_insert(db, "pending", &layout, &row, e);
	rc = query_save(db, "pending_save", &layout, &row, NULL, e);
	return rc == 0 ? err_set(e, ERR_CONFLICT, "transformation %s was continued by somebody else in the meantime", row.id) : rc;
}

int pending_add(struct db *db, const struct pending *p, char **ret_id, struct err *e)
{
	struct pending row = *p;
	char id[TOKEN_SIZE];
	row.id = token_make('t', id);
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

int pending_take(struct db *db, const char *id, const char *job, struct pending *ret_pending, struct err *e)
{
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	int taken = query_do(db, "pending_take", QUERY(QUERY_TEXT(id), QUERY_TEXT(job), QUERY_INT(clock_wall_ms())), NULL, e);
	rc = taken < 0 ? taken : query_one(db, "pending_get", QUERY(QUERY_TEXT(id)), &layout, ret_pending, e);
	if (rc == 0)
		rc = err_set(e, ERR_NOT_FOUND, "there is no half-done transformation %s: begin it again", id);
	return store_end(db, rc < 0 ? rc : taken, e);
}

int pending_of_job(struct db *db, const char *job, struct pending *ret_pending, struct err *e)
{
	return query_one(db, "pending_of_job", QUERY(QUERY_TEXT(job)), &layout, ret_pending, e);
}

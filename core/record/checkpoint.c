/* checkpoint: rows, identity and status; see checkpoint.h. */
#include "core/record/checkpoint.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "core/record/blob.h"
#include "core/record/query.h"
#include "core/record/store.h"

static const char *const status_names[] = {
	[CHECKPOINT_DRAFT] = "draft",
	[CHECKPOINT_ACCEPTED] = "accepted",
	[CHECKPOINT_FAILED] = "failed",
	[CHECKPOINT_STATUSES] = NULL,
};

static const struct layout_field fields[] = {
	{ LAYOUT_AT(struct checkpoint, id, ID) },
	{ LAYOUT_AT(struct checkpoint, hash, HASH) },
	{ LAYOUT_AT(struct checkpoint, context, HASH) },
	{ LAYOUT_AT(struct checkpoint, kernel, TEXT) },
	{ LAYOUT_AT(struct checkpoint, backend, TEXT) },
	{ LAYOUT_MANY(struct checkpoint, parents, parent_count, INTS) },
	{ LAYOUT_AS(struct checkpoint, by, TEXT, "by_name") },
	{ LAYOUT_AS(struct checkpoint, text, TEXT, "by_text") },
	{ LAYOUT_AT(struct checkpoint, domain, TEXT) },
	{ LAYOUT_AT(struct checkpoint, status, WORD), .words = status_names },
	{ LAYOUT_AT(struct checkpoint, note, TEXT) },
	{ LAYOUT_AT(struct checkpoint, created_ms, INT), .unit = "ms" },
	{ .name = NULL },
};
static const struct layout layout = { "checkpoint", sizeof(struct checkpoint), fields };

/* Row: from, column: to. A later, deeper validation may refute what was accepted. */
static const bool allowed[CHECKPOINT_STATUSES][CHECKPOINT_STATUSES] = {
	[CHECKPOINT_DRAFT] = { [CHECKPOINT_DRAFT] = true, [CHECKPOINT_ACCEPTED] = true, [CHECKPOINT_FAILED] = true },
	[CHECKPOINT_ACCEPTED] = { [CHECKPOINT_ACCEPTED] = true, [CHECKPOINT_FAILED] = true },
	[CHECKPOINT_FAILED] = { [CHECKPOINT_DRAFT] = true, [CHECKPOINT_ACCEPTED] = true, [CHECKPOINT_FAILED] = true },
};

const char *checkpoint_status_name(enum checkpoint_status status)
{
	return status_names[status];
}

static int not_found(int64_t id, struct err *e)
{
	return err_set(e, ERR_NOT_FOUND, "there is no checkpoint %lld in this database: the workflow's log lists them",
		       (long long)id);
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

void checkpoint_fini(struct checkpoint *c)
{
	layout_fini(&layout, c);
}

void checkpoint_list_fini(struct checkpoint_list *l)
{
	query_list_fini(&layout, l);
}

int checkpoint_get(struct db *db, int64_t id, struct checkpoint *ret_checkpoint, struct err *e)
{
	int rc = query_one(db, "checkpoint_get", QUERY(QUERY_INT(id)), &layout, ret_checkpoint, e);
	return rc < 0 ? rc : rc == 0 ? not_found(id, e) : 0;
}

int checkpoint_find(struct db *db, const char *hash, int64_t *ret_id, struct err *e)
{
	int rc = query_do(db, "checkpoint_by_hash", QUERY(QUERY_TEXT(hash)), ret_id, e);
	if (rc == 0)
		return err_set(e, ERR_NOT_FOUND, "there is no checkpoint with the hash %s in this database", hash);
	return rc < 0 ? rc : 0;
}

int checkpoint_context(struct db *db, int64_t id, char **ret_canonical, struct err *e)
{
	char *context = NULL;
	int rc = query_text(db, "checkpoint_context", QUERY(QUERY_INT(id)), &context, e);
	if (rc > 0)
		rc = blob_get_text(db, context, ret_canonical, e);
	else if (rc == 0)
		rc = not_found(id, e);
	free(context);
	return rc;
}

int checkpoint_list(struct db *db, int limit, struct checkpoint_list *ret_list, struct err *e)
{
	return query_all(db, "checkpoint_list", QUERY(QUERY_LIMIT(limit)), &layout, ret_list, e);
}

int checkpoint_log(struct db *db, int64_t head, int limit, struct checkpoint_list *ret_list, struct err *e)
{
	return query_all(db, "checkpoint_log", QUERY(QUERY_INT(head), QUERY_LIMIT(limit)), &layout, ret_list, e);
}

int checkpoint_root(struct db *db, int64_t id, int64_t *ret_root, struct err *e)
{
	int rc = query_do(db, "checkpoint_root", QUERY(QUERY_INT(id)), ret_root, e);
	return rc < 0 ? rc : rc == 0 ? not_found(id, e) : 0;
}

/* --- adding ------------------------------------------------------------------------------------------------------ */

/* The hash of the text that checkpoint.h describes. */
static int identify(struct db *db, const struct checkpoint *c, const struct hash *context, struct hash *ret_hash, struct err *e)
{
	struct buf text = BUF_INIT;
	char **parents = MEM_NEW_N(char *, c->parent_count);
	int rc = 1;
	for (size_t i = 0; rc > 0 && i < c->parent_count; i++) {
		rc = query_text(db, "checkpoint_hash", QUERY(QUERY_INT(c->parents[i])), &parents[i], e);
		if (rc == 0)
			rc = not_found(c->parents[i], e);
	}
	if (rc > 0) {
		qsort(parents, c->parent_count, sizeof *parents, order_texts);
		buf_addf(&text, "peakd checkpoint 1\ncontext %s\n", context->hex);
		for (size_t i = 0; i < c->parent_count; i++)
			buf_addf(&text, "parent %s\n", parents[i]);
		buf_addf(&text, "by %s\n", c->by);
		if (c->text)
			buf_addf(&text, "text %s\n", c->text);
		*ret_hash = hash_bytes(text.data, text.len);
	}
	mem_free_texts(parents, c->parent_count);
	buf_fini(&text);
	return rc;
}

static int add_row(struct db *db, struct checkpoint row, int64_t *ret_id, struct err *e)
{
	row.created_ms = clock_wall_ms();
	int rc = query_save(db, "checkpoint_add", &layout, &row, ret_id, e);
	for (size_t i = 0; rc >= 0 && i < row.parent_count; i++)
		rc = query_do(db, "checkpoint_add_parent",
			      QUERY(QUERY_INT(*ret_id), QUERY_INT((int64_t)i), QUERY_INT(row.parents[i])), NULL, e);
	return rc < 0 ? rc : 1;
}

static int add_or_find(struct db *db, const struct checkpoint *c, const char *canonical, int64_t *ret_id, struct err *e)
{
	struct checkpoint row = *c;
	if (strchr(c->by, '\n'))
		return err_set(e, ERR_INPUT, "the name of a transformation is one line, not \"%.100s\"", c->by);
	int rc = blob_put_text(db, canonical, &row.context, e);
	if (rc == 0 && c->text) {
		rc = blob_has(db, c->text, e);
		if (rc == 0)
			rc = err_set(e, ERR_NOT_FOUND, "the text of transformation %s (%s) is not stored", c->by, c->text);
	}
	if (rc >= 0)
		rc = identify(db, c, &row.context, &row.hash, e);
	if (rc < 0)
		return rc;
	rc = query_do(db, "checkpoint_by_hash", QUERY(QUERY_TEXT(row.hash.hex)), ret_id, e);
	return rc < 0 ? rc : rc > 0 ? 0 : add_row(db, row, ret_id, e);
}

int checkpoint_add(struct db *db, const struct checkpoint *c, const char *canonical, int64_t *ret_id, struct err *e)
{
	int64_t id = 0;
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = store_end(db, add_or_find(db, c, canonical, &id, e), e);
	if (rc >= 0)
		*ret_id = id;
	return rc;
}

/* --- status ------------------------------------------------------------------------------------------------------ */

int checkpoint_set_status(struct db *db, int64_t id, enum checkpoint_status to, const char *note, struct err *e)
{
	struct checkpoint c = { .id = 0 };
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = checkpoint_get(db, id, &c, e);
	if (rc == 0 && !allowed[c.status][to])
		rc = err_set(e, ERR_CONFLICT, "checkpoint %lld is %s and cannot become %s", (long long)id,
			     checkpoint_status_name(c.status), checkpoint_status_name(to));
	checkpoint_fini(&c);
	if (rc == 0)
		rc = query_do(db, "checkpoint_set_status",
			      QUERY(QUERY_INT(id), QUERY_TEXT(checkpoint_status_name(to)), QUERY_TEXT(note)), NULL, e);
	return store_end(db, rc, e);
}

int checkpoint_refute(struct db *db, int64_t id, const char *why, struct err *e)
{
	struct checkpoint c;
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = checkpoint_get(db, id, &c, e);
	if (rc == 0) {
		if (c.status != CHECKPOINT_FAILED)
			rc = checkpoint_set_status(db, id, CHECKPOINT_FAILED, why, e);
		checkpoint_fini(&c);
	}
	return store_end(db, rc, e);
}

/* checkpoint: rows, identity and status; see checkpoint.h. */
#include "core/record/checkpoint.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
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
	layout_free_list(&layout, l->at, l->count);
	*l = (struct checkpoint_list){ .count = 0 };
}

int checkpoint_get(struct db *db, int64_t id, struct checkpoint *ret_checkpoint, struct err *e)
{
	struct query q;
	query_init(&q, db, "checkpoint_get");
	query_put_int(&q, id);
	int rc = query_row(&q, &layout, ret_checkpoint, e);
	return rc < 0 ? rc : rc == 0 ? not_found(id, e) : 0;
}

int checkpoint_find(struct db *db, const char *hash, int64_t *ret_id, struct err *e)
{
	struct query q;
	query_init(&q, db, "checkpoint_by_hash");
	query_put_text(&q, hash);
	int rc = query_run(&q, ret_id, e);
	if (rc == 0)
		return err_set(e, ERR_NOT_FOUND, "there is no checkpoint with the hash %s in this database", hash);
	return rc < 0 ? rc : 0;
}

int checkpoint_context(struct db *db, int64_t id, char **ret_canonical, struct err *e)
{
	struct query q;
	struct hash context = { .hex = "" };
	query_init(&q, db, "checkpoint_context");
	query_put_int(&q, id);
	int rc = query_next(&q, e);
	if (rc > 0)
		context = query_get_hash(&q);
	query_fini(&q);
	if (rc <= 0)
		return rc < 0 ? rc : not_found(id, e);
	return blob_get_text(db, context.hex, ret_canonical, e);
}

int checkpoint_children(struct db *db, int64_t id, struct checkpoint_list *ret_list, struct err *e)
{
	struct query q;
	query_init(&q, db, "checkpoint_children");
	query_put_int(&q, id);
	return QUERY_LIST(&q, &layout, ret_list, e);
}

int checkpoint_of_context(struct db *db, const char *context, struct checkpoint_list *ret_list, struct err *e)
{
	struct query q;
	query_init(&q, db, "checkpoint_of_context");
	query_put_text(&q, context);
	return QUERY_LIST(&q, &layout, ret_list, e);
}

int checkpoint_list(struct db *db, int limit, struct checkpoint_list *ret_list, struct err *e)
{
	struct query q;
	query_init(&q, db, "checkpoint_list");
	query_put_limit(&q, limit);
	return QUERY_LIST(&q, &layout, ret_list, e);
}

int checkpoint_log(struct db *db, int64_t head, int limit, struct checkpoint_list *ret_list, struct err *e)
{
	struct query q;
	query_init(&q, db, "checkpoint_log");
	query_put_int(&q, head);
	query_put_limit(&q, limit);
	return QUERY_LIST(&q, &layout, ret_list, e);
}

int checkpoint_root(struct db *db, int64_t id, int64_t *ret_root, struct err *e)
{
	struct query q;
	query_init(&q, db, "checkpoint_root");
	query_put_int(&q, id);
	int rc = query_run(&q, ret_root, e);
	return rc < 0 ? rc : rc == 0 ? not_found(id, e) : 0;
}

/* --- adding ------------------------------------------------------------------------------------------------------ */

static int read_hash(struct db *db, int64_t id, struct hash *ret_hash, struct err *e)
{
	struct query q;
	query_init(&q, db, "checkpoint_hash");
	query_put_int(&q, id);
	int rc = query_next(&q, e);
	if (rc > 0)
		*ret_hash = query_get_hash(&q);
	query_fini(&q);
	return rc < 0 ? rc : rc == 0 ? not_found(id, e) : 0;
}

static int compare_hashes(const void *a, const void *b)
{
	return strcmp(((const struct hash *)a)->hex, ((const struct hash *)b)->hex);
}

/* The hash of the text that checkpoint.h describes. */
static int identify(struct db *db, const struct checkpoint *c, const struct hash *context, struct hash *ret_hash, struct err *e)
{
	struct buf text = BUF_INIT;
	struct hash *parents = MEM_NEW_N(struct hash, c->parent_count);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < c->parent_count; i++)
		rc = read_hash(db, c->parents[i], &parents[i], e);
	if (rc == 0) {
		qsort(parents, c->parent_count, sizeof *parents, compare_hashes);
		buf_addf(&text, "peakd checkpoint 1\ncontext %s\n", context->hex);
		for (size_t i = 0; i < c->parent_count; i++)
			buf_addf(&text, "parent %s\n", parents[i].hex);
		buf_addf(&text, "by %s\n", c->by);
		if (c->text)
			buf_addf(&text, "text %s\n", c->text);
		*ret_hash = hash_bytes(text.data, text.len);
	}
	free(parents);
	buf_fini(&text);
	return rc;
}

static int add_row(struct db *db, const struct checkpoint *c, const struct hash *hash, const struct hash *context, int64_t *ret_id,
		   struct err *e)
{
	struct checkpoint row = *c;
	struct query q;
	row.id = 0;
	row.hash = *hash;
	row.context = *context;
	row.created_ms = clock_wall_ms();
	query_init(&q, db, "checkpoint_add");
	query_put_row(&q, &layout, &row);
	int rc = query_run(&q, ret_id, e);
	for (size_t i = 0; rc >= 0 && i < c->parent_count; i++) {
		query_init(&q, db, "checkpoint_add_parent");
		query_put_int(&q, *ret_id);
		query_put_int(&q, (int64_t)i);
		query_put_int(&q, c->parents[i]);
		rc = query_run(&q, NULL, e);
	}
	return rc < 0 ? rc : 1;
}

static int add_or_find(struct db *db, const struct checkpoint *c, const char *canonical, int64_t *ret_id, struct err *e)
{
	struct hash context, hash;
	if (strchr(c->by, '\n'))
		return err_set(e, ERR_INPUT, "the name of a transformation is one line, not \"%.100s\"", c->by);
	int rc = blob_put_text(db, canonical, &context, e);
	if (rc == 0 && c->text) {
		rc = blob_has(db, c->text, e);
		if (rc == 0)
			rc = err_set(e, ERR_NOT_FOUND, "the text of transformation %s (%s) is not stored", c->by, c->text);
	}
	if (rc >= 0)
		rc = identify(db, c, &context, &hash, e);
	if (rc < 0)
		return rc;
	struct query q;
	query_init(&q, db, "checkpoint_by_hash");
	query_put_text(&q, hash.hex);
	rc = query_run(&q, ret_id, e);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	return add_row(db, c, &hash, &context, ret_id, e);
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
		rc = err_set(e, ERR_CONFLICT, "checkpoint %lld is %s, it cannot become %s", (long long)id,
			     checkpoint_status_name(c.status), checkpoint_status_name(to));
	checkpoint_fini(&c);
	if (rc == 0) {
		struct query q;
		query_init(&q, db, "checkpoint_set_status");
		query_put_int(&q, id);
		query_put_text(&q, checkpoint_status_name(to));
		query_put_text(&q, note);
		rc = query_run(&q, NULL, e);
	}
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

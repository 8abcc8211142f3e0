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

static const char *const status_names[CHECKPOINT_STATUSES] = {
	[CHECKPOINT_DRAFT] = "draft",
	[CHECKPOINT_ACCEPTED] = "accepted",
	[CHECKPOINT_FAILED] = "failed",
};

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

static enum checkpoint_status status_of(const char *name)
{
	for (int i = 0; i < CHECKPOINT_STATUSES; i++)
		if (strcmp(status_names[i], name) == 0)
			return (enum checkpoint_status)i;
	assert(!"the schema allows no other status");
	return CHECKPOINT_FAILED;
}

static int not_found(int64_t id, struct err *e)
{
	return err_set(e, ERR_NOT_FOUND, "there is no checkpoint %lld in this database: the workflow's log lists them",
	               (long long)id);
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

/* The numbers of the parents, separated by spaces. */
static void read_parents(const char *text, struct checkpoint *c)
{
	while (text && *text) {
		char *end;
		*MEM_PUSH(c->parents, c->parent_count) = strtoll(text, &end, 10);
		text = end;
	}
}

static void read_row(struct query *q, struct checkpoint *c)
{
	*c = (struct checkpoint){ .id = query_get_int(q) };
	c->hash = query_get_hash(q);
	c->context = query_get_hash(q);
	c->kernel = query_get_text(q);
	c->backend = query_get_text(q);
	char *parents = query_get_text(q);
	read_parents(parents, c);
	free(parents);
	c->by = query_get_text(q);
	c->text = query_get_text(q);
	c->domain = query_get_text(q);
	char *status = query_get_text(q);
	c->status = status_of(status);
	free(status);
	c->note = query_get_text(q);
	c->created_ms = query_get_int(q);
}

void checkpoint_fini(struct checkpoint *c)
{
	free((char *)c->kernel);
	free((char *)c->backend);
	free(c->parents);
	free((char *)c->by);
	free((char *)c->text);
	free((char *)c->domain);
	free((char *)c->note);
	*c = (struct checkpoint){ .id = 0 };
}

void checkpoint_list_fini(struct checkpoint_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		checkpoint_fini(&l->at[i]);
	free(l->at);
	*l = (struct checkpoint_list){ .count = 0 };
}

QUERY_LIST_READER(read_list, checkpoint, read_row)

int checkpoint_get(struct db *db, int64_t id, struct checkpoint *ret_checkpoint, struct err *e)
{
	struct query q;
	query_init(&q, db, "checkpoint_get");
	query_put_int(&q, id);
	int rc = query_next(&q, e);
	if (rc > 0)
		read_row(&q, ret_checkpoint);
	query_fini(&q);
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
	return read_list(&q, ret_list, e);
}

int checkpoint_of_context(struct db *db, const char *context, struct checkpoint_list *ret_list, struct err *e)
{
	struct query q;
	query_init(&q, db, "checkpoint_of_context");
	query_put_text(&q, context);
	return read_list(&q, ret_list, e);
}

int checkpoint_list(struct db *db, int limit, struct checkpoint_list *ret_list, struct err *e)
{
	struct query q;
	query_init(&q, db, "checkpoint_list");
	query_put_limit(&q, limit);
	return read_list(&q, ret_list, e);
}

int checkpoint_log(struct db *db, int64_t head, int limit, struct checkpoint_list *ret_list, struct err *e)
{
	struct query q;
	query_init(&q, db, "checkpoint_log");
	query_put_int(&q, head);
	query_put_limit(&q, limit);
	return read_list(&q, ret_list, e);
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
static int identify(struct db *db, const struct checkpoint *c, const struct hash *context, struct hash *ret_hash,
                    struct err *e)
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

static int add_row(struct db *db, const struct checkpoint *c, const struct hash *hash, const struct hash *context,
                   int64_t *ret_id, struct err *e)
{
	struct query q;
	int64_t id = 0;
	query_init(&q, db, "checkpoint_add");
	query_put_text(&q, hash->hex);
	query_put_text(&q, context->hex);
	query_put_text(&q, c->kernel);
	query_put_text(&q, c->backend);
	query_put_text(&q, c->by);
	query_put_text(&q, c->text);
	query_put_text(&q, c->domain);
	query_put_text(&q, checkpoint_status_name(c->status));
	query_put_text(&q, c->note);
	query_put_int(&q, clock_wall_ms());
	int rc = query_run(&q, &id, e);
	for (size_t i = 0; rc >= 0 && i < c->parent_count; i++) {
		query_init(&q, db, "checkpoint_add_parent");
		query_put_int(&q, id);
		query_put_int(&q, (int64_t)i);
		query_put_int(&q, c->parents[i]);
		rc = query_run(&q, NULL, e);
	}
	*ret_id = id;
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
			rc = err_set(e, ERR_NOT_FOUND, "the text of transformation %s (%s) is not stored", c->by,
			             c->text);
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

static int read_status(struct db *db, int64_t id, enum checkpoint_status *ret_status, struct err *e)
{
	struct query q;
	query_init(&q, db, "checkpoint_status");
	query_put_int(&q, id);
	int rc = query_next(&q, e);
	if (rc > 0) {
		char *name = query_get_text(&q);
		*ret_status = status_of(name);
		free(name);
	}
	query_fini(&q);
	return rc < 0 ? rc : rc == 0 ? not_found(id, e) : 0;
}

int checkpoint_set_status(struct db *db, int64_t id, enum checkpoint_status to, const char *note, struct err *e)
{
	enum checkpoint_status from = CHECKPOINT_DRAFT;
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = read_status(db, id, &from, e);
	if (rc == 0 && !allowed[from][to])
		rc = err_set(e, ERR_CONFLICT, "checkpoint %lld is %s, it cannot become %s", (long long)id,
		             checkpoint_status_name(from), checkpoint_status_name(to));
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

/* lineage: from a checkpoint back to its root; see lineage.h. */
#include "core/record/lineage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int load_context(struct db *db, const struct checkpoint *c, struct context **ret_ctx, struct err *e)
{
	char *text = NULL, where[48];
	int rc = checkpoint_context(db, c->id, &text, e);
	if (rc < 0)
		return rc;
	snprintf(where, sizeof where, "checkpoint %lld", (long long)c->id);
	rc = context_parse(where, text, ret_ctx, e);
	free(text);
	return rc;
}

/* Baselines and edits by hand are not transformations. */
static bool is_transformation(const char *by)
{
	return by && strcmp(by, "root") != 0 && strcmp(by, "edit") != 0;
}

static int load_line(struct db *db, const struct checkpoint_list *log, struct lineage *l, struct err *e)
{
	const struct checkpoint *self = &log->at[0], *root = self;
	int rc = load_context(db, self, &l->ctx, e);
	for (size_t i = log->count; i > 0; i--) {
		const struct checkpoint *c = &log->at[i - 1];
		if (c->parent_count == 0)
			root = c;
		if (is_transformation(c->by))
			*MEM_PUSH(l->applied, l->applied_count) = mem_str(c->by);
		if (rc >= 0 && self->parent_count && c->id == self->parents[0]) {
			l->parent_id = c->id;
			rc = load_context(db, c, &l->parent, e);
		}
	}
	l->root_id = root->id;
	if (rc >= 0 && root == self)
		l->root = context_ref(l->ctx);
	else if (rc >= 0)
		rc = load_context(db, root, &l->root, e);
	return rc < 0 ? rc : 0;
}

int lineage_load(struct db *db, int64_t checkpoint, struct lineage *ret_lineage, struct err *e)
{
	struct checkpoint_list log;
	struct lineage l = { .id = checkpoint };
	int rc = checkpoint_log(db, checkpoint, 0, &log, e);
	if (rc < 0)
		return rc;
	rc = log.count ? load_line(db, &log, &l, e) : err_set(e, ERR_NOT_FOUND, "no checkpoint %lld", (long long)checkpoint);
	checkpoint_list_fini(&log);
	if (rc < 0)
		lineage_fini(&l);
	else
		*ret_lineage = l;
	return rc;
}

void lineage_fini(struct lineage *l)
{
	context_free(l->ctx);
	context_free(l->root);
	context_free(l->parent);
	mem_free_texts(l->applied, l->applied_count);
	*l = (struct lineage){ 0 };
}

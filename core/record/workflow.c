/* workflow: heads, their moves, tags, and the names of checkpoints; see workflow.h. */
#include "core/record/workflow.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "core/record/query.h"
#include "core/record/store.h"

enum {
	WORKFLOW_NAME_MAX = 100, /* bytes of a name */
	WORKFLOW_HASH_MIN = 6,   /* characters of a hash that name a checkpoint */
};

static const char name_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

static const struct layout_field fields[] = {
	{ LAYOUT_AT(struct workflow, id, ID) },
	{ LAYOUT_AT(struct workflow, name, TEXT) },
	{ LAYOUT_AS(struct workflow, root, ID, "root_id") },
	{ LAYOUT_AS(struct workflow, head, ID, "head_id") },
	{ LAYOUT_AT(struct workflow, created_ms, INT), .unit = "ms" },
	{ LAYOUT_AT(struct workflow, moved_ms, INT), .unit = "ms" },
	{ .name = NULL },
};
static const struct layout layout = { "workflow", sizeof(struct workflow), fields };

/* One line of the reflog. */
struct workflow_move {
	int64_t created_ms;
	const char *action; /* "create", "branch", "append", "restore" */
	int64_t from;       /* checkpoint, 0 for the first move */
	int64_t to;         /* checkpoint */
};

struct workflow_move_list {
	struct workflow_move *at;
	size_t count;
};

static const struct layout_field move_fields[] = {
	{ LAYOUT_AT(struct workflow_move, created_ms, INT), .unit = "ms" },
	{ LAYOUT_AT(struct workflow_move, action, TEXT) },
	{ LAYOUT_AS(struct workflow_move, from, ID, "from_id") },
	{ LAYOUT_AS(struct workflow_move, to, ID, "to_id") },
	{ .name = NULL },
};
static const struct layout move_layout = { "move", sizeof(struct workflow_move), move_fields };

static const struct layout_field tag_fields[] = {
	{ LAYOUT_AT(struct workflow_tag, name, TEXT) },
	{ LAYOUT_AS(struct workflow_tag, checkpoint, ID, "checkpoint_id") },
	{ LAYOUT_AT(struct workflow_tag, created_ms, INT), .unit = "ms" },
	{ .name = NULL },
};
static const struct layout tag_layout = { "tag", sizeof(struct workflow_tag), tag_fields };

/* --- reading ------------------------------------------------------------------------------------------------------- */

void workflow_fini(struct workflow *w)
{
	layout_fini(&layout, w);
}

void workflow_list_fini(struct workflow_list *l)
{
	query_list_fini(&layout, l);
}

/* 1 and the row when there is such a workflow, 0 when not. */
static int look_up(struct db *db, const char *name, struct workflow *ret_workflow, struct err *e)
{
	return query_one(db, "workflow_get", QUERY(QUERY_TEXT(name)), &layout, ret_workflow, e);
}

static int look_up_tag(struct db *db, const char *name, int64_t *ret_checkpoint, struct err *e)
{
	return query_do(db, "workflow_tag_get", QUERY(QUERY_TEXT(name)), ret_checkpoint, e);
}

static bool is_file_name(const char *name)
{
	size_t n = strlen(name);
	return n > 3 && strcmp(name + n - 3, ".md") == 0;
}

/* ERR_NOT_FOUND with the nearest name that does exist. */
static int not_found(struct db *db, const char *what, const char *name, struct err *e)
{
	struct suggest near;
	struct query q;
	size_t count = 0;
	suggest_init(&near, name);
	query_start(&q, db, "workflow_names", NULL);
	int rc;
	while ((rc = query_next(&q, e)) > 0) {
		char *candidate = query_get_text(&q);
		suggest_offer(&near, candidate);
		free(candidate);
		count++;
	}
	query_fini(&q);
	if (rc < 0)
		return rc;
	if (is_file_name(name))
		return err_set(e, ERR_NOT_FOUND,
			       "there is no %s %s: that is a file's name; create a workflow from it first, with `peakd workflow "
			       "create %s` or the tool context_create",
			       what, name, name);
	if (near.best[0] && strcmp(near.best, name) == 0)
		return err_set(e, ERR_NOT_FOUND, "there is no %s %s: that is a tag", what, name);
	if (near.best[0])
		return err_set(e, ERR_NOT_FOUND, "there is no %s %s: did you mean %s?", what, name, near.best);
	if (count == 0)
		return err_set(e, ERR_NOT_FOUND,
			       "there is no %s %s: this database has no workflow yet; `peakd workflow create FILE.peak.md`, `peakd "
			       "run` or the tool context_create begins one",
			       what, name);
	return err_set(e, ERR_NOT_FOUND, "there is no %s %s: list the workflows to see their names", what, name);
}

int workflow_get(struct db *db, const char *name, struct workflow *ret_workflow, struct err *e)
{
	int rc = look_up(db, name, ret_workflow, e);
	return rc < 0 ? rc : rc == 0 ? not_found(db, "workflow", name, e) : 0;
}

int workflow_list(struct db *db, struct workflow_list *ret_list, struct err *e)
{
	return query_all(db, "workflow_list", NULL, &layout, ret_list, e);
}

/* --- moving ------------------------------------------------------------------------------------------------------ */

static int check_name(struct db *db, const char *name, struct err *e)
{
	size_t n = strlen(name);
	bool plain = n > 0 && n <= WORKFLOW_NAME_MAX && strspn(name, name_characters) == n;
	if (!plain || !isalnum((unsigned char)name[0]) || strspn(name, "0123456789") == n)
		return err_set(e, ERR_INPUT,
			       "\"%.120s\" cannot be a name: a name has letters, digits and ._- (at most %d, not digits alone) and "
			       "begins with a letter or digit",
			       name, WORKFLOW_NAME_MAX);
	if (n >= WORKFLOW_HASH_MIN && strspn(name, "0123456789abcdef") == n)
		return err_set(e, ERR_INPUT,
			       "\"%.120s\" cannot be a name: %d or more of the characters 0-9 and a-f name a checkpoint by its "
			       "hash; put another letter into it",
			       name, WORKFLOW_HASH_MIN);
	struct workflow w = { .name = NULL };
	int64_t tagged;
	int rc = look_up(db, name, &w, e);
	if (rc > 0) {
		workflow_fini(&w);
		return err_set(e, ERR_CONFLICT, "there is a workflow %s already: choose another name", name);
	}
	if (rc == 0)
		rc = look_up_tag(db, name, &tagged, e);
	if (rc > 0)
		return err_set(e, ERR_CONFLICT, "there is a tag %s already: choose another name", name);
	return rc;
}

static int add_move(struct db *db, int64_t workflow, const char *action, int64_t from, int64_t to, struct err *e)
{
	return query_do(db, "workflow_add_move",
			QUERY(QUERY_INT(workflow), QUERY_TEXT(action), QUERY_ID(from), QUERY_INT(to), QUERY_INT(clock_wall_ms())),
			NULL, e);
}

static int create(struct db *db, const char *name, int64_t checkpoint, struct err *e)
{
	int64_t root = 0, id = 0;
	int rc = check_name(db, name, e);
	if (rc == 0)
		rc = checkpoint_root(db, checkpoint, &root, e);
	if (rc == 0)
		rc = query_do(db, "workflow_add",
			      QUERY(QUERY_TEXT(name), QUERY_INT(root), QUERY_INT(checkpoint), QUERY_INT(clock_wall_ms())), &id, e);
	return rc < 0 ? rc : add_move(db, id, root == checkpoint ? "create" : "branch", 0, checkpoint, e);
}

int workflow_create(struct db *db, const char *name, int64_t checkpoint, struct err *e)
{
	int rc = store_begin(db, e);
	return rc < 0 ? rc : store_end(db, create(db, name, checkpoint, e), e);
}

static int set_head(struct db *db, const struct workflow *w, const char *action, int64_t checkpoint, struct err *e)
{
	int rc = query_do(db, "workflow_set_head", QUERY(QUERY_INT(w->id), QUERY_INT(checkpoint), QUERY_INT(clock_wall_ms())), NULL,
			  e);
	return rc < 0 ? rc : add_move(db, w->id, action, w->head, checkpoint, e);
}

/* Whether the workflow's head may advance to this checkpoint. */
static int check_append(struct db *db, const struct workflow *w, int64_t checkpoint, struct err *e)
{
	struct checkpoint c;
	int rc = checkpoint_get(db, checkpoint, &c, e);
	if (rc < 0)
		return rc;
	bool follows = false, failed = c.status == CHECKPOINT_FAILED;
	for (size_t i = 0; i < c.parent_count; i++)
		follows = follows || c.parents[i] == w->head;
	checkpoint_fini(&c);
	if (failed)
		return err_set(e, ERR_CONFLICT,
			       "checkpoint %lld failed its validation and cannot become the head of workflow %s: repair it first",
			       (long long)checkpoint, w->name);
	if (!follows)
		return err_set(e, ERR_CONFLICT,
			       "checkpoint %lld was not made from %lld, the head of workflow %s: somebody moved it. Repeat the "
			       "step from the head, or branch a new workflow from the checkpoint",
			       (long long)checkpoint, (long long)w->head, w->name);
	return 0;
}

int workflow_append(struct db *db, const char *name, int64_t checkpoint, struct err *e)
{
	struct workflow w = { .name = NULL };
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = workflow_get(db, name, &w, e);
	if (rc == 0 && w.head != checkpoint) {
		rc = check_append(db, &w, checkpoint, e);
		if (rc == 0)
			rc = set_head(db, &w, "append", checkpoint, e);
	}
	workflow_fini(&w);
	return store_end(db, rc, e);
}

int workflow_restore(struct db *db, const char *name, int64_t checkpoint, struct err *e)
{
	struct workflow w = { .name = NULL };
	int64_t root = 0;
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = workflow_get(db, name, &w, e);
	if (rc == 0)
		rc = checkpoint_root(db, checkpoint, &root, e);
	if (rc == 0 && root != w.root)
		rc = err_set(e, ERR_CONFLICT,
			     "checkpoint %lld has another baseline than workflow %s (%lld, not %lld): branch a new workflow from "
			     "it instead",
			     (long long)checkpoint, name, (long long)root, (long long)w.root);
	if (rc == 0 && w.head != checkpoint)
		rc = set_head(db, &w, "restore", checkpoint, e);
	workflow_fini(&w);
	return store_end(db, rc, e);
}

/* --- names that change ------------------------------------------------------------------------------------------- */

int workflow_rename(struct db *db, const char *name, const char *to, struct err *e)
{
	struct workflow w = { .name = NULL };
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = workflow_get(db, name, &w, e);
	if (rc == 0)
		rc = check_name(db, to, e);
	if (rc == 0)
		rc = query_do(db, "workflow_rename", QUERY(QUERY_INT(w.id), QUERY_TEXT(to)), NULL, e);
	if (rc >= 0)
		rc = query_do(db, "workflow_rename_pending", QUERY(QUERY_TEXT(name), QUERY_TEXT(to)), NULL, e);
	workflow_fini(&w);
	return store_end(db, rc, e);
}

int workflow_delete(struct db *db, const char *name, struct err *e)
{
	struct workflow w = { .name = NULL };
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = workflow_get(db, name, &w, e);
	if (rc == 0)
		rc = query_do(db, "workflow_rename_pending", QUERY(QUERY_TEXT(name), QUERY_TEXT(NULL)), NULL, e);
	if (rc >= 0)
		rc = query_do(db, "workflow_delete_moves", QUERY(QUERY_INT(w.id)), NULL, e);
	if (rc >= 0)
		rc = query_do(db, "workflow_delete", QUERY(QUERY_INT(w.id)), NULL, e);
	workflow_fini(&w);
	return store_end(db, rc, e);
}

/* --- tags -------------------------------------------------------------------------------------------------------- */

int workflow_tag(struct db *db, const char *name, int64_t checkpoint, struct err *e)
{
	int64_t root = 0; /* shows that the checkpoint exists */
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = check_name(db, name, e);
	if (rc == 0)
		rc = checkpoint_root(db, checkpoint, &root, e);
	if (rc == 0)
		rc = query_do(db, "workflow_tag_add", QUERY(QUERY_TEXT(name), QUERY_INT(checkpoint), QUERY_INT(clock_wall_ms())),
			      NULL, e);
	return store_end(db, rc, e);
}

int workflow_tags(struct db *db, struct workflow_tag_list *ret_list, struct err *e)
{
	return query_all(db, "workflow_tags", NULL, &tag_layout, ret_list, e);
}

void workflow_tag_list_fini(struct workflow_tag_list *l)
{
	query_list_fini(&tag_layout, l);
}

/* --- names ------------------------------------------------------------------------------------------------------- */

/* 1 when a checkpoint has this number, 0 when not. */
static int look_up_number(struct db *db, const char *digits, int64_t *ret_checkpoint, struct err *e)
{
	if (strlen(digits) > 18)
		return 0;
	int64_t id = strtoll(digits, NULL, 10);
	int rc = query_do(db, "checkpoint_hash", QUERY(QUERY_INT(id)), NULL, e);
	if (rc > 0)
		*ret_checkpoint = id;
	return rc;
}

/* The checkpoint whose hash begins so or, when there is none, the oldest one of the context whose hash begins so. */
static int look_up_hash(struct db *db, const char *prefix, int64_t *ret_checkpoint, struct err *e)
{
	static const char *const queries[] = { "checkpoint_by_prefix", "checkpoint_by_context_prefix" };
	int count = 0;
	for (size_t i = 0; i < MEM_COUNT(queries) && count == 0; i++) {
		struct query q;
		int64_t ids[2];
		int rc;
		query_start(&q, db, queries[i], QUERY(QUERY_TEXT(prefix)));
		while ((rc = query_next(&q, e)) > 0)
			ids[count++] = query_get_int(&q);
		query_fini(&q);
		if (rc < 0)
			return rc;
		if (count > 1)
			return err_set(
				e, ERR_INPUT,
				"%s is ambiguous: several hashes begin with it (checkpoints %lld, %lld, …): write more of it",
				prefix, (long long)ids[0], (long long)ids[1]);
		if (count == 1)
			*ret_checkpoint = ids[0];
	}
	return count;
}

/* A name without suffixes. */
static int resolve_base(struct db *db, const char *base, int64_t *ret_checkpoint, struct err *e)
{
	struct workflow w = { .name = NULL };
	size_t n = strlen(base);
	int rc = look_up(db, base, &w, e);
	if (rc > 0) {
		*ret_checkpoint = w.head;
		workflow_fini(&w);
		return 0;
	}
	if (rc == 0)
		rc = look_up_tag(db, base, ret_checkpoint, e);
	if (rc == 0 && n > 0 && strspn(base, "0123456789") == n)
		rc = look_up_number(db, base, ret_checkpoint, e);
	if (rc == 0 && n >= WORKFLOW_HASH_MIN && n <= HASH_HEX && strspn(base, "0123456789abcdef") == n)
		rc = look_up_hash(db, base, ret_checkpoint, e);
	if (rc == 0)
		return not_found(db, "workflow, tag or checkpoint", base, e);
	return rc < 0 ? rc : 0;
}

/* NAME@{root} or NAME@{N}; `what` is the text in the braces. */
static int resolve_moved(struct db *db, const char *base, const char *what, int64_t *ret_checkpoint, struct err *e)
{
	struct workflow w = { .name = NULL };
	struct workflow_move_list moves = { .count = 0 };
	int rc = workflow_get(db, base, &w, e);
	if (rc < 0)
		return rc;
	if (strcmp(what, "root") == 0) {
		*ret_checkpoint = w.root;
	} else if (*what && strspn(what, "0123456789") == strlen(what)) {
		size_t back = (size_t)strtoull(what, NULL, 10);
		rc = query_all(db, "workflow_reflog", QUERY(QUERY_INT(w.id)), &move_layout, &moves, e);
		if (rc == 0 && back >= moves.count)
			rc = err_set(e, ERR_NOT_FOUND, "%s@{%s}: the head of %s was moved only %zu times", base, what, base,
				     moves.count - 1);
		if (rc == 0)
			*ret_checkpoint = moves.at[back].to;
	} else {
		rc = err_set(e, ERR_INPUT, "%s@{%s}: expected @{root} or @{N}, the head N moves ago", base, what);
	}
	query_list_fini(&move_layout, &moves);
	workflow_fini(&w);
	return rc;
}

/* Follows first parents. */
static int go_back(struct db *db, const char *name, uint64_t steps, int64_t *checkpoint, struct err *e)
{
	for (uint64_t i = 0; i < steps; i++) {
		int rc = query_do(db, "checkpoint_first_parent", QUERY(QUERY_INT(*checkpoint)), checkpoint, e);
		if (rc < 0)
			return rc;
		if (rc == 0)
			return err_set(e, ERR_NOT_FOUND, "%s: it has %llu checkpoint%s before it, so ~%llu is the last that exists",
				       name, (unsigned long long)i, i == 1 ? "" : "s", (unsigned long long)i);
	}
	return 0;
}

int workflow_resolve(struct db *db, const char *name, int64_t *ret_checkpoint, struct err *e)
{
	char *base = mem_str(name);
	char *tilde = strchr(base, '~'), *at = strstr(base, "@{");
	uint64_t steps = 0;
	int64_t checkpoint = 0;
	int rc = 0;
	if (tilde) {
		*tilde++ = '\0';
		/* "~" alone is "~1", as in git. */
		steps = *tilde ? strtoull(tilde, NULL, 10) : 1;
		if (strspn(tilde, "0123456789") != strlen(tilde))
			rc = err_set(e, ERR_INPUT, "%s: expected a number after ~", name);
	}
	if (rc == 0 && at && at < base + strlen(base)) {
		char *end = strchr(at, '}');
		if (end == NULL || end[1] != '\0') {
			rc = err_set(e, ERR_INPUT, "%s: write @{root} or @{N} after a workflow's name", name);
		} else {
			*at = *end = '\0';
			rc = resolve_moved(db, base, at + 2, &checkpoint, e);
		}
	} else if (rc == 0) {
		rc = resolve_base(db, base, &checkpoint, e);
	}
	if (rc == 0)
		rc = go_back(db, name, steps, &checkpoint, e);
	if (rc == 0)
		*ret_checkpoint = checkpoint;
	free(base);
	return rc;
}

int workflow_view(struct db *db, const char *view, const char *of, int64_t from, char **ret_json, struct err *e)
{
	static const char *const queries[] = { "page_graph",     "page_exchanges", "page_exchange",
					       "page_decisions", "page_tries",     "page_profiles" };
	int rc = 0;
	for (size_t i = 0; i < MEM_COUNT(queries) && rc == 0; i++)
		if (strcmp(queries[i] + strlen("page_"), view) == 0)
			rc = query_text(db, queries[i], QUERY(QUERY_TEXT(of), QUERY_INT(from)), ret_json, e);
	return rc == 0 ? err_set(e, ERR_NOT_FOUND, "the page has no %s of '%s'", view, of) : rc < 0 ? rc : 0;
}

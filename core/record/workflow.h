/* workflow: named lines of checkpoints, as branches are in git. A workflow is a name, a root and a head; its log is the
 * head and all its ancestors. Moving the head forgets nothing: every move is a row of the reflog. Tags are names that
 * do not move. Called by the tools and verbs, and by transform and edit when a step is done.
 *
 * Names of checkpoints, as workflow_resolve reads them:
 *	NAME          the head of the workflow, or the tag
 *	12            row number
 *	3f9ab2        the first characters (6 or more) of a checkpoint's hash
 *	X~2           the first parent of the first parent of X, which is any of the above
 *	NAME@{root}   where the line begins
 *	NAME@{2}      where the head was two moves ago */
#ifndef PEAKD_CORE_RECORD_WORKFLOW_H
#define PEAKD_CORE_RECORD_WORKFLOW_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/record/checkpoint.h"

struct db;

struct workflow {
	int64_t id; /* row number */
	const char *name;
	int64_t root; /* checkpoint where the line begins: no parents */
	int64_t head; /* checkpoint that the name stands for */
	int64_t created_ms;
	int64_t moved_ms; /* last move of the head */
};

struct workflow_list {
	struct workflow *at;
	size_t count;
};

struct workflow_tag {
	const char *name;
	int64_t checkpoint;
	int64_t created_ms;
};

struct workflow_tag_list {
	struct workflow_tag *at;
	size_t count;
};

/* A new workflow whose head is `checkpoint`: a baseline, or any other to branch off. Names have letters, digits and ._-, at
 * most 100, not digits alone, and begin with a letter or digit: else ERR_INPUT. ERR_CONFLICT: the name (also of a tag)
 * is taken. Databases may hold names with a slash from earlier; these are still read. */
int workflow_create(struct db *db, const char *name, int64_t checkpoint, struct err *e);
/* Advances the head to a checkpoint that has the present head among its parents and is not failed; else ERR_CONFLICT
 * (somebody else moved the head). Appending the head itself is fine and does nothing. */
int workflow_append(struct db *db, const char *name, int64_t checkpoint, struct err *e);
/* Moves the head to any checkpoint that begins at the same root; else ERR_CONFLICT. What lay in front of it stays
 * reachable by number, hash, tag and reflog. */
int workflow_restore(struct db *db, const char *name, int64_t checkpoint, struct err *e);
/* Gives it another name, also where half-done transformations name it. Names as for workflow_create. */
int workflow_rename(struct db *db, const char *name, const char *to, struct err *e);
/* Deletes the name and the moves of its head. Its checkpoints stay until retention (retention.h) finds that nothing leads to them.
 */
int workflow_delete(struct db *db, const char *name, struct err *e);
/* Reads one; workflow_fini it. ERR_NOT_FOUND names the nearest existing name. */
int workflow_get(struct db *db, const char *name, struct workflow *ret_workflow, struct err *e);
/* All, by name. */
int workflow_list(struct db *db, struct workflow_list *ret_list, struct err *e);
/* Names a checkpoint for good. Names as for workflow_create. */
int workflow_tag(struct db *db, const char *name, int64_t checkpoint, struct err *e);
int workflow_tags(struct db *db, struct workflow_tag_list *ret_list, struct err *e);
/* Turns a name as described above into a checkpoint's number. ERR_NOT_FOUND names the nearest existing name; ERR_INPUT
 * for a malformed or ambiguous one. */
int workflow_resolve(struct db *db, const char *name, int64_t *ret_checkpoint, struct err *e);

/* What the page (daemon/page/) shows, as JSON: `view` is graph, exchanges, decisions or tries of the workflow that `of` names,
 * profiles of a checkpoint by its number, or exchange by its number. from: only rows with smaller numbers; 0: the newest.
 * *ret_json: free(). ERR_NOT_FOUND. */
int workflow_view(struct db *db, const char *view, const char *of, int64_t from, char **ret_json, struct err *e);

void workflow_fini(struct workflow *w);
void workflow_list_fini(struct workflow_list *l);
void workflow_tag_list_fini(struct workflow_tag_list *l);

#endif

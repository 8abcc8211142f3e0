/* checkpoint: a context, where it came from, and whether it holds. Its evidence is in validation.h, measurement.h and
 * metric.h; lines of checkpoints are workflow.h's. Written by transform, edit and context_create; read by everyone.
 *
 * Identity: the SHA-256 of the text
 *	peakd checkpoint 1\n
 *	context HASH\n
 *	parent HASH\n          (one line per parent: its checkpoint hash, sorted)
 *	by NAME\n              (the transformation's name; "edit", "root" … for what has no file)
 *	text HASH\n            (of the transformation's text, or of the free text; left out when there is none)
 *
 * So the same step from the same parents with the same outcome is the same checkpoint in every database, and databases merge.
 * Adding one that exists returns the existing row. */
#ifndef PEAKD_CORE_RECORD_CHECKPOINT_H
#define PEAKD_CORE_RECORD_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"

struct db;

/* draft: validation is outstanding; accepted: validated; failed: refuted, perhaps later than accepted. */
enum checkpoint_status { CHECKPOINT_DRAFT, CHECKPOINT_ACCEPTED, CHECKPOINT_FAILED };
enum { CHECKPOINT_STATUSES = CHECKPOINT_FAILED + 1 };

struct checkpoint {
	int64_t id;          /* row number, this database only; greater than its parents' */
	struct hash hash;    /* identity, see above */
	struct hash context; /* blob: the context's canonical text */
	const char *kernel;  /* the context's kernel: name */
	const char *backend; /* "cuda", "hip", "hlsl" */
	int64_t *parents;    /* row numbers in the order given; NULL for a root */
	size_t parent_count;
	const char *by;     /* name of the transformation, "edit", "root", "free text" */
	const char *text;   /* blob hash of the transformation's text or the free text; NULL when there is none */
	const char *domain; /* declared changes of the domain ("n % 8 == 0"); NULL when none */
	enum checkpoint_status status;
	const char *note;   /* why it failed, or what its verdict leaves open; NULL */
	int64_t created_ms; /* wall clock */
};

struct checkpoint_list {
	struct checkpoint *at;
	size_t count;
};

/* "draft", "accepted", "failed". Static storage. */
const char *checkpoint_status_name(enum checkpoint_status status);

/* Stores `canonical` (the context's canonical text) and a row made of *c. Of *c, kernel, backend, parents, by, text, domain, status
 * and note are read and borrowed. *ret_id is its number. Returns 1 when it was new, 0 when the same checkpoint existed (that row is
 * kept as it is). ERR_NOT_FOUND: a parent, or the blob of text, does not exist. */
int checkpoint_add(struct db *db, const struct checkpoint *c, const char *canonical, int64_t *ret_id, struct err *e);
/* Reads one; checkpoint_fini it. ERR_NOT_FOUND. Names are resolved by workflow_resolve. */
int checkpoint_get(struct db *db, int64_t id, struct checkpoint *ret_checkpoint, struct err *e);
/* The number of the checkpoint with this hash (its identity); ERR_NOT_FOUND. */
int checkpoint_find(struct db *db, const char *hash, int64_t *ret_id, struct err *e);
/* The canonical text of its context; free() it. */
int checkpoint_context(struct db *db, int64_t id, char **ret_canonical, struct err *e);
/* draft → accepted or failed, failed → draft or accepted, accepted → failed; else ERR_CONFLICT. The same state again is
 * fine. `note` replaces the old one unless NULL; "" leaves none. */
int checkpoint_set_status(struct db *db, int64_t id, enum checkpoint_status to, const char *note, struct err *e);
/* One configuration was found wrong, by whatever job: the checkpoint fails with `why`. One that has failed keeps its first
 * reason. */
int checkpoint_refute(struct db *db, int64_t id, const char *why, struct err *e);
/* Where its line begins, the context that its outputs are judged by: the first parent's first parent and so on. */
int checkpoint_root(struct db *db, int64_t id, int64_t *ret_root, struct err *e);
/* A checkpoint and all its ancestors, newest first, at most `limit` (0: all). */
int checkpoint_log(struct db *db, int64_t head, int limit, struct checkpoint_list *ret_list, struct err *e);
/* All, newest first, at most `limit` (0: all). */
int checkpoint_list(struct db *db, int limit, struct checkpoint_list *ret_list, struct err *e);
void checkpoint_fini(struct checkpoint *c);
void checkpoint_list_fini(struct checkpoint_list *l);

#endif

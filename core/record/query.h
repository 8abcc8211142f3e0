/* query: one run of a named statement of schema/queries.sql on one handle, for the files of core/record only.
 *
 *	struct query q;
 *	query_init(&q, db, "fact_get");
 *	query_put_text(&q, device);                      // ?1
 *	query_put_text(&q, key);                         // ?2
 *	int rc = query_next(&q, e);                      // 1: a row, 0: no more, negative: error
 *	if (rc > 0)
 *		value = query_get_text(&q);              // first column, then the second …
 *	query_fini(&q);
 *
 * Values are put and got one after the other, each with its type. Failures of preparing and binding are kept and come
 * out of query_next. Prepared statements are cached in the handle by name. */
#ifndef PEAKD_CORE_RECORD_QUERY_H
#define PEAKD_CORE_RECORD_QUERY_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/layout.h"
#include "base/mem.h"

struct store;

/* The statements of one file by name. */
struct query_set {
	char *text;             /* the file, NULs put behind each statement; owned */
	struct query_entry *at; /* sorted by name */
	size_t count;
};

struct query_entry {
	const char *name;
	const char *sql;
};

/* A handle: one connection, used by the thread that took it. */
struct db {
	struct store *store;
	sqlite3 *sql;
	pthread_t owner;             /* who took it last */
	const struct query_set *set; /* the store's */
	sqlite3_stmt **cache;        /* prepared statements, as in set; NULL until first used */
	int depth;                   /* open transactions, the inner ones savepoints */
	bool ring;                   /* an event was appended in the open transaction */
	char *lost;                  /* why SQLite ended the open transaction by itself; NULL: it has not */
};

struct query {
	struct db *db;
	const char *name;   /* for messages */
	sqlite3_stmt *stmt; /* NULL when it could not be prepared */
	bool cached;        /* stmt stays in the handle's cache */
	int put;            /* values put so far */
	int got;            /* columns got of the present row */
	int rc;             /* first SQLite error */
};

void query_set_init(struct query_set *set, const char *text);
void query_set_fini(struct query_set *set);
/* Runs all the statements that stand under one name and ignores rows: for pragmas. */
int query_exec(struct db *db, const char *name, struct err *e);
/* As query_exec for a whole text of SQL (a migration). */
int query_exec_text(struct db *db, const char *sql, struct err *e);
/* Prepares every statement of the set (for tests): the first that is refused is the error. */
int query_check(struct db *db, struct err *e);

/* A name that schema/queries.sql does not have is a bug. */
void query_init(struct query *q, struct db *db, const char *name);
void query_put_int(struct query *q, int64_t value);
void query_put_id(struct query *q, int64_t value);    /* 0 becomes NULL */
void query_put_real(struct query *q, double value);   /* NAN becomes NULL */
/* Texts and bytes are borrowed until query_fini; NULL becomes NULL. */
void query_put_text(struct query *q, const char *text);
void query_put_bytes(struct query *q, const void *bytes, size_t n);
/* A row limit: 0 becomes "no limit". */
void query_put_limit(struct query *q, int limit);
/* The next row: 1; 0 when there is none; negative on failure. */
int query_next(struct query *q, struct err *e);
int64_t query_get_int(struct query *q);   /* NULL is 0 */
char *query_get_text(struct query *q);    /* a copy; NULL is NULL */
struct hash query_get_hash(struct query *q);
void query_get_bytes(struct query *q, struct buf *out); /* appended */
void query_fini(struct query *q);
/* For statements that give no rows, or one integer at most: runs it to its end and query_fini. *ret_value (may be
 * NULL) is the first column of the first row. Returns 1 when there was a row, 0 when not, negative on failure. */
int query_run(struct query *q, int64_t *ret_value, struct err *e);

/* Rows by the names of their columns (base/layout.h: a field's `column`, or its name; one whose column is "" has none).
 * query_put_row binds the parameters :NAME that the statement has; texts are borrowed until query_fini. */
void query_put_row(struct query *q, const struct layout *l, const void *object);
/* Reads the present row into an object that holds nothing; columns that the statement does not give, or that are NULL, are none. */
void query_get_row(struct query *q, const struct layout *l, void *object);
/* The only row, then query_fini: 1, 0 when there is none (*ret_object is not touched), negative. */
int query_row(struct query *q, const struct layout *l, void *ret_object, struct err *e);
/* All rows, then query_fini: an array for layout_free_list. Returns 0 or negative. */
int query_rows(struct query *q, const struct layout *l, void **ret_at, size_t *ret_count, struct err *e);
/* The same into a list, a struct with `at` and `count`. */
#define QUERY_LIST(q, l, ret_list, e) query_rows((q), (l), (void **)&(ret_list)->at, &(ret_list)->count, (e))
/* Adds a row with every column of the layout. *ret_id (may be NULL) is its number. */
int query_add(struct db *db, const char *table, const struct layout *l, const void *object, int64_t *ret_id, struct err *e);

/* A message for an SQLite error on this handle: says what to do; returns negative. */
int query_error(struct db *db, int rc, const char *what, struct err *e);

#endif

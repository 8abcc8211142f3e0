/* query: runs the named statements of schema/queries.sql on one handle, for the files of core/record, and for
 * core/jobs/drain_merge.c, whose rows are of all tables.
 *
 *	rc = query_do(db, "fact_set", QUERY(QUERY_TEXT(device), QUERY_TEXT(key), QUERY_TEXT(value)), NULL, e);
 *	rc = query_all(db, "fact_list", QUERY(QUERY_TEXT(device)), &layout, ret_list, e);
 *
 * The values stand in the order of the statement's parameters ?1, ?2 …; NULL: there are none. Rows are read by the names of their
 * columns (base/layout.h: a field's `column`, or its name; one whose column is "" has none). Prepared statements are cached in the
 * handle by name. A name that schema/queries.sql does not have is a bug. */
#ifndef PEAKD_CORE_RECORD_QUERY_H
#define PEAKD_CORE_RECORD_QUERY_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
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

/* The statement that adds a row to a table, made from the row's layout. */
struct query_added {
	const char *table;
	const struct layout *layout;
	sqlite3_stmt *stmt;
};

/* A handle: one connection, used by the thread that took it. */
struct db {
	struct store *store;
	sqlite3 *sql;
	pthread_t owner;             /* who took it last */
	const struct query_set *set; /* the store's */
	sqlite3_stmt **cache;        /* prepared statements, as in set; NULL until first used */
	struct query_added *added;   /* those of query_insert */
	size_t added_count;
	int depth;        /* open transactions, the inner ones savepoints */
	bool ring;        /* an event was appended in the open transaction */
	char *lost;       /* why SQLite ended the open transaction by itself; NULL: it has not */
	char *unreadable; /* the first reading that failed since the handle was taken; NULL: none */
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

/* The value of one parameter. Texts and bytes are borrowed until the statement has run. */
struct query_value {
	int type; /* SQLITE_INTEGER …; 0 ends the list */
	int64_t i;
	double r;
	const void *bytes;
	size_t n;
};
#define QUERY(...) ((const struct query_value[]){ __VA_ARGS__, { .type = 0 } })
#define QUERY_INT(value_) ((struct query_value){ .type = SQLITE_INTEGER, .i = (value_) })
#define QUERY_ID(value_) ((struct query_value){ .type = (value_) ? SQLITE_INTEGER : SQLITE_NULL, .i = (value_) }) /* 0: NULL */
#define QUERY_LIMIT(rows_) ((struct query_value){ .type = SQLITE_INTEGER, .i = (rows_) > 0 ? (rows_) : -1 })      /* 0: none */
#define QUERY_REAL(value_) ((struct query_value){ .type = SQLITE_FLOAT, .r = (value_) })
#define QUERY_TEXT(text_) ((struct query_value){ .type = SQLITE_TEXT, .bytes = (text_) })
#define QUERY_BYTES(bytes_, n_) ((struct query_value){ .type = SQLITE_BLOB, .bytes = (bytes_), .n = (n_) })

void query_set_init(struct query_set *set, const char *text);
void query_set_fini(struct query_set *set);
/* Runs all the statements that stand under one name and ignores rows: for pragmas. */
int query_exec(struct db *db, const char *name, struct err *e);
/* As query_exec for a whole text of SQL (a migration). */
int query_exec_text(struct db *db, const char *sql, struct err *e);
/* Prepares every statement of the set (for tests): the first that is refused is the error. */
int query_check(struct db *db, struct err *e);

/* These run a statement to its end: 1 when there was a row, 0 when not, negative on failure. The first row sets ret_…;
 * ret_value may be NULL. */
int query_do(struct db *db, const char *name, const struct query_value *values, int64_t *ret_value, struct err *e);
int query_text(struct db *db, const char *name, const struct query_value *values, char **ret_text, struct err *e);
int query_one(struct db *db, const char *name, const struct query_value *values, const struct layout *l, void *ret_object,
	      struct err *e);
/* All rows: ret_list is a struct with `at` and `count`, for query_list_fini. Returns 0 or negative. */
int query_all(struct db *db, const char *name, const struct query_value *values, const struct layout *l, void *ret_list,
	      struct err *e);
void query_list_fini(const struct layout *l, void *io_list);
/* Runs a statement whose parameters are :COLUMN with the values of an object; as query_do. */
int query_save(struct db *db, const char *name, const struct layout *l, const void *object, int64_t *ret_value, struct err *e);
/* Adds a row with every column of the layout: sets the object's `created_ms` to now where it is 0, and its `id` (where that is a
 * number) to the row's. Returns 0 or negative. */
int query_insert(struct db *db, const char *table, const struct layout *l, void *io_object, struct err *e);

/* Row by row: */
void query_start(struct query *q, struct db *db, const char *name, const struct query_value *values);
/* The next row: 1; 0 when there is none; negative on failure, that of query_start too. */
int query_next(struct query *q, struct err *e);
/* The columns of the row one after the other. */
int64_t query_get_int(struct query *q);                                        /* NULL is 0 */
char *query_get_text(struct query *q);                                         /* a copy; NULL is NULL */
void query_get_bytes(struct query *q, struct buf *out);                        /* appended */
void query_get_row(struct query *q, const struct layout *l, void *ret_object); /* columns that are missing or NULL are none */
void query_fini(struct query *q);

/* A message for an SQLite error on this handle: says what to do; returns negative. */
int query_error(struct db *db, int rc, const char *what, struct err *e);

#endif

/* query: named statements, their cache, and what SQLite's errors mean for people; see query.h. */
#include "core/record/query.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "core/record/store.h"

static const char query_mark[] = "\n-- name: "; /* at the start of a line only */

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct query_entry *)a)->name, ((const struct query_entry *)b)->name);
}

void query_set_init(struct query_set *set, const char *text)
{
	*set = (struct query_set){ .text = mem_str(text) };
	for (char *mark = strstr(set->text, query_mark); mark;) {
		char *name = mark + strlen(query_mark);
		char *sql = strchr(name, '\n');
		assert(sql);
		*sql++ = '\0';
		mark = strstr(sql, query_mark);
		*MEM_PUSH(set->at, set->count) = (struct query_entry){ .name = name, .sql = sql };
		if (mark)
			*mark = '\0';
	}
	qsort(set->at, set->count, sizeof *set->at, compare_entries);
}

void query_set_fini(struct query_set *set)
{
	free(set->at);
	free(set->text);
	*set = (struct query_set){ .text = NULL };
}

static size_t find_entry(const struct query_set *set, const char *name)
{
	struct query_entry key = { .name = name };
	struct query_entry *found = bsearch(&key, set->at, set->count, sizeof *set->at, compare_entries);
	assert(found && "the statement is in schema/queries.sql");
	return (size_t)(found - set->at);
}

int query_error(struct db *db, int rc, const char *what, struct err *e)
{
	const char *path = store_path(db->store);
	switch (rc & 0xff) {
	case SQLITE_FULL:
		return err_set(e, ERR_IO,
			       "%s: the disk is full: free space there and repeat this step; everything committed before is kept",
			       path);
	case SQLITE_READONLY:
		if (sqlite3_uri_boolean(sqlite3_db_filename(db->sql, "main"), "immutable", 0)) /* store_open */
			return err_set(e, ERR_IO,
				       "%s: the disk was full when this daemon started, so it only reads: free space and "
				       "start it again",
				       path);
		/* fall through */
	case SQLITE_PERM:
		return err_set(e, ERR_IO,
			       "%s: the database cannot be written: make the file and its folder writable, or name another "
			       "file with --db",
			       path);
	case SQLITE_CANTOPEN:
		return err_set(e, ERR_IO,
			       "%s: the database cannot be opened or created: the folder must exist and be writable, or name "
			       "another file with --db",
			       path);
	case SQLITE_NOTADB:
		return err_set(e, ERR_INPUT, "%s: this file is not a database, and was not changed: name another file with --db",
			       path);
	case SQLITE_CORRUPT:
		store_met_damage(db->store);
		return err_set(e, ERR_IO,
			       "%s: the database is damaged (%s: %s): keep a copy and repair it with sqlite3's .recover, or "
			       "restore a backup",
			       path, what, sqlite3_errmsg(db->sql));
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_set(e, ERR_TIMEOUT,
			       "%s: another process kept the database locked for too long: end it or repeat this step", path);
	case SQLITE_CONSTRAINT:
		return err_set(e, ERR_CONFLICT, "%s: %s: refused by the database: %s", path, what, sqlite3_errmsg(db->sql));
	case SQLITE_TOOBIG:
		return err_set(e, ERR_INPUT, "%s: %s: more than %d bytes in one value cannot be stored", path, what,
			       sqlite3_limit(db->sql, SQLITE_LIMIT_LENGTH, -1));
	case SQLITE_IOERR:
		return err_set(e, ERR_IO,
			       "%s: reading or writing failed (%s: %s): check the disk and the space left on it; everything "
			       "committed before is kept",
			       path, what, sqlite3_errmsg(db->sql));
	case SQLITE_INTERRUPT: return err_set(e, ERR_TIMEOUT, "%s: %s: took too long", path, what);
	case SQLITE_PROTOCOL:
		return err_set(e, ERR_IO, "%s: this file system cannot lock: put the database on a local disk with --db", path);
	case SQLITE_ABORT:
		return err_set(e, ERR_IO,
			       "%s: %s: the transaction was rolled back after an earlier failure (%s): repeat the whole step", path,
			       what, db->lost ? db->lost : "unknown");
	}
	return err_set(e, ERR_INTERNAL, "%s: %s: %s (SQLite %d)", path, what, sqlite3_errmsg(db->sql), rc);
}

int query_exec_text(struct db *db, const char *sql, struct err *e)
{
	int rc = sqlite3_exec(db->sql, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : query_error(db, rc, "setting up", e);
}

int query_exec(struct db *db, const char *name, struct err *e)
{
	return query_exec_text(db, db->set->at[find_entry(db->set, name)].sql, e);
}

int query_check(struct db *db, struct err *e)
{
	for (size_t i = 0; i < db->set->count; i++) {
		sqlite3_stmt *stmt = NULL;
		if (strcmp(db->set->at[i].name, "row_add") == 0)
			continue; /* a template */
		if (strncmp(db->set->at[i].name, "merge_", 6) == 0)
			continue; /* needs an attached database */
		int rc = sqlite3_prepare_v2(db->sql, db->set->at[i].sql, -1, &stmt, NULL);
		bool empty = stmt == NULL;
		sqlite3_finalize(stmt);
		if (rc != SQLITE_OK || empty)
			return query_error(db, rc, db->set->at[i].name, e);
	}
	return 0;
}

static void query_begin(struct query *q)
{
	/* Two threads would share a connection that SQLite does not lock, and each other's transactions. */
	assert(store_mine(q->db) && "a handle is used by the thread that took it");
	/* What follows in a transaction that SQLite has ended (keep_loss) must not be committed alone. */
	if (q->db->depth > 0 && sqlite3_get_autocommit(q->db->sql))
		q->rc = SQLITE_ABORT;
}

static void prepare(struct query *q)
{
	size_t i = find_entry(q->db->set, q->name);
	sqlite3_stmt *kept = q->db->cache[i];
	q->cached = kept == NULL || !sqlite3_stmt_busy(kept);
	if (kept && q->cached) {
		q->stmt = kept;
		return;
	}
	q->rc = sqlite3_prepare_v3(q->db->sql, q->db->set->at[i].sql, -1, q->cached ? SQLITE_PREPARE_PERSISTENT : 0, &q->stmt,
				   NULL);
	if (q->cached)
		q->db->cache[i] = q->stmt;
}

static int bind(sqlite3_stmt *stmt, int at, const struct query_value *v)
{
	if (v->type == SQLITE_INTEGER)
		return sqlite3_bind_int64(stmt, at, v->i);
	if (v->type == SQLITE_FLOAT && !isnan(v->r))
		return sqlite3_bind_double(stmt, at, v->r);
	if (v->type == SQLITE_TEXT && v->bytes)
		return sqlite3_bind_text64(stmt, at, v->bytes, strlen(v->bytes), SQLITE_STATIC, SQLITE_UTF8);
	if (v->type == SQLITE_BLOB)
		return sqlite3_bind_blob64(stmt, at, v->bytes, v->n, SQLITE_STATIC);
	return SQLITE_OK; /* what is not bound is NULL */
}

void query_start(struct query *q, struct db *db, const char *name, const struct query_value *values)
{
	*q = (struct query){ .db = db, .name = name, .rc = SQLITE_OK };
	query_begin(q);
	if (q->rc == SQLITE_OK)
		prepare(q);
	for (; values && values->type && q->rc == SQLITE_OK; values++)
		q->rc = bind(q->stmt, ++q->put, values);
}

int query_next(struct query *q, struct err *e)
{
	if (q->rc == SQLITE_OK) {
		assert(q->put == sqlite3_bind_parameter_count(q->stmt));
		q->rc = sqlite3_step(q->stmt);
	}
	q->got = 0;
	if (q->rc == SQLITE_ROW) {
		q->rc = SQLITE_OK;
		return 1;
	}
	if (q->rc == SQLITE_DONE) {
		q->rc = SQLITE_OK;
		return 0;
	}
	struct err why = ERR_INIT;
	int rc = query_error(q->db, q->rc, q->name, &why);
	/* After some failures (a full disk, an error of reading) SQLite ends the whole transaction by itself. What comes next in it
	 * is refused (query_begin), and says why, even when the caller ignored the first failure. */
	struct db *db = q->db;
	if (db->depth > 0 && db->lost == NULL && sqlite3_get_autocommit(db->sql))
		db->lost = mem_str(why.text);
	/* Many callers show less where something cannot be read; those that answer ask store_readable. */
	int kind = q->rc & 0xff;
	if (db->unreadable == NULL && (kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB || kind == SQLITE_IOERR))
		db->unreadable = mem_str(why.text);
	if (e)
		*e = why;
	return rc;
}

int64_t query_get_int(struct query *q)
{
	return sqlite3_column_int64(q->stmt, q->got++);
}

char *query_get_text(struct query *q)
{
	assert(q->got < sqlite3_column_count(q->stmt));
	bool none = sqlite3_column_type(q->stmt, q->got) == SQLITE_NULL;
	const void *text = sqlite3_column_blob(q->stmt, q->got);
	size_t n = (size_t)sqlite3_column_bytes(q->stmt, q->got++);
	return none ? NULL : mem_strn(text ? text : "", n);
}

void query_get_bytes(struct query *q, struct buf *out)
{
	const void *bytes = sqlite3_column_blob(q->stmt, q->got);
	buf_add(out, bytes, (size_t)sqlite3_column_bytes(q->stmt, q->got++));
}

void query_fini(struct query *q)
{
	if (q->stmt == NULL)
		return;
	if (q->cached) {
		sqlite3_reset(q->stmt);
		sqlite3_clear_bindings(q->stmt);
	} else {
		sqlite3_finalize(q->stmt);
	}
	q->stmt = NULL;
}

/* Runs a statement to its end. */
static int finish(struct query *q, int64_t *ret_value, struct err *e)
{
	int rc = query_next(q, e), row = rc;
	if (rc > 0 && ret_value)
		*ret_value = query_get_int(q);
	while (rc > 0)
		rc = query_next(q, e);
	query_fini(q);
	return rc < 0 ? rc : row;
}

int query_do(struct db *db, const char *name, const struct query_value *values, int64_t *ret_value, struct err *e)
{
	struct query q;
	query_start(&q, db, name, values);
	return finish(&q, ret_value, e);
}

int query_text(struct db *db, const char *name, const struct query_value *values, char **ret_text, struct err *e)
{
	struct query q;
	query_start(&q, db, name, values);
	int rc = query_next(&q, e);
	if (rc > 0)
		*ret_text = query_get_text(&q);
	query_fini(&q);
	return rc;
}

/* --- rows by name -------------------------------------------------------------------------------------------------------- */

static const char *column_of(const struct layout_field *f)
{
	return f->column ? f->column : f->name;
}

/* The columns of a row and the parameters of their values. */
static void add_columns(const struct layout *l, struct buf *columns, struct buf *values)
{
	for (const struct layout_field *f = l->fields; f->name; f++) {
		if (f->type == LAYOUT_PART) {
			add_columns(f->of, columns, values);
		} else if (*column_of(f)) {
			buf_addf(columns, "%s%s", columns->len ? ", " : "", column_of(f));
			buf_addf(values, "%s:%s", values->len ? ", " : "", column_of(f));
		}
	}
}

static void put_numbers(struct query *q, int at, const int64_t *numbers, size_t count)
{
	struct buf text = BUF_INIT;
	for (size_t i = 0; i < count; i++)
		buf_addf(&text, "%s%lld", i ? " " : "", (long long)numbers[i]);
	q->rc = sqlite3_bind_text64(q->stmt, at, buf_text(&text), text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	buf_fini(&text);
}

static void put_field(struct query *q, int at, const struct layout_field *f, const void *object)
{
	const void *member = (const char *)object + f->offset;
	const size_t *count = (const void *)((const char *)object + f->count);
	const char *text = NULL;
	int64_t number;
	switch (f->type) {
	case LAYOUT_BOOL:
	case LAYOUT_INT: q->rc = sqlite3_bind_int64(q->stmt, at, layout_get_int(f, object)); return;
	case LAYOUT_ID:
	case LAYOUT_COUNT:
		number = layout_get_int(f, object);
		if (f->type == LAYOUT_ID ? number != 0 : number >= 0)
			q->rc = sqlite3_bind_int64(q->stmt, at, number);
		return;
	case LAYOUT_REAL:
		if (!isnan(*(const double *)member))
			q->rc = sqlite3_bind_double(q->stmt, at, *(const double *)member);
		return;
	case LAYOUT_REALS:
		if (*(double *const *)member)
			q->rc = sqlite3_bind_blob64(q->stmt, at, *(double *const *)member, *count * sizeof(double), SQLITE_STATIC);
		return;
	case LAYOUT_INTS: put_numbers(q, at, *(int64_t *const *)member, *count); return;
	case LAYOUT_TEXT: text = *(char *const *)member; break;
	case LAYOUT_WORD: text = f->words[layout_get_int(f, object)]; break;
	case LAYOUT_HASH: text = *((const struct hash *)member)->hex ? ((const struct hash *)member)->hex : NULL; break;
	case LAYOUT_TEXTS:
	case LAYOUT_LIST:
	case LAYOUT_PART: assert(!"a row has no such column"); break;
	}
	if (text)
		q->rc = sqlite3_bind_text64(q->stmt, at, text, strlen(text), SQLITE_STATIC, SQLITE_UTF8);
}

static void put_row(struct query *q, const struct layout *l, const void *object)
{
	for (const struct layout_field *f = l->fields; f->name; f++) {
		char name[80];
		if (f->type == LAYOUT_PART) {
			put_row(q, f->of, (const char *)object + f->offset);
			continue;
		}
		snprintf(name, sizeof name, ":%s", column_of(f));
		int at = q->rc == SQLITE_OK ? sqlite3_bind_parameter_index(q->stmt, name) : 0;
		if (at > 0) {
			put_field(q, at, f, object);
			q->put++;
		}
	}
}

static const struct layout_field *find_field(const struct layout *l, const char *name)
{
	const struct layout_field *f = l->fields;
	while (f->name && strcmp(f->name, name) != 0)
		f++;
	return f->name ? f : NULL;
}

/* The text of the statement. free() */
static char *insert_text(const struct db *db, const char *table, const struct layout *l)
{
	static const char *const marks[] = { "table_name", "column_names", "column_values" };
	struct buf columns = BUF_INIT, values = BUF_INIT, sql = BUF_INIT;
	const char *at = db->set->at[find_entry(db->set, "row_add")].sql;
	add_columns(l, &columns, &values);
	const char *const by[] = { table, buf_text(&columns), buf_text(&values) };
	for (size_t i = 0; i < MEM_COUNT(marks); i++) {
		const char *mark = strstr(at, marks[i]);
		buf_add(&sql, at, (size_t)(mark - at));
		buf_adds(&sql, by[i]);
		at = mark + strlen(marks[i]);
	}
	buf_adds(&sql, at);
	buf_fini(&columns);
	buf_fini(&values);
	return buf_steal(&sql);
}

/* Preparing costs as much as the row itself, so the statement is kept. */
static void prepare_insert(struct query *q, const struct layout *l)
{
	struct db *db = q->db;
	size_t i = 0;
	while (i < db->added_count && (db->added[i].layout != l || strcmp(db->added[i].table, q->name) != 0))
		i++;
	q->cached = true;
	if (i < db->added_count) {
		q->stmt = db->added[i].stmt;
		return;
	}
	char *sql = insert_text(db, q->name, l);
	q->rc = sqlite3_prepare_v3(db->sql, sql, -1, SQLITE_PREPARE_PERSISTENT, &q->stmt, NULL);
	if (q->rc == SQLITE_OK)
		*MEM_PUSH(db->added, db->added_count) = (struct query_added){ q->name, l, q->stmt };
	free(sql);
}

int query_insert(struct db *db, const char *table, const struct layout *l, void *io_object, struct err *e)
{
	const struct layout_field *id = find_field(l, "id"), *created = find_field(l, "created_ms");
	struct query q = { .db = db, .name = table, .rc = SQLITE_OK };
	int64_t number = 0;
	if (id && id->type == LAYOUT_ID)
		layout_set_int(id, io_object, 0);
	if (created && layout_get_int(created, io_object) == 0)
		layout_set_int(created, io_object, clock_wall_ms());
	query_begin(&q);
	if (q.rc == SQLITE_OK)
		prepare_insert(&q, l);
	put_row(&q, l, io_object);
	int rc = finish(&q, &number, e);
	if (id && id->type == LAYOUT_ID)
		layout_set_int(id, io_object, number);
	return rc < 0 ? rc : 0;
}

int query_save(struct db *db, const char *name, const struct layout *l, const void *object, int64_t *ret_value, struct err *e)
{
	struct query q;
	query_start(&q, db, name, NULL);
	put_row(&q, l, object);
	return finish(&q, ret_value, e);
}

static void get_numbers(const char *text, int64_t **ret_numbers, size_t *ret_count)
{
	while (text && *text) {
		char *end;
		*MEM_PUSH(*ret_numbers, *ret_count) = strtoll(text, &end, 10);
		text = end;
	}
}

static void get_field(const struct query *q, int at, const struct layout_field *f, void *object)
{
	void *member = (char *)object + f->offset;
	size_t *count = (void *)((char *)object + f->count);
	const void *bytes = sqlite3_column_blob(q->stmt, at);
	size_t n = (size_t)sqlite3_column_bytes(q->stmt, at);
	char *text = mem_strn(bytes ? bytes : "", n);
	int word;
	switch (f->type) {
	case LAYOUT_BOOL:
	case LAYOUT_INT:
	case LAYOUT_ID:
	case LAYOUT_COUNT: layout_set_int(f, object, sqlite3_column_int64(q->stmt, at)); break;
	case LAYOUT_REAL: *(double *)member = sqlite3_column_double(q->stmt, at); break;
	case LAYOUT_REALS:
		*count = n / sizeof(double);
		*(double **)member = *count ? mem_copy(bytes, *count * sizeof(double)) : NULL;
		break;
	case LAYOUT_INTS: get_numbers(text, member, count); break;
	case LAYOUT_TEXT: *(char **)member = text; return;
	case LAYOUT_WORD:
		word = layout_word(f, text);
		if (word < 0)
			for (word = 0; f->words[word + 1]; word++)
				;
		layout_set_int(f, object, word);
		break;
	case LAYOUT_HASH:
		if (n == HASH_HEX)
			memcpy(((struct hash *)member)->hex, text, HASH_SIZE);
		break;
	case LAYOUT_TEXTS:
	case LAYOUT_LIST:
	case LAYOUT_PART: break;
	}
	free(text);
}

/* Columns mostly stand in the order of the fields, so the search continues behind the last column found. */
static void get_fields(struct query *q, const struct layout *l, void *object)
{
	int columns = sqlite3_column_count(q->stmt);
	for (const struct layout_field *f = l->fields; f->name; f++) {
		if (f->type == LAYOUT_PART) {
			get_fields(q, f->of, (char *)object + f->offset);
			continue;
		}
		for (int i = 0; i < columns; i++) {
			int at = (q->got + i) % columns;
			if (strcmp(sqlite3_column_name(q->stmt, at), column_of(f)) != 0)
				continue;
			if (sqlite3_column_type(q->stmt, at) != SQLITE_NULL)
				get_field(q, at, f, object);
			q->got = at + 1;
			break;
		}
	}
}

void query_get_row(struct query *q, const struct layout *l, void *object)
{
	layout_init(l, object);
	get_fields(q, l, object);
}

int query_one(struct db *db, const char *name, const struct query_value *values, const struct layout *l, void *ret_object,
	      struct err *e)
{
	struct query q;
	query_start(&q, db, name, values);
	int rc = query_next(&q, e);
	if (rc > 0)
		query_get_row(&q, l, ret_object);
	query_fini(&q);
	return rc;
}

/* What every list of rows looks like. */
struct list {
	void *at;
	size_t count;
};

int query_all(struct db *db, const char *name, const struct query_value *values, const struct layout *l, void *ret_list,
	      struct err *e)
{
	struct query q;
	struct list list = { .count = 0 };
	size_t room = 0;
	int rc;
	query_start(&q, db, name, values);
	while ((rc = query_next(&q, e)) > 0) {
		if (list.count == room)
			list.at = mem_resize(list.at, room = room ? 2 * room : 4, l->size);
		query_get_row(&q, l, (char *)list.at + list.count++ * l->size);
	}
	query_fini(&q);
	if (rc < 0)
		layout_free_list(l, list.at, list.count);
	else
		memcpy(ret_list, &list, sizeof list);
	return rc;
}

void query_list_fini(const struct layout *l, void *io_list)
{
	struct list list;
	memcpy(&list, io_list, sizeof list);
	layout_free_list(l, list.at, list.count);
	memset(io_list, 0, sizeof list);
}

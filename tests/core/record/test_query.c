/* core/record/query: rows by the names of their columns. A field that is added to a layout is one line: it is then in SQL, in JSON,
 * in the schema and in what a terminal shows. */
#include "core/record/query.h"

#include <math.h>

#include "core/record/fixture.h"
#include "tap.h"

struct row {
	int64_t id;
	char *name;
	double median_ns;
	double *samples;
	size_t sample_count;
	int64_t *parents;
	size_t parent_count;
	int64_t extra;
};

#define COMMON \
	{ LAYOUT_AT(struct row, id, ID) }, \
	{ LAYOUT_AS(struct row, name, TEXT, "name"), .say = "%" }, \
	{ LAYOUT_AT(struct row, median_ns, REAL), .unit = "ns", .say = ": %" }, \
	{ LAYOUT_MANY(struct row, samples, sample_count, REALS) }, \
	{ LAYOUT_MANY(struct row, parents, parent_count, INTS) }

static const struct layout_field before_fields[] = { COMMON, { .name = NULL } };
static const struct layout before = { "row", sizeof(struct row), before_fields };

/* One line more. */
static const struct layout_field after_fields[] = {
	COMMON,
	{ LAYOUT_AT(struct row, extra, ID), .say = ", % extra" },
	{ .name = NULL },
};
static const struct layout after = { "row", sizeof(struct row), after_fields };

static void add(struct db *db, const struct layout *l, int64_t *ret_id)
{
	double samples[] = { 1.5, 2.5 };
	int64_t parents[] = { 3, 1, 1152921504606846976 };
	struct row r = { .name = (char *)"n=8", .median_ns = 2500, .samples = samples, .sample_count = 2, .parents = parents,
	                 .parent_count = 3, .extra = 1152921504606846977 };
	struct err e = ERR_INIT;
	is_int(query_insert(db, "planted", l, &r, &e), 0, "a row is added%s", e.text);
	*ret_id = r.id;
}

/* The newest row. */
static void read_newest(struct db *db, const struct layout *l, struct row *ret_row)
{
	struct query q = { .db = db, .name = "planted", .rc = SQLITE_OK };
	struct err e = ERR_INIT;
	q.rc = sqlite3_prepare_v2(db->sql, "SELECT * FROM planted ORDER BY id DESC LIMIT 1", -1, &q.stmt, NULL);
	is_int(query_next(&q, &e), 1, "and read%s", e.text);
	query_get_row(&q, l, ret_row);
	query_fini(&q);
}

/* Tables whose rows are long or many are never read from end to end. */
static void looks_up(struct db *db, const char *name)
{
	struct buf plan = BUF_INIT;
	sqlite3_stmt *stmt = NULL;
	const char *sql = NULL;
	for (size_t i = 0; i < db->set->count; i++)
		if (strcmp(db->set->at[i].name, name) == 0)
			sql = db->set->at[i].sql;
	char *explained = mem_fmt("EXPLAIN QUERY PLAN %s", sql);
	sqlite3_prepare_v2(db->sql, explained, -1, &stmt, NULL);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		buf_addf(&plan, "%s\n", (const char *)sqlite3_column_text(stmt, 3));
	sqlite3_finalize(stmt);
	ok(plan.len && !strstr(buf_text(&plan), "SCAN c\n") && !strstr(buf_text(&plan), "SCAN pending"),
	   "%s finds its rows by an index", name);
	buf_fini(&plan);
	free(explained);
}

int main(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	struct row r;
	int64_t id = 0;
	fixture_init(&f);
	query_exec_text(f.db,
			"CREATE TABLE planted (parents TEXT, id INTEGER PRIMARY KEY, name TEXT, extra INTEGER, median_ns REAL, "
			"samples BLOB)",
			&e);
	add(f.db, &before, &id);
	is_int(id, 1, "the row has a number");
	read_newest(f.db, &before, &r);
	ok(r.id == 1 && strcmp(r.name, "n=8") == 0 && r.median_ns == 2500, "columns are found by name, in whatever order");
	ok(r.sample_count == 2 && r.samples[1] == 2.5, "reals are a blob");
	ok(r.parent_count == 3 && r.parents[2] == 1152921504606846976, "integers are exact to 64 bits");
	is_int(r.extra, 0, "a column that the layout lacks is not read");
	layout_fini(&before, &r);

	add(f.db, &after, &id);
	read_newest(f.db, &after, &r);
	ok(r.extra == 1152921504606846977, "one more line in the table: the field is written to SQL and read");
	json_t *json = layout_json(&after, &r), *schema = layout_schema(&after);
	ok(json_integer_value(json_object_get(json, "extra")) == 1152921504606846977, "it is in JSON");
	ok(json_object_get(json_object_get(schema, "properties"), "extra") != NULL, "it is in the schema");
	struct buf out = BUF_INIT;
	layout_text(&after, &r, &out);
	is_str(buf_text(&out), "n=8: 2.5 us, 1152921504606846977 extra", "it is in the words for a terminal");
	buf_fini(&out);
	json_decref(json);
	json_decref(schema);
	layout_fini(&after, &r);

	struct row none;
	layout_init(&after, &none);
	query_insert(f.db, "planted", &after, &none, &e);
	read_newest(f.db, &after, &r);
	ok(r.name == NULL && isnan(r.median_ns) && r.samples == NULL && r.extra == 0, "what is none is NULL, and read as none");
	layout_fini(&after, &r);
	static const char *const quick[] = { "pending_of_job", "trajectory_speed", "application_pairs", "comparison_pair" };
	for (size_t i = 0; i < MEM_COUNT(quick); i++)
		looks_up(f.db, quick[i]);
	is_int(query_insert(f.db, "missing", &after, &none, &e), -ERR_INTERNAL, "a table that is not there is an error: %s",
	       e.text);
	fixture_fini(&f);
	return tap_done();
}

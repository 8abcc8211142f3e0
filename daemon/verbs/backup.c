/* backup: `peakd backup FILE` copies the database beside a running daemon, and `peakd check` looks for damage in it. Both take the
 * database as it is, whatever its version. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/record/store.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/verbs.h"

struct opened {
	struct store *store;
	struct db *db;
};

static int open_as_is(const struct verb_line *line, struct opened *o, struct err *e)
{
	int rc = store_open_as_is(line->db, &o->store, e);
	return rc < 0 ? rc : store_take(o->store, &o->db, e);
}

static void close_again(struct opened *o)
{
	store_give(o->db);
	store_close(o->store);
}

static int backup_run(const struct verb_line *line)
{
	const char *to = line->words[0];
	struct opened o = { NULL, NULL };
	struct err e = ERR_INIT;
	struct stat st;
	int rc = out_is_stdout(to) ? err_set(&e, ERR_INPUT, "a backup is a file: name one") : 0;
	if (rc == 0)
		rc = out_check(to, verb_get(line, "force") != NULL, &e);
	if (rc == 0)
		rc = open_as_is(line, &o, &e);
	if (rc == 0)
		rc = store_copy(o.db, to, &e);
	if (rc == 0 && stat(to, &st) < 0)
		rc = err_sys(&e, errno, "%s", to);
	close_again(&o);
	return rc < 0 ? verb_fail(line, &e)
		      : verbs_answer(line, json_pack("{s:s, s:I}", "file", to, "bytes", (json_int_t)st.st_size),
				     "%s: %lld bytes, checked\n", to, (long long)st.st_size);
}

static void add_finding(void *arg, const char *finding)
{
	json_array_append_new(arg, json_string(finding));
}

static int check_run(const struct verb_line *line)
{
	struct opened o = { NULL, NULL };
	struct err e = ERR_INIT;
	json_t *findings = json_array();
	int rc = open_as_is(line, &o, &e);
	if (rc == 0)
		rc = store_check_all(o.db, add_finding, findings, &e);
	close_again(&o);
	for (int i = 0; i < rc && !verb_get(line, "json"); i++)
		printf("%s\n", json_string_value(json_array_get(findings, (size_t)i)));
	if (rc >= 0)
		verbs_answer(line, json_pack("{s:s, s:O}", "database", line->db, "findings", findings),
			     rc ? "%.0s" : "%s: no damage found\n", line->db);
	json_decref(findings);
	if (rc > 0 && verb_get(line, "json"))
		return VERB_FAILED;
	if (rc > 0)
		err_set(&e, ERR_IO,
			"%s is damaged, see above: keep a copy and repair it with sqlite3's .recover, or put a backup in its place",
			line->db);
	return rc ? verb_fail(line, &e) : VERB_OK;
}

const struct verb backup_verb = { .name = "backup", .run = backup_run };

const struct verb backup_check_verb = { .name = "check", .run = check_run };

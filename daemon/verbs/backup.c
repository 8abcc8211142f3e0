/* backup: `peakd backup FILE` copies the database beside a running daemon, and `peakd check` looks for damage in it. Both take the
 * database as it is, whatever its version. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/record/store.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/verbs.h"

static int backup_run(const struct verb_line *line)
{
	const char *to = line->words[0];
	struct db *db = NULL;
	struct err e = ERR_INIT;
	struct stat st;
	int rc = out_is_stdout(to) ? err_set(&e, ERR_INPUT, "a backup cannot go to standard output: name a file") : 0;
	if (rc == 0)
		rc = out_check(to, verb_get(line, "force") != NULL, &e);
	if (rc == 0)
		rc = store_open_one(line->db, STORE_AS_IS, &db, &e);
	if (rc == 0)
		rc = store_copy(db, to, &e);
	if (rc == 0 && stat(to, &st) < 0)
		rc = err_sys(&e, errno, "%s", to);
	store_close_one(db);
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
	struct db *db = NULL;
	struct err e = ERR_INIT;
	json_t *findings = json_array();
	int rc = store_open_one(line->db, STORE_AS_IS, &db, &e);
	if (rc == 0)
		rc = store_check_all(db, add_finding, findings, &e);
	store_close_one(db);
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

/* backup: `peakd backup FILE` copies the database beside a running daemon, and `peakd check` looks for damage in it. Both take the
 * database as it is, whatever its version. */
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
	if (rc == 0 && stat(to, &st) == 0)
		printf("%s: %lld bytes, checked\n", to, (long long)st.st_size);
	close_again(&o);
	return rc < 0 ? verb_fail(line, &e) : VERB_OK;
}

static void print_finding(void *arg, const char *finding)
{
	(void)arg;
	printf("%s\n", finding);
}

static int check_run(const struct verb_line *line)
{
	struct opened o = { NULL, NULL };
	struct err e = ERR_INIT;
	int rc = open_as_is(line, &o, &e);
	if (rc == 0)
		rc = store_check_all(o.db, print_finding, NULL, &e);
	close_again(&o);
	if (rc == 0)
		printf("%s: no damage found\n", line->db);
	else if (rc > 0)
		err_set(&e, ERR_IO,
			"%s is damaged, see above: keep a copy and repair it with sqlite3's .recover, or put a backup in its place",
			line->db);
	return rc ? verb_fail(line, &e) : VERB_OK;
}

const struct verb backup_verb = {
	.name = "backup",
	.words = "FILE",
	.summary = "copies the database into one file, also while the daemon works",
	.details = "The copy is the database at one moment, without free space. It is checked and on the disk before it is named "
		   "FILE.\n"
		   "To go back: end the daemon, remove the database with its -wal and -shm, and put the copy in its place.\n",
	.options =
		(const struct verb_option[]){
			{ "force", NULL, "replaces FILE, once the new copy is whole" },
			{ NULL, NULL, NULL },
		},
	.min_words = 1,
	.max_words = 1,
	.run = backup_run,
};

const struct verb backup_check_verb = {
	.name = "check",
	.words = "",
	.summary = "looks for damage in the database, also while the daemon works",
	.details =
		"Reads everything: pages, indexes, references between rows, the hash of each content, and that evidence, jobs and\n"
		"workflows agree. Prints each finding; exit status 1 if there is one.\n",
	.options = NULL,
	.min_words = 0,
	.max_words = 0,
	.run = check_run,
};

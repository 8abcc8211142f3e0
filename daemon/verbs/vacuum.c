/* vacuum: `peakd vacuum` deletes what the retention policy (core/record/retention.h) lets go, in short transactions beside a
 * running daemon; with --compact and without a daemon it also gives the freed space back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/record/retention.h"
#include "core/record/store.h"
#include "daemon/verbs/verbs.h"

static long long file_size(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? (long long)st.st_size : 0;
}

static int vacuum_run(const struct verb_line *line)
{
	struct retention policy = RETENTION_DEFAULT;
	struct retention_counts c;
	struct store_claim claim = STORE_CLAIM_INIT;
	struct db *db = NULL;
	struct err e = ERR_INIT;
	long long before = 0, after = 0;
	bool compact = verb_get(line, "compact") != NULL;
	policy.events = (int)verb_number(line, "events", policy.events);
	policy.jobs = (int)verb_number(line, "jobs", policy.jobs);
	policy.checkpoints = (int)verb_number(line, "checkpoints", policy.checkpoints);
	policy.exchanges = (int)verb_number(line, "exchanges", policy.exchanges);
	policy.imports = (int)verb_number(line, "imports", policy.imports);
	/* Opening would make the file, and a mistyped name has nothing to delete. */
	int rc = access(line->db, F_OK) == 0 ? 0 : err_sys(&e, errno, "%s: there is no such database", line->db);
	if (rc == 0 && compact && (rc = store_lock(line->db, NULL, &claim, &e)) < 0)
		err_wrap(&e, "end the daemon before --compact, which rewrites the file");
	if (rc == 0)
		rc = store_open_one(line->db, STORE_NEWEST, &db, &e);
	if (rc == 0)
		rc = retention_apply(db, &policy, clock_wall_ms(), &c, &e);
	before = file_size(line->db);
	if (rc == 0 && compact)
		rc = retention_compact(db, &e);
	after = file_size(line->db);
	store_close_one(db);
	store_unlock(&claim);
	if (rc < 0)
		return verb_fail(line, &e);
	json_t *answer =
		json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "events", (json_int_t)c.events, "jobs",
			  (json_int_t)c.jobs, "checkpoints", (json_int_t)c.checkpoints, "transformations",
			  (json_int_t)c.transformations, "exchanges", (json_int_t)c.exchanges, "imports", (json_int_t)c.imports,
			  "texts", (json_int_t)c.texts, "bytes_before", (json_int_t)before, "bytes_after", (json_int_t)after);
	int status = verbs_answer(line, answer,
				  "deleted: %lld events, %lld jobs, %lld checkpoints, %lld ended transformations, %lld exchanges, "
				  "%lld imported measurements, %lld texts\n",
				  (long long)c.events, (long long)c.jobs, (long long)c.checkpoints, (long long)c.transformations,
				  (long long)c.exchanges, (long long)c.imports, (long long)c.texts);
	if (compact && !verb_get(line, "json"))
		printf("%s: %lld bytes before, %lld bytes now\n", line->db, before, after);
	return status;
}

const struct verb vacuum_verb = { .name = "vacuum", .run = vacuum_run };

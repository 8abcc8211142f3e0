/* trajectories: `peakd trajectories [--out FILE]`: every try of a model as a line of JSON, scrubbed of secrets and paths. It reads
 * the database beside a running daemon. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/record/store.h"
#include "core/record/trajectory.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/verbs.h"

static int write_line(void *arg, const struct trajectory *t, struct err *e)
{
	FILE *out = arg;
	json_t *line = layout_json(&trajectory_layout, t);
	int rc = json_dumpf(line, out, JSON_COMPACT) == 0 && fputc('\n', out) != EOF
			 ? 0
			 : err_sys(e, errno, "a line cannot be written");
	json_decref(line);
	return rc;
}

static int write_all(const struct verb_line *line, FILE *out, struct err *e)
{
	struct db *db = NULL;
	int rc = store_open_one(line->db, STORE_NEWEST, &db, e);
	if (rc == 0)
		rc = trajectory_each(db, verb_get(line, "transformation"), write_line, out, e);
	store_close_one(db);
	return rc;
}

static int trajectories_run(const struct verb_line *line)
{
	const char *path = verb_get(line, "out");
	struct err e = ERR_INIT;
	/* Opening would make it. */
	if (access(line->db, F_OK) < 0) {
		err_sys(&e, errno, "%s: there is no such database", line->db);
		return verb_fail(line, &e);
	}
	if (out_check(path, verb_get(line, "force") != NULL, &e) < 0)
		return verb_fail(line, &e);
	FILE *out = out_is_stdout(path) ? stdout : fopen(path, "we");
	int rc = out ? write_all(line, out, &e) : err_sys(&e, errno, "%s cannot be written", path);
	if (out && (out == stdout ? fflush(out) : fclose(out)) != 0 && rc == 0)
		rc = err_sys(&e, errno, "%s cannot be written", path ? path : "standard output");
	return rc < 0 ? verb_fail(line, &e) : VERB_OK;
}

const struct verb trajectories_verb = { .name = "trajectories", .run = trajectories_run };

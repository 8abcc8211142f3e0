/* bench: `peakd bench FOLDER`: imports, drafts, optimizes and scores every problem of a folder. core/problems/bench.py does it with
 * the other verbs, and reads the database for what is done already; this file gives it its options. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/embedded.h"
#include "base/mem.h"
#include "core/judge/oracle.h"
#include "daemon/verbs/verbs.h"

static int bench_run(const struct verb_line *line)
{
	struct err e = ERR_INIT;
	char own[4096];
	ssize_t n = readlink("/proc/self/exe", own, sizeof own);
	char *peakd = n > 0 ? mem_strn(own, (size_t)n) : mem_str("peakd");
	json_t *options = json_pack("{s:s, s:s}", "folder", line->words[0], "db", line->db);
	verbs_copy(line, options, "backend", "device", "batch", "model", "reviewer", "policy", "workloads", "mib", "without",
		   "calls", "experiments", "tokens", "seconds", "device-seconds", "tune", "samples", "seed", "money", "price-in",
		   "price-out", "roof", "together", "json", "svg", "html", NULL);
	char *text = json_dumps(options, JSON_COMPACT);
	char *const argv[] = { (char *)oracle_python(),
			       (char *)"-IBc",
			       (char *)embedded_file("core/problems/bench.py"),
			       peakd,
			       text,
			       (char *)embedded_file("schema/queries.sql"),
			       NULL };
	execvp(argv[0], argv);
	err_sys(&e, errno, "cannot run %s (PEAKD_PYTHON)", argv[0]);
	json_decref(options);
	free(peakd);
	free(text);
	return verb_fail(line, &e);
}

const struct verb bench_verb = { .name = "bench", .run = bench_run };

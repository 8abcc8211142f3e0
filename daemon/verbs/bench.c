/* bench: `peakd bench FOLDER`: imports, drafts, optimizes and scores every problem of a folder. core/problems/bench.py does it with the other
 * verbs, and reads the database for what is done already; this file gives it its options. */
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
	verbs_copy(line, options, "backend", "device", "batch", "model", "reviewer", "policy", "workloads", "without", VERBS_BOUNDS,
		   "together", "json", "svg", "html", NULL);
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

const struct verb bench_verb = {
	.name = "bench",
	.words = "FOLDER",
	.summary = "solves and scores every problem of a folder: import, first kernel, optimize, beside PyTorch",
	.details = "FOLDER holds problems as `peakd import` reads them: NAME/definition.json with workload.jsonl, NAME.json, or "
		   "Python files.\n"
		   "The same command continues where it was killed. With --batch nothing is timed here: problems wait for\n"
		   "`peakd drain`, and the same command goes on when the results are merged. docs/bench.md says what the figures "
		   "mean.\n",
	.options =
		(const struct verb_option[]){
			{ "backend", "NAME", "cuda (default), hip or hlsl" },
			{ "device", "D", "device, or with --batch an architecture to compile for (cuda:sm_90a)" },
			{ "batch", "D", "a device elsewhere judges and times, by `peakd drain`" },
			{ "model", "NAME", "a configured model, or replay:NAME for recordings" },
			{ "reviewer", "NAME", "as in `optimize`" },
			{ "policy", "NAME", "as in `optimize` (default: tree)" },
			{ "workloads", "N", "at most so many workloads of a definition (default 4)" },
			{ "together", "N", "problems at once, which wait for models at the same time (default 1)" },
			{ "calls", "N", "model calls for each problem at most (default 12)" },
			{ "experiments", "N", "for each problem, as the following: as in `optimize`" },
			{ "tokens", "N", "tokens at most" },
			{ "seconds", "S", "seconds at most" },
			{ "device-seconds", "S", "seconds with a device leased at most" },
			{ "money", "X", "what the tokens may cost" },
			{ "price-in", "X", "price of a million tokens that the model reads" },
			{ "price-out", "X", "price of a million tokens that it writes" },
			{ "roof", "PERCENT", "as in `optimize`" },
			{ "tune", "N", "configurations for each new checkpoint and size" },
			{ "samples", "N", "execution parameters to validate" },
			{ "seed", "N", "of policies that draw lots" },
			{ "without", "WHAT", "as in `optimize`" },
			{ "json", "FILE", "writes all figures there" },
			{ "svg", "FILE", "writes a picture of the speed-ups there" },
			{ "html", "FILE", "writes a report there" },
			{ NULL, NULL, NULL },
		},
	.numbers =
		(const struct verb_number[]){ { "workloads", 1, 64 }, { "together", 1, 64 }, VERBS_BOUND_NUMBERS, { NULL, 0, 0 } },
	.min_words = 1,
	.max_words = 1,
	.run = bench_run,
};

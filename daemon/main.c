/* main: `peakd VERB …`: the table of verbs, and nothing else. A new verb is one line here. */
#include <stdio.h>
#include <string.h>

#include "backends/worker/worker.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "core/workers/remote.h"
#include "daemon/relay.h"
#include "daemon/serve.h"
#include "daemon/verbs/call.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/verbs.h"

enum { VERB_COLUMN = 20 };

static int worker_run(const struct verb_line *line)
{
	if (verb_get(line, "hold"))
		return remote_end_hold(verb_get(line, "hold"));
	if (verb_get(line, "guarded"))
		return remote_end_guard(worker_main);
	if (line->word_count == 0)
		return worker_main();
	const char **argv = MEM_NEW_N(const char *, line->word_count + 1);
	memcpy(argv, line->words, line->word_count * sizeof *argv);
	return worker_become(argv);
}

static const struct verb worker_verb = { .name = "worker", .run = worker_run };

static const struct verb *const verbs[] = {
	&serve_verb,
	&relay_verb,
	&run_verb,
	&study_verb,
	&verbs_tune,
	&verbs_validate,
	&verbs_transformations,
	&verbs_transform,
	&verbs_transform_begin,
	&verbs_transform_submit,
	&edit_verb,
	&verbs_compare,
	&verbs_profile,
	&optimize_verb,
	&verbs_workflow,
	&plot_verb,
	&lint_verb,
	&verbs_draft,
	&import_verb,
	&bench_verb,
	&verbs_devices,
	&verbs_jobs,
	&drain_verb,
	&knowledge_verb,
	&trajectories_verb,
	&vacuum_verb,
	&backup_verb,
	&backup_check_verb,
	&selftest_verb,
	&stop_verb,
	&worker_verb,
};

static int help(void)
{
	printf("peakd %s makes GPU kernels faster, together with a language model.\n\nusage: peakd VERB … [options]\n\n",
	       PEAKD_VERSION);
	for (size_t i = 0; i < MEM_COUNT(verbs); i++) {
		struct call_verb verb;
		call_text(verbs[i], &verb);
		printf("  %-*s ", VERB_COLUMN - 3, verbs[i]->name);
		out_wrapped(verb.verb.summary, VERB_COLUMN);
		call_fini(&verb);
	}
	printf("  %-*s the version\n  %-*s this text\n\n", VERB_COLUMN - 3, "version", VERB_COLUMN - 3, "help");
	out_wrapped("`peakd VERB --help` says more. Exit status: 0 success, 1 refused or failed, 2 wrong command line (nothing was "
		    "done),",
		    0);
	out_wrapped(
		"3 only compiled, nothing ran (run, study), 130 and 143 interrupted by Ctrl-C or SIGTERM, which cancels the job.",
		0);
	return VERB_OK;
}

static int unknown(const char *word)
{
	const char *names[MEM_COUNT(verbs) + 2];
	char hint[96];
	if (word[0] == '-') {
		fprintf(stderr, "peakd: options follow the verb: peakd VERB %s …; `peakd help` lists the verbs\n", word);
		return VERB_USAGE;
	}
	for (size_t i = 0; i < MEM_COUNT(verbs); i++)
		names[i] = verbs[i]->name;
	names[MEM_COUNT(verbs)] = "version";
	names[MEM_COUNT(verbs) + 1] = "help";
	fprintf(stderr, "peakd: there is no verb '%s'%s; `peakd help` lists them\n", word,
		suggest_hint(word, names, MEM_COUNT(names), hint));
	return VERB_USAGE;
}

static int run_verb_line(const struct verb *declared, int argc, char **argv)
{
	struct call_verb complete;
	struct verb_line line;
	const struct verb *verb = &complete.verb;
	struct err e = ERR_INIT;
	bool wants_help = false;
	int status = VERB_OK;
	call_complete(declared, &complete);
	if (verb_parse(verb, argc, argv, &line, &wants_help, &e) < 0) {
		verb_print_error(verb, &e);
		call_fini(&complete);
		return VERB_USAGE;
	}
	if (wants_help)
		verb_help(verb);
	else
		status = verb->run(&line);
	verb_line_fini(&line);
	call_fini(&complete);
	return status;
}

static const struct verb *find(const char *name)
{
	for (size_t i = 0; i < MEM_COUNT(verbs); i++)
		if (strcmp(verbs[i]->name, name) == 0)
			return verbs[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "help";
	char help_option[] = "--help", *asked[] = { help_option };
	if (strcmp(word, "version") == 0 || strcmp(word, "--version") == 0)
		return printf(argc > 2 && strcmp(argv[2], "--json") == 0 ? "{\"version\": \"%s\"}\n" : "peakd %s\n",
			      PEAKD_VERSION) < 0;
	bool about = strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
	if (about && argc < 3)
		return help();
	const struct verb *verb = find(about ? argv[2] : word);
	if (verb == NULL)
		return unknown(about ? argv[2] : word);
	return about ? run_verb_line(verb, 1, asked) : run_verb_line(verb, argc - 2, argv + 2);
}

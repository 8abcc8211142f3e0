/* verbs: every verb of the shell, for main.c's table, and what those share that call tools. */
#ifndef PEAKD_DAEMON_VERBS_VERBS_H
#define PEAKD_DAEMON_VERBS_VERBS_H

#include <jansson.h>

#include "daemon/client.h"
#include "daemon/verbs/verb.h"

/* `again` of verbs whose cancelled work cannot be resumed. */
#define VERBS_ANEW "the same command starts again from the beginning"
/* How verbs name a checkpoint. */
#define VERBS_AT "AT is a checkpoint: a workflow's name (its head), a tag, a number, 6 or more characters of a hash, NAME~2.\n"

/* Calls of tools (verbs.c, verbs_workflow.c, edit.c). */
extern const struct verb verbs_tune, verbs_validate, verbs_transform, verbs_transform_begin, verbs_transform_submit,
	verbs_transformations, verbs_compare, verbs_profile, verbs_devices, verbs_jobs, verbs_draft, verbs_workflow, edit_verb;
/* A search and what explains it (optimize.c), scripts of many calls (run.c, study.c), texts of the daemon (knowledge.c), and verbs without a daemon (drain.c, selftest.c, vacuum.c, backup.c,
 * trajectories.c, lint.c, stop.c). */
extern const struct verb optimize_verb, import_verb, bench_verb, run_verb, study_verb, knowledge_verb, trajectories_verb,
	drain_verb, selftest_verb, vacuum_verb, backup_verb, backup_check_verb, lint_verb, stop_verb, plot_verb;

/* For verbs that judge; call_tool sees to it. */
#define VERBS_VALIDATOR                                                                                                            \
	{                                                                                                                          \
		"validator", "PATH", "a custom validator, or a folder of them, that must pass as well; may be repeated"            \
	}
/* --json, for verbs that answer with verbs_answer. */
#define VERBS_JSON                                                                                                                 \
	{                                                                                                                          \
		"json", NULL, "prints the answer as JSON (docs/cli.md)"                                                            \
	}
/* Prints an answer: with --json its structure, else the text. Returns the exit status. */
int verbs_answer(const struct verb_line *line, json_t *take_answer, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* What bounds a search, in `optimize` and in `bench`: for verbs_copy, and for a verb's `numbers`. */
enum { VERBS_MOST = 1000000000 };
#define VERBS_BOUNDS                                                                                                               \
	"calls", "experiments", "tokens", "seconds", "device-seconds", "tune", "samples", "seed", "money", "price-in",             \
		"price-out", "roof"
#define VERBS_BOUND_NUMBERS                                                                                                        \
	{ "calls", 1, VERBS_MOST }, { "experiments", 1, VERBS_MOST }, { "tokens", 1, VERBS_MOST }, { "seconds", 1, VERBS_MOST },   \
		{ "device-seconds", 1, VERBS_MOST }, { "tune", 1, VERBS_MOST }, { "samples", 1, VERBS_MOST },                      \
		{ "seed", 0, VERBS_MOST }, { "money", 0, 0 }, { "price-in", 0, 0 }, { "price-out", 0, 0 },                         \
	{                                                                                                                          \
		"roof", 0, 0                                                                                                       \
	}
/* Copies the options that were given into tool arguments of the same name, with '-' as '_': flags as true, those of the verb's `numbers` as
 * numbers. The list ends with NULL. */
void verbs_copy(const struct verb_line *line, json_t *arguments, const char *option, ...) __attribute__((sentinel));
/* Connects, calls and prints; returns the exit status. *ret_structured may be NULL; it is set on success only, and replaces the
 * printing. */
int verbs_call(const struct verb_line *line, const char *tool, json_t *take_arguments, json_t **ret_structured);
/* The text of a transformation that is named by its file; NULL for a name of the library or a sentence. free() */
int verbs_transformation(const char *word, char **ret_text, struct err *e);
/* Connects and reads a resource; *ret_text: free(). */
int verbs_read(const struct verb_line *line, const char *uri, char **ret_text, struct err *e);

#endif

/* verbs: every verb of the shell, for main.c's table, and what those share that call tools. */
#ifndef PEAKD_DAEMON_VERBS_VERBS_H
#define PEAKD_DAEMON_VERBS_VERBS_H

#include <jansson.h>

#include "daemon/client.h"
#include "daemon/verbs/verb.h"

/* Calls of tools (verbs.c, verbs_workflow.c, edit.c). */
extern const struct verb verbs_tune, verbs_validate, verbs_transform, verbs_transform_begin, verbs_transform_submit,
	verbs_transformations, verbs_compare, verbs_profile, verbs_devices, verbs_jobs, verbs_draft, verbs_workflow, edit_verb;
/* A search and what explains it (optimize.c), scripts of many calls (run.c, study.c), and texts of the daemon (knowledge.c). Verbs
 * without a daemon: drain.c, selftest.c, vacuum.c, backup.c, trajectories.c, lint.c, stop.c. */
extern const struct verb optimize_verb, import_verb, bench_verb, run_verb, study_verb, knowledge_verb, trajectories_verb,
	drain_verb, selftest_verb, vacuum_verb, backup_verb, backup_check_verb, lint_verb, stop_verb, plot_verb;

/* Prints an answer: with --json its structure, else the text. Returns the exit status. */
int verbs_answer(const struct verb_line *line, json_t *take_answer, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Copies the options that were given into tool arguments of the same name, with '-' as '_': flags as true, those of the verb's
 * `numbers` as numbers. The list ends with NULL. */
void verbs_copy(const struct verb_line *line, json_t *arguments, const char *option, ...) __attribute__((sentinel));
/* Connects, calls and prints; returns the exit status. *ret_structured may be NULL; it is set on success only, and replaces the
 * printing. */
int verbs_call(const struct verb_line *line, const char *tool, json_t *take_arguments, json_t **ret_structured);
/* The text of a transformation that is named by its file; NULL for a name of the library or a sentence. free() */
int verbs_transformation(const char *word, char **ret_text, struct err *e);
/* Connects and reads a resource; *ret_text: free(). */
int verbs_read(const struct verb_line *line, const char *uri, char **ret_text, struct err *e);

#endif

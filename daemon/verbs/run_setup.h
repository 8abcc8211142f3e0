/* run_setup: what `peakd run` and `peakd study` settle before their first step: the context, a free name, the device, the
 * transformations in order. Mistakes that would otherwise show after minutes of work are refused here, and a refusal leaves nothing
 * in the database. */
#ifndef PEAKD_DAEMON_VERBS_RUN_SETUP_H
#define PEAKD_DAEMON_VERBS_RUN_SETUP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "daemon/client.h"
#include "daemon/verbs/report.h"
#include "daemon/verbs/verb.h"

struct context;

struct run {
	const struct verb_line *line;
	struct client *client;
	FILE *words;      /* progress for people: standard output, or stderr while JSON goes to standard output */
	const char *path; /* the context file; NULL: the run starts from a checkpoint */
	const char *from; /* study: that checkpoint; NULL: the file's context is the start */
	char *source;     /* the context's text */
	struct context *context;
	char *workflow, *backend;
	char **steps; /* transformations in order */
	size_t step_count;
	struct report report;
	bool broken;   /* a step failed */
	bool resumed;  /* the workflow existed and --resume was given */
	json_t **made; /* resumed: the existing checkpoints of the baseline, then of each step; NULL entries failed earlier */
	size_t made_count;
	int64_t deadline;    /* --seconds: clock_now() by which the run should end; 0: none */
	int64_t overhead_ns; /* --seconds: the longest time that a step has needed beside its search */
};

/* Connects, and notes what the report says of this run. Call run_setup_fini whatever comes of it. */
int run_setup_open(struct run *r, struct err *e);
void run_setup_fini(struct run *r);
/* Reads the context, finds name, device and steps, and checks every option. `attempt` is the number of the first try: recordings of
 * later tries have folders of their own, so their models cannot be checked here. */
int run_setup(struct run *r, long long attempt, struct err *e);
/* Checks that every step names a known transformation and, with `fit`, that it is for this backend and follows what it builds on.
 */
int run_setup_check_steps(struct run *r, bool fit, struct err *e);
/* Creates the workflow, or with --resume finds it. The report then has its first step, "baseline". */
int run_setup_workflow(struct run *r, struct err *e);
/* The workflow's name as asked for: --name, or the file's. */
const char *run_setup_wanted_name(const struct run *r);

/* The text of a context or kernel file (-: standard input): UTF-8, at most 1 MiB, not empty; free(). */
int run_setup_read(const char *path, char **ret_text, struct err *e);
/* "examples/matmul.peak.md" is "matmul"; free(). */
char *run_setup_stem(const char *path);

/* Calls a tool with a progress line; *ret_structured may be NULL. */
int run_setup_call(struct run *r, const char *label, const char *tool, json_t *take_arguments, json_t **ret_structured,
		   struct err *e);
/* Prints one line about a step. */
void run_setup_say(const struct run *r, const char *step, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Members of an answer; "", NaN and 0 stand for a missing one. */
const char *run_setup_text(const json_t *object, const char *key);
double run_setup_number(const json_t *object, const char *key);
int64_t run_setup_whole(const json_t *object, const char *key);

#endif

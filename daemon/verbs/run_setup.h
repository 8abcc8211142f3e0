/* run_setup: what `peakd run` finds out before its first step: the file, a free name, the device, the transformations in order; and
 * how its files talk to the daemon and to people. Used by run.c and study.c. */
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
	FILE *words;                /* where people read: standard output, or stderr where that is for the figures (--json -) */
	const char *path;           /* of the context file; NULL: a checkpoint is gone on from */
	const char *from;           /* study: that checkpoint; NULL: the file is the root */
	char *source;               /* its text */
	struct context *context;    /* the same, read here: so that mistakes are found before anything is made */
	char *workflow, *backend;
	char **steps;               /* transformations in order */
	size_t step_count;
	struct report report;
	bool broken;                /* a step went wrong */
	bool resumed;               /* the workflow was there, and is gone on with */
	json_t **made;              /* checkpoints of the earlier run: of the baseline, then of the steps; see run_resume.h */
	size_t made_count;
};

/* The text of a context or kernel file: UTF-8, at most 1 MiB, not empty; free(). */
int run_setup_read(const char *path, char **ret_text, struct err *e);
/* Connects, once the file is there, and notes what the report says of this call; run_setup_fini is owed whatever comes of it. */
int run_setup_open(struct run *r, struct err *e);
/* Closes the connection and frees what the functions below filled in. */
void run_setup_fini(struct run *r);
/* Once the context is known: the workflow's name. NAME, or NAME-2 and so on when there is a workflow of that name: an earlier run's figures stay
 * what they are. With --resume it is meant (r->resumed): the daemon refuses another context under a name that is taken. */
int run_setup_name(struct run *r, struct err *e);
/* What it would be were it free: --name, or the file's. */
const char *run_setup_wanted_name(const struct run *r);
/* Reads the context, out of the file or of the checkpoint. */
int run_setup_context(struct run *r, struct err *e);
/* Once the steps are known: makes the workflow, or with --resume finds the one that is there; the report then has its first step, "baseline". */
int run_setup_workflow(struct run *r, struct err *e);
/* The device that will be used, as the daemon would choose it, for the report; it must be one for the context's code. */
int run_setup_device(struct run *r, struct err *e);
/* --transform, --sequence, or the sequence that is named as the file. */
int run_setup_steps(struct run *r, struct err *e);
/* "examples/matmul.peak.md" is "matmul"; free(). */
char *run_setup_stem(const char *path);
/* The command line as it could be typed again; free(). */
char *run_setup_command(void);

/* A tool call with a progress line; *ret_structured may be NULL. */
int run_setup_call(struct run *r, const char *label, const char *tool, json_t *take_arguments, json_t **ret_structured,
                   struct err *e);
/* What the daemon says of peak://KIND/NAME ("device", "model"); -ERR_NOT_FOUND with its words when that cannot be had. `ret_shown` may be NULL. */
int run_setup_ask(struct run *r, const char *kind, const char *name, json_t **ret_shown, struct err *e);
/* One line about a step. */
void run_setup_say(const struct run *r, const char *step, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Members of an answer: "", NaN and 0 when there is none. */
const char *run_setup_text(const json_t *object, const char *key);
double run_setup_number(const json_t *object, const char *key);
int64_t run_setup_whole(const json_t *object, const char *key);

#endif

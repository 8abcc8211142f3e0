/* verb: what people type behind `peakd`: one entry per verb, its options read from a table. main.c holds the list of verbs. */
#ifndef PEAKD_DAEMON_VERBS_VERB_H
#define PEAKD_DAEMON_VERBS_VERB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Exit statuses of every verb. */
enum verb_status {
	VERB_OK = 0,
	VERB_FAILED = 1,       /* it was tried and did not come out right: the message says why */
	VERB_USAGE = 2,        /* the command line cannot be understood */
	VERB_COMPILED = 3,     /* run: everything compiled, nothing ran */
	VERB_INTERRUPTED = 130, /* somebody cancelled its job; a signal: 128 + its number, which for Ctrl-C is the same */
};

struct verb_option {
	const char *name;      /* without the dashes */
	const char *value;     /* what stands behind it ("FILE"); NULL: a flag */
	const char *help;
};

/* A command line that was understood. Texts are the process's own arguments. */
struct verb_line {
	const struct verb *verb;
	const char **words;    /* what is no option */
	size_t word_count;
	struct verb_given { const struct verb_option *option; const char *value; } *given;
	size_t given_count;
	char *db;              /* --db, $PEAKD_DB or the user's own */
};

struct verb {
	const char *name;
	const char *words;                  /* "FILE.peak.md", "" */
	const char *summary;                /* one line for `peakd help` */
	const char *details;                /* more for `peakd VERB --help`, or NULL */
	const char *again;                  /* how to go on when its job was cancelled, or NULL */
	const struct verb_option *options;  /* ends with a NULL name; --db and --log-level are understood by all; or NULL */
	size_t min_words, max_words;
	int (*run)(const struct verb_line *line); /* returns the exit status */
};

/* Reads the arguments behind the verb. -ERR_INPUT names what is wrong and the nearest option. */
int verb_parse(const struct verb *verb, int argc, char **argv, struct verb_line *ret_line, bool *ret_help, struct err *e);
void verb_line_fini(struct verb_line *line);
void verb_help(const struct verb *verb);

/* The last value of an option; NULL when it was not given. A flag that was given has the value "". */
const char *verb_get(const struct verb_line *line, const char *name);
/* Every value of an option in order: the i-th, NULL behind the last. */
const char *verb_get_nth(const struct verb_line *line, const char *name, size_t i);
/* A whole number within bounds; `or_else` when it was not given. */
int verb_int(const struct verb_line *line, const char *name, long long min, long long max, long long or_else,
             long long *ret_value, struct err *e);
/* Prints "peakd VERB: message" on stderr, with how to go on behind it where a job was cancelled; returns the exit status for the error. */
int verb_fail(const struct verb_line *line, const struct err *e);
/* The exit status of a verb that a signal came into, as a shell has it; `status` when none did (0). */
int verb_ended(int signal, int status);
/* The same for a command line that cannot be meant: VERB_USAGE. */
int verb_misused(const struct verb_line *line, const struct err *e);

#endif

/* verb: command lines. main.c lists the verbs; verbs.md says what each takes. */
#ifndef PEAKD_DAEMON_VERBS_VERB_H
#define PEAKD_DAEMON_VERBS_VERB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Exit statuses of every verb. */
enum verb_status {
	VERB_OK = 0,
	VERB_FAILED = 1,        /* refused, failed, or what was asked is not so (a validation did not pass): the message says why */
	VERB_USAGE = 2,         /* the command line is wrong: nothing was done */
	VERB_COMPILED = 3,      /* run, study: everything compiled, nothing ran */
	VERB_INTERRUPTED = 130, /* its job was cancelled; after a signal 128 + its number, which is the same for Ctrl-C */
};

struct verb_option {
	const char *name;  /* without the dashes */
	const char *value; /* the name of its value ("FILE"); NULL: a flag */
	const char *help;
};

/* An option whose value is an integer from `min` to `max`, or any number where both are 0. */
struct verb_number {
	const char *option;
	long long min, max;
};

/* A parsed command line. Texts belong to the process's arguments, or to the configuration file's text. */
struct verb_line {
	const struct verb *verb;
	const char **words; /* arguments that are not options */
	size_t word_count;
	struct verb_given {
		const struct verb_option *option;
		const char *value;
	} * given;
	size_t given_count, typed; /* the first `typed` are from the command line, the others from the configuration file */
	bool again;                /* read by verb_reload */
	char *db;                  /* --db, $PEAKD_DB or the user's own */
	char *config;              /* the text of the file of --config; NULL without one */
};

struct verb_line;
struct table_column;

/* One call of an MCP tool from the shell. Words and options become its arguments, as the tool's input schema describes them. */
struct verb_call {
	const char *name;  /* the action, a verb's first word; "": the verb makes one call, and all words are arguments */
	const char *words; /* for usage: "NAME AT" */
	const char *about; /* one or two lines of help; NULL for "" */
	const char *tool;
	const char *arguments; /* those of the tool that words give, in order; @ before one whose text is a file's */
	const char *action;    /* the tool's own name of the action; NULL: the same, or the tool has none */
	size_t min;            /* words needed */
	const char *takes;     /* of an action: the options that belong to it, beside those of all verbs and --json; NULL: none */
	const char *rows;      /* member of the answer that is a table at a terminal; NULL: the answer's text is shown */
	const struct table_column *columns;
	int (*run)(const struct verb_line *line, const struct verb_call *call); /* in place of the call; may be NULL */
};

struct verb {
	const char *name;
	const struct verb_call
		*calls;     /* ends with a NULL name: call_complete adds their tools' options. NULL: the verb has `run` */
	const char *hidden; /* arguments of these tools that are not options: "after cursor"; or NULL */
	int (*run)(const struct verb_line *line); /* returns the exit status; with `calls`, call_complete sets it */

	/* From verbs.md, by call_complete. Tables end with a NULL name, or are NULL. */
	const char *words;                     /* "FILE.peak.md", "" */
	const char *summary;                   /* one line for `peakd help` */
	const char *details;                   /* more for `peakd VERB --help`, or NULL */
	const char *again;                     /* how to continue after its job was cancelled, or NULL */
	const struct verb_option *options;     /* every verb also takes --db and --log-level */
	const struct verb_option *environment; /* variables that it reads and the file of --config may set */
	const struct verb_number *numbers;     /* the options that take numbers, checked by verb_parse */
	size_t min_words, max_words;
};

/* The calls of a verb that is one call, of which all words are arguments. */
#define VERB_CALL(...)                                                                                                             \
	(const struct verb_call[])                                                                                                 \
	{                                                                                                                          \
		{ .name = "", .words = "", __VA_ARGS__ },                                                                          \
		{                                                                                                                  \
			.name = NULL                                                                                               \
		}                                                                                                                  \
	}

/* Parses the arguments after the verb. -ERR_INPUT names the mistake and suggests the closest option. Where the verb has an option
 * `config`, the file that it names adds options: lines `OPTION = VALUE`, with # before a comment. The command line and the
 * environment take precedence over the file. */
int verb_parse(const struct verb *verb, int argc, char **argv, struct verb_line *ret_line, bool *ret_help, struct err *e);
/* Reads the file of --config again, for options alone: variables keep the values that they had. */
int verb_reload(const struct verb_line *line, struct verb_line *ret_line, struct err *e);
void verb_line_fini(struct verb_line *line);
void verb_help(const struct verb *verb);

/* The last value of an option; NULL when it was not given. The value of a given flag is "". */
const char *verb_get(const struct verb_line *line, const char *name);
/* The i-th value of an option that may be repeated; NULL after the last. */
const char *verb_get_nth(const struct verb_line *line, const char *name, size_t i);
/* The row of an option that takes a number; NULL when it is not in the verb's `numbers`. */
const struct verb_number *verb_find_number(const struct verb *verb, const char *name);
/* The value of an option of `numbers` that takes an integer; `or_else` when it was not given. */
long long verb_number(const struct verb_line *line, const char *name, long long or_else);
/* An integer within bounds that are not in `numbers`; `or_else` when the option was not given. */
int verb_int(const struct verb_line *line, const char *name, long long min, long long max, long long or_else, long long *ret_value,
	     struct err *e);
/* Prints "peakd VERB: message" on stderr. */
void verb_print_error(const struct verb *verb, const struct err *e);
/* The same, and after a cancelled job how to continue; with --json also {"error": message} on standard output. Returns the exit
 * status for the error. */
int verb_fail(const struct verb_line *line, const struct err *e);
/* The same for a wrong command line: VERB_USAGE. */
int verb_misused(const struct verb_line *line, const struct err *e);
/* Adds what --validator names to $PEAKD_VALIDATORS, which a daemon that is started then reads. Each must be a folder or
 * executable. */
int verb_validators(const struct verb_line *line, struct err *e);
/* The exit status after a signal, as shells have it; `status` when there was none (0). */
int verb_ended(int signal, int status);

#endif

/* call: verbs that are calls of MCP tools. A tool's input schema, which is compiled in, gives the verb's options, their types and
 * their help. So the shell can do what MCP can. main.c completes each verb before it parses; verbs call tools with it. */
#ifndef PEAKD_DAEMON_VERBS_CALL_H
#define PEAKD_DAEMON_VERBS_CALL_H

#include <jansson.h>

#include "daemon/verbs/verb.h"

/* A verb with all its options. */
struct call_verb {
	struct verb verb;
	char **texts; /* of what was read or made */
	size_t text_count;
	struct verb_option *options;
	size_t option_count;
	struct verb_number *numbers;
	size_t number_count;
	struct verb_option *environment;
	size_t environment_count;
};

/* Reads what verbs.md says of the verb. */
void call_text(const struct verb *verb, struct call_verb *ret_verb);
/* The same, and for a verb with calls the options of their tools, help for the actions, and a `run`. */
void call_complete(const struct verb *verb, struct call_verb *ret_verb);
void call_fini(struct call_verb *verb);

/* The call's arguments out of options and words, which begin at word `first`. Reads the files that they name. */
int call_arguments(const struct verb_line *line, const struct verb_call *call, size_t first, json_t **ret_arguments, struct err *e);
/* Calls a tool and prints its answer: with --json its structure, at a terminal the table that `call` names, else its text. Prints
 * nothing where ret_structured is set and `call` is NULL. *ret_structured is set on success only. Returns the exit status. */
int call_tool(const struct verb_line *line, const char *tool, const struct verb_call *call, json_t *take_arguments,
	      json_t **ret_structured);

#endif

/* out: output files of verbs: the file that an option names, or standard output ("-"). Used by the verbs with --json and by draft
 * --out; and what depends on whether a terminal reads. */
#ifndef PEAKD_DAEMON_VERBS_OUT_H
#define PEAKD_DAEMON_VERBS_OUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

/* What a terminal is sent for colours (ECMA-48, SGR). */
#define OUT_BOLD "\033[1m"
#define OUT_RED "\033[31m"
#define OUT_GREEN "\033[32m"
#define OUT_YELLOW "\033[33m"
#define OUT_CYAN "\033[36m"
#define OUT_PLAIN "\033[0m"

/* True for "-" and for NULL. */
bool out_is_stdout(const char *path);
/* Checks before long work that its output can be written, by out_text with `force` or by out_json. */
int out_check(const char *path, bool force, struct err *e);
/* Writes a text. -ERR_CONFLICT when the file exists, unless `force`. */
int out_text(const char *path, const char *text, bool force, struct err *e);
/* Writes JSON (flags: jansson's) over whatever was there; `path` is --json's value. */
int out_json(const char *path, const json_t *json, size_t flags, struct err *e);

bool out_is_terminal(FILE *f);
/* Whether colours may be used: at a terminal that is not dumb, unless $NO_COLOR is set (no-color.org). */
bool out_colours(FILE *f);
/* Columns of the terminal; 80 where they are unknown. */
int out_width(FILE *f);
/* Prints the rest of a line that has `indent` columns, and a newline. At a terminal it goes on below them, broken between words. */
void out_wrapped(const char *text, int indent);
/* Prints a text on standard output, ended by a newline. A diff has colours where they may be used. */
void out_coloured(const char *text);

#endif

/* out: output files of verbs: the file that an option names, or standard output ("-"). Used by the verbs with --json and by draft
 * --out. */
#ifndef PEAKD_DAEMON_VERBS_OUT_H
#define PEAKD_DAEMON_VERBS_OUT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

/* True for "-" and for NULL. */
bool out_is_stdout(const char *path);
/* Checks before long work that its output can be written, by out_text with `force` or by out_json. */
int out_check(const char *path, bool force, struct err *e);
/* Writes a text. -ERR_CONFLICT when the file exists, unless `force`. */
int out_text(const char *path, const char *text, bool force, struct err *e);
/* Writes JSON (flags: jansson's) over whatever was there; `path` is --json's value. */
int out_json(const char *path, const json_t *json, size_t flags, struct err *e);

#endif

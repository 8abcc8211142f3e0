/* out: where verbs write what they were asked for: the file that an option names, or standard output ("-"). What "-" means, and what is said
 * when nothing can be written, is settled here. Used by the verbs with --json and by draft --out. */
#ifndef PEAKD_DAEMON_VERBS_OUT_H
#define PEAKD_DAEMON_VERBS_OUT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

/* "-"; also no name at all (NULL). */
bool out_is_stdout(const char *path);
/* Whether out_text with `force`, or out_json, can be expected to work: for before the work whose end is written there. */
int out_check(const char *path, bool force, struct err *e);
/* A text. A file that exists is ERR_CONFLICT, unless `force`. */
int out_text(const char *path, const char *text, bool force, struct err *e);
/* A line or more of JSON (flags: jansson's), whatever was there before; `path` is --json's. */
int out_json(const char *path, const json_t *json, size_t flags, struct err *e);

#endif

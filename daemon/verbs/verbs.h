/* verbs: the verbs that are one tool call: tune, validate, transform, compare, profile, devices. Each prints what the tool says for
 * people, or with --json the tool's structured content. */
#ifndef PEAKD_DAEMON_VERBS_VERBS_H
#define PEAKD_DAEMON_VERBS_VERBS_H

#include <jansson.h>

#include "daemon/client.h"
#include "daemon/verbs/verb.h"

/* `again` of verbs whose work leaves nothing to go on with. */
#define VERBS_ANEW "the same command begins it anew"

extern const struct verb verbs_tune, verbs_validate, verbs_transform, verbs_compare, verbs_profile, verbs_devices;

/* Copies options that were given into tool arguments of the same name, with '-' as '_'; ends with NULL. */
void verbs_copy(const struct verb_line *line, json_t *arguments, const char *option, ...) __attribute__((sentinel));
/* The same for a whole number. */
int verbs_copy_int(const struct verb_line *line, json_t *arguments, const char *option, long long min, long long max,
                   struct err *e);
/* Connects, calls, prints; *ret_structured may be NULL, is set on success only, and replaces the printing. Returns the exit
 * status. */
int verbs_call(const struct verb_line *line, const char *tool, json_t *take_arguments, json_t **ret_structured);

#endif

/* scrub: takes out of a text what must not leave the machine: secrets, and where files lie. Used by core/record/trajectory and
 * core/workers/child. */
#ifndef PEAKD_BASE_SCRUB_H
#define PEAKD_BASE_SCRUB_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the value of an environment variable of this name is a secret: it holds KEY, TOKEN, SECRET, PASSW or CREDENTIAL, in
 * capitals or not. Children do not get such variables (core/workers/child.c). */
bool scrub_names_secret(const char *variable, size_t n);
/* A copy of the text; free(). Absolute paths become "<path>/NAME", keys, tokens, passwords and private keys "<secret>": those of
 * known shapes, those behind words such as `api_key =`, and the values of the environment's secret variables. NULL gives NULL. */
char *scrub_text(const char *text);

#endif

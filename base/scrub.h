/* scrub: takes out of a text what must not leave the machine: secrets, and where files lie. Used by core/record/trajectory. */
#ifndef PEAKD_BASE_SCRUB_H
#define PEAKD_BASE_SCRUB_H

/* A copy of the text; free(). Absolute paths become "<path>/NAME", keys, tokens, passwords and private keys "<secret>": those of known
 * shapes, those behind words such as `api_key =`, and the values of the environment's variables whose names end with KEY, TOKEN, SECRET or
 * PASSWORD. NULL gives NULL. */
char *scrub_text(const char *text);

#endif

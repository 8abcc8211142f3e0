/* token: unguessable ids for what is named towards clients (jobs, half-done transformations). A job's id is the
 * right to read and cancel it, so it must not be countable. */
#ifndef PEAKD_BASE_TOKEN_H
#define PEAKD_BASE_TOKEN_H

enum { TOKEN_CHARS = 20, TOKEN_SIZE = TOKEN_CHARS + 2 };

/* Writes `prefix` and 20 random characters of a-z2-7 (100 bits), NUL-terminated, into `text`; returns text. */
char *token_make(char prefix, char text[TOKEN_SIZE]);

#endif

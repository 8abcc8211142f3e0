/* names: gives the arguments of launches their names. In `launch(k, grid, block, {A, n, m = x})` the value of `n`
 * alone would no longer tell that it is the input n, with its declared type. So every element of a literal argument
 * list that is a single name is rewritten, `n` → `__arg("n",n)`, on the same line. Used by core/context/host. */
#ifndef PEAKD_CORE_CONTEXT_NAMES_H
#define PEAKD_CORE_CONTEXT_NAMES_H

/* The rewritten script; owned by the caller. Any text is accepted, Lua or not. */
char *names_rewrite(const char *script);

#endif

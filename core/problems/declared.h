/* declared: lines that say what a kernel's file does not, as people type them behind --declare and as a model writes them. Used by the rest of
 * this room. Three forms:
 *
 *   NAME: …              as below inputs: or tune:
 *   local NAME = …       as in host code: what the host computes, or scratch memory
 *   launch(…)            as in host code: for a file that launches nothing */
#ifndef PEAKD_CORE_PROBLEMS_DECLARED_H
#define PEAKD_CORE_PROBLEMS_DECLARED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum declared_kind { DECLARED_ENTRY, DECLARED_LOCAL, DECLARED_LAUNCH };

struct declared_line {
	enum declared_kind kind;
	char *name;  /* "" of a launch */
	char *line;  /* without blanks around it */
	bool used;
};

struct declared {
	struct declared_line *at;
	size_t count;
};

/* -ERR_INPUT for a line of no form, or of more than one line. A later line replaces an earlier one of the same kind and name. */
int declared_read(const char *const *lines, size_t count, struct declared *ret_declared, struct err *e);
void declared_fini(struct declared *d);
/* The line of that kind and name, which counts as used from now on; NULL when there is none. */
const char *declared_take(struct declared *d, enum declared_kind kind, const char *name);
/* -ERR_INPUT names the first line that nothing used. */
int declared_all_used(const struct declared *d, struct err *e);

#endif

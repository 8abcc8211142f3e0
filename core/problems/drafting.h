/* drafting: a draft while it is made: what its parts (draft.c, launches.c, inputs.c, original.c) share. */
#ifndef PEAKD_CORE_PROBLEMS_DRAFTING_H
#define PEAKD_CORE_PROBLEMS_DRAFTING_H

#include <stdbool.h>

#include "base/buf.h"
#include "core/problems/declared.h"
#include "core/problems/draft.h"
#include "core/problems/expression.h"
#include "core/problems/source.h"

/* One entry of inputs:, or scratch. */
struct drafting_entry {
	char *name, *host;    /* in the context; in the host's code ("" for a number in the launch) */
	bool array, read, written, scratch, declared;
	bool unsure;          /* handed on by a kernel that could write it: its role is not to be seen */
	int type;
	char *type_text;      /* as the file has it */
	struct source_range value; /* of a scalar: its argument */
	char *line;           /* as it will stand below inputs:, or in host code */
};

/* One entry of tune:. */
struct drafting_tune {
	char *name;
	bool known;           /* the file says its value */
	int64_t value;
	char *line;           /* as it will stand; NULL while it is asked for */
};

struct drafting {
	struct source source;
	const char *backend;
	struct declared declared;
	struct expression_names names;
	struct drafting_entry *entries;
	size_t entry_count;
	struct drafting_tune *tune;
	size_t tune_count;
	struct buf locals, host;  /* host code: what launches need, and the launches */
	char **dropped;           /* macros that became tuning parameters */
	size_t dropped_count;
	struct draft *out;
};

void drafting_fini(struct drafting *d);
void drafting_note(struct drafting *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void drafting_question(struct drafting *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* NULL when there is none of that name. */
struct drafting_entry *drafting_entry(struct drafting *d, const char *name);
struct drafting_tune *drafting_tune(struct drafting *d, const char *name);
/* The value that the file itself gives to a scalar; false when it gives none. */
bool drafting_own_value(const struct drafting *d, const struct drafting_entry *x, struct value *ret_value);

#endif

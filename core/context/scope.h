/* scope: the names that the expressions of one front matter see, each with a slot in the array of values that they
 * are evaluated with. Used by core/context/{expr,set,spec}. */
#ifndef PEAKD_CORE_CONTEXT_SCOPE_H
#define PEAKD_CORE_CONTEXT_SCOPE_H

#include <stddef.h>

struct scope {
	char **names; /* by slot; set.c hides a loop variable by spoiling its name once its set is read */
	size_t count;
};
struct scope *scope_new(void);
void scope_free(struct scope *s);
/* Adds a name; returns its slot. */
size_t scope_add(struct scope *s, const char *name);
/* Slot of a name, -1 when there is none. */
int scope_find(const struct scope *s, const char *name);

#endif

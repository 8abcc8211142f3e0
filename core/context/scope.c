/* scope: the table of names; see scope.h. Used by core/context/{expr,set,spec}. */
#include "core/context/scope.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct scope *scope_new(void)
{
	return MEM_NEW(struct scope);
}

void scope_free(struct scope *s)
{
	if (s == NULL)
		return;
	for (size_t k = 0; k < s->count; k++)
		free(s->names[k]);
	free(s->names);
	free(s);
}

size_t scope_add(struct scope *s, const char *name)
{
	*MEM_PUSH(s->names, s->count) = mem_str(name);
	return s->count - 1;
}

int scope_find(const struct scope *s, const char *name)
{
	for (size_t k = 0; k < s->count; k++)
		if (strcmp(s->names[k], name) == 0)
			return (int)k;
	return -1;
}

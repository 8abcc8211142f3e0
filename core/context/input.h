/* input: the declarations below `inputs:`: scalars with their values, arrays with type, extents and fill. Used by
 * core/context/spec. */
#ifndef PEAKD_CORE_CONTEXT_INPUT_H
#define PEAKD_CORE_CONTEXT_INPUT_H

#include <stdbool.h>

#include "base/err.h"
#include "core/context/spec.h"

/* True when `value` declares an array: it has a role, brackets or the name of a fill. */
bool input_is_array(const char *value);
/* `TYPE = SET`. The scope must hold everything that SET may mention, and gets `name` added behind it. */
int input_scalar(struct spec *spec, const char *name, const char *value, int line, struct err *e);
/* `[out|inout] TYPE[dims; ld] [= FILL]`; without brackets when the scope has NAME.size. */
int input_array(struct spec *spec, const char *name, const char *value, int line, struct err *e);

/* Adds a scalar, a NAME.size or a tuning parameter with its set of values. Messages name the problem only. */
int input_var(struct spec *spec, const char *name, bool tuning, enum dtype type, const char *set, int line, struct err *e);
/* True for words of C, Lua and host code, and for types: an input must not have such a name. */
bool input_is_taken(const char *name);
/* Checks that C, Lua and host code leave the name free: -ERR_INPUT says what is wrong with it. */
int input_name(const struct spec *spec, const char *name, struct err *e);

#endif

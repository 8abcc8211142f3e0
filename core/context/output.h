/* output: how an output is judged, as declared behind its type and extents below `inputs:` (`y: out f16[n] within 2 ulp`).
 * Used by core/context/{input,spec_reader}. */
#ifndef PEAKD_CORE_CONTEXT_OUTPUT_H
#define PEAKD_CORE_CONTEXT_OUTPUT_H

#include "core/context/spec.h"

#define OUTPUT_KINDS                                                                                                               \
	"close, exact, within N ulp, within N units, indices of ARRAY, set, permutation, permutation ascending, "                  \
	"permutation descending or distribution"

/* Takes a declaration from *at, if there is one: sets a->judged, which is the type's default otherwise, and a->indexed. */
int output_take(struct spec_array *a, const char **at, struct err *e);
/* Once all arrays are known: finds the array that `indices of` names. */
int output_resolve(const struct spec *spec, struct spec_array *a, struct err *e);

#endif

/* enumerate: the search behind spaces: binds variables one after the other, in an order in which constraints bite
 * early, and keeps every point that all constraints accept. Used by core/context/space alone. */
#ifndef PEAKD_CORE_CONTEXT_ENUMERATE_H
#define PEAKD_CORE_CONTEXT_ENUMERATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/context/space.h"
#include "core/context/spec.h"

/* The values that a variable took; points hold indices into it. */
struct enumerate_domain {
	struct value *values;
	size_t count;
};

struct enumerate_result {
	struct enumerate_domain *domains; /* one per variable of the specification */
	uint16_t *rows;                   /* count × var_count indices */
	size_t count;
	double raw;       /* product of the sets, before constraints */
	uint64_t visited; /* partial assignments */
	uint64_t steps;   /* of work; see SPACE_STEPS_MAX */
};

/* What to enumerate; everything is borrowed. */
struct enumerate_query {
	const char *file; /* of the context, for messages */
	const struct spec *spec;
	const struct facts *facts;      /* NULL: constraints that mention the device are left out */
	const struct params *fixed;     /* NULL: none */
	const struct spec_check *check; /* sets in place of the declared ones; NULL: none */
	const struct space_stop *stop;  /* NULL: cannot be cancelled */
};

/* Enumerates one product of sets and appends to `into` (zeroed before the first call; the caller frees what it holds,
 * also after a failure). *ret_why: when nothing was found, which constraints removed it, owned by the caller; else NULL.
 * -ERR_UNSUPPORTED for a requires: that the device alone breaks; -ERR_INPUT for sets that cannot be computed and for
 * more than SPACE_POINTS_MAX points or SPACE_STEPS_MAX steps, which `into` counts over all calls; -ERR_CANCELLED. */
int enumerate_run(const struct enumerate_query *query, struct enumerate_result *into, char **ret_why, struct err *e);

#endif

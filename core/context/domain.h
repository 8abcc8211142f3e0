/* domain: which input sizes a context still accepts, compared with its parent. A transformation whose host code or
 * where: refuses such a size narrows the domain; that is a failure unless requires: declares it. Used by validators. */
#ifndef PEAKD_CORE_CONTEXT_DOMAIN_H
#define PEAKD_CORE_CONTEXT_DOMAIN_H

#include <stddef.h>

#include "backends/wire/facts.h"
#include "base/err.h"
#include "core/context/context.h"
#include "core/context/space.h"

struct domain {
	size_t sizes;    /* input sizes, declared and check:, that the parent accepts on this device */
	size_t covered;  /* of them: the child accepts */
	size_t declared; /* of them: the child's requires: excludes */
	size_t narrowed; /* of them: the child prunes in every tuning configuration without declaring it */
	char *text;      /* one line: "2 of 4 input sizes covered; narrowed: n=67 (need: n % BX == 0), …"; owned */
};

/* Compares over all sizes that the parent accepts. */
int domain_compare(const struct context *parent, const struct context *child, const struct facts *facts, struct domain *ret_domain,
		   struct err *e);
void domain_fini(struct domain *d);

/* Runs the host code once for each input size of the space (at most DOMAIN_TRIES), on a large device that does not exist. `space`
 * NULL: looks at its syntax alone. `text`: the file that the context was read from. -ERR_INPUT for the first mistake, with its line
 * in the file: "FILE:21: host code: …". *ret_good: sizes without a mistake; what only a device's limits refuse is none. */
enum { DOMAIN_TRIES = 64 };
int domain_try(const struct context *ctx, const char *text, const struct space *space, size_t *ret_good, struct err *e);

#endif

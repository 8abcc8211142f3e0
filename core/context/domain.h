/* domain: which input sizes a context still accepts, compared with its parent. A transformation whose host code or
 * where: refuses such a size narrows the domain; that is a failure unless requires: declares it. Used by validators. */
#ifndef PEAKD_CORE_CONTEXT_DOMAIN_H
#define PEAKD_CORE_CONTEXT_DOMAIN_H

#include <stddef.h>

#include "backends/wire/facts.h"
#include "base/err.h"
#include "core/context/context.h"

struct domain {
	size_t sizes;    /* input sizes, declared and check:, that the parent accepts on this device */
	size_t covered;  /* of them: the child accepts */
	size_t declared; /* of them: the child's requires: excludes */
	size_t narrowed; /* of them: the child prunes in every tuning configuration without declaring it */
	char *text;      /* one line: "2 of 4 input sizes covered; narrowed: n=67 (need: n % BX == 0), …"; owned */
};

/* *ret_accepts: some tuning configuration of the context is accepted for the input size by where: and by host code.
 * Host code runs until one is; *ret_why (may be NULL; owned by the caller, set only when not accepted) says why the
 * last one was not. Errors as host_run's, but never ERR_PRUNED. */
int domain_accepts(const struct context *ctx, const struct facts *facts, const struct params *size, bool *ret_accepts,
		   char **ret_why, struct err *e);
/* Compares over all sizes that the parent accepts. */
int domain_compare(const struct context *parent, const struct context *child, const struct facts *facts, struct domain *ret_domain,
		   struct err *e);
void domain_fini(struct domain *d);

#endif

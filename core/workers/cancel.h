/* cancel: how work that takes long is told to end. The caller that starts the work owns the flag and hands it down; the work calls
 * cancel_check between steps, and pool_interrupt ends the workers that are busy for it. */
#ifndef PEAKD_CORE_WORKERS_CANCEL_H
#define PEAKD_CORE_WORKERS_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"

struct span;

/* It goes wherever the work goes, and so does what that is a part of. */
struct cancel {
	atomic_bool asked;
	const struct span *span; /* of the work (core/workers/span.h); NULL: nobody collects spans */
};

/* NULL for NULL. */
static inline const struct span *cancel_span(const struct cancel *c)
{
	return c ? c->span : NULL;
}

/* All three accept NULL: work that nobody can cancel. */
static inline void cancel_ask(struct cancel *c)
{
	if (c)
		atomic_store(&c->asked, true);
}

static inline bool cancel_asked(const struct cancel *c)
{
	return c && atomic_load(&((struct cancel *)c)->asked);
}

/* -ERR_CANCELLED once asked, else 0. */
static inline int cancel_check(const struct cancel *c, struct err *e)
{
	return cancel_asked(c) ? err_set(e, ERR_CANCELLED, "cancelled") : 0;
}

#endif

/* cancel: how somebody outside tells a running piece of work to end. Whoever starts work owns one and hands it down; the
 * work asks cancel_check between steps, and pool.c ends the workers that are busy for it at once. */
#ifndef PEAKD_CORE_WORKERS_CANCEL_H
#define PEAKD_CORE_WORKERS_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"

struct cancel { atomic_bool asked; };

/* All three accept NULL: work that nobody can cancel. */
void cancel_ask(struct cancel *c);
bool cancel_asked(const struct cancel *c);
/* -ERR_CANCELLED once asked, else 0. */
int cancel_check(const struct cancel *c, struct err *e);

#endif

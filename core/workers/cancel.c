/* cancel: one flag; see cancel.h. Set by the engine, read by everything that takes long. */
#include "core/workers/cancel.h"

#include <stddef.h>

void cancel_ask(struct cancel *c)
{
	if (c)
		atomic_store(&c->asked, true);
}

bool cancel_asked(const struct cancel *c)
{
	return c && atomic_load(&((struct cancel *)c)->asked);
}

int cancel_check(const struct cancel *c, struct err *e)
{
	return cancel_asked(c) ? err_set(e, ERR_CANCELLED, "cancelled") : 0;
}

/* eval: progress and leases; see eval.h. */
#include "core/workers/eval.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/workers/span.h"

void eval_progress(const struct eval *ev, double done, double total, const char *fmt, ...)
{
	if (ev->progress == NULL)
		return;
	va_list ap;
	va_start(ap, fmt);
	char *text = mem_fmtv(fmt, ap);
	va_end(ap);
	ev->progress(ev->progress_arg, done, total, text);
	free(text);
}

static void say_waiting(void *arg, const char *line)
{
	eval_progress(arg, 0, 0, "%s", line);
}

static struct pool_wish wish_of(const struct eval *ev)
{
	return (struct pool_wish){ .cancel = ev->cancel,
				   .waiting = say_waiting,
				   .arg = (void *)ev,
				   .leased_ns = ev->spent ? &ev->spent->leased_ns : NULL };
}

static int take(const struct eval *ev, const struct facts *facts, const struct pool_wish *wish, struct pool_worker **ret_worker,
		struct err *e)
{
	struct span span;
	span_begin(&span, cancel_span(ev->cancel), "wait for the device");
	span_note(&span, "peakd.device", facts->id);
	int rc = pool_take_device(ev->pool, facts, wish, ret_worker, e);
	span_end(&span, rc);
	return rc;
}

int eval_take_device(const struct eval *ev, const struct facts *facts, const char *const *launcher, struct pool_worker **ret_worker,
		     struct err *e)
{
	struct pool_wish wish = wish_of(ev);
	wish.launcher = launcher;
	return take(ev, facts, &wish, ret_worker, e);
}

int eval_await_device(const struct eval *ev, const struct facts *facts, const struct cancel *over, struct pool_worker **ret_worker,
		      struct err *e)
{
	struct pool_wish wish = wish_of(ev);
	wish.over = over;
	return take(ev, facts, &wish, ret_worker, e);
}

bool eval_retries(const struct eval *ev, enum err_code code, const char *why, unsigned *io_tries)
{
	if (code != ERR_IO || ++*io_tries >= EVAL_TRIES || cancel_asked(ev->cancel))
		return false;
	log_warning("%s; trying again with a fresh worker", why);
	eval_progress(ev, 0, 0, "%s; trying again with a fresh worker", why);
	return true;
}

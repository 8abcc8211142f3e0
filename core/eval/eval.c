/* eval: progress for whoever waits; see eval.h. */
#include "core/eval/eval.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/mem.h"

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

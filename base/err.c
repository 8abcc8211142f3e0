/* err: formatting of the one error struct; see err.h. Used by every room. */
#include "base/err.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

int err_setv(struct err *e, enum err_code code, const char *fmt, va_list ap)
{
	assert(code != ERR_NONE);
	if (e == NULL)
		return -(int)code;
	/* The arguments may point into e->text itself, so the new text is built beside it. */
	char text[ERR_TEXT_MAX + 1];
	vsnprintf(text, sizeof text, fmt, ap);
	utf8_cut(text, ERR_TEXT_MAX - 1);
	/* Messages quote scripts, compilers and servers, and end in JSON. */
	utf8_clean(text);
	memcpy(e->text, text, ERR_TEXT_MAX);
	e->code = code;
	return -(int)code;
}

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	err_setv(e, code, fmt, ap);
	va_end(ap);
	return -(int)code;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	if (e == NULL)
		return -(int)ERR_INTERNAL;
	char prefix[ERR_TEXT_MAX / 4];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(prefix, sizeof prefix, fmt, ap);
	va_end(ap);
	return err_set(e, e->code, "%s: %s", prefix, e->text);
}

int err_if_cancelled(const struct err *why, struct err *e)
{
	if (why->code != ERR_CANCELLED)
		return 0;
	if (e)
		*e = *why;
	return -ERR_CANCELLED;
}

int err_sys(struct err *e, int errnum, const char *fmt, ...)
{
	char what[ERR_TEXT_MAX / 2], why[128];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	return err_set(e, ERR_IO, "%s: %s", what, strerror_r(errnum, why, sizeof why));
}

void err_show_line(struct err *e, const char *file, const char *text)
{
	size_t n = strlen(file);
	if (e == NULL || strncmp(e->text, file, n) != 0 || e->text[n] != ':')
		return;
	char *end;
	long line = strtol(e->text + n + 1, &end, 10);
	if (line < 1 || *end != ':')
		return;
	for (long k = 1; k < line && *text; k++) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	char shown[161];
	size_t len = strcspn(text, "\r\n");
	snprintf(shown, sizeof shown, "%.*s", (int)(len < sizeof shown ? len : sizeof shown - 1), text);
	if (shown[strspn(shown, " \t")] != '\0')
		err_set(e, e->code, "%s\n%6ld | %s", e->text, line, shown);
}

const char *err_code_name(enum err_code code)
{
	switch (code) {
	case ERR_NONE: return "ok";
	case ERR_INPUT: return "input";
	case ERR_NOT_FOUND: return "not-found";
	case ERR_CONFLICT: return "conflict";
	case ERR_UNSUPPORTED: return "unsupported";
	case ERR_COMPILE: return "compile";
	case ERR_PRUNED: return "pruned";
	case ERR_WRONG: return "wrong";
	case ERR_CRASH: return "crash";
	case ERR_TIMEOUT: return "timeout";
	case ERR_MODEL: return "model";
	case ERR_NETWORK: return "network";
	case ERR_IO: return "io";
	case ERR_BUSY: return "busy";
	case ERR_CANCELLED: return "cancelled";
	case ERR_INTERNAL: return "internal";
	}
	return "internal";
}

enum err_code err_code_of(const char *name)
{
	enum err_code code = ERR_INPUT;
	while (code < ERR_INTERNAL && !(name && strcmp(name, err_code_name(code)) == 0))
		code++;
	return code;
}

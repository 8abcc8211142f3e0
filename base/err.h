/* err: one error, carried on the caller's stack from where it is detected to the edge where it is shown.
 *
 * Who detects an error writes the whole message: what happened, where, and what to do about it. Callers in between
 * may put the place in front of it (err_wrap) and otherwise pass it on. Functions that can fail take a `struct err *`
 * last and return a negative number (`-e->code`); on success the err is untouched. */
#ifndef PEAKD_BASE_ERR_H
#define PEAKD_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>

/* What kind of failure it is: the edges choose exit status, JSON-RPC code or job state from it. */
enum err_code {
	ERR_NONE = 0,
	ERR_INPUT,       /* an input that cannot be accepted: names field, given, allowed */
	ERR_NOT_FOUND,   /* a name or id that does not exist */
	ERR_CONFLICT,    /* exists already, or changed underneath */
	ERR_UNSUPPORTED, /* this machine, build or device cannot do it */
	ERR_COMPILE,     /* device code was refused by its compiler */
	ERR_PRUNED,      /* execution parameters declared invalid by host code or by the device's limits */
	ERR_WRONG,       /* ran, and the outputs are wrong */
	ERR_CRASH,       /* a worker died, or the device faulted */
	ERR_TIMEOUT,     /* a deadline passed */
	ERR_MODEL,       /* the model's answers became no right code */
	ERR_NETWORK,     /* a peer could not be reached, refused, or spoke nonsense */
	ERR_IO,          /* files, database, disk full, a worker or device that was lost */
	ERR_BUSY,        /* the device has no room now: says nothing of what was asked */
	ERR_CANCELLED,   /* the caller asked for it to end */
	ERR_INTERNAL,    /* a bug of peakd */
};

enum { ERR_TEXT_MAX = 4096 };

struct err {
	enum err_code code;
	char text[ERR_TEXT_MAX]; /* UTF-8, NUL-terminated; a longer message is cut and ends in "…" */
};

/* An empty error to hand down: `struct err e = ERR_INIT;` */
#define ERR_INIT                                                                                                                   \
	{                                                                                                                          \
		.code = ERR_NONE, .text = ""                                                                                       \
	}
/* The same without clearing all of the text: for what runs a hundred thousand times a second. */
static inline void err_init(struct err *e)
{
	e->code = ERR_NONE;
	e->text[0] = '\0';
}

/* Sets code and message; returns -code, so that `return err_set(e, …)` is the whole failing path. `e` may be NULL. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int err_setv(struct err *e, enum err_code code, const char *fmt, va_list ap) __attribute__((format(printf, 3, 0)));

/* Puts "PREFIX: " in front of the message and keeps the code; returns -code. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The code of that name; ERR_INTERNAL where there is none. NULL is fine. */
enum err_code err_code_of(const char *name);
/* The machine's trouble, which may be over: says nothing of what was asked. */
static inline bool err_is_passing(enum err_code code)
{
	return code == ERR_IO || code == ERR_BUSY;
}

/* For a failure that ends the caller only when it was cancelled: copies `why` to `e` and returns -ERR_CANCELLED then, else 0. */
int err_if_cancelled(const struct err *why, struct err *e);

/* As err_set with ": strerror(errnum)" behind the message. */
int err_sys(struct err *e, int errnum, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Where the message starts with "FILE:N:", puts line N of that file's text below it, so that a person sees what is meant.
 * Does nothing for other messages. */
void err_show_line(struct err *e, const char *file, const char *text);

/* "input", "timeout", … : stable words for logs, tables and JSON; "ok" for ERR_NONE. Static storage. */
const char *err_code_name(enum err_code code);

#endif

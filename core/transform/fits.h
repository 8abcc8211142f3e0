/* fits: whether a transformation fits a context and a device. Looked at are its backends, the conditions of its front matter's
 * `fits:`, what must have been applied before, and what it requires of the device. The parameters that it adds and drops must be
 * such as can be added and dropped. Called by transform.c before anything is applied, and by library_offers.
 *
 * A condition is `has NAME, …` (inputs, constants, tuning parameters or kernels of these names) or an expression. Expressions are
 * of the front matter's language, over the words of fits_words. docs/transformations.md lists both. */
#ifndef PEAKD_CORE_TRANSFORM_FITS_H
#define PEAKD_CORE_TRANSFORM_FITS_H

#include <stddef.h>

#include "backends/wire/facts.h"
#include "base/err.h"
#include "core/context/context.h"

struct transformation;

/* What a condition may ask about, beside device.NAME. */
struct fits_word {
	const char *name, *about;
};
extern const struct fits_word fits_words[];

/* The context and device that conditions are asked about. */
struct fits;
/* `facts` may be NULL: no device is chosen, and every condition that asks about one holds. `ctx` is borrowed. */
struct fits *fits_new(const struct context *ctx, const struct facts *facts);
void fits_free(struct fits *f);

/* The name of the next kernel that host code launches, from *io_host on, which moves behind it. free(); NULL: there is no more. */
char *fits_next_launch(const char **io_host);

/* Whether a condition can be read. -ERR_INPUT without file and line. */
int fits_condition_check(const char *condition, struct err *e);
/* Whether the transformation can be applied next: -ERR_INPUT with one sentence that says why not. `applied` are the transformations
 * that led to the context. */
int fits_check(const struct fits *f, const struct transformation *t, const char *const *applied, size_t applied_count,
	       struct err *e);

#endif

/* space: all valid execution parameters of a context, enumerated once and then addressed by number. Constraints are
 * applied as soon as their variables are bound, so the work depends on the partial assignments visited, not on the
 * product. Used by validators (samples), tuners (everything) and estimates (counts). */
#ifndef PEAKD_CORE_CONTEXT_SPACE_H
#define PEAKD_CORE_CONTEXT_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/wire/facts.h"
#include "base/err.h"
#include "core/context/context.h"
#include "core/context/params.h"

struct space;

enum {
	SPACE_POINTS_MAX = 8000000,  /* valid points kept */
	SPACE_STEPS_MAX = 500000000, /* operations of expressions before giving up: some seconds */
};

/* Asked every few milliseconds by a long enumeration: true when nobody wants the result any more. */
struct space_stop {
	bool (*wanted)(void *arg);
	void *arg;
};

/* Every valid point over the declared values. `facts`: the device, for constraints that mention it (NULL: those are
 * left out). `fixed`: parameters with one given value each, whether it is in the declared set or not, e.g. one input
 * size (NULL: none). requires: and where: both hold at every point. -ERR_INPUT for an empty space (says which
 * constraints removed how much) or one beyond the limits above (says what to tighten); -ERR_UNSUPPORTED when the
 * device does not meet requires:. The context must outlive the space. */
int space_new(const struct context *ctx, const struct facts *facts, const struct params *fixed, struct space **ret_space,
	      struct err *e);
/* The same, but an empty space is not an error: it has count 0, and *ret_why (owned by the caller, else NULL) says what
 * removed everything. */
int space_new_maybe(const struct context *ctx, const struct facts *facts, const struct params *fixed, struct space **ret_space,
		    char **ret_why, struct err *e);
/* The same with the sizes of check: in place of the declared ones. May be empty (count 0) without being an error: the
 * context has no check:, or it requires what those sizes do not fulfil. */
int space_new_check(const struct context *ctx, const struct facts *facts, const struct params *fixed, struct space **ret_space,
		    struct err *e);
/* As space_new, but ends with -ERR_CANCELLED once `stop` says so. For callers who may stop waiting. */
int space_new_until(const struct context *ctx, const struct facts *facts, const struct params *fixed, const struct space_stop *stop,
		    struct space **ret_space, struct err *e);
void space_free(struct space *space);
/* Whether the inputs in `fixed` (some or all) are of a declared size: check: sizes are never timed. -ERR_INPUT lists those that
 * are. */
int space_declares(const struct context *ctx, const struct facts *facts, const struct params *fixed, struct err *e);

size_t space_count(const struct space *space);
/* The raw product of all value sets, before any constraint (an upper bound when sets depend on one another). */
double space_raw(const struct space *space);
/* Partial assignments that the enumeration visited. */
uint64_t space_visited(const struct space *space);
/* Point number index < count: a full assignment, owned by the caller. Points of one input size are contiguous. */
struct params *space_at(const struct space *space, size_t index);
/* Number of the point with these values; SIZE_MAX when it is not in the space. */
size_t space_find(const struct space *space, const struct params *params);

/* The values that variable number `var` of the specification (inputs first, then tuning parameters) may take, unordered;
 * some may occur at no valid point. Borrowed, *ret_count of them. And the index of the value that point `index` has. For
 * callers who look at all points. */
const struct value *space_domain(const struct space *space, size_t var, size_t *ret_count);
uint16_t space_domain_index(const struct space *space, size_t index, size_t var);

/* k different numbers < count, uniformly, the same for the same seed; min(k, count) of them are written to ret_index
 * and their number returned. */
size_t space_sample(const struct space *space, uint64_t seed, size_t k, size_t *ret_index);

/* Input sizes: the distinct assignments of the inputs. Points of size number s are first … first+count-1. */
size_t space_size_count(const struct space *space);
struct params *space_size_at(const struct space *space, size_t s);
void space_size_range(const struct space *space, size_t s, size_t *ret_first, size_t *ret_count);

#endif

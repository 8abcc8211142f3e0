/* params: execution parameters, one assignment of scalar inputs and tuning parameters, in the context's order (inputs
 * first, then tuning). Made by spaces and by callers that read them from text; read by host code, validators, tuners
 * and the store. A `struct params` owns everything in it and is immutable once made. */
#ifndef PEAKD_CORE_CONTEXT_PARAMS_H
#define PEAKD_CORE_CONTEXT_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct context;

struct param {
	char *name;    /* "n", "BX", "A.size" */
	bool is_float; /* which of the two below holds the value; integral values are always integers */
	bool tuning;   /* a tuning parameter, not an input */
	int64_t i;
	double f;
};

struct params {
	size_t count;
	struct param *at; /* in the context's order when complete */
};

struct params *params_new(void);
void params_free(struct params *p);
struct params *params_copy(const struct params *p);
/* Appends or replaces. params_set_float turns an integral value into an integer. */
void params_set_int(struct params *p, const char *name, bool tuning, int64_t value);
void params_set_float(struct params *p, const char *name, bool tuning, double value);
/* NULL when there is none of that name. */
const struct param *params_find(const struct params *p, const char *name);
/* The inputs only (tuning false) or the tuning parameters only. */
struct params *params_part(const struct params *p, bool tuning);
/* Both together, `over` winning; inputs first. */
struct params *params_merge(const struct params *p, const struct params *over);
bool params_equal(const struct params *a, const struct params *b);
/* Every parameter in `part` is in `p` with the same value. */
bool params_contain(const struct params *p, const struct params *part);

/* "n=512 BX=16 BY=8"; floats with the shortest digits that read back exactly. Owned by the caller; "" when empty. */
char *params_text(const struct params *p);
/* The value alone, as params_text and `-D` write it. */
void param_value(const struct param *p, struct buf *out);
/* Reads "n=512 BX=16" (separated by spaces or commas, any order) for a context; the result is in the context's order.
 * `complete`: every input and tuning parameter must be there. -ERR_INPUT for a name that the context does not have,
 * that is given twice or is missing, and for a value that is no number. The values need not be in the declared sets. */
int params_parse(const struct context *ctx, const char *text, bool complete, struct params **ret_params, struct err *e);

#endif

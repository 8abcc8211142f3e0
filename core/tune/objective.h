/* objective: the quantity that a tune minimizes: time, energy per execution, their product, or an expression over
 * measured values and execution parameters. Used by tune. Expressions are those of front matter (core/context/expr). */
#ifndef PEAKD_CORE_TUNE_OBJECTIVE_H
#define PEAKD_CORE_TUNE_OBJECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/wire/facts.h"
#include "core/context/context.h"

struct objective {
	char *text;              /* as the user wrote it */
	const char *unit;        /* "ns", "J", "J s", or "" for an expression */
	bool is_time;            /* it is exactly the time */
	const struct spec *spec; /* its variables follow the measured ones in the scope */
	struct expr_scope *scope;
	struct expr *expr;
};

/* What was measured for one configuration at one input size. */
struct objective_metrics {
	const struct params *params;      /* all execution parameters */
	double time_ns;                   /* median per execution */
	double joules;                    /* per execution; NAN unless objective_weighs */
	int64_t registers, shared, spill; /* shared and spill in bytes; -1: unknown */
};

/* `text` is "time" (also NULL and ""), "energy", "edp" (energy × time), or an expression. Its words are time (seconds), energy
 * (joules), power (watts), registers, shared, spill (bytes) and the context's sizes and tuning parameters. The context must outlive
 * the objective. Returns -ERR_INPUT for an expression that does not parse, -ERR_UNSUPPORTED when it needs energy and the device
 * cannot measure it. */
int objective_new(const char *text, const struct context *ctx, const struct facts *facts, struct objective **ret_objective,
		  struct err *e);
void objective_free(struct objective *o);
/* True when energy must be measured. */
bool objective_weighs(const struct objective *o);
/* Smaller is better: time_ns itself, joules, joule-seconds, or the expression's value. Returns -ERR_INPUT when the
 * value cannot be computed or is not positive. */
int objective_value(const struct objective *o, const struct objective_metrics *m, double *ret_value, struct err *e);

#endif

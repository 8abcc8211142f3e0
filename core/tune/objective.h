/* objective: what a tune makes small: time, energy per execution, their product, or an expression over what was measured and the
 * execution parameters. Used by tune; expressions are those of front matter (core/context/expr). */
#ifndef PEAKD_CORE_TUNE_OBJECTIVE_H
#define PEAKD_CORE_TUNE_OBJECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/wire/facts.h"
#include "core/context/context.h"

struct objective;

/* What is known of one configuration at one input size. */
struct objective_metrics {
	const struct params *params; /* complete */
	double time_ns;              /* per execution, median */
	double joules;               /* per execution; NAN unless objective_weighs */
	int64_t registers, shared, spill; /* -1 unknown */
};

/* "time" (also NULL and ""), "energy", "edp" (energy × time), or an expression over time (seconds), energy (joules), power (watts),
 * registers, shared, spill (bytes) and the context's sizes and tuning parameters. -ERR_INPUT for one that cannot be read;
 * -ERR_UNSUPPORTED when it needs energy and the device tells none. The context must outlive it. */
int objective_new(const char *text, const struct context *ctx, const struct facts *facts, struct objective **ret_objective,
                  struct err *e);
void objective_free(struct objective *o);
/* It is time and nothing else. */
bool objective_is_time(const struct objective *o);
/* Energy has to be measured. */
bool objective_weighs(const struct objective *o);
/* As it was written. Borrowed. */
const char *objective_text(const struct objective *o);
/* "ns", "J", "J s", or "" for an expression. */
const char *objective_unit(const struct objective *o);
/* Smaller is better: time_ns itself, joules, joule-seconds, or the expression's value. -ERR_INPUT when it cannot be computed or is no
 * positive number. */
int objective_value(const struct objective *o, const struct objective_metrics *m, double *ret_value, struct err *e);

#endif

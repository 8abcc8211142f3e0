/* figures: the named numbers of one profiled configuration, which conditions of micro-profiling tools (advice.h) ask about. A
 * figure that could not be had says why. Filled by core/measure/profile and read by core/advise. */
#ifndef PEAKD_CORE_ADVISE_FIGURES_H
#define PEAKD_CORE_ADVISE_FIGURES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/context/expr.h"

struct db;

/* One row of figures_known: what exists at all. */
struct figure_kind {
	const char *name, *unit, *about; /* unit "": a plain number */
};
extern const struct figure_kind figures_known[];
extern const size_t figures_known_count;

struct figures {
	double *values;      /* by place in figures_known; NAN: not there */
	const char *limiter; /* of the occupancy; static; NULL not known */
	char *uncounted;     /* why what an interpreter counts is not there; NULL: it is. Owned */
};

void figures_init(struct figures *f);
void figures_fini(struct figures *f);
/* The name must be one of figures_known. */
void figures_set(struct figures *f, const char *name, double value);
/* The same for a number, and where there is none yet. */
void figures_add(struct figures *f, const char *name, double value);
/* NAN where there is no such figure. */
double figures_get(const struct figures *f, const char *name);

/* Compiles an expression over the figures' names. -ERR_INPUT as expr_parse; expr_free. */
int figures_parse(const char *text, struct expr **ret_expr, struct err *e);
/* The first figure that the expression asks about and that is not there; NULL: all are. Static. */
const char *figures_missing(const struct expr *x, const struct figures *f);
/* VALUE_NONE where the expression has no value. */
struct value figures_evaluate(const struct expr *x, const struct figures *f);

/* A profile's figures are kept as metrics of this prefix. */
#define FIGURES_METRIC "figure."
/* Those of the newest profile of a checkpoint on a device (its UUID). *ret_params: the configuration that was profiled; free(),
 * NULL: there was no profile, and nothing is known. figures_fini in either case; on failure there is nothing to free. */
int figures_recall(struct db *db, int64_t checkpoint, const char *device, struct figures *ret_figures, char **ret_params,
		   struct err *e);

#endif

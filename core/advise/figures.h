/* figures: the named numbers of one profiled configuration, which conditions of micro-profiling tools (advice.h) ask about. A figure that
 * could not be had says why. Filled by core/measure/profile and read by core/advise. */
#ifndef PEAKD_CORE_ADVISE_FIGURES_H
#define PEAKD_CORE_ADVISE_FIGURES_H

#include <stddef.h>

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
/* NAN where there is no such figure. */
double figures_get(const struct figures *f, const char *name);

#endif

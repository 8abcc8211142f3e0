/* difference: what changed between two profiles: figures of compiler, interpreter and counters, and the times of kernels. What
 * follows from an execution's time alone is left out, because two medians of separate runs say less than a comparison in pairs
 * (compare.h). Called for the profile tool and for prompts. */
#ifndef PEAKD_CORE_MEASURE_DIFFERENCE_H
#define PEAKD_CORE_MEASURE_DIFFERENCE_H

#include "core/advise/figures.h"
#include "core/measure/kernels.h"

struct difference {
	char *what;           /* "registers", "kernel sum" */
	const char *unit;     /* static; "" none */
	double before, after; /* NAN: only the other has it */
};
struct differences {
	struct difference *at; /* the largest first */
	size_t count;
};

/* Adds figures that differ by a twentieth or more. */
void difference_figures(const struct figures *before, const struct figures *after, struct differences *io_list);
/* Adds kernels whose times differ by a tenth or more, or that only one side has. */
void difference_kernels(const struct kernel_profiles *before, const struct kernel_profiles *after, struct differences *io_list);
/* Orders them: the largest first. */
void difference_sort(struct differences *list);
/* "registers 32 → 64, occupancy 0.25 → 0.5": at most `most` of them. */
void difference_describe(const struct differences *list, size_t most, struct buf *out);
void difference_fini(struct differences *list);

#endif

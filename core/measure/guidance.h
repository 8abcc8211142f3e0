/* guidance: what limits a profiled configuration, and what its micro-profiling tools (core/advise/advice.h) suggest: the figures of
 * compiler, clock and interpreter, the class by the roofline, then the tools of that class. Called by core/measure/profile. */
#ifndef PEAKD_CORE_MEASURE_GUIDANCE_H
#define PEAKD_CORE_MEASURE_GUIDANCE_H

#include "core/advise/advice.h"
#include "core/measure/profile.h"

struct ceilings;

/* What a profile knows; all borrowed. */
struct guidance_source {
	const struct variant *variant;
	const struct facts *facts;
	const struct spec *spec;
	const struct ceilings *ceilings;
	const struct wire_counted *counted; /* count 0: nothing */
	const char *uncounted;              /* why; NULL */
};

/* Fills io_result->figures but for the roofs, and flops and bytes from the counts where the context declares none. */
void guidance_figures(const struct guidance_source *s, struct profile_result *io_result);
/* Adds the figures that follow from times, ceilings, flops and bytes. */
void guidance_roofs(const struct guidance_source *s, struct profile_result *io_result);
/* Fills class, why, advice and closed from the figures. */
void guidance_ask(const struct advisors *advisors, struct profile_result *io_result);

/* Times of kernels are kept as metrics of this prefix. */
#define GUIDANCE_KERNEL "kernel."
/* What the last profile of this checkpoint on this device (its UUID) found, as Markdown for a model or a person. free(); NULL: it
 * was never profiled there. */
int guidance_recall(struct db *db, int64_t checkpoint, const char *device, const struct advisors *advisors, char **ret_text,
		    struct err *e);

#endif

/* probe: what if loads, stores or barriers were free? A kernel is rewritten so that they nearly are, and timed in pairs with the
 * kernel itself. Its results are wrong, so a probe is never a checkpoint, a measurement or a figure to quote: it only tells where
 * time goes. Called by profile.c. */
#ifndef PEAKD_CORE_MEASURE_PROBE_H
#define PEAKD_CORE_MEASURE_PROBE_H

#include "core/context/context.h"
#include "core/workers/trial.h"

/* "loads", "stores", "barriers", by enum wire_probe. */
extern const char *const probe_names[WIRE_PROBES];

/* All borrowed. */
struct probe_request {
	const struct context *ctx;
	const struct facts *facts;
	enum wire_probe probe;
	uint64_t seed; /* of the inputs */
};

struct probe_result {
	double ratio, low, high; /* how many times as fast it would be, and the interval; NAN where it could not be tried */
	char *why;               /* that; owned; NULL */
};

/* t: the kernel itself, prepared and executed. Only what ends the job is an error (-ERR_CANCELLED); anything else is `why`. */
int probe_run(const struct eval *ev, struct trial *t, const struct probe_request *q, struct probe_result *ret_result,
	      struct err *e);

#endif

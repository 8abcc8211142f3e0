/* ceiling: the speeds that a device really reaches, measured once with the backend's own kernels. They are kept as facts of the
 * device: "ceiling.f32" in FLOP/s, "ceiling.copy" in bytes per second, "ceiling.launch" in launches per second. They serve for
 * percentages only. Called for the profile tool. */
#ifndef PEAKD_CORE_MEASURE_CEILING_H
#define PEAKD_CORE_MEASURE_CEILING_H

#include "core/workers/eval.h"

struct db;

struct ceiling {
	char name[32];     /* "f32", "tensor.f16", "copy" */
	double per_second; /* FLOP/s, bytes/s for "copy", launches/s for "launch" */
};
struct ceilings {
	struct ceiling *at;
	size_t count;
};

/* Kept, or measured now (some seconds, once per device and driver). A device whose backend has no such kernels has none. free()
 * ret_list->at. */
int ceiling_list(const struct eval *ev, const struct facts *facts, struct db *db, struct ceilings *ret_list, struct err *e);
/* Of that name; NAN when there is none. */
double ceiling_of(const struct ceilings *list, const char *name);

#endif

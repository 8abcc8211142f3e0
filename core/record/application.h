/* application: what each application of a transformation brought: a checkpoint against its parent, by the newest proven pairwise timings of
 * both. Nothing is stored here: comparisons are the evidence, and a later refutation takes it away. Read by core/knowledge. */
#ifndef PEAKD_CORE_RECORD_APPLICATION_H
#define PEAKD_CORE_RECORD_APPLICATION_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db;

enum application_outcome { APPLICATION_FASTER, APPLICATION_NOT_FASTER, APPLICATION_UNCLEAR };

/* One checkpoint on one device, over all sizes at which it was compared with its parent. */
struct application {
	int64_t checkpoint, parent;
	char *by;           /* name of the transformation */
	char *device;       /* UUID */
	double log_speedup; /* natural logarithm of the speed-up, mean over the sizes */
	size_t sizes;
	enum application_outcome outcome;
};

struct application_list {
	struct application *at;
	size_t count;
};

/* The key of the fact that says which class a device (UUID) is of, such as "sm_90". */
#define APPLICATION_CLASS "class"
/* Newest first, at most `limit` (0: all), on the devices of a class and on the device of this UUID; NULL, NULL: on all. */
int application_list(struct db *db, const char *device_class, const char *device, size_t limit, struct application_list *ret_list,
		     struct err *e);
void application_list_fini(struct application_list *l);

#endif

/* application: what each application of a transformation brought: a checkpoint against its parent, by the newest proven pairwise
 * timings of both. Nothing is stored here: comparisons are the evidence, and a later refutation takes it away. Read by
 * core/knowledge and core/jobs/work_known. */
#ifndef PEAKD_CORE_RECORD_APPLICATION_H
#define PEAKD_CORE_RECORD_APPLICATION_H

#include <stdbool.h>
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

/* One thing that was tried from a checkpoint of a line: a checkpoint made from it, or a transformation that was given up there. */
struct application_tried {
	int64_t checkpoint; /* what it became; 0: given up */
	int64_t parent;     /* what it began with */
	char *by;           /* name of the transformation, or "edit" */
	char *status;       /* "accepted", "failed", "draft", "given up" */
	char *note;         /* why it failed or was given up; may be NULL */
	bool on_line;       /* the line goes on from it */
};

struct application_tried_list {
	struct application_tried *at;
	size_t count;
};

/* What was tried on the line that leads to a checkpoint, newest first, at most `limit` (0: all). application_tried_fini. */
int application_tried(struct db *db, int64_t checkpoint, int limit, struct application_tried_list *ret_list, struct err *e);
void application_tried_fini(struct application_tried_list *l);

#endif

/* work_pending: half-done transformations in the database: kept, loaded, ended. The bridge between core/transform's state machine
 * (transform_save, transform_load) and core/record/pending. Used by work_transform, work_submit and the transform_begin tool. */
#ifndef PEAKD_CORE_JOBS_WORK_PENDING_H
#define PEAKD_CORE_JOBS_WORK_PENDING_H

#include "core/record/pending.h"
#include "core/transform/transform.h"

/* Writes the machine's state; `id` NULL or "" adds a row. *ret_id (may be NULL) is the caller's. */
int work_pending_keep(struct db *db, const char *id, int64_t parent, const char *workflow, const char *job,
                      const struct transform *x, enum pending_state state, char **ret_id, struct err *e);
/* Reads the row (ret_row may be NULL; pending_fini it) and rebuilds the machine. */
int work_pending_load(struct db *db, const char *id, const struct facts *facts, struct transform **ret_x,
                      struct pending *ret_row, struct err *e);
/* It became this checkpoint. */
int work_pending_accept(struct db *db, const char *id, int64_t checkpoint, struct err *e);

#endif

/* saved: a transformation under way as a row, so that anybody can continue it after an error, a restart or a kill:
 * the same job, another model, an agent, a person. One worker at a time: a row belongs to the job that took it for as
 * long as that job is queued or running. Used by core/jobs/work_transform and the tool transform_begin. */
#ifndef PEAKD_CORE_TRANSFORM_SAVED_H
#define PEAKD_CORE_TRANSFORM_SAVED_H

#include "base/buf.h"
#include "core/transform/transform.h"

struct db;

/* Writes the machine's state under the name of this job (NULL: a tool's call), and adds the row the first time, which
 * sets x->id. -ERR_CONFLICT when another job has taken the row: nothing is written then. */
int saved_keep(struct db *db, struct transform *x, const char *job, struct err *e);
/* Takes the row for this job (NULL: a tool's call) and rebuilds the machine, without facts. -ERR_CONFLICT when another
 * job works on it, or when it is final. */
int saved_take(struct db *db, const char *id, const char *job, struct transform **ret_x, struct err *e);

/* Everything but the state and what the row holds in columns, as text, and back. Exported for the tests. */
void saved_write(const struct transform *x, struct buf *out);
int saved_read(const char *text, enum transform_state state, struct transform **ret_x, struct err *e);

#endif

/* work_tune_known: what an earlier tune had answered, for one that finds its run ended (tune.h's resume). Called by work_tune.c. */
#ifndef PEAKD_CORE_JOBS_WORK_TUNE_KNOWN_H
#define PEAKD_CORE_JOBS_WORK_TUNE_KNOWN_H

#include "base/fields.h"
#include "core/tune/tune.h"
#include "core/record/store.h"

/* Sets the fields of size number i to those that the job had which ended this run, word for word; false, and nothing set, when no job that
 * is done has them, or when its winner may not be quoted any more (t->top does not have it). */
bool work_tune_known(struct db *db, const struct tune_result *t, size_t i, struct fields *result);

#endif

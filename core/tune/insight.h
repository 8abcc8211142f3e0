/* insight: what the newest tune of a checkpoint says beyond its winner: the leaders with their spread, what failed and why, how much of the
 * space was seen, which parameters matter and which only together, and whether more budget is likely to pay. Called by daemon/tools/part. */
#ifndef PEAKD_CORE_TUNE_INSIGHT_H
#define PEAKD_CORE_TUNE_INSIGHT_H

#include "base/buf.h"
#include "core/context/context.h"
#include "core/record/store.h"

/* Appends the report, lines of text, of the newest tune run of the checkpoint, whose context ctx is. -ERR_NOT_FOUND without a run. */
int insight_text(struct db *db, int64_t checkpoint, const struct context *ctx, struct buf *out, struct err *e);

#endif

/* insight: reports what the newest tune of a checkpoint shows beyond its winner. That is the fastest configurations
 * with their spread, failures by reason, and the share of the space that was tried. It also says which parameters
 * matter alone and together, and whether more budget is likely to pay. Called by daemon/tools/part. */
#ifndef PEAKD_CORE_TUNE_INSIGHT_H
#define PEAKD_CORE_TUNE_INSIGHT_H

#include "base/buf.h"
#include "core/context/context.h"
#include "core/record/store.h"

/* Appends the report as lines of text. `ctx` is the context of the checkpoint. Returns -ERR_NOT_FOUND when it was
 * never tuned. */
int insight_text(struct db *db, int64_t checkpoint, const struct context *ctx, struct buf *out, struct err *e);

#endif

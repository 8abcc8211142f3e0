/* export: the answer of workflow export: a checkpoint's winner as files. */
#ifndef PEAKD_DAEMON_TOOLS_EXPORT_H
#define PEAKD_DAEMON_TOOLS_EXPORT_H

#include <stdint.h>

#include "core/record/store.h"
#include "mcp/call.h"

const struct mcp_done *export_answer(struct mcp_call *call, struct db *db, int64_t checkpoint);

#endif

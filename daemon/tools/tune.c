/* tune: the tool; the work is core/work_tune. */
#include "daemon/tools/tools.h"

#include <stdlib.h>

static const struct mcp_done *call_with(struct mcp_call *call, struct db *db)
{
	struct fields request = FIELDS_INIT;
	struct err e = ERR_INIT;
	int64_t checkpoint;
	const struct mcp_done *done;
	if (tools_at(call, db, &checkpoint, NULL, &e) < 0)
		return tools_refuse(call, &e);
	fields_setf(&request, "checkpoint", "%lld", (long long)checkpoint);
	tools_copy(call, &request, "device", "budget", "strategy", "sizes", "warm", "seed", NULL);
	done = tools_start(call, db, "tune", &request);
	fields_fini(&request);
	return done;
}

static const struct mcp_done *handler(struct mcp_call *call)
{
	return tools_with_db(call, call_with);
}

const struct tool tool_tune = {
	.name = "tune", .title = "Tune a checkpoint",
	.description = "Find the fastest tuning parameters of a checkpoint on a device. Compiles variants in parallel, checks every one "
	               "that it times, times the leaders again and validates the winner. Answers with the best time, configuration and "
	               "what failed, or with a job id (then: job wait). Next: workflow log, or transform.",
	.flags = MCP_TOOL_IDEMPOTENT, .handler = handler,
};

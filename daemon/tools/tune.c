/* tune: the tool; the work is core/jobs/work_tune. */
#include "daemon/tools/tools.h"

static const struct mcp_done *handler(struct mcp_call *call)
{
	return tools_start(call, "tune");
}

const struct tool tool_tune = {
	.name = "tune", .title = "Tune a checkpoint",
	.description = "Find a checkpoint's fastest tuning parameters on a device: checks every variant that it times, validates "
	               "the winner. Answers with best time, configuration and what failed, or a job id (then: job wait). Next: "
	               "workflow log, or transform.",
	.flags = MCP_TOOL_IDEMPOTENT, .handler = handler,
};

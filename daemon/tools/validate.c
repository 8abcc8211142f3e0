/* validate: the tool; the work is core/jobs/work_validate. */
#include "daemon/tools/tools.h"

static const struct mcp_done *handler(struct mcp_call *call)
{
	return tools_start(call, "validate");
}

const struct tool tool_validate = {
	.name = "validate", .title = "Validate a checkpoint",
	.description = "Check that a checkpoint computes what its root does, over declared and check: sizes with secret inputs and "
	               "poisoned outputs. Answers passed, or failed with the first mismatches, or a job id (then: job wait). "
	               "Failing marks it failed. Next: tune, or edit what is wrong.",
	.flags = MCP_TOOL_IDEMPOTENT, .handler = handler,
};

/* validate: the tool; the work is core/work_validate. */
#include "daemon/tools/tools.h"

static const struct mcp_done *handler(struct mcp_call *call)
{
	return tools_start(call, "validate");
}

const struct tool tool_validate = {
	.name = "validate", .title = "Validate a checkpoint",
	.description = "Check that a checkpoint computes what its root does: sampled execution parameters over all declared and check: "
	               "sizes, secret input values, poisoned outputs. Answers passed or failed with the first mismatches, or with a job "
	               "id (then: job wait). A checkpoint that fails is marked failed. Next: tune, or edit what is wrong.",
	.flags = MCP_TOOL_IDEMPOTENT, .handler = handler,
};

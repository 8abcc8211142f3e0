/* profile: the tool; the work is core/jobs/work_profile. */
#include "daemon/tools/tools.h"

static const struct mcp_done *handler(struct mcp_call *call)
{
	return tools_start(call, "profile");
}

const struct tool tool_profile = {
	.name = "profile", .title = "Profile a checkpoint",
	.description = "How good is its best configuration? Answers with time (cold, warm), energy, clocks, percent of the device's measured "
	               "ceilings and of the vendor's library, registers and shared memory. Next: transform, or compare.",
	.flags = MCP_TOOL_IDEMPOTENT, .handler = handler,
};

/* validate: the tool; the work is core/work_validate. */
#include "daemon/tools/tools.h"

static const struct mcp_done *call_with(struct mcp_call *call, struct db *db)
{
	struct fields request = FIELDS_INIT;
	struct err e = ERR_INIT;
	int64_t checkpoint;
	const struct mcp_done *done;
	if (tools_at(call, db, &checkpoint, NULL, &e) < 0)
		return tools_refuse(call, &e);
	fields_setf(&request, "checkpoint", "%lld", (long long)checkpoint);
	tools_copy(call, &request, "device", "samples", NULL);
	done = tools_start(call, db, "validate", &request);
	fields_fini(&request);
	return done;
}

static const struct mcp_done *handler(struct mcp_call *call)
{
	return tools_with_db(call, call_with);
}

const struct tool tool_validate = {
	.name = "validate", .title = "Validate a checkpoint",
	.description = "Check that a checkpoint computes what its root does: sampled execution parameters over all declared and check: "
	               "sizes, secret input values, poisoned outputs. Answers passed or failed with the first mismatches, or with a job "
	               "id (then: job wait). A checkpoint that fails is marked failed. Next: tune, or edit what is wrong.",
	.flags = MCP_TOOL_IDEMPOTENT, .handler = handler,
};

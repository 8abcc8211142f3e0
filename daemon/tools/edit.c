/* edit: the tool; the work is core/jobs/work_transform. */
#include "daemon/tools/tools.h"

static const struct mcp_done *handler(struct mcp_call *call)
{
	bool region = tools_text(call, "region") && tools_text(call, "text"), source = tools_text(call, "source") != NULL;
	if (region == source)
		return mcp_call_refuse(call, "give either region and text (one region), or source (a context, or only the fences "
					     "and fields that change)");
	if ((tools_text(call, "at") == NULL) == (tools_text(call, "pending") == NULL))
		return mcp_call_refuse(call, "give either a checkpoint (at), or the half-done transformation to finish (pending)");
	return tools_start(call, "edit");
}

const struct tool tool_edit = {
	.name = "edit",
	.kind = "edit",
	.title = "Edit by hand",
	.description = "Your own change: a region's text, or a source of only the front matter fields and fences that change "
		       "(whole ones). "
		       "Validated, it becomes a checkpoint; a failed one moves no workflow. keep: faster makes it a whole "
		       "step: tuned, timed in pairs with `at`, taken back unless faster. Answers passed, checkpoint, speed-up, "
		       "kept; or a job id (then: "
		       "job wait). Next: profile, or another edit.",
	.set = "create",
	.flags = 0,
	.handler = handler,
};

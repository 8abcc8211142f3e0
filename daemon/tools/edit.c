/* edit: the tool; the work is core/jobs/work_edit. */
#include "daemon/tools/tools.h"

static const struct mcp_done *handler(struct mcp_call *call)
{
	bool region = tools_text(call, "region") && tools_text(call, "text"), source = tools_text(call, "source") != NULL;
	if (region == source)
		return mcp_call_refuse(call, "give either region and text, or source: one region's new text or a whole context");
	return tools_start(call, "edit");
}

const struct tool tool_edit = {
	.name = "edit", .title = "Edit by hand",
	.description = "Replace a region (or the whole context) of a checkpoint with your own text; it is validated and becomes a "
	               "new checkpoint. One that fails is kept as failed and moves no workflow. Answers passed, summary and "
	               "checkpoint, or a job id. Next: tune.",
	.flags = 0, .handler = handler,
};

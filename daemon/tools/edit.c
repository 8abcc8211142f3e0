/* edit: the tool; the work is core/jobs/work_transform. */
#include "daemon/tools/tools.h"

static const struct mcp_done *handler(struct mcp_call *call)
{
	bool region = tools_text(call, "region") && tools_text(call, "text"), source = tools_text(call, "source") != NULL;
	if (region == source)
		return mcp_call_refuse(call, "give either region and text, or source: one region's new text or a whole context");
	if ((tools_text(call, "at") == NULL) == (tools_text(call, "pending") == NULL))
		return mcp_call_refuse(call, "give either a checkpoint (at), or the half-done transformation to finish (pending)");
	return tools_start(call, "edit");
}

const struct tool tool_edit = {
	.name = "edit",
	.kind = "edit",
	.title = "Edit by hand",
	.description = "Replace a region (or the whole context) with your own text; it is validated and becomes a new "
		       "checkpoint. A failed one moves no workflow. Answers passed, summary and checkpoint, or a job "
		       "id. Next: tune.",
	.flags = 0,
	.handler = handler,
};

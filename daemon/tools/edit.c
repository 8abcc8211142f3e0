/* edit: the tool; the work is core/work_edit. */
#include "daemon/tools/tools.h"

#include <stdlib.h>

static const struct mcp_done *call_with(struct mcp_call *call, struct db *db)
{
	struct fields request = FIELDS_INIT;
	struct err e = ERR_INIT;
	int64_t checkpoint;
	char *workflow;
	const struct mcp_done *done;
	bool region = tools_text(call, "region") && tools_text(call, "text"), source = tools_text(call, "source") != NULL;
	if (region == source)
		return mcp_call_refuse(call, "give either region and text, or source: one region's new text or a whole context");
	if (tools_at(call, db, &checkpoint, &workflow, &e) < 0)
		return tools_refuse(call, &e);
	fields_setf(&request, "checkpoint", "%lld", (long long)checkpoint);
	fields_set(&request, "workflow", workflow);
	tools_copy(call, &request, "region", "text", "source", "device", "samples", NULL);
	done = tools_start(call, db, "edit", &request);
	fields_fini(&request);
	free(workflow);
	return done;
}

static const struct mcp_done *handler(struct mcp_call *call)
{
	return tools_with_db(call, call_with);
}

const struct tool tool_edit = {
	.name = "edit", .title = "Edit by hand",
	.description = "Replace one region (or the whole context) of a checkpoint with your own text. It is validated like any step and "
	               "becomes a new checkpoint; one that fails is kept as failed and moves no workflow. Answers passed, summary and the "
	               "checkpoint, or a job id. Next: tune.",
	.flags = 0, .handler = handler,
};

/* transform_submit: the tool; the work is core/jobs/work_submit. The answer to a step that waits is followed by the next prompt. */
#include "daemon/tools/tools.h"

const struct tool tool_transform_submit = {
	.name = "transform_submit",
	.kind = "submit",
	.title = "Submit your answer to a transformation step",
	.description = "Answer the prompt of transform_begin or of the last submit. Answers with result.state: waiting "
		       "(result.prompt is the next step or repair), accepted (result.checkpoint) or given-up. Next: "
		       "transform_submit again while waiting, then tune.",
	.set = "transform",
	.flags = 0,
};

/* draft: the tool; an existing kernel file becomes a context's text, or questions. Without a model and a device it is answered
 * here; with either it is a job (core/jobs/work_draft). */
#include "daemon/tools/tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "core/problems/draft.h"

enum { DECLARED_MAX = 64 };

static const struct mcp_done *answer(struct mcp_call *call, const struct draft *d)
{
	struct buf text = BUF_INIT;
	json_t *shown = json_pack("{s:b, s:s, s:o, s:o}", "complete", d->question_count == 0, "context", d->text, "questions",
				  layout_texts(d->questions, d->question_count), "notes", layout_texts(d->notes, d->note_count));
	for (size_t i = 0; i < d->question_count; i++)
		buf_addf(&text, "question: %s\n", d->questions[i]);
	for (size_t i = 0; i < d->note_count; i++)
		buf_addf(&text, "note: %s\n", d->notes[i]);
	const struct mcp_done *done = mcp_call_reply(call, shown, "%s\n%s\n%s", d->text, buf_text(&text),
						     d->question_count ? "Next: draft again with what is asked for in `declared`."
								       : "Next: widen tune:, then context_create, then validate.");
	buf_fini(&text);
	return done;
}

static const struct mcp_done *handler(struct mcp_call *call)
{
	const json_t *lines = json_object_get(mcp_call_arguments(call), "declared");
	const char *declared[DECLARED_MAX], *backend = tools_text(call, "backend");
	struct draft d;
	struct err e = ERR_INIT;
	size_t n = 0;
	if (tools_text(call, "model") || tools_text(call, "device"))
		return tools_start(call, "draft");
	for (; n < json_array_size(lines) && n < DECLARED_MAX; n++)
		declared[n] = json_string_value(json_array_get(lines, n));
	if (draft_make(tools_text(call, "source"), backend ? backend : "cuda", declared, n, &d, &e) < 0)
		return tools_refuse(call, &e);
	const struct mcp_done *done = answer(call, &d);
	draft_fini(&d);
	return done;
}

const struct tool tool_draft = {
	.name = "draft",
	.title = "Draft a context from a file",
	.description = "Turn a .cu or .hip file (kernels and their launch) into a context's text. Answers with it and what the "
		       "file leaves open. Stores nothing. Next: answer in `declared`, then context_create.",
	.set = "create",
	.flags = MCP_TOOL_OPEN_WORLD,
	.handler = handler,
};

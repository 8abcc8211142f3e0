/* read: long texts, for clients that read no resources: a part of a checkpoint, what changed between two, a transformation. The
 * text is the whole answer, so this tool has no output schema, and the tools that answer with a structure always do. */
#include "daemon/tools/tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diff.h"
#include "base/mem.h"
#include "core/record/checkpoint.h"
#include "core/transform/library.h"
#include "daemon/tools/part.h"

static const struct mcp_done *say_page(struct mcp_call *call, const char *text)
{
	char *page = tools_page(call, text);
	const struct mcp_done *done = tools_say(call, page);
	free(page);
	return done;
}

static int diff(struct mcp_call *call, struct db *db, int64_t id, struct buf *out, struct err *e)
{
	int64_t base;
	char *a = NULL, *b = NULL, name_a[32], name_b[32];
	int rc = tools_other(call, db, id, &base, e);
	rc = rc < 0 ? rc : checkpoint_context(db, base, &a, e);
	rc = rc < 0 ? rc : checkpoint_context(db, id, &b, e);
	if (rc >= 0) {
		snprintf(name_a, sizeof name_a, "%lld", (long long)base);
		snprintf(name_b, sizeof name_b, "%lld", (long long)id);
		diff_unified(out, name_a, a, name_b, b, 3);
	}
	free(a);
	free(b);
	return rc;
}

static const struct mcp_done *read_checkpoint(struct mcp_call *call, struct db *db)
{
	const char *what = tools_text(call, "what");
	struct err e = ERR_INIT;
	struct buf out = BUF_INIT;
	char *text = NULL;
	int64_t id;
	int rc = tools_at(call, db, &id, NULL, &e);
	if (rc >= 0 && what && strcmp(what, "diff") == 0) {
		rc = diff(call, db, id, &out, &e);
		text = mem_str(out.len ? buf_text(&out) : "the same text");
	} else if (rc >= 0) {
		rc = part_text(db, id, what ? what : "source", &text, &e);
	}
	const struct mcp_done *done = rc < 0 ? tools_refuse(call, &e) : say_page(call, text);
	buf_fini(&out);
	free(text);
	return done;
}

static const struct mcp_done *read_sequence(struct mcp_call *call, const struct library *library, const char *name)
{
	char **names;
	size_t count;
	struct err e = ERR_INIT;
	struct buf text = BUF_INIT;
	if (library_sequence(library, name, &names, &count, &e) < 0)
		return tools_refuse(call, &e);
	for (size_t i = 0; i < count; i++)
		buf_addf(&text, "%s\n", names[i]);
	mem_free_texts(names, count);
	const struct mcp_done *done = say_page(call, buf_text(&text));
	buf_fini(&text);
	return done;
}

static const struct mcp_done *handler(struct mcp_call *call)
{
	static const char sequence[] = "sequence:";
	const struct library *library = tools_app(call)->work.library;
	const char *name = tools_text(call, "transformation");
	struct transformation *t;
	struct err e = ERR_INIT;
	if (name == NULL)
		return tools_with_db(call, read_checkpoint);
	if (tools_text(call, "at"))
		return mcp_call_refuse(call, "transformation: leave at out, or transformation: one text is read at a time");
	if (strncmp(name, sequence, sizeof sequence - 1) == 0)
		return read_sequence(call, library, name + sizeof sequence - 1);
	if (library_find(library, name, &t, &e) < 0)
		return tools_refuse(call, &e);
	const struct mcp_done *done = say_page(call, t->source);
	transformation_free(t);
	return done;
}

const struct tool tool_read = {
	.name = "read",
	.title = "Read a text",
	.description = "Answers with a text alone: a part of a checkpoint, the diff of two, or a transformation. Next: edit, or "
		       "transform.",
	.flags = MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT,
	.handler = handler,
};

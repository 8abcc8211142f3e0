/* transformations: what the library offers; one of them whole; the sequences. */
#include "daemon/tools/tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "core/transform/library.h"

static json_t *texts(char *const *at, size_t count)
{
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_string(at[i]));
	return list;
}

static bool for_backend(const struct transformation *t, const char *backend)
{
	bool any = t->backend_count == 0 || backend == NULL;
	for (size_t i = 0; i < t->backend_count && !any; i++)
		any = strcmp(t->backends[i], backend) == 0;
	return any;
}

/* A list must stay small: the first clause of the summary, at most this many bytes; the whole of it is in the text. */
enum { SUMMARY_MAX = 72 };

static char *short_summary(const char *summary)
{
	size_t n = strcspn(summary, ";");
	if (n <= SUMMARY_MAX && summary[n] == '\0')
		return mem_str(summary);
	if (n > SUMMARY_MAX) {
		n = utf8_fit(summary, SUMMARY_MAX);
		while (n > 0 && summary[n] != ' ')
			n--;
	}
	return mem_fmt("%.*s …", (int)n, summary);
}

static json_t *entry(const struct transformation *t, const char *backend)
{
	char *summary = short_summary(t->summary);
	json_t *o = json_pack("{s:s, s:s}", "name", t->name, "summary", summary);
	free(summary);
	if (t->after_count)
		json_object_set_new(o, "after", texts(t->after, t->after_count));
	if (t->backend_count && backend == NULL)
		json_object_set_new(o, "backends", texts(t->backends, t->backend_count));
	return o;
}

static const struct mcp_done *list_all(struct mcp_call *call, const struct library *library)
{
	const char *backend = tools_text(call, "backend");
	char **names;
	size_t count;
	json_t *list = json_array();
	struct buf text = BUF_INIT;
	library_names(library, &names, &count);
	for (size_t i = 0; i < count; i++) {
		struct transformation *t;
		struct err e = ERR_INIT;
		if (library_find(library, names[i], &t, &e) < 0) {
			buf_addf(&text, "%s cannot be read: %s\n", names[i], e.text);
			continue;
		}
		if (for_backend(t, backend)) {
			json_array_append_new(list, entry(t, backend));
			buf_addf(&text, "%s%s", json_array_size(list) > 1 ? ", " : "", t->name);
		}
		transformation_free(t);
	}
	library_names_free(names, count);
	library_sequence_names(library, &names, &count);
	json_t *shown = json_pack("{s:o, s:o}", "transformations", list, "sequences", texts(names, count));
	for (size_t i = 0; i < count; i++)
		buf_addf(&text, "%s%s", i ? ", " : "\nsequences: ", names[i]);
	library_names_free(names, count);
	const struct mcp_done *done = mcp_call_reply(call, shown, "%s", buf_text(&text));
	buf_fini(&text);
	return done;
}

static const struct mcp_done *show_sequence(struct mcp_call *call, const struct library *library, const char *name)
{
	char **names;
	size_t count;
	struct err e = ERR_INIT;
	struct buf text = BUF_INIT;
	if (library_sequence(library, name, &names, &count, &e) < 0)
		return tools_refuse(call, &e);
	for (size_t i = 0; i < count; i++)
		buf_addf(&text, "%s\n", names[i]);
	library_names_free(names, count);
	json_t *shown = json_pack("{s:s, s:s}", "name", name, "text", buf_text(&text));
	const struct mcp_done *done = mcp_call_reply(call, shown, "%s", buf_text(&text));
	buf_fini(&text);
	return done;
}

static const struct mcp_done *handler(struct mcp_call *call)
{
	const struct library *library = tools_app(call)->work.library;
	const char *name = tools_text(call, "name");
	struct transformation *t;
	struct err e = ERR_INIT;
	if (name == NULL)
		return list_all(call, library);
	if (strncmp(name, "sequence:", 9) == 0)
		return show_sequence(call, library, name + 9);
	if (library_find(library, name, &t, &e) < 0)
		return tools_refuse(call, &e);
	json_t *shown = json_pack("{s:s, s:s}", "name", t->name, "text", t->source);
	const struct mcp_done *done = mcp_call_reply(call, shown, "%s", t->source);
	transformation_free(t);
	return done;
}

const struct tool tool_transformations = {
	.name = "transformations", .title = "List transformations",
	.description = "What can be done to a kernel: answers with names, what each does, what must come before. "
	               "`name` gives one whole text, \"sequence:NAME\" the steps of a shipped sequence. Next: transform or "
	               "transform_begin.",
	.flags = MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT, .handler = handler,
};

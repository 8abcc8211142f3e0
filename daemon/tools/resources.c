/* resources: texts behind peak:// addresses; see resources.h. */
#include "daemon/tools/resources.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/record/workflow.h"
#include "daemon/tools/part.h"
#include "daemon/tools/tools.h"

static const char *const part_names[] = { "source", "device", "host", "macros", "best", "measurements", "validations",
                                          "exchanges" };

static const struct mcp_done *read_document(struct mcp_call *call)
{
	const char *uri = mcp_call_name(call), *leaf = strrchr(uri, '/');
	char *path = mem_fmt("%s/docs%s.md", tools_app(call)->share, leaf);
	FILE *f = fopen(path, "re");
	struct buf text = BUF_INIT;
	char chunk[4096];
	size_t n;
	const struct mcp_done *done;
	while (f && (n = fread(chunk, 1, sizeof chunk, f)) > 0)
		buf_add(&text, chunk, n);
	if (f)
		fclose(f);
	done = f ? mcp_call_reply_text(call, "text/markdown", buf_text(&text))
	         : mcp_call_reply_absent(call, "the document is not installed beside this peakd");
	buf_fini(&text);
	free(path);
	return done;
}

static const struct mcp_done *checkpoint_part(struct mcp_call *call, struct db *db)
{
	const char *at = mcp_call_variable(call, "at"), *part = mcp_call_variable(call, "part");
	struct err e = ERR_INIT;
	int64_t id;
	char *text;
	if (workflow_resolve(db, at, &id, &e) < 0 || part_text(db, id, part, &text, &e) < 0)
		return mcp_call_reply_absent(call, e.text);
	bool csv = strcmp(part, "measurements") == 0 || strcmp(part, "validations") == 0;
	const struct mcp_done *done = mcp_call_reply_text(call, csv ? "text/csv" : "text/plain", text);
	free(text);
	return done;
}

static const struct mcp_done *read_checkpoint(struct mcp_call *call)
{
	return tools_with_db(call, checkpoint_part);
}

static const struct mcp_done *read_transformation(struct mcp_call *call)
{
	struct transformation *t;
	struct err e = ERR_INIT;
	if (library_find(tools_app(call)->work.library, mcp_call_variable(call, "name"), &t, &e) < 0)
		return mcp_call_reply_absent(call, e.text);
	const struct mcp_done *done = mcp_call_reply_text(call, "text/markdown", t->source);
	transformation_free(t);
	return done;
}

const struct mcp_resource resources_table[] = {
	{ "peak://docs/context-format", "context-format", "The context format", "How a kernel context is written", "text/markdown",
	  read_document },
	{ "peak://docs/transformations", "transformations-format", "The transformation format",
	  "How a natural transformation is written", "text/markdown", read_document },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};

const struct mcp_template resources_templates[] = {
	{ "peak://checkpoint/{at}/{part}", "checkpoint", "A part of a checkpoint",
	  "part: source, device, host, macros, best, measurements, validations or exchanges", NULL, read_checkpoint },
	{ "peak://transformation/{name}", "transformation", "A transformation's text", NULL, "text/markdown", read_transformation },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};

/* Runs fn over every workflow's name. */
static void each_workflow(struct app *app, void (*fn)(void *arg, size_t i, const char *name), void *arg)
{
	struct db *db;
	struct workflow_list all;
	struct err e = ERR_INIT;
	if (store_take(app->work.store, &db, &e) < 0)
		return;
	if (workflow_list(db, &all, &e) >= 0) {
		for (size_t i = 0; i < all.count; i++)
			fn(arg, i, all.at[i].name);
		workflow_list_fini(&all);
	}
	store_give(db);
}

struct window { size_t offset, limit; json_t *array; };

static void add_source(void *arg, size_t i, const char *name)
{
	struct window *w = arg;
	if (i < w->offset || i >= w->offset + w->limit)
		return;
	char *uri = mem_fmt("peak://checkpoint/%s/source", name);
	json_array_append_new(w->array, json_pack("{s:s, s:s, s:s}", "uri", uri, "name", name, "mimeType", "text/plain"));
	free(uri);
}

void resources_list(void *user, size_t offset, size_t limit, json_t *array)
{
	struct window w = { offset, limit, array };
	each_workflow(user, add_source, &w);
}

static void add_name(void *arg, size_t i, const char *name)
{
	(void)i;
	json_array_append_new(arg, json_string(name));
}

void resources_complete(void *user, const struct mcp_completion *what, json_t *candidates)
{
	struct app *app = user;
	if (strcmp(what->argument, "part") == 0)
		for (size_t i = 0; i < MEM_COUNT(part_names); i++)
			json_array_append_new(candidates, json_string(part_names[i]));
	else if (strcmp(what->argument, "at") == 0)
		each_workflow(app, add_name, candidates);
	else if (strcmp(what->argument, "name") == 0) {
		char **names;
		size_t count;
		library_names(app->work.library, &names, &count);
		for (size_t i = 0; i < count; i++)
			json_array_append_new(candidates, json_string(names[i]));
		library_names_free(names, count);
	}
}

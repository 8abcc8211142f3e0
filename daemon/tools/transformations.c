/* transformations: what the library offers, and the sequences. */
#include "daemon/tools/tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "core/record/lineage.h"
#include "core/transform/library.h"
#include "core/workers/pool.h"

static bool for_backend(const struct transformation *t, const char *backend)
{
	bool any = t->backend_count == 0 || backend == NULL;
	for (size_t i = 0; i < t->backend_count && !any; i++)
		any = strcmp(t->backends[i], backend) == 0;
	return any;
}

/* An answer must stay small however many transformations there are: it holds as many as keep it, the same in words, below LIST_MAX
 * bytes, or `limit`; `cursor` goes on. */
enum { LIST_MAX = 6000, SUMMARY_MAX = 72 };

/* The first clause. */
static char *short_summary(const char *summary)
{
	enum { CLAUSE_MIN = 12 }; /* less says nothing: "Hopper; …" */
	size_t n = strcspn(summary, ";");
	if (n < CLAUSE_MIN)
		n = strlen(summary);
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
		json_object_set_new(o, "after", layout_texts(t->after, t->after_count));
	if (t->backend_count && backend == NULL)
		json_object_set_new(o, "backends", layout_texts(t->backends, t->backend_count));
	return o;
}

/* Owned transformations, those for a backend (NULL: all of them); `text` names those that cannot be read. */
struct shown {
	struct transformation **at;
	size_t count;
};

static void read_all(const struct library *library, const char *backend, struct shown *ret, struct buf *text)
{
	char **names;
	size_t count;
	library_names(library, &names, &count);
	for (size_t i = 0; i < count; i++) {
		struct transformation *t;
		struct err e = ERR_INIT;
		if (library_find(library, names[i], &t, &e) < 0)
			buf_addf(text, "%s cannot be read: %s\n", names[i], e.text);
		else if (for_backend(t, backend))
			*MEM_PUSH(ret->at, ret->count) = t;
		else
			transformation_free(t);
	}
	mem_free_texts(names, count);
}

/* Those that fit the context in `at`, on the device that is named or its backend's first one, and were not applied to it yet. */
static int read_offers(struct mcp_call *call, struct db *db, struct shown *ret, char **ret_backend, struct err *e)
{
	const struct work *work = &tools_app(call)->work;
	const char *device = tools_text(call, "device");
	struct lineage l;
	struct facts facts;
	struct library_offers offers;
	int64_t checkpoint;
	char *workflow = NULL;
	int rc = tools_at(call, db, &checkpoint, &workflow, e);
	free(workflow);
	rc = rc < 0 ? rc : lineage_load(db, checkpoint, &l, e);
	if (rc < 0)
		return rc;
	int found = pool_device(work->pool, device ? device : context_backend(l.ctx), &facts, e);
	if (found < 0 && device) {
		lineage_fini(&l);
		return found;
	}
	library_offers(work->library, l.ctx, found < 0 ? NULL : &facts, (const char *const *)l.applied, l.applied_count, &offers);
	for (size_t i = 0; i < offers.offered; i++) {
		*MEM_PUSH(ret->at, ret->count) = offers.at[i].t;
		offers.at[i].t = NULL;
	}
	*ret_backend = mem_str(context_backend(l.ctx));
	library_offers_fini(&offers);
	lineage_fini(&l);
	return 0;
}

/* As the structure: "name: summary (after a, b; cuda)". */
static void add_words(const json_t *entry, struct buf *out)
{
	const json_t *one;
	size_t i;
	const char *before = " (after ";
	buf_addf(out, "%s: %s", json_string_value(json_object_get(entry, "name")),
		 json_string_value(json_object_get(entry, "summary")));
	json_array_foreach(json_object_get(entry, "after"), i, one)
	{
		buf_addf(out, "%s%s", before, json_string_value(one));
		before = ", ";
	}
	bool open = *before == ',';
	before = open ? "; " : " (";
	json_array_foreach(json_object_get(entry, "backends"), i, one)
	{
		buf_addf(out, "%s%s", before, json_string_value(one));
		before = ", ";
		open = true;
	}
	buf_adds(out, open ? ")\n" : "\n");
}

/* The list from behind the cursor, as far as it fits; appends the same to `text`. *ret_next: the last name, where more follow. */
static json_t *entries(const struct mcp_call *call, const struct shown *all, const char *backend, struct buf *text,
		       const char **ret_next)
{
	const size_t most = (size_t)tools_int(call, "limit", LIST_MAX);
	const char *cursor = tools_text(call, "cursor");
	json_t *list = json_array();
	size_t i = 0, used = 0;
	while (cursor && i < all->count && strcmp(all->at[i]->name, cursor) != 0)
		i++;
	for (i += cursor != NULL; i < all->count; i++) {
		json_t *one = entry(all->at[i], backend);
		struct buf words = BUF_INIT;
		add_words(one, &words);
		used += json_dumpb(one, NULL, 0, JSON_COMPACT) + words.len;
		bool fits = used <= most || json_array_size(list) == 0;
		if (fits) {
			json_array_append(list, one);
			buf_adds(text, buf_text(&words));
		}
		buf_fini(&words);
		json_decref(one);
		if (!fits) {
			*ret_next = all->at[i - 1]->name;
			break;
		}
	}
	return list;
}

static const struct mcp_done *tell(struct mcp_call *call, const struct shown *all, const char *backend, bool sequences,
				   struct buf *text)
{
	char **names;
	size_t count;
	const char *next = NULL;
	json_t *shown = json_pack("{s:o}", "transformations", entries(call, all, backend, text, &next));
	if (next) {
		json_object_set_new(shown, "next", json_string(next));
		buf_addf(text, "(more: transformations {cursor: %s}; with `at` only those that fit)\n", next);
	}
	for (size_t i = 0; i < all->count; i++)
		transformation_free(all->at[i]);
	free(all->at);
	if (sequences) {
		library_sequence_names(tools_app(call)->work.library, &names, &count);
		json_object_set_new(shown, "sequences", layout_texts(names, count));
		for (size_t i = 0; i < count; i++)
			buf_addf(text, "%s%s", i ? ", " : "sequences: ", names[i]);
		mem_free_texts(names, count);
	} else if (all->count == 0) {
		buf_adds(text, "no transformation fits: say in a sentence what to do");
	}
	return mcp_call_reply(call, shown, "%s", buf_text(text));
}

static const struct mcp_done *list_all(struct mcp_call *call, const struct library *library)
{
	const char *backend = tools_text(call, "backend");
	struct shown all = { .count = 0 };
	struct buf text = BUF_INIT;
	read_all(library, backend, &all, &text);
	const struct mcp_done *done = tell(call, &all, backend, tools_text(call, "cursor") == NULL, &text);
	buf_fini(&text);
	return done;
}

static const struct mcp_done *list_offers(struct mcp_call *call, struct db *db)
{
	struct shown all = { .count = 0 };
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;
	char *backend = NULL;
	int rc = read_offers(call, db, &all, &backend, &e);
	const struct mcp_done *done = rc < 0 ? tools_refuse(call, &e) : tell(call, &all, backend, false, &text);
	buf_fini(&text);
	free(backend);
	return done;
}

static const struct mcp_done *handler(struct mcp_call *call)
{
	return tools_text(call, "at") ? tools_with_db(call, list_offers) : list_all(call, tools_app(call)->work.library);
}

const struct tool tool_transformations = {
	.name = "transformations",
	.title = "List transformations",
	.description =
		"What can be done to a kernel: answers with names and summaries, with `at` of those that fit. Next: read one, "
		"transform or transform_begin.",
	.flags = MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT,
	.handler = handler,
};

/* knowledge: the resources about experts' notes: all of them with their standing on a device, and one of them whole. Read by agents
 * and by `peakd knowledge`. */
#include "daemon/tools/tools.h"

#include <math.h>
#include <string.h>

#include "core/knowledge/knowledge.h"
#include "core/transform/library.h"
#include "core/workers/pool.h"

/* The device of that name, of which `all` is none. */
static int facts_of(struct mcp_call *call, const char *device, struct facts *facts, const struct facts **ret_facts, struct err *e)
{
	*ret_facts = strcmp(device, "all") == 0 ? NULL : facts;
	return *ret_facts ? pool_device(tools_app(call)->work.pool, device, facts, e) : 0;
}

static void add_row(const struct knowledge_hit *hit, struct buf *out)
{
	buf_addf(out, "%-28s %-12s %4.2fx  ", hit->note->name, note_kind_names[hit->note->kind], hit->standing.expected);
	knowledge_say(&hit->standing, out);
	buf_addc(out, '\n');
}

/* `name` NULL: all that fit the device. */
static int write_notes(struct mcp_call *call, struct db *db, const char *device, const char *name, struct buf *out, struct err *e)
{
	struct facts facts;
	const struct facts *f;
	struct notes notes;
	struct knowledge all = { .count = 0 };
	char class[NOTE_CLASS];
	int rc = facts_of(call, device, &facts, &f, e);
	if (rc < 0)
		return rc;
	rc = library_notes(tools_app(call)->work.library, &notes, e);
	if (rc < 0)
		return rc;
	const struct note *asked = name ? note_find(&notes, name) : NULL;
	if (name && asked == NULL)
		rc = err_set(e, ERR_NOT_FOUND, "there is no note \"%s\"; `peakd knowledge` and peak://knowledge/all list them",
			     name);
	if (rc == 0)
		rc = knowledge_list(db, &notes, f, &all, e);
	if (rc == 0 && name == NULL)
		buf_addf(out, "%-28s %-12s %s  measured on %s\n", "note", "kind", "expect",
			 f ? note_device_class(f, class) : "all devices");
	for (size_t i = 0; i < all.count; i++) {
		if (name == NULL)
			add_row(&all.at[i], out);
		else if (all.at[i].note == asked) {
			note_render(all.at[i].note, out);
			buf_adds(out, "Measured here: ");
			knowledge_say(&all.at[i].standing, out);
			buf_addc(out, '\n');
		}
	}
	knowledge_fini(&all);
	note_fini(&notes);
	return rc;
}

static const struct mcp_done *reply(struct mcp_call *call, struct db *db, const char *device, const char *name, const char *type)
{
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;
	const struct mcp_done *done = write_notes(call, db, device, name, &text, &e) < 0
					      ? mcp_call_reply_absent(call, e.text)
					      : mcp_call_reply_text(call, type, buf_text(&text));
	buf_fini(&text);
	return done;
}

static const struct mcp_done *list(struct mcp_call *call, struct db *db)
{
	return reply(call, db, mcp_call_variable(call, "device"), NULL, "text/plain");
}

static const struct mcp_done *show(struct mcp_call *call, struct db *db)
{
	return reply(call, db, "all", mcp_call_variable(call, "note"), "text/markdown");
}

const struct mcp_done *tools_knowledge_list(struct mcp_call *call)
{
	return tools_with_db(call, list);
}

const struct mcp_done *tools_knowledge_show(struct mcp_call *call)
{
	return tools_with_db(call, show);
}

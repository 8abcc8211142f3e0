/* optimize: the tool that starts a search for faster code, and why it did what it did, for job explain; declared in tools.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "core/record/decision.h"
#include "core/record/workflow.h"
#include "daemon/tools/tools.h"

enum { SHOWN = 40, NOTE_BYTES = 200 };

static void add_words(const struct decision *d, struct buf *out)
{
	buf_addf(out, "%lld. %s at checkpoint %lld", (long long)d->seq, decision_kinds[d->kind], (long long)d->checkpoint);
	if (d->transformation)
		buf_addf(out, ": %.*s", (int)NOTE_BYTES, d->transformation);
	buf_addf(out, "\n   why: %s\n   %s", d->reason, decision_outcomes[d->outcome]);
	if (d->made)
		buf_addf(out, ", checkpoint %lld", (long long)d->made);
	if (isfinite(d->gain))
		buf_addf(out, ", %.2f times as fast (%.2f to %.2f)", d->gain, d->low, d->high);
	if (d->note && d->kind != DECISION_QUESTION && d->outcome != DECISION_FASTER)
		buf_addf(out, ": %.*s", (int)strcspn(d->note, "\n") < NOTE_BYTES ? (int)strcspn(d->note, "\n") : NOTE_BYTES,
			 d->note);
	if (isfinite(d->seconds))
		buf_addf(out, " [%.1f s, %.1f s on the device, %lld calls, %lld tokens]", d->seconds,
			 isfinite(d->device_seconds) ? d->device_seconds : 0, (long long)d->calls,
			 (long long)(d->tokens_in + d->tokens_out));
	buf_addc(out, '\n');
}

/* Of the job that is named, or of the search that made the checkpoint that is. */
static int find_decisions(const char *named, struct db *db, struct decision_list *ret_list, struct err *e)
{
	int64_t checkpoint;
	char *search = NULL;
	struct err ignored = ERR_INIT;
	int rc = decision_list(db, named, ret_list, e);
	if (rc < 0 || ret_list->count || workflow_resolve(db, named, &checkpoint, &ignored) < 0)
		return rc;
	rc = decision_search_of(db, checkpoint, &search, e);
	if (rc == 0 && search)
		rc = decision_list(db, search, ret_list, e);
	free(search);
	return rc;
}

/* The newest SHOWN decisions; notes are cut, since a question's is the whole answer. */
const struct mcp_done *optimize_explain(struct mcp_call *call, struct db *db, const char *named)
{
	struct decision_list list;
	struct err e = ERR_INIT;
	struct buf text = BUF_INIT;
	if (find_decisions(named, db, &list, &e) < 0)
		return tools_refuse(call, &e);
	json_t *rows = json_array();
	for (size_t i = list.count > SHOWN ? list.count - SHOWN : 0; i < list.count; i++) {
		struct decision *d = &list.at[i];
		add_words(d, &text);
		if (d->note && strlen(d->note) > NOTE_BYTES)
			d->note[utf8_fit(d->note, NOTE_BYTES)] = '\0';
		json_array_append_new(rows, layout_json(&decision_layout, d));
	}
	if (list.count == 0)
		err_set(&e, ERR_NOT_FOUND,
			"no decisions: %s is neither an optimize job (`job` with action list shows them) nor a checkpoint of one",
			named);
	json_t *shown = json_pack("{s:s, s:o}", "job", list.count ? list.at[0].search : "", "decisions", rows);
	const struct mcp_done *done =
		e.code ? tools_refuse(call, &e) : mcp_call_reply(call, json_incref(shown), "%s", buf_text(&text));
	json_decref(shown);
	decision_list_fini(&list);
	buf_fini(&text);
	return done;
}

const struct tool tool_optimize = {
	.name = "optimize",
	.title = "Optimize a kernel",
	.kind = "optimize",
	.description = "Searches for faster code: a policy chooses checkpoints and transformations, a model writes, the "
		       "judge and "
		       "the device decide. Answers with the best checkpoint, or a job id (then: job wait; job explain shows its "
		       "decisions). "
		       "Next: compare, or profile.",
	.set = "optimize",
	.flags = MCP_TOOL_OPEN_WORLD,
};

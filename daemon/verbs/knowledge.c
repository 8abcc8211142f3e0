/* knowledge: `peakd knowledge [NOTE] [--device D]`: the experts' notes, with what was measured of their advice. The daemon's resources
 * are its text. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "daemon/verbs/verbs.h"

static int knowledge_run(const struct verb_line *line)
{
	const char *device = verb_get(line, "device"), *note = line->word_count ? line->words[0] : NULL;
	struct err e = ERR_INIT;
	struct buf uri = BUF_INIT;
	char *text = NULL;
	buf_adds(&uri, note ? "peak://note/" : "peak://knowledge/");
	buf_add_uri(&uri, note ? note : device ? device : "all");
	int rc = verbs_read(line, buf_text(&uri), &text, &e);
	int status = rc < 0 ? verb_fail(line, &e) : verbs_answer(line, json_pack("{s:s}", "text", text), "%s", text);
	buf_fini(&uri);
	free(text);
	return status;
}

const struct verb knowledge_verb = {
	.name = "knowledge",
	.words = "[NOTE]",
	.summary = "lists experts' notes, with what was measured of their advice; or shows one",
	.details = "expect is the note's own speed-up, moved by what was measured. Advice that was refuted three times on a class "
		   "of devices "
		   "is no longer\n"
		   "offered there. A note is applied like a transformation: peakd transform AT note-NOTE. Notes are small Markdown "
		   "files:\n"
		   "transforms/knowledge/ of the share folder, and your own in $XDG_DATA_HOME/peakd/transforms/knowledge/ "
		   "(docs/knowledge.md).\n",
	.options =
		(const struct verb_option[]){
			{ "device", "D", "only notes that fit it, with what was measured on devices of its class (default: all)" },
			VERBS_JSON,
			{ NULL, NULL, NULL },
		},
	.min_words = 0,
	.max_words = 1,
	.run = knowledge_run,
};

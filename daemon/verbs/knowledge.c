/* knowledge: `peakd knowledge [NOTE] [--device D]`: the experts' notes, with what was measured of their advice. The daemon's
 * resources are its text. */
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

const struct verb knowledge_verb = { .name = "knowledge", .run = knowledge_run };

/* verbs_jobs: one action, one call of the job tool; only a log, of which the tool shows a piece a call, is read to its end. See verbs_jobs.h. */
#include "daemon/verbs/verbs_jobs.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "daemon/client.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/verbs.h"

static int check_action(const char *action, size_t words, struct err *e)
{
	static const char *const known[] = { "list", "get", "wait", "cancel", "resume", "log" };
	char hint[96];
	size_t i = 0;
	while (i < MEM_COUNT(known) && strcmp(known[i], action) != 0)
		i++;
	if (i == MEM_COUNT(known))
		return err_set(e, ERR_INPUT, "there is no action '%s'%s; there are list, get, wait, cancel, resume and log", action,
		               suggest_hint(action, known, MEM_COUNT(known), hint));
	if (i > 0 && words < 2)
		return err_set(e, ERR_INPUT, "it is `peakd jobs %s ID`; `peakd jobs` lists them", action);
	return 0;
}

/* --- the log ------------------------------------------------------------------------------------------------------------------ */

static void print_events(const json_t *events)
{
	const json_t *v;
	size_t i;
	json_array_foreach(events, i, v)
		printf("%lld %s %s\n", (long long)json_integer_value(json_object_get(v, "seq")), json_string_value(json_object_get(v, "kind")),
		       json_string_value(json_object_get(v, "message")));
}

/* Everything behind `all`'s last event; false when that was the end. */
static int read_more(struct client *client, const char *id, json_t *all, bool *ret_more, struct err *e)
{
	const json_t *last = json_array_get(all, json_array_size(all) - 1);
	json_t *answer = NULL;
	int rc = client_call(client, "job", json_pack("{s:s, s:s, s:I}", "action", "log", "id", id, "after",
	                     json_integer_value(json_object_get(last, "seq"))), NULL, NULL, &answer, NULL, e);
	*ret_more = rc == 0 && json_object_get(answer, "next") != NULL;
	if (rc == 0)
		json_array_extend(all, json_object_get(answer, "events"));
	json_decref(answer);
	return rc;
}

static int whole_log(const struct verb_line *line, const char *id)
{
	struct client *client = NULL;
	struct err e = ERR_INIT;
	json_t *all = json_array();
	bool more = true;
	int rc = client_open(line->db, &client, &e);
	while (rc == 0 && more)
		rc = read_more(client, id, all, &more, &e);
	json_t *shown = json_pack("{s:s, s:O}", "job", id, "events", all);
	if (rc == 0 && verb_get(line, "json"))
		rc = out_json(NULL, shown, JSON_INDENT(2), &e);
	else if (rc == 0)
		print_events(all);
	json_decref(shown);
	json_decref(all);
	int status = verb_ended(client_interrupted(client), rc < 0 ? verb_fail(line, &e) : VERB_OK);
	client_close(client);
	return status;
}

/* --- the verb ----------------------------------------------------------------------------------------------------------------- */

static int jobs_run(const struct verb_line *line)
{
	const char *action = line->word_count > 0 ? line->words[0] : "list";
	struct err e = ERR_INIT;
	if (check_action(action, line->word_count, &e) < 0)
		return verb_misused(line, &e);
	if (strcmp(action, "log") == 0)
		return whole_log(line, line->words[1]);
	json_t *arguments = json_pack("{s:s}", "action", action);
	if (line->word_count > 1)
		json_object_set_new(arguments, "id", json_string(line->words[1]));
	return verbs_call(line, "job", arguments, NULL);
}

const struct verb verbs_jobs = {
	.name = "jobs", .words = "[ACTION ID]", .summary = "lists jobs; ACTION is get, wait, cancel, resume or log",
	.details = "  list         the newest, with what they are about (without an ACTION, too)\n"
	           "  get ID       how it is, and when it has ended what came of it\n"
	           "  wait ID      the same once it has ended\n"
	           "  cancel ID    ends it; what it has measured is kept\n"
	           "  resume ID    goes on with one that was interrupted when its daemon ended\n"
	           "  log ID       all that it has said\n",
	.options = (const struct verb_option[]){ { "json", NULL, "prints the structured answer" }, { NULL, NULL, NULL } },
	.min_words = 0, .max_words = 2, .run = jobs_run,
};

/* optimize: `peakd optimize`: a search for faster code from the shell, its explanation, and the list of policies. The search itself is a
 * job of the daemon (core/jobs/work_optimize). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/optimize/policy.h"
#include "daemon/verbs/verbs.h"

static int list_policies(void)
{
	for (size_t i = 0; policy_table[i]; i++)
		printf("%-12s %s%s\n             from: %s\n", policy_table[i]->name, policy_table[i]->about,
		       i ? "" : " (the default)", policy_table[i]->origin);
	return VERB_OK;
}

static int misused(const struct verb_line *line, const char *why, json_t *take_arguments)
{
	struct err e = ERR_INIT;
	json_decref(take_arguments);
	err_set(&e, ERR_INPUT, "%s", why);
	return verb_misused(line, &e);
}

/* A number that may have a fraction: --money, the prices, --roof. */
static bool copy_real(const struct verb_line *line, json_t *arguments, const char *option, const char *name)
{
	const char *text = verb_get(line, option);
	char *end;
	double value = text ? strtod(text, &end) : 0;
	if (text && (*end || end == text))
		return false;
	if (text)
		json_object_set_new(arguments, name, json_real(value));
	return true;
}

static int run(const struct verb_line *line)
{
	struct err e = ERR_INIT;
	if (verb_get(line, "list-policies"))
		return list_policies();
	if (line->word_count == 0)
		return misused(line, "which checkpoint? peakd optimize AT, or peakd optimize explain AT", NULL);
	if (strcmp(line->words[0], "explain") == 0) {
		if (line->word_count < 2)
			return misused(line, "explain which search? Name its job, or a checkpoint that it made", NULL);
		return verbs_call(line, "optimize", json_pack("{s:s}", "explain", line->words[1]), NULL);
	}
	if (line->word_count > 1)
		return misused(line, "one checkpoint to start from, or explain and a job", NULL);
	json_t *arguments = json_pack("{s:s}", "at", line->words[0]);
	verbs_copy(line, arguments, "policy", "model", "reviewer", "sequence", "device", "sizes", "without", NULL);
	static const char *const counts[] = { "calls", "experiments", "tokens", "seconds", "device-seconds", "tune", "samples" };
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (verbs_copy_int(line, arguments, counts[i], 1, 1000000000, &e) < 0)
			return misused(line, e.text, arguments);
	if (verbs_copy_int(line, arguments, "seed", 0, 1000000000, &e) < 0)
		return misused(line, e.text, arguments);
	if (!copy_real(line, arguments, "money", "money") || !copy_real(line, arguments, "price-in", "price_in") ||
	    !copy_real(line, arguments, "price-out", "price_out") || !copy_real(line, arguments, "roof", "roof"))
		return misused(line, "--money, --price-in, --price-out and --roof take numbers", arguments);
	if (verb_get(line, "resume"))
		json_object_set_new(arguments, "resume", json_true());
	return verbs_call(line, "optimize", arguments, NULL);
}

const struct verb optimize_verb = {
	.name = "optimize",
	.words = "[AT | explain AT]",
	.summary = "searches for faster code by itself: a policy decides what a model tries next",
	.again = "its checkpoints and decisions are kept; a new search starts at the checkpoint that you name",
	.details =
		"AT is the checkpoint to start from: a workflow's name (whose head then becomes the best that was found), a "
		"number, a tag.\n"
		"Every decision and its reason is recorded: `peakd optimize explain JOB`, or a checkpoint that the search made.\n"
		"After the daemon was killed, the same command with --resume continues the search.\n",
	.options =
		(const struct verb_option[]){
			{ "policy", "NAME", "what decides (default: tree); --list-policies shows them" },
			{ "list-policies", NULL, "lists the policies and where each comes from" },
			{ "model", "NAME", "a configured model, or replay:NAME for recordings" },
			{ "reviewer", "NAME", "the model that reads code first, for the policy coder-judge (default: the same)" },
			{ "sequence", "NAME", "for the policy sequence: the transformations to apply" },
			{ "device", "D", "device as `peakd devices` lists it" },
			{ "sizes", "SIZES", "only these input sizes, as \"n=2048\"" },
			{ "calls", "N", "model calls at most (default 20, where no budget is given)" },
			{ "experiments", "N", "transformations to try at most" },
			{ "tokens", "N", "tokens at most, in and out" },
			{ "seconds", "S", "seconds at most" },
			{ "device-seconds", "S", "seconds with a device leased at most" },
			{ "money", "X", "what the tokens may cost, at --price-in and --price-out" },
			{ "price-in", "X", "price of a million tokens that the model reads" },
			{ "price-out", "X", "price of a million tokens that it writes" },
			{ "roof", "PERCENT", "stops when the best runs at this percent of a measured ceiling (default 90)" },
			{ "tune", "N", "configurations for each new checkpoint and size (default 24)" },
			{ "samples", "N", "execution parameters to validate (default 16)" },
			{ "without", "WHAT", "does without profile (and its guidance), knowledge, or both" },
			{ "seed", "N", "of policies that draw lots (default 1)" },
			{ "resume", NULL, "continues an interrupted search with the same options" },
			{ "json", NULL, "prints the structured answer" },
			{ NULL, NULL, NULL },
		},
	.min_words = 0,
	.max_words = 2,
	.run = run,
};

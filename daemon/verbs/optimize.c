/* optimize: `peakd optimize`: a search for faster code from the shell, its explanation, and the list of policies. The search itself
 * is a job of the daemon (core/jobs/work_optimize). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "core/optimize/landscape.h"
#include "core/optimize/policy.h"
#include "daemon/verbs/call.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/verbs.h"

static int list_policies(const struct verb_line *line)
{
	json_t *rows = json_array();
	for (size_t i = 0; policy_table[i]; i++)
		json_array_append_new(rows, json_pack("{s:s, s:s, s:s}", "name", policy_table[i]->name, "about",
						      policy_table[i]->about, "origin", policy_table[i]->origin));
	for (size_t i = 0; policy_table[i] && !verb_get(line, "json"); i++)
		printf("%-12s %s%s\n             from: %s\n", policy_table[i]->name, policy_table[i]->about,
		       i ? "" : " (the default)", policy_table[i]->origin);
	return verbs_answer(line, json_pack("{s:o}", "policies", rows), "%s", "");
}

/* --- simulation ------------------------------------------------------------------------------------------------------------- */

struct simulation {
	const struct landscape *fixed; /* NULL: one is made for each seed */
	unsigned calls, seeds;
};

/* Regret after `at` calls is the share of the possible gain (as a logarithm) that is missing. */
static json_t *simulate_policy(const struct simulation *s, const struct policy *policy)
{
	static const unsigned quarters[] = { 1, 2, 4 };
	json_t *row = json_pack("{s:s}", "policy", policy->name);
	double *best = MEM_NEW_N(double, s->calls), *regrets[3], found = 0;
	for (size_t k = 0; k < 3; k++)
		regrets[k] = MEM_NEW_N(double, s->seeds);
	for (unsigned seed = 0; seed < s->seeds; seed++) {
		struct landscape made;
		if (s->fixed == NULL)
			landscape_make(seed, &made);
		const struct landscape *l = s->fixed ? s->fixed : &made;
		landscape_search(l, policy, s->calls, seed, best);
		for (size_t k = 0; k < 3; k++)
			regrets[k][seed] = 1 - best[s->calls * quarters[k] / 4 - 1] / l->optimum;
		found += best[s->calls - 1] > l->optimum - 0.01;
	}
	for (size_t k = 0; k < 3; k++) {
		char name[48];
		double sum = 0;
		qsort(regrets[k], s->seeds, sizeof *regrets[k], order_doubles);
		for (unsigned i = 0; i < s->seeds; i++)
			sum += regrets[k][i];
		snprintf(name, sizeof name, "regret_%u", s->calls * quarters[k] / 4);
		json_object_set_new(row, name,
				    json_pack("{s:f, s:f, s:f}", "mean", sum / s->seeds, "median", regrets[k][s->seeds / 2], "p90",
					      regrets[k][s->seeds * 9 / 10]));
		free(regrets[k]);
	}
	json_object_set_new(row, "found", json_real(found / s->seeds));
	free(best);
	return row;
}

static int read_landscape(const char *path, struct landscape *ret_landscape, struct err *e)
{
	struct buf text = BUF_INIT;
	int rc = buf_add_packed_file(&text, path, e);
	if (rc == 0)
		rc = landscape_read(path, buf_text(&text), ret_landscape, e);
	buf_fini(&text);
	return rc;
}

static void print_rows(const struct verb_line *line, const json_t *rows, unsigned calls)
{
	const json_t *row;
	size_t i;
	printf("%s, mean regret (share of the possible gain that is missing) after so many calls:\n%-12s %8u %8u %8u   found the "
	       "best\n",
	       verb_get(line, "simulate"), "policy", calls / 4, calls / 2, calls);
	json_array_foreach(rows, i, row)
	{
		char name[3][48];
		for (unsigned k = 0; k < 3; k++)
			snprintf(name[k], sizeof name[k], "regret_%u", calls * (1u << k) / 4);
		printf("%-12s", json_string_value(json_object_get(row, "policy")));
		for (unsigned k = 0; k < 3; k++)
			printf(" %7.1f%%", 100 * json_real_value(json_object_get(json_object_get(row, name[k]), "mean")));
		printf("  %7.1f%%\n", 100 * json_real_value(json_object_get(row, "found")));
	}
}

static int simulate(const struct verb_line *line)
{
	struct err e = ERR_INIT;
	struct landscape fixed;
	long long calls, seeds = verb_number(line, "seeds", 200);
	const char *what = verb_get(line, "simulate"), *policy = verb_get(line, "policy");
	if (verb_int(line, "calls", 4, 10000, 24, &calls, &e) < 0)
		return verb_misused(line, &e);
	bool made = strcmp(what, "made") == 0;
	if (!made && read_landscape(what, &fixed, &e) < 0)
		return verb_fail(line, &e);
	struct simulation s = { .fixed = made ? NULL : &fixed, .calls = (unsigned)calls, .seeds = (unsigned)seeds };
	json_t *rows = json_array();
	for (size_t i = 0; policy_table[i]; i++)
		if (policy_table[i] != &policy_sequence && (policy == NULL || strcmp(policy, policy_table[i]->name) == 0))
			json_array_append_new(rows, simulate_policy(&s, policy_table[i]));
	json_t *all = json_pack("{s:s, s:I, s:I, s:O}", "landscape", what, "calls", (json_int_t)calls, "seeds", (json_int_t)seeds,
				"rows", rows);
	int status = VERB_OK;
	if (!verb_get(line, "json"))
		print_rows(line, rows, s.calls);
	else if (out_json(NULL, all, JSON_INDENT(1) | JSON_REAL_PRECISION(4), &e) < 0)
		status = verb_fail(line, &e);
	json_decref(all);
	json_decref(rows);
	return status;
}

/* --- the verb --------------------------------------------------------------------------------------------------------------- */

static int misused(const struct verb_line *line, const char *why)
{
	struct err e = ERR_INIT;
	err_set(&e, ERR_INPUT, "%s", why);
	return verb_misused(line, &e);
}

static int run(const struct verb_line *line, const struct verb_call *call)
{
	struct err e = ERR_INIT;
	json_t *arguments = NULL;
	if (verb_get(line, "list-policies"))
		return list_policies(line);
	if (verb_get(line, "simulate"))
		return simulate(line);
	if (line->word_count == 0)
		return misused(line, "which checkpoint? peakd optimize AT, or peakd optimize explain AT");
	if (strcmp(line->words[0], "explain") == 0) {
		if (line->word_count < 2)
			return misused(line, "explain which search? Name its job, or a checkpoint that it made");
		return verbs_call(line, "job", json_pack("{s:s, s:s}", "action", "explain", "id", line->words[1]), NULL);
	}
	if (line->word_count > 1)
		return misused(line, "one checkpoint to start from, or explain and a job");
	return call_arguments(line, call, 0, &arguments, &e) < 0 ? verb_fail(line, &e)
								 : call_tool(line, call->tool, call, arguments, NULL);
}

const struct verb optimize_verb = { .name = "optimize", .calls = VERB_CALL(.tool = "optimize", .arguments = "at", .run = run) };

/* feedback: see feedback.h. One issue at a time: the first errors only, since later ones tend to follow from them. */
#include "core/transform/feedback.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/transform/prompt.h"

enum { MESSAGE_MAX = 1500, LOG_MAX = 4000, WHY_MAX = 300 };

static void add_quoted(struct buf *out, const char *info, const char *text, size_t max)
{
	struct buf clean = BUF_INIT;
	prompt_quote(&clean, text, max);
	prompt_fence(out, info, buf_text(&clean));
	buf_fini(&clean);
}

/* Summaries and reasons may hold a whole log after their first line; the log is shown elsewhere. */
static void add_first_line(struct buf *out, const char *text, size_t max)
{
	char *line = mem_strn(text, strcspn(text, "\n"));
	prompt_quote(out, line, max);
	free(line);
}

static void add_number(struct buf *out, double value)
{
	if (isnan(value))
		buf_adds(out, "NaN");
	else
		buf_addf(out, "%.9g", value);
}

void feedback_ask(enum region region, const char *backend, struct buf *out)
{
	buf_addf(out, "\nReturn the whole corrected %s region in one fenced block that starts with ```%s",
		 context_region_name(region), prompt_region_fence(region, backend));
	buf_adds(out, ", or, when only a few lines change, search/replace blocks\n\n<<<<<<< SEARCH\nwhole lines, "
		      "exactly as they "
		      "stand, enough to be unique\n=======\nthe lines to put there\n>>>>>>> REPLACE\n\n(every search "
		      "must match exactly "
		      "once; all are applied, or none).\n");
}

void feedback_reply(const struct reply *reply, enum region region, const char *backend, struct buf *out)
{
	buf_adds(out, "Your answer could not be used: ");
	prompt_quote(out, reply->detail ? reply->detail : reply_outcome_name(reply->outcome), WHY_MAX);
	buf_addf(out,
		 ".\n\nReturn the whole %s region, complete, in exactly one closed fenced block that starts with "
		 "```%s\n",
		 context_region_name(region), prompt_region_fence(region, backend));
}

static const char *line_at(const char *text, unsigned line)
{
	while (line > 1 && (text = strchr(text, '\n')))
		text++, line--;
	return text;
}

/* Lines around one, the line itself marked: without numbers, which models would count wrongly. */
static void add_source(struct buf *out, const char *source, unsigned line)
{
	struct buf lines = BUF_INIT;
	unsigned first = line > FEEDBACK_AROUND ? line - FEEDBACK_AROUND : 1;
	const char *s = line_at(source, first);
	for (unsigned at = first; s && *s && at <= line + FEEDBACK_AROUND; at++) {
		size_t n = strcspn(s, "\n");
		buf_adds(&lines, at == line ? ">> " : "   ");
		buf_add(&lines, s, n < 400 ? n : 400);
		buf_addc(&lines, '\n');
		s += n + (s[n] == '\n');
	}
	if (lines.len)
		add_quoted(out, "", buf_text(&lines), LOG_MAX);
	buf_fini(&lines);
}

static void add_errors(struct buf *out, const struct judge_verdict *v, const struct context *ctx)
{
	for (size_t i = 0; i < v->error_count && i < FEEDBACK_ERRORS; i++) {
		const struct judge_error *error = &v->errors[i];
		buf_addf(out, "\nError %zu, in the %s region:\n\n", i + 1, context_region_name(error->region));
		add_quoted(out, "", error->text, MESSAGE_MAX);
		if (error->line) {
			buf_adds(out, "\nat the line marked >>:\n\n");
			add_source(out, context_region(ctx, error->region), error->line);
		}
	}
	if (v->error_count > FEEDBACK_ERRORS)
		buf_addf(out, "\nand %zu more, which may follow from these.\n", v->error_count - FEEDBACK_ERRORS);
	if (!v->error_count && v->log) {
		buf_adds(out, "\nThe log:\n\n");
		add_quoted(out, "", v->log, LOG_MAX);
	}
}

static void add_counts(struct buf *out, const struct judge_verdict *v)
{
	if (v->elements)
		buf_addf(out,
			 "- %" PRIu64 " of %" PRIu64 " output elements are wrong; %" PRIu64
			 " are NaN where they should not be; %" PRIu64 " were never written\n",
			 v->mismatched, v->elements, v->nan, v->untouched);
	if (v->tolerance > 0 && v->error > v->tolerance)
		buf_addf(out, "- relative error %.3g, allowed %.3g\n", v->error, v->tolerance);
	if (!v->mismatch_count)
		return;
	buf_adds(out, "- first mismatches:\n\n| output | row | column | got | want |\n| --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < v->mismatch_count && i < FEEDBACK_MISMATCHES; i++) {
		const struct judge_mismatch *m = &v->mismatches[i];
		buf_addf(out, "| %s | %" PRId64 " | %" PRId64 " | ", m->output, m->row, m->column);
		add_number(out, m->got);
		buf_adds(out, " | ");
		add_number(out, m->want);
		buf_adds(out, " |\n");
	}
}

static void add_map(struct buf *out, const struct judge_verdict *v)
{
	if (!v->has_map)
		return;
	buf_adds(out, "\nShare of wrong elements per eighth of the output, in percent (rows downward):\n\n```\n");
	for (int r = 0; r < JUDGE_MAP; r++) {
		bool any = false;
		for (int c = 0; c < JUDGE_MAP; c++)
			any = any || v->map[r][c] >= 0;
		for (int c = 0; c < JUDGE_MAP && any; c++)
			if (v->map[r][c] < 0) /* no elements there */
				buf_adds(out, "   -");
			else
				buf_addf(out, "%4.0f", (double)v->map[r][c] * 100);
		if (any)
			buf_addc(out, '\n');
	}
	buf_adds(out, "```\n");
}

static void add_configs(struct buf *out, const struct judge_verdict *v, bool passed)
{
	size_t shown = 0;
	for (size_t i = 0; i < v->config_count && shown < FEEDBACK_CONFIGS; i++) {
		const struct judge_config *c = &v->configs[i];
		if (c->passed != passed)
			continue;
		if (!shown++)
			buf_adds(out, passed ? "\nConfigurations that passed:\n\n" : "\nConfigurations that failed:\n\n");
		buf_addf(out, "- %s", c->params);
		if (c->why && v->result != JUDGE_COMPILE) { /* compilers say the same for all */
			buf_adds(out, ": ");
			add_first_line(out, c->why, WHY_MAX);
		}
		buf_addc(out, '\n');
	}
}

static const char *headline(enum judge_result result)
{
	switch (result) {
	case JUDGE_PASS: return "The context passed.";
	case JUDGE_COMPILE: return "The context does not compile or launch.";
	case JUDGE_WRONG: return "The context compiles and runs, but its results are wrong.";
	case JUDGE_CRASH:
		return "The context compiles, but running it ended in a fault or a time-out. Look for an access outside an array, "
		       "an endless loop, or a barrier that not all threads reach.";
	case JUDGE_NARROW:
		return "The context refuses configurations or input sizes that it accepted before. Only a limit of the device may "
		       "exclude them.";
	}
	return "";
}

void feedback_verdict(const struct judge_verdict *v, const struct context *ctx, struct buf *out)
{
	buf_addf(out, "%s\n",
		 v->headline ? v->headline
		 : v->right  ? "The context compiles and its results are right, but a further check refused it."
			     : headline(v->result));
	if (v->summary) {
		buf_addc(out, '\n');
		add_first_line(out, v->summary, v->error_count ? WHY_MAX : MESSAGE_MAX);
		buf_addc(out, '\n');
	}
	if (v->params)
		buf_addf(out, "\nWith the configuration %s:\n", v->params);
	add_errors(out, v, ctx);
	if (v->result == JUDGE_WRONG) {
		buf_addc(out, '\n');
		add_counts(out, v);
		add_map(out, v);
	}
	add_configs(out, v, false);
	add_configs(out, v, true);
	for (size_t i = 0; i < v->hint_count; i++) {
		buf_adds(out, i ? "" : "\nHints:\n\n");
		buf_adds(out, "- ");
		prompt_quote(out, v->hints[i], WHY_MAX);
		buf_addc(out, '\n');
	}
}

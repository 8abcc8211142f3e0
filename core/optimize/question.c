/* question: see question.h. */
#include "core/optimize/question.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/embedded.h"
#include "base/mem.h"

enum { CONTEXT_MAX = 192 << 10, FINDINGS_MAX = 8 << 10, PLAN_MIN = 12, PLAN_MAX = 1500, PLANS = 8 };

static void add_text(struct buf *out, const char *title, const char *text, size_t max)
{
	if (text == NULL)
		return;
	buf_addf(out, "\n# %s\n\n", title);
	prompt_quote(out, text, max);
	buf_addc(out, '\n');
}

static void add_context(struct buf *out, const char *title, const struct context *ctx)
{
	struct buf clean = BUF_INIT;
	if (ctx == NULL)
		return;
	buf_addf(out, "\n# %s\n\n", title);
	prompt_quote(&clean, context_render(ctx), CONTEXT_MAX);
	prompt_fence(out, "markdown", buf_text(&clean));
	buf_fini(&clean);
}

void question_plans(struct prompt *p, const struct question_about *about)
{
	struct buf text = BUF_INIT;
	prompt_add_system(p, context_backend(about->ctx), about->facts);
	buf_adds(&text, embedded_file("core/optimize/plan_rules.md"));
	add_context(&text, "The kernel context now", about->ctx);
	add_context(&text, "A reference: another line's code, which does something better", about->reference);
	add_text(&text, "What a profile found", about->profile, FINDINGS_MAX);
	add_text(&text, "What was tried so far", about->findings, FINDINGS_MAX);
	add_text(&text, "Transformations of the library that fit; a plan may be such a name alone", about->offers, FINDINGS_MAX);
	buf_adds(&text, "\n# Return now\n\nThe ten avenues, then five lines that begin with PLAN.\n");
	prompt_add(p, PROMPT_USER, buf_text(&text));
	buf_fini(&text);
}

/* "1.2-1.8", with any dash, blanks and "x" around the numbers; returns what follows, NULL: none. */
static const char *read_range(const char *at, double *ret_low, double *ret_high)
{
	char *end;
	at += strspn(at, " \t*_`:");
	*ret_low = strtod(at, &end);
	if (end == at)
		return NULL;
	at = end;
	while (*at && !isdigit((unsigned char)*at) && *at != ':' && *at != '\n')
		at++;
	*ret_high = strtod(at, &end);
	return end == at || *ret_low <= 0 || *ret_high < *ret_low ? NULL : end;
}

static bool read_plan(const char *line, size_t len, struct graph *g, int node, int trial)
{
	char *text = mem_strn(line, len), *at = strstr(text, "PLAN");
	double low = NAN, high = NAN, novelty = NAN;
	const char *rest =
		at && strspn(text, " \t-*#0123456789.`>") >= (size_t)(at - text) ? read_range(at + 4, &low, &high) : NULL;
	const char *colon = rest ? strchr(rest, ':') : NULL, *word = rest ? strcasestr(rest, "novelty") : NULL;
	if (word && colon && word < colon)
		novelty = strtod(word + 7, NULL);
	const char *what = colon ? colon + 1 + strspn(colon + 1, " \t*`") : "";
	/* A name alone is a transformation that is offered already. */
	size_t word_len = strcspn(what, "`*. \t");
	char *name = mem_strn(what, what[word_len + strspn(what + word_len, "`*. \t")] ? 0 : word_len);
	int offered = graph_find_option(g, node, name);
	bool good = offered >= 0 || (strlen(what) >= PLAN_MIN && strlen(what) <= PLAN_MAX);
	if (good) {
		int i = offered >= 0 ? offered : graph_add_option(g, node, what, GRAPH_MODEL);
		struct graph_option *o = &g->nodes[node].options[i];
		if (o->asked < 0) {
			o->source = GRAPH_MODEL;
			o->low = log(low);
			o->high = log(high);
			o->novelty = novelty;
			o->asked = trial;
		}
	}
	free(name);
	free(text);
	return good;
}

size_t question_read_plans(const char *answer, struct graph *g, int node, int trial)
{
	size_t count = 0;
	for (const char *line = answer; *line && count < PLANS;) {
		size_t len = strcspn(line, "\n"), end = len;
		while (end > 0 && isspace((unsigned char)line[end - 1]))
			end--;
		count += read_plan(line, end, g, node, trial);
		line += len + (line[len] == '\n');
	}
	return count;
}

void question_review(struct prompt *p, const char *wanted, const struct context *before, const struct context *after,
		     const struct facts *facts)
{
	struct buf text = BUF_INIT;
	prompt_add_system(p, context_backend(after), facts);
	buf_adds(&text, embedded_file("core/optimize/review_rules.md"));
	add_text(&text, "What the change was to do", wanted, FINDINGS_MAX);
	add_context(&text, "The old code", before);
	add_context(&text, "The new code", after);
	prompt_add(p, PROMPT_USER, buf_text(&text));
	buf_fini(&text);
}

bool question_rejects(const char *answer, char **ret_why)
{
	const char *at = answer + strspn(answer, " \t\r\n*#`\"");
	if (strncasecmp(at, "reject", 6) != 0)
		return false;
	at += 6;
	at += strspn(at, " \t\r\n*:.`");
	*ret_why = mem_str(*at ? at : "it gave no reason");
	return true;
}

/* limits: what a verdict does not cover, in words; see limits.h. */
#include "core/judge/limits.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/lex.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/judge/suite.h"

enum { WHY_MAX = 320, BRANCHES_TOLD = 4 };

/* --- front matter ----------------------------------------------------------------------------------------------------------- */

static bool is_free(const char *line)
{
	return strncmp(line, "tune:", 5) == 0 || strncmp(line, "where:", 6) == 0 || strncmp(line, "requires:", 9) == 0;
}

char *limits_contract(const struct context *ctx)
{
	char *canonical = context_canonical(ctx);
	struct buf out = BUF_INIT;
	bool keep = true;
	for (const char *line = canonical + strcspn(canonical, "\n") + 1; strncmp(line, "---", 3) != 0 && *line;) {
		size_t n = strcspn(line, "\n");
		/* A field begins at the margin; what is indented below it belongs to it. */
		if (*line != ' ')
			keep = !is_free(line);
		if (keep)
			buf_addf(&out, "%.*s\n", (int)n, line);
		line += n + (line[n] == '\n');
	}
	free(canonical);
	return buf_steal(&out);
}

/* One field of a contract with all its lines; "" when it has none. free() */
static char *field_of(const char *contract, const char *name)
{
	size_t n = strlen(name);
	for (const char *line = contract; *line; line += strcspn(line, "\n") + 1) {
		const char *end = line;
		if (strncmp(line, name, n) != 0 || line[n] != ':')
			continue;
		do
			end += strcspn(end, "\n") + 1;
		while (*end == ' ');
		return mem_strn(line, (size_t)(end - line));
	}
	return mem_str("");
}

static bool has_rule(const struct context *ctx, const char *text)
{
	const struct spec *spec = context_spec(ctx);
	bool found = false;
	for (size_t i = 0; i < spec->requires_count && !found; i++)
		found = strcmp(spec->requires[i].text, text) == 0;
	return found;
}

static void add_rules(const struct context *baseline, const struct context *parent, const struct context *ctx, struct buf *out)
{
	const struct spec *spec = context_spec(ctx);
	for (size_t i = 0; i < spec->requires_count; i++) {
		const char *text = spec->requires[i].text;
		if (!has_rule(baseline, text))
			buf_addf(out, "%srequires: %s%s", out->len ? "; " : "", text,
				 parent && !has_rule(parent, text) ? " (new in this step)" : "");
	}
}

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* What device code can read that differs from execution to execution; NULL: nothing. PTX names registers of time and place. */
static const char *chance_of(const struct context *ctx)
{
	static const char *const registers[] = { "globaltimer", "%clock", "%smid", "%warpid", "%gridid" };
	static const char *const functions[] = { "clock",
						 "clock64",
						 "__clock",
						 "__clock64",
						 "wall_clock64",
						 "__smid",
						 "__builtin_readcyclecounter",
						 "__builtin_amdgcn_s_memtime",
						 "__builtin_amdgcn_s_memrealtime" };
	static const enum region regions[] = { REGION_DEVICE, REGION_MACROS };
	for (size_t r = 0; r < MEM_COUNT(regions); r++) {
		const char *code = context_region(ctx, regions[r]);
		for (size_t i = 0; code && i < MEM_COUNT(registers); i++)
			if (strstr(code, registers[i]))
				return registers[i];
		for (size_t i = 0; code && i < MEM_COUNT(functions); i++)
			if (lex_c_has(code, functions[i], strlen(functions[i])))
				return functions[i];
	}
	return NULL;
}

char *limits_declared(const struct context *baseline, const struct context *parent, const struct context *ctx)
{
	static const struct {
		const char *field, *instead;
	} fields[] = {
		{ "inputs", "whose sizes were judged" },
		{ "check", "whose sizes were judged" },
		{ "precision", "which decided what is right" },
		{ "constants", NULL },
		{ "options", NULL },
	};
	struct buf out = BUF_INIT;
	char *was = limits_contract(baseline), *is = limits_contract(ctx);
	add_rules(baseline, parent, ctx, &out);
	for (size_t i = 0; i < MEM_COUNT(fields) && strcmp(was, is) != 0; i++) {
		char *a = field_of(was, fields[i].field), *b = field_of(is, fields[i].field);
		if (strcmp(a, b) != 0)
			buf_addf(&out, "%s%s: differs from the baseline's%s%s", out.len ? "; " : "", fields[i].field,
				 fields[i].instead ? ", " : "", fields[i].instead ? fields[i].instead : "");
		free(a);
		free(b);
	}
	if (!same_text(context_reference(baseline), context_reference(ctx)))
		buf_addf(&out, "%sthe reference block differs from the baseline's, which judged", out.len ? "; " : "");
	const char *chance = chance_of(ctx);
	if (chance && chance_of(baseline) == NULL)
		buf_addf(&out, "%sthe code reads %s: what that decides in one of thousands of executions was hardly seen",
			 out.len ? "; " : "", chance);
	free(was);
	free(is);
	char *text = out.len ? buf_steal(&out) : NULL;
	buf_fini(&out);
	return text;
}

/* --- rounds ----------------------------------------------------------------------------------------------------------------- */

/* Reasons of different sizes often differ in how many elements alone: "65536 of 65536 elements have no bound". A number that ends a
 * name belongs to it. */
static bool same_but_for_numbers(const char *a, const char *b)
{
	bool named = false;
	for (; *a && *b; a++, b++) {
		if (!named && isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			while (isdigit((unsigned char)a[1]))
				a++;
			while (isdigit((unsigned char)b[1]))
				b++;
		} else if (*a != *b) {
			return false;
		}
		named = lex_in_word(*a) && (named || !isdigit((unsigned char)*a));
	}
	return *a == *b;
}

static bool is_branch(const char *round)
{
	return strcmp(round, SUITE_BRANCHES) == 0;
}

static void add_gap(struct limits_gaps *g, char *take_round, char *take_why)
{
	for (size_t i = 0; i < g->count; i++)
		if (strcmp(g->at[i].round, take_round) == 0 &&
		    (is_branch(take_round) ? strcmp(g->at[i].why, take_why) == 0 : same_but_for_numbers(g->at[i].why, take_why))) {
			g->at[i].configurations++;
			free(take_round);
			free(take_why);
			return;
		}
	*MEM_PUSH(g->at, g->count) = (struct limits_gap){ take_round, take_why, 1, false };
}

void limits_gaps_add(struct limits_gaps *g, const char *log)
{
	for (const char *line = log ? log : ""; *line;) {
		size_t n = strcspn(line, "\n"), head = strlen(SUITE_GAP);
		const char *colon = n > head && strncmp(line, SUITE_GAP, head) == 0 ? memmem(line, n, ": ", 2) : NULL;
		if (colon) {
			char *why = mem_strn(colon + 2, (size_t)(line + n - colon - 2));
			utf8_cut(why, WHY_MAX);
			add_gap(g, mem_strn(line + head, (size_t)(colon - line) - head), why);
		}
		g->looked += n == strlen(SUITE_LOOKED) && strncmp(line, SUITE_LOOKED, n) == 0;
		line += n + (line[n] == '\n');
	}
}

/* The branches that no configuration took. */
static void add_branches(const struct limits_gaps *g, struct buf *out)
{
	size_t told = 0, more = 0;
	for (size_t i = 0; i < g->count; i++) {
		const struct limits_gap *x = &g->at[i];
		if (!is_branch(x->round) || (g->looked && x->configurations < g->looked))
			continue;
		if (told == BRANCHES_TOLD)
			more++;
		else
			buf_addf(out, "%s%s", told++ ? ", " : out->len ? "; branches (" : "branches (", x->why);
	}
	if (more)
		buf_addf(out, " and %zu more", more);
	if (told)
		buf_adds(out, ")");
}

char *limits_gaps_text(struct limits_gaps *g, size_t configurations, size_t extras)
{
	struct buf out = BUF_INIT;
	for (size_t i = 0; i < g->count; i++) {
		if (g->at[i].told || is_branch(g->at[i].round))
			continue;
		for (size_t k = i; k < g->count; k++) {
			struct limits_gap *x = &g->at[k];
			if (is_branch(x->round) || !same_but_for_numbers(x->why, g->at[i].why))
				continue;
			buf_addf(&out, "%s%s", k > i ? ", " : out.len ? "; " : "", x->round);
			if (x->configurations != configurations && x->configurations != extras)
				buf_addf(&out, " in %zu configuration%s", x->configurations, x->configurations == 1 ? "" : "s");
			x->told = true;
		}
		buf_addf(&out, " (%s)", g->at[i].why);
	}
	add_branches(g, &out);
	char *text = out.len ? buf_steal(&out) : NULL;
	buf_fini(&out);
	return text;
}

void limits_gaps_fini(struct limits_gaps *g)
{
	for (size_t i = 0; i < g->count; i++) {
		free(g->at[i].round);
		free(g->at[i].why);
	}
	free(g->at);
	*g = (struct limits_gaps){ .count = 0 };
}

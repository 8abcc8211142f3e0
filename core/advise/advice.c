/* advice: see advice.h. */
#include "core/advise/advice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/folder.h"
#include "base/mem.h"

enum { FILE_MAX = 64 << 10 };
/* A roof is near from here on; below it a kernel that could reach no other roof belongs to it all the same. */
#define NEAR 60.0
#define FAR 25.0
#define BEYOND 125.0 /* a cache answers: the ceiling of copies from memory does not bind */
#define LAUNCH 30.0  /* percent of the time */

const char *const advice_class_names[ADVICE_CLASSES + 1] = { "memory", "compute", "latency", "launch", NULL };

static const struct front_matter_key keys[] = {
	{ "class", FRONT_MATTER_LIST }, { "when", FRONT_MATTER_TEXT }, { "evidence", FRONT_MATTER_TEXT },
	{ "try", FRONT_MATTER_LIST },   { "gain", FRONT_MATTER_TEXT },
};

/* --- classes -------------------------------------------------------------------------------------------------------- */

enum advice_class advice_classify(const struct figures *f, char **ret_why)
{
	double pipe = figures_get(f, "pipe_percent"), copy = figures_get(f, "copy_percent"),
	       launch = figures_get(f, "launch_percent");
	double intensity = figures_get(f, "intensity"), ridge = figures_get(f, "ridge");
	*ret_why = NULL;
	if (launch >= LAUNCH) {
		*ret_why = mem_fmt("launches alone take %.0f %% of the time", launch);
		return ADVICE_LAUNCH;
	}
	if (isnan(pipe) && isnan(copy))
		return ADVICE_CLASSES;
	bool cached = copy > BEYOND;
	double most = fmax(pipe, copy);
	enum advice_class roof = pipe >= copy || isnan(copy) ? ADVICE_COMPUTE : ADVICE_MEMORY;
	if (!isnan(intensity) && !isnan(ridge))
		roof = intensity > ridge ? ADVICE_COMPUTE : ADVICE_MEMORY;
	struct buf why = BUF_INIT;
	if (!isnan(pipe))
		buf_addf(&why, "%.3g %% of the arithmetic ceiling", pipe);
	if (!isnan(copy))
		buf_addf(&why, "%s%.3g %% of the copy ceiling%s", why.len ? ", " : "", copy,
			 cached ? ", which does not bind it: a cache answers" : "");
	if (!isnan(intensity) && !isnan(ridge))
		buf_addf(&why, "; %.3g FLOP/byte, both roofs meet at %.3g", intensity, ridge);
	enum advice_class class = cached         ? (pipe >= FAR ? ADVICE_COMPUTE : ADVICE_LATENCY)
				  : most >= NEAR ? (pipe >= NEAR && (copy < NEAR || pipe >= copy) ? ADVICE_COMPUTE : ADVICE_MEMORY)
				  : most < FAR   ? ADVICE_LATENCY
						 : roof;
	*ret_why = buf_steal(&why);
	return class;
}

/* --- reading -------------------------------------------------------------------------------------------------------- */

static void advisor_fini(struct advisor *t)
{
	free(t->name);
	free(t->file);
	free(t->when);
	free(t->evidence);
	free(t->text);
	mem_free_texts(t->try, t->try_count);
	free(t->gain);
	expr_free(t->condition);
	expr_free(t->reckoned);
}

void advice_fini(struct advisors *t)
{
	for (size_t i = 0; i < t->count; i++)
		advisor_fini(&t->at[i]);
	free(t->at);
	*t = (struct advisors){ .count = 0 };
}

int advice_classes_read(const struct front_matter *m, const char *file, unsigned *ret_classes, struct err *e)
{
	char **names = NULL;
	size_t count = 0;
	unsigned classes = 0;
	int rc = 0;
	front_matter_list(m, "class", true, &names, &count);
	for (size_t i = 0; i < count && rc == 0; i++) {
		unsigned known = strcmp(names[i], "any") == 0 ? (1u << ADVICE_CLASSES) - 1 : 0;
		for (int c = 0; c < ADVICE_CLASSES; c++)
			known |= strcmp(names[i], advice_class_names[c]) == 0 ? 1u << c : 0;
		classes |= known;
		if (known == 0)
			rc = err_set(e, ERR_INPUT, "%s:%d: class: expected memory, compute, latency, launch or any, not \"%s\"",
				     file, front_matter_line_of(m, "class"), names[i]);
	}
	mem_free_texts(names, count);
	*ret_classes = classes;
	return rc;
}

static int read_expression(const struct advisor *t, const struct front_matter *m, const char *key, const char *text,
			   struct expr **ret, struct err *e)
{
	int rc = figures_parse(text, ret, e);
	if (rc < 0)
		err_wrap(e, "%s:%d: %s", t->file, front_matter_line_of(m, key), key);
	return rc;
}

static int read_expressions(struct advisor *t, const struct front_matter *m, struct err *e)
{
	t->when = mem_str(front_matter_value(m, "when"));
	t->gain = mem_str(front_matter_value(m, "gain"));
	if (!*t->when)
		return err_set(e, ERR_INPUT, "%s:1: when: is missing; expected a condition such as `spill_bytes > 0`", t->file);
	int rc = read_expression(t, m, "when", t->when, &t->condition, e);
	if (rc == 0 && *t->gain)
		rc = read_expression(t, m, "gain", t->gain, &t->reckoned, e);
	return rc;
}

/* {name}, {name%} or {limiter}: which figure (their number: the limiter), and where the text goes on; NULL: no figure is named
 * here. */
static const char *figure_at(const char *at, size_t *ret_figure, bool *ret_percent)
{
	size_t n = strcspn(at + 1, "}");
	if (*at != '{' || at[1 + n] != '}')
		return NULL;
	*ret_percent = n && at[n] == '%';
	if (strncmp(at, "{limiter}", n + 2) == 0) {
		*ret_figure = figures_known_count;
		return at + n + 2;
	}
	n -= *ret_percent;
	for (size_t i = 0; i < figures_known_count; i++)
		if (strlen(figures_known[i].name) == n && strncmp(figures_known[i].name, at + 1, n) == 0) {
			*ret_figure = i;
			return at + 2 + n + *ret_percent;
		}
	return NULL;
}

static int read_texts(struct advisor *t, const struct front_matter *m, struct err *e)
{
	size_t figure;
	bool percent;
	t->evidence = mem_str(front_matter_value(m, "evidence"));
	t->text = front_matter_collapse(m->body, strlen(m->body));
	front_matter_list(m, "try", true, &t->try, &t->try_count);
	if (!*t->evidence || !*t->text)
		return err_set(e, ERR_INPUT, "%s:1: expected a line evidence: and, behind the front matter, what to do", t->file);
	for (const char *at = t->evidence; (at = strchr(at, '{')) != NULL; at++)
		if (figure_at(at, &figure, &percent) == NULL)
			return err_set(e, ERR_INPUT, "%s:%d: evidence: there is no figure %.*s", t->file,
				       front_matter_line_of(m, "evidence"), (int)strcspn(at, "}") + 1, at);
	return 0;
}

static int read_advisor(const struct folder_file *file, struct advisors *to, struct err *e)
{
	struct buf text = BUF_INIT;
	struct front_matter m = { .body = "" };
	struct advisor t = { .name = mem_str(file->name), .file = mem_str(file->path) };
	int rc = buf_add_file(&text, t.file, FILE_MAX, e);
	if (rc >= 0)
		rc = front_matter_parse(t.file, buf_text(&text), keys, MEM_COUNT(keys), &m, e);
	if (rc == 0)
		rc = advice_classes_read(&m, t.file, &t.classes, e);
	if (rc == 0 && t.classes == 0)
		rc = err_set(e, ERR_INPUT, "%s:1: class: is missing; expected memory, compute, latency, launch or any", t.file);
	if (rc == 0)
		rc = read_expressions(&t, &m, e);
	if (rc == 0)
		rc = read_texts(&t, &m, e);
	front_matter_fini(&m);
	buf_fini(&text);
	if (rc < 0)
		advisor_fini(&t);
	else
		*MEM_PUSH(to->at, to->count) = t;
	return rc < 0 ? rc : 0;
}

int advice_read(const char *const *folders, size_t folder_count, struct advisors *ret_advisors, struct err *e)
{
	static const char *const endings[] = { ".md", NULL };
	struct advisors all = { .count = 0 };
	size_t count;
	struct folder_file *files = folder_list(folders, folder_count, endings, &count);
	int rc = 0;
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = read_advisor(&files[i], &all, e);
	folder_free(files, count);
	if (rc < 0)
		advice_fini(&all);
	else
		*ret_advisors = all;
	return rc;
}

/* --- asking --------------------------------------------------------------------------------------------------------- */

static char *fill_in(const char *evidence, const struct figures *f)
{
	struct buf out = BUF_INIT;
	for (const char *at = evidence; *at;) {
		size_t figure, plain = strcspn(at, "{");
		bool percent;
		buf_add(&out, at, plain);
		at += plain;
		const char *end = *at ? figure_at(at, &figure, &percent) : NULL;
		if (end == NULL)
			continue;
		at = end;
		if (figure == figures_known_count) {
			buf_adds(&out, f->limiter ? f->limiter : "what is not known");
			continue;
		}
		const char *unit = figures_known[figure].unit;
		double v = f->values[figure];
		bool shown = *unit && strcmp(unit, "share") != 0 && !percent;
		v *= percent ? 100 : 1;
		buf_addf(&out, fabs(v) < 1000 ? "%.3g%s%s" : "%.0f%s%s", v, percent ? " %" : shown ? " " : "", shown ? unit : "");
	}
	return buf_steal(&out);
}

static bool speaks(const struct advisor *t, const struct figures *f)
{
	struct value v = figures_evaluate(t->condition, f);
	return v.kind == VALUE_BOOL && v.b;
}

static double gain_of(const struct advisor *t, const struct figures *f)
{
	struct value v = t->reckoned ? figures_evaluate(t->reckoned, f) : value_of_int(1);
	double gain = v.kind == VALUE_FLOAT ? v.f : v.kind == VALUE_INT ? (double)v.i : 1;
	return gain >= 1 ? gain : 1; /* NaN: a figure is not there */
}

static int by_gain(const void *a, const void *b)
{
	const struct advice *x = a, *y = b;
	if (x->gain != y->gain)
		return x->gain > y->gain ? -1 : 1;
	return strcmp(x->tool, y->tool);
}

static char *join(char *const *names, size_t count)
{
	struct buf out = BUF_INIT;
	for (size_t i = 0; i < count; i++)
		buf_addf(&out, "%s%s", i ? ", " : "", names[i]);
	return count ? buf_steal(&out) : NULL;
}

void advice_ask(const struct advisors *t, const struct figures *f, enum advice_class class, struct advice **ret_advice,
		size_t *ret_count, char **ret_closed)
{
	struct buf closed = BUF_INIT;
	*ret_advice = NULL;
	*ret_count = 0;
	for (size_t i = 0; i < t->count; i++) {
		const struct advisor *x = &t->at[i];
		if (class != ADVICE_CLASSES && !(x->classes >> class & 1))
			continue;
		const char *lacks = figures_missing(x->condition, f);
		if (lacks)
			buf_addf(&closed, "%s%s (no %s)", closed.len ? ", " : "", x->name, lacks);
		else if (speaks(x, f))
			*MEM_PUSH(*ret_advice, *ret_count) = (struct advice){ .tool = mem_str(x->name),
									      .evidence = fill_in(x->evidence, f),
									      .text = mem_str(x->text),
									      .try = join(x->try, x->try_count),
									      .gain = gain_of(x, f) };
	}
	if (*ret_count)
		qsort(*ret_advice, *ret_count, sizeof **ret_advice, by_gain);
	*ret_closed = closed.len ? buf_steal(&closed) : NULL;
	buf_fini(&closed);
}

void advice_free(struct advice *take_at, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(take_at[i].tool);
		free(take_at[i].evidence);
		free(take_at[i].text);
		free(take_at[i].try);
	}
	free(take_at);
}

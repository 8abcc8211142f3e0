/* transformation: reads a transformation's file, front matter and passes, and answers small questions about it; see
 * transformation.h. */
#include "core/transform/transformation.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/front_matter.h"
#include "base/lex.h"
#include "base/markdown.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/transform/fits.h"

enum { TEXT_MAX = 16 << 10, SUMMARY_MAX = 72 };
#define AS_WRITTEN "As written" /* the title of a sentence's only pass */

static const struct front_matter_key keys[] = {
	{ "name", FRONT_MATTER_TEXT },  { "summary", FRONT_MATTER_TEXT },  { "backends", FRONT_MATTER_LIST },
	{ "after", FRONT_MATTER_LIST }, { "requires", FRONT_MATTER_LIST }, { "adds", FRONT_MATTER_MAP },
	{ "where", FRONT_MATTER_LIST }, { "drops", FRONT_MATTER_LIST },    { "fits", FRONT_MATTER_LIST },
};

static const char *const expect_names[] = {
	[TRANSFORMATION_NONE] = "none", [TRANSFORMATION_COMPILES] = "compiles", [TRANSFORMATION_VALID] = "valid"
};

static bool is_backend(const char *s)
{
	return strcmp(s, "cuda") == 0 || strcmp(s, "hip") == 0 || strcmp(s, "hlsl") == 0;
}

static bool is_name(const char *s)
{
	return *s && strlen(s) < 64 && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(s);
}

static int read_fits(struct transformation *t, const struct front_matter *m, const char *where, struct err *e)
{
	int field = front_matter_find(m, "fits"), at = field;
	front_matter_list(m, "fits", false, &t->fits, &t->fits_count);
	for (size_t i = 0; i < t->fits_count; i++) {
		if (i > 0 || !*m->lines[field].value)
			at = front_matter_next(m, field, at);
		if (fits_condition_check(t->fits[i], e) < 0)
			return err_wrap(e, "%s:%d: fits", where, m->lines[at].line);
	}
	return 0;
}

static int read_front_matter(struct transformation *t, const struct front_matter *m, const char *where, struct err *e)
{
	t->name = mem_str(front_matter_value(m, "name"));
	t->summary = mem_str(front_matter_value(m, "summary"));
	if (!is_name(t->name))
		return err_set(e, ERR_INPUT, "%s:1: name: expected lower-case letters, digits and '-' (at most 63), got \"%s\"",
			       where, t->name);
	if (!*t->summary)
		return err_set(e, ERR_INPUT, "%s:1: summary: expected one line about what the transformation does", where);
	front_matter_list(m, "backends", true, &t->backends, &t->backend_count);
	for (size_t i = 0; i < t->backend_count; i++) {
		if (!is_backend(t->backends[i]))
			return err_set(e, ERR_INPUT, "%s:%d: backends: expected cuda, hip or hlsl, not \"%s\"", where,
				       front_matter_line_of(m, "backends"), t->backends[i]);
	}
	int rc = read_fits(t, m, where, e);
	if (rc < 0)
		return rc;
	front_matter_list(m, "after", true, &t->after, &t->after_count);
	front_matter_list(m, "drops", true, &t->drops, &t->drop_count);
	front_matter_list(m, "requires", false, &t->requires, &t->requires_count);
	front_matter_list(m, "where", false, &t->where, &t->where_count);
	int adds = front_matter_find(m, "adds");
	for (int k = front_matter_next(m, adds, adds); k >= 0; k = front_matter_next(m, adds, k)) {
		if (!lex_is_name(m->lines[k].key))
			return err_set(e, ERR_INPUT, "%s:%d: adds: expected `NAME: values`, such as `TILE_K_SIZE: {8, 16}`", where,
				       m->lines[k].line);
		*MEM_PUSH(t->params, t->param_count) =
			(struct transformation_param){ .name = mem_str(m->lines[k].key), .values = mem_str(m->lines[k].value) };
	}
	return 0;
}

/* --- passes ------------------------------------------------------------------------------------------------------- */

struct reading {
	struct transformation *t;
	const char *where;
	int line;
	struct buf text; /* of the section that is open: intro, pass or step */
	bool directives; /* directly below a pass's heading */
};

static struct transformation_pass *pass_of(struct reading *r)
{
	return r->t->pass_count ? &r->t->passes[r->t->pass_count - 1] : NULL;
}

static struct transformation_step *step_of(struct reading *r)
{
	struct transformation_pass *p = pass_of(r);
	return p && p->step_count ? &p->steps[p->step_count - 1] : NULL;
}

/* Ends the open section: its text, without blank lines around it, goes where it belongs. */
static void close_section(struct reading *r)
{
	char **to = step_of(r) ? &step_of(r)->text : pass_of(r) ? &pass_of(r)->text : &r->t->intro;
	const char *s = buf_text(&r->text);
	s += strspn(s, "\r\n");
	size_t n = strlen(s);
	while (n && strchr(" \t\r\n", s[n - 1]))
		n--;
	free(*to);
	*to = n ? mem_fmt("%.*s\n", (int)n, s) : mem_str("");
	buf_clear(&r->text);
}

static int close_pass(struct reading *r, struct err *e)
{
	close_section(r);
	struct transformation_pass *p = pass_of(r);
	if (!p)
		return 0;
	if (!p->step_count)
		return err_set(e, ERR_INPUT,
			       "%s:%d: pass %zu has no step: expected at least one of `### device`, `### host`, `### macros`",
			       r->where, r->line, r->t->pass_count);
	for (size_t i = 0; i < p->step_count; i++) {
		if (!*p->steps[i].text && !p->steps[i].insert_count)
			return err_set(e, ERR_INPUT, "%s:%d: pass %zu, step %s has neither instructions nor code to insert",
				       r->where, r->line, r->t->pass_count, context_region_name(p->steps[i].region));
	}
	return 0;
}

static int open_pass(struct reading *r, const char *title, struct err *e)
{
	int rc = close_pass(r, e);
	if (rc < 0)
		return rc;
	char *end;
	unsigned long number = strtoul(title, &end, 10);
	if (end == title || number != r->t->pass_count + 1)
		return err_set(e, ERR_INPUT, "%s:%d: expected `## Pass %zu: title`", r->where, r->line, r->t->pass_count + 1);
	end += strspn(end, ": \t");
	*MEM_PUSH(r->t->passes, r->t->pass_count) = (struct transformation_pass){ .title = mem_strn(end, strcspn(end, "\r\n")),
										  .text = mem_str(""),
										  .expect = TRANSFORMATION_NONE };
	r->directives = true;
	return 0;
}

static int open_step(struct reading *r, const char *title, struct err *e)
{
	struct transformation_pass *p = pass_of(r);
	char *name = mem_strn(title, strcspn(title, " \t\r\n"));
	int region = context_region_parse(name);
	free(name);
	if (!p)
		return err_set(e, ERR_INPUT, "%s:%d: a step stands before the first `## Pass 1: title`", r->where, r->line);
	if (region < 0)
		return err_set(e, ERR_INPUT, "%s:%d: a heading `### …` inside a pass names a region: device, host or macros",
			       r->where, r->line);
	for (size_t i = 0; i < p->step_count; i++) {
		if (p->steps[i].region == (enum region)region)
			return err_set(e, ERR_INPUT, "%s:%d: pass %zu has two steps for %s; start a new pass", r->where, r->line,
				       r->t->pass_count, context_region_name((enum region)region));
	}
	close_section(r);
	p->steps[p->step_count++] = (struct transformation_step){ .region = (enum region)region, .text = mem_str("") };
	r->directives = false;
	return 0;
}

static int read_adds(struct reading *r, const char *value, struct err *e)
{
	struct transformation_pass *p = pass_of(r);
	while (*(value += strspn(value, ", "))) {
		size_t n = strcspn(value, ", "), i = 0;
		char *name = mem_strn(value, n);
		*MEM_PUSH(p->adds, p->add_count) = name;
		while (i < r->t->param_count && strcmp(r->t->params[i].name, name) != 0)
			i++;
		if (i == r->t->param_count)
			return err_set(e, ERR_INPUT, "%s:%d: adds: %s has no values in the front matter's `adds:`", r->where,
				       r->line, name);
		value += n;
	}
	return 0;
}

/* `key: value` directly below a pass's heading; 1 for any other line. */
static int read_directive(struct reading *r, const char *line, struct err *e)
{
	struct transformation_pass *p = pass_of(r);
	size_t key = strcspn(line, ":\n");
	if (line[key] != ':')
		return 1;
	const char *start = line + key + 1 + strspn(line + key + 1, " \t");
	size_t n = strcspn(start, "\r\n");
	while (n && (start[n - 1] == ' ' || start[n - 1] == '\t'))
		n--;
	char *value = mem_strn(start, n);
	int rc = 0;
	if (lex_is(line, key, "expect")) {
		size_t x = 0;
		while (x < MEM_COUNT(expect_names) && strcmp(expect_names[x], value) != 0)
			x++;
		if (x == MEM_COUNT(expect_names))
			rc = err_set(e, ERR_INPUT, "%s:%d: expect: none, compiles or valid, not \"%s\"", r->where, r->line, value);
		else
			p->expect = (enum transformation_expect)x;
	} else if (lex_is(line, key, "kernels") && strcmp(value, "may change") == 0) {
		p->may_drop_kernels = true;
	} else if (lex_is(line, key, "unchanged") && strcmp(value, "allowed") == 0) {
		p->may_keep = true;
	} else if (lex_is(line, key, "adds")) {
		rc = read_adds(r, value, e);
	} else {
		rc = 1;
	}
	free(value);
	return rc;
}

/* A fence ```WORD insert belongs to the open step; 1 for any other fence. */
static int read_insert(struct reading *r, const struct markdown_block *f, struct err *e)
{
	char *info = mem_strn(f->info, f->info_len);
	char *last = strrchr(info, ' ');
	int rc = 1;
	if (!last || strcmp(last + 1, "insert") != 0)
		goto out;
	struct transformation_step *step = step_of(r);
	if (!step || !f->closed) {
		rc = err_set(e, ERR_INPUT, "%s:%d: code to insert must be a closed fence inside a step", r->where, r->line);
		goto out;
	}
	info[strcspn(info, " ")] = '\0';
	bool any = strcmp(info, "macros") == 0 || strcmp(info, "lua") == 0;
	if (!any && !is_backend(info)) {
		rc = err_set(e, ERR_INPUT, "%s:%d: code to insert is marked by a backend, `lua` or `macros`, not \"%s\"", r->where,
			     r->line, info);
		goto out;
	}
	*MEM_PUSH(step->inserts, step->insert_count) =
		(struct transformation_insert){ .backend = mem_str(any ? "" : info), .code = markdown_body(f) };
	rc = 0;
out:
	free(info);
	return rc;
}

static int read_block(struct reading *r, const struct markdown_block *b, struct err *e)
{
	int rc = 1;
	r->line = b->line;
	if (markdown_is_heading(b, 2, "Pass ")) {
		rc = open_pass(r, b->info + 5, e);
	} else if (markdown_is_heading(b, 3, "") && pass_of(r)) {
		rc = open_step(r, b->info, e);
	} else if (b->kind == MARKDOWN_FENCE) {
		rc = read_insert(r, b, e);
	} else if (r->directives) {
		rc = read_directive(r, b->start, e);
		r->directives = rc == 0;
	}
	if (rc == 1)
		buf_add(&r->text, b->start, (size_t)(b->end - b->start));
	return rc < 0 ? rc : 0;
}

static int read_passes(struct transformation *t, const char *body, int line, const char *where, struct err *e)
{
	struct reading r = { .t = t, .where = where, .text = BUF_INIT };
	struct markdown m = { .at = body, .line = line, .lists = true };
	struct markdown_block b;
	int rc = 0;
	while (rc == 0 && markdown_next(&m, &b))
		rc = read_block(&r, &b, e);
	r.line = m.line;
	if (rc == 0)
		rc = close_pass(&r, e);
	buf_fini(&r.text);
	if (rc < 0)
		return rc;
	if (!t->pass_count)
		return err_set(e, ERR_INPUT, "%s: no `## Pass 1: title` was found", where);
	if (t->passes[t->pass_count - 1].expect != TRANSFORMATION_VALID)
		return err_set(e, ERR_INPUT, "%s: the last pass must say `expect: valid` below its heading", where);
	/* A parameter that no pass names enters at the first one. */
	for (size_t i = 0; i < t->param_count; i++) {
		bool placed = false;
		for (size_t p = 0; p < t->pass_count; p++) {
			for (size_t a = 0; a < t->passes[p].add_count; a++)
				placed |= strcmp(t->passes[p].adds[a], t->params[i].name) == 0;
		}
		if (!placed)
			*MEM_PUSH(t->passes[0].adds, t->passes[0].add_count) = mem_str(t->params[i].name);
	}
	return 0;
}

int transformation_parse(const char *text, const char *where, struct transformation **ret_t, struct err *e)
{
	struct front_matter m = { .body = "" };
	struct transformation *t = MEM_NEW(struct transformation);
	t->source = mem_str(text);
	t->hash = hash_text(text);
	int rc = front_matter_parse(where, text, keys, MEM_COUNT(keys), &m, e);
	if (rc == 0)
		rc = read_front_matter(t, &m, where, e);
	if (rc == 0)
		rc = read_passes(t, m.body, m.body_line, where, e);
	front_matter_fini(&m);
	if (rc < 0) {
		err_show_line(e, where, text);
		transformation_free(t);
		return rc;
	}
	*ret_t = t;
	return 0;
}

/* Whether the text has a heading of this level that starts with the words. */
static bool has_heading(const char *text, int level, const char *words)
{
	struct markdown m = { .at = text, .line = 1, .lists = true };
	struct markdown_block b;
	while (markdown_next(&m, &b))
		if (markdown_is_heading(&b, level, words))
			return true;
	return false;
}

int transformation_of_text(const char *text, struct transformation **ret_t, struct err *e)
{
	if (text[strspn(text, " \t\r\n")] == '\0')
		return err_set(e, ERR_INPUT,
			       "the text of the transformation is empty: say what to do, such as "
			       "\"unroll the inner loop by 4\"");
	if (strlen(text) > TEXT_MAX)
		return err_set(e, ERR_INPUT, "the text of the transformation has %zu bytes, at most %d are accepted", strlen(text),
			       TEXT_MAX);
	if (strncmp(text, "---\n", 4) == 0 || strncmp(text, "---\r\n", 5) == 0)
		return transformation_parse(text, "transformation text", ret_t, e);
	struct hash h = hash_text(text);
	const char *first = text + strspn(text, " \t\r\n#");
	char *summary = mem_strn(first, strcspn(first, "\r\n#"));
	struct buf file = BUF_INIT;
	utf8_cut(summary, SUMMARY_MAX);
	buf_addf(&file, "---\nname: text-%.12s\nsummary: %s\n---\n", h.hex, *summary ? summary : "free text");
	bool passes = has_heading(text, 2, "Pass "), steps = has_heading(text, 3, "");
	if (!passes)
		buf_adds(&file, "## Pass 1: " AS_WRITTEN "\nexpect: valid\n\n");
	if (!passes && !steps)
		buf_adds(&file, "### device\n");
	buf_adds(&file, text);
	buf_adds(&file, "\n");
	int rc = transformation_parse(buf_text(&file), "transformation text", ret_t, e);
	buf_fini(&file);
	free(summary);
	return rc;
}

bool transformation_is_sentence(const struct transformation *t)
{
	return t->pass_count == 1 && t->passes[0].step_count == 1 && t->passes[0].steps[0].region == REGION_DEVICE &&
	       strncmp(t->name, "text-", 5) == 0 && strcmp(t->passes[0].title, AS_WRITTEN) == 0;
}

/* The front matter's lines but `name:`, and the rest, behind a name of its own. */
static char *name_plan(const char *plan, const struct transformation *sentence)
{
	struct buf file = BUF_INIT;
	struct hash h = hash_text(plan);
	bool front = strncmp(plan, "---\n", 4) == 0;
	buf_addf(&file, "---\nname: plan-%.12s\n# asked for: %s\n", h.hex, sentence->summary);
	if (!front)
		buf_addf(&file, "summary: %s\n---\n", sentence->summary);
	const char *line = front ? plan + 4 : plan;
	for (; front && *line && strncmp(line, "---", 3) != 0; line += strcspn(line, "\n") + (strchr(line, '\n') != NULL))
		if (strncmp(line, "name:", 5) != 0)
			buf_addf(&file, "%.*s\n", (int)strcspn(line, "\n"), line);
	buf_adds(&file, line);
	return buf_steal(&file);
}

int transformation_of_plan(const char *plan, const struct transformation *sentence, struct transformation **ret_t, struct err *e)
{
	struct transformation *t = NULL;
	char *file = name_plan(plan + strspn(plan, " \t\r\n"), sentence);
	int rc = strlen(file) > TEXT_MAX ? err_set(e, ERR_INPUT, "the plan has more than %d bytes", TEXT_MAX)
					 : transformation_parse(file, "plan", &t, e);
	if (rc == 0 && t->after_count)
		rc = err_set(e, ERR_INPUT, "plan: after: a plan stands alone; leave it out");
	for (size_t i = 0; rc == 0 && i < t->requires_count; i++)
		if (fits_condition_check(t->requires[i], e) < 0) /* only facts of devices are among its words */
			rc = err_set(e, ERR_INPUT,
				     "plan: requires: %s: only a person may exclude input sizes; a plan must work for all",
				     t->requires[i]);
	free(file);
	if (rc < 0)
		transformation_free(t);
	else
		*ret_t = t;
	return rc;
}

static void step_fini(struct transformation_step *step)
{
	for (size_t i = 0; i < step->insert_count; i++) {
		free(step->inserts[i].backend);
		free(step->inserts[i].code);
	}
	free(step->inserts);
	free(step->text);
}

void transformation_free(struct transformation *t)
{
	if (!t)
		return;
	free(t->name);
	free(t->summary);
	mem_free_texts(t->backends, t->backend_count);
	mem_free_texts(t->after, t->after_count);
	mem_free_texts(t->fits, t->fits_count);
	mem_free_texts(t->requires, t->requires_count);
	mem_free_texts(t->where, t->where_count);
	mem_free_texts(t->drops, t->drop_count);
	for (size_t i = 0; i < t->param_count; i++) {
		free(t->params[i].name);
		free(t->params[i].values);
	}
	free(t->params);
	for (size_t p = 0; p < t->pass_count; p++) {
		struct transformation_pass *pass = &t->passes[p];
		for (size_t i = 0; i < pass->step_count; i++)
			step_fini(&pass->steps[i]);
		mem_free_texts(pass->adds, pass->add_count);
		free(pass->title);
		free(pass->text);
	}
	free(t->passes);
	free(t->intro);
	free(t->source);
	free(t);
}

size_t transformation_calls(const struct transformation *t, const char *backend)
{
	size_t calls = 0;
	for (size_t p = 0; p < t->pass_count; p++) {
		for (size_t s = 0; s < t->passes[p].step_count; s++) {
			char *text = transformation_text_for(t->passes[p].steps[s].text, backend);
			calls += text[strspn(text, " \t\r\n")] != '\0';
			free(text);
		}
	}
	return calls;
}

const char *transformation_insert_for(const struct transformation_step *step, const char *backend)
{
	for (size_t i = 0; i < step->insert_count; i++) {
		if (!*step->inserts[i].backend || strcmp(step->inserts[i].backend, backend) == 0)
			return step->inserts[i].code;
	}
	return NULL;
}

char *transformation_text_for(const char *text, const char *backend)
{
	struct buf out = BUF_INIT;
	struct markdown m = { .at = text, .line = 1, .lists = true };
	struct markdown_block b;
	bool ours = true;
	while (markdown_next(&m, &b)) {
		bool section = false;
		if (markdown_is_heading(&b, 4, "")) {
			char *title = mem_strn(b.info, strcspn(b.info, " \t\r\n"));
			section = is_backend(title);
			ours = !section || strcmp(title, backend) == 0;
			free(title);
		}
		if (ours && !section) /* the heading itself is for peakd */
			buf_add(&out, b.start, (size_t)(b.end - b.start));
	}
	return buf_steal(&out);
}

int transformation_check(const struct transformation *t, const char *backend, const char *const *applied, size_t applied_count,
			 struct err *e)
{
	bool ours = t->backend_count == 0;
	for (size_t i = 0; i < t->backend_count; i++)
		ours |= strcmp(t->backends[i], backend) == 0;
	if (!ours) {
		struct buf list = BUF_INIT;
		for (size_t i = 0; i < t->backend_count; i++)
			buf_addf(&list, "%s%s", i ? ", " : "", t->backends[i]);
		int rc = err_set(e, ERR_INPUT, "transformation %s is for %s, and the context's backend is %s", t->name,
				 buf_text(&list), backend);
		buf_fini(&list);
		return rc;
	}
	for (size_t i = 0; i < t->after_count; i++) {
		bool done = false;
		for (size_t j = 0; j < applied_count; j++)
			done |= strcmp(t->after[i], applied[j]) == 0;
		if (!done)
			return err_set(e, ERR_INPUT,
				       "transformation %s builds on %s, which was not applied to this context: apply %s first",
				       t->name, t->after[i], t->after[i]);
	}
	return 0;
}

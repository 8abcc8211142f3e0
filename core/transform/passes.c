/* passes: reads the body of a transformation's file line by line; see passes.h. */
#include "core/transform/passes.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/markdown.h"
#include "base/mem.h"

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

/* The collected text without blank lines around it; the collection starts anew. */
static char *take_text(struct reading *r)
{
	const char *s = buf_text(&r->text);
	s += strspn(s, "\r\n");
	size_t n = strlen(s);
	while (n && strchr(" \t\r\n", s[n - 1]))
		n--;
	char *text = n ? mem_fmt("%.*s\n", (int)n, s) : mem_str("");
	buf_clear(&r->text);
	return text;
}

/* Ends the open section: its text goes where it belongs. */
static void close_section(struct reading *r)
{
	char **to = step_of(r) ? &step_of(r)->text : pass_of(r) ? &pass_of(r)->text : &r->t->intro;
	free(*to);
	*to = take_text(r);
}

static int close_pass(struct reading *r, struct err *e)
{
	close_section(r);
	struct transformation_pass *p = pass_of(r);
	if (!p)
		return 0;
	if (!p->step_count)
		return err_set(e, ERR_INPUT,
			       "%s:%d: pass %zu has no step: at least one of `### device`, `### host`, `### macros` is "
			       "expected",
			       r->where, r->line, r->t->pass_count);
	for (size_t i = 0; i < p->step_count; i++) {
		if (!*p->steps[i].text && !p->steps[i].insert_count)
			return err_set(e, ERR_INPUT,
				       "%s:%d: pass %zu, step %s has neither instructions nor code to insert", r->where,
				       r->line, r->t->pass_count, context_region_name(p->steps[i].region));
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
		return err_set(e, ERR_INPUT, "%s:%d: expected `## Pass %zu: title`", r->where, r->line,
			       r->t->pass_count + 1);
	end += strspn(end, ": \t");
	*MEM_PUSH(r->t->passes, r->t->pass_count) = (struct transformation_pass){
		.title = mem_strn(end, strcspn(end, "\r\n")), .text = mem_str(""), .expect = TRANSFORMATION_NONE
	};
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
		return err_set(e, ERR_INPUT, "%s:%d: a step stands before the first `## Pass 1: title`", r->where,
			       r->line);
	if (region < 0)
		return err_set(e, ERR_INPUT,
			       "%s:%d: a heading `### …` inside a pass names a region: device, host or macros",
			       r->where, r->line);
	for (size_t i = 0; i < p->step_count; i++) {
		if (p->steps[i].region == (enum region)region)
			return err_set(e, ERR_INPUT, "%s:%d: pass %zu has two steps for %s; start a new pass", r->where,
				       r->line, r->t->pass_count, context_region_name((enum region)region));
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
			return err_set(e, ERR_INPUT, "%s:%d: adds: %s has no values in the front matter's `adds:`",
				       r->where, r->line, name);
		value += n;
	}
	return 0;
}

/* `key: value` directly below a pass's heading; 1 when the line is none. */
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
	if (key == 6 && memcmp(line, "expect", 6) == 0) {
		int x = TRANSFORMATION_NONE;
		while (x <= TRANSFORMATION_VALID &&
		       strcmp(transformation_expect_name((enum transformation_expect)x), value) != 0)
			x++;
		if (x > TRANSFORMATION_VALID)
			rc = err_set(e, ERR_INPUT, "%s:%d: expect: none, compiles or valid, not \"%s\"", r->where,
				     r->line, value);
		else
			p->expect = (enum transformation_expect)x;
	} else if (key == 7 && memcmp(line, "kernels", 7) == 0 && strcmp(value, "may change") == 0) {
		p->may_drop_kernels = true;
	} else if (key == 9 && memcmp(line, "unchanged", 9) == 0 && strcmp(value, "allowed") == 0) {
		p->may_keep = true;
	} else if (key == 4 && memcmp(line, "adds", 4) == 0) {
		rc = read_adds(r, value, e);
	} else {
		rc = 1;
	}
	free(value);
	return rc;
}

/* A fence ```WORD insert belongs to the open step. Returns 1 when it is none. */
static int read_insert(struct reading *r, const struct markdown_block *f, struct err *e)
{
	char *info = mem_strn(f->info, f->info_len);
	char *last = strrchr(info, ' ');
	int rc = 1;
	if (!last || strcmp(last + 1, "insert") != 0)
		goto out;
	struct transformation_step *step = step_of(r);
	if (!step || !f->closed) {
		rc = err_set(e, ERR_INPUT, "%s:%d: code to insert must be a closed fence inside a step", r->where,
			     r->line);
		goto out;
	}
	info[strcspn(info, " ")] = '\0';
	bool any = strcmp(info, "macros") == 0 || strcmp(info, "lua") == 0;
	if (!any && strcmp(info, "cuda") != 0 && strcmp(info, "hip") != 0 && strcmp(info, "hlsl") != 0) {
		rc = err_set(e, ERR_INPUT,
			     "%s:%d: code to insert is marked by a backend, `lua` or `macros`, not \"%s\"", r->where,
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

/* Every parameter enters at some pass: the first one unless a pass names it. */
static void place_params(struct transformation *t)
{
	for (size_t i = 0; i < t->param_count; i++) {
		bool placed = false;
		for (size_t p = 0; p < t->pass_count; p++) {
			for (size_t a = 0; a < t->passes[p].add_count; a++)
				placed |= strcmp(t->passes[p].adds[a], t->params[i].name) == 0;
		}
		if (!placed)
			*MEM_PUSH(t->passes[0].adds, t->passes[0].add_count) = mem_str(t->params[i].name);
	}
}

int passes_parse(struct transformation *t, const char *body, int line, const char *where, struct err *e)
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
	place_params(t);
	return 0;
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

void passes_fini(struct transformation *t)
{
	for (size_t p = 0; p < t->pass_count; p++) {
		struct transformation_pass *pass = &t->passes[p];
		for (size_t s = 0; s < pass->step_count; s++)
			step_fini(&pass->steps[s]);
		for (size_t a = 0; a < pass->add_count; a++)
			free(pass->adds[a]);
		free(pass->adds);
		free(pass->title);
		free(pass->text);
	}
	free(t->passes);
}

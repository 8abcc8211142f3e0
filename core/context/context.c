/* context: reads, identifies and edits kernel contexts; see context.h. */
#include "core/context/context.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/context/document.h"
#include "core/context/lift.h"

enum { FILE_MAX = 4 << 20 };

struct context {
	atomic_uint owners;
	char *file;
	struct document *doc;
	struct spec *spec;
	char *render;
	struct hash hash;
	struct lift *lift; /* NULL: it is not lifted */
};

static const char *const region_names[REGION_COUNT] = { "device", "host", "macros" };
static const enum document_part region_parts[REGION_COUNT] = { DOCUMENT_DEVICE, DOCUMENT_HOST, DOCUMENT_MACROS };

const char *context_region_name(enum region region)
{
	return region_names[region];
}

int context_region_parse(const char *name)
{
	for (int k = 0; k < REGION_COUNT; k++)
		if (strcmp(name, region_names[k]) == 0)
			return k;
	return -1;
}

/* Removes `library:` from a canonical text. What a context is compared with does not change what it computes, so adding
 * the field later must keep the hash. */
static void drop_library(char *canonical)
{
	char *end = strstr(canonical, "\n---\n"), *line = strstr(canonical, "\nlibrary:");
	if (line == NULL || end == NULL || line > end)
		return;
	char *next = strchr(line + 1, '\n');
	memmove(line, next, strlen(next) + 1);
}

/* --- making ------------------------------------------------------------------------------------------------------- */
static int from_document(const char *file, struct document *take_doc, struct context **ret_ctx, struct err *e)
{
	struct spec *spec = NULL;
	int rc = spec_new(file, &take_doc->front, &spec, e);
	if (rc < 0) {
		document_free(take_doc);
		return rc;
	}
	struct context *ctx = MEM_NEW(struct context);
	struct buf out = BUF_INIT;
	atomic_init(&ctx->owners, 1);
	ctx->file = mem_str(file);
	ctx->doc = take_doc;
	ctx->spec = spec;
	document_render(take_doc, spec->backend, &out);
	ctx->render = buf_steal(&out);
	char *canonical = context_canonical(ctx);
	drop_library(canonical);
	ctx->hash = hash_text(canonical);
	free(canonical);
	*ret_ctx = ctx;
	return 0;
}

int context_parse(const char *file_name, const char *text, struct context **ret_ctx, struct err *e)
{
	struct document *doc = NULL;
	int rc = document_parse(file_name, text, &doc, e);
	if (rc == 0)
		rc = from_document(file_name, doc, ret_ctx, e);
	if (rc < 0)
		err_show_line(e, file_name, text);
	return rc;
}

int context_load(const char *path, struct context **ret_ctx, struct err *e)
{
	struct buf text = BUF_INIT;
	int rc = buf_add_file(&text, path, FILE_MAX, e);
	if (rc == 0)
		rc = context_parse(path, buf_text(&text), ret_ctx, e);
	buf_fini(&text);
	return rc;
}

struct context *context_ref(const struct context *ctx)
{
	struct context *shared = (struct context *)ctx;
	atomic_fetch_add(&shared->owners, 1);
	return shared;
}

void context_free(struct context *ctx)
{
	if (ctx == NULL || atomic_fetch_sub(&ctx->owners, 1) > 1)
		return;
	free(ctx->file);
	document_free(ctx->doc);
	spec_free(ctx->spec);
	free(ctx->render);
	lift_free(ctx->lift);
	free(ctx);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */
const char *context_render(const struct context *ctx)
{
	return ctx->render;
}

char *context_canonical(const struct context *ctx)
{
	struct buf out = BUF_INIT;
	document_canonical(ctx->doc, ctx->spec->backend, &out);
	return buf_steal(&out);
}

const struct hash *context_hash(const struct context *ctx)
{
	return &ctx->hash;
}

const char *context_file(const struct context *ctx)
{
	return ctx->file;
}

const char *context_kernel(const struct context *ctx)
{
	return ctx->spec->kernel;
}

const char *context_backend(const struct context *ctx)
{
	return ctx->spec->backend;
}

const struct spec *context_spec(const struct context *ctx)
{
	return ctx->spec;
}

const char *context_region(const struct context *ctx, enum region region)
{
	const struct document_block *b = document_find(ctx->doc, region_parts[region]);
	return b ? b->text : "";
}

char *context_line(const struct context *ctx, const char *region, long line)
{
	int r = context_region_parse(region);
	const char *text = r < 0 || line < 1 ? NULL : context_region(ctx, (enum region)r);
	for (long k = 1; text && k < line; k++) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	if (text == NULL || *text == '\0')
		return NULL;
	text += strspn(text, " \t");
	return mem_strn(text, strcspn(text, "\n"));
}

const char *context_reference(const struct context *ctx)
{
	const struct document_block *b = document_find(ctx->doc, DOCUMENT_REFERENCE);
	return b && !b->python ? b->text : NULL;
}

const char *context_oracle(const struct context *ctx)
{
	const struct document_block *b = document_find(ctx->doc, DOCUMENT_REFERENCE);
	return b && b->python ? b->text : NULL;
}

/* --- changed copies ----------------------------------------------------------------------------------------------- */
int context_with_region(const struct context *ctx, enum region region, const char *text, struct context **ret_ctx, struct err *e)
{
	int rc = document_check(region_parts[region], text, e);
	if (rc < 0)
		return err_wrap(e, "%s", ctx->file);
	struct document *doc = document_copy(ctx->doc);
	document_set(doc, region_parts[region], text);
	return from_document(ctx->file, doc, ret_ctx, e);
}

int context_with_source(const struct context *ctx, const char *file_name, const char *text, struct context **ret_ctx, struct err *e)
{
	struct document *doc;
	bool entire;
	int rc = document_parse_part(file_name, text, ctx->doc, &doc, &entire, e);
	if (rc < 0)
		return rc;
	return entire ? context_parse(file_name, text, ret_ctx, e) : from_document(file_name, doc, ret_ctx, e);
}

int context_as_reference(const struct context *ctx, struct context **ret_ctx, struct err *e)
{
	const char *text = context_reference(ctx);
	if (text == NULL)
		return err_set(e, ERR_NOT_FOUND, "%s: the context has no reference fence", ctx->file);
	return context_with_region(ctx, REGION_DEVICE, text, ret_ctx, e);
}

int context_with_lift(const struct context *ctx, const char *device, const char *macros, struct lift *take_lift,
		      struct context **ret_ctx, struct err *e)
{
	struct document *doc = document_copy(ctx->doc);
	struct context *lifted;
	document_set(doc, DOCUMENT_DEVICE, device);
	document_set(doc, DOCUMENT_MACROS, macros);
	int rc = from_document(ctx->file, doc, &lifted, e);
	if (rc < 0) {
		lift_free(take_lift);
		return rc;
	}
	lifted->lift = take_lift;
	*ret_ctx = lifted;
	return 0;
}

const struct lift *context_lift(const struct context *ctx)
{
	return ctx->lift;
}

/* Whether an expression mentions a name. The text need not parse. */
static bool mentions(const char *text, const char *name)
{
	static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
	size_t n = strlen(name);
	while (*text) {
		text += strcspn(text, word);
		size_t len = strspn(text, word);
		if (len == n && strncmp(text, name, n) == 0)
			return true;
		text += len;
	}
	return false;
}

static bool mentions_tuning(const struct front_matter *f, const char *text)
{
	int tune = front_matter_find(f, "tune");
	for (int k = front_matter_next(f, tune, tune); k >= 0; k = front_matter_next(f, tune, k))
		if (mentions(text, f->lines[k].key))
			return true;
	return false;
}

/* The line of where: or requires: that reads `text`, -1 for none. */
static int find_item(const struct front_matter *f, const char *field, const char *text)
{
	char *same = front_matter_collapse(text, strlen(text));
	int at = front_matter_find(f, field), found = -1;
	if (at >= 0 && strcmp(f->lines[at].value, same) == 0)
		found = at;
	for (int k = front_matter_next(f, at, at); found < 0 && k >= 0; k = front_matter_next(f, at, k))
		if (strcmp(f->lines[k].value, same) == 0)
			found = k;
	free(same);
	return found;
}

static int drop_tuning(struct document *doc, const char *name, struct err *e)
{
	const struct front_matter *f = &doc->front;
	int tune = front_matter_find(f, "tune"), at = -1;
	for (int k = front_matter_next(f, tune, tune); k >= 0; k = front_matter_next(f, tune, k))
		if (strcmp(f->lines[k].key, name) == 0)
			at = k;
	if (at < 0)
		return err_set(e, ERR_NOT_FOUND, "tune: there is no tuning parameter %s to drop", name);
	document_drop_line(doc, at);
	for (;;) {
		int where = front_matter_find(f, "where"), hit = -1;
		if (where >= 0 && mentions(f->lines[where].value, name))
			hit = where;
		for (int k = front_matter_next(f, where, where); hit < 0 && k >= 0; k = front_matter_next(f, where, k))
			if (mentions(f->lines[k].value, name))
				hit = k;
		if (hit < 0)
			return 0;
		document_drop_line(doc, hit);
	}
}

static int apply(struct document *doc, const struct context_edit *edit, struct err *e)
{
	const char *text = edit->text ? edit->text : "";
	const struct front_matter *f = &doc->front;
	/* A newline or a comment sign would add further lines of front matter. */
	if (strpbrk(text, "\n\r#") || (edit->name && strpbrk(edit->name, "\n\r#: ")))
		return err_set(e, ERR_INPUT, "`%s`: expected one line without '#'", text);
	switch (edit->kind) {
	case CONTEXT_TUNE_SET: document_set_entry(doc, "tune", edit->name, text); return 0;
	case CONTEXT_TUNE_DROP: return drop_tuning(doc, edit->name, e);
	case CONTEXT_WHERE_ADD:
		if (!mentions_tuning(f, text))
			return err_set(
				e, ERR_INPUT,
				"where: `%s` mentions no tuning parameter; a condition on input sizes belongs under requires:",
				text);
		if (find_item(f, "where", text) < 0)
			document_add_item(doc, "where", text);
		return 0;
	case CONTEXT_WHERE_DROP:
		if (find_item(f, "where", text) < 0)
			return err_set(e, ERR_NOT_FOUND, "where: there is no constraint `%s`", text);
		if (!mentions_tuning(f, text))
			return err_set(e, ERR_INPUT,
				       "where: `%s` is a condition on input sizes alone; a transformation may not drop it", text);
		document_drop_line(doc, find_item(f, "where", text));
		return 0;
	case CONTEXT_REQUIRES_ADD:
		if (find_item(f, "requires", text) < 0)
			document_add_item(doc, "requires", text);
		return 0;
	}
	return 0;
}

int context_with_tuning(const struct context *ctx, const struct context_edit *edits, size_t count, struct context **ret_ctx,
			struct err *e)
{
	struct document *doc = document_copy(ctx->doc);
	for (size_t k = 0; k < count; k++) {
		int rc = apply(doc, &edits[k], e);
		if (rc < 0) {
			document_free(doc);
			return err_wrap(e, "%s", ctx->file);
		}
	}
	return from_document(ctx->file, doc, ret_ctx, e);
}

/* --- for the compiler --------------------------------------------------------------------------------------------- */
static void add_define(struct wire_define **defines, size_t *count, const struct param *p)
{
	struct buf value = BUF_INIT;
	param_value(p, &value);
	*MEM_PUSH(*defines, *count) = (struct wire_define){ .name = mem_str(p->name), .value = buf_steal(&value) };
}

struct wire_define *context_defines(const struct context *ctx, const struct params *params, size_t *ret_count)
{
	struct wire_define *defines = NULL;
	*ret_count = 0;
	for (size_t k = 0; k < ctx->spec->constant_count; k++) {
		const struct spec_const *c = &ctx->spec->constants[k];
		struct param p = { .name = c->name, .is_float = c->value.kind == VALUE_FLOAT };
		if (p.is_float)
			p.f = ctx->lift ? lift_constant(ctx->lift, c->value.f) : c->value.f;
		else
			p.i = c->value.i;
		add_define(&defines, ret_count, &p);
	}
	for (size_t k = 0; k < params->count; k++)
		if (params->at[k].tuning)
			add_define(&defines, ret_count, &params->at[k]);
	return defines;
}

void context_defines_free(struct wire_define *defines, size_t count)
{
	for (size_t k = 0; k < count; k++) {
		free(defines[k].name);
		free(defines[k].value);
	}
	free(defines);
}

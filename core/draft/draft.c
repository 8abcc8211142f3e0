/* draft: see draft.h. Launch by launch: what its arguments and its grid are called becomes the context's own names. */
#include "core/draft/draft.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "backends/dtype.h"
#include "base/mem.h"
#include "core/draft/expression.h"
#include "core/draft/source.h"

/* One entry of inputs:, or scratch. */
struct entry {
	char *name, *host;    /* in the context; in the host's code ("" for a number in the launch) */
	bool array, read, written, scratch, declared;
	int type;
	struct source_range value; /* of a scalar: its argument */
	char *line;           /* as it will stand below inputs: */
};

struct drafting {
	struct source source;
	const char *backend;
	struct expression_names names;
	struct entry *entries;
	size_t entry_count;
	struct buf tune, host;    /* entries of tune:, host code */
	char **dropped;           /* macros that became tuning parameters */
	size_t dropped_count;
	struct draft *out;
};

static void note(struct drafting *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(struct drafting *d, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	*MEM_PUSH(d->out->notes, d->out->note_count) = mem_fmtv(fmt, ap);
	va_end(ap);
}

static void question(struct drafting *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void question(struct drafting *d, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	*MEM_PUSH(d->out->questions, d->out->question_count) = mem_fmtv(fmt, ap);
	va_end(ap);
}

static struct entry *find(struct drafting *d, const char *name)
{
	for (size_t i = 0; i < d->entry_count; i++)
		if (strcmp(d->entries[i].name, name) == 0)
			return &d->entries[i];
	return NULL;
}

/* --- arguments become inputs ------------------------------------------------------------------------------------------------ */

/* A name that nothing has yet: two kernels may call different things alike. */
static char *free_name(struct drafting *d, const char *wanted)
{
	char *name = mem_str(wanted);
	for (int i = 2; find(d, name); i++) {
		free(name);
		name = mem_fmt("%s%d", wanted, i);
	}
	return name;
}

/* Parameter `p` gets the argument `arg`; *ret_text is what stands in the launch's list. */
static void take_argument(struct drafting *d, const struct source_param *p, struct source_range arg, char **ret_text)
{
	const struct tokens *t = &d->source.tokens;
	bool single = arg.to == arg.from + 1 && t->at[arg.from].kind == TOKEN_NAME;
	char *host = single ? token_text(&t->at[arg.from]) : mem_str("");
	const char *known = single ? expression_named(&d->names, host) : NULL;
	struct entry *x = known ? find(d, known) : NULL;
	if (x == NULL) {
		char *name = free_name(d, p->name);
		if (single)
			expression_name(&d->names, host, name);
		*MEM_PUSH(d->entries, d->entry_count) = (struct entry){ .name = name, .host = mem_str(host), .array = p->pointer, .type = p->type,
		                                                        .value = arg, .read = p->read && !p->written,
		                                                        .written = p->written };
		x = &d->entries[d->entry_count - 1];
		x->read |= p->read && p->written;
		if (p->type < 0)
			question(d, "%s: its type '%s' is none that contexts know: write the kernel with one that they do", name, p->type_text);
	} else {
		/* Read by a later kernel what an earlier one wrote first: a result on its way, unless the host fetches it. */
		x->scratch |= x->written && !x->read && p->read && !p->written;
		x->written |= p->written;
	}
	*ret_text = mem_str(x->name);
	free(host);
}

/* --- grids and blocks ------------------------------------------------------------------------------------------------------- */

/* The parts of a grid or block: of dim3 its arguments, else the one expression. */
static size_t parts_of(const struct drafting *d, struct source_range range, const struct tokens **ret_tokens, struct source_range parts[3])
{
	const struct tokens *t = &d->source.tokens;
	if (range.to == range.from + 1 && t->at[range.from].kind == TOKEN_NAME) {
		char *name = token_text(&t->at[range.from]);
		const struct source_variable *v = source_variable(&d->source, name);
		free(name);
		if (v && v->dim3) {
			range = v->value;
			t = source_tokens(&d->source, v);
		}
	} else if (range.to > range.from + 2 && token_is(&t->at[range.from], "dim3")) {
		range = (struct source_range){ range.from + 2, range.to - 1 };
	}
	size_t n = 0;
	for (size_t from = range.from; from < range.to && n < 3;) {
		size_t to = tokens_find(t, from, range.to, ",");
		parts[n++] = (struct source_range){ from, to };
		from = to + 1;
	}
	*ret_tokens = t;
	return n;
}

static bool has_tuning(const struct drafting *d, const char *name)
{
	char *line = mem_fmt("  %s: ", name);
	bool there = strstr(buf_text(&d->tune), line) != NULL;
	free(line);
	return there;
}

/* `block.x` in a grid is that block's own size. */
static void name_member(struct drafting *d, struct source_range block, size_t axis, const char *name)
{
	const struct token *t = &d->source.tokens.at[block.from];
	if (block.to != block.from + 1)
		return;
	char *member = mem_fmt("%.*s.%c", (int)t->len, t->at, "xyz"[axis]);
	expression_name(&d->names, member, name);
	free(member);
}

/* One dimension of a block: a #define keeps its name, everything else becomes BX, BY or BZ. */
static void block_part(struct drafting *d, const struct source_launch *launch, const struct tokens *t, struct source_range part, size_t axis,
                       struct buf *out)
{
	static const char *const names[] = { "BX", "BY", "BZ" };
	struct value value;
	int64_t whole;
	bool single = part.to == part.from + 1 && t->at[part.from].kind == TOKEN_NAME;
	char *host = single ? token_text(&t->at[part.from]) : mem_str("");
	const struct source_variable *v = single ? source_variable(&d->source, host) : NULL;
	bool macro = v && source_tokens(&d->source, v) == &d->source.defines;
	const char *name = macro ? host : names[axis];
	if (!expression_value(&d->source, t, part, &value) || !value_int(value, &whole)) {
		question(d, "the size of a block of %s is no constant here: give the kernel's launch with numbers",
		         d->source.kernels[launch->kernel].name);
	} else if (whole == 1 && !macro) {
		buf_adds(out, "1");
		name_member(d, launch->block, axis, "1");
	} else {
		if (!has_tuning(d, name))
			buf_addf(&d->tune, "  %s: {%lld}\n", name, (long long)whole);
		if (single)
			expression_name(&d->names, host, name);
		if (macro)
			*MEM_PUSH(d->dropped, d->dropped_count) = mem_str(host);
		name_member(d, launch->block, axis, name);
		buf_adds(out, name);
	}
	free(host);
}

static void write_block(struct drafting *d, const struct source_launch *launch, struct buf *out)
{
	const struct tokens *t;
	struct source_range parts[3];
	size_t n = parts_of(d, launch->block, &t, parts);
	buf_adds(out, "{");
	for (size_t i = 0; i < n; i++) {
		buf_adds(out, i ? ", " : "");
		block_part(d, launch, t, parts[i], i, out);
	}
	buf_adds(out, "}");
}

static void write_grid(struct drafting *d, const struct source_launch *launch, struct buf *out)
{
	const struct tokens *t;
	struct source_range parts[3];
	size_t n = parts_of(d, launch->grid, &t, parts);
	buf_adds(out, "{");
	for (size_t i = 0; i < n; i++) {
		char *unknown = NULL;
		buf_adds(out, i ? ", " : "");
		if (!expression_lua(&d->source, t, parts[i], &d->names, out, &unknown))
			question(d, "the grid of %s mentions '%s', which the file does not explain: give the kernel's launch with sizes and numbers",
			         d->source.kernels[launch->kernel].name, unknown ? unknown : "?");
		free(unknown);
	}
	buf_adds(out, "}");
}

static void write_launch(struct drafting *d, const struct source_launch *launch)
{
	const struct source_kernel *k = &d->source.kernels[launch->kernel];
	const struct tokens *t = &d->source.tokens;
	struct buf args = BUF_INIT, block = BUF_INIT;
	size_t n = 0;
	struct value shared;
	for (size_t from = launch->args.from; from < launch->args.to && n < k->param_count; n++) {
		size_t to = tokens_find(t, from, launch->args.to, ",");
		char *text;
		take_argument(d, &k->params[n], (struct source_range){ from, to }, &text);
		buf_addf(&args, "%s%s", n ? ", " : "", text);
		free(text);
		from = to + 1;
	}
	if (n != k->param_count)
		question(d, "the launch of %s has %zu arguments, and the kernel takes %zu", k->name, n, k->param_count);
	write_block(d, launch, &block);
	buf_addf(&d->host, "launch(\"%s\", ", k->name);
	write_grid(d, launch, &d->host);
	buf_addf(&d->host, ", %s, {%s}", buf_text(&block), buf_text(&args));
	if (launch->shared.to > launch->shared.from &&
	    !(expression_value(&d->source, t, launch->shared, &shared) && value_double(shared) == 0)) {
		buf_adds(&d->host, ", {shared = ");
		if (!expression_lua(&d->source, t, launch->shared, &d->names, &d->host, NULL))
			question(d, "the shared memory of %s is not explained by the file", k->name);
		buf_adds(&d->host, "}");
	}
	buf_adds(&d->host, ")\n");
	buf_fini(&args);
	buf_fini(&block);
}

/* A kernel that the file does not launch: its parameters are inputs, the rest is asked for. */
static void write_unlaunched(struct drafting *d)
{
	for (size_t i = 0; i < d->source.kernels[0].param_count; i++) {
		const struct source_param *p = &d->source.kernels[0].params[i];
		*MEM_PUSH(d->entries, d->entry_count) =
			(struct entry){ .name = mem_str(p->name), .host = mem_str(p->name), .array = p->pointer, .type = p->type,
			                .read = p->read, .written = p->written };
		expression_name(&d->names, p->name, p->name);
	}
	question(d, "the file does not launch %s: add its launch, %s<<<grid, block>>>(…), to the file", d->source.kernels[0].name,
	         d->source.kernels[0].name);
}

/* --- inputs ----------------------------------------------------------------------------------------------------------------- */

static void scalar_line(struct drafting *d, struct entry *x)
{
	const char *type = x->type == DTYPE_I32 ? "int" : dtype_name((enum dtype)x->type);
	struct value value;
	if (x->value.to > x->value.from && expression_value(&d->source, &d->source.tokens, x->value, &value))
		x->line = mem_fmt("  %s: %s = %.17g\n", x->name, type, value_double(value));
	else
		question(d, "%s: which values? The file does not say: declare \"%s: %s = {1024, 2048}\"", x->name, x->name, type);
}

/* The bytes of an allocation: through a variable (`size_t bytes = …`) where that is all that stands there. */
static struct source_range malloc_bytes(const struct drafting *d, const struct source_buffer *b, const struct tokens **ret_tokens)
{
	struct source_range range = b->bytes;
	*ret_tokens = &d->source.tokens;
	if (range.to != range.from + 1 || (*ret_tokens)->at[range.from].kind != TOKEN_NAME)
		return range;
	char *name = token_text(&(*ret_tokens)->at[range.from]);
	const struct source_variable *v = source_variable(&d->source, name);
	free(name);
	if (v == NULL || v->dim3)
		return range;
	*ret_tokens = source_tokens(&d->source, v);
	return v->value;
}

/* A factor that is the size of an element: `sizeof(float)`, or 4. */
static bool is_element(const struct drafting *d, const struct tokens *t, struct source_range factor, const struct entry *x)
{
	struct value v;
	return token_is(&t->at[factor.from], "sizeof") ||
	       (expression_value(&d->source, t, factor, &v) && value_double(v) == (double)dtype_size((enum dtype)x->type));
}

/* "n, m" of n * m * sizeof(float): a product's factors are extents, the size of an element is left out. False when it cannot be read. */
static bool extents(struct drafting *d, const struct entry *x, struct buf *out)
{
	const struct source_buffer *b = source_buffer(&d->source, x->host);
	const struct tokens *t;
	if (b == NULL)
		return false;
	struct source_range bytes = malloc_bytes(d, b, &t);
	bool sized = dtype_size((enum dtype)x->type) == 1;
	for (size_t from = bytes.from; from < bytes.to;) {
		struct source_range factor = { from, tokens_find(t, from, bytes.to, "*") };
		from = factor.to + 1;
		if (!sized && is_element(d, t, factor, x)) {
			sized = true;
			continue;
		}
		buf_adds(out, out->len ? ", " : "");
		if (!expression_lua(&d->source, t, factor, &d->names, out, NULL))
			return false;
	}
	return out->len > 0 && sized;
}

static void array_line(struct drafting *d, struct entry *x)
{
	struct buf size = BUF_INIT;
	const char *type = dtype_name((enum dtype)x->type);
	bool known = extents(d, x, &size);
	if (!known && !x->scratch)
		question(d, "%s: how many elements? The file does not say: declare \"%s: %s%s[n]\" with its extents", x->name, x->name,
		         x->written ? x->read ? "inout " : "out " : "", type);
	else if (!known)
		question(d, "%s: how many elements has this intermediate result? Allocate it in the file: cudaMalloc(&%s, …)", x->name, x->host);
	else if (x->scratch)
		x->line = mem_fmt("local %s = alloc({\"%s\", %s}, \"%s\")\n", x->name, type, buf_text(&size), x->name);
	else
		x->line = mem_fmt("  %s: %s%s[%s]%s\n", x->name, x->written ? x->read ? "inout " : "out " : "", type, buf_text(&size),
		                  x->written && !x->read ? "" : " = random");
	if (x->line && x->written && x->read && !x->scratch)
		note(d, "%s is read and written: inout; if a kernel only writes it, declare it out", x->name);
	buf_fini(&size);
}

/* "NAME: …": the entry that it is about, or NULL. */
static struct entry *declared_entry(struct drafting *d, const char *line)
{
	size_t n = strcspn(line, ": \t");
	char *name = mem_strn(line, n);
	struct entry *x = find(d, name);
	free(name);
	return x;
}

static int take_declared(struct drafting *d, const char *const *declared, size_t count, struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		const char *line = declared[i] + strspn(declared[i], " \t");
		struct entry *x = declared_entry(d, line);
		if (x == NULL || strchr(line, ':') == NULL || strchr(line, '\n'))
			return err_set(e, ERR_INPUT, "\"%s\" is no declaration of something that a kernel takes: expected NAME: … as below inputs:", line);
		free(x->line);
		x->line = mem_fmt("  %s\n", line);
		x->declared = true;
		x->scratch = false;
	}
	return 0;
}

/* An array that the host fetches is a result, whoever else reads it. */
static bool is_fetched(const struct drafting *d, const char *host)
{
	const struct tokens *t = &d->source.tokens;
	for (size_t i = 0; i + 1 < t->count; i++) {
		if (!token_is(&t->at[i], "cudaMemcpy") && !token_is(&t->at[i], "hipMemcpy"))
			continue;
		size_t close = tokens_close(t, i + 1, t->count) - 1, comma = tokens_find(t, i + 2, close, ",");
		if (comma + 1 < close && token_is(&t->at[comma + 1], host))
			return true;
	}
	return false;
}

/* --- the whole -------------------------------------------------------------------------------------------------------------- */

/* Device code without the #define lines of what became tuning parameters. */
static void write_device(struct drafting *d, struct buf *out)
{
	for (const char *line = buf_text(&d->source.device); *line;) {
		size_t n = strcspn(line, "\n") + 1;
		bool drop = false;
		for (size_t i = 0; i < d->dropped_count; i++) {
			const char *at = line + strspn(line, "# \t");
			size_t word = strlen(d->dropped[i]);
			if (*line == '#' && strncmp(at, "define", 6) == 0) {
				at += 6 + strspn(at + 6, " \t");
				drop |= strncmp(at, d->dropped[i], word) == 0 && strchr(" \t", at[word]) != NULL;
			}
		}
		if (!drop)
			buf_add(out, line, n);
		line += n;
	}
}

static void write_context(struct drafting *d, struct buf *out)
{
	buf_addf(out, "---\nkernel: %s\nbackend: %s\ninputs:\n", d->source.kernels[0].name, d->backend);
	for (int arrays = 0; arrays < 2; arrays++)
		for (size_t i = 0; i < d->entry_count; i++)
			if (d->entries[i].line && d->entries[i].array == arrays && !d->entries[i].scratch)
				buf_adds(out, d->entries[i].line);
	if (d->tune.len)
		buf_addf(out, "tune:\n%s", buf_text(&d->tune));
	buf_addf(out, "---\n```%s\n", d->backend);
	write_device(d, out);
	buf_adds(out, "```\n```macros\n```\n```lua host\n");
	for (size_t i = 0; i < d->entry_count; i++)
		if (d->entries[i].scratch && d->entries[i].line)
			buf_adds(out, d->entries[i].line);
	buf_addf(out, "%s```\n", buf_text(&d->host));
}

static int make(struct drafting *d, const char *const *declared, size_t count, struct err *e)
{
	struct buf text = BUF_INIT;
	for (size_t i = 0; i < d->source.launch_count; i++)
		write_launch(d, &d->source.launches[i]);
	if (d->source.launch_count == 0)
		write_unlaunched(d);
	for (size_t i = 0; i < d->entry_count; i++)
		d->entries[i].scratch = d->entries[i].scratch && !is_fetched(d, d->entries[i].host);
	int rc = take_declared(d, declared, count, e);
	for (size_t i = 0; i < d->entry_count && rc == 0; i++) {
		if (d->entries[i].declared || d->entries[i].type < 0)
			continue;
		if (d->entries[i].array)
			array_line(d, &d->entries[i]);
		else
			scalar_line(d, &d->entries[i]);
	}
	if (rc < 0)
		return rc;
	if (d->tune.len)
		note(d, "tuning parameters have the file's values alone: widen them where the kernel works for others");
	note(d, "inputs are random: say = zeros, ones, normal or random(lo, hi) where that does not suit; flops: and bytes: give rates");
	write_context(d, &text);
	d->out->text = buf_steal(&text);
	return 0;
}

int draft_make(const char *source, const char *backend, const char *const *declared, size_t declared_count, struct draft *ret_draft,
               struct err *e)
{
	struct drafting d = { .backend = backend, .tune = BUF_INIT, .host = BUF_INIT, .out = ret_draft };
	*ret_draft = (struct draft){ 0 };
	int rc = source_read(source, &d.source, e);
	if (rc == 0) {
		rc = make(&d, declared, declared_count, e);
		source_fini(&d.source);
	}
	for (size_t i = 0; i < d.entry_count; i++) {
		free(d.entries[i].name);
		free(d.entries[i].host);
		free(d.entries[i].line);
	}
	free(d.entries);
	for (size_t i = 0; i < d.dropped_count; i++)
		free(d.dropped[i]);
	free(d.dropped);
	expression_names_fini(&d.names);
	buf_fini(&d.tune);
	buf_fini(&d.host);
	if (rc < 0)
		draft_fini(ret_draft);
	return rc;
}

void draft_fini(struct draft *d)
{
	for (size_t i = 0; i < d->question_count; i++)
		free(d->questions[i]);
	for (size_t i = 0; i < d->note_count; i++)
		free(d->notes[i]);
	free(d->questions);
	free(d->notes);
	free(d->text);
	*d = (struct draft){ 0 };
}

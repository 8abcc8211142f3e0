/* inputs: see inputs.h. */
#include "core/problems/inputs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "backends/wire/dtype.h"
#include "base/mem.h"

/* --- what is declared under the host's names -------------------------------------------------------------------------------- */

static bool is_parameter(const struct source *s, const char *name)
{
	for (size_t k = 0; k < s->kernel_count; k++)
		for (size_t p = 0; p < s->kernels[k].param_count; p++)
			if (strcmp(s->kernels[k].params[p].name, name) == 0)
				return true;
	return false;
}

/* A name in the file's text outside of its kernels. */
static bool is_host_name(const struct source *s, const char *name)
{
	for (size_t i = 0; i < s->tokens.count; i++)
		if (s->tokens.at[i].kind == TOKEN_NAME && token_is(&s->tokens.at[i], name) && !source_in_kernel(s, i))
			return true;
	return source_variable(s, name) != NULL;
}

/* "NAME: int = …" and "NAME: out f32[…]" begin with a role or a type; what stands below tune: does not. */
static bool has_type(const char *line)
{
	const char *at = strchr(line, ':') + 1;
	char word[16];
	do {
		size_t n = 0;
		at += strspn(at, " \t");
		while (isalnum((unsigned char)at[n]) && n + 1 < sizeof word)
			n++;
		memcpy(word, at, n);
		word[n] = '\0';
		at += n;
	} while (strcmp(word, "out") == 0 || strcmp(word, "inout") == 0);
	return dtype_parse(word) >= 0;
}

void inputs_name(struct drafting *d)
{
	for (size_t i = 0; i < d->declared.count && d->source.launch_count; i++) {
		const struct declared_line *x = &d->declared.at[i];
		if (x->kind != DECLARED_ENTRY || !has_type(x->line) || is_parameter(&d->source, x->name) || !is_host_name(&d->source, x->name))
			continue;
		*MEM_PUSH(d->entries, d->entry_count) =
			(struct drafting_entry){ .name = mem_str(x->name), .host = mem_str(x->name), .array = strchr(x->line, '[') != NULL,
			                         .type_text = mem_str("") };
		expression_name(&d->names, x->name, x->name);
	}
}

/* --- scalars ---------------------------------------------------------------------------------------------------------------- */

/* The shortest digits that read back as the same number of the type. */
static char *digits(double value, bool single)
{
	for (int n = 1;; n++) {
		char *text = mem_fmt("%.*g", n, value);
		double back = strtod(text, NULL);
		if (n == 17 || (single ? (float)back == (float)value : back == value))
			return text;
		free(text);
	}
}

static bool is_declared(const struct drafting *d, const char *name)
{
	for (size_t i = 0; i < d->declared.count; i++)
		if (d->declared.at[i].kind == DECLARED_ENTRY && strcmp(d->declared.at[i].name, name) == 0)
			return true;
	return false;
}

/* `int n = rows * cols;` with `cols` a constant is "rows*512": whole numbers that the file makes of other scalars. `all`: of any that it leaves
 * open, not only of those that were declared. False when it makes it of something else; `out` then has no meaning. */
static bool derived(const struct drafting *d, const struct drafting_entry *x, bool all, struct buf *out)
{
	const struct source_variable *v = *x->host ? source_variable(&d->source, x->host) : NULL;
	struct expression_names others = { NULL, 0 };
	if (v == NULL || v->dim3 || dtype_is_float((enum dtype)x->type))
		return false;
	for (size_t i = 0; i < d->names.count; i++) {
		struct drafting_entry *other = drafting_entry((struct drafting *)d, d->names.at[i].context);
		struct value ignored;
		if (other && other != x && !other->array && (is_declared(d, other->name) || (all && !drafting_own_value(d, other, &ignored))))
			expression_name(&others, d->names.at[i].host, other->name);
	}
	bool good = others.count && expression_lua(&d->source, source_tokens(&d->source, v), v->value, &others, out, NULL);
	expression_names_fini(&others);
	return good && strchr(buf_text(out), '.') == NULL; /* no arithmetic in fractions, whose division is another one */
}

static void scalar_line(struct drafting *d, struct drafting_entry *x)
{
	struct buf made = BUF_INIT, open = BUF_INIT;
	const char *type = x->type == DTYPE_I32 ? "int" : dtype_name((enum dtype)x->type);
	struct value value;
	if (x->value.to > x->value.from && drafting_own_value(d, x, &value)) {
		char *text = digits(value_double(value), x->type == DTYPE_F32);
		x->line = mem_fmt("  %s: %s = %s\n", x->name, type, text);
		free(text);
	} else if (derived(d, x, false, &made)) {
		x->line = mem_fmt("  %s: %s = %s\n", x->name, type, buf_text(&made));
		drafting_note(d, "%s is made as in the file: %s", x->name, buf_text(&made));
	} else if (derived(d, x, true, &open)) {
		drafting_note(d, "%s will be made as in the file: %s", x->name, buf_text(&open)); /* once those are known, which are asked for */
	} else {
		drafting_question(d, "%s: which values? The file does not say: declare \"%s: %s = {1024, 2048}\"", x->name, x->name, type);
	}
	buf_fini(&made);
	buf_fini(&open);
}

/* --- arrays ----------------------------------------------------------------------------------------------------------------- */

struct source_range inputs_bytes(const struct source *s, const struct source_buffer *b, const struct tokens **ret_tokens)
{
	struct source_range range = b->bytes;
	*ret_tokens = &s->tokens;
	if (range.to != range.from + 1 || (*ret_tokens)->at[range.from].kind != TOKEN_NAME)
		return range;
	char *name = token_text(&(*ret_tokens)->at[range.from]);
	const struct source_variable *v = source_variable(s, name);
	free(name);
	if (v == NULL || v->dim3)
		return range;
	*ret_tokens = source_tokens(s, v);
	return v->value;
}

/* A factor that is the size of an element: `sizeof(float)`, or 4. */
static bool is_element(const struct drafting *d, const struct tokens *t, struct source_range factor, const struct drafting_entry *x)
{
	struct value v;
	return token_is(&t->at[factor.from], "sizeof") ||
	       (expression_value(&d->source, t, factor, NULL, &v) && value_double(v) == (double)dtype_size((enum dtype)x->type));
}

/* "n, m" of n * m * sizeof(float): a product's factors are extents, the size of an element is left out. False when it cannot be read. */
static bool extents(struct drafting *d, const struct drafting_entry *x, struct buf *out)
{
	const struct source_buffer *b = source_buffer(&d->source, x->host);
	const struct tokens *t;
	if (b == NULL)
		return false;
	struct source_range bytes = inputs_bytes(&d->source, b, &t);
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

/* A role that cannot be seen is asked for, with the extents where they are known (else NULL). */
static void ask_role(struct drafting *d, const struct drafting_entry *x, const char *type, const char *known)
{
	const char *n = x->name, *size = known ? known : "n";
	drafting_question(d, "%s: %sis it read, written or both? A kernel hands it on: declare \"%s: %s[%s] = random\", \"%s: out %s[%s]\" or "
	                  "\"%s: inout %s[%s] = random\"", n, known ? "" : "how many elements, and ", n, type, size, n, type, size, n, type, size);
}

static void ask_extents(struct drafting *d, const struct drafting_entry *x, const char *role, const char *type)
{
	if (x->scratch)
		drafting_question(d, "%s: how many elements has this intermediate result? Allocate it in the file, cudaMalloc(&%s, …), or declare "
		                  "\"local %s = alloc({\"%s\", n}, \"%s\")\"", x->name, x->host, x->name, type, x->name);
	else
		drafting_question(d, "%s: how many elements? The file does not say: declare \"%s: %s%s[n]\" with its extents", x->name, x->name,
		                  role, type);
}

static void array_line(struct drafting *d, struct drafting_entry *x)
{
	struct buf size = BUF_INIT;
	const char *type = dtype_name((enum dtype)x->type), *role = x->written ? x->read ? "inout " : "out " : "";
	const char *local = x->scratch ? declared_take(&d->declared, DECLARED_LOCAL, x->name) : NULL;
	if (local) {
		x->line = mem_fmt("%s\n", local);
	} else if (!extents(d, x, &size)) {
		if (x->unsure && !x->written && !x->scratch)
			ask_role(d, x, type, NULL);
		else
			ask_extents(d, x, role, type);
	} else if (x->scratch) {
		x->line = mem_fmt("local %s = alloc({\"%s\", %s}, \"%s\")\n", x->name, type, buf_text(&size), x->name);
	} else if (x->unsure && !x->written) {
		ask_role(d, x, type, buf_text(&size));
	} else {
		x->line = mem_fmt("  %s: %s%s[%s]%s\n", x->name, role, type, buf_text(&size), x->written && !x->read ? "" : " = random");
		if (x->written && x->read)
			drafting_note(d, "%s is read and written: inout; if a kernel only writes it, declare it out", x->name);
	}
	buf_fini(&size);
}

/* --- the whole -------------------------------------------------------------------------------------------------------------- */

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

void inputs_write(struct drafting *d)
{
	for (size_t i = 0; i < d->entry_count; i++) {
		struct drafting_entry *x = &d->entries[i];
		const char *line = declared_take(&d->declared, DECLARED_ENTRY, x->name);
		x->scratch = x->scratch && line == NULL && !is_fetched(d, x->host);
		if (line) {
			x->line = mem_fmt("  %s\n", line);
			x->declared = true;
		} else if (x->type < 0) {
			drafting_question(d, "%s: its type '%s' is none that contexts know: declare it with what it is made of, \"%s: %s\", or write the "
			                  "kernel with a type that they know", x->name, x->type_text, x->name, x->array ? "f32[…]" : "f32 = …");
		} else if (x->array) {
			array_line(d, x);
		} else {
			scalar_line(d, x);
		}
	}
}

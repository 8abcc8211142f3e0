/* draft_inputs: what stands under inputs:, and scratch memory. See drafting.h. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "backends/wire/dtype.h"
#include "base/mem.h"
#include "core/problems/drafting.h"

/* --- declarations under the host's names   -------------------------------------------------------------------------------- */

static bool is_parameter(const struct source *s, const char *name)
{
	for (size_t k = 0; k < s->kernel_count; k++)
		for (size_t p = 0; p < s->kernels[k].param_count; p++)
			if (strcmp(s->kernels[k].params[p].name, name) == 0)
				return true;
	return false;
}

/* True for a name that the file uses outside of its kernels. */
static bool is_host_name(const struct source *s, const char *name)
{
	for (size_t i = 0; i < s->tokens.count; i++)
		if (s->tokens.at[i].kind == TOKEN_NAME && draft_token_is(&s->tokens.at[i], name) && !draft_source_in_kernel(s, i))
			return true;
	return draft_source_variable(s, name) != NULL;
}

/* "NAME: int = …" and "NAME: out f32[…]" begin with a role or a type; lines of tune: do not. */
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

void draft_inputs_name(struct drafting *d)
{
	for (size_t i = 0; i < d->declared.count && d->source.launch_count; i++) {
		const struct declared_line *x = &d->declared.at[i];
		if (x->kind != DECLARED_ENTRY || !has_type(x->line) || is_parameter(&d->source, x->name) ||
		    !is_host_name(&d->source, x->name))
			continue;
		*MEM_PUSH(d->entries, d->entry_count) = (struct drafting_entry){ .name = mem_str(x->name),
										 .host = mem_str(x->name),
										 .array = strchr(x->line, '[') != NULL,
										 .type_text = mem_str("") };
		draft_expression_name(&d->names, x->name, x->name);
	}
}

/* --- scalars ---------------------------------------------------------------------------------------------------------------- */

/* The fewest digits that read back as the same number of the type; free(). */
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

/* Writes an integer that the file computes from other scalars: `int n = rows * cols;` with a constant `cols` is "rows*512". Those
 * scalars must be declared or, with `all`, may be any that the file leaves open. False for anything else; `out` is then
 * meaningless. */
static bool derived(const struct drafting *d, const struct drafting_entry *x, bool all, struct buf *out)
{
	const struct source_variable *v = *x->host ? draft_source_variable(&d->source, x->host) : NULL;
	struct expression_names others = { NULL, 0 };
	if (v == NULL || v->dim3 || dtype_is_float((enum dtype)x->type))
		return false;
	for (size_t i = 0; i < d->names.count; i++) {
		struct drafting_entry *other = draft_entry((struct drafting *)d, d->names.at[i].context);
		struct value ignored;
		if (other && other != x && !other->array &&
		    (is_declared(d, other->name) || (all && !draft_own_value(d, other, &ignored))))
			draft_expression_name(&others, d->names.at[i].host, other->name);
	}
	bool good =
		others.count && draft_expression_lua(&d->source, draft_source_tokens(&d->source, v), v->value, &others, out, NULL);
	draft_expression_names_fini(&others);
	return good && strchr(buf_text(out), '.') == NULL; /* C and Lua divide fractions differently */
}

/* --- arrays ----------------------------------------------------------------------------------------------------------------- */

struct source_range draft_inputs_bytes(const struct source *s, const struct source_buffer *b, const struct tokens **ret_tokens)
{
	struct source_range range = b->bytes;
	*ret_tokens = &s->tokens;
	if (range.to != range.from + 1 || (*ret_tokens)->at[range.from].kind != TOKEN_NAME)
		return range;
	char *name = draft_token_text(&(*ret_tokens)->at[range.from]);
	const struct source_variable *v = draft_source_variable(s, name);
	free(name);
	if (v == NULL || v->dim3)
		return range;
	*ret_tokens = draft_source_tokens(s, v);
	return v->value;
}

/* True for a factor that is the size of an element: `sizeof(float)`, or 4. */
static bool is_element(const struct drafting *d, const struct tokens *t, struct source_range factor, const struct drafting_entry *x)
{
	struct value v;
	return draft_token_is(&t->at[factor.from], "sizeof") || (draft_expression_value(&d->source, t, factor, NULL, &v) &&
								 value_double(v) == (double)dtype_size((enum dtype)x->type));
}

/* Writes "n, m" for n * m * sizeof(float): the factors but the element's size. False when the product cannot be read. */
static bool extents(struct drafting *d, const struct drafting_entry *x, struct buf *out)
{
	const struct source_buffer *b = draft_source_buffer(&d->source, x->host);
	const struct tokens *t;
	if (b == NULL)
		return false;
	struct source_range bytes = draft_inputs_bytes(&d->source, b, &t);
	bool sized = dtype_size((enum dtype)x->type) == 1;
	for (size_t from = bytes.from; from < bytes.to;) {
		struct source_range factor = { from, draft_tokens_find(t, from, bytes.to, "*") };
		from = factor.to + 1;
		if (!sized && is_element(d, t, factor, x)) {
			sized = true;
			continue;
		}
		buf_adds(out, out->len ? ", " : "");
		if (!draft_expression_lua(&d->source, t, factor, &d->names, out, NULL))
			return false;
	}
	return out->len > 0 && sized;
}

/* Asks for a role that the kernels do not show. `known`: the extents, or NULL. */
static void ask_role(struct drafting *d, const struct drafting_entry *x, const char *type, const char *known)
{
	const char *n = x->name, *size = known ? known : "n";
	draft_question(d,
		       "%s: %sis it read, written or both? A kernel passes it on: declare \"%s: %s[%s] = random\", \"%s: out "
		       "%s[%s]\" or \"%s: inout %s[%s] = random\"",
		       n, known ? "" : "how many elements, and ", n, type, size, n, type, size, n, type, size);
}

static void array_line(struct drafting *d, struct drafting_entry *x)
{
	struct buf size = BUF_INIT;
	const char *type = dtype_name((enum dtype)x->type), *role = x->written ? x->read ? "inout " : "out " : "";
	const char *local = x->scratch ? draft_declared_take(&d->declared, DECLARED_LOCAL, x->name) : NULL;
	if (local) {
		x->line = mem_fmt("%s\n", local);
	} else if (!extents(d, x, &size)) {
		if (x->unsure && !x->written && !x->scratch)
			ask_role(d, x, type, NULL);
		else {
			if (x->scratch)
				draft_question(d,
					       "%s: how many elements does this intermediate result have? Allocate it in the file, "
					       "cudaMalloc(&%s, "
					       "…), or declare \"local %s = alloc({\"%s\", n}, \"%s\")\"",
					       x->name, x->host, x->name, type, x->name);
			else
				draft_question(
					d, "%s: how many elements? The file does not say: declare \"%s: %s%s[n]\" with its extents",
					x->name, x->name, role, type);
		}
	} else if (x->scratch) {
		x->line = mem_fmt("local %s = alloc({\"%s\", %s}, \"%s\")\n", x->name, type, buf_text(&size), x->name);
	} else if (x->unsure && !x->written) {
		ask_role(d, x, type, buf_text(&size));
	} else {
		x->line = mem_fmt("  %s: %s%s[%s]%s\n", x->name, role, type, buf_text(&size),
				  x->written && !x->read ? "" : " = random");
		if (x->written && x->read)
			draft_note(d, "%s is read and written, so it is inout; if a kernel only writes it, declare it out",
				   x->name);
	}
	buf_fini(&size);
}

/* --- the whole -------------------------------------------------------------------------------------------------------------- */

/* An array that the host copies back is a result, whoever else reads it. */
static bool is_fetched(const struct drafting *d, const char *host)
{
	const struct tokens *t = &d->source.tokens;
	for (size_t i = 0; i + 1 < t->count; i++) {
		if (!draft_token_is(&t->at[i], "cudaMemcpy") && !draft_token_is(&t->at[i], "hipMemcpy"))
			continue;
		size_t close = draft_tokens_close(t, i + 1, t->count) - 1, comma = draft_tokens_find(t, i + 2, close, ",");
		if (comma + 1 < close && draft_token_is(&t->at[comma + 1], host))
			return true;
	}
	return false;
}

void draft_inputs_write(struct drafting *d)
{
	for (size_t i = 0; i < d->entry_count; i++) {
		struct drafting_entry *x = &d->entries[i];
		const char *line = draft_declared_take(&d->declared, DECLARED_ENTRY, x->name);
		x->scratch = x->scratch && line == NULL && !is_fetched(d, x->host);
		if (line) {
			x->line = mem_fmt("  %s\n", line);
			x->declared = true;
		} else if (x->type < 0) {
			draft_question(d,
				       "%s: contexts do not know its type '%s': declare it by its elements, \"%s: %s\", or write "
				       "the kernel with a known type",
				       x->name, x->type_text, x->name, x->array ? "f32[…]" : "f32 = …");
		} else if (x->array) {
			array_line(d, x);
		} else {
			struct buf made = BUF_INIT, open = BUF_INIT;
			const char *type = x->type == DTYPE_I32 ? "int" : dtype_name((enum dtype)x->type);
			struct value value;
			if (x->value.to > x->value.from && draft_own_value(d, x, &value)) {
				char *text = digits(value_double(value), x->type == DTYPE_F32);
				x->line = mem_fmt("  %s: %s = %s\n", x->name, type, text);
				free(text);
			} else if (derived(d, x, false, &made)) {
				x->line = mem_fmt("  %s: %s = %s\n", x->name, type, buf_text(&made));
				draft_note(d, "%s is computed as in the file: %s", x->name, buf_text(&made));
			} else if (derived(d, x, true, &open)) {
				draft_note(d, "%s will be computed as in the file: %s", x->name,
					   buf_text(&open)); /* once the numbers asked for are known */
			} else {
				draft_question(d, "%s: which values? The file does not say: declare \"%s: %s = {1024, 2048}\"",
					       x->name, x->name, type);
			}
			buf_fini(&made);
			buf_fini(&open);
		}
	}
}

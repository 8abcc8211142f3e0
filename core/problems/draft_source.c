/* draft_source: a CUDA or HIP file as tokens, and what they say about its kernels, launches, variables and allocations.
 * Declarations and some statements are read by their form; nothing is executed. See drafting.h. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "backends/wire/dtype.h"
#include "base/lex.h"
#include "base/mem.h"
#include "core/problems/drafting.h"

/* --- tokens ------------------------------------------------------------------------------------------------------------------- */

static const char *const signs[] = { "<<<", ">>>", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
				     "+=",  "-=",  "*=", "/=", "%=", "->", "::", "++", "--" };

static size_t directive_len(const char *s)
{
	size_t n = 0;
	for (;;) {
		n += strcspn(s + n, "\n");
		if (s[n] == '\0' || n == 0 || s[n - 1] != '\\')
			return n;
		n++;
	}
}

void draft_tokens_read(const char *source, struct tokens *ret_tokens)
{
	static const enum token_kind kinds[] = {
		[LEX_WORD] = TOKEN_NAME, [LEX_NUMBER] = TOKEN_NUMBER, [LEX_TEXT] = TOKEN_TEXT, [LEX_OTHER] = TOKEN_SIGN
	};
	enum lex_kind kind;
	*ret_tokens = (struct tokens){ 0 };
	for (size_t n; *source; source += n) {
		n = lex_c(source, &kind);
		if (kind == LEX_COMMENT || isspace((unsigned char)*source))
			continue;
		for (size_t i = 0; kind == LEX_OTHER && i < MEM_COUNT(signs) && n == 1; i++)
			if (strncmp(source, signs[i], strlen(signs[i])) == 0)
				n = strlen(signs[i]);
		if (*source == '#')
			n = directive_len(source);
		*MEM_PUSH(ret_tokens->at, ret_tokens->count) =
			(struct token){ *source == '#' ? TOKEN_DIRECTIVE : kinds[kind], source, n };
	}
}

void draft_tokens_fini(struct tokens *t)
{
	free(t->at);
	*t = (struct tokens){ 0 };
}

bool draft_token_is(const struct token *t, const char *text)
{
	return strlen(text) == t->len && memcmp(t->at, text, t->len) == 0;
}

char *draft_token_text(const struct token *t)
{
	return mem_strn(t->at, t->len);
}

/* +1 for an opening bracket, -1 for a closing one. `<<<` is counted apart, because shifts look like its end. */
static int nesting(const struct token *t)
{
	if (t->kind != TOKEN_SIGN || t->len != 1)
		return 0;
	return strchr("([{", *t->at) ? 1 : strchr(")]}", *t->at) ? -1 : 0;
}

size_t draft_tokens_close(const struct tokens *t, size_t open, size_t end)
{
	bool launch = draft_token_is(&t->at[open], "<<<");
	int depth = launch ? 0 : 1;
	for (size_t i = open + 1; i < end; i++) {
		if (launch && depth == 0 && draft_token_is(&t->at[i], ">>>"))
			return i + 1;
		depth += nesting(&t->at[i]);
		if (!launch && depth == 0)
			return i + 1;
	}
	return end;
}

size_t draft_tokens_find(const struct tokens *t, size_t from, size_t to, const char *sign)
{
	int depth = 0;
	for (size_t i = from; i < to; i++) {
		if (depth == 0 && draft_token_is(&t->at[i], sign))
			return i;
		depth += nesting(&t->at[i]);
	}
	return to;
}

unsigned draft_source_line(const struct source *s, size_t token)
{
	unsigned line = 1;
	for (const char *c = s->text; c < s->tokens.at[token].at; c++)
		line += *c == '\n';
	return line;
}

/* --- parameters ------------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *text;
	enum dtype type;
} types[] = {
	{ "float", DTYPE_F32 },
	{ "double", DTYPE_F64 },
	{ "half", DTYPE_F16 },
	{ "__half", DTYPE_F16 },
	{ "_Float16", DTYPE_F16 },
	{ "__nv_bfloat16", DTYPE_BF16 },
	{ "nv_bfloat16", DTYPE_BF16 },
	{ "int", DTYPE_I32 },
	{ "signed", DTYPE_I32 },
	{ "unsigned", DTYPE_U32 },
	{ "unsigned int", DTYPE_U32 },
	{ "uint", DTYPE_U32 },
	{ "int32_t", DTYPE_I32 },
	{ "uint32_t", DTYPE_U32 },
	{ "int64_t", DTYPE_I64 },
	{ "uint64_t", DTYPE_U64 },
	{ "size_t", DTYPE_U64 },
	{ "long", DTYPE_I64 },
	{ "long long", DTYPE_I64 },
	{ "unsigned long", DTYPE_U64 },
	{ "unsigned long long", DTYPE_U64 },
	{ "short", DTYPE_I16 },
	{ "unsigned short", DTYPE_U16 },
	{ "int16_t", DTYPE_I16 },
	{ "uint16_t", DTYPE_U16 },
	{ "char", DTYPE_I8 },
	{ "signed char", DTYPE_I8 },
	{ "unsigned char", DTYPE_U8 },
	{ "int8_t", DTYPE_I8 },
	{ "uint8_t", DTYPE_U8 },
};

int draft_source_type(const char *text)
{
	for (size_t i = 0; i < MEM_COUNT(types); i++)
		if (strcmp(types[i].text, text) == 0)
			return (int)types[i].type;
	return -1;
}

static struct source_param read_param(const struct tokens *t, size_t from, size_t to)
{
	struct source_param p = { .type = -1 };
	struct buf type = BUF_INIT;
	for (size_t i = from; i < to; i++) {
		const struct token *x = &t->at[i];
		if (draft_token_is(x, "*"))
			p.pointer = true;
		else if (draft_token_is(x, "const"))
			p.constant |= !p.pointer;
		else if (x->kind != TOKEN_NAME || draft_token_is(x, "__restrict__") || draft_token_is(x, "__restrict") ||
			 draft_token_is(x, "restrict"))
			continue;
		else if (i + 1 == to)
			p.name = draft_token_text(x);
		else
			buf_addf(&type, "%s%.*s", type.len ? " " : "", (int)x->len, x->at);
	}
	if (p.name == NULL)
		p.name = mem_str("");
	p.type_text = buf_steal(&type);
	p.type = draft_source_type(p.type_text);
	return p;
}

/* `x[i] = …` writes, `x[i] += …` does both, everything else reads. */
static void look_for_uses(const struct source *s, struct source_param *p, struct source_range body)
{
	static const char *const both[] = { "+=", "-=", "*=", "/=", "%=", "++", "--" };
	const struct tokens *t = &s->tokens;
	for (size_t i = body.from; i < body.to; i++) {
		/* threadIdx.x does not use a parameter x. */
		if (!draft_token_is(&t->at[i], p->name) ||
		    (i > body.from && (draft_token_is(&t->at[i - 1], ".") || draft_token_is(&t->at[i - 1], "->"))))
			continue;
		size_t after =
			i + 1 < body.to && draft_token_is(&t->at[i + 1], "[") ? draft_tokens_close(t, i + 1, body.to) : i + 1;
		bool element = after > i + 1 || (i > body.from && draft_token_is(&t->at[i - 1], "*"));
		bool writes = element && after < body.to && draft_token_is(&t->at[after], "=");
		bool updates = false;
		for (size_t k = 0; k < MEM_COUNT(both) && after < body.to; k++)
			updates |= element && draft_token_is(&t->at[after], both[k]);
		p->written |= writes || updates;
		p->read |= !writes;
		p->handed_on |= !element;
	}
}

/* --- kernels ---------------------------------------------------------------------------------------------------------------- */

static int read_kernel(struct source *s, size_t at, size_t body_end, struct err *e)
{
	const struct tokens *t = &s->tokens;
	size_t open = at;
	struct source_kernel k = { 0 };
	/* The name before the first bracket that does not belong to an attribute. */
	for (; open < body_end; open++) {
		if (!draft_token_is(&t->at[open], "("))
			continue;
		if (!draft_token_is(&t->at[open - 1], "__launch_bounds__") && !draft_token_is(&t->at[open - 1], "__attribute__"))
			break;
		open = draft_tokens_close(t, open, body_end) - 1;
	}
	if (open >= body_end || t->at[open - 1].kind != TOKEN_NAME)
		return err_set(e, ERR_INPUT,
			       "line %u: a kernel's declaration cannot be read: expected `__global__ void name(…) { … }`",
			       draft_source_line(s, at));
	size_t close = draft_tokens_close(t, open, body_end);
	k.name = draft_token_text(&t->at[open - 1]);
	k.body = (struct source_range){ close, body_end };
	for (size_t from = open + 1; from + 1 < close;) {
		size_t to = draft_tokens_find(t, from, close - 1, ",");
		struct source_param p = read_param(t, from, to);
		if (p.pointer)
			look_for_uses(s, &p, k.body);
		*MEM_PUSH(k.params, k.param_count) = p;
		from = to + 1;
	}
	*MEM_PUSH(s->kernels, s->kernel_count) = k;
	return 0;
}

static bool has(const struct tokens *t, size_t from, size_t to, const char *word)
{
	for (size_t i = from; i < to; i++)
		if (draft_token_is(&t->at[i], word))
			return true;
	return false;
}

/* The end of the declaration that starts here: after its `;` or its body. */
static size_t item_end(const struct tokens *t, size_t from)
{
	for (size_t i = from; i < t->count; i++) {
		if (draft_token_is(&t->at[i], ";"))
			return i + 1;
		if (draft_token_is(&t->at[i], "(") || draft_token_is(&t->at[i], "["))
			i = draft_tokens_close(t, i, t->count) - 1;
		else if (draft_token_is(&t->at[i], "{")) {
			size_t end = draft_tokens_close(t, i, t->count);
			return end < t->count && draft_token_is(&t->at[end], ";") ? end + 1 : end;
		}
	}
	return t->count;
}

/* Device code keeps macros, types, constants, device functions, and the toolkit's headers that NVRTC and hiprtc know. */
static bool device_directive(const struct token *x)
{
	static const char *const headers[] = { "cuda_fp16", "cuda_bf16", "mma.h", "hip_fp16", "hip_bf16" };
	char *text = draft_token_text(x);
	bool include = strstr(text, "include") != NULL, keep = !include;
	for (size_t i = 0; i < MEM_COUNT(headers); i++)
		keep |= include && strstr(text, headers[i]) != NULL;
	free(text);
	return keep;
}

static void keep_text(struct source *s, const struct tokens *t, size_t from, size_t to)
{
	const char *end = t->at[to - 1].at + t->at[to - 1].len;
	buf_addf(&s->device, "%.*s\n", (int)(end - t->at[from].at), t->at[from].at);
}

static int read_items(struct source *s, struct err *e)
{
	static const char *const device_words[] = {
		"__device__", "__constant__", "struct", "typedef", "using", "constexpr", "enum"
	};
	const struct tokens *t = &s->tokens;
	int rc = 0;
	for (size_t i = 0, end; i < t->count && rc == 0; i = end) {
		end = t->at[i].kind == TOKEN_DIRECTIVE ? i + 1 : item_end(t, i);
		size_t head = i;
		while (head < end && !draft_token_is(&t->at[head], "(") && !draft_token_is(&t->at[head], "{") &&
		       !draft_token_is(&t->at[head], "="))
			head++;
		if (t->at[i].kind == TOKEN_DIRECTIVE) {
			if (device_directive(&t->at[i]))
				keep_text(s, t, i, end);
			continue;
		}
		if (has(t, i, end, "__global__") && draft_token_is(&t->at[end - 1], "}")) {
			if (draft_token_is(&t->at[i], "template"))
				return err_set(e, ERR_INPUT,
					       "line %u: a kernel is a template: write the instance to tune as a plain kernel",
					       draft_source_line(s, i));
			if (t->at[i].kind == TOKEN_NAME && draft_token_is(&t->at[i], "extern") && has(t, i, head, "\"C\"") == false)
				rc = err_set(e, ERR_INPUT, "line %u: a kernel is declared extern but not \"C\"",
					     draft_source_line(s, i));
			if (!has(t, i, head, "\"C\""))
				buf_adds(&s->device, "extern \"C\" ");
			keep_text(s, t, i, end);
			rc = rc < 0 ? rc : read_kernel(s, i, end, e);
			continue;
		}
		for (size_t k = 0; k < MEM_COUNT(device_words); k++)
			if (has(t, i, head, device_words[k])) {
				keep_text(s, t, i, end);
				break;
			}
	}
	return rc;
}

/* --- the host's side -------------------------------------------------------------------------------------------------------- */

static void add_variable(struct source *s, const struct token *name, size_t from, size_t to, bool dim3)
{
	*MEM_PUSH(s->variables, s->variable_count) =
		(struct source_variable){ .name = draft_token_text(name), .value = { from, to }, .dim3 = dim3 };
}

/* The values of `#define NAME VALUE` lines, which have tokens of their own. */
static void read_defines(struct source *s)
{
	for (size_t i = 0; i < s->tokens.count; i++) {
		const struct token *x = &s->tokens.at[i];
		if (x->kind != TOKEN_DIRECTIVE)
			continue;
		const char *end = x->at + x->len, *at = x->at + 1 + strspn(x->at + 1, " \t");
		if (strncmp(at, "define", 6) != 0 || (at[6] != ' ' && at[6] != '\t'))
			continue;
		at += 6 + strspn(at + 6, " \t");
		size_t n = lex_word(at);
		if (n == 0 || at + n >= end || at[n] == '(')
			continue;
		size_t first = s->defines.count;
		struct tokens value;
		draft_tokens_read(at + n, &value);
		for (size_t k = 0; k < value.count && value.at[k].at < end; k++)
			*MEM_PUSH(s->defines.at, s->defines.count) = value.at[k];
		draft_tokens_fini(&value);
		struct token name = { TOKEN_NAME, at, n };
		add_variable(s, &name, first, s->defines.count, false);
	}
	s->define_count = s->variable_count;
}

/* `dim3 block(16, 16), grid(n / 16, n / 16);` from the first name. */
static void read_dim3(struct source *s, size_t name)
{
	const struct tokens *t = &s->tokens;
	while (name + 1 < t->count && t->at[name].kind == TOKEN_NAME && draft_token_is(&t->at[name + 1], "(")) {
		size_t close = draft_tokens_close(t, name + 1, t->count);
		add_variable(s, &t->at[name], name + 2, close - 1, true);
		if (close >= t->count || !draft_token_is(&t->at[close], ","))
			return;
		name = close + 1;
	}
}

static void read_buffers(struct source *s)
{
	static const char *const calls[] = { "cudaMalloc", "cudaMallocManaged", "hipMalloc", "hipMallocManaged",
					     "cudaMallocAsync" };
	const struct tokens *t = &s->tokens;
	for (size_t i = 0; i + 1 < t->count; i++) {
		bool call = false;
		for (size_t k = 0; k < MEM_COUNT(calls); k++)
			call |= draft_token_is(&t->at[i], calls[k]);
		if (!call || !draft_token_is(&t->at[i + 1], "("))
			continue;
		size_t close = draft_tokens_close(t, i + 1, t->count) - 1, comma = draft_tokens_find(t, i + 2, close, ",");
		if (comma == i + 2 || comma >= close || t->at[comma - 1].kind != TOKEN_NAME)
			continue;
		size_t end = draft_tokens_find(t, comma + 1, close, ",");
		*MEM_PUSH(s->buffers, s->buffer_count) =
			(struct source_buffer){ .name = draft_token_text(&t->at[comma - 1]), .bytes = { comma + 1, end } };
	}
}

static void read_launches(struct source *s)
{
	const struct tokens *t = &s->tokens;
	for (size_t i = 1; i + 1 < t->count; i++) {
		if (!draft_token_is(&t->at[i], "<<<"))
			continue;
		size_t close = draft_tokens_close(t, i, t->count), k = 0;
		while (k < s->kernel_count && !draft_token_is(&t->at[i - 1], s->kernels[k].name))
			k++;
		if (k == s->kernel_count || close >= t->count || !draft_token_is(&t->at[close], "("))
			continue;
		struct source_launch launch = { .kernel = k };
		struct source_range *parts[] = { &launch.grid, &launch.block, &launch.shared };
		size_t from = i + 1;
		for (size_t p = 0; p < MEM_COUNT(parts) && from < close - 1; p++) {
			size_t to = draft_tokens_find(t, from, close - 1, ",");
			*parts[p] = (struct source_range){ from, to };
			from = to + 1;
		}
		launch.args = (struct source_range){ close + 1, draft_tokens_close(t, close, t->count) - 1 };
		*MEM_PUSH(s->launches, s->launch_count) = launch;
	}
}

int draft_source_read(const char *text, struct source *ret_source, struct err *e)
{
	struct source *s = ret_source;
	*s = (struct source){ .text = mem_str(text), .device = BUF_INIT };
	draft_tokens_read(s->text, &s->tokens);
	int rc = read_items(s, e);
	if (rc == 0 && s->kernel_count == 0)
		rc = err_set(e, ERR_INPUT, "there is no kernel: expected `__global__ void name(…) { … }`");
	if (rc < 0) {
		draft_source_fini(s);
		return rc;
	}
	read_defines(s);
	const struct tokens *t = &s->tokens;
	for (size_t i = 1; i + 2 < t->count; i++) {
		if (t->at[i].kind != TOKEN_NAME || t->at[i - 1].kind == TOKEN_DIRECTIVE || draft_source_in_kernel(s, i))
			continue;
		bool declared = t->at[i - 1].kind == TOKEN_NAME || draft_token_is(&t->at[i - 1], ",");
		if (draft_token_is(&t->at[i - 1], "dim3") && draft_token_is(&t->at[i + 1], "(")) {
			read_dim3(s, i);
		} else if (draft_token_is(&t->at[i - 1], "dim3") && draft_token_is(&t->at[i + 1], "=") &&
			   draft_token_is(&t->at[i + 2], "dim3")) {
			add_variable(s, &t->at[i], i + 4, draft_tokens_close(t, i + 3, t->count) - 1, true);
		} else if (declared && draft_token_is(&t->at[i + 1], "=")) {
			size_t end = draft_tokens_find(t, i + 2, t->count, ";"), comma = draft_tokens_find(t, i + 2, end, ",");
			add_variable(s, &t->at[i], i + 2, comma < end ? comma : end, false);
		}
	}
	read_buffers(s);
	read_launches(s);
	return 0;
}

void draft_source_fini(struct source *s)
{
	for (size_t k = 0; k < s->kernel_count; k++) {
		for (size_t p = 0; p < s->kernels[k].param_count; p++) {
			free(s->kernels[k].params[p].name);
			free(s->kernels[k].params[p].type_text);
		}
		free(s->kernels[k].params);
		free(s->kernels[k].name);
	}
	for (size_t i = 0; i < s->variable_count; i++)
		free(s->variables[i].name);
	for (size_t i = 0; i < s->buffer_count; i++)
		free(s->buffers[i].name);
	free(s->kernels);
	free(s->launches);
	free(s->variables);
	free(s->buffers);
	draft_tokens_fini(&s->tokens);
	draft_tokens_fini(&s->defines);
	buf_fini(&s->device);
	free(s->text);
	*s = (struct source){ 0 };
}

static bool same_value(const struct source *s, const struct source_variable *a, const struct source_variable *b)
{
	const struct tokens *ta = draft_source_tokens(s, a), *tb = draft_source_tokens(s, b);
	bool same = a->dim3 == b->dim3 && a->value.to - a->value.from == b->value.to - b->value.from;
	for (size_t i = 0; same && i < a->value.to - a->value.from; i++) {
		const struct token *x = &ta->at[a->value.from + i], *y = &tb->at[b->value.from + i];
		same = x->len == y->len && memcmp(x->at, y->at, x->len) == 0;
	}
	return same;
}

const struct source_variable *draft_source_variable(const struct source *s, const char *name)
{
	const struct source_variable *found = NULL;
	for (size_t i = 0; i < s->variable_count; i++) {
		const struct source_variable *v = &s->variables[i];
		if (strcmp(v->name, name) != 0)
			continue;
		/* Two functions may use one name for different things, and scopes are not read. */
		if (found && !same_value(s, found, v))
			return NULL;
		found = found ? found : v;
	}
	return found;
}

const struct source_buffer *draft_source_buffer(const struct source *s, const char *name)
{
	for (size_t i = 0; i < s->buffer_count; i++)
		if (strcmp(s->buffers[i].name, name) == 0)
			return &s->buffers[i];
	return NULL;
}

bool draft_source_in_kernel(const struct source *s, size_t token)
{
	for (size_t k = 0; k < s->kernel_count; k++)
		if (token >= s->kernels[k].body.from && token < s->kernels[k].body.to)
			return true;
	return false;
}

const struct tokens *draft_source_tokens(const struct source *s, const struct source_variable *v)
{
	return (size_t)(v - s->variables) < s->define_count ? &s->defines : &s->tokens;
}

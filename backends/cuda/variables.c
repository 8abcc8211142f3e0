/* variables: see cuda.h. PTX names a module's variables, and code gets at one by its name alone. So whether it can keep something
 * there can be read: the name, and every register that is computed from it, may be the address of a load and nothing else (PTX ISA
 * 9.0, chapter 4). What cannot be read counts as kept. */
#include "backends/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct word {
	const char *at;
	size_t len;
};

/* Words of one statement, and where its first operand ends. */
struct statement {
	struct word *words;
	size_t count, first_end;
	bool guarded; /* the first word is a predicate: "@%p1 bra …" */
};

/* A register that holds something computed from a variable's address. */
struct taken {
	struct word word;
	const struct cuda_variable *of;
};

struct reading {
	const struct cuda_variable *variables; /* sorted by name */
	size_t variable_count;
	bool *defined;          /* each of them, outside of functions */
	struct statement *body; /* of one function */
	size_t body_count;
	struct taken *taken; /* in it */
	size_t taken_count;
	const struct cuda_variable *passed; /* its address stands among the arguments of the call that follows */
};

static bool is_word(char c)
{
	return strchr("_$%.", c) ? c != '\0' : (c & 0x80) || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static bool same(struct word a, struct word b)
{
	return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

static bool begins(struct word w, const char *with)
{
	size_t n = strlen(with);
	return w.len >= n && memcmp(w.at, with, n) == 0;
}

static const struct cuda_variable *variable_of(const struct reading *r, struct word w)
{
	size_t from = 0, to = r->variable_count;
	while (from < to) {
		size_t middle = (from + to) / 2, n = strlen(r->variables[middle].name);
		int order = memcmp(w.at, r->variables[middle].name, w.len < n ? w.len : n);
		if (order == 0 && w.len == n)
			return &r->variables[middle];
		if (order < 0 || (order == 0 && w.len < n))
			to = middle;
		else
			from = middle + 1;
	}
	return NULL;
}

/* --- statements ------------------------------------------------------------------------------------------------------------- */

static const char *skip(const char *at)
{
	if (strncmp(at, "//", 2) == 0)
		return at + strcspn(at, "\n");
	if (strncmp(at, "/*", 2) == 0) {
		const char *end = strstr(at + 2, "*/");
		return end ? end + 2 : at + strlen(at);
	}
	if (*at == '"')
		return at + 1 + strcspn(at + 1, "\"\n") + (at[1 + strcspn(at + 1, "\"\n")] != '\0');
	return at;
}

static bool ends_with_line(struct word w)
{
	static const char *const directives[] = { ".loc", ".file", ".version", ".target", ".address_size" };
	for (size_t i = 0; i < MEM_COUNT(directives); i++)
		if (w.len == strlen(directives[i]) && begins(w, directives[i]))
			return true;
	return false;
}

/* Reads up to the `;`, `:` or end of a line that ends a statement, or to the bracket of a block, which is returned. Brackets of
 * vectors and of initial values belong to the statement. */
static char next(const char **io_at, struct statement *s)
{
	unsigned depth = 0;
	bool value = false;
	*s = (struct statement){ .count = 0 };
	for (const char *at = *io_at; *at;) {
		const char *behind = skip(at);
		size_t n = 0;
		if (behind != at) {
			at = behind;
			continue;
		}
		while (is_word(at[n]))
			n++;
		if (n > 0) {
			*MEM_PUSH(s->words, s->count) = (struct word){ at, n };
			at += n;
			continue;
		}
		char c = *at++;
		bool line = s->count && ends_with_line(s->words[0]);
		bool directive = s->count && s->words[0].at[0] == '.';
		value |= c == '=';
		s->guarded |= c == '@' && s->count == 0;
		if (c == ',' && depth == 0 && s->first_end == 0)
			s->first_end = s->count;
		bool block = (c == '{' && (s->count == 0 || (directive && !value))) || (c == '}' && depth == 0);
		depth += c == '{' && !block;
		depth -= c == '}' && !block;
		if (block || ((c == ';' || c == ':') && depth == 0) || (line && c == '\n')) {
			*io_at = at;
			return c;
		}
	}
	*io_at += strlen(*io_at);
	return '\0';
}

/* --- one function ----------------------------------------------------------------------------------------------------------- */

/* The variable from whose address the word is computed; NULL: none. */
static const struct cuda_variable *origin(const struct reading *r, struct word w)
{
	for (size_t i = 0; i < r->taken_count; i++)
		if (same(r->taken[i].word, w))
			return r->taken[i].of;
	return variable_of(r, w);
}

static const struct cuda_variable *origin_of(const struct reading *r, const struct statement *s, size_t from, size_t to)
{
	const struct cuda_variable *v = NULL;
	for (size_t i = from; i < to && v == NULL; i++)
		v = origin(r, s->words[i]);
	return v;
}

/* Instructions that only compute. */
static bool is_pure(struct word op)
{
	static const char *const pure[] = {
		"mov", "add", "sub",  "mad",  "mul",  "fma", "div", "rem",   "abs",  "neg",      "min",   "max",  "and",
		"or",  "xor", "not",  "cnot", "lop3", "shf", "shl", "shr",   "bfe",  "bfi",      "bfind", "brev", "popc",
		"clz", "sad", "prmt", "selp", "slct", "set", "cvt", "szext", "bmsk", "isspacep", "shfl",
	};
	for (size_t i = 0; i < MEM_COUNT(pure); i++)
		if (begins(op, pure[i]))
			return true;
	return false;
}

/* The variable whose address this statement uses otherwise than to load from it. *io_more: another register holds one. */
static const struct cuda_variable *lets_out(struct reading *r, const struct statement *s, bool *io_more)
{
	size_t op = s->guarded;
	if (s->count <= op)
		return NULL;
	const struct cuda_variable *guard = s->guarded ? origin(r, s->words[0]) : NULL;
	struct word what = s->words[op];
	size_t from = s->first_end > op ? s->first_end : op + 1;
	const struct cuda_variable *source = origin_of(r, s, from, s->count), *first = origin_of(r, s, op + 1, from),
				   *any = guard    ? guard
					  : source ? source
						   : first;
	if (begins(what, "call")) {
		bool prints = false;
		for (size_t i = op + 1; i < s->count; i++)
			prints |= same(s->words[i], (struct word){ "vprintf", 7 });
		const struct cuda_variable *out = any ? any : prints ? NULL : r->passed;
		r->passed = NULL;
		return out;
	}
	if (begins(what, ".reg"))
		return NULL;
	if (begins(what, "ld.") || begins(what, "ldu.") || begins(what, "prefetch"))
		return guard;
	if (begins(what, "st.param") && !guard) {
		r->passed = any ? any : r->passed;
		return NULL;
	}
	if (!is_pure(what))
		return any;
	for (size_t i = op + 1; (source || guard) && i < from; i++)
		if (!origin(r, s->words[i])) {
			*MEM_PUSH(r->taken, r->taken_count) = (struct taken){ s->words[i], source ? source : guard };
			*io_more = true;
		}
	return NULL;
}

/* Until no further register is found: loops carry addresses back. */
static const struct cuda_variable *function_lets_out(struct reading *r)
{
	const struct cuda_variable *out = NULL;
	for (bool more = true; more && !out;) {
		r->passed = NULL;
		more = false;
		for (size_t i = 0; i < r->body_count && !out; i++)
			out = lets_out(r, &r->body[i], &more);
		out = out ? out : r->passed;
	}
	r->taken_count = 0;
	return out;
}

/* Outside of functions: a name beyond its own definition is another variable's initial value. */
static const struct cuda_variable *definition_lets_out(struct reading *r, const struct statement *s)
{
	size_t own = 0;
	bool global = false;
	while (own < s->count && (s->words[own].at[0] == '.' || (s->words[own].at[0] >= '0' && s->words[own].at[0] <= '9')))
		global |= same(s->words[own++], (struct word){ ".global", 7 });
	const struct cuda_variable *defined = global && own < s->count ? variable_of(r, s->words[own]) : NULL;
	if (defined)
		r->defined[defined - r->variables] = true;
	for (size_t i = global ? own + 1 : own; i < s->count; i++)
		if (variable_of(r, s->words[i]))
			return variable_of(r, s->words[i]);
	return NULL;
}

static void forget_body(struct reading *r)
{
	while (r->body_count)
		free(r->body[--r->body_count].words);
}

const struct cuda_variable *cuda_variables_kept(const char *ptx, const struct cuda_variable *variables, size_t count)
{
	struct reading r = { .variables = variables, .variable_count = count, .defined = MEM_NEW_N(bool, count) };
	const struct cuda_variable *kept = NULL;
	unsigned depth = 0;
	/* NVRTC writes neither; assembly could, and mean something else than is read here. */
	if (strpbrk(ptx, "#\\"))
		kept = variables;
	for (char end = ' '; end && !kept;) {
		struct statement s;
		end = next(&ptx, &s);
		if (depth && s.count) {
			*MEM_PUSH(r.body, r.body_count) = s;
		} else {
			kept = definition_lets_out(&r, &s);
			free(s.words);
		}
		depth += end == '{';
		if (end == '}' && depth > 0 && --depth == 0) {
			kept = kept ? kept : function_lets_out(&r);
			forget_body(&r);
		}
	}
	/* One of a function has another name in the binary. */
	for (size_t i = 0; i < count && !kept; i++)
		kept = r.defined[i] ? NULL : &variables[i];
	forget_body(&r);
	free(r.defined);
	free(r.body);
	free(r.taken);
	return kept;
}

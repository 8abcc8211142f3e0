/* variables: see cuda.h. PTX names a module's variables, and code gets at one by its name alone. So whether it can keep something
 * there can be read: the name plus an offset may be the address of a load, and nothing else (PTX ISA 9.0, chapter 4). Whatever else
 * happens to an address counts as kept, and so does what cannot be read: assembly may be written to mislead. */
#include "backends/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { PASSES_MAX = 16, TAKEN_MAX = 1 << 14, CHAIN_MAX = 32 }; /* beyond, code was not written by a compiler */

struct word {
	const char *at;
	size_t len;
};

/* Words of one statement; brackets and signs are left out. */
struct statement {
	struct word *words;
	size_t count;
	size_t first_end;     /* where the first operand ends: words[first_end] begins the second; 0: there is one */
	size_t open[2];       /* how many words stand before the first two "(" (0: none), */
	size_t shut[2];       /* before the first and the last ")" */
	bool guarded, vector; /* the first word is a predicate: "@%p1 bra …"; there is a "{" */
};

/* A register that holds a variable's address plus an offset, or the name of a parameter that was given one. */
struct taken {
	struct word word;
	const struct cuda_variable *of;
};

struct reading {
	const struct cuda_variable *variables; /* sorted by name */
	size_t variable_count;
	bool assembly;          /* the author's: registers may be read that were not set, and parameters used twice */
	bool *defined;          /* each of them, outside of functions */
	struct statement *body; /* of one function */
	size_t body_count;
	struct taken *taken; /* in it */
	size_t taken_count;
	struct taken *passed; /* to the call that follows */
	size_t passed_count;
};

static bool is_word(char c)
{
	return strchr("_$%.", c) ? c != '\0' : (c & 0x80) || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static bool same(struct word a, struct word b)
{
	return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

static bool is(struct word w, const char *text)
{
	return w.len == strlen(text) && memcmp(w.at, text, w.len) == 0;
}

static bool begins(struct word w, const char *with)
{
	size_t n = strlen(with);
	return w.len >= n && memcmp(w.at, with, n) == 0;
}

/* "%r1" of "%r1.h0", "v" of "v.x". */
static struct word base(struct word w)
{
	const char *dot = w.at[0] == '.' ? NULL : memchr(w.at, '.', w.len);
	return dot ? (struct word){ w.at, (size_t)(dot - w.at) } : w;
}

static int by_name(const void *key, const void *variable)
{
	const struct word *w = key;
	const char *name = ((const struct cuda_variable *)variable)->name;
	int order = strncmp(w->at, name, w->len);
	return order ? order : name[w->len] ? -1 : 0;
}

static const struct cuda_variable *variable_of(const struct reading *r, struct word w)
{
	w = base(w);
	return bsearch(&w, r->variables, r->variable_count, sizeof *r->variables, by_name);
}

/* --- statements ------------------------------------------------------------------------------------------------------------- */

/* Behind a comment or a text that begins here. *io_odd: it does not end, or means something else to those who know escapes. */
static const char *skip(const char *at, bool *io_odd)
{
	size_t n = strcspn(at, "\n");
	if (strncmp(at, "//", 2) == 0) {
		*io_odd |= at[n - 1] == '\\';
		return at + n;
	}
	if (strncmp(at, "/*", 2) == 0) {
		const char *end = strstr(at + 2, "*/");
		*io_odd |= end == NULL;
		return end ? end + 2 : at + strlen(at);
	}
	if (*at != '"')
		return at;
	n = 1 + strcspn(at + 1, "\"\n\\");
	*io_odd |= at[n] != '"';
	return at + n + (at[n] != '\0');
}

bool cuda_ptx_ends_with_line(const char *word, size_t len)
{
	static const char *const directives[] = { ".loc", ".file", ".version", ".target", ".address_size" };
	for (size_t i = 0; i < MEM_COUNT(directives); i++)
		if (is((struct word){ word, len }, directives[i]))
			return true;
	return false;
}

static void note_sign(struct statement *s, char c, unsigned depth)
{
	s->guarded |= c == '@' && s->count == 0;
	s->vector |= c == '{';
	if (c == ',' && depth == 0 && s->first_end == 0)
		s->first_end = s->count;
	if (c == '(' && s->open[1] == 0)
		s->open[s->open[0] != 0] = s->count;
	if (c == ')' && s->shut[0] == 0)
		s->shut[0] = s->count;
	if (c == ')')
		s->shut[1] = s->count;
}

/* Reads up to the `;`, `:` or end of a line that ends a statement, or to the bracket of a block, which is returned. Brackets of
 * vectors and of initial values belong to the statement. */
static char next(const char **io_at, struct statement *s, bool *io_odd)
{
	unsigned depth = 0;
	bool value = false;
	*s = (struct statement){ .count = 0 };
	for (const char *at = *io_at; *at;) {
		const char *behind = skip(at, io_odd);
		size_t n = 0;
		if (behind != at) {
			at = behind;
			continue;
		}
		while (is_word(at[n]) && (n == 0 || at[n] != '%'))
			n++;
		if (n > 0) {
			*MEM_PUSH(s->words, s->count) = (struct word){ at, n };
			at += n;
			continue;
		}
		char c = *at++;
		*io_odd |= c == '#' || c == '\\';
		if (c == ':' && *at == ':') {
			at++;
			continue;
		}
		bool line = s->count && cuda_ptx_ends_with_line(s->words[0].at, s->words[0].len);
		bool directive = s->count && s->words[0].at[0] == '.';
		value |= c == '=';
		bool block = (c == '{' && (s->count == 0 || (directive && !value))) || (c == '}' && depth == 0);
		if (!block)
			note_sign(s, c, depth);
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

/* The variable whose address the word holds; NULL: none. */
static const struct cuda_variable *origin(const struct reading *r, struct word w)
{
	w = base(w);
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

/* The first word of an operand, by its number; there are as many words as operands. */
static const struct cuda_variable *source(const struct reading *r, const struct statement *s, size_t op, size_t operand)
{
	return op + 1 + operand < s->count ? origin(r, s->words[op + 1 + operand]) : NULL;
}

/* Instructions whose first operand is a register that they set. */
static bool sets_register(struct word op)
{
	static const char *const names[] = { "mov",  "add",  "sub", "mul",  "mad",  "fma",  "div",  "rem",   "abs",
					     "neg",  "min",  "max", "and",  "or",   "xor",  "not",  "shl",   "shr",
					     "shf",  "bfe",  "bfi", "lop3", "prmt", "set",  "setp", "cvt",   "cvta",
					     "selp", "popc", "clz", "brev", "addc", "subc", "madc", "mul24", "mad24" };
	for (size_t i = 0; i < MEM_COUNT(names); i++)
		if (is(base(op), names[i]))
			return true;
	return false;
}

/* Loads from other spaces would take the address for an index. */
static bool is_global(struct word op)
{
	static const char *const spaces[] = { ".const", ".shared", ".local", ".param" };
	for (size_t i = 0; i < MEM_COUNT(spaces); i++)
		if (memmem(op.at, op.len, spaces[i], strlen(spaces[i])))
			return false;
	return true;
}

/* An address plus an offset: "mov", "cvta", "add", "sub", "mad" and "selp" in 64 bits, of one destination. */
static bool is_address(const struct reading *r, const struct statement *s, size_t op)
{
	struct word what = s->words[op];
	bool a = source(r, s, op, 1), b = source(r, s, op, 2), c = source(r, s, op, 3);
	size_t operands = s->count - op - 1;
	if (s->vector || s->first_end != op + 2 || source(r, s, op, 4) || memmem(what.at, what.len, ".cc", 3))
		return false;
	if (operands == 2 && (is(what, "mov.u64") || is(what, "mov.b64") || is(what, "mov.s64") || is(what, "cvta.global.u64") ||
			      is(what, "cvta.to.global.u64")))
		return a;
	if (operands == 3 && (is(what, "add.s64") || is(what, "add.u64")))
		return a != b;
	if (operands == 3 && (is(what, "sub.s64") || is(what, "sub.u64")))
		return a && !b;
	if (operands == 3 && is(what, "or.b64")) /* an aligned address plus a number */
		return a && !b && s->words[op + 3].at[0] >= '0' && s->words[op + 3].at[0] <= '9';
	if (operands == 4 && (begins(what, "mad.wide.") || begins(what, "mad.lo.s64") || begins(what, "mad.lo.u64")))
		return !a && !b && c;
	if (operands == 4 && (is(what, "selp.b64") || is(what, "selp.u64") || is(what, "selp.s64")))
		return (a || b) && !c;
	return false;
}

/* Registers whose every definition is to be an address of one variable. */
struct chain {
	const struct cuda_variable *of;
	struct word seen[CHAIN_MAX];
	size_t count;
};

/* Whether the word, and what it is made of, holds addresses of the variable alone, wherever the function sets it. */
static bool is_of_one(const struct reading *r, struct chain *c, struct word w)
{
	w = base(w);
	if (variable_of(r, w))
		return variable_of(r, w) == c->of;
	for (size_t i = 0; i < c->count; i++)
		if (same(c->seen[i], w))
			return true;
	if (origin(r, w) != c->of || c->count == CHAIN_MAX)
		return false;
	c->seen[c->count++] = w;
	for (size_t i = 0; i < r->body_count; i++) {
		const struct statement *s = &r->body[i];
		size_t op = s->guarded, end = s->first_end > op ? s->first_end : s->count;
		bool sets = false;
		for (size_t k = op + 1; k < end; k++)
			sets |= same(base(s->words[k]), w);
		if (!sets || s->words[op].at[0] == '.' || begins(s->words[op], "st."))
			continue;
		/* ((address | 8) - address) is a bit of the address. */
		if (!is_address(r, s, op) || begins(s->words[op], "or.") ||
		    (begins(s->words[op], "selp.") && !(source(r, s, op, 1) && source(r, s, op, 2))))
			return false;
		for (size_t k = end; k < s->count; k++)
			if (origin(r, s->words[k]) && !is_of_one(r, c, s->words[k]))
				return false;
	}
	return true;
}

/* "p != end", "p - begin": says nothing of the address, if both are of one variable. Which of two is larger does: sums wrap. */
static bool compares(const struct reading *r, const struct statement *s, size_t op)
{
	static const char *const names[] = { "setp.eq.s64", "setp.ne.s64", "setp.eq.u64", "setp.ne.u64",
					     "setp.eq.b64", "setp.ne.b64", "sub.s64",     "sub.u64" };
	const struct cuda_variable *a = source(r, s, op, 1), *b = source(r, s, op, 2);
	struct chain chain = { .of = a };
	bool known = false;
	for (size_t i = 0; i < MEM_COUNT(names); i++)
		known |= is(s->words[op], names[i]);
	return known && !r->assembly && s->count - op - 1 == 3 && !s->vector && s->first_end == op + 2 && a && a == b &&
	       is_of_one(r, &chain, s->words[op + 2]) && is_of_one(r, &chain, s->words[op + 3]);
}

/* What the toolkit itself prints with: its arguments are read. */
static bool is_print(struct word w)
{
	return is(w, "vprintf") || is(w, "__assertfail");
}

/* Of "call.uni (retval0), vprintf, (param0, param1)" or "call.uni __assertfail, (param0, …)"; any other form is no print. */
static bool prints(const struct statement *s, size_t op, size_t *ret_arguments)
{
	bool returns = s->open[0] == op + 1;
	size_t callee = returns ? s->shut[0] : op + 1, list = s->open[returns];
	*ret_arguments = callee + 1;
	return (is(s->words[op], "call.uni") || is(s->words[op], "call")) && callee < s->count && is_print(s->words[callee]) &&
	       list == callee + 1 && s->shut[1] == s->count && (!returns || s->shut[0] == op + 2) &&
	       s->open[1] == (returns ? list : 0);
}

static const struct cuda_variable *call(struct reading *r, const struct statement *s, size_t op)
{
	size_t from, kept = 0;
	const struct cuda_variable *out = origin_of(r, s, op + 1, s->count);
	if (out || r->assembly || !prints(s, op, &from))
		return out ? out : r->passed_count ? r->passed[0].of : NULL;
	for (size_t i = 0; i < r->passed_count; i++) {
		bool read = false;
		for (size_t k = from; k < s->count; k++)
			read |= same(base(s->words[k]), r->passed[i].word);
		if (!read)
			r->passed[kept++] = r->passed[i];
	}
	r->passed_count = kept;
	return NULL;
}

/* The variable whose address this statement uses otherwise than to load from it. *io_more: another register holds one. */
static const struct cuda_variable *lets_out(struct reading *r, const struct statement *s, bool *io_more)
{
	size_t op = s->guarded;
	if (s->count <= op)
		return NULL;
	struct word what = s->words[op];
	size_t from = s->first_end > op ? s->first_end : op + 1;
	const struct cuda_variable *guard = s->guarded ? origin(r, s->words[0]) : NULL, *of = origin_of(r, s, from, s->count),
				   *first = origin_of(r, s, op + 1, from);
	/* A variable of a function has another name in the binary. */
	for (size_t i = op; what.at[0] == '.' && i < s->count; i++)
		if (is(s->words[i], ".global") || is(s->words[i], ".alias"))
			return r->variables;
	if (is(what, ".reg") || (s->count == op + 1 && !guard))
		return NULL;
	if (guard)
		return guard;
	if (begins(what, "call"))
		return call(r, s, op);
	if (begins(what, "ld.") || begins(what, "ldu.") || begins(what, "prefetch"))
		return is_global(what) ? NULL : of;
	if (begins(what, "cp.async.ca.shared.") || begins(what, "cp.async.cg.shared."))
		return first;
	if (begins(what, "st.param.") && of && !first && !s->vector &&
	    from == op + 2 + (s->count > op + 2 && s->words[op + 2].at[0] == '0')) {
		*MEM_PUSH(r->passed, r->passed_count) = (struct taken){ base(s->words[op + 1]), of };
		return NULL;
	}
	if (!of)
		return sets_register(what) ? NULL : first;
	if (compares(r, s, op))
		return NULL;
	if (!is_address(r, s, op))
		return of;
	if (!first) {
		*MEM_PUSH(r->taken, r->taken_count) = (struct taken){ base(s->words[op + 1]), of };
		*io_more = true;
	}
	return NULL;
}

/* Until no further register is found: loops carry addresses back. */
static const struct cuda_variable *function_lets_out(struct reading *r)
{
	const struct cuda_variable *out = NULL;
	size_t passes = 0;
	for (bool more = true; more && !out; passes++) {
		r->passed_count = 0;
		more = false;
		for (size_t i = 0; i < r->body_count && !out; i++)
			out = lets_out(r, &r->body[i], &more);
		if (!out && r->passed_count)
			out = r->passed[0].of;
		if (!out && (passes == PASSES_MAX || r->taken_count > TAKEN_MAX))
			out = r->taken[0].of;
	}
	r->taken_count = 0;
	return out;
}

/* Outside of functions: a name beyond its own definition is another variable's initial value. Registers of all functions, and
 * prints of the code's own, would lead addresses past what is read here. */
static const struct cuda_variable *definition_lets_out(struct reading *r, const struct statement *s, bool body)
{
	size_t own = 0;
	bool global = false, function = false;
	for (size_t i = 0; i < s->count; i++) {
		function |= is(s->words[i], ".func");
		if (is(s->words[i], ".reg") || is(s->words[i], ".alias") || (function && body && is_print(s->words[i])))
			return r->variables;
	}
	while (own < s->count && (s->words[own].at[0] == '.' || (s->words[own].at[0] >= '0' && s->words[own].at[0] <= '9')))
		global |= is(s->words[own++], ".global");
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
	struct reading r = { .variables = variables,
			     .variable_count = count,
			     .defined = MEM_NEW_N(bool, count),
			     .assembly = strstr(ptx, "inline asm") };
	const struct cuda_variable *kept = NULL;
	unsigned depth = 0;
	bool odd = false;
	for (char end = ' '; end && !kept;) {
		struct statement s;
		end = next(&ptx, &s, &odd);
		if (depth && s.count) {
			*MEM_PUSH(r.body, r.body_count) = s;
		} else {
			kept = definition_lets_out(&r, &s, end == '{');
			free(s.words);
		}
		depth += end == '{';
		if (end == '}' && depth > 0 && --depth == 0) {
			kept = kept ? kept : function_lets_out(&r);
			forget_body(&r);
		}
		kept = odd ? variables : kept;
	}
	/* One of a function has another name in the binary. */
	for (size_t i = 0; i < count && !kept; i++)
		kept = r.defined[i] ? NULL : &variables[i];
	forget_body(&r);
	free(r.defined);
	free(r.body);
	free(r.taken);
	free(r.passed);
	return kept;
}

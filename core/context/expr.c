/* expr: compiler and evaluator of front matter's expressions; see expr.h.
 *
 * The parser climbs precedences as Lua's own lparser.c does (its priority table is repeated below); the code is for a
 * stack machine whose depth is known when the expression is compiled. */
#include "core/context/expr.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lex.h"
#include "base/mem.h"
#include "base/suggest.h"

enum { DEPTH_MAX = 60, NAME_MAX_LEN = 63, UNARY_PRIORITY = 12, POWER_COST = 16 };

/* --- names -------------------------------------------------------------------------------------------------------- */
struct expr_scope *expr_scope_new(void)
{
	return MEM_NEW(struct expr_scope);
}

void expr_scope_free(struct expr_scope *s)
{
	if (s == NULL)
		return;
	mem_free_texts(s->names, s->count);
	free(s);
}

size_t expr_scope_add(struct expr_scope *s, const char *name)
{
	*MEM_PUSH(s->names, s->count) = mem_str(name);
	return s->count - 1;
}

int expr_scope_find(const struct expr_scope *s, const char *name)
{
	for (size_t k = 0; k < s->count; k++)
		if (strcmp(s->names[k], name) == 0)
			return (int)k;
	return -1;
}

/* --- grammar ------------------------------------------------------------------------------------------------------ */
struct binary {
	const char *text;
	enum expr_code code;
	enum value_op op;
	int left, right;
};
static const struct binary binaries[] = {
	{ "or", EXPR_OR, 0, 1, 1 },          { "and", EXPR_AND, 0, 2, 2 },          { "<=", EXPR_OP, VALUE_LE, 3, 3 },
	{ ">=", EXPR_OP, VALUE_GE, 3, 3 },   { "~=", EXPR_OP, VALUE_NE, 3, 3 },     { "==", EXPR_OP, VALUE_EQ, 3, 3 },
	{ "<<", EXPR_OP, VALUE_SHL, 7, 7 },  { ">>", EXPR_OP, VALUE_SHR, 7, 7 },    { "<", EXPR_OP, VALUE_LT, 3, 3 },
	{ ">", EXPR_OP, VALUE_GT, 3, 3 },    { "|", EXPR_OP, VALUE_BOR, 4, 4 },     { "~", EXPR_OP, VALUE_BXOR, 5, 5 },
	{ "&", EXPR_OP, VALUE_BAND, 6, 6 },  { "+", EXPR_OP, VALUE_ADD, 10, 10 },   { "-", EXPR_OP, VALUE_SUB, 10, 10 },
	{ "*", EXPR_OP, VALUE_MUL, 11, 11 }, { "//", EXPR_OP, VALUE_IDIV, 11, 11 }, { "/", EXPR_OP, VALUE_DIV, 11, 11 },
	{ "%", EXPR_OP, VALUE_MOD, 11, 11 }, { "^", EXPR_OP, VALUE_POW, 14, 13 },
};
/* Operators of other languages, and Lua's. */
static const struct {
	const char *text, *lua;
} strangers[] = {
	{ "!=", "~=" }, { "&&", "and" }, { "||", "or" }, { "**", "^" }, { "!", "not" }, { "=", "==" },
};

struct parser {
	const struct expr_scope *scope;
	const char *text, *at, *end;
	int depth, stack, stack_max;
	struct expr *x;
	struct err *e;
};

/* --- parser ------------------------------------------------------------------------------------------------------- */
static void skip_space(struct parser *p)
{
	while (p->at < p->end && isspace((unsigned char)*p->at))
		p->at++;
}

static int fail(struct parser *p, const char *expected)
{
	char found[32] = "the end";
	skip_space(p);
	if (p->at < p->end) {
		size_t n = 0;
		while (n < 20 && p->at + n < p->end &&
		       (n == 0 || isalnum((unsigned char)p->at[n]) || (p->at[n] == '.' && isdigit((unsigned char)*p->at))))
			n++;
		snprintf(found, sizeof found, "'%.*s'", (int)n, p->at);
	}
	return err_set(p->e, ERR_INPUT, "`%.*s`, column %d: expected %s, found %s", (int)(p->end - p->text), p->text,
		       (int)(p->at - p->text) + 1, expected, found);
}

static int check_stranger(struct parser *p)
{
	skip_space(p);
	for (size_t k = 0; k < MEM_COUNT(strangers); k++) {
		size_t n = strlen(strangers[k].text);
		if ((size_t)(p->end - p->at) >= n && memcmp(p->at, strangers[k].text, n) == 0 &&
		    !(n == 1 && p->at + 1 < p->end && p->at[0] == '=' && p->at[1] == '='))
			return err_set(p->e, ERR_INPUT, "`%.*s`, column %d: write %s in place of %s", (int)(p->end - p->text),
				       p->text, (int)(p->at - p->text) + 1, strangers[k].lua, strangers[k].text);
	}
	return 0;
}

static void emit(struct parser *p, enum expr_code code, unsigned op, size_t arg, int effect)
{
	*MEM_PUSH(p->x->code, p->x->len) = (struct expr_ins){ .code = (uint8_t)code, .op = (uint8_t)op, .arg = (uint16_t)arg };
	p->stack += effect;
	if (p->stack > p->stack_max)
		p->stack_max = p->stack;
}

static void emit_const(struct parser *p, struct value v)
{
	*MEM_PUSH(p->x->consts, p->x->const_count) = v;
	emit(p, EXPR_CONST, 0, p->x->const_count - 1, 1);
}

static void add_slot(struct expr *x, uint16_t slot)
{
	size_t k = 0;
	while (k < x->slot_count && x->slots[k] < slot)
		k++;
	if (k < x->slot_count && x->slots[k] == slot)
		return;
	(void)MEM_PUSH(x->slots, x->slot_count);
	memmove(x->slots + k + 1, x->slots + k, (x->slot_count - 1 - k) * sizeof *x->slots);
	x->slots[k] = slot;
}

/* Letters, digits and underscores, with dots between; "" when there is no name here. */
static size_t read_name(struct parser *p, char name[NAME_MAX_LEN + 1])
{
	size_t n = 0;
	while (p->at + n < p->end && n < NAME_MAX_LEN && (lex_in_word(p->at[n]) || (p->at[n] == '.' && n > 0))) {
		name[n] = p->at[n];
		n++;
	}
	name[n] = '\0';
	return n;
}

static bool take(struct parser *p, char c)
{
	skip_space(p);
	if (p->at >= p->end || *p->at != c)
		return false;
	p->at++;
	return true;
}

/* Numerals as Lua reads them (§3.1): decimal integers that do not fit become floats, hexadecimal ones wrap. */
static int parse_number(struct parser *p)
{
	size_t n = 0;
	bool hex = p->end - p->at > 2 && p->at[0] == '0' && (p->at[1] | 32) == 'x', whole = true;
	while (p->at + n < p->end) {
		char c = p->at[n];
		bool sign = n > 0 && (c == '+' || c == '-') && (p->at[n - 1] | 32) == (hex ? 'p' : 'e');
		if (!lex_in_word(c) && c != '.' && !sign)
			break;
		whole = whole && (isdigit((unsigned char)c) || (hex && c != '.' && (c | 32) != 'p'));
		n++;
	}
	char *digits = mem_strn(p->at, n), *stop = NULL;
	struct value v;
	errno = 0;
	if (whole)
		v = value_of_int(hex ? (int64_t)strtoull(digits, &stop, 16) : (int64_t)strtoll(digits, &stop, 10));
	if (!whole || (!hex && errno == ERANGE))
		v = value_of_float(strtod(digits, &stop));
	bool good = *stop == '\0';
	free(digits);
	if (!good)
		return fail(p, "a number");
	p->at += n;
	emit_const(p, v);
	return 0;
}

static int parse_level(struct parser *p, int limit);

static int parse_call(struct parser *p, const char *name)
{
	int fn = 0, count = 0;
	char hint[96];
	while (fn < VALUE_FUNCTIONS && strcmp(name, value_function_names[fn]) != 0)
		fn++;
	if (fn == VALUE_FUNCTIONS)
		return err_set(p->e, ERR_INPUT, "`%.*s`: no function %s%s; there are cdiv, min, max, floor, ceil and abs",
			       (int)(p->end - p->text), p->text, name,
			       suggest_hint(name, value_function_names, VALUE_FUNCTIONS, hint));
	p->at++;
	do {
		int rc = parse_level(p, 0);
		if (rc < 0)
			return rc;
		count++;
	} while (take(p, ','));
	if (!take(p, ')'))
		return fail(p, "',' or ')'");
	bool good = fn == VALUE_CDIV ? count == 2 : fn == VALUE_MIN || fn == VALUE_MAX ? count < 100 : count == 1;
	if (!good)
		return err_set(p->e, ERR_INPUT, "`%.*s`: %s takes %s, not %d arguments", (int)(p->end - p->text), p->text, name,
			       fn == VALUE_CDIV                     ? "two numbers (dividend, divisor)"
			       : fn == VALUE_MIN || fn == VALUE_MAX ? "less than 100 numbers"
								    : "one number",
			       count);
	emit(p, EXPR_CALL, (unsigned)fn, (size_t)count, 1 - count);
	return 0;
}

static int parse_name(struct parser *p)
{
	char name[NAME_MAX_LEN + 1], hint[96];
	size_t n = read_name(p, name);
	if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0) {
		p->at += n;
		emit_const(p, value_of_bool(name[0] == 't'));
		return 0;
	}
	if (strcmp(name, "and") == 0 || strcmp(name, "or") == 0 || strcmp(name, "not") == 0)
		return fail(p, "a number or a name");
	p->at += n;
	skip_space(p);
	if (p->at < p->end && *p->at == '(')
		return parse_call(p, name);
	int slot = expr_scope_find(p->scope, name);
	if (slot < 0)
		return err_set(p->e, ERR_INPUT, "`%.*s`: no parameter, input or constant %s is known here%s",
			       (int)(p->end - p->text), p->text, name,
			       suggest_hint(name, (const char *const *)p->scope->names, p->scope->count, hint));
	add_slot(p->x, (uint16_t)slot);
	emit(p, EXPR_VAR, 0, (size_t)slot, 1);
	return 0;
}

static int parse_primary(struct parser *p)
{
	skip_space(p);
	if (p->at >= p->end)
		return fail(p, "a number or a name");
	if (*p->at == '(') {
		p->at++;
		int rc = parse_level(p, 0);
		if (rc < 0)
			return rc;
		return take(p, ')') ? 0 : fail(p, "')'");
	}
	if (isdigit((unsigned char)*p->at) || (*p->at == '.' && p->at + 1 < p->end && isdigit((unsigned char)p->at[1])))
		return parse_number(p);
	if (isalpha((unsigned char)*p->at) || *p->at == '_')
		return parse_name(p);
	int rc = check_stranger(p);
	return rc < 0 ? rc : fail(p, "a number or a name");
}

static int parse_unary(struct parser *p)
{
	skip_space(p);
	char name[NAME_MAX_LEN + 1];
	enum value_op op;
	size_t n = 1;
	if (read_name(p, name) == 3 && strcmp(name, "not") == 0)
		op = VALUE_NOT, n = 3;
	else if (p->at < p->end && *p->at == '-')
		op = VALUE_NEG;
	else if (p->at < p->end && *p->at == '~' && !(p->at + 1 < p->end && p->at[1] == '='))
		op = VALUE_BNOT;
	else
		return parse_primary(p);
	p->at += n;
	int rc = parse_level(p, UNARY_PRIORITY);
	if (rc == 0)
		emit(p, EXPR_OP, op, 0, 0);
	return rc;
}

static const struct binary *next_binary(struct parser *p)
{
	skip_space(p);
	for (size_t k = 0; k < MEM_COUNT(binaries); k++) {
		const struct binary *b = &binaries[k];
		size_t n = strlen(b->text);
		if ((size_t)(p->end - p->at) < n || memcmp(p->at, b->text, n) != 0)
			continue;
		bool word = isalpha((unsigned char)b->text[0]);
		if (!word || p->at + n == p->end || !lex_in_word(p->at[n]))
			return strcmp(b->text, "*") == 0 && p->at + 1 < p->end && p->at[1] == '*'   ? NULL
			       : strcmp(b->text, "&") == 0 && p->at + 1 < p->end && p->at[1] == '&' ? NULL
			       : strcmp(b->text, "|") == 0 && p->at + 1 < p->end && p->at[1] == '|' ? NULL
												    : b;
	}
	return NULL;
}

/* Code for `left OP right`; `and` and `or` jump over the right side and keep the left value when that decides. */
static int parse_right(struct parser *p, const struct binary *b)
{
	p->at += strlen(b->text);
	size_t jump = p->x->len;
	if (b->code != EXPR_OP)
		emit(p, b->code, 0, 0, -1);
	int rc = parse_level(p, b->right);
	if (rc < 0)
		return rc;
	if (b->code == EXPR_OP)
		emit(p, EXPR_OP, b->op, 0, -1);
	else
		p->x->code[jump].arg = (uint16_t)p->x->len;
	return 0;
}

static int parse_level(struct parser *p, int limit)
{
	if (++p->depth > DEPTH_MAX || p->stack_max > EXPR_STACK_MAX || p->x->len > UINT16_MAX - 8)
		return err_set(p->e, ERR_INPUT, "the expression is nested too deep or is too long: at most %d levels", DEPTH_MAX);
	int rc = parse_unary(p);
	while (rc == 0) {
		const struct binary *b = next_binary(p);
		if (b == NULL || b->left <= limit)
			break;
		rc = parse_right(p, b);
	}
	p->depth--;
	return rc;
}

int expr_parse(const struct expr_scope *scope, const char *text, size_t len, struct expr **ret_expr, struct err *e)
{
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	while (len && isspace((unsigned char)*text))
		text++, len--;
	struct parser p = { .scope = scope, .text = text, .at = text, .end = text + len, .x = MEM_NEW(struct expr), .e = e };
	int rc = parse_level(&p, 0);
	if (rc == 0) {
		rc = check_stranger(&p);
		if (rc == 0 && p.at < p.end)
			rc = fail(&p, "an operator or the end");
	}
	if (rc == 0 && p.stack_max > EXPR_STACK_MAX)
		rc = err_set(e, ERR_INPUT, "the expression is too long");
	if (rc < 0)
		expr_free(p.x);
	else
		*ret_expr = p.x;
	return rc;
}

void expr_free(struct expr *x)
{
	if (x == NULL)
		return;
	free(x->code);
	free(x->consts);
	free(x->slots);
	free(x);
}

const uint16_t *expr_slots(const struct expr *x, size_t *ret_count)
{
	*ret_count = x->slot_count;
	return x->slots;
}

bool expr_mentions(const struct expr *x, size_t slot)
{
	for (size_t k = 0; k < x->slot_count; k++)
		if (x->slots[k] == slot)
			return true;
	return false;
}

uint64_t expr_cost(const struct expr *x)
{
	uint64_t cost = 0;
	for (size_t k = 0; k < x->len; k++)
		cost += x->code[k].code == EXPR_OP && x->code[k].op == VALUE_POW ? POWER_COST : 1;
	return cost;
}

/* --- evaluation --------------------------------------------------------------------------------------------------- */
/* The common case, without a call: two integers whose result cannot fail. */
static bool fast_op(enum value_op op, struct value *a, const struct value *b)
{
	if (a->kind != VALUE_INT || b->kind != VALUE_INT)
		return false;
	int64_t x = a->i, y = b->i;
	if (op == VALUE_MUL)
		a->i = (int64_t)((uint64_t)x * (uint64_t)y);
	else if (op == VALUE_ADD)
		a->i = (int64_t)((uint64_t)x + (uint64_t)y);
	else if (op == VALUE_LE)
		*a = value_of_bool(x <= y);
	else if (op == VALUE_EQ)
		*a = value_of_bool(x == y);
	else if (op == VALUE_GE)
		*a = value_of_bool(x >= y);
	else if (op == VALUE_MOD && x >= 0 && y > 0)
		a->i = ((x | y) >> 32) == 0 ? (int64_t)((uint32_t)x % (uint32_t)y) : x % y;
	else
		return false;
	return true;
}

enum value_status expr_eval(const struct expr *x, const struct value *env, struct value *ret_value)
{
	struct value stack[EXPR_STACK_MAX + 8];
	struct value *top = stack; /* one above the last value */
	enum value_status st = VALUE_OK;
	for (size_t pc = 0; pc < x->len && st == VALUE_OK; pc++) {
		const struct expr_ins in = x->code[pc];
		switch ((enum expr_code)in.code) {
		case EXPR_CONST: *top++ = x->consts[in.arg]; break;
		case EXPR_VAR:
			*top++ = env[in.arg];
			st = env[in.arg].kind == VALUE_NONE ? VALUE_UNBOUND : VALUE_OK;
			break;
		case EXPR_OP:
			if (in.op >= VALUE_NEG)
				st = value_apply(in.op, top[-1], top[-1], &top[-1]);
			else if (top--, !fast_op(in.op, &top[-1], top))
				st = value_apply(in.op, top[-1], *top, &top[-1]);
			break;
		case EXPR_AND:
		case EXPR_OR:
			if (value_true(top[-1]) == (in.code == EXPR_OR))
				pc = (size_t)in.arg - 1;
			else
				top--;
			break;
		case EXPR_CALL:
			top -= in.arg;
			st = value_call(in.op, top, in.arg, top);
			top++;
			break;
		}
	}
	if (st == VALUE_OK)
		*ret_value = value_normal(top[-1]);
	return st;
}

/* aim: see aim.h. */
#include "core/context/aim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/lex.h"
#include "base/mem.h"
#include "core/context/expr.h"
#include "core/context/spec.h"

enum {
	COMPARED = 24, /* comparisons at most; the first ones of the code */
	LEAST = 8,     /* parameters at most whose ends count */
	SIDES = 3,     /* left is less, equal, greater */
	CLASSES = COMPARED * SIDES + 2 * LEAST,
	NAMED = 128,   /* names of code that stand for an expression */
	TOKENS = 64,   /* of an expression at most, */
	LONGEST = 512, /* and characters, once names are replaced */
	LOOKED = 4096, /* comparisons of anything at most: code is read in little time, whatever it is */
};

/* What the ends of values count, beside the code's own comparisons: sums overflow at the greatest. */
#define LEAST_VALUE 0.4
#define GREATEST_VALUE 0.6

/* A name that the code gives a value: `const int warps = BX * BY / 32`. */
struct named {
	char *name, *text;
};

struct compared {
	char *left, *right;
	struct expr *x, *y;
	bool equality; /* whether they are equal is all that counts; else which one is less, too */
};

struct aim {
	const struct spec *spec;
	struct value *env;
	struct compared compared[COMPARED];
	size_t count;
	struct named named[NAMED];
	size_t named_count;
	bool had[CLASSES][CLASSES]; /* a configuration in both; on the diagonal: in this one */
};

/* --- the code's comparisons ------------------------------------------------------------------------------------------ */

struct token {
	const char *at;
	size_t len;
};

struct tokens {
	struct token *at;
	size_t count;
};

static bool is(const struct tokens *t, size_t k, const char *text)
{
	return k < t->count && t->at[k].len == strlen(text) && memcmp(t->at[k].at, text, t->at[k].len) == 0;
}

static bool is_one(const struct tokens *t, size_t k, const char *const *texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is(t, k, texts[i]))
			return true;
	return false;
}

#define IS_ONE(t, k, ...) is_one(t, k, (const char *const[]){ __VA_ARGS__ }, MEM_COUNT(((const char *const[]){ __VA_ARGS__ })))

static bool is_word(const struct tokens *t, size_t k)
{
	return k < t->count && lex_in_word(t->at[k].at[0]);
}

/* Length of the operator at s; the longest one counts, so that `a <<= b` is no comparison. */
static size_t operator_length(const char *s)
{
	static const char *const long_ones[] = { "<<=", ">>=", "...", "==", "!=", "~=", "<=", ">=", "<<", ">>", "&&", "||", "->",
						 "++",  "--",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^=", "::", "##", ".." };
	for (size_t i = 0; i < MEM_COUNT(long_ones); i++)
		if (strncmp(s, long_ones[i], strlen(long_ones[i])) == 0)
			return strlen(long_ones[i]);
	return 1;
}

/* Words, numbers and operators; the end of a preprocessor's line is a semicolon. */
static struct tokens tokens_of(const char *text)
{
	struct tokens t = { .at = NULL };
	bool directive = false, begins = true;
	for (const char *at = text; *at;) {
		enum lex_kind kind;
		size_t n = lex_c(at, &kind);
		struct token token = { at, n };
		if (kind == LEX_OTHER && *at == '\n') {
			token.at = ";";
			if (directive)
				*MEM_PUSH(t.at, t.count) = token;
			directive = false;
			begins = true;
		} else if (kind == LEX_OTHER && strchr(" \t\r\\", *at)) {
			directive &= *at != '\\' || at[1] != '\n'; /* a continued line */
			n += *at == '\\' && at[1] == '\n';
		} else if (kind != LEX_COMMENT) {
			if (kind == LEX_OTHER)
				token.len = n = operator_length(at);
			directive |= begins && *at == '#';
			begins = false;
			*MEM_PUSH(t.at, t.count) = token;
		}
		at += n;
	}
	return t;
}

static const char *named_text(const struct aim *a, const struct token *x)
{
	for (size_t i = 0; i < a->named_count; i++)
		if (lex_is(x->at, x->len, a->named[i].name))
			return a->named[i].text;
	return NULL;
}

static bool is_parameter(const struct aim *a, const struct token *x)
{
	char *name = mem_strn(x->at, x->len);
	bool known = expr_scope_find(a->spec->scope, name) >= 0;
	free(name);
	return known;
}

static bool is_whole_number(const struct token *x)
{
	char *end;
	strtoull(x->at, &end, 0);
	return x->at[0] >= '0' && x->at[0] <= '9' && strspn(end, "uUlL") == (size_t)(x->at + x->len - end);
}

/* What the value of an expression may be computed from. */
static bool is_operand(const struct aim *a, const struct tokens *t, size_t k)
{
	return is_word(t, k) && (is_whole_number(&t->at[k]) || named_text(a, &t->at[k]) || is_parameter(a, &t->at[k]));
}

/* The longest arithmetic expression of known values that ends before token `end` or, forward, that begins at `first`. false: its
 * value depends on something else. */
static bool run_of(const struct aim *a, const struct tokens *t, size_t *io_first, size_t *io_end, bool forward)
{
	int depth = 0;
	size_t first = *io_first, end = *io_end;
	for (size_t k; forward ? end < t->count : first > 0; forward ? end++ : first--) {
		k = forward ? end : first - 1;
		bool opens = is(t, k, forward ? "(" : ")"), closes = is(t, k, forward ? ")" : "(");
		if (closes && depth == 0)
			break;
		depth += opens - closes;
		if (end - first > TOKENS)
			return false;
		if (!opens && !closes && !is_operand(a, t, k) && !IS_ONE(t, k, "+", "-", "*", "/", "%", "<<", ">>") &&
		    !(depth && IS_ONE(t, k, "&", "|")))
			break;
	}
	if (depth || first >= end)
		return false;
	bool called = first && is_word(t, first - 1) &&
		      !IS_ONE(t, first - 1, "if", "elif", "while", "return", "and", "or", "not", "elseif", "define");
	bool continues = first && (called || IS_ONE(t, first - 1, ")", "]", ".", "->", "::"));
	bool named = first >= 2 && is(t, first - 2, "define");
	if ((continues && !named) || IS_ONE(t, first, "+", "*", "/", "%", "<<", ">>", "&", "|") ||
	    IS_ONE(t, end - 1, "+", "-", "*", "/", "%", "<<", ">>", "&", "|") ||
	    IS_ONE(t, end, "(", "[", ".", "->", "::", "++", "--"))
		return false;
	*io_first = first;
	*io_end = end;
	return true;
}

/* In the language of expr.h, where / is no division of integers; free() */
static char *text_of(const struct aim *a, const struct tokens *t, size_t first, size_t end)
{
	struct buf out = BUF_INIT;
	for (size_t k = first; k < end && out.len <= LONGEST; k++) {
		const struct token *x = &t->at[k];
		const char *stands_for = is_word(t, k) ? named_text(a, x) : NULL;
		if (stands_for)
			buf_addf(&out, "(%s)", stands_for);
		else if (is_word(t, k) && is_whole_number(x))
			buf_addf(&out, "%llu", strtoull(x->at, NULL, 0));
		else if (is(t, k, "/"))
			buf_adds(&out, "//");
		else
			buf_add(&out, x->at, x->len);
	}
	return buf_steal(&out);
}

static bool has_tuning(const struct aim *a, const struct expr *x)
{
	for (size_t i = a->spec->input_count; i < a->spec->var_count; i++)
		if (expr_mentions(x, a->spec->vars[i].slot))
			return true;
	return false;
}

static void add(struct aim *a, char *take_left, char *take_right, bool equality)
{
	struct compared c = { .left = take_left, .right = take_right, .equality = equality };
	struct err ignored = ERR_INIT; /* not everything that looks like an expression is one */
	bool known = a->count == COMPARED || strlen(c.left) > LONGEST || strlen(c.right) > LONGEST;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->compared[i].left, c.left) == 0 && strcmp(a->compared[i].right, c.right) == 0) {
			a->compared[i].equality &= equality;
			known = true;
		}
	if (!known && expr_parse(a->spec->scope, c.left, strlen(c.left), &c.x, &ignored) == 0 &&
	    expr_parse(a->spec->scope, c.right, strlen(c.right), &c.y, &ignored) == 0 &&
	    (has_tuning(a, c.x) || has_tuning(a, c.y))) {
		a->compared[a->count++] = c;
		return;
	}
	expr_free(c.x);
	expr_free(c.y);
	free(c.left);
	free(c.right);
}

/* `NAME = EXPR;`, the first one of each name, and `#define NAME EXPR`. */
static void name_at(struct aim *a, const struct tokens *t, size_t k)
{
	bool define = k && is(t, k - 1, "define"), given = is(t, k + 1, "="), counts = false;
	bool declared = k && (is(t, k - 1, ",") || (is_word(t, k - 1) && !IS_ONE(t, k - 1, "else", "do", "then")));
	size_t first = k + 1 + given, end = first;
	for (size_t back = 2; back <= 4 && back <= k; back++)
		counts |= is(t, k - back, "for"); /* a loop's variable has many values */
	if (counts)
		return;
	if (!(define || given) || !declared || a->named_count == NAMED || !is_word(t, k) || is_operand(a, t, k) ||
	    !run_of(a, t, &first, &end, true) || (!IS_ONE(t, end, ";", ",", ")", "}") && !is_word(t, end)))
		return;
	struct named n = { .text = text_of(a, t, first, end) };
	if (strlen(n.text) > LONGEST) {
		free(n.text);
		return;
	}
	n.name = mem_strn(t->at[k].at, t->at[k].len);
	a->named[a->named_count++] = n;
}

/* `LEFT == RIGHT` and so on. */
static void comparison_at(struct aim *a, const struct tokens *t, size_t k)
{
	size_t left = k, left_end = k, right = k + 1, right_end = k + 1;
	if (run_of(a, t, &left, &left_end, false) && run_of(a, t, &right, &right_end, true))
		add(a, text_of(a, t, left, left_end), text_of(a, t, right, right_end), IS_ONE(t, k, "==", "!=", "~="));
}

/* `if (UNROLL % 3)`: whether it is zero. */
static void remainder_at(struct aim *a, const struct tokens *t, size_t k)
{
	size_t first = k, end = k, from = k + 1, to = k + 1;
	if (run_of(a, t, &first, &end, false) && run_of(a, t, &from, &to, true) && first &&
	    IS_ONE(t, first - 1, "(", "&&", "||", "!", "if") && IS_ONE(t, to, ")", "&&", "||", "?", ";"))
		add(a, text_of(a, t, first, to), mem_str("0"), true);
}

static void read(struct aim *a, const char *text, bool lua)
{
	char *code = mem_str(text ? text : "");
	for (char *at = code; lua && (at = strstr(at, "//"));)
		at[1] = ' '; /* Lua's division of integers */
	struct tokens t = tokens_of(code);
	for (size_t k = 0, looked = 0; k < t.count && looked < LOOKED; k++) {
		bool compares = IS_ONE(&t, k, "==", "!=", "~=", "<", ">", "<=", ">="), remains = is(&t, k, "%");
		name_at(a, &t, k);
		looked += compares || remains;
		if (compares)
			comparison_at(a, &t, k);
		else if (remains)
			remainder_at(a, &t, k);
	}
	free(t.at);
	free(code);
}

struct aim *aim_new(const struct context *ctx, const struct facts *facts)
{
	struct aim *a = MEM_NEW(struct aim);
	a->spec = context_spec(ctx);
	a->env = spec_env(a->spec, facts, NULL);
	read(a, context_region(ctx, REGION_MACROS), false);
	read(a, context_region(ctx, REGION_DEVICE), false);
	read(a, context_region(ctx, REGION_HOST), true);
	return a;
}

void aim_free(struct aim *a)
{
	for (size_t i = 0; a && i < a->count; i++) {
		free(a->compared[i].left);
		free(a->compared[i].right);
		expr_free(a->compared[i].x);
		expr_free(a->compared[i].y);
	}
	for (size_t i = 0; a && i < a->named_count; i++) {
		free(a->named[i].name);
		free(a->named[i].text);
	}
	if (a)
		free(a->env);
	free(a);
}

size_t aim_count(const struct aim *a)
{
	return a->count;
}

void aim_text(const struct aim *a, size_t k, const char **ret_left, const char **ret_right)
{
	*ret_left = a->compared[k].left;
	*ret_right = a->compared[k].right;
}

/* --- the points of a size -------------------------------------------------------------------------------------------- */

struct point {
	size_t at;  /* in the space */
	bool given; /* by aim_next */
	unsigned char class_count;
	unsigned char classes[COMPARED + 2 * LEAST]; /* ascending */
};

struct aim_size {
	struct aim *aim;
	const struct space *space;
	struct point *points;
	size_t count;
	double tells[CLASSES]; /* by class: the logarithm of one in how many points is in it */
};

static void put_class(struct point *p, size_t class)
{
	p->classes[p->class_count++] = (unsigned char)class;
}

static struct point point_at(const struct aim_size *s, size_t at)
{
	struct aim *a = s->aim;
	struct point p = { .at = at };
	for (size_t v = 0; v < a->spec->var_count; v++) {
		size_t n;
		a->env[a->spec->vars[v].slot] = space_domain(s->space, v, &n)[space_domain_index(s->space, at, v)];
	}
	for (size_t i = 0; i < a->count; i++) {
		struct value x, y, less, more;
		if (expr_eval(a->compared[i].x, a->env, &x) == VALUE_OK && expr_eval(a->compared[i].y, a->env, &y) == VALUE_OK &&
		    value_apply(VALUE_LT, x, y, &less) == VALUE_OK && value_apply(VALUE_GT, x, y, &more) == VALUE_OK)
			put_class(&p, i * SIDES + (!less.b && !more.b ? 1 : less.b || a->compared[i].equality ? 0 : 2));
	}
	for (size_t v = a->spec->input_count, k = 0; v < a->spec->var_count && k < LEAST; v++, k++) {
		struct value own = a->env[a->spec->vars[v].slot], less;
		size_t n, below = 0, above = 0;
		const struct value *all = space_domain(s->space, v, &n);
		for (size_t i = 0; i < n; i++) {
			below += value_apply(VALUE_LT, all[i], own, &less) == VALUE_OK && less.b;
			above += value_apply(VALUE_GT, all[i], own, &less) == VALUE_OK && less.b;
		}
		if (n > 1 && below == 0)
			put_class(&p, COMPARED * SIDES + 2 * k);
		else if (n > 1 && above == 0)
			put_class(&p, COMPARED * SIDES + 2 * k + 1);
	}
	return p;
}

static size_t common_divisor(size_t a, size_t b)
{
	return b ? common_divisor(b, a % b) : a;
}

static double weight_of(size_t class)
{
	return class < COMPARED * SIDES ? 1 : (class - COMPARED * SIDES) % 2 ? GREATEST_VALUE : LEAST_VALUE;
}

struct aim_size *aim_size_new(struct aim *a, const struct space *space, uint64_t seed)
{
	struct aim_size *s = MEM_NEW(struct aim_size);
	size_t all = space_count(space), stride = all > AIM_POINTS ? all / AIM_POINTS + seed % 64 : 1;
	*s = (struct aim_size){ .aim = a, .space = space, .count = all < AIM_POINTS ? all : AIM_POINTS };
	s->points = MEM_NEW_N(struct point, s->count + 1);
	while (common_divisor(stride, all) > 1)
		stride++;
	for (size_t i = 0, at = all ? seed % all : 0; i < s->count; i++, at = (at + stride) % all) {
		struct point *p = &s->points[i];
		*p = point_at(s, at);
		for (unsigned k = 0; k < p->class_count; k++)
			s->tells[p->classes[k]]++;
	}
	for (size_t i = 0; i < CLASSES; i++)
		if (s->tells[i] > 0)
			s->tells[i] = log((double)s->count / s->tells[i]) * weight_of(i);
	return s;
}

void aim_size_free(struct aim_size *s)
{
	if (s)
		free(s->points);
	free(s);
}

/* What judging it would add: for each two of its classes that no configuration before was in, the product of what each tells. */
static double gain_of(const struct aim_size *s, const struct point *p)
{
	double gain = 0;
	for (unsigned k = 0; k < p->class_count; k++)
		for (unsigned m = 0; m <= k; m++)
			if (!s->aim->had[p->classes[k]][p->classes[m]])
				gain += s->tells[p->classes[k]] * s->tells[p->classes[m]];
	return gain;
}

size_t aim_next(struct aim_size *s)
{
	struct point *best = NULL;
	double most = 0;
	for (size_t i = 0; i < s->count; i++) {
		double gain = s->points[i].given ? 0 : gain_of(s, &s->points[i]);
		if (gain > most) {
			most = gain;
			best = &s->points[i];
		}
	}
	if (best == NULL)
		return SIZE_MAX;
	best->given = true;
	return best->at;
}

void aim_had(struct aim_size *s, size_t at)
{
	struct point p = point_at(s, at);
	for (unsigned k = 0; k < p.class_count; k++)
		for (unsigned m = 0; m <= k; m++)
			s->aim->had[p.classes[k]][p.classes[m]] = true;
	for (size_t i = 0; i < s->count; i++)
		s->points[i].given |= s->points[i].at == at;
}

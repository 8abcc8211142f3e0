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
	FEATURES = 48, /* at most; the first ones of the code */
	SIDES = 3,     /* left is less, equal, greater; of an amount: least, between, greatest */
	CLASSES = FEATURES * SIDES,
	NAMED = 128,   /* names of code that stand for an expression */
	TOKENS = 64,   /* of an expression at most, */
	LONGEST = 512, /* and characters, once names are replaced */
	LOOKED = 4096, /* places in the code where one may be, at most: it is read in little time, whatever it is */
};

/* What sides of a feature count: what the code itself asks is more likely to be treated differently than what it only computes. */
#define ASKED 1.0
#define CUT_OFF 0.9
#define GREATEST 0.4
#define LEAST 0.2

/* A name that the code gives a value: `const int warps = BX * BY / 32`. */
struct named {
	char *name, *text;
};

enum kind {
	FEATURE_ORDER,     /* which of two expressions is less */
	FEATURE_EQUALITY,  /* whether they are equal */
	FEATURE_REMAINDER, /* whether the left one, a remainder, is zero */
	FEATURE_AMOUNT     /* whether the left one is the least or the greatest of a size */
};

/* By what configurations differ. */
struct feature {
	enum kind kind;
	char *left, *right; /* right: "0" where there is one expression */
	struct expr *x, *y;
};

struct aim {
	const struct spec *spec;
	struct value *env;
	struct feature features[FEATURES];
	size_t count;
	struct named named[NAMED];
	size_t named_count;
	unsigned char had[CLASSES][CLASSES]; /* configurations in both; on the diagonal: in this one */
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
			n += *at == '\\' && at[1] == '\n'; /* a continued line */
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

/* Conversions leave whole numbers as they are: `uint(n)`, `(size_t)n`. */
static void drop_conversions(struct tokens *t)
{
	size_t to = 0;
	for (size_t k = 0; k < t->count; k++) {
		bool opens = is(t, k, "("), closes = is(t, k + 2, ")");
		if (IS_ONE(t, k + opens, "int", "uint", "unsigned", "size_t", "long", "int32_t", "uint32_t", "int64_t",
			   "uint64_t") &&
		    (opens ? closes : is(t, k + 1, "(")))
			k += opens ? 2 : 0;
		else
			t->at[to++] = t->at[k];
	}
	t->count = to;
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

/* How far an expression goes. */
enum reach { REACH_SUM, REACH_TERM, REACH_FACTOR };

static bool is_operator(const struct tokens *t, size_t k, enum reach reach, int depth)
{
	if (depth && IS_ONE(t, k, "&", "|"))
		return true;
	if (IS_ONE(t, k, "+", "-", "<<", ">>"))
		return depth || reach == REACH_SUM;
	return IS_ONE(t, k, "*", "/", "%") && (depth || reach != REACH_FACTOR);
}

/* The longest arithmetic expression of known values that ends before token `end` or, forward, that begins at `first`. false: its
 * value depends on something else. */
static bool run_of(const struct aim *a, const struct tokens *t, size_t *io_first, size_t *io_end, bool forward, enum reach reach)
{
	int depth = 0;
	size_t first = *io_first, end = *io_end;
	for (size_t k; forward ? end < t->count : first > 0; forward ? end++ : first--) {
		k = forward ? end : first - 1;
		bool opens = is(t, k, forward ? "(" : ")"), closes = is(t, k, forward ? ")" : "(");
		if ((closes && depth == 0) || (reach == REACH_FACTOR && depth == 0 && end > first))
			break;
		depth += opens - closes;
		if (end - first > TOKENS)
			return false;
		if (!opens && !closes && !is_operand(a, t, k) && !is_operator(t, k, reach, depth))
			break;
	}
	if (depth || first >= end)
		return false;
	bool called = first && is_word(t, first - 1) &&
		      !IS_ONE(t, first - 1, "if", "elif", "while", "return", "and", "or", "not", "elseif", "define", "case");
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

static void add(struct aim *a, enum kind kind, char *take_left, char *take_right)
{
	struct feature c = { .kind = kind, .left = take_left, .right = take_right };
	struct err ignored = ERR_INIT; /* not everything that looks like an expression is one */
	bool known = a->count == FEATURES || strlen(c.left) > LONGEST || strlen(c.right) > LONGEST;
	for (size_t i = 0; i < a->count; i++) {
		struct feature *own = &a->features[i];
		bool alike = own->kind == kind || (own->kind <= FEATURE_EQUALITY && kind <= FEATURE_EQUALITY);
		if (alike && strcmp(own->left, c.left) == 0 && strcmp(own->right, c.right) == 0) {
			own->kind = kind < own->kind ? kind : own->kind;
			known = true;
		}
	}
	if (!known && expr_parse(a->spec->scope, c.left, strlen(c.left), &c.x, &ignored) == 0 &&
	    expr_parse(a->spec->scope, c.right, strlen(c.right), &c.y, &ignored) == 0 &&
	    (has_tuning(a, c.x) || has_tuning(a, c.y))) {
		a->features[a->count++] = c;
		return;
	}
	expr_free(c.x);
	expr_free(c.y);
	free(c.left);
	free(c.right);
}

/* A loop's variable has many values. */
static bool is_counter(const struct tokens *t, size_t k)
{
	for (size_t back = 1; back <= 4 && back <= k; back++)
		if (is(t, k - back, "for"))
			return true;
	return false;
}

/* `NAME = EXPR;`, the first one of each name, and `#define NAME EXPR`. */
static void name_at(struct aim *a, const struct tokens *t, size_t k)
{
	bool define = k && is(t, k - 1, "define"), given = is(t, k + 1, "=");
	bool declared = k && (is(t, k - 1, ",") || (is_word(t, k - 1) && !IS_ONE(t, k - 1, "else", "do", "then")));
	size_t first = k + 1 + given, end = first;
	if (!(define || given) || !declared || a->named_count == NAMED || !is_word(t, k) || is_operand(a, t, k) ||
	    is_counter(t, k) || !run_of(a, t, &first, &end, true, REACH_SUM) ||
	    (!IS_ONE(t, end, ";", ",", ")", "}") && !is_word(t, end)))
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
	enum kind kind = IS_ONE(t, k, "==", "!=", "~=") ? FEATURE_EQUALITY : FEATURE_ORDER;
	if (run_of(a, t, &left, &left_end, false, REACH_SUM) && run_of(a, t, &right, &right_end, true, REACH_SUM))
		add(a, kind, text_of(a, t, left, left_end), text_of(a, t, right, right_end));
}

/* `A * B / C`, which may be cut off, and `A % B`: whether C divides. */
static void division_at(struct aim *a, const struct tokens *t, size_t k)
{
	size_t first = k, end = k, from = k + 1, to = k + 1;
	if (!run_of(a, t, &first, &end, false, REACH_TERM) || !run_of(a, t, &from, &to, true, REACH_FACTOR))
		return;
	char *left = text_of(a, t, first, end), *right = text_of(a, t, from, to);
	add(a, FEATURE_REMAINDER, mem_fmt("(%s)%%%s", left, right), mem_str("0"));
	free(left);
	free(right);
}

/* `switch (EXPR)` and `case 64:`. *io_text: of the switch, NULL where it is not known; free() */
static void case_at(struct aim *a, const struct tokens *t, size_t k, char **io_text)
{
	size_t first = k + 1 + is(t, k, "switch"), end = first;
	bool known = run_of(a, t, &first, &end, true, REACH_SUM);
	if (is(t, k, "switch")) {
		free(*io_text);
		*io_text = known ? text_of(a, t, first, end) : NULL;
	} else if (*io_text && known) {
		add(a, FEATURE_EQUALITY, mem_str(*io_text), text_of(a, t, first, end));
	}
}

/* What is computed and not only named: how long a loop is, or an array. Returns its end. */
static size_t amount_at(struct aim *a, const struct tokens *t, size_t k)
{
	size_t first = k, end = k;
	if (!(is_operand(a, t, k) || is(t, k, "(")) || (k && is_operator(t, k - 1, REACH_SUM, 1)) ||
	    !run_of(a, t, &first, &end, true, REACH_SUM) || end - first < 3)
		return k;
	add(a, FEATURE_AMOUNT, text_of(a, t, first, end), mem_str("0"));
	return end - 1;
}

/* The tokens of one region; tokens.at and text are to be freed. */
struct code {
	char *text;
	struct tokens tokens;
};

static struct code code_of(const char *text, bool lua)
{
	struct code c = { .text = mem_str(text ? text : "") };
	for (char *at = c.text; lua && (at = strstr(at, "//"));)
		at[1] = ' '; /* Lua's division of integers */
	for (char *at = c.text; lua && (at = strstr(at, "--"));)
		memset(at, ' ', strcspn(at, "\n")); /* its comments */
	c.tokens = tokens_of(c.text);
	drop_conversions(&c.tokens);
	return c;
}

static void read_questions(struct aim *a, const struct tokens *t)
{
	char *cases = NULL;
	for (size_t k = 0, looked = 0; k < t->count && looked < LOOKED; k++) {
		bool compares = IS_ONE(t, k, "==", "!=", "~=", "<", ">", "<=", ">="), divides = IS_ONE(t, k, "/", "%");
		name_at(a, t, k);
		looked += compares || divides;
		if (compares)
			comparison_at(a, t, k);
		else if (divides)
			division_at(a, t, k);
		else if (IS_ONE(t, k, "switch", "case"))
			case_at(a, t, k, &cases);
	}
	free(cases);
}

static void read_amounts(struct aim *a, const struct tokens *t)
{
	for (size_t k = 0, looked = 0, behind = 0; k < t->count && looked < LOOKED; k++) {
		name_at(a, t, k); /* what it is made of may stand behind it, or in another region */
		looked += is_operand(a, t, k);
		if (k >= behind)
			behind = amount_at(a, t, k) + 1;
	}
}

/* Tiles that another parameter does not divide are often an exception. */
static void add_parameters(struct aim *a)
{
	const struct spec *spec = a->spec;
	for (size_t i = spec->input_count; i < spec->var_count; i++)
		add(a, FEATURE_AMOUNT, mem_str(spec->vars[i].name), mem_str("0"));
	for (size_t i = spec->input_count; i < spec->var_count; i++)
		for (size_t k = spec->input_count; k < spec->var_count; k++)
			if (i != k)
				add(a, FEATURE_REMAINDER,
				    mem_fmt("max(%s,%s)%%%s", spec->vars[i].name, spec->vars[k].name, spec->vars[k].name),
				    mem_str("0"));
}

struct aim *aim_new(const struct context *ctx, const struct facts *facts)
{
	struct aim *a = MEM_NEW(struct aim);
	a->spec = context_spec(ctx);
	a->env = spec_env(a->spec, facts, NULL);
	struct code codes[] = { code_of(context_region(ctx, REGION_MACROS), false),
				code_of(context_region(ctx, REGION_DEVICE), false),
				code_of(context_region(ctx, REGION_HOST), true) };
	/* Features are limited: what the code asks comes first. */
	for (size_t i = 0; i < MEM_COUNT(codes); i++)
		read_questions(a, &codes[i].tokens);
	add_parameters(a);
	for (size_t i = 0; i < MEM_COUNT(codes); i++) {
		read_amounts(a, &codes[i].tokens);
		free(codes[i].tokens.at);
		free(codes[i].text);
	}
	return a;
}

void aim_free(struct aim *a)
{
	for (size_t i = 0; a && i < a->count; i++) {
		free(a->features[i].left);
		free(a->features[i].right);
		expr_free(a->features[i].x);
		expr_free(a->features[i].y);
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
	*ret_left = a->features[k].left;
	*ret_right = a->features[k].right;
}

/* --- the points of a size -------------------------------------------------------------------------------------------- */

struct point {
	size_t at;  /* in the space */
	bool given; /* by aim_next */
	unsigned char class_count;
	unsigned char classes[FEATURES]; /* ascending */
};

struct aim_size {
	struct aim *aim;
	const struct space *space;
	struct point *points;
	size_t count;
	double least[FEATURES], greatest[FEATURES]; /* of amounts */
	double tells[CLASSES];                      /* of n points that one in k is in this class: log k, weighted */
};

/* Sets the parameters of point `at`. */
static void go_to(const struct aim_size *s, size_t at)
{
	struct aim *a = s->aim;
	for (size_t v = 0; v < a->spec->var_count; v++) {
		size_t n;
		a->env[a->spec->vars[v].slot] = space_domain(s->space, v, &n)[space_domain_index(s->space, at, v)];
	}
}

/* Left minus right, by its sign and, of amounts, its size. false: it cannot be computed. */
static bool difference(const struct aim *a, const struct feature *f, double *ret_difference)
{
	struct value x, y;
	if (expr_eval(f->x, a->env, &x) != VALUE_OK || expr_eval(f->y, a->env, &y) != VALUE_OK || x.kind == VALUE_BOOL ||
	    y.kind == VALUE_BOOL)
		return false;
	*ret_difference = value_double(x) - value_double(y);
	return isfinite(*ret_difference);
}

static struct point point_at(const struct aim_size *s, size_t at)
{
	const struct aim *a = s->aim;
	struct point p = { .at = at };
	go_to(s, at);
	for (size_t i = 0; i < a->count; i++) {
		const struct feature *f = &a->features[i];
		double d;
		if (!difference(a, f, &d))
			continue;
		unsigned side = d < 0 ? 0 : d > 0 ? 2 : 1;
		if (f->kind == FEATURE_AMOUNT)
			side = d <= s->least[i] ? 0 : d >= s->greatest[i] ? 2 : 1;
		else if (f->kind != FEATURE_ORDER && side == 2)
			side = 0;
		p.classes[p.class_count++] = (unsigned char)(i * SIDES + side);
	}
	return p;
}

static double weight_of(const struct aim *a, size_t class)
{
	switch (a->features[class / SIDES].kind) {
	case FEATURE_REMAINDER: return CUT_OFF;
	case FEATURE_AMOUNT: return class % SIDES == 0 ? LEAST : class % SIDES == 1 ? 0 : GREATEST;
	case FEATURE_ORDER:
	case FEATURE_EQUALITY: break;
	}
	return ASKED;
}

struct aim_size *aim_size_new(struct aim *a, const struct space *space, uint64_t seed)
{
	struct aim_size *s = MEM_NEW(struct aim_size);
	size_t at[AIM_POINTS];
	*s = (struct aim_size){ .aim = a, .space = space, .count = space_sample(space, seed, AIM_POINTS, at) };
	s->points = MEM_NEW_N(struct point, s->count + 1);
	for (size_t k = 0; k < a->count; k++) {
		s->least[k] = INFINITY;
		s->greatest[k] = -INFINITY;
	}
	for (size_t i = 0; i < s->count; i++) {
		double d;
		s->points[i].at = at[i];
		go_to(s, at[i]);
		for (size_t k = 0; k < a->count; k++)
			if (a->features[k].kind == FEATURE_AMOUNT && difference(a, &a->features[k], &d)) {
				s->least[k] = fmin(s->least[k], d);
				s->greatest[k] = fmax(s->greatest[k], d);
			}
	}
	for (size_t i = 0; i < s->count; i++) {
		struct point *p = &s->points[i];
		*p = point_at(s, p->at);
		for (unsigned k = 0; k < p->class_count; k++)
			s->tells[p->classes[k]]++;
	}
	for (size_t i = 0; i < a->count * SIDES; i++)
		if (s->tells[i] > 0)
			s->tells[i] = log((double)s->count / s->tells[i]) * weight_of(a, i);
	return s;
}

void aim_size_free(struct aim_size *s)
{
	if (s)
		free(s->points);
	free(s);
}

/* What judging it would add: for each two of its classes the product of what each tells, the less the more configurations were in
 * both before. */
static double gain_of(const struct aim_size *s, const struct point *p)
{
	double gain = 0;
	for (unsigned k = 0; k < p->class_count; k++)
		for (unsigned m = 0; m <= k && s->tells[p->classes[k]] > 0; m++) {
			double had = 1 + s->aim->had[p->classes[k]][p->classes[m]];
			gain += s->tells[p->classes[k]] * s->tells[p->classes[m]] / (had * had);
		}
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
			s->aim->had[p.classes[k]][p.classes[m]] += s->aim->had[p.classes[k]][p.classes[m]] < 255;
	for (size_t i = 0; i < s->count; i++)
		s->points[i].given |= s->points[i].at == at;
}

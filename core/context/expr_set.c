/* expr_set: sets of values in front matter; see expr.h. */
#include "core/context/expr.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/lex.h"
#include "base/mem.h"

enum { STEPS_MAX = 1 << 20 }; /* of a loop, those that its condition drops included */

struct expr_set {
	struct expr **items; /* the elements of {…}, or the one expression of a loop */
	size_t item_count;
	bool loop;
	size_t slot;                          /* of the loop variable */
	struct expr *from, *to, *step, *when; /* step and when may be NULL */
};

void expr_set_free(struct expr_set *s)
{
	if (s == NULL)
		return;
	for (size_t k = 0; k < s->item_count; k++)
		expr_free(s->items[k]);
	free(s->items);
	expr_free(s->from);
	expr_free(s->to);
	expr_free(s->step);
	expr_free(s->when);
	free(s);
}

/* Offset of `what` (a comma or a word) outside of parentheses, len when it is not there. */
static size_t find_outside(const char *text, size_t len, const char *what)
{
	int depth = 0;
	size_t n = strlen(what);
	bool word = isalpha((unsigned char)what[0]);
	for (size_t k = 0; k < len; k++) {
		depth += (text[k] == '(' || text[k] == '{') - (text[k] == ')' || text[k] == '}');
		if (depth || k + n > len || memcmp(text + k, what, n) != 0)
			continue;
		bool before = k > 0 && lex_in_word(text[k - 1]), after = k + n < len && lex_in_word(text[k + n]);
		if (!word || (!before && !after))
			return k;
	}
	return len;
}

static void trim(const char **text, size_t *len)
{
	while (*len && isspace((unsigned char)**text))
		++*text, --*len;
	while (*len && isspace((unsigned char)(*text)[*len - 1]))
		--*len;
}

static int bad_loop(const char *text, size_t len, struct err *e)
{
	return err_set(e, ERR_INPUT, "`%.*s`: expected `EXPR for NAME = FROM, TO [, STEP] [if CONDITION]`", (int)len, text);
}

/* `NAME = FROM, TO [, STEP] [if COND]` behind the element and `for`. Only the element and COND see the loop variable. */
static int parse_loop(struct expr_scope *scope, struct expr_set *s, const char *item, size_t item_len, const char *text, size_t len,
		      struct err *e)
{
	trim(&text, &len);
	size_t n = 0, equals = find_outside(text, len, "="), cond = find_outside(text, len, "if");
	while (n < len && lex_in_word(text[n]))
		n++;
	const char *range = text + equals + 1;
	bool good = n > 0 && equals < len && equals < cond;
	size_t range_len = good ? cond - equals - 1 : 0;
	if (!good || find_outside(range, range_len, ",") == range_len)
		return bad_loop(text, len, e);
	char *name = mem_strn(text, n);
	struct expr **parts[] = { &s->from, &s->to, &s->step };
	int rc = 0;
	if (expr_scope_find(scope, name) >= 0)
		rc = err_set(e, ERR_INPUT,
			     "the loop variable %s is also the name of an input, parameter or constant; choose another", name);
	for (size_t k = 0; rc == 0 && k < 3 && range_len > 0; k++) {
		size_t comma = k == 2 ? range_len : find_outside(range, range_len, ",");
		rc = expr_parse(scope, range, comma, parts[k], e);
		comma += comma < range_len;
		range += comma;
		range_len -= comma;
	}
	if (rc == 0 && s->to == NULL)
		rc = bad_loop(text, len, e);
	if (rc == 0) {
		struct expr *element = NULL;
		s->loop = true;
		s->slot = expr_scope_add(scope, name);
		rc = expr_parse(scope, item, item_len, &element, e);
		if (rc == 0)
			*MEM_PUSH(s->items, s->item_count) = element;
		if (rc == 0 && cond < len)
			rc = expr_parse(scope, text + cond + 2, len - cond - 2, &s->when, e);
		scope->names[s->slot][0] = '('; /* hides the loop variable from later expressions */
	}
	free(name);
	return rc;
}

static int parse_items(struct expr_scope *scope, struct expr_set *s, const char *text, size_t len, struct err *e)
{
	for (;;) {
		size_t comma = find_outside(text, len, ",");
		struct expr *x = NULL;
		int rc = expr_parse(scope, text, comma, &x, e);
		if (rc < 0)
			return rc;
		*MEM_PUSH(s->items, s->item_count) = x;
		if (comma == len)
			return 0;
		text += comma + 1;
		len -= comma + 1;
		trim(&text, &len);
		if (len == 0)
			return 0; /* Lua allows a comma behind the last value */
	}
}

int expr_set_parse(struct expr_scope *scope, const char *text, size_t len, struct expr_set **ret_set, struct err *e)
{
	struct expr_set *s = MEM_NEW(struct expr_set);
	bool braces = false;
	int rc;
	trim(&text, &len);
	if (len && text[0] == '{') {
		if (text[len - 1] != '}') {
			rc = err_set(e, ERR_INPUT, "`%.*s`: expected '}' at the end", (int)len, text);
			goto out;
		}
		braces = true;
		text++;
		len -= 2;
		trim(&text, &len);
	}
	size_t loop = find_outside(text, len, "for");
	if (len == 0)
		rc = err_set(e, ERR_INPUT, "expected values, such as {16, 32, 64} or `1<<i for i = 0,10`");
	else if (loop < len)
		rc = parse_loop(scope, s, text, loop, text + loop + 3, len - loop - 3, e);
	else if (!braces && len > 1 && text[0] == '[' && text[len - 1] == ']')
		rc = err_set(e, ERR_INPUT, "`%.*s`: write values in braces: {%.*s}", (int)len, text, (int)len - 2, text + 1);
	else if (!braces && find_outside(text, len, ",") < len)
		rc = err_set(e, ERR_INPUT, "`%.*s`: write several values in braces: {%.*s}", (int)len, text, (int)len, text);
	else
		rc = parse_items(scope, s, text, len, e);
out:
	if (rc < 0)
		expr_set_free(s);
	else
		*ret_set = s;
	return rc;
}

static bool mentions(const struct expr *x, size_t slot)
{
	return x && expr_mentions(x, slot);
}

bool expr_set_mentions(const struct expr_set *s, size_t slot)
{
	if (s->loop && slot == s->slot)
		return false;
	for (size_t k = 0; k < s->item_count; k++)
		if (expr_mentions(s->items[k], slot))
			return true;
	return mentions(s->from, slot) || mentions(s->to, slot) || mentions(s->step, slot) || mentions(s->when, slot);
}

struct values {
	struct value *at;
	size_t count;
	uint64_t steps; /* of work */
};

static int add_value(struct values *v, const struct expr *x, const struct value *env, struct err *e)
{
	struct value got;
	enum value_status st = expr_eval(x, env, &got);
	if (st != VALUE_OK)
		return err_set(e, ERR_INPUT, "the values cannot be computed: %s", value_status_text(st));
	if (got.kind == VALUE_BOOL)
		return err_set(e, ERR_INPUT, "a value is true or false; expected numbers (write 0 and 1)");
	v->steps += expr_cost(x) + v->count / 2;
	for (size_t k = 0; k < v->count; k++)
		if (value_same(v->at[k], got))
			return 0;
	if (v->count == EXPR_SET_MAX)
		return err_set(e, ERR_INPUT, "more than %d values in one set; make the range shorter or its step longer",
			       EXPR_SET_MAX);
	*MEM_PUSH(v->at, v->count) = got;
	return 0;
}

static int bound(const struct expr *x, const struct value *env, const char *what, int64_t *ret_i, struct err *e)
{
	struct value got;
	enum value_status st = expr_eval(x, env, &got);
	if (st != VALUE_OK)
		return err_set(e, ERR_INPUT, "the range's %s cannot be computed: %s", what, value_status_text(st));
	if (!value_int(got, ret_i))
		return err_set(e, ERR_INPUT, "the range's %s is not an integer", what);
	return 0;
}

static int loop_values(const struct expr_set *s, struct value *env, struct values *v, struct err *e)
{
	int64_t from, to, step = 1, i;
	int rc = bound(s->from, env, "start", &from, e);
	if (rc == 0)
		rc = bound(s->to, env, "end", &to, e);
	if (rc == 0 && s->step)
		rc = bound(s->step, env, "step", &step, e);
	if (rc < 0)
		return rc;
	if (step == 0)
		return err_set(e, ERR_INPUT, "the range's step is 0");
	i = from;
	for (size_t steps = 0; rc == 0 && (step > 0 ? i <= to : i >= to); steps++) {
		if (steps == STEPS_MAX)
			return err_set(e, ERR_INPUT, "the range has more than %d steps", STEPS_MAX);
		env[s->slot] = value_of_int(i);
		v->steps += 1 + (s->when ? expr_cost(s->when) : 0);
		struct value keep = value_of_bool(true);
		/* A condition that divides by zero does not hold, as in where:. */
		if (s->when && expr_eval(s->when, env, &keep) != VALUE_OK)
			keep = value_of_bool(false);
		if (value_true(keep))
			rc = add_value(v, s->items[0], env, e);
		if (__builtin_add_overflow(i, step, &i))
			break;
	}
	env[s->slot].kind = VALUE_NONE;
	return rc;
}

int expr_set_values(const struct expr_set *s, struct value *env, struct value **ret_values, size_t *ret_count, uint64_t *steps,
		    struct err *e)
{
	struct values v = { NULL, 0, 0 };
	int rc = 0;
	if (s->loop)
		rc = loop_values(s, env, &v, e);
	for (size_t k = 0; rc == 0 && !s->loop && k < s->item_count; k++)
		rc = add_value(&v, s->items[k], env, e);
	if (steps)
		*steps += v.steps;
	if (rc < 0) {
		free(v.at);
		return rc;
	}
	*ret_values = v.at;
	*ret_count = v.count;
	return 0;
}

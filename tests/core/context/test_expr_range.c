/* Random expressions on ranges, compared with the same expressions on every value. A range must hold each value and each error. It
 * must also be narrow often enough, since a range of everything would always be right. */
#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "core/context/expr.h"
#include "tap.h"

enum { ROUNDS = 20000, VARS = 3, VALUES = 4 };

struct made {
	struct value at[VARS][VALUES];
	int count[VARS];
};

static uint64_t state = 20261122;

static int below(int n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int)((state >> 33) % (uint64_t)n);
}

static void write_number(struct buf *out, int depth)
{
	static const char *const operators[] = { "+", "-", "*", "/", "//", "%", "+", "*", "<<", "&" };
	static const char *const functions[] = { "floor", "ceil", "abs", "-" };
	static const char *const constants[] = { "0", "1", "2", "3", "7", "64", "0.5", "1e9", "9007199254740993", "-3" };
	int kind = depth ? below(10) : below(2);
	if (kind == 0) {
		buf_adds(out, constants[below(MEM_COUNT(constants))]);
	} else if (kind <= 2) {
		buf_addc(out, (char)('X' + below(VARS)));
	} else if (kind <= 6) {
		buf_addc(out, '(');
		write_number(out, depth - 1);
		buf_addf(out, " %s ", operators[below(MEM_COUNT(operators))]);
		write_number(out, depth - 1);
		buf_addc(out, ')');
	} else if (kind == 7) {
		buf_addf(out, "%s(", functions[below(MEM_COUNT(functions))]);
		write_number(out, depth - 1);
		buf_addc(out, ')');
	} else {
		static const char *const pairs[] = { "cdiv", "min", "max" };
		int power = kind == 9 && below(3) == 0;
		buf_addf(out, "%s(", power ? "" : pairs[below(MEM_COUNT(pairs))]);
		write_number(out, depth - 1);
		buf_adds(out, power ? ")^" : ", ");
		if (power) {
			buf_adds(out, "2");
			return;
		}
		write_number(out, depth - 1);
		buf_addc(out, ')');
	}
}

static void write_truth(struct buf *out, int depth)
{
	static const char *const relations[] = { "==", "~=", "<", "<=", ">", ">=" };
	int kind = depth ? below(8) : 7;
	if (kind <= 1) {
		buf_adds(out, "(");
		write_truth(out, depth - 1);
		buf_adds(out, kind ? " and " : " or ");
		if (below(4)) /* else a number, as Lua allows */
			write_truth(out, depth - 1);
		else
			write_number(out, 1);
		buf_adds(out, ")");
	} else if (kind == 2) {
		buf_adds(out, "not (");
		write_truth(out, depth - 1);
		buf_adds(out, ")");
	} else {
		write_number(out, 2);
		buf_addf(out, " %s ", relations[below(MEM_COUNT(relations))]);
		write_number(out, 2);
	}
}

static void make_values(struct made *m)
{
	static const int lows[] = { -9, -2, 0, 1, 1, 4, 100 };
	for (int v = 0; v < VARS; v++) {
		int value = lows[below(MEM_COUNT(lows))], half = below(6) == 0, step = below(2) ? 1 + below(16) : 0;
		m->count[v] = 1 + below(VALUES);
		for (int i = 0; i < m->count[v]; i++, value += step ? step : 1 + below(5))
			m->at[v][i] = half ? value_of_float(value + 0.5) : value_of_int(value);
	}
}

/* True when the range holds this value. */
static bool encloses(struct expr_range r, enum value_status st, struct value v)
{
	if (st != VALUE_OK)
		return r.fails;
	double d = value_double(v);
	if (r.number && r.whole && (d != floor(d) || (r.step == 0 ? d != r.lo : fmod(d - r.lo, (double)r.step) != 0)))
		return false;
	if (r.number)
		return d >= r.lo && d <= r.hi;
	return value_true(v) ? r.yes : r.no;
}

struct seen {
	size_t wrong, numbers, stepped, refuted, sure;
};

/* Binds the variables from v on. Each is first left open, with only its smallest and largest value known. */
static void look(const struct expr *x, const struct made *m, struct value *env, struct expr_range *wide,
		 const struct expr_range *outer, int n, int v, const char *text, struct seen *seen)
{
	if (v == VARS) {
		struct value value = value_of_bool(false);
		enum value_status st = expr_eval(x, env, &value);
		for (int i = 0; i < n; i++)
			if (!encloses(outer[i], st, value) && seen->wrong++ == 0)
				printf("# %s: %s, %g: not in %s%g…%g by %lld%s%s%s\n", text, value_status_text(st),
				       value_double(value), outer[i].number ? "" : "no number ", outer[i].lo, outer[i].hi,
				       (long long)outer[i].step, outer[i].yes ? " yes" : "", outer[i].no ? " no" : "",
				       outer[i].fails ? " fails" : "");
		return;
	}
	struct expr_range mine[VARS + 1];
	memcpy(mine, outer, (size_t)n * sizeof *outer);
	for (int i = 0; i < m->count[v]; i++) {
		env[v] = m->at[v][i];
		mine[n] = expr_range(x, env, wide);
		look(x, m, env, wide, mine, n + 1, v + 1, text, seen);
	}
	env[v].kind = VALUE_NONE;
}

int main(void)
{
	struct expr_scope *scope = expr_scope_new();
	struct seen seen = { 0 };
	for (int v = 0; v < VARS; v++)
		expr_scope_add(scope, (const char[]){ (char)('X' + v), '\0' });
	for (int round = 0; round < ROUNDS; round++) {
		struct made m;
		struct buf text = BUF_INIT;
		struct expr *x = NULL;
		struct err e = ERR_INIT;
		struct value env[VARS] = { 0 };
		struct expr_range wide[VARS], all;
		make_values(&m);
		for (int v = 0; v < VARS; v++) {
			wide[v] = expr_range_of(m.at[v][0]);
			for (int i = 1; i < m.count[v]; i++)
				wide[v] = expr_range_join(wide[v], expr_range_of(m.at[v][i]));
		}
		if (below(3))
			write_truth(&text, 3);
		else
			write_number(&text, 4);
		if (expr_parse(scope, buf_text(&text), text.len, &x, &e) < 0) {
			ok(0, "%s", e.text);
		} else {
			all = expr_range(x, env, wide);
			seen.numbers += all.number;
			seen.stepped += all.number && all.whole && all.step > 1;
			seen.refuted += !all.yes && !all.fails;
			seen.sure += !all.number && !all.no && !all.fails;
			look(x, &m, env, wide, &all, 1, 0, buf_text(&text), &seen);
		}
		expr_free(x);
		buf_fini(&text);
	}
	expr_scope_free(scope);
	printf("# %d expressions: %zu surely numbers, %zu of them in steps, %zu surely false, %zu surely true\n", ROUNDS,
	       seen.numbers, seen.stepped, seen.refuted, seen.sure);
	is_int(seen.wrong, 0, "every value lies in its range, and no error is taken for a number or truth value");
	ok(seen.numbers > 1000 && seen.stepped > 300 && seen.refuted > 1000 && seen.sure > 1000,
	   "ranges tell much before any variable is bound");
	return tap_done();
}

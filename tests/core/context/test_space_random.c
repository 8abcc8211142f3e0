/* Spaces compared with brute force: a few hundred random ones, with dependent sets, constraints in any order of parameters,
 * divisions by zero, and equations. Plain loops visit every combination: it must be in the space exactly when all constraints hold.
 * Samples must find every valid point equally often. */
#include <math.h>

#include "base/buf.h"
#include "core/context/sample.h"
#include "core/context/space.h"
#include "tap.h"

enum { ROUNDS = 300, VARS = 4, VALUES = 6, RULES = 4, KINDS = 9, POINTS_MAX = 2 * VALUES * VALUES * VALUES * VALUES };

struct rule {
	int kind, a, b, c, k;
};

struct made {
	int vars, rules;
	int count[VARS], value[VARS][VALUES]; /* count 0: {1, 2, P0*2}, which depends on P0 */
	struct rule rule[RULES];
};

static uint64_t state = 20261121;

static int below(int n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int)((state >> 33) % (uint64_t)n);
}

static void make(struct made *m)
{
	*m = (struct made){ .vars = 2 + below(VARS - 1), .rules = below(RULES + 1) };
	for (int v = 0; v < m->vars; v++) {
		m->count[v] = v > 0 && below(5) == 0 ? 0 : 1 + below(VALUES);
		for (int i = 0, value = 0; i < m->count[v]; i++)
			m->value[v][i] = value += 1 + below(4);
	}
	for (int r = 0; r < m->rules; r++)
		m->rule[r] = (struct rule){ below(KINDS), below(m->vars), below(m->vars), below(m->vars), 1 + below(40) };
}

static void write_rule(const struct rule *r, struct buf *out)
{
	int a = r->a, b = r->b, c = r->c, k = r->k;
	buf_adds(out, "  - ");
	switch (r->kind) {
	case 0: buf_addf(out, "P%d*P%d <= %d", a, b, k); break;
	case 1: buf_addf(out, "P%d %% P%d == 0", a, b); break;
	case 2: buf_addf(out, "P%d + P%d >= %d", a, b, k / 3); break;
	case 3: buf_addf(out, "P%d %% (P%d - 1) == 0", a, b); break;
	case 4: buf_addf(out, "P%d ~= P%d", a, b); break;
	case 5: buf_addf(out, "(P%d + P%d) * P%d < %d", a, c, b, 3 * k); break;
	case 6: buf_addf(out, "n %% P%d == 0", a); break;
	case 7: buf_addf(out, "P%d >= %d or P%d <= P%d", a, k / 4, b, c); break;
	case 8: buf_addf(out, "P%d // P%d == %d", a, b, k % 3); break;
	}
	buf_addc(out, '\n');
}

static bool holds(const struct rule *r, int n, const int p[VARS])
{
	int a = p[r->a], b = p[r->b], c = p[r->c], k = r->k;
	switch (r->kind) {
	case 0: return a * b <= k;
	case 1: return a % b == 0;
	case 2: return a + b >= k / 3;
	case 3: return b > 1 && a % (b - 1) == 0; /* a division by zero does not hold */
	case 4: return a != b;
	case 5: return (a + c) * b < 3 * k;
	case 6: return n % a == 0;
	case 7: return a >= k / 4 || b <= c;
	case 8: return a / b == k % 3;
	}
	return false;
}

static struct context *context_of(const struct made *m)
{
	struct buf fields = BUF_INIT;
	buf_adds(&fields, "tune:\n");
	for (int v = 0; v < m->vars; v++) {
		buf_addf(&fields, "  P%d: {", v);
		for (int i = 0; i < m->count[v]; i++)
			buf_addf(&fields, "%s%d", i ? ", " : "", m->value[v][i]);
		buf_adds(&fields, m->count[v] ? "}\n" : "1, 2, P0*2}\n");
	}
	buf_adds(&fields, m->rules ? "where:\n" : "");
	for (int r = 0; r < m->rules; r++)
		write_rule(&m->rule[r], &fields);
	struct context *ctx = sample_context("cuda", buf_text(&fields), "launch(\"k\", {1}, {1}, {A, C, n})\n");
	buf_fini(&fields);
	return ctx;
}

static struct params *params_of(const struct made *m, int n, const int p[VARS])
{
	struct params *params = params_new();
	char name[16];
	params_set_int(params, "n", false, n);
	for (int v = 0; v < m->vars; v++) {
		snprintf(name, sizeof name, "P%d", v);
		params_set_int(params, name, true, p[v]);
	}
	return params;
}

struct seen {
	size_t valid, wrong;
	struct {
		int n, p[VARS];
		size_t point;
	} at[POINTS_MAX];
};

/* Binds parameter v and all later ones. */
static void look(const struct made *m, const struct space *s, int n, int p[VARS], int v, struct seen *seen)
{
	const int dependent[3] = { 1, 2, 2 * p[0] };
	for (int i = 0; v < m->vars && i < (m->count[v] ? m->count[v] : p[0] == 1 ? 2 : 3); i++) {
		p[v] = m->count[v] ? m->value[v][i] : dependent[i];
		look(m, s, n, p, v + 1, seen);
	}
	if (v < m->vars)
		return;
	bool valid = true;
	for (int r = 0; r < m->rules; r++)
		valid = valid && holds(&m->rule[r], n, p);
	struct params *params = params_of(m, n, p);
	size_t point = space_find(s, params);
	seen->wrong += valid != (point != SIZE_MAX);
	if (valid && point != SIZE_MAX) {
		struct params *back = space_at(s, point);
		seen->wrong += !params_equal(params, back);
		params_free(back);
		seen->at[seen->valid].n = n;
		memcpy(seen->at[seen->valid].p, p, sizeof seen->at[0].p);
		seen->at[seen->valid].point = point;
	}
	seen->valid += valid;
	params_free(params);
}

static void beside_brute_force(void)
{
	static struct seen seen;
	size_t wrong = 0, empty = 0, points = 0, counts = 0;
	for (int round = 0; round < ROUNDS; round++) {
		struct made m;
		struct err e = ERR_INIT;
		struct space *s = NULL;
		char *why = NULL;
		int p[VARS] = { 0 };
		make(&m);
		struct context *ctx = context_of(&m);
		if (space_new_maybe(ctx, NULL, NULL, &s, &why, &e) < 0) {
			ok(0, "space %d: %s", round, e.text);
			context_free(ctx);
			continue;
		}
		seen.valid = seen.wrong = 0;
		look(&m, s, 64, p, 0, &seen);
		look(&m, s, 128, p, 0, &seen);
		wrong += seen.wrong;
		counts += seen.valid != space_count(s) || (seen.valid == 0) != (why != NULL);
		empty += seen.valid == 0;
		points += seen.valid;
		free(why);
		space_free(s);
		context_free(ctx);
	}
	printf("# %d spaces, %zu of them empty, %zu valid points\n", ROUNDS, empty, points);
	ok(empty > 10 && points > 10000, "%d random spaces, some of them empty", ROUNDS);
	is_int(wrong, 0, "a point is in the space exactly when all constraints hold, and is found at its index");
	is_int(counts, 0, "the space has as many points as brute force finds, and an empty one gives the reason");
}

/* --- equations --------------------------------------------------------------------------------------------------------- */

enum { EQUATIONS = 400, TIMES_MAX = 24, FORMS = 11 };

/* An equation of parameters with equally spaced values from `first` on. Half of the equations have a solution. */
struct equation {
	int first[3], step[3], times[3], form, k;
	long c;
};

static long floor_mod(long a, long b)
{
	return ((a % b) + b) % b;
}

/* The left side of the equation; *ret_there is false for a division by zero. */
static long left_side(const struct equation *q, long x, long y, long z, bool *ret_there)
{
	*ret_there = true;
	switch (q->form) {
	case 0: return x * y * z;
	case 1: return x * y + z;
	case 2: return (x + y) * z;
	case 3: return x * y - 3 * z;
	case 4: return 5 * x - (y * 7 + z * z);
	case 5: return floor_mod(x * y + z, q->k);
	case 6: return x * x * y - z;
	case 7: return (x > y ? x : y) * z;
	case 8: return (x + (q->k - 1) - floor_mod(x + (q->k - 1), q->k)) / q->k * y + 0 * z;
	case 9: return labs(x - y) * z;
	}
	*ret_there = z != 0;
	return z ? floor_mod(x * y * q->k, labs(z)) : 0; /* the sign does not matter, because the right side is zero */
}

static const char *const forms[FORMS] = {
	"X*Y*Z == %ld",           "X*Y + Z == %ld",   "(X + Y)*Z == %ld",   "not (X*Y - 3*Z ~= %ld)", "5*X - (Y*7 + Z*Z) == %ld",
	"(X*Y + Z) %% %d == %ld", "%ld == X^2*Y - Z", "max(X, Y)*Z == %ld", "cdiv(X, %d)*Y == %ld",   "abs(X - Y)*Z == %ld",
	"X*Y*%d %% Z == %ld",
};

static struct context *equation_of(const struct equation *q)
{
	struct buf fields = BUF_INIT;
	buf_adds(&fields, "tune:\n");
	for (int v = 0; v < 3; v++)
		buf_addf(&fields, "  %c: %d + %d*i for i = 0,%d\n", "XYZ"[v], q -> first[v], q -> step[v], q -> times[v] - 1);
	buf_adds(&fields, "where: ");
	if (q->form == 5 || q->form == 8 || q->form == 10)
		buf_addf(&fields, forms[q->form], q->k, q->c);
	else
		buf_addf(&fields, forms[q->form], q->c);
	buf_addc(&fields, '\n');
	struct context *ctx = sample_context("cuda", buf_text(&fields), "launch(\"k\", {1}, {1}, {A, C, n})\n");
	buf_fini(&fields);
	return ctx;
}

static void make_equation(struct equation *q, int form)
{
	static const int firsts[] = { 1, 1, 8, 0, -5, 100 };
	bool there;
	long at[3];
	*q = (struct equation){ .form = form, .k = 1 + below(12) };
	for (int v = 0; v < 3; v++) {
		q->first[v] = firsts[below(MEM_COUNT(firsts))];
		q->step[v] = 1 + below(8);
		q->times[v] = 1 + below(TIMES_MAX);
		at[v] = q->first[v] + (long)q->step[v] * below(q->times[v]);
	}
	q->c = left_side(q, at[0], at[1], at[2], &there);
	q->c += form != 10 && below(2) ? below(9) - 4 : 0;
	q->c = form == 10 ? 0 : q->c;
}

/* Counts the points of n = 64 that plain loops find; *wrong counts those that the space lacks. */
static size_t solve(const struct equation *q, const struct space *s, size_t *wrong)
{
	size_t found = 0;
	for (int i = 0; i < q->times[0]; i++)
		for (int j = 0; j < q->times[1]; j++)
			for (int k = 0; k < q->times[2]; k++) {
				bool there;
				long x = q->first[0] + q->step[0] * i, y = q->first[1] + q->step[1] * j,
				     z = q->first[2] + q->step[2] * k;
				if (left_side(q, x, y, z, &there) != q->c || !there)
					continue;
				struct params *p = params_new();
				params_set_int(p, "n", false, 64);
				params_set_int(p, "X", true, x);
				params_set_int(p, "Y", true, y);
				params_set_int(p, "Z", true, z);
				*wrong += space_find(s, p) == SIZE_MAX;
				params_free(p);
				found++;
			}
	return found;
}

/* Equations prune most of a space: no solution may be pruned. */
static void equations(void)
{
	size_t wrong = 0, counts = 0, solvable = 0, points = 0;
	double raw = 0, visited = 0;
	for (int round = 0; round < EQUATIONS; round++) {
		struct equation q;
		struct err e = ERR_INIT;
		struct space *s = NULL;
		char *why = NULL;
		make_equation(&q, round % FORMS);
		struct context *ctx = equation_of(&q);
		if (space_new_maybe(ctx, NULL, NULL, &s, &why, &e) < 0) {
			ok(0, "equation %d: %s", round, e.text);
			context_free(ctx);
			continue;
		}
		size_t missing = 0, found = solve(&q, s, &missing);
		if (missing || 2 * found != space_count(s))
			printf("# X %d+%d*%d Y %d+%d*%d Z %d+%d*%d %s k=%d c=%ld: %zu, %zu missing, space has %zu\n", q.first[0],
			       q.step[0], q.times[0], q.first[1], q.step[1], q.times[1], q.first[2], q.step[2], q.times[2],
			       forms[q.form], q.k, q.c, found, missing, space_count(s));
		wrong += missing;
		counts += 2 * found != space_count(s); /* the same number for n = 128 */
		solvable += found > 0;
		points += found;
		raw += space_raw(s);
		visited += (double)space_visited(s);
		free(why);
		space_free(s);
		context_free(ctx);
	}
	printf("# %d equations, %zu of them solvable, %zu solutions; %.0f of %.0f looked at\n", EQUATIONS, solvable, points,
	       visited, raw);
	ok(solvable > EQUATIONS / 3 && solvable < EQUATIONS, "equations of three parameters, %zu of them solvable", solvable);
	ok(wrong == 0 && counts == 0, "a space holds exactly the solutions of a plain loop (%zu missing, %zu spaces)", wrong,
	   counts);
	ok(visited < raw / 4, "fewer than a quarter of all combinations are visited");
}

/* Pearson's chi square as standard deviations from its mean. Seeds are fixed: 6 is far beyond chance. */
static double deviations(const unsigned *hits, size_t points, double draws)
{
	double expected = draws / (double)points, sum = 0;
	for (size_t i = 0; i < points; i++)
		sum += (hits[i] - expected) * (hits[i] - expected) / expected;
	return (sum - (double)(points - 1)) / sqrt(2.0 * (double)(points - 1));
}

static void uniform(void)
{
	struct context *ctx = sample_context("cuda",
					     "tune:\n  X: i for i = 1,64\n  Y: i for i = 1,64\n  Z: {1, 2, X}\n"
					     "where:\n  - X*Y <= 500\n  - X % Z == 0\n  - Y % 2 == X % 2\n",
					     "launch(\"k\", {1}, {1}, {A, C, n})\n");
	struct space *s = NULL;
	struct err e = ERR_INIT;
	size_t sample[256]; /* large, because positions before the shuffle are far from uniform */
	if (space_new(ctx, NULL, NULL, &s, &e) < 0) {
		ok(0, "%s", e.text);
		return;
	}
	size_t n = space_count(s), draws = 100 * n;
	unsigned *hits = MEM_NEW_N(unsigned, n), *first = MEM_NEW_N(unsigned, n);
	ok(n > 1000, "a space of %zu points is sampled", n);
	for (size_t seed = 0; seed < draws / 8; seed++) {
		space_sample(s, seed, MEM_COUNT(sample), sample);
		first[sample[0]]++;
		for (size_t k = 0; k < MEM_COUNT(sample); k++)
			hits[sample[k]]++;
	}
	double all = deviations(hits, n, (double)(draws / 8 * MEM_COUNT(sample))), one = deviations(first, n, (double)(draws / 8));
	ok(all < 6, "samples: each equally often (%.1f; evener than chance, for no point is twice in one)", all);
	ok(fabs(one) < 6, "and in the first place of a sample (%.1f)", one);
	free(hits);
	free(first);
	space_free(s);
	context_free(ctx);
}

int main(void)
{
	beside_brute_force();
	equations();
	uniform();
	return tap_done();
}

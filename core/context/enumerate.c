/* enumerate: depth-first enumeration under constraints; see enumerate.h. Used by core/context/space.
 *
 * The order is chosen once, greedily: next comes the constraint whose unbound variables have the smallest product of
 * values, and of these variables the one with the fewest values. Each constraint is tested at the depth at which its
 * last variable is bound. Before that, where much lies below, it is evaluated on ranges: if no values between the
 * smallest and the largest of what is unbound can fulfil it, nothing below is visited.
 *
 * Every step costs about as much as one operation of an expression. Counting them, and not seconds, makes the same
 * context accepted or refused on every machine. */
#include "core/context/enumerate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
	UNKNOWN_SIZE = 16, /* values assumed for a set that depends on other variables */
	WORTH = 32,        /* raw combinations below an assignment from which on it pays to ask whether any can hold */
	WHY_RULES = 4,
	RANGE_COST = 4,          /* how much longer an expression takes on ranges than on values */
	STEPS_BETWEEN = 1 << 20, /* from one look at the caller to the next: some milliseconds */
	CELLS_MAX = 1 << 27,     /* values of all points together: 256 MiB */
};

struct rule {
	const struct spec_rule *from;
	const char *field; /* "where" or "requires" */
	uint16_t *vars;    /* the variables that it mentions */
	size_t var_count;
	uint64_t cost;  /* of one test, in steps */
	uint64_t spent; /* steps of all tests */
	double removed; /* raw combinations below the partial assignments that it refused */
};

struct var {
	struct value *values; /* NULL for a set that depends on other variables */
	uint16_t *index;      /* of each value in the domain */
	size_t count;
	const struct expr_set *set;
	size_t slot;
	bool bound;          /* while the order is chosen: it comes before the depth that is looked at */
	struct rule **tests; /* to run once this variable is bound */
	size_t test_count;
	struct rule **doubts; /* that mention it and variables bound later: asked whether they still can hold */
	size_t doubt_count;
	double below; /* raw combinations of the variables bound after it */
};

struct search {
	const struct enumerate_query *query;
	const struct spec *spec; /* the query's */
	struct enumerate_result *out;
	struct rule *rules;
	size_t rule_count;
	struct var *vars;        /* by variable */
	uint16_t *order;         /* variables by depth */
	uint16_t *point;         /* indices bound so far, by variable */
	struct value *env;       /* values by slot */
	struct expr_range *wide; /* by slot: where values lie that are not bound */
	size_t capacity;         /* rows allocated */
	size_t points_max;       /* rows allowed */
	size_t found;            /* points of this run */
	uint64_t look_up;        /* steps at which the limit and the caller are asked again */
	struct err *e;
};

/* --- limits ------------------------------------------------------------------------------------------------------- */
/* "FILE:7", or the file alone for a line that an edit added. */
static const char *place(const struct search *s, int line, char text[256])
{
	snprintf(text, 256, line ? "%.200s:%d" : "%.200s", s->query->file, line);
	return text;
}

static int too_many_points(struct search *s)
{
	return err_set(s->e, ERR_INPUT,
		       "%s: the space of kernel %s has more than %zu valid points (raw product %.3g). Tighten where:, shorten the "
		       "sets under tune:, or fix some parameters",
		       s->query->file, s->spec->kernel, s->points_max, s->out->raw);
}

static int too_hard(struct search *s)
{
	const struct rule *most = NULL;
	char at[256];
	for (size_t k = 0; k < s->rule_count; k++)
		if (most == NULL || s->rules[k].spent > most->spent)
			most = &s->rules[k];
	if (most == NULL || most->spent < SPACE_STEPS_MAX / 4)
		return err_set(s->e, ERR_INPUT,
			       "%s: the space of kernel %s cannot be enumerated within %.2g steps (raw product %.3g). Tighten "
			       "where:, shorten the sets under tune:, or fix some parameters",
			       s->query->file, s->spec->kernel, (double)SPACE_STEPS_MAX, s->out->raw);
	return err_set(s->e, ERR_INPUT,
		       "%s: %s: `%s` is too hard: the space of kernel %s (raw product %.3g) cannot be enumerated within %.2g "
		       "steps. This constraint depends on %zu parameters and excludes too little before the last one has a value. "
		       "Split it into constraints on fewer parameters, add a simpler one that implies it, shorten the sets under "
		       "tune:, or fix some parameters",
		       place(s, most->from->line, at), most->field, most->from->text, s->spec->kernel, s->out->raw,
		       (double)SPACE_STEPS_MAX, most->var_count);
}

/* Accounts for work; fails beyond the limit, and once the caller does not want the result any more. */
static int spend(struct search *s, uint64_t steps)
{
	const struct space_stop *stop = s->query->stop;
	s->out->steps += steps;
	if (s->out->steps < s->look_up)
		return 0;
	s->look_up = s->out->steps + STEPS_BETWEEN;
	if (s->out->steps > SPACE_STEPS_MAX)
		return too_hard(s);
	if (stop && stop->wanted(stop->arg))
		return err_set(s->e, ERR_CANCELLED, "%s: the enumeration of the space was cancelled", s->query->file);
	return 0;
}

/* --- values ------------------------------------------------------------------------------------------------------- */
static int intern(struct search *s, size_t var, struct value v, uint16_t *ret_index)
{
	struct enumerate_domain *d = &s->out->domains[var];
	size_t k = 0;
	while (k < d->count && !value_same(d->values[k], v))
		k++;
	if (k == UINT16_MAX)
		return err_set(s->e, ERR_INPUT, "%s: %s takes more than %d different values", s->query->file,
			       s->spec->vars[var].name, UINT16_MAX);
	if (k == d->count)
		*MEM_PUSH(d->values, d->count) = v;
	*ret_index = (uint16_t)k;
	return spend(s, 1 + k / 2);
}

static bool depends(const struct search *s, const struct expr_set *set)
{
	for (size_t k = 0; k < s->spec->var_count; k++)
		if (expr_set_mentions(set, s->spec->vars[k].slot))
			return true;
	return false;
}

static int values_of(struct search *s, size_t var, struct value **ret_values, size_t *ret_count)
{
	const struct spec_var *v = &s->spec->vars[var];
	uint64_t steps = 0;
	char at[256];
	int rc = expr_set_values(s->vars[var].set, s->env, ret_values, ret_count, &steps, s->e);
	if (rc < 0)
		return err_wrap(s->e, "%s: %s: %s", place(s, v->line, at), v->tuning ? "tune" : "inputs", v->name);
	rc = spend(s, steps);
	if (rc < 0) {
		free(*ret_values);
		*ret_values = NULL;
	}
	return rc;
}

static int prepare_var(struct search *s, size_t k)
{
	struct var *v = &s->vars[k];
	const struct enumerate_query *q = s->query;
	const struct param *p = q->fixed ? params_find(q->fixed, s->spec->vars[k].name) : NULL;
	int rc = 0;
	v->slot = s->spec->vars[k].slot;
	v->set = q->check && q->check->sets[k] ? q->check->sets[k] : s->spec->vars[k].set;
	if (p) {
		v->values = MEM_NEW(struct value);
		v->values[0] = p->is_float ? value_of_float(p->f) : value_of_int(p->i);
		v->count = 1;
	} else if (depends(s, v->set)) {
		v->count = UNKNOWN_SIZE;
		return 0;
	} else {
		rc = values_of(s, k, &v->values, &v->count);
	}
	v->index = MEM_NEW_N(uint16_t, v->count);
	for (size_t j = 0; rc == 0 && j < v->count; j++) {
		struct expr_range one = expr_range_of(v->values[j]), *wide = &s->wide[v->slot];
		*wide = j ? expr_range_join(*wide, one) : one;
		rc = intern(s, k, v->values[j], &v->index[j]);
	}
	return rc;
}

static void add_rules(struct search *s, const struct spec_rule *rules, size_t count, const char *field)
{
	for (size_t k = 0; k < count; k++) {
		if (rules[k].device && s->query->facts == NULL)
			continue;
		struct rule *r = MEM_PUSH(s->rules, s->rule_count);
		*r = (struct rule){ .from = &rules[k], .field = field, .cost = expr_cost(rules[k].expr) };
		for (size_t v = 0; v < s->spec->var_count; v++)
			if (expr_mentions(rules[k].expr, s->spec->vars[v].slot))
				*MEM_PUSH(r->vars, r->var_count) = (uint16_t)v;
	}
}

/* --- order -------------------------------------------------------------------------------------------------------- */
/* Its set mentions nothing that is still unbound. */
static bool is_ready(const struct search *s, size_t var)
{
	if (s->vars[var].values)
		return true;
	for (size_t k = 0; k < s->spec->var_count; k++)
		if (!s->vars[k].bound && expr_set_mentions(s->vars[var].set, s->spec->vars[k].slot))
			return false;
	return true;
}

static bool all_bound(const struct search *s, const struct rule *r)
{
	for (size_t k = 0; k < r->var_count; k++)
		if (!s->vars[r->vars[k]].bound)
			return false;
	return true;
}

static bool mentions(const struct rule *r, size_t var)
{
	for (size_t k = 0; k < r->var_count; k++)
		if (r->vars[k] == var)
			return true;
	return false;
}

static size_t pick_next(const struct search *s)
{
	const struct rule *rule = NULL;
	double best = 0;
	for (size_t k = 0; k < s->rule_count; k++) {
		const struct rule *r = &s->rules[k];
		double product = 1; /* of the unbound variables' counts */
		for (size_t j = 0; j < r->var_count; j++)
			if (!s->vars[r->vars[j]].bound)
				product *= (double)s->vars[r->vars[j]].count + 1e-9;
		if (!all_bound(s, r) && (rule == NULL || product < best)) {
			rule = r;
			best = product;
		}
	}
	size_t pick = SIZE_MAX, any = SIZE_MAX;
	for (size_t k = 0; k < s->spec->var_count; k++) {
		if (s->vars[k].bound || !is_ready(s, k))
			continue;
		if (any == SIZE_MAX || s->vars[k].count < s->vars[any].count)
			any = k;
		bool wanted = s->vars[k].count == 1 || (rule && mentions(rule, k));
		if (wanted && (pick == SIZE_MAX || s->vars[k].count < s->vars[pick].count))
			pick = k;
	}
	return pick != SIZE_MAX ? pick : any;
}

static void choose_order(struct search *s)
{
	size_t n = s->spec->var_count;
	for (size_t depth = 0; depth < n; depth++) {
		size_t k = pick_next(s);
		struct var *v = &s->vars[k];
		s->order[depth] = (uint16_t)k;
		v->bound = true;
		for (size_t r = 0; r < s->rule_count; r++)
			if (mentions(&s->rules[r], k)) {
				if (all_bound(s, &s->rules[r]))
					*MEM_PUSH(v->tests, v->test_count) = &s->rules[r];
				else
					*MEM_PUSH(v->doubts, v->doubt_count) = &s->rules[r];
			}
	}
	double below = 1;
	for (size_t depth = n; depth-- > 0;) {
		struct var *v = &s->vars[s->order[depth]];
		v->below = below;
		below *= (double)v->count;
		if (v->below < WORTH)
			v->doubt_count = 0;
	}
}

/* --- search ------------------------------------------------------------------------------------------------------- */
/* 1 when the constraint holds, 0 when not. One that divides by zero does not hold: all constraints are one
 * conjunction, tested in any order, so none can rely on another to guard it. */
static int holds(struct search *s, struct rule *r, double below)
{
	struct value v = value_of_bool(false);
	enum value_status st = expr_eval(r->from->expr, s->env, &v);
	char at[256];
	if (st != VALUE_OK && st != VALUE_DIVZERO)
		return err_set(s->e, ERR_INPUT, "%s: %s: `%s` cannot be computed: %s", place(s, r->from->line, at), r->field,
			       r->from->text, value_status_text(st));
	r->spent += r->cost;
	if (st == VALUE_OK && value_true(v))
		return 1;
	r->removed += below;
	return 0;
}

/* False when the constraint is broken whatever the variables that are not bound become. */
static bool can_hold(struct search *s, struct rule *r, double below)
{
	struct expr_range range = expr_range(r->from->expr, s->env, s->wide);
	r->spent += RANGE_COST * r->cost;
	if (range.yes || range.fails)
		return true;
	r->removed += below;
	return false;
}

static int keep_point(struct search *s)
{
	struct enumerate_result *out = s->out;
	size_t n = s->spec->var_count;
	if (out->count >= s->points_max)
		return too_many_points(s);
	if (out->count == s->capacity) {
		s->capacity = s->capacity ? 2 * s->capacity : 1024;
		out->rows = mem_resize(out->rows, s->capacity * (n + 1), sizeof *out->rows);
	}
	memcpy(out->rows + out->count++ * n, s->point, n * sizeof *s->point);
	s->found++;
	return 0;
}

static int descend(struct search *s, size_t depth);

static int bind(struct search *s, size_t depth, struct value value, uint16_t index)
{
	size_t k = s->order[depth];
	struct var *v = &s->vars[k];
	uint64_t steps = 2;
	int holding = 1;
	s->out->visited++;
	s->env[v->slot] = value;
	for (size_t t = 0; holding == 1 && t < v->test_count; t++) {
		steps += v->tests[t]->cost;
		holding = holds(s, v->tests[t], v->below);
	}
	for (size_t t = 0; holding == 1 && t < v->doubt_count; t++) {
		steps += RANGE_COST * v->doubts[t]->cost;
		holding = can_hold(s, v->doubts[t], v->below);
	}
	if (holding < 0)
		return holding;
	int rc = spend(s, steps);
	if (rc < 0 || holding == 0)
		return rc;
	s->point[k] = index;
	return descend(s, depth + 1);
}

static int descend(struct search *s, size_t depth)
{
	if (depth == s->spec->var_count)
		return keep_point(s);
	size_t k = s->order[depth], count = s->vars[k].count;
	struct var *v = &s->vars[k];
	struct value *values = NULL;
	uint16_t index = 0;
	int rc = v->values ? 0 : values_of(s, k, &values, &count); /* a set that depends on variables bound before */
	for (size_t j = 0; rc == 0 && j < count; j++) {
		if (v->values) {
			rc = bind(s, depth, v->values[j], v->index[j]);
			continue;
		}
		rc = intern(s, k, values[j], &index);
		if (rc == 0)
			rc = bind(s, depth, values[j], index);
	}
	free(values);
	s->env[v->slot].kind = VALUE_NONE;
	return rc;
}

/* Before anything is bound: constraints without any variable (constants and the device), and those that no values
 * fulfil. */
static int test_rules(struct search *s, double raw, bool *ret_hold)
{
	for (size_t r = 0; r < s->rule_count; r++) {
		struct rule *rule = &s->rules[r];
		bool constant = rule->var_count == 0;
		int rc = spend(s, RANGE_COST * rule->cost);
		if (rc == 0)
			rc = constant ? holds(s, rule, raw) : can_hold(s, rule, raw);
		if (rc < 0)
			return rc;
		if (rc > 0)
			continue;
		*ret_hold = false;
		if (constant && rule->from->device && strcmp(rule->field, "requires") == 0)
			return err_set(s->e, ERR_UNSUPPORTED,
				       "kernel %s requires %s, which device %s (%s) does not fulfil; use another device, or the "
				       "version of the kernel before that requirement",
				       s->spec->kernel, rule->from->text, s->query->facts->id, s->query->facts->name);
	}
	return 0;
}

static char *explain(struct search *s, double raw)
{
	struct buf out = BUF_INIT;
	for (size_t k = 0; k < s->spec->var_count; k++)
		if (s->vars[k].values && s->vars[k].count == 0)
			buf_addf(&out, "%s%s has no values (line %d)", out.len ? "; " : "", s->spec->vars[k].name,
				 s->spec->vars[k].line);
	for (int n = 0; n < WHY_RULES; n++) {
		struct rule *most = NULL;
		for (size_t k = 0; k < s->rule_count; k++)
			if (s->rules[k].removed > 0 && (most == NULL || s->rules[k].removed > most->removed))
				most = &s->rules[k];
		if (most == NULL)
			break;
		buf_addf(&out, "%s%s: %s", out.len ? "; " : "", most->field, most->from->text);
		if (most->from->line)
			buf_addf(&out, " (line %d)", most->from->line);
		buf_addf(&out, " removed %.0f of %.0f", most->removed, raw);
		most->removed = 0;
	}
	return buf_steal(&out);
}

static void search_fini(struct search *s)
{
	for (size_t k = 0; k < s->spec->var_count; k++) {
		free(s->vars[k].values);
		free(s->vars[k].index);
		free(s->vars[k].tests);
		free(s->vars[k].doubts);
	}
	for (size_t k = 0; k < s->rule_count; k++)
		free(s->rules[k].vars);
	free(s->vars);
	free(s->order);
	free(s->point);
	free(s->env);
	free(s->wide);
	free(s->rules);
}

int enumerate_run(const struct enumerate_query *query, struct enumerate_result *into, char **ret_why, struct err *e)
{
	const struct spec *spec = query->spec;
	size_t n = spec->var_count;
	bool hold = true;
	int rc = 0;
	struct search s = { .query = query,
			    .spec = spec,
			    .out = into,
			    .capacity = into->count,
			    .points_max = n && CELLS_MAX / n < SPACE_POINTS_MAX ? CELLS_MAX / n : SPACE_POINTS_MAX,
			    .e = e,
			    .vars = MEM_NEW_N(struct var, n + 1),
			    .order = MEM_NEW_N(uint16_t, n + 1),
			    .point = MEM_NEW_N(uint16_t, n + 1),
			    .env = spec_env(spec, query->facts, NULL) };
	if (into->domains == NULL)
		into->domains = MEM_NEW_N(struct enumerate_domain, n + 1);
	s.wide = MEM_NEW_N(struct expr_range, spec->scope->count + 1);
	for (size_t k = 0; k < spec->scope->count; k++)
		s.wide[k] = expr_range_of((struct value){ .kind = VALUE_NONE });
	add_rules(&s, spec->where, spec->where_count, "where");
	add_rules(&s, spec->requires, spec->requires_count, "requires");
	for (size_t k = 0; rc == 0 && k < n; k++)
		rc = prepare_var(&s, k);
	if (rc < 0)
		goto out;
	choose_order(&s);
	double raw = n ? s.vars[s.order[0]].below * (double)s.vars[s.order[0]].count : 1;
	into->raw += raw;
	rc = test_rules(&s, raw, &hold);
	if (rc == 0 && hold)
		rc = descend(&s, 0);
	*ret_why = rc == 0 && s.found == 0 ? explain(&s, raw) : NULL;
out:
	search_fini(&s);
	return rc;
}

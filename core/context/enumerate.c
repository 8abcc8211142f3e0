/* enumerate: depth-first enumeration under constraints; see enumerate.h. Used by core/context/space.
 *
 * The order is chosen once, greedily: next comes the constraint whose unbound variables have the smallest product of
 * values, and of these variables the one with the fewest values. Each constraint is tested at the depth at which its
 * last variable is bound; before that, where much lies below, it is asked whether it can still hold for any values
 * between the smallest and the largest of what is open, in the steps in which these lie. */
#include "core/context/enumerate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/context/space.h"

enum {
	UNKNOWN_SIZE = 16, /* values assumed for a set that depends on other variables */
	WORTH = 32,        /* raw combinations below an assignment from which on it pays to ask whether any can hold */
	WHY_RULES = 4,
};

struct rule {
	const struct spec_rule *from;
	const char *field; /* "where" or "requires" */
	double removed;    /* raw combinations below the partial assignments that it refused */
};

struct var {
	struct value *values; /* NULL for a set that depends on other variables */
	uint16_t *index;      /* of each value in the domain */
	size_t count;
	const struct set *set;
	size_t slot;
	struct rule **tests; /* to run once this variable is bound */
	size_t test_count;
	struct rule **doubts; /* that mention it and variables bound later: asked whether they still can hold */
	size_t doubt_count;
	double below; /* raw combinations of the variables bound after it */
};

struct search {
	const struct spec *spec;
	const struct facts *facts;
	struct enumerate_result *out;
	struct rule *rules;
	size_t rule_count;
	struct var *vars; /* by variable */
	uint16_t *order;  /* variables by depth */
	uint16_t *point;  /* indices bound so far, by variable */
	struct value *env;
	struct expr_range *wide; /* by slot: where values lie that are not bound */
	size_t capacity; /* rows allocated */
	size_t found;    /* points of this run */
	struct err *e;
};

/* --- values ------------------------------------------------------------------------------------------------------- */
static int intern(struct search *s, size_t var, struct value v, uint16_t *ret_index)
{
	struct enumerate_domain *d = &s->out->domains[var];
	size_t k = 0;
	while (k < d->count && !value_same(d->values[k], v))
		k++;
	if (k == UINT16_MAX)
		return err_set(s->e, ERR_INPUT, "%s takes more than %d different values", s->spec->vars[var].name,
			       UINT16_MAX);
	if (k == d->count)
		*MEM_PUSH(d->values, d->count) = v;
	*ret_index = (uint16_t)k;
	return 0;
}

static bool depends(const struct search *s, const struct set *set)
{
	for (size_t k = 0; k < s->spec->var_count; k++)
		if (set_mentions(set, s->spec->vars[k].slot))
			return true;
	return false;
}

/* "line 7: ", or nothing for a line that an edit added. */
static const char *at_line(int line, char text[32])
{
	text[0] = '\0';
	if (line)
		snprintf(text, 32, "line %d: ", line);
	return text;
}

static int bad_set(struct search *s, size_t var)
{
	const struct spec_var *v = &s->spec->vars[var];
	char line[32];
	return err_wrap(s->e, "%s%s: %s", at_line(v->line, line), v->tuning ? "tune" : "inputs", v->name);
}

static int prepare_var(struct search *s, size_t k, const struct params *fixed, const struct spec_check *check)
{
	struct var *v = &s->vars[k];
	const struct param *p = fixed ? params_find(fixed, s->spec->vars[k].name) : NULL;
	v->slot = s->spec->vars[k].slot;
	v->set = check && check->sets[k] ? check->sets[k] : s->spec->vars[k].set;
	if (p) {
		v->values = MEM_NEW(struct value);
		v->values[0] = p->is_float ? value_of_float(p->f) : value_of_int(p->i);
		v->count = 1;
	} else if (depends(s, v->set)) {
		v->count = UNKNOWN_SIZE;
		return 0;
	} else if (set_values(v->set, s->env, &v->values, &v->count, s->e) < 0) {
		return bad_set(s, k);
	}
	v->index = MEM_NEW_N(uint16_t, v->count);
	for (size_t j = 0; j < v->count; j++) {
		struct expr_range one = expr_range_of(v->values[j]), *wide = &s->wide[v->slot];
		*wide = j ? expr_range_join(*wide, one) : one;
		int rc = intern(s, k, v->values[j], &v->index[j]);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* --- order -------------------------------------------------------------------------------------------------------- */
static bool is_bound(const struct search *s, size_t depth, size_t var)
{
	for (size_t d = 0; d < depth; d++)
		if (s->order[d] == var)
			return true;
	return false;
}

/* Its set mentions nothing that is still unbound. */
static bool is_ready(const struct search *s, size_t depth, size_t var)
{
	if (s->vars[var].values)
		return true;
	for (size_t k = 0; k < s->spec->var_count; k++)
		if (set_mentions(s->vars[var].set, s->spec->vars[k].slot) && !is_bound(s, depth, k))
			return false;
	return true;
}

/* Product of the unbound variables' counts; 1 when all are bound. */
static double open_product(const struct search *s, const struct rule *r, size_t depth)
{
	double product = 1;
	for (size_t k = 0; k < s->spec->var_count; k++)
		if (expr_mentions(r->from->expr, s->vars[k].slot) && !is_bound(s, depth, k))
			product *= (double)s->vars[k].count + 1e-9;
	return product;
}

static bool all_bound(const struct search *s, const struct rule *r, size_t depth)
{
	for (size_t k = 0; k < s->spec->var_count; k++)
		if (expr_mentions(r->from->expr, s->vars[k].slot) && !is_bound(s, depth, k))
			return false;
	return true;
}

static size_t pick_next(const struct search *s, size_t depth)
{
	const struct rule *rule = NULL;
	double best = 0;
	for (size_t k = 0; k < s->rule_count; k++) {
		double product = open_product(s, &s->rules[k], depth);
		if (!all_bound(s, &s->rules[k], depth) && (rule == NULL || product < best)) {
			rule = &s->rules[k];
			best = product;
		}
	}
	size_t pick = SIZE_MAX, any = SIZE_MAX;
	for (size_t k = 0; k < s->spec->var_count; k++) {
		if (is_bound(s, depth, k) || !is_ready(s, depth, k))
			continue;
		if (any == SIZE_MAX || s->vars[k].count < s->vars[any].count)
			any = k;
		bool wanted = s->vars[k].count == 1 || (rule && expr_mentions(rule->from->expr, s->vars[k].slot));
		if (wanted && (pick == SIZE_MAX || s->vars[k].count < s->vars[pick].count))
			pick = k;
	}
	return pick != SIZE_MAX ? pick : any;
}

static void choose_order(struct search *s)
{
	size_t n = s->spec->var_count;
	for (size_t depth = 0; depth < n; depth++) {
		size_t k = pick_next(s, depth);
		s->order[depth] = (uint16_t)k;
		for (size_t r = 0; r < s->rule_count; r++)
			if (all_bound(s, &s->rules[r], depth + 1) && !all_bound(s, &s->rules[r], depth))
				*MEM_PUSH(s->vars[k].tests, s->vars[k].test_count) = &s->rules[r];
	}
	double below = 1;
	for (size_t depth = n; depth-- > 0;) {
		struct var *v = &s->vars[s->order[depth]];
		v->below = below;
		below *= (double)v->count;
		for (size_t r = 0; v->below >= WORTH && r < s->rule_count; r++)
			if (expr_mentions(s->rules[r].from->expr, v->slot) && !all_bound(s, &s->rules[r], depth + 1))
				*MEM_PUSH(v->doubts, v->doubt_count) = &s->rules[r];
	}
}

/* --- search ------------------------------------------------------------------------------------------------------- */
/* 1 when the constraint holds, 0 when not. One that divides by zero does not hold: all constraints are one
 * conjunction, tested in any order, so one cannot rely on another to guard it. */
static int holds(struct search *s, struct rule *r, double below)
{
	struct value v = value_of_bool(false);
	enum value_status st = expr_eval(r->from->expr, s->env, &v);
	char line[32];
	if (st != VALUE_OK && st != VALUE_DIVZERO)
		return err_set(s->e, ERR_INPUT, "%s%s: `%s` cannot be computed: %s", at_line(r->from->line, line), r->field,
			       r->from->text, value_status_text(st));
	if (st == VALUE_OK && value_true(v))
		return 1;
	r->removed += below;
	return 0;
}

/* False when the constraint is broken whatever the variables that are not bound become. */
static bool can_hold(struct search *s, struct rule *r, double below)
{
	struct expr_range range = expr_range(r->from->expr, s->env, s->wide);
	if (range.yes || range.fails)
		return true;
	r->removed += below;
	return false;
}

static int too_large(struct search *s, const char *what, double limit)
{
	return err_set(
		s->e, ERR_INPUT,
		"the space of kernel %s has more than %.0f %s (raw product %.3g); tighten where:, shorten the sets "
		"under tune:, or fix some parameters",
		s->spec->kernel, limit, what, s->out->raw);
}

static int keep_point(struct search *s)
{
	struct enumerate_result *out = s->out;
	size_t n = s->spec->var_count;
	if (out->count == SPACE_POINTS_MAX)
		return too_large(s, "valid points", SPACE_POINTS_MAX);
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
	if (++s->out->visited > SPACE_VISITS_MAX)
		return too_large(s, "partial assignments to look at", SPACE_VISITS_MAX);
	s->env[v->slot] = value;
	for (size_t t = 0; t < v->test_count; t++) {
		int rc = holds(s, v->tests[t], v->below);
		if (rc <= 0)
			return rc;
	}
	for (size_t t = 0; t < v->doubt_count; t++)
		if (!can_hold(s, v->doubts[t], v->below))
			return 0;
	s->point[k] = index;
	return descend(s, depth + 1);
}

/* A set that depends on variables bound before. */
static int bind_dependent(struct search *s, size_t depth)
{
	size_t k = s->order[depth], count = 0;
	struct value *values = NULL;
	uint16_t index = 0;
	if (set_values(s->vars[k].set, s->env, &values, &count, s->e) < 0)
		return bad_set(s, k);
	int rc = 0;
	for (size_t j = 0; rc == 0 && j < count; j++) {
		rc = intern(s, k, values[j], &index);
		if (rc == 0)
			rc = bind(s, depth, values[j], index);
	}
	free(values);
	return rc;
}

static int descend(struct search *s, size_t depth)
{
	if (depth == s->spec->var_count)
		return keep_point(s);
	struct var *v = &s->vars[s->order[depth]];
	int rc = 0;
	if (v->values == NULL)
		rc = bind_dependent(s, depth);
	else
		for (size_t j = 0; rc == 0 && j < v->count; j++)
			rc = bind(s, depth, v->values[j], v->index[j]);
	s->env[v->slot].kind = VALUE_NONE;
	return rc;
}

/* Before anything is bound: constraints without any variable (constants and the device), and those that no values fulfil. */
static int test_rules(struct search *s, double raw, bool *ret_hold)
{
	for (size_t r = 0; r < s->rule_count; r++) {
		struct rule *rule = &s->rules[r];
		bool constant = all_bound(s, rule, 0);
		int rc = constant ? holds(s, rule, raw) : can_hold(s, rule, raw);
		if (rc < 0)
			return rc;
		if (rc > 0)
			continue;
		*ret_hold = false;
		if (constant && rule->from->device && strcmp(rule->field, "requires") == 0)
			return err_set(
				s->e, ERR_UNSUPPORTED,
				"kernel %s requires %s, which device %s (%s) does not fulfil; use another device, or "
				"the version of the kernel before that requirement",
				s->spec->kernel, rule->from->text, s->facts->id, s->facts->name);
	}
	return 0;
}

static char *explain(struct search *s)
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
		buf_addf(&out, " removed %.0f of %.0f", most->removed,
			 s->vars && s->spec->var_count ? s->vars[s->order[0]].below * (double)s->vars[s->order[0]].count
						       : 1);
		most->removed = 0;
	}
	return buf_steal(&out);
}

static void add_rules(struct search *s, const struct spec_rule *rules, size_t count, const char *field)
{
	for (size_t k = 0; k < count; k++)
		if (s->facts || !rules[k].device)
			*MEM_PUSH(s->rules, s->rule_count) = (struct rule){ .from = &rules[k], .field = field };
}

static void search_fini(struct search *s)
{
	for (size_t k = 0; k < s->spec->var_count; k++) {
		free(s->vars[k].values);
		free(s->vars[k].index);
		free(s->vars[k].tests);
		free(s->vars[k].doubts);
	}
	free(s->vars);
	free(s->order);
	free(s->point);
	free(s->env);
	free(s->wide);
	free(s->rules);
}

int enumerate_run(const struct spec *spec, const struct facts *facts, const struct params *fixed,
		  const struct spec_check *check, struct enumerate_result *into, char **ret_why, struct err *e)
{
	size_t n = spec->var_count;
	bool hold = true;
	int rc = 0;
	struct search s = { .spec = spec,
			    .facts = facts,
			    .out = into,
			    .capacity = into->count,
			    .e = e,
			    .vars = MEM_NEW_N(struct var, n + 1),
			    .order = MEM_NEW_N(uint16_t, n + 1),
			    .point = MEM_NEW_N(uint16_t, n + 1),
			    .env = spec_env(spec, facts, NULL) };
	if (into->domains == NULL)
		into->domains = MEM_NEW_N(struct enumerate_domain, n + 1);
	s.wide = MEM_NEW_N(struct expr_range, spec->scope->count + 1);
	for (size_t k = 0; k < spec->scope->count; k++)
		s.wide[k] = expr_range_of((struct value){ .kind = VALUE_NONE });
	add_rules(&s, spec->where, spec->where_count, "where");
	add_rules(&s, spec->requires, spec->requires_count, "requires");
	for (size_t k = 0; rc == 0 && k < n; k++)
		rc = prepare_var(&s, k, fixed, check);
	if (rc < 0)
		goto out;
	choose_order(&s);
	double raw = n ? s.vars[s.order[0]].below * (double)s.vars[s.order[0]].count : 1;
	into->raw += raw;
	rc = test_rules(&s, raw, &hold);
	if (rc == 0 && hold)
		rc = descend(&s, 0);
	*ret_why = rc == 0 && s.found == 0 ? explain(&s) : NULL;
out:
	search_fini(&s);
	return rc;
}

/* objective: see objective.h. */
#include "core/tune/objective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/context/expr.h"
#include "core/measure/energy.h"

enum slot { SLOT_TIME, SLOT_ENERGY, SLOT_POWER, SLOT_REGISTERS, SLOT_SHARED, SLOT_SPILL, SLOTS };

static const char *const slot_names[SLOTS] = { "time", "energy", "power", "registers", "shared", "spill" };

/* The fixed names are expressions underneath, so that there is only one way to compute. */
static const struct {
	const char *name, *expression, *unit;
} known[] = {
	{ "time", "time * 1e9", "ns" },
	{ "energy", "energy", "J" },
	{ "edp", "energy * time", "J s" },
};

int objective_new(const char *text, const struct context *ctx, const struct facts *facts, struct objective **ret_objective,
		  struct err *e)
{
	struct objective *o = MEM_NEW(struct objective);
	const char *expression = o->text = mem_str(text && *text ? text : "time");
	o->unit = "";
	o->spec = context_spec(ctx);
	o->scope = expr_scope_new();
	for (size_t i = 0; i < MEM_COUNT(known); i++)
		if (strcmp(o->text, known[i].name) == 0) {
			expression = known[i].expression;
			o->unit = known[i].unit;
			o->is_time = i == 0;
		}
	/* Measured values come first, so they shadow parameters of the same name. */
	for (size_t i = 0; i < SLOTS; i++)
		expr_scope_add(o->scope, slot_names[i]);
	for (size_t i = 0; i < o->spec->var_count; i++)
		expr_scope_add(o->scope, o->spec->vars[i].name);
	int rc = expr_parse(o->scope, expression, strlen(expression), &o->expr, e);
	if (rc < 0)
		err_wrap(e, "objective: expected time, energy, edp or an expression over time, energy, power, "
			    "registers, shared, spill and parameters");
	else if (objective_weighs(o)) {
		char *what = mem_fmt("objective %s", o->text);
		rc = energy_need(facts, what, e);
		free(what);
	}
	if (rc < 0)
		objective_free(o);
	else
		*ret_objective = o;
	return rc < 0 ? rc : 0;
}

void objective_free(struct objective *o)
{
	if (o == NULL)
		return;
	expr_free(o->expr);
	expr_scope_free(o->scope);
	free(o->text);
	free(o);
}

bool objective_weighs(const struct objective *o)
{
	return expr_mentions(o->expr, SLOT_ENERGY) || expr_mentions(o->expr, SLOT_POWER);
}

int objective_value(const struct objective *o, const struct objective_metrics *m, double *ret_value, struct err *e)
{
	double seconds = m->time_ns / 1e9;
	struct value *env = MEM_NEW_N(struct value, SLOTS + o->spec->var_count), result = { .kind = VALUE_NONE };
	env[SLOT_TIME] = value_of_float(seconds);
	if (isfinite(m->joules)) {
		env[SLOT_ENERGY] = value_of_float(m->joules);
		env[SLOT_POWER] = value_of_float(m->joules / seconds);
	}
	const int64_t counts[] = { m->registers, m->shared, m->spill };
	for (size_t i = 0; i < MEM_COUNT(counts); i++)
		if (counts[i] >= 0)
			env[SLOT_REGISTERS + i] = value_of_int(counts[i]);
	for (size_t i = 0; i < o->spec->var_count; i++) {
		const struct param *p = params_find(m->params, o->spec->vars[i].name);
		if (p)
			env[SLOTS + i] = p->is_float ? value_of_float(p->f) : value_of_int(p->i);
	}
	enum value_status status = expr_eval(o->expr, env, &result);
	free(env);
	if (status != VALUE_OK)
		return err_set(e, ERR_INPUT, "objective `%s` cannot be computed: %s", o->text,
			       status == VALUE_UNBOUND ? "it names something that is unknown here" : value_status_text(status));
	double value = o->is_time ? m->time_ns : value_double(result); /* not rounded by the detour through seconds */
	if (!isfinite(value) || value <= 0)
		return err_set(e, ERR_INPUT, "objective `%s` is %g; expected a positive number (smaller is better)", o->text,
			       value);
	*ret_value = value;
	return 0;
}

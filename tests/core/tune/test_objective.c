/* core/tune/objective: the value of a configuration is the measured time itself, or the result of an expression. */
#include "core/tune/objective.h"

#include <math.h>

#include "core/context/sample.h"
#include "tap.h"

static const char fields[] = "tune:\n  BX: {8, 16}\n";
static const struct facts device = { .id = "hlsl:0", .name = "a device", .backend = "hlsl" };

static struct objective *make(const struct context *ctx, const char *text)
{
	struct objective *o = NULL;
	struct err e = ERR_INIT;
	if (objective_new(text, ctx, &device, &o, &e) < 0)
		printf("# %s\n", e.text);
	return o;
}

static double value_at(const struct objective *o, const struct params *params, double time_ns)
{
	struct objective_metrics m = {
		.params = params, .time_ns = time_ns, .joules = NAN, .registers = 32, .shared = -1, .spill = -1
	};
	struct err e = ERR_INIT;
	double value = NAN;
	if (objective_value(o, &m, &value, &e) < 0)
		printf("# %s\n", e.text);
	return value;
}

/* Callers find a row by comparing its time with the value. A detour through seconds changed one time in twenty. */
static void times(const struct context *ctx, const struct params *params)
{
	struct objective *o = make(ctx, NULL);
	size_t others = 0;
	for (double ns = 1000.5; ns < 1e7; ns += 500.5)
		others += value_at(o, params, ns) != ns;
	ok(o->is_time && !objective_weighs(o), "the default objective is time");
	is_int((long long)others, 0, "the value of a time is the measured time, bit by bit");
	objective_free(o);
}

static void expressions(const struct context *ctx, const struct params *params)
{
	struct objective *o = make(ctx, "time * registers + BX");
	ok(!o->is_time && fabs(value_at(o, params, 1e9) - (32 + 8)) < 1e-12,
	   "time counts in seconds in an expression");
	objective_free(o);
	o = make(ctx, "time + shared");
	ok(isnan(value_at(o, params, 1e9)), "an unknown quantity is an error");
	objective_free(o);
	o = make(ctx, "BX - 8");
	ok(isnan(value_at(o, params, 1e9)), "a value that is not positive is an error");
	objective_free(o);
	ok(make(ctx, "edp") == NULL && make(ctx, "speed") == NULL,
	   "energy without a counter and unknown names are refused");
}

int main(void)
{
	struct context *ctx = sample_context("hlsl", fields, "launch(\"k\", {1}, {1}, {A, C, n})\n");
	struct params *params = params_new();
	params_set_int(params, "BX", true, 8);
	times(ctx, params);
	expressions(ctx, params);
	params_free(params);
	context_free(ctx);
	return tap_done();
}

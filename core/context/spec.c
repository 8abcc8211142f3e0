/* spec: the typed specification: making, freeing, and the questions that callers ask of it; see spec.h. */
#include "core/context/spec.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/context/content.h"

int spec_new(const char *file, const struct front_matter *front, struct spec **ret_spec, struct err *e)
{
	struct spec *s = MEM_NEW(struct spec);
	s->scope = expr_scope_new();
	int rc = spec_reader_fill(file, front, s, e);
	if (rc < 0)
		spec_free(s);
	else
		*ret_spec = s;
	return rc;
}

static void rules_free(struct spec_rule *rules, size_t count)
{
	for (size_t k = 0; k < count; k++) {
		free(rules[k].text);
		expr_free(rules[k].expr);
	}
	free(rules);
}

void spec_free(struct spec *s)
{
	if (s == NULL)
		return;
	for (size_t k = 0; k < s->check_count; k++) {
		for (size_t v = 0; v < s->var_count; v++)
			expr_set_free(s->checks[k].sets[v]);
		free(s->checks[k].sets);
	}
	free(s->checks);
	for (size_t k = 0; k < s->array_count; k++) {
		free(s->arrays[k].name);
		free(s->arrays[k].indexed);
		for (size_t d = 0; d < PLAN_RANK_MAX; d++)
			expr_free(s->arrays[k].dims[d]);
		expr_free(s->arrays[k].ld);
		content_fini(&s->arrays[k].content);
	}
	free(s->arrays);
	for (size_t k = 0; k < s->var_count; k++) {
		free(s->vars[k].name);
		expr_set_free(s->vars[k].set);
	}
	free(s->vars);
	for (size_t k = 0; k < s->constant_count; k++)
		free(s->constants[k].name);
	free(s->constants);
	mem_free_texts(s->options, s->option_count);
	rules_free(s->where, s->where_count);
	rules_free(s->requires, s->requires_count);
	expr_free(s->flops);
	expr_free(s->bytes);
	expr_scope_free(s->scope);
	free(s->inputs);
	free(s->kernel);
	free(s->backend);
	free(s->precision_text);
	free(s->gemm);
	free(s);
}

int spec_find(const struct spec *s, const char *name)
{
	for (size_t k = 0; k < s->var_count; k++)
		if (strcmp(s->vars[k].name, name) == 0)
			return (int)k;
	return -1;
}

const struct spec_array *spec_array(const struct spec *s, const char *name)
{
	for (size_t i = 0; i < s->array_count; i++)
		if (strcmp(s->arrays[i].name, name) == 0)
			return &s->arrays[i];
	return NULL;
}

bool spec_is_random(const struct spec *s, enum dtype type)
{
	bool random = s->precision != SPEC_TENSOR;
	for (size_t i = 0; i < s->array_count; i++) {
		const struct spec_array *a = &s->arrays[i];
		if (a->role != PLAN_OUT && dtype_is_float(a->type))
			random = random && a->type == type && (a->content.fill == PLAN_RANDOM || a->content.fill == PLAN_SORTED);
	}
	return random;
}

char *spec_judged_text(const struct spec *s, const struct spec_array *a)
{
	const struct judgement *j = &a->judged;
	struct buf text = BUF_INIT;
	judgement_add_text(j, j->of ? s->arrays[j->of - 1].name : NULL, &text);
	if (j->declared)
		buf_adds(&text, " (declared)");
	else
		buf_addf(&text, " (the default for %s)", dtype_name(a->type));
	return buf_steal(&text);
}

/* --- facts of the device ------------------------------------------------------------------------------------------ */
/* A grid made of 0 multiprocessors could not be launched; this stands in where an architecture only compiles. It
 * decides nothing else. */
enum { UNITS_STAND_IN = 64 };

#define FACT(name, field)                                                                                                          \
	{                                                                                                                          \
		name, offsetof(struct facts, field), sizeof(((struct facts *)NULL)->field)                                         \
	}
static const struct {
	const char *name;
	size_t offset, bytes; /* an unsigned integer of 4 or 8 bytes */
} device_facts[SPEC_DEVICE_NAMES] = {
	FACT("warp_size", warp_size),
	FACT("max_threads", max_threads),
	FACT("max_block_x", max_block[0]),
	FACT("max_block_y", max_block[1]),
	FACT("max_block_z", max_block[2]),
	FACT("max_grid_x", max_grid[0]),
	FACT("max_grid_y", max_grid[1]),
	FACT("max_grid_z", max_grid[2]),
	FACT("shared_static", shared_static),
	FACT("shared_optin", shared_optin),
	FACT("registers", registers),
	FACT("units", units),
	FACT("clock_khz", clock_khz),
	FACT("max_cluster", max_cluster),
	FACT("l2_bytes", l2_bytes),
	FACT("memory_bytes", memory_bytes),
	{ "sm", 0, 0 }, /* read from the architecture's name */
};

const char *spec_device_name(size_t k)
{
	return device_facts[k].name;
}

int64_t spec_device_value(const struct facts *f, size_t k)
{
	uint32_t small;
	uint64_t large;
	if (device_facts[k].bytes == 0)
		return strncmp(f->arch, "sm_", 3) == 0 ? atoi(f->arch + 3) : 0;
	if (device_facts[k].offset == offsetof(struct facts, units) && f->units == 0 && !f->runs)
		return UNITS_STAND_IN;
	const char *at = (const char *)f + device_facts[k].offset;
	if (device_facts[k].bytes == sizeof small) {
		memcpy(&small, at, sizeof small);
		return small;
	}
	memcpy(&large, at, sizeof large);
	return (int64_t)large;
}

/* --- questions ---------------------------------------------------------------------------------------------------- */
struct value *spec_env(const struct spec *s, const struct facts *facts, const struct params *params)
{
	struct value *env = MEM_NEW_N(struct value, s->scope->count + 1);
	for (size_t k = 0; k < s->constant_count; k++)
		env[s->constants[k].slot] = s->constants[k].value;
	for (size_t k = 0; facts && k < SPEC_DEVICE_NAMES; k++)
		env[s->device_slot + k] = value_of_int(spec_device_value(facts, k));
	for (size_t k = 0; params && k < s->var_count; k++) {
		const struct param *p = params_find(params, s->vars[k].name);
		if (p)
			env[s->vars[k].slot] = p->is_float ? value_of_float(p->f) : value_of_int(p->i);
	}
	return env;
}

static double amount(const struct spec *s, const struct expr *x, const struct params *params)
{
	struct value v;
	if (x == NULL)
		return NAN;
	struct value *env = spec_env(s, NULL, params);
	enum value_status st = expr_eval(x, env, &v);
	free(env);
	return st == VALUE_OK ? value_double(v) : NAN;
}

double spec_flops(const struct spec *s, const struct params *params)
{
	return amount(s, s->flops, params);
}

double spec_bytes(const struct spec *s, const struct params *params)
{
	return amount(s, s->bytes, params);
}

/* Elements of an array and its largest extent; NaN when they cannot be computed. */
static double elements(const struct spec *s, const struct spec_array *a, const struct params *params, double *ret_largest)
{
	double n = 1;
	*ret_largest = 1;
	for (unsigned d = 0; d < a->rank; d++) {
		double extent = amount(s, a->dims[d], params);
		n *= extent;
		*ret_largest = fmax(*ret_largest, extent);
	}
	return n;
}

double spec_reduction(const struct spec *s, const struct params *params)
{
	double flops = spec_flops(s, params), outputs = 0, largest = 1, one;
	for (size_t k = 0; k < s->array_count; k++) {
		double n = elements(s, &s->arrays[k], params, &one);
		if (s->arrays[k].role != PLAN_IN)
			outputs += n;
		if (s->arrays[k].role != PLAN_OUT)
			largest = fmax(largest, one);
	}
	double k = isnan(flops) ? largest : flops / outputs;
	return k >= 1 ? k : 1;
}

static double roundoff_named(const char *type)
{
	int t = dtype_parse(type);
	return strcmp(type, "tf32") == 0 ? 0x1p-11 : t < 0 ? 0 : dtype_roundoff((enum dtype)t);
}

double spec_roundoff(const struct spec *s)
{
	double u = fmax(roundoff_named(s->precision_in), roundoff_named(s->precision_acc));
	for (size_t k = 0; k < s->array_count; k++)
		u = fmax(u, dtype_roundoff(s->arrays[k].type));
	return u;
}

bool spec_is_double(const struct spec *s)
{
	for (size_t k = 0; k < s->array_count; k++)
		if (dtype_is_float(s->arrays[k].type) && s->arrays[k].type != DTYPE_F64)
			return false;
	return true;
}

double spec_roundoff_sums(const struct spec *s, bool doubles)
{
	return s->precision == SPEC_STRICT ? dtype_roundoff(doubles ? DTYPE_F64 : DTYPE_F32) : roundoff_named(s->precision_acc);
}

bool spec_sums_truncate(const struct spec *s)
{
	return s->precision != SPEC_STRICT && strcmp(s->precision_in, "f32") != 0 && strcmp(s->precision_acc, "f32") == 0;
}

double spec_roundoff_operand(const struct spec *s, enum dtype type)
{
	double u = s->precision == SPEC_STRICT ? 0 : roundoff_named(s->precision_in);
	return dtype_is_float(type) && dtype_roundoff(type) < u ? u : 0;
}

double spec_roundoff_inputs(const struct spec *s, uint64_t except)
{
	double u = 0;
	for (size_t k = 0; k < s->array_count; k++)
		if (s->arrays[k].role != PLAN_OUT && !(k < 64 && except >> k & 1))
			u = fmax(u, spec_roundoff_operand(s, s->arrays[k].type));
	return u;
}

double spec_flushed_inputs(const struct spec *s)
{
	double most = 0;
	for (size_t i = 0; i < s->array_count; i++) {
		enum dtype t = s->arrays[i].type;
		if (s->arrays[i].role != PLAN_OUT && dtype_is_float(t))
			most = fmax(most, dtype_smallest_normal(s->precision == SPEC_TENSOR || t == DTYPE_F64 ? t : DTYPE_F32));
	}
	return most;
}

static bool rules_hold(const struct spec *s, bool device, const struct value *env, char **ret_why)
{
	for (size_t k = 0; k < s->requires_count; k++) {
		const struct spec_rule *r = &s->requires[k];
		struct value v = value_of_bool(false);
		if (r->device != device || (expr_eval(r->expr, env, &v) == VALUE_OK && value_true(v)))
			continue;
		if (ret_why)
			*ret_why = mem_fmt("requires: %s", r->text);
		return false;
	}
	return true;
}

bool spec_device_ok(const struct spec *s, const struct facts *facts, const struct params *params, char **ret_why)
{
	struct value *env = spec_env(s, facts, params);
	bool good = facts == NULL || rules_hold(s, true, env, ret_why);
	free(env);
	return good;
}

bool spec_domain_ok(const struct spec *s, const struct params *params, char **ret_why)
{
	struct value *env = spec_env(s, NULL, params);
	bool good = rules_hold(s, false, env, ret_why);
	free(env);
	return good;
}

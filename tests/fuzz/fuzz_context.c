/* A kernel context from an unknown source. An accepted context is rendered and parsed to the same text and hash again. Its space is
 * enumerated without a device, and its host code runs at one point. */
#include "backends/wire/plan.h"
#include "core/context/context.h"
#include "core/context/expr.h"
#include "core/context/host.h"
#include "core/context/space.h"
#include "fuzz/fuzz.h"

enum { SIZE_LIMIT = 64 << 10, POINTS = 20000 };

static const struct facts device = { .id = "cuda:0",
				     .backend = "cuda",
				     .name = "Sample",
				     .arch = "sm_90a",
				     .warp_size = 32,
				     .max_threads = 1024,
				     .max_block = { 1024, 1024, 64 },
				     .max_grid = { 2147483647, 65535, 65535 },
				     .shared_static = 49152,
				     .shared_optin = 232448,
				     .registers = 65536,
				     .units = 132,
				     .max_cluster = 8 };

static void same_again(const struct context *ctx)
{
	struct context *again = NULL;
	struct err e = ERR_INIT;
	assert(context_parse("fuzz.peak.md", context_render(ctx), &again, &e) == 0);
	assert(strcmp(context_render(ctx), context_render(again)) == 0);
	assert(strcmp(context_hash(ctx)->hex, context_hash(again)->hex) == 0);
	char *canonical = context_canonical(ctx), *of_again = context_canonical(again);
	assert(strcmp(canonical, of_again) == 0);
	free(canonical);
	free(of_again);
	context_free(again);
}

/* About as many points as POINTS at most: larger spaces are allowed, but the time belongs to other inputs. */
static bool is_small(const struct spec *spec)
{
	struct value *env = spec_env(spec, NULL, NULL);
	double points = 1;
	for (size_t i = 0; i < spec->var_count; i++) {
		struct value *values;
		size_t count;
		if (expr_set_values(spec->vars[i].set, env, &values, &count, NULL, NULL) < 0) {
			points = 0;
			break;
		}
		points *= (double)count;
		if (count > 0)
			env[spec->vars[i].slot] = values[0];
		free(values);
	}
	free(env);
	return points > 0 && points <= POINTS;
}

static void run_one(const struct context *ctx)
{
	struct space *space = NULL;
	struct plan *plan = NULL;
	struct err e = ERR_INIT;
	if (!is_small(context_spec(ctx)) || space_new(ctx, NULL, NULL, &space, &e) < 0)
		return;
	assert(space_count(space) > 0);
	struct params *point = space_at(space, space_count(space) - 1);
	assert(space_find(space, point) == space_count(space) - 1);
	if (host_run(ctx, point, &device, &plan, &e) == 0)
		assert(plan_check(plan, &e) == 0);
	plan_free(plan);
	params_free(point);
	space_free(space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > SIZE_LIMIT)
		return -1;
	char *text = fuzz_text(data, size);
	struct context *ctx = NULL;
	struct err e = ERR_INIT;
	int rc = context_parse("fuzz.peak.md", text, &ctx, &e);
	if (rc == 0) {
		same_again(ctx);
		run_one(ctx);
	} else {
		assert(rc == -ERR_INPUT && e.text[0]);
	}
	context_free(ctx);
	free(text);
	return 0;
}

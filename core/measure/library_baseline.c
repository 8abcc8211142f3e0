/* library_baseline: the vendor's library, checked and timed beside a variant; see library_baseline.h. */
#include "core/measure/library_baseline.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/context/host.h"
#include "core/judge/check.h"
#include "core/measure/compare.h"

/* A quoted percentage: the interval is narrowed to half a percent where the device's noise permits it. */
static const struct trial_pairing pairing = { .min_pairs = 12,
					      .max_pairs = 120,
					      .margin = COMPARE_MARGIN,
					      .floor_ns = COMPARE_FLOOR_NS,
					      .confidence = COMPARE_CONFIDENCE,
					      .width = 0.005,
					      .cap_ns = 3 * CLOCK_S,
					      .warm_up_ns = 200 * CLOCK_MS };

/* Leaves the buffer of that name and drops it from `plan`. */
static struct plan_buffer take_buffer(struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->buffer_count; i++)
		if (plan->buffers[i].name && strcmp(plan->buffers[i].name, name) == 0) {
			struct plan_buffer b = plan->buffers[i];
			plan->buffers[i].name = NULL;
			plan->buffers[i].table = NULL;
			return b;
		}
	return (struct plan_buffer){ .name = NULL };
}

int library_baseline_variant(const struct context *ctx, const struct params *params, const struct facts *facts,
			     struct variant *ret_variant, struct err *e)
{
	const struct spec *spec = context_spec(ctx);
	const struct spec_gemm *g = spec->gemm;
	struct plan *plan, *own;
	if (g == NULL)
		return err_set(e, ERR_NOT_FOUND, "%s names no library: add `library: gemm C = A * B` to its front matter",
			       context_kernel(ctx));
	/* The context's own plan has its arrays as buffers, with extents as numbers. */
	int rc = host_run(ctx, params, facts, &plan, e);
	if (rc < 0)
		return rc;
	own = plan_new();
	/* In the order of the context's arrays, so that outputs have their places. */
	struct plan_gemm op = { .a_transposed = g->a_transposed,
				.b_transposed = g->b_transposed,
				.tf32 = spec->precision == SPEC_TENSOR && strcmp(spec->precision_in, "tf32") == 0 };
	for (size_t k = 0; k < spec->array_count; k++) {
		if (k == g->a)
			op.a = (unsigned)own->buffer_count;
		if (k == g->b)
			op.b = (unsigned)own->buffer_count;
		if (k == g->c)
			op.c = (unsigned)own->buffer_count;
		if (k != g->a && k != g->b && k != g->c)
			continue;
		struct plan_buffer b = take_buffer(plan, spec->arrays[k].name);
		if (b.name)
			*MEM_PUSH(own->buffers, own->buffer_count) = b;
	}
	*MEM_PUSH(own->ops, own->op_count) = (struct plan_op){ .kind = PLAN_OP_GEMM, .gemm = op };
	plan_free(plan);
	rc = plan_check(own, e);
	if (rc < 0) {
		plan_free(own);
		return err_wrap(e, "library");
	}
	*ret_variant = (struct variant){ .params = params_copy(params), .plan = own };
	return 0;
}

/* After a crash, a time-out or nonsense the worker is gone, and the variant's trial with it: nothing more can be said for or
 * against it. */
static int fail(struct library_baseline *r, const struct err *why, struct err *e)
{
	if (why->code == ERR_CANCELLED || why->code == ERR_CRASH || why->code == ERR_TIMEOUT || why->code == ERR_NETWORK ||
	    why->code == ERR_IO) {
		*e = *why;
		return -(int)why->code;
	}
	r->why = mem_str(why->text);
	return 0;
}

static int compare(const struct reference_source *j, struct trial *t, struct trial *library, uint64_t seed, bool warm,
		   struct library_baseline *r, struct err *e)
{
	struct trial_pairing p = pairing;
	struct err why = ERR_INIT;
	struct check c;
	uint64_t seeds[TRIAL_SEEDS];
	check_seeds(seed, seeds);
	p.warm = warm;
	p.seeds = seeds;
	int rc = check_run(j, library, seed, &c, e);
	if (rc == 0 && c.passed && trial_pair(t, library, &p, &r->paired, &why) == 0)
		rc = check_left(j, library, &c, e);
	if (rc < 0)
		return rc;
	if (!c.passed)
		err_set(&why, c.code == ERR_NONE ? ERR_WRONG : c.code, "the library's output differs from the context's: %s",
			c.reason);
	check_fini(&c);
	if (why.code == ERR_NONE && r->paired.disturbed)
		err_set(&why, ERR_UNSUPPORTED,
			"the device was throttled or used by others during the comparison with the library (%s)", r->paired.cause);
	return why.code == ERR_NONE ? 0 : fail(r, &why, e);
}

int library_baseline_compare(const struct reference_source *j, struct trial *t, const struct context *ctx, uint64_t seed, bool warm,
			     struct library_baseline *ret_compared, struct err *e)
{
	struct library_baseline r = { .name = strcmp(j->facts->backend, "cuda") == 0 ? "cuBLASLt" : "the vendor's library" };
	struct variant v = { .params = NULL };
	struct trial library;
	struct err why = ERR_INIT;
	int rc = 0;
	if (library_baseline_variant(ctx, t->variant->params, j->facts, &v, &why) < 0 ||
	    trial_begin(&library, t->worker, &v, &why) < 0) {
		rc = fail(&r, &why, e);
	} else {
		rc = compare(j, t, &library, seed, warm, &r, e);
		trial_end(&library);
	}
	variant_fini(&v);
	if (rc < 0)
		library_baseline_fini(&r);
	else
		*ret_compared = r;
	return rc;
}

void library_baseline_fini(struct library_baseline *r)
{
	trial_paired_fini(&r->paired);
	free(r->why);
	*r = (struct library_baseline){ .name = NULL };
}

int library_baseline_record(const struct evidence *to, const struct params *params, const struct library_baseline *r, bool warm,
			    int64_t evidence, struct err *e)
{
	struct compare_side ours = { .checkpoint = to->checkpoint, .params = params, .evidence = evidence };
	return r->why ? 0
		      : compare_record(to, &(struct compare_pair){ .a = &ours, .library = r->name, .warm = warm }, &r->paired, NULL,
				       e);
}

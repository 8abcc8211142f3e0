/* core/judge/reference: what is computed ahead is found when it is needed. Nothing is computed while the process is held, and no
 * more is computed ahead than can be kept. Quick bounds are never wider than the others. */
#include "core/judge/reference.h"

#include <math.h>

#include "base/clock.h"
#include "core/sample.h"

enum { N = 64, BYTES = N * N * 4 };

struct scene {
	struct sample *s;
	struct eval ev, hasty; /* hasty: its work is cancelled, so it never waits or computes */
	struct context *ctx;
	struct params *size;
	struct pool_worker *device;
};

static int get(const struct eval *ev, const struct scene *x, uint64_t seed, enum plan_values values, struct err *e)
{
	const struct reference *r;
	*e = (struct err)ERR_INIT;
	struct reference_source j = { .ev = ev, .baseline = x->ctx, .facts = &x->s->facts };
	int rc = reference_get(&j, x->device, &(struct reference_values){ .size = x->size, .seed = seed, .values = values }, &r, e);
	if (rc == 0)
		reference_release(ev->references, r);
	return rc;
}

static struct reference_ahead *two(const struct scene *x, const struct eval *ev, uint64_t bytes)
{
	struct reference_ahead *a =
		reference_ahead_new(&(struct reference_source){ .ev = ev, .baseline = x->ctx, .facts = &x->s->facts }, x->device);
	reference_ahead_add(a, &(struct reference_values){ .size = x->size, .seed = 1, .values = PLAN_DECLARED }, bytes);
	reference_ahead_add(a, &(struct reference_values){ .size = x->size, .seed = 1, .values = PLAN_EXACT }, bytes);
	return a;
}

static void held(const struct scene *x)
{
	struct err e = ERR_INIT;
	is_int(get(&x->ev, x, 9, PLAN_DECLARED, &e), 0, "the process is started %s", e.text);
	struct reference_source j = { .ev = &x->ev, .baseline = x->ctx, .facts = &x->s->facts };
	is_int(reference_hold(&j, x->device, &e), 0, "the process is held %s", e.text);
	struct reference_ahead *a = two(x, &x->ev, BYTES);
	reference_ahead_start(a);
	clock_sleep(100 * CLOCK_MS);
	is_int(get(&x->hasty, x, 1, PLAN_DECLARED, &e), -ERR_CANCELLED, "while the process is held nothing is computed");
	reference_let_go(&j, x->device);
	is_int(get(&x->ev, x, 1, PLAN_EXACT, &e), 0, "once it is let go a reference is computed %s", e.text);
	for (int i = 0; i < 3000 && get(&x->hasty, x, 1, PLAN_DECLARED, &e) < 0; i++)
		clock_sleep(20 * CLOCK_MS);
	is_int(get(&x->hasty, x, 1, PLAN_DECLARED, &e), 0, "and so is one computed ahead, which nobody waits for %s", e.text);
	reference_ahead_free(a);
	is_int(get(&x->hasty, x, 1, PLAN_EXACT, &e), 0, "the other one ahead is kept, too %s", e.text);
	is_int(get(&x->hasty, x, 2, PLAN_EXACT, &e), -ERR_CANCELLED, "nothing else was computed");
}

static void bounded(const struct scene *x)
{
	struct references *small = references_new(3 * BYTES);
	size_t limit, kept = references_bytes(x->ev.references, &limit), arrays = 2 * BYTES + N * N; /* values, bounds, causes */
	ok(kept % arrays > 0, "what is kept beside the arrays is counted, too (%zu bytes)", kept % arrays);
	struct eval ev = x->ev, hasty = x->hasty;
	struct err e = ERR_INIT;
	ev.references = hasty.references = small;
	struct reference_ahead *a = two(x, &ev, BYTES);
	reference_ahead_start(a);
	clock_sleep(10 * CLOCK_MS);
	is_int(get(&ev, x, 1, PLAN_DECLARED, &e), 0, "the first reference ahead has room %s", e.text);
	reference_ahead_free(a);
	is_int(get(&hasty, x, 1, PLAN_EXACT, &e), -ERR_CANCELLED, "the second would push it out and is not computed");
	references_free(small);
}

static void quick(const struct scene *x)
{
	static const enum plan_values values[] = { PLAN_DECLARED,      PLAN_WIDE,      PLAN_SPECIAL,  PLAN_MIXED_ZEROS,
						   PLAN_INFINITE_ROWS, PLAN_NEAR_TIES, PLAN_SEGMENTS, PLAN_PATTERNS };
	struct reference_source j = { .ev = &x->ev, .baseline = x->ctx, .facts = &x->s->facts };
	size_t wider = 0, finite = 0, narrower = 0;
	for (size_t i = 0; i < MEM_COUNT(values); i++) {
		struct reference_values v = { .size = x->size, .seed = 5, .values = values[i] };
		const struct reference *r[2] = { NULL };
		struct err e = ERR_INIT;
		int rc = reference_get(&j, x->device, &v, &r[0], &e);
		v.quick = true;
		rc = rc < 0 ? rc : reference_get(&j, x->device, &v, &r[1], &e);
		is_int(rc, 0, "values %d: both references are made %s", values[i], e.text);
		for (size_t k = 0; rc == 0 && k < N * N; k++) {
			const float *full = (const float *)(const void *)r[0]->outputs[0].wanted + N * N;
			const float *fast = (const float *)(const void *)r[1]->outputs[0].wanted + N * N;
			wider += fast[k] > 1.1f * full[k]; /* errors of the baseline are sorted by what moved */
			narrower += fast[k] < full[k];
			finite += isfinite(full[k]);
		}
		reference_release(x->ev.references, r[0]);
		reference_release(x->ev.references, r[1]);
	}
	is_int((int64_t)wider, 0, "no quick bound is wider");
	ok(finite > 5 * N * N && narrower > finite / 2, "they are other bounds (%zu of %zu are narrower)", narrower, finite);
}

int main(int argc, char **argv)
{
	struct sample s;
	struct cancel cancel = { .asked = true };
	struct err e = ERR_INIT;
	sample_worker(argc, argv);
	sample_init(&s);
	if (s.ready) {
		struct scene x = { .s = &s,
				   .ev = { .pool = s.pool, .references = s.references },
				   .ctx = sample_context(SAMPLE_RIGHT) };
		x.hasty = x.ev;
		x.hasty.cancel = &cancel;
		params_parse(x.ctx, "n=64 BX=8 BY=8", true, &x.size, &e);
		is_int(eval_take_device(&x.ev, &s.facts, NULL, &x.device, &e), 0, "a device %s", e.text);
		held(&x);
		bounded(&x);
		quick(&x);
		pool_give(x.device);
		params_free(x.size);
		context_free(x.ctx);
	} else {
		SKIP(21, "no HLSL device");
	}
	sample_fini(&s);
	return tap_done();
}

/* core/judge/reference and reference_ahead: what is computed ahead is found by who needs it, nothing is computed while somebody holds the
 * process, and no more is computed ahead than can be kept. */
#include "core/judge/reference_ahead.h"

#include "base/clock.h"
#include "core/sample.h"

enum { N = 64, BYTES = N * N * 4 };

struct scene {
	struct sample *s;
	struct eval ev, hasty;      /* hasty: whose work is cancelled, so that it never waits nor computes */
	struct context *ctx;
	struct params *size;
	struct pool_worker *device;
};

static int get(const struct eval *ev, const struct scene *x, uint64_t seed, enum plan_values values, struct err *e)
{
	const struct reference *r;
	*e = (struct err)ERR_INIT;
	int rc = reference_get(ev, x->ctx, &x->s->facts, x->device, x->size, seed, values, &r, e);
	if (rc == 0)
		reference_release(ev->references, r);
	return rc;
}

static struct reference_ahead *two(const struct scene *x, const struct eval *ev, uint64_t bytes)
{
	struct reference_ahead *a = reference_ahead_new(ev, x->ctx, &x->s->facts, x->device);
	reference_ahead_add(a, x->size, 1, PLAN_DECLARED, bytes);
	reference_ahead_add(a, x->size, 1, PLAN_EXACT, bytes);
	return a;
}

static void held(const struct scene *x)
{
	struct err e = ERR_INIT;
	is_int(get(&x->ev, x, 9, PLAN_DECLARED, &e), 0, "the process is started %s", e.text);
	is_int(reference_hold(&x->ev, x->device, &e), 0, "the process is held %s", e.text);
	struct reference_ahead *a = two(x, &x->ev, BYTES);
	reference_ahead_start(a);
	clock_sleep(100 * CLOCK_MS);
	is_int(get(&x->hasty, x, 1, PLAN_DECLARED, &e), -ERR_CANCELLED, "nothing is computed meanwhile");
	reference_let_go(&x->ev, x->device);
	is_int(get(&x->ev, x, 1, PLAN_EXACT, &e), 0, "afterwards it is %s", e.text);
	for (int i = 0; i < 3000 && get(&x->hasty, x, 1, PLAN_DECLARED, &e) < 0; i++)
		clock_sleep(20 * CLOCK_MS);
	is_int(get(&x->hasty, x, 1, PLAN_DECLARED, &e), 0, "so is what nobody waits for %s", e.text);
	reference_ahead_free(a);
	is_int(get(&x->hasty, x, 1, PLAN_EXACT, &e), 0, "and kept %s", e.text);
	is_int(get(&x->hasty, x, 2, PLAN_EXACT, &e), -ERR_CANCELLED, "and only what was asked for");
}

static void bounded(const struct scene *x)
{
	struct references *small = references_new(3 * BYTES);
	struct eval ev = x->ev, hasty = x->hasty;
	struct err e = ERR_INIT;
	ev.references = hasty.references = small;
	struct reference_ahead *a = two(x, &ev, BYTES);
	reference_ahead_start(a);
	clock_sleep(10 * CLOCK_MS);
	is_int(get(&ev, x, 1, PLAN_DECLARED, &e), 0, "the first has room %s", e.text);
	reference_ahead_free(a);
	is_int(get(&hasty, x, 1, PLAN_EXACT, &e), -ERR_CANCELLED, "the second would drive it out");
	references_free(small);
}

int main(int argc, char **argv)
{
	struct sample s;
	struct cancel cancel = { true };
	struct err e = ERR_INIT;
	sample_worker(argc, argv);
	sample_init(&s);
	if (s.ready) {
		struct scene x = { .s = &s, .ev = { .pool = s.pool, .references = s.references }, .ctx = sample_context(SAMPLE_RIGHT) };
		x.hasty = x.ev;
		x.hasty.cancel = &cancel;
		params_parse(x.ctx, "n=64 BX=8 BY=8", true, &x.size, &e);
		is_int(eval_take_device(&x.ev, &s.facts, NULL, &x.device, &e), 0, "a device %s", e.text);
		held(&x);
		bounded(&x);
		pool_give(x.device);
		params_free(x.size);
		context_free(x.ctx);
	} else {
		SKIP(10, "no HLSL device");
	}
	sample_fini(&s);
	return tap_done();
}

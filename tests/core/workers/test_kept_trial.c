/* core/workers/kept_trial: a run that is given back is there again for the same code and parameters. */
#include "core/workers/kept_trial.h"

#include "core/sample.h"

struct scene {
	struct kept_trials *kept;
	struct kept_trial_request q;
};

static struct kept_trial *take(const struct scene *x, const char *params)
{
	struct kept_trial_request q = x->q;
	struct kept_trial *t = NULL;
	struct params *p = NULL;
	struct err e = ERR_INIT;
	params_parse(q.ctx, params, true, &p, &e);
	q.params = p;
	if (kept_trial_take(x->kept, &q, &t, &e) < 0)
		printf("# %s\n", e.text);
	params_free(p);
	return t;
}

static void kept(const struct scene *x)
{
	const char *size = "n=64 BX=8 BY=8";
	struct trial_input input = { .seed = 1, .poison = TRIAL_POISON };
	struct err e = ERR_INIT;
	struct kept_trial *first = take(x, size), *again, *other;
	ok(first && trial_execute(&first->trial, &input, EVAL_EXECUTE_NS, NULL, &e) == 0, "a run is prepared %s", e.text);
	uint32_t run = first ? first->trial.run : 0;
	kept_trial_give(first, true);
	other = take(x, "n=64 BX=4 BY=8");
	ok(other && other->trial.run != run, "other parameters are another run");
	again = take(x, size);
	ok(again == first && again && again->trial.run == run, "the same is still prepared");
	ok(again && trial_execute(&again->trial, &input, EVAL_EXECUTE_NS, NULL, &e) == 0, "and runs %s", e.text);
	kept_trial_give(again, false);
	kept_trial_give(other, true);
	again = take(x, size);
	ok(again && trial_execute(&again->trial, &input, EVAL_EXECUTE_NS, NULL, &e) == 0,
	   "one that was given back as unusable is prepared anew %s", e.text);
	kept_trial_give(again, true);
}

static void cancelled(const struct scene *x)
{
	struct cancel cancel = { .asked = true };
	struct eval ev = *x->q.ev;
	struct scene hasty = *x;
	ev.cancel = &cancel;
	hasty.q.ev = &ev;
	ok(take(&hasty, "n=64 BX=8 BY=8") == NULL, "a cancelled job gets none");
}

int main(int argc, char **argv)
{
	struct sample s;
	struct err e = ERR_INIT;
	sample_worker(argc, argv);
	sample_init(&s);
	if (s.ready) {
		struct eval ev = { .pool = s.pool, .references = s.references };
		struct scene x = { kept_trials_new(), { .ev = &ev, .ctx = sample_context(SAMPLE_RIGHT), .facts = &s.facts } };
		is_int(eval_take_device(&ev, &s.facts, NULL, &x.q.worker, &e), 0, "a device %s", e.text);
		kept(&x);
		cancelled(&x);
		kept_trials_free(x.kept);
		pool_give(x.q.worker);
		context_free((struct context *)x.q.ctx);
	} else {
		SKIP(7, "no HLSL device");
	}
	sample_fini(&s);
	return tap_done();
}

/* tune_vendor: the end of a tune of a context with a `library:` line; see tune_inside.h. */
#include "core/tune/tune_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/measure/library_baseline.h"

static const struct leader *winner(const struct tuner *u)
{
	for (size_t i = 0; u->result.top_count && i < u->leader_count; i++)
		if (params_equal(u->leaders[i].params, u->result.top[0].params))
			return &u->leaders[i];
	return NULL;
}

/* Ours is checked before it is timed, and after. */
static int check_and_compare(struct tuner *u, struct trial *t, const struct leader *l, struct library_baseline *r, int64_t *ret_evidence,
                             struct err *e)
{
	struct check c = { .passed = false };
	uint64_t seed = u->library_baseline_seeds[0];
	int rc = check_run(u->ev, t, u->q->root, u->q->facts, seed, TUNE_POISON, &c, e);
	if (rc == 0 && c.passed)
		rc = library_baseline_compare(u->ev, t, u->q->ctx, u->q->root, u->q->facts, u->library_baseline_seeds[1], u->q->warm, r, e);
	if (rc == 0 && c.passed)
		rc = check_after(u->ev, t, u->q->root, u->q->facts, seed, &c, e);
	if (rc == 0)
		rc = check_record(u->db, u->checkpoint, u->q->facts, l->params, "input", seed, &c, u->job, ret_evidence, e);
	if (rc == 0 && !c.passed)
		rc = err_set(e, ERR_WRONG, "the winner is not right: %s", c.reason);
	check_fini(&c);
	return rc;
}

static int compare(struct tuner *u, const struct leader *l, struct tune_rival *to, struct err *e)
{
	struct library_baseline r = { .name = NULL };
	struct trial t;
	int64_t evidence = 0;
	int rc = trial_begin(&t, u->device, &l->variant, e);
	if (rc < 0)
		return rc;
	rc = check_and_compare(u, &t, l, &r, &evidence, e);
	trial_end(&t);
	if (rc == 0)
		rc = library_baseline_record(u->db, u->checkpoint, u->q->facts, l->params, &r, u->q->warm, evidence, u->job, e);
	if (rc < 0) {
		library_baseline_fini(&r);
		return rc;
	}
	if (r.why == NULL) {
		to->ratio = r.paired.ratio;
		to->low = r.paired.low;
		to->high = r.paired.high;
	}
	to->name = mem_str(r.name);
	to->why = r.why;
	r.why = NULL;
	library_baseline_fini(&r);
	return rc;
}

/* Found out by its last check: the next one is the winner, and nothing is said of a library. */
static int dismiss_winner(struct tuner *u, const struct err *why, struct err *e)
{
	struct tune_result *r = &u->result;
	tune_record_why(u, r->top[0].params, why->text);
	r->wrong++;
	params_free(r->top[0].params);
	memmove(&r->top[0], &r->top[1], --r->top_count * sizeof r->top[0]);
	if (r->top_count)
		return 0;
	*e = *why;
	return -(int)e->code;
}

int tune_library_finish(struct tuner *u, struct err *e)
{
	struct tune_rival *to = &u->result.library;
	const struct leader *l = winner(u);
	struct err why = ERR_INIT;
	*to = (struct tune_rival){ .ratio = NAN, .low = NAN, .high = NAN };
	if (context_spec(u->q->ctx)->gemm == NULL || l == NULL)
		return 0;
	eval_progress(u->ev, (double)u->result.tried, (double)u->planned, "comparing the winner with the vendor's library");
	if (compare(u, l, to, &why) == 0)
		return 0;
	if (why.code == ERR_CANCELLED) {
		*e = why;
		return -ERR_CANCELLED;
	}
	if (why.code == ERR_WRONG)
		return dismiss_winner(u, &why, e);
	to->name = mem_str("the vendor's library");
	to->why = mem_str(why.text);
	return 0;
}

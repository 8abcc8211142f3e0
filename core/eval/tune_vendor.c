/* tune_vendor: the end of a tune of a context with a `library:` line; see tune_inside.h. */
#include "core/eval/tune_inside.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/eval/vendor.h"

static const struct leader *winner(const struct tuner *u)
{
	for (size_t i = 0; u->result.top_count && i < u->leader_count; i++)
		if (params_equal(u->leaders[i].params, u->result.top[0].params))
			return &u->leaders[i];
	return NULL;
}

static int compare(struct tuner *u, const struct leader *l, struct tune_rival *to, struct err *e)
{
	struct vendor_rival r;
	struct trial t;
	int rc = trial_begin(&t, u->device, &l->variant, e);
	if (rc < 0)
		return rc;
	rc = vendor_compare(u->ev, &t, u->q->ctx, u->q->root, u->q->facts, u->q->warm, &r, e);
	trial_end(&t);
	if (rc < 0)
		return rc;
	rc = vendor_record(u->db, u->checkpoint, u->q->facts, l->params, &r, u->q->warm, u->result.top[0].validation, u->job, e);
	if (rc == 0 && r.why == NULL) {
		to->ratio = r.paired.ratio;
		to->low = r.paired.low;
		to->high = r.paired.high;
	}
	to->name = r.name;
	to->why = r.why;
	r.why = NULL;
	vendor_fini(&r);
	return rc;
}

int tune_vendor_finish(struct tuner *u, struct err *e)
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
	to->name = "the vendor's library";
	to->why = mem_str(why.text);
	return 0;
}

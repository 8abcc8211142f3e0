/* work_submit: one answer of a client that carries a transformation out itself: fed to the machine, judged when the pass is
 * complete, kept for the next answer; see work.h. */
#include "core/jobs/work.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/record/lineage.h"
#include "core/record/exchange.h"
#include "core/jobs/work_judge.h"
#include "core/jobs/work_pending.h"

enum { SAMPLES = 16 };

static int record_answer(struct engine_job *job, const struct transform *x, const struct model_key *key, const char *region,
                         const struct buf *prompt, const char *answer, enum reply_outcome outcome, struct err *e)
{
	const struct transformation *t = transform_transformation(x);
	struct exchange row = {
		.key = { key->context.hex, key->transformation, (int)key->pass, region, (int)key->attempt },
		.text_hash = t->hash.hex, .model = fields_text(job->request, "model", "agent"), .provider = "agent",
		.prompt = buf_text(prompt), .reply = answer, .outcome = reply_outcome_name(outcome), .tokens_in = -1,
		.tokens_out = -1, .tokens_cached = -1, .tokens_reasoning = -1, .job = job->id,
	};
	int rc = exchange_add(job->db, &row, e);
	return rc < 0 ? rc : 0;
}

static int feed(struct engine_job *job, struct transform *x, enum reply_outcome *ret_outcome, struct err *e)
{
	const char *answer = fields_text(job->request, "answer", "");
	struct model_key key = transform_key(x);
	const char *region = context_region_name(transform_region(x));
	struct buf prompt = BUF_INIT;
	if (transform_state(x) != TRANSFORM_ASK)
		return err_set(e, ERR_CONFLICT, "this transformation waits for no answer: %s", transform_last(x));
	prompt_render(transform_prompt(x), &prompt);
	int rc = transform_feed(x, answer, REPLY_FINISH_STOP, ret_outcome, e);
	if (rc == 0)
		rc = record_answer(job, x, &key, region, &prompt, answer, *ret_outcome, e);
	buf_fini(&prompt);
	return rc;
}

/* What to answer next: a whole prompt at the beginning of a step, else only what was added to it. */
static void show_prompt(const struct transform *x, struct fields *result)
{
	const struct prompt *p = transform_prompt(x);
	struct buf text = BUF_INIT;
	if (p->count > 2)
		buf_adds(&text, p->turns[p->count - 1].text);
	else
		prompt_render(p, &text);
	fields_set(result, "prompt", buf_text(&text));
	fields_set(result, "region", context_region_name(transform_region(x)));
	buf_fini(&text);
}

static int conclude(struct engine_job *job, const struct lineage *l, struct work_judge *judge, const struct pending *row,
                    struct transform *x, struct fields *result, struct err *e)
{
	const struct transformation *t = transform_transformation(x);
	int64_t checkpoint = 0;
	int rc, accepted;
	struct err why = ERR_INIT;
	switch (transform_state(x)) {
	case TRANSFORM_ASK:
		show_prompt(x, result);
		/* fall through */
	case TRANSFORM_JUDGE:
		fields_set(result, "state", "waiting");
		return work_pending_keep(job->db, row->id, l->id, row->workflow, job->id, x, PENDING_WAITING, NULL, e);
	case TRANSFORM_STUCK:
		fields_set(result, "state", "given-up");
		return work_pending_keep(job->db, row->id, l->id, row->workflow, job->id, x, PENDING_GIVEN_UP, NULL, e);
	case TRANSFORM_DONE:
		rc = work_judge_checkpoint(judge, job->db, transform_context(x), l->id, t->name, t->source, row->workflow, job->id,
		                           &checkpoint, e);
		if (checkpoint == 0)
			return rc;
		fields_set(result, "state", "accepted");
		fields_setf(result, "checkpoint", "%lld", (long long)checkpoint);
		accepted = work_pending_accept(job->db, row->id, checkpoint, rc < 0 ? &why : e);
		return rc < 0 ? rc : accepted;
	}
	return 0;
}

static int submit(struct engine_job *job, const struct lineage *l, const struct facts *facts, const struct pending *row,
                  struct transform *x, struct fields *result, struct err *e)
{
	struct eval ev = work_eval(job);
	struct work_judge judge;
	enum reply_outcome outcome = REPLY_OK;
	work_judge_init(&judge, &ev, l->root, facts, (unsigned)fields_int(job->request, "samples", SAMPLES));
	int rc = feed(job, x, &outcome, e);
	if (rc == 0 && transform_state(x) == TRANSFORM_JUDGE)
		rc = transform_judge(x, &judge.judge, e);
	if (rc == 0) {
		fields_set(result, "pending", row->id);
		fields_set(result, "outcome", reply_outcome_name(outcome));
		fields_set(result, "summary", transform_last(x));
		rc = conclude(job, l, &judge, row, x, result, e);
	}
	work_judge_fini(&judge);
	return rc;
}

int work_submit(struct engine_job *job, struct fields *result, struct err *e)
{
	struct pending row;
	struct lineage l;
	struct facts facts;
	struct transform *x;
	int rc = pending_get(job->db, fields_text(job->request, "pending", ""), &row, e);
	if (rc < 0)
		return rc;
	rc = lineage_load(job->db, row.parent, &l, e);
	if (rc < 0)
		goto out;
	rc = work_device(job, l.ctx, &facts, e);
	if (rc == 0)
		rc = work_pending_load(job->db, row.id, &facts, &x, NULL, e);
	if (rc == 0) {
		rc = submit(job, &l, &facts, &row, x, result, e);
		transform_free(x);
	}
	lineage_fini(&l);
out:
	pending_fini(&row);
	return rc;
}

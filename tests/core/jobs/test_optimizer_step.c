/* core/jobs/optimizer_step: what was timed elsewhere is taken by the next job, unless that one is cancelled first. A search that
 * goes on does not end of what the machine did to an earlier try. */
#include "core/jobs/optimizer.h"

#include "base/mem.h"
#include "core/record/fixture.h"
#include "core/record/job.h"
#include "tap.h"

/* The decisions of a search, read anew. */
static void reload(struct optimizer *o)
{
	struct err e = ERR_INIT;
	decision_list_fini(&o->decisions);
	is_int(decision_list(o->job->db, "jsearch", &o->decisions, &e), 0, "decisions are read%s", e.text);
}

static void begun_anew(struct fixture *f)
{
	struct err e = ERR_INIT, lost = ERR_INIT;
	struct optimizer_request q = { .subject = { .device = (char *)"hlsl:0" } };
	struct engine_job job = { .id = "jsearch", .db = f->db };
	struct optimizer o = { .job = &job, .q = &q };
	struct decision d;
	char *id = NULL;
	job_create(f->db, "tune", "{}", &id, &e);
	job_start(f->db, id, &e);
	err_set(&lost, ERR_IO, "the worker was killed");
	is_int(job_fail(f->db, id, &lost, NULL, &e), 0, "a tune fails for the machine's sake%s", e.text);
	decision_init(&d);
	d.search = mem_str("jsearch");
	d.seq = 2;
	d.policy = mem_str("greedy");
	d.checkpoint = fixture_checkpoint(f, "other", 0);
	d.reason = mem_str("the search goes on");
	d.tune_job = mem_str(id);
	decision_add(f->db, &d, &e);
	cancel_ask(&job.cancel); /* it begins, and does not run */
	is_int(optimizer_step(&o, &d, &e), -ERR_CANCELLED, "the step is not answered with the old failure (%s)", e.text);
	ok(d.tune_job && strcmp(d.tune_job, id) != 0, "but with another tune");
	decision_fini(&d);
	free(id);
}

int main(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	struct decision d;
	char *tune = NULL;
	fixture_init(&f);
	job_create(f.db, "tune", "{\"later\":true}", &tune, &e);
	job_start(f.db, tune, &e);
	job_done(f.db, tune, "{\"sizes\":[]}", &e);
	decision_init(&d);
	d.search = mem_str("jsearch");
	d.seq = 1;
	d.policy = mem_str("greedy");
	d.checkpoint = fixture_checkpoint(&f, "root", 0);
	d.reason = mem_str("the search starts here");
	is_int(decision_add(f.db, &d, &e), 0, "a decision%s", e.text);
	d.outcome = DECISION_WAITING;
	d.tune_job = mem_str(tune);
	is_int(decision_save(f.db, &d, &e), 0, "that waits for a merged tune%s", e.text);
	decision_fini(&d);

	struct optimizer_request q = { .policy = NULL };
	struct engine_job job = { .id = "jsearch", .db = f.db };
	struct optimizer o = { .job = &job, .q = &q };
	reload(&o);
	cancel_ask(&job.cancel);
	is_int(optimizer_step_settle(&o, &e), -ERR_CANCELLED, "a search that is cancelled ends");
	reload(&o);
	is_str(decision_outcomes[o.decisions.at[0].outcome], "waiting", "what was timed elsewhere is not recorded as a failure");
	atomic_store(&job.cancel.asked, false);
	e = (struct err)ERR_INIT;
	is_int(optimizer_step_settle(&o, &e), 0, "the next job goes on%s", e.text);
	reload(&o);
	is_str(decision_outcomes[o.decisions.at[0].outcome], "measured", "and takes the result");
	decision_list_fini(&o.decisions);
	free(tune);
	begun_anew(&f);
	fixture_fini(&f);
	return tap_done();
}

/* core/record/retention: what is old goes, and what is evidence for a checkpoint on a workflow stays. */
#include "core/record/retention.h"

#include "base/clock.h"
#include "base/mem.h"
#include "core/record/blob.h"
#include "core/record/decision.h"
#include "core/record/event.h"
#include "core/record/exchange.h"
#include "core/record/fixture.h"
#include "core/record/job.h"
#include "core/record/measurement.h"
#include "core/record/pending.h"
#include "core/record/query.h"
#include "core/record/validation.h"
#include "core/record/workflow.h"
#include "tap.h"

#define DAY_MS ((int64_t)24 * 3600 * 1000)

static int64_t count(struct fixture *f, const char *sql)
{
	struct query q = { .db = f->db, .name = sql, .rc = SQLITE_OK };
	struct err e = ERR_INIT;
	int64_t n = -1;
	q.rc = sqlite3_prepare_v2(f->db->sql, sql, -1, &q.stmt, NULL);
	if (query_next(&q, &e) > 0)
		n = query_get_int(&q);
	query_fini(&q);
	return n;
}

/* A validated time of a checkpoint. */
static void measure(struct fixture *f, int64_t checkpoint)
{
	struct err e = ERR_INIT;
	struct validation v = { .checkpoint = checkpoint, .validator = "outputs", .device = "gpu", .sizes = "n=1", .params = "n=1",
	                        .size_kind = "input", .verdict = VALIDATION_PASSED, .took_ns = -1 };
	validation_add(f->db, &v, &e);
	struct measurement_run r = { .checkpoint = checkpoint, .device = "gpu", .strategy = "auto", .settings = "", .planned = -1 };
	measurement_run_begin(f->db, &r, &e);
	struct measurement m = { .checkpoint = checkpoint,
				 .run = r.id,
				 .device = "gpu",
				 .sizes = "n=1",
				 .params = "n=1",
				 .status = MEASUREMENT_OK,
				 .median_ns = 5,
				 .min_ns = 5,
				 .rse = 0,
				 .cold = true,
				 .validation = v.id };
	is_int(measurement_add(f->db, &m, &e), 0, "a validated time of checkpoint %lld%s", (long long)checkpoint, e.text);
}

static char *ended_job(struct fixture *f, int events)
{
	struct err e = ERR_INIT;
	char *id = NULL;
	job_create(f->db, "tune", "{}", &id, &e);
	job_start(f->db, id, &e);
	for (int i = 0; i < events; i++)
		event_append(f->db, id, &(struct event){ .kind = "progress", .progress = i, .total = events, .message = "working" },
			     NULL, &e);
	job_done(f->db, id, "{}", &e);
	return id;
}

static void ask(struct fixture *f, const char *context, const char *transformation)
{
	struct err e = ERR_INIT;
	struct exchange x = { .key = { context, transformation, 1, "device", 1 }, .model = "m", .provider = "openai",
			      .prompt = context, .reply = transformation, .job = "jsomebody" };
	is_int(exchange_add(f->db, &x, &e), 0, "an exchange%s", e.text);
}

/* A transformation that is half done; a search's where there is one. */
static void leave_pending(struct fixture *f, int64_t parent, const char *search)
{
	struct err e = ERR_INIT;
	struct pending p = { .parent = parent, .transformation = "tiling", .text = "root", .pass = 1, .step = 1, .attempt = 1,
	                     .context = "root", .state = "given-up" };
	struct decision d;
	char *id = NULL;
	is_int(pending_add(f->db, &p, &id, &e), 0, "a half-done transformation%s", e.text);
	decision_init(&d);
	d.search = mem_str(search);
	d.seq = 1;
	d.policy = mem_str("greedy");
	d.checkpoint = parent;
	d.reason = mem_str("because");
	if (search) {
		is_int(decision_add(f->db, &d, &e), 0, "of a search%s", e.text);
		d.pending = mem_str(id);
		decision_save(f->db, &d, &e);
	}
	decision_fini(&d);
	free(id);
}

int main(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	struct retention policy = RETENTION_DEFAULT;
	struct retention_counts c;
	fixture_init(&f);
	int64_t root = fixture_checkpoint(&f, "root", 0), head = fixture_checkpoint(&f, "head", root);
	int64_t left = fixture_checkpoint(&f, "left", root), leaf = fixture_checkpoint(&f, "leaf", left);
	int64_t tagged = fixture_checkpoint(&f, "tagged", root), moved = fixture_checkpoint(&f, "moved", head);
	workflow_create(f.db, "mm", root, &e);
	workflow_append(f.db, "mm", head, &e);
	workflow_append(f.db, "mm", moved, &e);
	workflow_restore(f.db, "mm", head, &e);
	workflow_tag(f.db, "best", tagged, &e);
	measure(&f, head);
	measure(&f, leaf);
	struct checkpoint kept;
	checkpoint_get(f.db, head, &kept, &e);
	ask(&f, kept.context.hex, "tiling");
	checkpoint_fini(&kept);
	ask(&f, "elsewhere", "forgotten");
	char *job = ended_job(&f, 1200);
	leave_pending(&f, root, NULL);
	leave_pending(&f, root, job);

	is_int(retention_apply(f.db, &policy, clock_wall_ms(), &c, &e), 0, "young rows%s", e.text);
	ok(c.events + c.jobs + c.checkpoints + c.exchanges + c.imports + c.texts == 0, "all stay");

	is_int(retention_apply(f.db, &policy, clock_wall_ms() + 31 * DAY_MS, &c, &e), 0, "after a month%s", e.text);
	is_int(c.events, 1202, "the events of an ended job go");
	is_int(count(&f, "SELECT count(*) FROM job_event"), 1, "but for its last one");
	is_int(c.checkpoints + c.jobs + c.exchanges, 0, "and nothing else");

	is_int(retention_apply(f.db, &policy, clock_wall_ms() + 100 * DAY_MS, &c, &e), 0, "after a hundred days%s", e.text);
	is_int(c.checkpoints, 2, "checkpoints that nothing leads to go");
	is_int(count(&f, "SELECT count(*) FROM checkpoint"), 4, "the workflow's, the tagged and the one before a restore stay");
	is_int(c.transformations, 1, "what a search left half done goes");
	is_int(count(&f, "SELECT count(*) FROM pending"), 1, "what somebody else left half done stays");
	is_int(count(&f, "SELECT count(*) FROM measurement"), 1, "a deleted checkpoint's measurements go with it");
	is_int(count(&f, "SELECT count(*) FROM validation"), 1, "and its validations");
	is_int(c.texts, 2, "and their texts");

	is_int(retention_apply(f.db, &policy, clock_wall_ms() + 400 * DAY_MS, &c, &e), 0, "after a year%s", e.text);
	is_int(c.exchanges, 1, "exchanges about contexts that nobody has go");
	is_int(count(&f, "SELECT count(*) FROM exchange"), 1, "those that made a kept checkpoint stay");
	is_int(c.jobs, 1, "ended jobs go");

	struct retention none = { 0 };
	workflow_delete(f.db, "mm", &e);
	is_int(retention_apply(f.db, &none, clock_wall_ms() + 4000 * DAY_MS, &c, &e), 0, "a policy of zeros%s", e.text);
	is_int(c.checkpoints, 0, "keeps everything");
	is_int(retention_apply(f.db, &policy, clock_wall_ms() + 4000 * DAY_MS, &c, &e), 0, "after its workflow was deleted%s",
	       e.text);
	is_int(count(&f, "SELECT count(*) FROM checkpoint"), 2, "only the tagged checkpoint and its parent stay");
	is_int(store_check(f.db, &e), 0, "the database is whole%s", e.text);
	is_int(retention_compact(f.db, &e), 0, "and can be compacted%s", e.text);
	free(job);
	fixture_fini(&f);
	return tap_done();
}

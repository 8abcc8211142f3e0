/* core/jobs/engine: those who wait for a job whose end cannot be written (as on a full disk) are told so. */
#include "core/jobs/engine.h"

#include "base/clock.h"
#include "core/record/event.h"
#include "core/record/job.h"
#include "core/record/query.h"
#include "core/record/store.h"
#include "core/record/fixture.h"
#include "core/workers/pool.h"
#include "tap.h"

#include <stdbool.h>

/* From here on nothing can be written through the job's handle. */
static int spoil(struct engine_job *job, const void *request, void *result, struct err *e)
{
	(void)request;
	(void)result;
	return query_exec_text(job->db, "PRAGMA query_only=1", e);
}

struct nothing { bool nothing; };
static const struct layout_field no_fields[] = { { LAYOUT_AT(struct nothing, nothing, BOOL) }, { .name = NULL } };
static const struct layout no_layout = { "nothing", sizeof(struct nothing), no_fields };
static const struct engine_kind spoil_kind = { "spoil", &no_layout, &no_layout, spoil };
static const struct engine_kind *const kinds[] = { &spoil_kind, NULL };

int main(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	struct engine *g;
	struct nothing request = { .nothing = true };
	bool fresh;
	struct job job;
	char *id = NULL;
	fixture_init(&f);
	struct pool *pool = pool_new(&(struct pool_config){ 0 });
	struct engine_config config = { .store = f.store, .pool = pool, .kinds = kinds, .threads = 1 };
	ok(engine_new(&config, &g, &e) == 0, "an engine starts %s", e.text);
	int bell = event_watch(f.store, &e);
	ok(engine_submit(g, f.db, &(struct engine_submission){ "spoil", &request, false, NULL }, &id, &fresh, &e) == 0,
	   "a job is submitted %s", e.text);
	char *why = NULL;
	for (int tries = 0; (why = engine_lost(g, id)) == NULL && tries < 6000; tries++)
		clock_sleep(10 * CLOCK_MS);
	has_str(why ? why : "", "cannot be written", "those who wait are told that the job's end cannot be written");
	has_str(why ? why : "", "tries again every", "those who wait are told that the daemon tries again");
	ok(job_get(f.db, id, &job, &e) == 0 && job.state == JOB_RUNNING, "the job's row still says that it runs");
	ok(engine_busy(g) == 1, "the job still has its thread");
	ok(engine_lost(g, "other") == NULL, "nothing is said about other jobs");
	job_fini(&job);
	free(why);
	free(id);
	event_unwatch(f.store, bell);
	engine_free(g);
	pool_free(pool);
	fixture_fini(&f);
	return tap_done();
}

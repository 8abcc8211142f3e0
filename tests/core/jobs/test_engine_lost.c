/* core/jobs/engine: a job whose end cannot be written down (as on a full disk) is told to those who wait for it. */
#include "core/jobs/engine.h"

#include "base/clock.h"
#include "core/record/event.h"
#include "core/record/job.h"
#include "core/record/query.h"
#include "core/record/store.h"
#include "core/record/fixture.h"
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
	struct engine_config config = { .store = f.store, .kinds = kinds, .threads = 1 };
	ok(engine_new(&config, &g, &e) == 0, "an engine %s", e.text);
	int bell = event_watch(f.store, &e);
	ok(engine_submit(g, f.db, &(struct engine_submission){ "spoil", &request, false }, &id, &fresh, &e) == 0, "a job %s", e.text);
	for (int tries = 0; engine_busy(g) && tries < 6000; tries++)
		clock_sleep(10 * CLOCK_MS);
	ok(job_get(f.db, id, &job, &e) == 0 && job.state == JOB_RUNNING, "its row still says that it runs");
	char *why = engine_lost(g, id);
	has_str(why, "ended without a record", "those who wait are told");
	has_str(why, "cannot be written", "… why");
	has_str(why, "restart the daemon", "… and what to do");
	ok(engine_lost(g, "other") == NULL, "nothing about other jobs");
	job_fini(&job);
	free(why);
	free(id);
	event_unwatch(f.store, bell);
	engine_free(g);
	fixture_fini(&f);
	return tap_done();
}

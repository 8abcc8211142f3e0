/* core/jobs/engine: jobs are done, fail, are cancelled while they wait and while they run, survive the end of a daemon as
 * interrupted, and are resumed. The kinds are made up; the pool is real but has nothing to do. */
#include "core/jobs/engine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/workers/pool.h"
#include "core/record/event.h"
#include "core/record/fact.h"
#include "core/record/job.h"
#include "pace.h"
#include "tap.h"

struct request { int64_t a, b; char *word; bool later; };
static const struct layout_field request_fields[] = {
	{ LAYOUT_AT(struct request, a, ID) },
	{ LAYOUT_AT(struct request, b, ID) },
	{ LAYOUT_AT(struct request, word, TEXT) },
	{ LAYOUT_AT(struct request, later, BOOL), .flags = LAYOUT_OPTIONAL },
	{ .name = NULL },
};
static const struct layout request_layout = { "request", sizeof(struct request), request_fields };

struct result { int64_t sum, reached, began; };
static const struct layout_field result_fields[] = {
	{ LAYOUT_AT(struct result, sum, ID) },
	{ LAYOUT_AT(struct result, reached, ID) },
	{ LAYOUT_AT(struct result, began, ID) },
	{ .name = NULL },
};
static const struct layout result_layout = { "result", sizeof(struct result), result_fields };

static int run_add(struct engine_job *job, const void *request, void *ret_result, struct err *e)
{
	const struct request *q = request;
	struct result *result = ret_result;
	(void)e;
	result->sum = q->a + q->b;
	engine_progress(job, 1, 2, "half");
	return 0;
}

static int run_refuse(struct engine_job *job, const void *request, void *ret_result, struct err *e)
{
	struct result *result = ret_result;
	(void)request;
	result->reached = 1;
	atomic_fetch_add(&job->spent.leased_ns, 1500 * CLOCK_MS);
	return err_set(e, ERR_WRONG, "it is wrong");
}

/* Runs until it is cancelled, or for a minute; tells by the file descriptor in `user` that it has begun. */
static int run_wait(struct engine_job *job, const void *request, void *ret_result, struct err *e)
{
	struct result *result = ret_result;
	(void)request;
	result->began = 1;
	engine_progress(job, 0, 0, "waiting");
	for (int i = 0; i < 6000; i++) {
		if (cancel_asked(&job->cancel))
			return err_set(e, ERR_CRASH, "a worker was ended");
		clock_sleep(10 * CLOCK_MS);
	}
	return 0;
}

enum { CROWD_THREADS = 2, CROWD_ROUNDS = 100 };

static void *tell_often(void *arg)
{
	for (int i = 0; i < CROWD_ROUNDS; i++)
		engine_progress(arg, i, CROWD_ROUNDS, "waiting for a device");
	return NULL;
}

/* What a tune does: one thread records in transactions, those that wait for devices tell that they do. */
static int run_crowd(struct engine_job *job, const void *request, void *ret_result, struct err *e)
{
	(void)request;
	(void)ret_result;
	pthread_t threads[CROWD_THREADS];
	char key[16];
	int rc = 0;
	for (int i = 0; i < CROWD_THREADS; i++)
		if (pthread_create(&threads[i], NULL, tell_often, job) != 0)
			abort();
	for (int i = 0; rc == 0 && i < CROWD_ROUNDS; i++) {
		if ((rc = store_begin(job->db, e)) < 0)
			break;
		for (int k = 0; rc == 0 && k < 8; k++) {
			snprintf(key, sizeof key, "%d/%d", i, k);
			rc = fact_set(job->db, "crowd", key, "1", e);
		}
		rc = store_end(job->db, rc, e);
	}
	for (int i = 0; i < CROWD_THREADS; i++)
		pthread_join(threads[i], NULL);
	return rc;
}

static const struct engine_kind add_kind = { "add", &request_layout, &result_layout, run_add };
static const struct engine_kind refuse_kind = { "refuse", &request_layout, &result_layout, run_refuse };
static const struct engine_kind wait_kind = { "wait", &request_layout, &result_layout, run_wait };
static const struct engine_kind crowd_kind = { "crowd", &request_layout, &result_layout, run_crowd };
static const struct engine_kind *const kinds[] = { &add_kind, &refuse_kind, &wait_kind, &crowd_kind, NULL };

struct bench {
	char folder[64], *path;
	struct store *store;
	struct db *db;
	struct pool *pool;
	struct engine *engine;
};

static void start(struct bench *b, unsigned threads)
{
	struct err e = ERR_INIT;
	struct engine_config config = { .store = b->store, .pool = b->pool, .kinds = kinds, .threads = threads };
	is_int(engine_new(&config, &b->engine, &e), 0, "an engine starts %s", e.text);
}

static char *submit(struct bench *b, const char *kind)
{
	struct request q = { .a = 2, .b = 3 };
	struct err e = ERR_INIT;
	char *id = NULL;
	bool fresh;
	if (engine_submit(b->engine, b->db, &(struct engine_submission){ kind, &q, false, NULL }, &id, &fresh, &e) < 0)
		printf("# %s\n", e.text);
	return id;
}

static enum job_state state_of(struct bench *b, const char *id)
{
	struct job job;
	struct err e = ERR_INIT;
	if (job_get(b->db, id, &job, &e) < 0)
		return JOB_FAILED;
	enum job_state state = job.state;
	job_fini(&job);
	return state;
}

/* Until the job has this state, a minute at most. */
static void wait_for(struct bench *b, const char *id, enum job_state state)
{
	int64_t began = clock_now();
	while (state_of(b, id) != state && clock_now() - began < 60 * CLOCK_S)
		clock_sleep(5 * CLOCK_MS);
}

static void ends(struct bench *b)
{
	char *add = submit(b, "add"), *refuse = submit(b, "refuse");
	struct job job;
	struct err e = ERR_INIT;
	wait_for(b, add, JOB_DONE);
	wait_for(b, refuse, JOB_FAILED);
	job_get(b->db, add, &job, &e);
	is_int(job.state, JOB_DONE, "a job is done");
	has_str(job.result, "5", "with its result");
	ok(strstr(job.result, "seconds") == NULL, "and no seconds of a device that it did not use");
	job_fini(&job);
	job_get(b->db, refuse, &job, &e);
	is_int(job.state, JOB_FAILED, "another fails");
	is_str(job.error_code, "wrong", "with its code");
	is_str(job.error_text, "it is wrong", "its message");
	has_str(job.result, "reached", "and what it had reached");
	has_str(job.result, "\"leased_seconds\":1.5", "and how long it had a device");
	job_fini(&job);
	is_int(engine_cancel(b->engine, b->db, add, &e), -ERR_CONFLICT, "what has ended cannot be cancelled");
	is_int(engine_cancel(b->engine, b->db, "jnobody", &e), -ERR_NOT_FOUND, "nor what does not exist");
	struct event_list events;
	event_since(b->db, add, 0, 0, &events, &e);
	is_int((long long)events.count, 4, "queued, running, progress, done are its events");
	event_list_fini(&events);
	free(add);
	free(refuse);
}

static void cancelled(struct bench *b)
{
	struct err e = ERR_INIT;
	char *running = submit(b, "wait"), *queued;
	wait_for(b, running, JOB_RUNNING);
	queued = submit(b, "wait"); /* one thread: it stays in line */
	is_int(engine_cancel(b->engine, b->db, queued, &e), 0, "a queued job can be cancelled");
	is_int(state_of(b, queued), JOB_CANCELLED, "at once");
	struct pace pace = pace_begin();
	is_int(engine_cancel(b->engine, b->db, running, &e), 0, "a running one too");
	wait_for(b, running, JOB_CANCELLED);
	ok(pace_within(&pace, CLOCK_S), "within a second (%s)", pace_text(&pace));
	is_int(state_of(b, running), JOB_CANCELLED, "and is cancelled, whatever its own error was");
	int64_t began = clock_now();
	while (engine_busy(b->engine) && clock_now() - began < 60 * CLOCK_S)
		clock_sleep(5 * CLOCK_MS);
	is_int(engine_busy(b->engine), 0, "nothing is left in line");
	free(running);
	free(queued);
}

static void interrupted(struct bench *b)
{
	struct err e = ERR_INIT;
	char *running = submit(b, "wait"), *queued;
	wait_for(b, running, JOB_RUNNING);
	queued = submit(b, "add");
	struct pace pace = pace_begin();
	engine_stop(b->engine);
	ok(pace_within(&pace, CLOCK_S), "an engine stops in the middle of a job (%s)", pace_text(&pace));
	is_int(engine_cancel(b->engine, b->db, "jnobody", &e), -ERR_NOT_FOUND, "and can still be asked");
	char *late = submit(b, "add");
	is_int(state_of(b, late), JOB_QUEUED, "a job that comes too late is kept");
	engine_free(b->engine);
	is_int(state_of(b, running), JOB_RUNNING, "the row of the job that was cut off says running");
	start(b, 1);
	is_int(state_of(b, running), JOB_INTERRUPTED, "which the next engine calls interrupted");
	wait_for(b, queued, JOB_DONE);
	wait_for(b, late, JOB_DONE);
	ok(state_of(b, queued) == JOB_DONE && state_of(b, late) == JOB_DONE, "what was queued is carried out");
	is_int(engine_resume(b->engine, b->db, queued, &e), -ERR_CONFLICT, "what is done cannot be resumed");
	is_int(engine_resume(b->engine, b->db, running, &e), 0, "what was interrupted can");
	wait_for(b, running, JOB_RUNNING);
	is_int(state_of(b, running), JOB_RUNNING, "and runs again");
	free(running);
	free(queued);
	free(late);
}

/* Once progress of other threads went through the job's own handle: SQLite's connections are of one thread, transactions of the one
 * ended in the middle of the other's. */
static void crowded(struct bench *b)
{
	char *id = submit(b, "crowd");
	struct job job;
	struct err e = ERR_INIT;
	struct event_list events;
	struct fact_list facts;
	wait_for(b, id, JOB_DONE);
	job_get(b->db, id, &job, &e);
	is_int(job.state, JOB_DONE, "a job whose threads tell progress while it records is done %s",
	       job.error_text ? job.error_text : "");
	job_fini(&job);
	event_since(b->db, id, 0, 0, &events, &e);
	is_int((long long)events.count, CROWD_THREADS * CROWD_ROUNDS + 3, "all that they told is there");
	event_list_fini(&events);
	fact_list(b->db, "crowd", &facts, &e);
	is_int((long long)facts.count, CROWD_ROUNDS * 8, "and all that it recorded");
	fact_list_fini(&facts);
	free(id);
}

int main(void)
{
	struct bench b = { .folder = "/tmp/peakd-engine-XXXXXX" };
	struct pool_config none = { .compile_workers = 1 };
	struct err e = ERR_INIT;
	if (mkdtemp(b.folder) == NULL)
		return 1;
	b.path = mem_fmt("%s/t.db", b.folder);
	b.pool = pool_new(&none);
	if (store_open(b.path, &b.store, &e) < 0 || store_take(b.store, &b.db, &e) < 0)
		printf("# %s\n", e.text);
	start(&b, 1);
	ends(&b);
	crowded(&b);
	cancelled(&b);
	interrupted(&b);
	engine_free(b.engine);
	store_give(b.db);
	store_close(b.store);
	pool_free(b.pool);
	char *command = mem_fmt("rm -rf '%s'", b.folder);
	int left = system(command);
	free(command);
	free(b.path);
	return tap_done() | left;
}

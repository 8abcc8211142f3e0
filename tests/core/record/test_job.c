/* core/record/job, event, bell: states, numbers, waking, and what a new daemon finds. */
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>

#include "base/clock.h"
#include "core/record/event.h"
#include "core/record/job.h"
#include "core/record/query.h"
#include "fixture.h"
#include "tap.h"

static void test_life(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	struct job j;
	char *id = NULL, *second = NULL;
	fixture_init(&f);
	is_int(job_create(f.db, "tune", "context 1", &id, &e), 0, "a job is created");
	ok(id[0] == 'j' && strlen(id) == 21, "its id is long: %s", id);
	job_create(f.db, "tune", "context 1", &second, &e);
	ok(strcmp(id, second) != 0, "and its own");
	is_int(job_get(f.db, id, &j, &e), 0, "it is read");
	ok(j.state == JOB_QUEUED && j.last_event == 1 && j.created_ms > 0 && !j.started_ms,
	   "queued, with its first event");
	is_str(j.request, "context 1", "with what was asked");
	job_fini(&j);
	is_int(job_done(f.db, id, NULL, &e), -ERR_CONFLICT, "a queued job cannot be done");
	has_str(e.text, "is queued and cannot become done", "and the message says so");
	is_int(job_start(f.db, id, &e), 0, "it is started");
	is_int(job_start(f.db, id, &e), -ERR_CONFLICT, "only once");
	is_int(job_resume(f.db, id, &e), -ERR_CONFLICT, "a running job cannot be resumed");
	has_str(e.text, "only an interrupted job can be resumed", "and the message says which can");
	is_int(job_done(f.db, id, "best 1.5 ms", &e), 0, "it is done");
	is_int(job_cancel(f.db, id, &e), -ERR_CONFLICT, "and cannot be cancelled any more");
	is_int(job_fail(f.db, id, &(struct err){ .code = ERR_IO }, NULL, &e), -ERR_CONFLICT, "nor fail");
	job_get(f.db, id, &j, &e);
	ok(j.state == JOB_DONE && j.started_ms && j.ended_ms >= j.started_ms && j.last_event == 3, "the row says so");
	is_str(j.result, "best 1.5 ms", "with its result");
	job_fini(&j);
	is_int(job_get(f.db, "jnone", &j, &e), -ERR_NOT_FOUND, "an unknown job is not found");

	job_start(f.db, second, &e);
	job_fail(f.db, second, &(struct err){ .code = ERR_COMPILE, .text = "line 1: no" }, "half", &e);
	job_get(f.db, second, &j, &e);
	ok(j.state == JOB_FAILED, "another one fails");
	is_str(j.error_code, "compile", "with a code");
	is_str(j.error_text, "line 1: no", "and a message");
	job_fini(&j);
	struct job_list list;
	is_int(job_list(f.db, "tune", false, 0, &list, &e), 0, "they are listed");
	ok(list.count == 2 && strcmp(list.at[0].id, second) == 0, "newest first");
	job_list_fini(&list);
	job_list(f.db, NULL, true, 0, &list, &e);
	is_int(list.count, 0, "none is live");
	job_list_fini(&list);
	free(id);
	free(second);
	fixture_fini(&f);
}

static int state_of(struct fixture *f, const char *id)
{
	struct job j;
	struct err e = ERR_INIT;
	if (job_get(f->db, id, &j, &e) < 0)
		return JOB_STATES;
	int state = (int)j.state;
	job_fini(&j);
	return state;
}

static void test_cancel_and_recover(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	char *id[4];
	fixture_init(&f);
	for (int i = 0; i < 4; i++)
		job_create(f.db, "tune", "x", &id[i], &e);
	is_int(job_cancel(f.db, id[0], &e), 0, "a queued job is cancelled");
	is_int(state_of(&f, id[0]), JOB_CANCELLED, "at once");
	is_int(job_start(f.db, id[0], &e), -ERR_CANCELLED, "and starting it says so");
	job_start(f.db, id[1], &e);
	is_int(job_cancel(f.db, id[1], &e), 0, "a running job is asked to end");
	is_int(state_of(&f, id[1]), JOB_RUNNING, "while it goes on running");
	job_start(f.db, id[2], &e);

	fixture_close(&f);
	fixture_open(&f);
	size_t count = 9;
	is_int(job_recover(f.db, &count, &e), 0, "a new daemon marks what the last one left");
	is_int(count, 1, "one job was interrupted");
	is_int(state_of(&f, id[2]), JOB_INTERRUPTED, "the job that ran is interrupted");
	is_int(state_of(&f, id[1]), JOB_CANCELLED, "the one that was to end has ended");
	is_int(state_of(&f, id[3]), JOB_QUEUED, "the queued one is still queued");
	is_int(job_recover(f.db, &count, &e), 0, "the next daemon does the same");
	is_int(count, 0, "the next daemon does not count earlier interruptions");
	is_int(job_resume(f.db, id[2], &e), 0, "it is resumed");
	is_int(job_start(f.db, id[2], &e), 0, "and runs");
	is_int(job_fail(f.db, id[2], &(struct err){ .code = ERR_CANCELLED, .text = "asked" }, NULL, &e), 0,
	       "and is ended");
	is_int(state_of(&f, id[2]), JOB_CANCELLED, "as cancelled");
	for (int i = 0; i < 4; i++)
		free(id[i]);
	fixture_fini(&f);
}

struct writer {
	struct store *store;
	const char *job;
	int count;
};

static void *append_events(void *arg)
{
	struct writer *w = arg;
	struct err e = ERR_INIT;
	struct db *db = NULL;
	intptr_t failures = store_take(w->store, &db, &e) < 0;
	for (int i = 0; !failures && i < w->count; i++)
		failures += event_append(db, w->job, &(struct event){ .kind = "progress", .progress = i + 1, .total = w->count },
					 NULL, &e) < 0;
	store_give(db);
	return (void *)failures;
}

static void test_numbers(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	char *id = NULL;
	enum { WRITERS = 3, EACH = 40 };
	fixture_init(&f);
	job_create(f.db, "tune", "x", &id, &e);
	struct writer w = { .store = f.store, .job = id, .count = EACH };
	pthread_t threads[WRITERS];
	for (int i = 0; i < WRITERS; i++)
		pthread_create(&threads[i], NULL, append_events, &w);
	intptr_t failures = 0;
	for (int i = 0; i < WRITERS; i++) {
		void *ret;
		pthread_join(threads[i], &ret);
		failures += (intptr_t)ret;
	}
	is_int(failures, 0, "several threads append events of one job");
	struct event_list list = { .count = 0 };
	is_int(event_since(f.db, id, 1, 0, &list, &e), 0, "they are read from a number on");
	is_int(list.count, WRITERS * EACH, "all of them");
	size_t wrong = 0;
	for (size_t i = 0; i < list.count; i++)
		wrong += list.at[i].seq != (int64_t)i + 2;
	is_int(wrong, 0, "numbered without a gap or a repetition");
	ok(list.at[0].total == EACH && list.at[0].progress >= 1, "with their figures");
	event_list_fini(&list);
	event_since(f.db, id, 10, 5, &list, &e);
	ok(list.count == 5 && list.at[0].seq == 11, "or only the next few");
	event_list_fini(&list);
	is_int(event_append(f.db, id, &(struct event){ .kind = "x", .progress = NAN, .total = NAN }, NULL, &e), 0,
	       "a share of nothing is accepted");
	is_int(event_append(f.db, "jnone", &(struct event){ .kind = "x" }, NULL, &e), -ERR_NOT_FOUND, "no event without its job");
	free(id);
	fixture_fini(&f);
}

static void test_waking(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	char *id = NULL;
	fixture_init(&f);
	job_create(f.db, "tune", "x", &id, &e);
	int fd = event_watch(f.store, &e);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	is_int(poll(&p, 1, 0), 0, "a watched descriptor is quiet");
	store_begin(f.db, &e);
	event_append(f.db, id, &(struct event){ .kind = "line", .message = "never" }, NULL, &e);
	store_end(f.db, -ERR_IO, &e);
	is_int(poll(&p, 1, 0), 0, "an event that was taken back rings no bell");
	event_append(f.db, id, &(struct event){ .kind = "line", .message = "hello" }, NULL, &e);
	is_int(poll(&p, 1, 0), 1, "a committed event makes it readable");
	event_unwatch(f.store, fd);
	free(id);
	fixture_fini(&f);
}

int main(void)
{
	test_life();
	test_cancel_and_recover();
	test_numbers();
	test_waking();
	return tap_done();
}

/* engine: job threads over the job table; see engine.h. */
#include "core/jobs/engine.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/record/event.h"
#include "core/record/job.h"

enum {
	THREADS = 16,
	PROGRESS_MAX = 500 /* bytes of a progress message: a line for people, never a compiler's whole log */,
	CHILD_WAIT_MS = 200, /* who waits for a job of another thread looks this often whether it should end itself */
	AGAIN_S = 5          /* between two attempts to write on a full disk */
};

/* What the last daemon left is marked before any job runs: at the start, or later when the disk was full then. */
enum recovery { RECOVERY_DONE, RECOVERY_DUE, RECOVERY_RUNS };

/* A job that waits for a thread or has one. */
struct ticket {
	char *id;
	char *lane;                 /* jobs of one lane run one after the other; NULL: it has none */
	struct engine_job *running; /* NULL while it waits */
	struct ticket *next;
};

/* A job whose row cannot be written (a full disk), and still says something else. */
struct lost {
	char *id, *why;
	struct lost *next;
};

struct engine {
	struct lock lock;
	struct lock_bell bell;
	struct engine_config config;
	struct ticket *tickets; /* oldest first */
	struct lost *lost;
	pthread_t *threads;
	unsigned thread_count;
	enum recovery recovery;
	bool ending;
};

static const struct engine_kind *find_kind(const struct engine *g, const char *name)
{
	for (size_t i = 0; g->config.kinds[i]; i++)
		if (strcmp(g->config.kinds[i]->name, name) == 0)
			return g->config.kinds[i];
	return NULL;
}

/* The fields of any request that the engine reads. */
struct later {
	bool later;
	char *device;
};

static const struct layout_field later_fields[] = {
	{ LAYOUT_AT(struct later, later, BOOL) },
	{ LAYOUT_AT(struct later, device, TEXT) },
	{ .name = NULL },
};
static const struct layout later_layout = { "request", sizeof(struct later), later_fields };

bool engine_is_later(const struct job *job)
{
	struct later request;
	struct err ignored = ERR_INIT;
	layout_init(&later_layout, &request);
	bool is =
		job->state == JOB_QUEUED && layout_read_text(&later_layout, job->request, &request, &ignored) == 0 && request.later;
	layout_fini(&later_layout, &request);
	return is;
}

/* take_lane: NULL: none. */
static void enqueue(struct engine *g, const char *id, char *take_lane)
{
	lock_take(&g->lock);
	struct ticket **last = &g->tickets;
	while (*last && strcmp((*last)->id, id) != 0)
		last = &(*last)->next;
	if (*last == NULL) {
		*last = MEM_NEW(struct ticket);
		(*last)->id = mem_str(id);
		(*last)->lane = take_lane;
		take_lane = NULL;
	}
	lock_bell_ring(&g->bell);
	lock_release(&g->lock);
}

static bool is_lane_busy_locked(const struct engine *g, const char *lane)
{
	for (const struct ticket *t = g->tickets; lane && t; t = t->next)
		if (t->running && t->lane && strcmp(t->lane, lane) == 0)
			return true;
	return false;
}

static struct ticket *next_waiting_locked(struct engine *g)
{
	for (struct ticket *t = g->tickets; t; t = t->next)
		if (t->running == NULL && !is_lane_busy_locked(g, t->lane))
			return t;
	return NULL;
}

/* A bundle's time may be cut off, so its jobs end one after the other: one at once for each device that is named. */
static char *lane_of(const struct engine *g, const struct job *job)
{
	struct later request;
	struct err ignored = ERR_INIT;
	layout_init(&later_layout, &request);
	if (g->config.later)
		layout_read_text(&later_layout, job->request, &request, &ignored);
	char *lane = g->config.later ? mem_str(request.device ? request.device : "") : NULL;
	layout_fini(&later_layout, &request);
	return lane;
}

static void drop_ticket(struct engine *g, struct ticket *gone)
{
	lock_take(&g->lock);
	struct ticket **link = &g->tickets;
	while (*link != gone)
		link = &(*link)->next;
	*link = gone->next;
	lock_bell_ring(&g->bell);
	lock_release(&g->lock);
	free(gone->lane);
	free(gone->id);
	free(gone);
}

/* What a job used beside its own result; the fields stand in its JSON. */
struct spent {
	double leased_seconds, validation_seconds, validation_leased_seconds;
};

static const struct layout_field spent_fields[] = {
	{ LAYOUT_AT(struct spent, leased_seconds, REAL), .unit = "s", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct spent, validation_seconds, REAL), .unit = "s", .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct spent, validation_leased_seconds, REAL), .unit = "s", .flags = LAYOUT_DETAIL },
	{ .name = NULL },
};
const struct layout engine_spent_layout = { "spent", sizeof(struct spent), spent_fields };

/* Milliseconds are exact enough; nothing is left out. */
static double seconds(int64_t ns)
{
	return ns > 0 ? round((double)ns / 1e6) / 1e3 : (double)NAN;
}

static char *result_text(const struct engine_kind *kind, const struct engine_job *job, const void *result)
{
	struct spent spent = {
		.leased_seconds = seconds(atomic_load(&job->spent.leased_ns)),
		.validation_seconds = seconds(atomic_load(&job->spent.validation_ns)),
		.validation_leased_seconds = seconds(atomic_load(&job->spent.validation_leased_ns)),
	};
	json_t *json = result ? layout_json(kind->result, result) : json_object();
	layout_add_json(&engine_spent_layout, &spent, json);
	char *text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return text;
}

static bool is_ending(struct engine *g)
{
	lock_take(&g->lock);
	bool ending = g->ending;
	lock_release(&g->lock);
	return ending;
}

/* --- jobs that cannot be written down ----------------------------------------------------------------------------------------- */

/* Callers that wait for the job still get an answer. */
static void add_lost(struct engine *g, const char *id, const char *take_why)
{
	struct lost *l = MEM_NEW(struct lost);
	log_error("%s", take_why);
	*l = (struct lost){ .id = mem_str(id), .why = (char *)take_why };
	lock_take(&g->lock);
	l->next = g->lost;
	g->lost = l;
	lock_release(&g->lock);
	event_ring(g->config.store);
}

static void drop_lost(struct engine *g, const char *id)
{
	lock_take(&g->lock);
	for (struct lost **link = &g->lost, *l; (l = *link) != NULL;) {
		if (id && strcmp(l->id, id) != 0) {
			link = &l->next;
			continue;
		}
		*link = l->next;
		free(l->id);
		free(l->why);
		free(l);
	}
	lock_release(&g->lock);
}

char *engine_lost(struct engine *g, const char *id)
{
	char *why = NULL;
	lock_take(&g->lock);
	for (const struct lost *l = g->lost; l && why == NULL; l = l->next)
		if (strcmp(l->id, id) == 0)
			why = mem_str(l->why);
	lock_release(&g->lock);
	return why;
}

/* After an attempt to write a job's row: true when another one is due, because there was no space and now there may be. */
static bool writes_again(struct engine *g, const char *id, int rc, const struct err *why)
{
	if (rc != -ERR_IO) {
		drop_lost(g, id);
		return false;
	}
	char *told = engine_lost(g, id);
	if (told == NULL)
		add_lost(g, id,
			 mem_fmt("the state of job %s cannot be written: %s. The daemon tries again every %d s", id, why->text,
				 AGAIN_S));
	free(told);
	lock_take(&g->lock);
	if (!g->ending)
		lock_bell_wait(&g->bell, &g->lock, clock_now() + AGAIN_S * CLOCK_S);
	bool again = !g->ending;
	lock_release(&g->lock);
	return again;
}

static int end_row(struct engine_job *job, const struct job *row, int rc, const char *result, struct err *why, struct err *e)
{
	int written;
	if (rc >= 0)
		rc = store_readable(job->db, why);
	if (rc < 0 && cancel_asked(&job->cancel))
		why->code = ERR_CANCELLED;
	if (rc < 0)
		log_message(why->code == ERR_CANCELLED ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, "job %s (%s): %s", row->id, row->kind,
			    why->text);
	else
		log_info("job %s (%s): done", row->id, row->kind);
	do
		written = rc < 0 ? job_fail(job->db, row->id, why, result, e) : job_done(job->db, row->id, result, e);
	while (writes_again(job->engine, row->id, written, e));
	return written;
}

/* A job whose row says that it runs. */
static int work(struct engine *g, struct engine_job *job, struct err *e)
{
	struct job row;
	struct err why = ERR_INIT;
	void *request = NULL, *result = NULL;
	int rc = job_get(job->db, job->id, &row, e);
	if (rc < 0)
		return rc;
	const struct engine_kind *kind = find_kind(g, row.kind);
	if (kind == NULL) {
		rc = err_set(&why, ERR_UNSUPPORTED, "this peakd has no job of kind '%s'", row.kind);
	} else {
		request = layout_new(kind->request);
		result = layout_new(kind->result);
		rc = layout_read_text(kind->request, row.request, request, &why);
		engine_span_begin(job, g->config.spans, row.kind);
		rc = rc < 0 ? err_wrap(&why, "request of job %s", row.id) : kind->run(job, request, result, &why);
		span_end(&job->span, rc);
	}
	/* A job that the daemon's own end cut off stays "running": the next daemon finds it interrupted, and it can be resumed. */
	if (rc < 0 && is_ending(g)) {
		rc = 0;
	} else {
		char *text = result_text(kind, job, result);
		rc = end_row(job, &row, rc, text, &why, e);
		free(text);
	}
	if (kind) {
		layout_free(kind->request, request);
		layout_free(kind->result, result);
	}
	job_fini(&row);
	return rc;
}

static int run_job(struct engine *g, struct engine_job *job, struct err *e)
{
	int rc;
	do
		rc = job_start(job->db, job->id, e);
	while (writes_again(g, job->id, rc, e));
	if (rc < 0)
		return e->code == ERR_CANCELLED ? 0 : rc;
	return work(g, job, e);
}

static void serve(struct engine *g, struct ticket *t)
{
	struct err e = ERR_INIT;
	struct engine_job *job = t->running;
	int rc = store_take(g->config.store, &job->db, &e);
	if (rc == 0)
		rc = run_job(g, job, &e);
	if (rc < 0 && !is_ending(g))
		add_lost(g, job->id,
			 mem_fmt("job %s ended without a record: %s. Restart the daemon: it shows the job as interrupted", job->id,
				 e.text));
	store_give(job->db);
	drop_ticket(g, t);
	free(job);
}

/* What the last daemon left: running jobs become interrupted, queued ones are queued again, in the order in which they were asked
 * for. */
static int recover(struct engine *g, struct err *e)
{
	struct db *db;
	struct job_list jobs = { 0 };
	size_t interrupted = 0;
	bool later = g->config.later;
	int rc = store_take(g->config.store, &db, e);
	if (rc < 0)
		return rc;
	rc = job_recover(db, &interrupted, e);
	if (rc >= 0)
		rc = job_list(db, NULL, true, 0, &jobs, e);
	if (rc >= 0 && interrupted && !later)
		log_warning("%zu %s interrupted when the last daemon ended; `job_control` with action resume runs one again",
			    interrupted, interrupted == 1 ? "job was" : "jobs were");
	/* Listed newest first. */
	for (size_t i = rc >= 0 ? jobs.count : 0; rc >= 0 && i > 0; i--) {
		const struct job *j = &jobs.at[i - 1];
		if (later && j->state == JOB_INTERRUPTED)
			rc = job_resume(db, j->id, e);
		if (rc >= 0 && (later || (j->state == JOB_QUEUED && !engine_is_later(j))))
			enqueue(g, j->id, lane_of(g, j));
	}
	job_list_fini(&jobs);
	store_give(db);
	return rc < 0 ? rc : 0;
}

/* One thread waits for space on the disk, and the others for it. */
static void recover_again_locked(struct engine *g)
{
	struct err e = ERR_INIT;
	g->recovery = RECOVERY_RUNS;
	lock_bell_wait(&g->bell, &g->lock, clock_now() + AGAIN_S * CLOCK_S);
	bool ending = g->ending;
	lock_release(&g->lock);
	int rc = ending ? -ERR_CANCELLED : recover(g, &e);
	lock_take(&g->lock);
	g->recovery = rc < 0 ? RECOVERY_DUE : RECOVERY_DONE;
	lock_bell_ring(&g->bell);
}

static void *job_thread(void *arg)
{
	struct engine *g = arg;
	lock_take(&g->lock);
	for (;;) {
		struct ticket *t = g->ending || g->recovery != RECOVERY_DONE ? NULL : next_waiting_locked(g);
		if (t) {
			t->running = MEM_NEW(struct engine_job);
			t->running->id = t->id;
			t->running->user = g->config.user;
			t->running->engine = g;
			lock_release(&g->lock);
			serve(g, t);
			lock_take(&g->lock);
		} else if (g->ending) {
			break;
		} else if (g->recovery == RECOVERY_DUE) {
			recover_again_locked(g);
		} else {
			lock_bell_wait(&g->bell, &g->lock, CLOCK_NEVER);
		}
	}
	lock_release(&g->lock);
	return NULL;
}

/* --- jobs that are parts of others ------------------------------------------------------------------------------------------ */

int engine_child_begin(struct db *db, const struct engine_kind *kind, const void *request, char **ret_id, struct err *e)
{
	char *text = layout_write(kind->request, request);
	int rc = store_begin(db, e);
	if (rc == 0) {
		rc = job_create(db, kind->name, text, ret_id, e);
		if (rc == 0)
			rc = job_start(db, *ret_id, e);
		rc = store_end(db, rc, e);
	}
	free(text);
	return rc < 0 ? rc : 0;
}

static bool is_part_of(const struct engine_job *job, const char *id)
{
	for (; job; job = job->parent)
		if (strcmp(job->id, id) == 0)
			return true;
	return false;
}

static void add_spent(struct eval_spent *to, const struct eval_spent *from)
{
	atomic_fetch_add(&to->leased_ns, atomic_load(&from->leased_ns));
	atomic_fetch_add(&to->validation_ns, atomic_load(&from->validation_ns));
	atomic_fetch_add(&to->validation_leased_ns, atomic_load(&from->validation_leased_ns));
}

/* On the parent's thread, with its database handle. False when another thread has it. */
static bool run_child(struct engine_job *parent, const char *id, int *ret_rc, struct err *e)
{
	struct engine *g = parent->engine;
	struct ticket *t = MEM_NEW(struct ticket), **last = &g->tickets;
	bool taken = false;
	t->id = mem_str(id);
	t->running = MEM_NEW(struct engine_job);
	*t->running = (struct engine_job){ .id = t->id, .db = parent->db, .user = parent->user, .engine = g, .parent = parent };
	lock_take(&g->lock);
	for (; *last; last = &(*last)->next)
		taken = taken || strcmp((*last)->id, id) == 0;
	if (!taken)
		*last = t;
	if (cancel_asked(&parent->cancel))
		cancel_ask(&t->running->cancel);
	lock_release(&g->lock);
	struct engine_job *job = t->running;
	if (taken) {
		free(t->id);
		free(t);
	} else {
		*ret_rc = work(g, job, e);
		add_spent(&parent->spent, &job->spent);
		drop_ticket(g, t);
	}
	free(job);
	return !taken;
}

static int restart(struct db *db, const char *id, struct err *e)
{
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = job_resume(db, id, e);
	if (rc >= 0)
		rc = job_start(db, id, e);
	return store_end(db, rc, e);
}

static int read_ended(const struct job *row, const struct layout *l, void *result, struct err *e)
{
	struct err ignored = ERR_INIT;
	if (row->result)
		layout_read_text(l, row->result, result, &ignored);
	if (row->state == JOB_DONE)
		return 0;
	return err_set(e, err_code_of(row->error_code), "%s", row->error_text ? row->error_text : "failed");
}

int engine_child_run(struct engine_job *parent, const char *id, const struct layout *l, void *result, struct err *e)
{
	for (int rc = 0; rc >= 0;) {
		struct job row;
		rc = cancel_check(&parent->cancel, e);
		if (rc < 0 || (rc = job_get(parent->db, id, &row, e)) < 0)
			return rc;
		enum job_state state = row.state;
		if (job_state_ended(state))
			rc = read_ended(&row, l, result, e);
		job_fini(&row);
		if (job_state_ended(state))
			return rc;
		if (state == JOB_INTERRUPTED)
			rc = restart(parent->db, id, e);
		/* What somebody queued or resumed by hand has a thread of its own. */
		else if (state == JOB_QUEUED || !run_child(parent, id, &rc, e))
			clock_sleep(CHILD_WAIT_MS * CLOCK_MS);
		if (rc >= 0 && is_ending(parent->engine))
			return err_set(e, ERR_CANCELLED, "the daemon ends");
	}
	return -(int)e->code;
}

int engine_new(const struct engine_config *config, struct engine **ret_engine, struct err *e)
{
	struct engine *g = MEM_NEW(struct engine);
	unsigned wanted = config->threads ? config->threads : THREADS;
	lock_init(&g->lock, LOCK_ENGINE);
	lock_bell_init(&g->bell);
	g->config = *config;
	g->threads = MEM_NEW_N(pthread_t, wanted);
	int rc = recover(g, e);
	if (rc == -ERR_IO) {
		log_error("%s; until there is space, no job starts, and jobs that the last daemon left are shown as running",
			  e->text);
		g->recovery = RECOVERY_DUE;
		rc = 0;
	}
	while (rc == 0 && g->thread_count < wanted) {
		if (pthread_create(&g->threads[g->thread_count], NULL, job_thread, g) != 0) {
			if (g->thread_count == 0)
				rc = err_set(e, ERR_INTERNAL, "cannot start a job thread");
			break;
		}
		g->thread_count++;
	}
	if (rc < 0)
		engine_free(g);
	else
		*ret_engine = g;
	return rc;
}

void engine_stop(struct engine *g)
{
	if (g == NULL)
		return;
	lock_take(&g->lock);
	g->ending = true;
	for (struct ticket *t = g->tickets; t; t = t->next)
		if (t->running) {
			cancel_ask(&t->running->cancel);
			pool_interrupt(g->config.pool, &t->running->cancel);
		}
	lock_bell_ring(&g->bell);
	lock_release(&g->lock);
	while (g->thread_count > 0)
		pthread_join(g->threads[--g->thread_count], NULL);
}

void engine_free(struct engine *g)
{
	if (g == NULL)
		return;
	engine_stop(g);
	while (g->tickets)
		drop_ticket(g, g->tickets);
	drop_lost(g, NULL);
	free(g->threads);
	lock_bell_fini(&g->bell);
	lock_fini(&g->lock);
	free(g);
}

/* A request as JSON without what does not change the work: how the checkpoint was named, and that a like job may be joined. */
static json_t *comparable(const struct engine_kind *kind, const void *request)
{
	json_t *json = layout_json(kind->request, request);
	json_object_del(json, "workflow");
	json_object_del(json, "resume");
	return json;
}

/* The live job whose request is the same; *ret_id stays NULL when there is none. One that runs or waits goes before an interrupted
 * one, and the newest before older ones. */
static int find_same(struct db *db, const struct engine_kind *kind, const json_t *want, char **ret_id, bool *ret_interrupted,
		     struct err *e)
{
	struct job_list jobs;
	int rc = job_list(db, kind->name, true, 0, &jobs, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < jobs.count; i++) {
		const struct job *j = &jobs.at[i];
		struct err unreadable = ERR_INIT;
		void *other = layout_new(kind->request);
		if (!engine_is_later(j) && layout_read_text(kind->request, j->request, other, &unreadable) == 0) {
			json_t *have = comparable(kind, other);
			bool interrupted = j->state == JOB_INTERRUPTED;
			if (json_equal(have, want) && (*ret_id == NULL || (*ret_interrupted && !interrupted))) {
				free(*ret_id);
				*ret_id = mem_str(j->id);
				*ret_interrupted = interrupted;
			} else if (!json_equal(have, want) && !interrupted &&
				   json_equal(json_object_get(have, "checkpoint"), json_object_get(want, "checkpoint"))) {
				rc = err_set(e, ERR_CONFLICT,
					     "job %s (%s) is working on checkpoint %lld with another request: wait for it (job "
					     "with action wait), or cancel it",
					     j->id, j->kind, (long long)json_integer_value(json_object_get(want, "checkpoint")));
			}
			json_decref(have);
		}
		layout_free(kind->request, other);
	}
	job_list_fini(&jobs);
	return rc;
}

int engine_submit(struct engine *g, struct db *db, const struct engine_submission *submission, char **ret_id, bool *ret_fresh,
		  struct err *e)
{
	const struct engine_kind *kind = find_kind(g, submission->kind);
	assert(kind);
	char *text = layout_write(kind->request, submission->request), *id = NULL;
	json_t *want = comparable(kind, submission->request);
	bool interrupted = false;
	/* One transaction: of two equal requests the second one finds the first one's row. */
	int rc = store_begin(db, e);
	if (rc == 0) {
		rc = submission->join ? find_same(db, kind, want, &id, &interrupted, e) : 0;
		*ret_fresh = id == NULL;
		if (rc == 0 && interrupted)
			rc = job_resume(db, id, e);
		else if (rc == 0 && id == NULL)
			rc = job_create(db, kind->name, text, &id, e);
		if (rc >= 0 && *ret_fresh && submission->trace)
			rc = event_append(db, id, &(struct event){ .kind = "trace", .message = submission->trace }, NULL, e);
		rc = store_end(db, rc < 0 ? rc : 0, e);
	}
	if (rc >= 0 && (*ret_fresh || interrupted) && !engine_is_later(&(struct job){ .state = JOB_QUEUED, .request = text }))
		enqueue(g, id, NULL);
	json_decref(want);
	free(text);
	if (rc < 0)
		free(id);
	else
		*ret_id = id;
	return rc < 0 ? rc : 0;
}

int engine_cancel(struct engine *g, struct db *db, const char *id, struct err *e)
{
	int rc = job_cancel(db, id, e);
	if (rc < 0)
		return rc;
	lock_take(&g->lock);
	for (struct ticket *t = g->tickets; t; t = t->next)
		if (t->running && is_part_of(t->running, id)) {
			cancel_ask(&t->running->cancel);
			pool_interrupt(g->config.pool, &t->running->cancel);
		}
	lock_release(&g->lock);
	return 0;
}

int engine_resume(struct engine *g, struct db *db, const char *id, struct err *e)
{
	int rc = job_resume(db, id, e);
	if (rc >= 0)
		enqueue(g, id, NULL);
	return rc < 0 ? rc : 0;
}

unsigned engine_busy(struct engine *g)
{
	unsigned n = 0;
	lock_take(&g->lock);
	for (struct ticket *t = g->tickets; t; t = t->next)
		n++;
	lock_release(&g->lock);
	return n;
}

void engine_progress(struct engine_job *job, double done, double total, const char *message)
{
	if (job->parent)
		engine_progress(job->parent, done, total, message);
	struct err e = ERR_INIT;
	struct db *own = NULL; /* the job's handle is its thread's; a lane that waits for a device is another */
	char *text = mem_str(message);
	if (text) {
		utf8_clean(text);
		utf8_cut(text, PROGRESS_MAX);
	}
	int rc = store_mine(job->db) ? 0 : store_take(store_of(job->db), &own, &e);
	if (rc == 0)
		rc = event_append(own ? own : job->db, job->id,
				  &(struct event){ .kind = "progress", .progress = done, .total = total, .message = text }, NULL,
				  &e);
	if (rc < 0)
		log_warning("progress of job %s: %s", job->id, e.text);
	store_give(own);
	free(text);
}

/* drain_merge: what came of a bundle's jobs is taken into the database that they are from: evidence by checkpoint hash, results by
 * job id; see drain.h. Everything happens in one transaction, so that a bundle is taken whole or not at all. */
#include "core/jobs/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "core/jobs/work.h"
#include "core/record/checkpoint.h"
#include "core/record/event.h"
#include "core/record/job.h"
#include "core/record/query.h"
#include "core/record/store.h"

/* Kind of the event by which a job that was merged is known again; its message is the digest of what came of it. */
#define EVENT "drained"

struct merge {
	struct db *home, *away;
	const struct job *job;         /* of the bundle */
	struct checkpoint there, here; /* the checkpoint that it is about, in either database */
	struct drain_merged *sums;
	struct buf *report;
};

/* --- jobs ------------------------------------------------------------------------------------------------------------------- */

static struct hash digest(const struct job *job)
{
	char *text = mem_fmt("%s\n%s\n%s\n%s", job->id, job_state_name(job->state), job->result ? job->result : "",
			     job->error_text ? job->error_text : "");
	struct hash hash = hash_text(text);
	free(text);
	return hash;
}

/* 1 when the same outcome was merged before, 0 when not. */
static int was_merged(struct merge *m, const struct job *home, struct err *e)
{
	struct event_list events;
	struct hash mine = digest(m->job);
	int rc = event_since(m->home, home->id, 0, 0, &events, e), known = 0;
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < events.count; i++)
		known |= strcmp(events.at[i].kind, EVENT) == 0 && strcmp(events.at[i].message, mine.hex) == 0;
	event_list_fini(&events);
	return known;
}

/* The result quotes row numbers of tune runs and of evidence, which are others here. */
static void translate(const struct merge *m, const struct layout *l, void *object)
{
	for (const struct layout_field *f = l->fields; f->name; f++) {
		if (f->type == LAYOUT_LIST) {
			size_t count = *(size_t *)(void *)((char *)object + f->count);
			for (size_t i = 0; i < count; i++)
				translate(m, f->of, *(char **)(void *)((char *)object + f->offset) + i * f->of->size);
		}
		bool run = strcmp(f->name, "run") == 0, evidence = strcmp(f->name, "evidence") == 0;
		int64_t here = 0;
		struct err ignored = ERR_INIT; /* what was not taken keeps its number */
		if ((run || evidence) &&
		    query_do(m->home, "merge_here",
			     QUERY(QUERY_TEXT(run ? "measurement_run" : "validation"), QUERY_INT(layout_get_int(f, object))), &here,
			     &ignored) > 0)
			layout_set_int(f, object, here);
	}
}

static char *translate_result(const struct merge *m, const char *text)
{
	const struct engine_kind *kind = work_kind(m->job->kind);
	struct err ignored = ERR_INIT;
	void *result = kind ? layout_new(kind->result) : NULL;
	void *spent = layout_new(&engine_spent_layout);
	char *translated = NULL;
	if (kind && text && layout_read_text(kind->result, text, result, &ignored) == 0 &&
	    layout_read_text(&engine_spent_layout, text, spent, &ignored) == 0) {
		translate(m, kind->result, result);
		json_t *json = layout_json(kind->result, result);
		layout_add_json(&engine_spent_layout, spent, json);
		translated = json_dumps(json, JSON_COMPACT);
		json_decref(json);
	}
	if (kind)
		layout_free(kind->result, result);
	layout_free(&engine_spent_layout, spent);
	return translated ? translated : mem_str(text);
}

/* As the job would have done here: a validation decides, and any other job may have refuted. */
static int take_status(struct merge *m, struct err *e)
{
	bool judged = strcmp(m->job->kind, "validate") == 0 && m->job->state == JOB_DONE && m->there.status != CHECKPOINT_DRAFT;
	const char *note = m->there.note ? m->there.note : "";
	if (judged)
		return checkpoint_set_status(m->home, m->here.id, m->there.status, note, e);
	return m->there.status == CHECKPOINT_FAILED ? checkpoint_refute(m->home, m->here.id, note, e) : 0;
}

static int end_job(struct merge *m, struct err *e)
{
	const struct job *j = m->job;
	struct hash mine = digest(j);
	char *result = translate_result(m, j->result);
	int rc = job_start(m->home, j->id, e);
	if (rc == 0)
		rc = event_append(m->home, j->id, &(struct event){ .kind = EVENT, .message = mine.hex }, NULL, e);
	if (rc == 0 && j->state == JOB_DONE) {
		rc = job_done(m->home, j->id, result, e);
	} else if (rc == 0) {
		struct err why = ERR_INIT;
		err_set(&why, j->state == JOB_CANCELLED ? ERR_CANCELLED : ERR_WRONG, "%s",
			j->error_text ? j->error_text : "failed there");
		rc = job_fail(m->home, j->id, &why, result, e);
	}
	free(result);
	return rc;
}

/* The same job about the same checkpoint, or something is wrong with the bundle. */
static int check_same(struct merge *m, const struct job *home, struct err *e)
{
	const struct engine_kind *kind = work_kind(m->job->kind);
	struct work_subject subject;
	int64_t id = 0;
	if (kind == NULL)
		return err_set(e, ERR_UNSUPPORTED, "job %s: this peakd has no job of kind '%s'", m->job->id, m->job->kind);
	layout_init(&work_subject_layout, &subject);
	int rc = layout_read_text(&work_subject_layout, m->job->request, &subject, e);
	if (rc == 0)
		rc = checkpoint_get(m->away, subject.checkpoint, &m->there, e);
	if (rc == 0)
		rc = checkpoint_find(m->home, m->there.hash.hex, &id, e);
	if (rc == 0)
		rc = checkpoint_get(m->home, id, &m->here, e);
	layout_fini(&work_subject_layout, &subject);
	if (rc < 0)
		return err_set(e, ERR_CONFLICT, "job %s: %s", m->job->id, e->text);
	char *theirs = drain_request(kind, m->job, id), *ours_text = drain_request(kind, home, id);
	struct work_subject asked;
	layout_init(&work_subject_layout, &asked);
	rc = layout_read_text(&work_subject_layout, home->request, &asked, e);
	if (rc == 0 && (asked.checkpoint != id || strcmp(theirs, ours_text) != 0 || strcmp(m->job->kind, home->kind) != 0 ||
			strcmp(m->there.context.hex, m->here.context.hex) != 0))
		rc = err_set(e, ERR_CONFLICT,
			     "job %s of the bundle differs from the job that was exported here: the bundle was changed, or belongs "
			     "to another database",
			     m->job->id);
	layout_fini(&work_subject_layout, &asked);
	free(theirs);
	free(ours_text);
	return rc;
}

static int take_job(struct merge *m, struct err *e)
{
	int64_t missing = 0, rows = 0;
	int rc = query_do(m->home, "merge_job", QUERY(QUERY_TEXT(m->job->id)), NULL, e);
	if (rc >= 0)
		rc = query_do(m->home, "merge_missing", NULL, &missing, e);
	if (rc >= 0 && missing)
		rc = err_set(e, ERR_IO, "a figure has evidence that is not in the bundle");
	if (rc >= 0)
		rc = query_exec(m->home, "merge_rows", e);
	if (rc >= 0)
		rc = query_do(m->home, "merge_count", NULL, &rows, e);
	m->sums->rows += (unsigned)rows;
	if (rc >= 0)
		rc = take_status(m, e);
	if (rc >= 0)
		rc = end_job(m, e);
	return rc < 0 ? err_wrap(e, "job %s", m->job->id) : 0;
}

static int settle(struct merge *m, const struct job *home, struct err *e)
{
	if (!job_state_ended(m->job->state)) {
		m->sums->open++;
		buf_addf(m->report, "%s %s: has not ended there\n", home->id, home->kind);
		return 0;
	}
	int known = was_merged(m, home, e), rc = 0;
	if (known < 0)
		return known;
	if (known) {
		m->sums->known++;
		buf_addf(m->report, "%s %s: merged before\n", home->id, home->kind);
	} else if (home->state == JOB_CANCELLED) {
		m->sums->cancelled++;
		buf_addf(m->report, "%s %s: was cancelled here meanwhile, its results are not taken\n", home->id, home->kind);
	} else if (home->state != JOB_QUEUED) {
		m->sums->known++;
		buf_addf(m->report, "%s %s: is %s here, it also ran elsewhere: the first results stay\n", home->id, home->kind,
			 job_state_name(home->state));
	} else {
		rc = take_job(m, e);
		m->sums->merged++;
		buf_addf(m->report, "%s %s: %s%s%s\n", home->id, home->kind, job_state_name(m->job->state),
			 m->job->error_text ? ": " : "", m->job->error_text ? m->job->error_text : "");
	}
	return rc;
}

static int merge_job(struct merge *m, struct err *e)
{
	struct job home = { .id = NULL };
	int rc = job_get(m->home, m->job->id, &home, e);
	if (rc == -ERR_NOT_FOUND)
		return err_set(e, ERR_CONFLICT,
			       "job %s does not belong to this database: merge the bundle where it was exported (--db)",
			       m->job->id);
	if (rc == 0)
		rc = check_same(m, &home, e);
	if (rc == 0)
		rc = settle(m, &home, e);
	job_fini(&home);
	checkpoint_fini(&m->there);
	checkpoint_fini(&m->here);
	return rc;
}

static int merge_all(struct db *home, struct db *away, struct drain_merged *sums, struct buf *report, struct err *e)
{
	struct job_list jobs;
	int rc = store_check(away, e);
	if (rc == 0)
		rc = job_list(away, NULL, false, 0, &jobs, e);
	if (rc < 0)
		return rc;
	rc = store_begin(home, e);
	if (rc == 0) {
		for (size_t i = jobs.count; rc == 0 && i > 0; i--) {
			struct merge m = { .home = home, .away = away, .job = &jobs.at[i - 1], .sums = sums, .report = report };
			rc = merge_job(&m, e);
		}
		if (rc == 0)
			rc = query_exec(home, "merge_facts", e);
		rc = store_end(home, rc, e);
	}
	job_list_fini(&jobs);
	return rc;
}

/* --- the bundle is only read -------------------------------------------------------------------------------------------------- */

static int copy_file(const char *from, const char *to, struct err *e)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct stat st;
	ssize_t n = in < 0 || out < 0 || fstat(in, &st) < 0 ? -1 : 1;
	while (n > 0)
		n = sendfile(out, in, NULL, 1 << 20);
	int rc = n < 0 ? err_sys(e, errno, "%s cannot be copied to %s", from, to) : 0;
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return rc;
}

static int merge_copy(struct db *home, const char *copy, struct drain_merged *sums, struct buf *report, struct err *e)
{
	struct db *away = NULL;
	int rc = store_open_one(copy, STORE_NEWEST, &away, e);
	if (rc == 0)
		rc = query_do(home, "merge_attach", QUERY(QUERY_TEXT(copy)), NULL, e);
	if (rc >= 0) {
		struct err late = ERR_INIT;
		rc = query_exec(home, "merge_begin", e);
		rc = rc < 0 ? rc : merge_all(home, away, sums, report, e);
		query_exec(home, "merge_end", &late);
	}
	store_close_one(away);
	return rc;
}

/* A bundle that was killed is as good as one that was stopped, unless somebody runs it. */
static int check_state(const char *folder, struct err *e)
{
	enum drain_state state;
	char *db = drain_db(folder), *note = NULL;
	int pid = 0, rc = drain_check(folder, &state, e);
	if (rc == 0 && state == DRAIN_EXPORTED)
		rc = err_set(e, ERR_CONFLICT,
			     "the bundle %s has not run: `peakd drain run %s` on a machine with its devices comes first", folder,
			     folder);
	else if (rc == 0 && state == DRAIN_RUNNING && (rc = store_lock_holder(db, &pid, &note, e)) > 0)
		rc = err_set(e, ERR_CONFLICT, "the bundle %s is still running: process %d works on it", folder, pid);
	free(note);
	free(db);
	return rc;
}

int drain_merge(struct db *home, const char *folder, struct drain_merged *ret_merged, struct buf *report, struct err *e)
{
	struct drain_merged sums = { 0 };
	const char *tmp = getenv("TMPDIR");
	int rc = check_state(folder, e);
	if (rc < 0)
		return rc;
	/* A copy, since opening may bring it up to date, and what is merged twice must be the same. */
	char *dir = mem_fmt("%s/peakd-merge-XXXXXX", tmp && *tmp ? tmp : "/tmp"), *from = drain_db(folder),
	     *log = mem_fmt("%s-wal", from);
	if (mkdtemp(dir) == NULL) {
		rc = err_sys(e, errno, "%s cannot be made", dir);
	} else {
		/* The log beside it holds what a process that was killed has committed last. */
		char *copy = drain_db(dir), *copy_log = mem_fmt("%s-wal", copy), *shared = mem_fmt("%s-shm", copy);
		rc = copy_file(from, copy, e);
		if (rc == 0 && access(log, F_OK) == 0)
			rc = copy_file(log, copy_log, e);
		if (rc == 0)
			rc = merge_copy(home, copy, &sums, report, e);
		unlink(copy);
		unlink(copy_log);
		unlink(shared);
		rmdir(dir);
		free(copy);
		free(copy_log);
		free(shared);
	}
	free(dir);
	free(from);
	free(log);
	if (rc == 0)
		*ret_merged = sums;
	return rc;
}

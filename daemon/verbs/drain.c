/* drain: `peakd drain export|run|merge|show`: carries queued jobs to a machine that has their device, and the results back; see
 * core/jobs/drain.h. export and merge open the database beside its daemon, each in one short transaction. run is a daemon without a
 * socket on the bundle's own database, and ends when its jobs have ended. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "core/jobs/drain.h"
#include "core/jobs/work.h"
#include "core/record/event.h"
#include "core/record/job.h"
#include "core/record/store.h"
#include "daemon/app.h"
#include "daemon/verbs/verbs.h"

#define LOOK_NS (200 * CLOCK_MS)

/* --- export and merge ------------------------------------------------------------------------------------------------------- */

static int export_bundle(const struct verb_line *line, const char *folder, int *ret_signal, struct err *e)
{
	struct db *home = NULL;
	struct buf report = BUF_INIT;
	(void)ret_signal;
	int rc = store_open_one(line->db, STORE_NEWEST, &home, e);
	if (rc < 0)
		return rc;
	rc = drain_export(home, folder, verb_get(line, "job"), &report, e);
	store_close_one(home);
	if (rc == 0)
		rc = err_set(e, ERR_NOT_FOUND,
			     "no job is kept for another machine%s%s: queue one with `peakd tune AT --device cuda:0 "
			     "--later`",
			     verb_get(line, "job") ? " under the id " : "", verb_get(line, "job") ? verb_get(line, "job") : "");
	else if (rc > 0)
		verbs_answer(line, json_pack("{s:s, s:i}", "folder", folder, "jobs", rc),
			     "%s%s: %d job%s; next: peakd drain run %s, on a machine with the device\n", buf_text(&report), folder,
			     rc, rc == 1 ? "" : "s", folder);
	buf_fini(&report);
	return rc < 0 ? rc : 0;
}

static int merge_bundle(const struct verb_line *line, const char *folder, int *ret_signal, struct err *e)
{
	struct db *home = NULL;
	struct buf report = BUF_INIT;
	struct drain_merged m;
	(void)ret_signal;
	int rc = store_open_one(line->db, STORE_NEWEST, &home, e);
	if (rc < 0)
		return rc;
	rc = drain_merge(home, folder, &m, &report, e);
	store_close_one(home);
	if (rc == 0)
		verbs_answer(line,
			     json_pack("{s:s, s:i, s:i, s:i, s:i, s:i}", "folder", folder, "merged", (int)m.merged, "known",
				       (int)m.known, "cancelled", (int)m.cancelled, "open", (int)m.open, "rows", (int)m.rows),
			     "%s%s: %u merged, %u known before, %u cancelled, %u not ended, %u rows of evidence\n",
			     buf_text(&report), folder, m.merged, m.known, m.cancelled, m.open, m.rows);
	buf_fini(&report);
	return rc;
}

/* --- show ------------------------------------------------------------------------------------------------------------------- */

static int show_bundle(const struct verb_line *line, const char *folder, int *ret_signal, struct err *e)
{
	enum drain_state state;
	struct db *bundle = NULL;
	struct job_list jobs;
	(void)ret_signal;
	int rc = drain_check(folder, &state, e);
	if (rc < 0)
		return rc;
	char *db = drain_db(folder);
	rc = store_open_one(db, STORE_NEWEST, &bundle, e);
	free(db);
	if (rc < 0)
		return rc;
	rc = job_list(bundle, NULL, false, 0, &jobs, e);
	if (rc >= 0) {
		json_t *rows = json_array();
		for (size_t i = jobs.count; i > 0; i--) {
			const struct job *j = &jobs.at[i - 1];
			const char *state_name = job_state_name(j->state), *why = j->error_text ? j->error_text : "";
			json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s*}", "job", j->id, "kind", j->kind, "state",
							      state_name, "error", j->error_text));
			if (!verb_get(line, "json"))
				printf("%s %s %s%s%s\n", j->id, j->kind, state_name, *why ? ": " : "", why);
		}
		verbs_answer(line, json_pack("{s:s, s:s, s:o}", "folder", folder, "state", drain_state_name(state), "jobs", rows),
			     "%s: %s, %zu job%s\n", folder, drain_state_name(state), jobs.count, jobs.count == 1 ? "" : "s");
		job_list_fini(&jobs);
	}
	store_close_one(bundle);
	/* Opening may have migrated the database, so it is sealed again. */
	return rc < 0 || state == DRAIN_RUNNING ? rc : drain_seal(folder, state, e);
}

/* --- run -------------------------------------------------------------------------------------------------------------------- */

/* Refuses a machine without the devices before any job fails for it. */
static int check_devices(const struct job_list *jobs, struct err *e)
{
	struct pool_config config = { .compile_workers = 1 };
	struct pool *pool = pool_new(&config);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < jobs->count; i++) {
		struct work_subject subject;
		struct facts *facts = NULL;
		size_t count;
		if (job_state_ended(jobs->at[i].state))
			continue;
		layout_init(&work_subject_layout, &subject);
		rc = layout_read_text(&work_subject_layout, jobs->at[i].request, &subject, e);
		if (rc == 0 && subject.device && *subject.device &&
		    (rc = pool_device_set(pool, subject.device, &facts, &count, e)) < 0)
			err_wrap(e, "job %s", jobs->at[i].id);
		free(facts);
		layout_fini(&work_subject_layout, &subject);
	}
	pool_free(pool);
	return rc;
}

static int check_jobs(const char *db, struct err *e)
{
	struct db *bundle = NULL;
	struct job_list jobs;
	int rc = store_open_one(db, STORE_NEWEST, &bundle, e);
	if (rc < 0)
		return rc;
	rc = store_check(bundle, e);
	if (rc == 0)
		rc = job_list(bundle, NULL, true, 0, &jobs, e);
	store_close_one(bundle);
	if (rc < 0)
		return rc;
	rc = check_devices(&jobs, e);
	job_list_fini(&jobs);
	return rc;
}

static int take_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1); /* batch systems can send it some time before the end */
	sigaddset(&set, SIGALRM); /* --seconds are over */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Prints the new events of one job. */
static void tell(struct db *db, const char *id, int64_t *io_seen, FILE *out)
{
	struct event_list events;
	struct err ignored = ERR_INIT;
	if (event_since(db, id, *io_seen, 0, &events, &ignored) < 0)
		return;
	for (size_t i = 0; i < events.count; i++) {
		*io_seen = events.at[i].seq;
		fprintf(out, "%s %s%s%s\n", id, events.at[i].kind, *events.at[i].message ? ": " : "", events.at[i].message);
	}
	if (events.count)
		fflush(out);
	event_list_fini(&events);
}

/* Returns 0 when every job has ended, -ERR_CANCELLED after a signal. */
static int follow(struct app *app, int signals, FILE *out, int *ret_signal, struct err *e)
{
	struct db *db = NULL;
	struct job_list jobs = { .count = 0 };
	struct pollfd fd = { .fd = signals, .events = POLLIN };
	bool ended = false, told = false;
	int rc = store_take(app->work.store, &db, e);
	if (rc == 0)
		rc = job_list(db, NULL, false, 0, &jobs, e);
	int64_t *seen = MEM_NEW_N(int64_t, jobs.count + 1);
	while (rc >= 0 && !ended && !told) {
		told = poll(&fd, 1, (int)(LOOK_NS / CLOCK_MS)) > 0;
		ended = engine_busy(app->engine) == 0;
		for (size_t i = jobs.count; i > 0; i--)
			tell(db, jobs.at[i - 1].id, &seen[i - 1], out);
	}
	free(seen);
	job_list_fini(&jobs);
	store_give(db);
	struct signalfd_siginfo info;
	if (rc >= 0 && told && !ended && read(signals, &info, sizeof info) > 0)
		*ret_signal = (int)info.ssi_signo;
	if (rc >= 0 && told && !ended)
		return err_set(e, ERR_CANCELLED,
			       "%s: measurements are kept; the same command continues, and `peakd drain merge` takes the jobs that "
			       "have ended",
			       *ret_signal == SIGALRM ? "its time is over" : "interrupted by a signal");
	return rc < 0 ? rc : 0;
}

/* Events go to `out`. */
static int run_jobs(const char *folder, const char *db, int signals, FILE *out, int *ret_signal, struct err *e)
{
	struct app *app = NULL;
	struct app_config config = { .db = db, .later = true };
	int rc = drain_seal(folder, DRAIN_RUNNING, e);
	if (rc == 0)
		rc = app_new(&config, &app, e);
	if (rc == 0)
		rc = follow(app, signals, out, ret_signal, e);
	app_end(app);
	app_free(app);
	/* Only now the database is closed and a single file. */
	if (rc == 0 || *ret_signal) {
		int sealed = drain_seal(folder, rc == 0 ? DRAIN_RAN : DRAIN_STOPPED, e);
		rc = sealed < 0 ? sealed : rc;
	}
	return rc;
}

static int run_bundle(const struct verb_line *line, const char *folder, int *ret_signal, struct err *e)
{
	enum drain_state state;
	char *db = drain_db(folder);
	struct store_claim claim = STORE_CLAIM_INIT;
	int signals = take_signals();
	int rc = signals < 0 ? err_sys(e, errno, "signalfd") : 0;
	alarm((unsigned)verb_number(line, "seconds", 0));
	if (rc == 0)
		rc = drain_check(folder, &state, e);
	if (rc == 0)
		rc = store_lock(db, NULL, &claim, e);
	bool ran = rc == 0 && state == DRAIN_RAN;
	if (rc == 0 && !ran)
		rc = check_jobs(db, e);
	/* Looking at the database may have migrated it, so it is sealed again. */
	if (rc < 0 && claim.note_fd >= 0 && state != DRAIN_RUNNING && *ret_signal == 0)
		drain_seal(folder, state, NULL);
	if (rc == 0 && !ran)
		rc = run_jobs(folder, db, signals, verb_get(line, "json") ? stderr : stdout, ret_signal, e);
	if (rc == 0)
		verbs_answer(line, json_pack("{s:s, s:s}", "folder", folder, "state", drain_state_name(DRAIN_RAN)),
			     "%s has run; next: peakd drain merge %s, where it was exported\n", folder, folder);
	store_unlock(&claim);
	if (signals >= 0)
		close(signals);
	free(db);
	return rc;
}

/* --- the verb ---------------------------------------------------------------------------------------------------------------- */

static const struct action {
	const char *name;
	int (*run)(const struct verb_line *line, const char *folder, int *ret_signal, struct err *e);
} actions[] = { { "export", export_bundle }, { "run", run_bundle }, { "merge", merge_bundle }, { "show", show_bundle } };

static int drain_run(const struct verb_line *line)
{
	struct err e = ERR_INIT;
	const char *names[MEM_COUNT(actions)], *word = line->words[0];
	char hint[96];
	int signal = 0;
	for (size_t i = 0; i < MEM_COUNT(actions); i++) {
		names[i] = actions[i].name;
		if (strcmp(names[i], word) != 0)
			continue;
		if (line->word_count > 2 && actions[i].run != merge_bundle) {
			err_set(&e, ERR_INPUT, "%s takes one folder; only merge takes several", word);
			return verb_misused(line, &e);
		}
		int status = VERB_OK;
		for (size_t k = 1; k < line->word_count; k++) {
			e = (struct err)ERR_INIT;
			if (actions[i].run(line, line->words[k], &signal, &e) < 0)
				status = verb_fail(line, &e);
		}
		return verb_ended(signal, status);
	}
	err_set(&e, ERR_INPUT, "there is no action '%s'%s; the actions are export, run, merge and show", word,
		suggest_hint(word, names, MEM_COUNT(names), hint));
	return verb_misused(line, &e);
}

const struct verb drain_verb = { .name = "drain", .run = drain_run };

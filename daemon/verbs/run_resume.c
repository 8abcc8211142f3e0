/* run_resume: see run_resume.h. */
#include "daemon/verbs/run_resume.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum { LOG_ALL = 100000 };

/* --- what is at work -------------------------------------------------------------------------------------------------------- */

/* The newest job that has not ended and moves this workflow; 0 when there is none. A tune moves nothing: the tool joins it. */
static int find_live(struct run *r, char **ret_id, bool *ret_interrupted, struct err *e)
{
	json_t *list = NULL;
	const json_t *job;
	size_t i;
	*ret_id = NULL;
	int rc = run_setup_call(r, "job", "job", json_pack("{s:s}", "action", "list"), &list, e);
	json_array_foreach(json_object_get(list, "jobs"), i, job) {
		const char *state = run_setup_text(job, "state");
		if (*ret_id || strcmp(run_setup_text(job, "workflow"), r->workflow) != 0 || strcmp(run_setup_text(job, "kind"), "tune") == 0)
			continue;
		*ret_id = mem_str(run_setup_text(job, "job"));
		*ret_interrupted = strcmp(state, "interrupted") == 0;
	}
	json_decref(list);
	return rc;
}

/* A job that is cancelled is told as an error, which is what was asked for. */
static int take_back(struct run *r, const char *id, struct err *e)
{
	int rc = run_setup_call(r, "job", "job", json_pack("{s:s, s:s}", "action", "cancel", "id", id), NULL, e);
	if (rc != -ERR_CANCELLED || client_interrupted(r->client))
		return rc;
	*e = (struct err)ERR_INIT;
	return 0;
}

/* However a job ends, the log says what came of it; what was interrupted is carried out anew, by a job of this run. */
static int settle(struct run *r, struct err *e)
{
	char *id;
	bool interrupted = false;
	int rc = find_live(r, &id, &interrupted, e);
	while (rc == 0 && id) {
		if (interrupted) {
			rc = take_back(r, id, e);
		} else {
			run_setup_say(r, "resume", "waiting for job %s of an earlier run", id);
			rc = client_wait(r->client, id, NULL, NULL, NULL, e);
		}
		free(id);
		id = NULL;
		if (rc == 0)
			rc = find_live(r, &id, &interrupted, e);
	}
	free(id);
	return rc;
}

/* --- what is made ----------------------------------------------------------------------------------------------------------- */

/* A sentence is a transformation whose name is made of its text's hash. */
static bool is_by(const json_t *checkpoint, const char *step)
{
	const char *by = run_setup_text(checkpoint, "by");
	struct hash h = hash_text(step);
	char *text = mem_fmt("text-%.12s", h.hex);
	bool same = strcmp(by, step) == 0 || strcmp(by, text) == 0;
	free(text);
	return same;
}

static int check_stands(const struct run *r, const json_t *checkpoint, struct err *e)
{
	long long id = run_setup_whole(checkpoint, "id");
	if (strcmp(run_setup_text(checkpoint, "status"), "failed") != 0)
		return 0;
	return err_set(e, ERR_WRONG, "checkpoint %lld (%s) of workflow %s was refuted, so nothing goes on from it: %s; `peakd workflow restore "
	               "%s %lld~1` goes back before it", id, run_setup_text(checkpoint, "by"), r->workflow,
	               run_setup_text(checkpoint, "note"), r->workflow, id);
}

/* Checkpoints in order beside the steps in order: r->made[i] is step i's. */
static int align(struct run *r, const json_t *log, struct err *e)
{
	const json_t *list = json_object_get(log, "checkpoints");
	size_t count = json_array_size(list), at = 0;
	bool keep_going = verb_get(r->line, "keep-going") != NULL;
	r->made = MEM_NEW_N(json_t *, r->step_count + 1);
	for (size_t i = 0; i <= r->step_count && at < count; i++) {
		json_t *checkpoint = json_array_get(list, count - 1 - at); /* newest first */
		int rc = check_stands(r, checkpoint, e);
		if (rc < 0)
			return rc;
		if (i == 0 || is_by(checkpoint, r->steps[i - 1])) {
			r->made[i] = json_incref(checkpoint);
			r->made_count = i + 1;
			at++;
		} else if (!keep_going) {
			break;
		}
	}
	if (at == count)
		return 0;
	const json_t *odd = json_array_get(list, count - 1 - at);
	return err_set(e, ERR_CONFLICT, "workflow %s is not the beginning of these steps: its checkpoint %lld is by %s, and %s is asked for there; "
	               "give the steps that it was made with, or begin another one (--name)", r->workflow,
	               (long long)run_setup_whole(odd, "id"), run_setup_text(odd, "by"), r->made_count <= r->step_count ? r->steps[r->made_count - 1] : "nothing");
}

static void forget(struct run *r)
{
	for (size_t i = 0; i < r->made_count; i++)
		json_decref(r->made[i]);
	free(r->made);
	r->made = NULL;
	r->made_count = 0;
}

static int read_made(struct run *r, struct err *e)
{
	json_t *log = NULL;
	int rc = run_setup_call(r, "log", "workflow", json_pack("{s:s, s:s, s:i}", "action", "log", "name", r->workflow, "limit", LOG_ALL), &log, e);
	forget(r);
	if (rc == 0)
		rc = align(r, log, e);
	json_decref(log);
	return rc;
}

/* Twice: steps that are not this workflow's take nothing back from it, and what is waited for may make another checkpoint. */
int run_resume(struct run *r, struct err *e)
{
	int rc = read_made(r, e);
	if (rc == 0)
		rc = settle(r, e);
	if (rc == 0)
		rc = read_made(r, e);
	if (rc == 0)
		run_setup_say(r, "resume", "%zu of %zu steps are made", r->made_count ? r->made_count - 1 : 0, r->step_count);
	return rc;
}

const json_t *run_resume_made(const struct run *r, size_t i)
{
	return i < r->made_count ? r->made[i] : NULL;
}

bool run_resume_lost(const struct run *r, size_t i)
{
	return i < r->made_count && r->made[i] == NULL;
}

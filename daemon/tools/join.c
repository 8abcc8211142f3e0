/* join: work that is under way already is not begun a second time; declared in tools.h. */
#include "daemon/tools/tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/jobs/drain.h"
#include "core/jobs/engine.h"

/* Fields that do not change what is done: how the checkpoint was named, and that it may be gone on with. */
static bool counts(const char *name)
{
	return strcmp(name, "workflow") != 0 && strcmp(name, "resume") != 0;
}

static bool holds(const struct fields *a, const struct fields *b)
{
	for (size_t i = 0; i < a->count; i++) {
		const char *other = fields_get(b, a->at[i].name);
		if (counts(a->at[i].name) && (other == NULL || strcmp(other, a->at[i].value) != 0))
			return false;
	}
	return true;
}

/* Decides about one live job: its id in *ret_id when it is the same work. */
static int look(const struct job *job, const struct fields *request, char **ret_id, struct err *e)
{
	struct fields other = FIELDS_INIT;
	struct err ignored = ERR_INIT;
	if (drain_is_later(job) || fields_parse(job->request, &other, &ignored) < 0)
		return 0;
	int rc = 0;
	if (holds(request, &other) && holds(&other, request))
		*ret_id = mem_str(job->id);
	else if (job->state != JOB_INTERRUPTED && fields_int(&other, "checkpoint", 0) == fields_int(request, "checkpoint", 0))
		rc = err_set(e, ERR_CONFLICT, "job %s (%s) is at work on checkpoint %s, and was asked for something else: wait for it (job with "
		             "action wait), or cancel it", job->id, job->kind, fields_text(request, "checkpoint", ""));
	fields_fini(&other);
	return rc;
}

int tools_join(struct app *app, struct db *db, const char *kind, const struct fields *request, char **ret_id, struct err *e)
{
	struct job_list jobs;
	bool interrupted = false;
	struct err ended = ERR_INIT;
	*ret_id = NULL;
	int rc = job_list(db, kind, true, 0, &jobs, e);
	if (rc < 0)
		return rc;
	rc = 0;
	for (size_t i = 0; rc == 0 && i < jobs.count; i++) {
		char *id = NULL;
		rc = look(&jobs.at[i], request, &id, e);
		/* One that runs or waits goes before one that was interrupted, and the newest before older ones. */
		bool better = id && (*ret_id == NULL || (interrupted && jobs.at[i].state != JOB_INTERRUPTED));
		if (better) {
			free(*ret_id);
			*ret_id = id;
			interrupted = jobs.at[i].state == JOB_INTERRUPTED;
		} else {
			free(id);
		}
	}
	job_list_fini(&jobs);
	/* Somebody may have resumed it meanwhile: then it is waited for all the same. */
	if (rc == 0 && interrupted && engine_resume(app->engine, db, *ret_id, &ended) < 0 && ended.code != ERR_CONFLICT) {
		*e = ended;
		rc = -(int)ended.code;
	}
	if (rc < 0) {
		free(*ret_id);
		*ret_id = NULL;
	}
	return rc;
}

/* work: the table of job kinds and what they share; see work.h. */
#include "core/jobs/work.h"

#include <stdlib.h>
#include <string.h>

const struct engine_kind work_kinds[] = {
	{ "validate", work_validate },
	{ "tune", work_tune },
	{ "compare", work_compare },
	{ "profile", work_profile },
	{ "transform", work_transform },
	{ "submit", work_submit },
	{ "edit", work_edit },
	{ "draft", work_draft },
	{ NULL, NULL },
};

static void progress(void *arg, double done, double total, const char *message)
{
	engine_progress(arg, done, total, message);
}

struct eval work_eval(struct engine_job *job)
{
	struct work *w = job->user;
	return (struct eval){ .pool = w->pool, .references = w->references, .binaries = w->binaries, .cancel = &job->cancel, .progress = progress,
	                      .progress_arg = job, .external = &w->external, .spent = &job->spent };
}

int work_devices(struct engine_job *job, const struct context *ctx, struct facts **ret_facts, size_t *ret_count, struct err *e)
{
	struct work *w = job->user;
	const char *id = fields_text(job->request, "device", "");
	struct facts *list;
	size_t count;
	int rc = pool_device_set(w->pool, *id ? id : context_backend(ctx), &list, &count, e);
	if (rc < 0)
		return rc;
	if (strcmp(list[0].backend, context_backend(ctx)) != 0) {
		rc = err_set(e, ERR_INPUT, "device %s runs %s code, and this is a %s context", list[0].id, list[0].backend,
		             context_backend(ctx));
		free(list);
		return rc;
	}
	*ret_facts = list;
	*ret_count = count;
	return 0;
}

int work_device(struct engine_job *job, const struct context *ctx, struct facts *ret_facts, struct err *e)
{
	struct facts *list;
	size_t count;
	int rc = work_devices(job, ctx, &list, &count, e);
	if (rc < 0)
		return rc;
	*ret_facts = list[0];
	free(list);
	return 0;
}

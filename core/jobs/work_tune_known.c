/* work_tune_known: see work_tune_known.h. */
#include "core/jobs/work_tune_known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/context/params.h"
#include "core/record/job.h"

static const char *at(const struct fields *f, const char *name, long long i)
{
	char key[48];
	snprintf(key, sizeof key, "%s_%lld", name, i);
	return fields_text(f, key, "");
}

static bool stands(const struct tune_result *t, const char *best)
{
	bool found = false;
	for (size_t k = 0; k < t->top_count && !found; k++) {
		char *params = params_text(t->top[k].params);
		found = strcmp(params, best) == 0;
		free(params);
	}
	return found;
}

/* "median_ns_1" of the other result becomes "median_ns_0" of this one. */
static void copy(const struct fields *from, long long k, size_t i, struct fields *result)
{
	char end[32], key[96];
	size_t n = (size_t)snprintf(end, sizeof end, "_%lld", k);
	for (size_t f = 0; f < from->count; f++) {
		const char *name = from->at[f].name;
		size_t len = strlen(name);
		if (len <= n || strcmp(name + len - n, end) != 0)
			continue;
		snprintf(key, sizeof key, "%.*s_%zu", (int)(len - n), name, i);
		fields_set(result, key, from->at[f].value);
	}
}

static bool take_from(const struct fields *from, const struct tune_result *t, size_t i, struct fields *result)
{
	for (long long k = 0; k < fields_int(from, "count", 0); k++)
		if (strtoll(at(from, "run", k), NULL, 10) == t->run && *at(from, "unproven", k) == '\0' && stands(t, at(from, "best", k))) {
			copy(from, k, i, result);
			return true;
		}
	return false;
}

bool work_tune_known(struct db *db, const struct tune_result *t, size_t i, struct fields *result)
{
	struct job_list jobs;
	struct err ignored = ERR_INIT;
	bool found = false;
	if (job_list(db, "tune", false, 0, &jobs, &ignored) < 0)
		return false;
	for (size_t k = 0; k < jobs.count && !found; k++) {
		struct fields from = FIELDS_INIT;
		if (jobs.at[k].state == JOB_DONE && jobs.at[k].result && fields_parse(jobs.at[k].result, &from, &ignored) == 0) {
			found = take_from(&from, t, i, result);
			fields_fini(&from);
		}
	}
	job_list_fini(&jobs);
	return found;
}

/* feed: telling subscribers of tasks and resources; see feed.h. */
#include "daemon/subscriptions.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/record/job.h"
#include "mcp/server.h"

/* One thing that somebody watches. */
struct watched {
	char *task, *uri;   /* one of them */
	char *job;          /* whose events count; NULL: any job's end */
	int64_t seen;       /* its last event that was told, or the number of ended jobs; -1: nothing was told */
	int still;          /* seen in the present look */
	struct watched *next;
};

struct subscriptions {
	struct watched *list;
};

static const char JOB[] = "peak://job/", CHECKPOINT[] = "peak://checkpoint/";

struct subscriptions *subscriptions_new(void)
{
	return MEM_NEW(struct subscriptions);
}

static void watched_free(struct watched *one)
{
	free(one->task);
	free(one->uri);
	free(one->job);
	free(one);
}

/* Drops what is not watched any more; all: everything. */
static void drop(struct subscriptions *w, int all)
{
	for (struct watched **link = &w->list; *link;) {
		struct watched *one = *link;
		if (one->still && !all) {
			link = &one->next;
		} else {
			*link = one->next;
			watched_free(one);
		}
	}
}

void subscriptions_free(struct subscriptions *w)
{
	if (w == NULL)
		return;
	drop(w, 1);
	free(w);
}

static int same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void note(void *arg, const char *task, const char *uri)
{
	struct subscriptions *w = arg;
	for (struct watched *one = w->list; one; one = one->next) {
		if (same(one->task, task) && same(one->uri, uri)) {
			one->still = 1;
			return;
		}
	}
	int of_job = uri && strncmp(uri, JOB, sizeof JOB - 1) == 0;
	if (uri && !of_job && strncmp(uri, CHECKPOINT, sizeof CHECKPOINT - 1) != 0)
		return; /* transformations and documents do not change */
	struct watched *one = MEM_NEW(struct watched);
	one->task = mem_str(task);
	one->uri = mem_str(uri);
	if (task)
		one->job = mem_str(task);
	else if (of_job)
		one->job = mem_strn(uri + sizeof JOB - 1, strcspn(uri + sizeof JOB - 1, "/"));
	one->seen = -1;
	one->still = 1;
	one->next = w->list;
	w->list = one;
}

/* The number that says whether there is news; -1 when there is no such job. */
static int64_t number_of(struct db *db, const struct watched *one)
{
	struct err e = ERR_INIT;
	struct job job;
	int64_t number = -1;
	if (one->job == NULL) {
		if (job_ended(db, &number, &e) < 0)
			log_warning("counting jobs: %s", e.text);
	} else if (job_get(db, one->job, &job, &e) == 0) {
		number = job.last_event;
		job_fini(&job);
	}
	return number;
}

void subscriptions_look(struct subscriptions *w, struct mcp_server *server, struct db *db, bool newcomer)
{
	for (struct watched *one = w->list; one; one = one->next)
		one->still = 0;
	mcp_server_watched(server, note, w);
	drop(w, 0);
	for (struct watched *one = w->list; one; one = one->next) {
		int64_t number = number_of(db, one);
		if (number == one->seen && !newcomer)
			continue;
		one->seen = number;
		if (one->task)
			mcp_server_task_updated(server, one->task);
		else
			mcp_server_resource_updated(server, one->uri);
	}
}

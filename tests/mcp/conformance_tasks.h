/* conformance_tasks: tasks in memory for tests/mcp/conformance_server.c: each is a thread that sleeps, or waits for
 * answers, and then says how it ended. */
#ifndef PEAKD_TESTS_MCP_CONFORMANCE_TASKS_H
#define PEAKD_TESTS_MCP_CONFORMANCE_TASKS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/mem.h"
#include "mcp/server.h"

enum { TTL_MS = 300000, POLL_MS = 100 };

struct task {
	struct task *next;
	struct tasks *all;
	char id[33];
	const char *status;       /* static storage */
	int64_t created, updated; /* wall clock, ms */
	int64_t ends;             /* monotonic: when the work is done */
	json_t *requests;         /* questions that are open; NULL: none were ever asked */
	json_t *result, *error;   /* how it will end: one of them */
	pthread_t thread;
};

struct tasks {
	struct lock lock;
	struct lock_bell bell;
	struct task *first;
	struct mcp_server *server;
	int ending;
};

static int task_is_over(const struct task *t)
{
	return strcmp(t->status, "completed") == 0 || strcmp(t->status, "failed") == 0 ||
	       strcmp(t->status, "cancelled") == 0;
}

static void task_move_locked(struct task *t, const char *status)
{
	t->status = status;
	t->updated = clock_wall_ms();
	lock_bell_ring(&t->all->bell);
}

static void *task_run(void *arg)
{
	struct task *t = arg;
	struct tasks *all = t->all;
	lock_take(&all->lock);
	while (!all->ending && !task_is_over(t) && (json_object_size(t->requests) > 0 || clock_now() < t->ends))
		lock_bell_wait(&all->bell, &all->lock, json_object_size(t->requests) > 0 ? CLOCK_NEVER : t->ends);
	int done = !all->ending && !task_is_over(t);
	if (done)
		task_move_locked(t, t->error ? "failed" : "completed");
	int tell = !all->ending;
	lock_release(&all->lock);
	if (tell)
		mcp_server_task_updated(all->server, t->id);
	return NULL;
}

/* Starts a task; requests, result and error may be NULL (result: made of the answers' names). Returns its id, which
 * lives as long as the tasks. */
static const char *task_start(struct tasks *all, double seconds, json_t *take_requests, json_t *take_result,
			      json_t *take_error)
{
	struct task *t = MEM_NEW(struct task);
	unsigned char raw[16];
	hash_random(raw, sizeof raw);
	for (size_t i = 0; i < sizeof raw; i++)
		snprintf(t->id + 2 * i, 3, "%02x", raw[i]);
	t->all = all;
	t->status = take_requests ? "input_required" : "working";
	t->created = t->updated = clock_wall_ms();
	t->ends = clock_now() + (int64_t)(seconds * 1e9);
	t->requests = take_requests;
	t->result = take_result;
	t->error = take_error;
	lock_take(&all->lock);
	t->next = all->first;
	all->first = t;
	lock_release(&all->lock);
	pthread_create(&t->thread, NULL, task_run, t);
	return t->id;
}

static struct task *task_find_locked(struct tasks *all, const char *id, struct err *e)
{
	for (struct task *t = all->first; t; t = t->next)
		if (strcmp(t->id, id) == 0)
			return t;
	err_set(e, ERR_NOT_FOUND, "there is no task \"%s\"", id);
	return NULL;
}

static int task_get(void *user, const char *id, json_t **ret_task, struct err *e)
{
	struct tasks *all = user;
	char created[32], updated[32];
	lock_take(&all->lock);
	const struct task *t = task_find_locked(all, id, e);
	if (t) {
		*ret_task = json_pack("{s:s, s:s, s:s, s:i, s:i}", "status", t->status, "createdAt",
				      clock_iso(t->created, created), "lastUpdatedAt", clock_iso(t->updated, updated),
				      "ttlMs", TTL_MS, "pollIntervalMs", POLL_MS);
		if (strcmp(t->status, "completed") == 0)
			json_object_set(*ret_task, "result", t->result);
		if (strcmp(t->status, "failed") == 0)
			json_object_set(*ret_task, "error", t->error);
		if (strcmp(t->status, "input_required") == 0)
			json_object_set_new(*ret_task, "inputRequests", json_copy(t->requests));
	}
	lock_release(&all->lock);
	return t ? 0 : -ERR_NOT_FOUND;
}

static int task_update(void *user, const char *id, const json_t *responses, struct err *e)
{
	struct tasks *all = user;
	const char *key;
	json_t *answer;
	lock_take(&all->lock);
	struct task *t = task_find_locked(all, id, e);
	if (t) {
		json_object_foreach((json_t *)(uintptr_t)responses, key, answer)
		{
			json_object_del(t->requests, key);
		}
		if (strcmp(t->status, "input_required") == 0 && json_object_size(t->requests) == 0)
			task_move_locked(t, "working");
	}
	lock_release(&all->lock);
	if (t)
		mcp_server_task_updated(all->server, id);
	return t ? 0 : -ERR_NOT_FOUND;
}

static int task_cancel(void *user, const char *id, struct err *e)
{
	struct tasks *all = user;
	lock_take(&all->lock);
	struct task *t = task_find_locked(all, id, e);
	if (t && !task_is_over(t))
		task_move_locked(t, "cancelled");
	lock_release(&all->lock);
	return t ? 0 : -ERR_NOT_FOUND;
}

static const struct mcp_task_hooks TASK_HOOKS = { .get = task_get, .update = task_update, .cancel = task_cancel };

static void tasks_init(struct tasks *all)
{
	memset(all, 0, sizeof *all);
	lock_init(&all->lock, LOCK_ENGINE);
	lock_bell_init(&all->bell);
}

static void tasks_fini(struct tasks *all)
{
	lock_take(&all->lock);
	all->ending = 1;
	lock_bell_ring(&all->bell);
	lock_release(&all->lock);
	for (struct task *t = all->first, *next; t; t = next) {
		next = t->next;
		pthread_join(t->thread, NULL);
		json_decref(t->requests);
		json_decref(t->result);
		json_decref(t->error);
		free(t);
	}
	lock_bell_fini(&all->bell);
	lock_fini(&all->lock);
}

#endif

/* kept_trial: see kept_trial.h. */
#include "core/workers/kept_trial.h"

#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/mem.h"
#include "core/workers/cancel.h"

enum { KEPT = 4, MEMORY_SHARE = 32 };
#define BYTES_MAX (UINT64_C(256) << 20) /* to prepare more takes little of the time of an execution */

struct kept_trials {
	struct lock lock;
	struct kept_trial *at[KEPT]; /* oldest first */
	size_t count;
};

struct kept_trials *kept_trials_new(void)
{
	struct kept_trials *kept = MEM_NEW(struct kept_trials);
	lock_init(&kept->lock, LOCK_LEAF);
	return kept;
}

static void trial_free(struct kept_trial *t)
{
	if (t == NULL)
		return;
	variant_fini(&t->variant);
	free(t->key);
	free(t);
}

void kept_trials_free(struct kept_trials *kept)
{
	if (kept == NULL)
		return;
	for (size_t i = 0; i < kept->count; i++)
		trial_free(kept->at[i]);
	lock_fini(&kept->lock);
	free(kept);
}

static struct kept_trial *remove_locked(struct kept_trials *kept, size_t i)
{
	struct kept_trial *t = kept->at[i];
	memmove(kept->at + i, kept->at + i + 1, (--kept->count - i) * sizeof *kept->at);
	return t;
}

/* What is kept of this worker under that key; NULL: nothing. */
static struct kept_trial *find(struct kept_trials *kept, const struct pool_worker *worker, const char *key)
{
	struct kept_trial *found = NULL;
	lock_take(&kept->lock);
	for (size_t i = 0; i < kept->count && found == NULL; i++)
		if (kept->at[i]->trial.worker == worker && strcmp(kept->at[i]->key, key) == 0)
			found = remove_locked(kept, i);
	lock_release(&kept->lock);
	return found;
}

static void end(struct kept_trial *t)
{
	trial_end(&t->trial);
	trial_free(t);
}

int kept_trial_take(struct kept_trials *kept, const struct kept_trial_request *q, struct kept_trial **ret_trial, struct err *e)
{
	if (cancel_check(q->ev->cancel, e) < 0)
		return -ERR_CANCELLED;
	char *text = params_text(q->params), *key = mem_fmt("%s %s %s", context_hash(q->ctx)->hex, q->facts->id, text);
	struct kept_trial *t = find(kept, q->worker, key);
	free(text);
	/* Of a process that is gone nothing is left, and nothing to release. */
	if (t && !trial_is_alive(&t->trial)) {
		trial_free(t);
		t = NULL;
	}
	if (t) {
		free(key);
		*ret_trial = t;
		return 0;
	}
	t = MEM_NEW(struct kept_trial);
	*t = (struct kept_trial){ .key = key, .home = kept };
	int rc = variant_build(q->ev, q->ctx, q->params, q->facts, &t->variant, e);
	if (rc == 0)
		rc = trial_begin(&t->trial, q->worker, &t->variant, e);
	if (rc < 0) {
		trial_free(t);
		return rc;
	}
	uint64_t bytes = plan_bytes(t->variant.plan);
	t->small = bytes <= BYTES_MAX && bytes <= q->facts->memory_bytes / MEMORY_SHARE;
	*ret_trial = t;
	return 0;
}

void kept_trial_give(struct kept_trial *t, bool usable)
{
	struct kept_trials *kept = t->home;
	struct pool_worker *worker = t->trial.worker;
	struct kept_trial *oldest = NULL;
	bool keeps = usable && t->small;
	lock_take(&kept->lock);
	/* Only this worker may be asked now. */
	for (size_t i = 0; i < kept->count && keeps && kept->count == KEPT && oldest == NULL; i++)
		if (kept->at[i]->trial.worker == worker)
			oldest = remove_locked(kept, i);
	keeps = keeps && kept->count < KEPT;
	if (keeps)
		kept->at[kept->count++] = t;
	lock_release(&kept->lock);
	if (!keeps)
		end(t);
	if (oldest)
		end(oldest);
}

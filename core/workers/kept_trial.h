/* kept_trial: trials that stay prepared in their process after use, since the same are asked for again soon: a validation runs the
 * code of its references on some hundred kinds of values. For trusted code alone: what an execution leaves in buffers and modules
 * is there at the next one. */
#ifndef PEAKD_CORE_WORKERS_KEPT_TRIAL_H
#define PEAKD_CORE_WORKERS_KEPT_TRIAL_H

#include "core/workers/trial.h"

struct kept_trial {
	struct variant variant;
	struct trial trial;
	char *key;                /* of its code, parameters and device */
	struct kept_trials *home; /* where it is kept */
	bool small;               /* enough to be kept */
};

/* Shared by all threads. Free it before the pool, whose processes hold the trials. */
struct kept_trials *kept_trials_new(void);
void kept_trials_free(struct kept_trials *kept);

/* What is to run, and in which process, which is the caller's meanwhile. All borrowed. */
struct kept_trial_request {
	const struct eval *ev;
	struct pool_worker *worker;
	const struct context *ctx;
	const struct params *params;
	const struct facts *facts;
};

/* A kept trial, or one that is built and prepared now. Errors are those of variant_build and trial_begin,
 * and -ERR_CANCELLED. */
int kept_trial_take(struct kept_trials *kept, const struct kept_trial_request *q, struct kept_trial **ret_trial, struct err *e);
/* Gives it back while `worker` is still the caller's. usable: its last execution ended as it should. Large buffers are not kept. */
void kept_trial_give(struct kept_trial *take_trial, bool usable);

#endif

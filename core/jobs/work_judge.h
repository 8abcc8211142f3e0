/* work_judge: core/judge as the judge that core/transform asks. Keeps the evidence of the last validation, so that it can be
 * recorded once the checkpoint that it belongs to exists. Used by work_transform and work_draft. */
#ifndef PEAKD_CORE_JOBS_WORK_JUDGE_H
#define PEAKD_CORE_JOBS_WORK_JUDGE_H

#include "core/judge/validate.h"
#include "core/transform/judge.h"

struct transform;

struct work_judge {
	const struct eval *ev;
	const struct context *root;
	const struct facts *facts;
	unsigned samples;
	struct validate_result last; /* of the last validation; empty when there was none */
	bool have_last;
	struct judge judge; /* the table to hand on */
};

/* All pointers stay borrowed. On a device that can only compile, `validate` means that sampled configurations compile. */
void work_judge_init(struct work_judge *j, const struct eval *ev, const struct context *root, const struct facts *facts,
		     unsigned samples);
void work_judge_fini(struct work_judge *j);

/* What a checkpoint is made of; all borrowed. */
struct work_made {
	const struct context *ctx;
	int64_t parent;
	const char *by, *text; /* transformation's name, and its text (NULL: none) */
	const char *workflow;  /* whose head is to advance; NULL or "": none */
	const char *job;
	struct transform *x; /* becomes accepted in the same transaction; NULL: none */
};

/* Makes the checkpoint of a context that was judged: its row, evidence and status, the workflow's new head and the end of the
 * transformation, in one transaction. *ret_checkpoint is its number; it is also set on -ERR_CONFLICT because somebody moved the
 * workflow meanwhile: then the checkpoint stands beside it. */
int work_judge_checkpoint(struct work_judge *j, struct db *db, const struct work_made *made, int64_t *ret_checkpoint,
			  struct err *e);

#endif

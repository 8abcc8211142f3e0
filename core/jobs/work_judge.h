/* work_judge: core/judge as the judge that core/transform asks. Keeps the evidence of the last validation, so that it can be
 * recorded once the checkpoint that it belongs to exists. Used by work_transform, work_submit and work_edit. */
#ifndef PEAKD_CORE_JOBS_WORK_JUDGE_H
#define PEAKD_CORE_JOBS_WORK_JUDGE_H

#include "core/judge/validate.h"
#include "core/transform/judge.h"

struct work_judge {
	const struct eval *ev;
	const struct context *root;
	const struct facts *facts;
	unsigned samples;
	struct validate_result last;  /* of the last validation; empty when there was none */
	bool have_last;
	struct judge judge;           /* the table to hand on */
};

/* All pointers stay borrowed. On a device that can only compile, `validate` means that sampled configurations compile. */
void work_judge_init(struct work_judge *j, const struct eval *ev, const struct context *root, const struct facts *facts,
                     unsigned samples);
void work_judge_fini(struct work_judge *j);

/* Makes the checkpoint of a context that was judged: the row, its evidence, its status and, unless NULL or "", the workflow's new head,
 * in one transaction. `text` is the transformation's text (NULL: none). *ret_checkpoint is its number; it is also set on
 * -ERR_CONFLICT: the checkpoint was made, and the workflow, which somebody moved meanwhile, was left as it is. */
int work_judge_checkpoint(struct work_judge *j, struct db *db, const struct context *ctx, int64_t parent, const char *by,
                          const char *text, const char *workflow, const char *job, int64_t *ret_checkpoint, struct err *e);

#endif

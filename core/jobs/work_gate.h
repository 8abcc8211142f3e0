/* work_gate: what looks at a model's code before a device spends time on it: code that a checkpoint has already is not judged
 * again, and a reviewer may reject code. It stands in front of another judge. Used by work_transform where an optimizing search
 * asks for it. */
#ifndef PEAKD_CORE_JOBS_WORK_GATE_H
#define PEAKD_CORE_JOBS_WORK_GATE_H

#include "core/jobs/work.h"
#include "core/transform/judge.h"
#include "core/transform/transform.h"

struct work_gate {
	struct engine_job *job;
	const struct transform *x;
	const struct judge *inner;
	bool novel;           /* look for the same code */
	const char *reviewer; /* NULL: none */
	int64_t same;         /* the checkpoint that has the code already; 0: none */
	unsigned reviews, rejections;
	struct judge judge; /* the table to hand on */
};

/* All pointers stay borrowed. */
void work_gate_init(struct work_gate *g, struct engine_job *job, const struct transform *x, const struct judge *inner, bool novel,
		    const char *reviewer);

#endif

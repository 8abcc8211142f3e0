/* work_pairs: what a tune found, timed in pairs with its baseline and its parent, so that every ratio that is shown later has been
 * measured. Called by work_tune at its end. */
#ifndef PEAKD_CORE_JOBS_WORK_PAIRS_H
#define PEAKD_CORE_JOBS_WORK_PAIRS_H

#include "core/jobs/work.h"

struct work_pairs_request {
	const struct lineage *l;
	const struct facts *facts;   /* the device */
	const struct params *winner; /* all execution parameters, validated */
	bool warm;
	bool missing; /* only what is not recorded yet */
};

/* The winner's energy is recorded last, where the device has a counter. With the baseline at its own best and with the parameters
 * that its tuning starts with, and with the parent at its best, where these are known and another configuration: a few hundred
 * milliseconds each, shown as progress. One that cannot be compared stays so. Negative only when the job is cancelled. */
int work_pairs(struct engine_job *job, const struct work_pairs_request *request, struct err *e);

#endif

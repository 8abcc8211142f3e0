/* drain_evidence: the rows that a job of a bundle wrote (verdicts, measurements, metrics, pairs), taken into the database that the
 * job is from. Called by drain_merge.c, inside its transaction; see drain.h. */
#ifndef PEAKD_CORE_JOBS_DRAIN_EVIDENCE_H
#define PEAKD_CORE_JOBS_DRAIN_EVIDENCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db;

/* Row numbers there and here. */
struct drain_evidence_pairs {
	struct drain_evidence_pair {
		int64_t there, here;
	} * at;
	size_t count;
};

struct drain_evidence {
	struct db *home, *away;
	const char *job;
	int64_t there, here;                           /* the checkpoint that the job is about, in either database */
	struct drain_evidence_pairs runs, validations; /* what was taken */
	unsigned rows;                                 /* likewise, of all kinds but runs */
};

/* Takes what t->job wrote; the first five fields are set. -ERR_IO: a figure's evidence is not in the bundle. */
int drain_evidence_take(struct drain_evidence *t, struct err *e);
/* A row's number here; 0: it was not taken. */
int64_t drain_evidence_here(const struct drain_evidence_pairs *p, int64_t there);
void drain_evidence_fini(struct drain_evidence *t);
/* What was learned about devices there (ceilings) is news only where nothing newer is known. */
int drain_evidence_facts(struct db *home, struct db *away, struct err *e);

#endif

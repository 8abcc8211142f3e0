/* samples: which configurations a validation judges: drawn over the baseline's declared and check: sizes, with the seeds of their
 * values, and what failed before. validate.c draws and judges them. */
#ifndef PEAKD_CORE_JUDGE_SAMPLES_H
#define PEAKD_CORE_JUDGE_SAMPLES_H

#include "base/buf.h"
#include "core/judge/validate.h"

/* One configuration on its way: drawn, compiled, judged. */
struct sample {
	struct validate_finding finding;
	struct variant variant;
	struct err why;      /* of the compile; ERR_NONE when it worked */
	uint64_t other_seed; /* of the values; finding.seed is the first */
	bool first; /* of its size: gets the extras (suite.h), and the user's validators look at it */
	bool full;  /* gets all values */
};

struct samples {
	struct sample *at;
	size_t count;
	size_t pruned;
	struct err pruned_why; /* the first pruning; ERR_NONE */
	unsigned sizes;        /* that had several samples */
	struct aim *aim;       /* at what the code tells apart; NULL: no size had several configurations */
	struct buf refused;    /* sizes of the baseline that the context does not accept: "n=67 (requires: n % 8 == 0), …" */
};

/* Draws for the request, into an empty `p`; samples_fini it whatever comes of it. Mistakes in host code are samples, since they are
 * findings. Errors as space_new's. */
int samples_draw(const struct validate_request *q, struct samples *p, struct err *e);
void samples_fini(struct samples *p);

#endif

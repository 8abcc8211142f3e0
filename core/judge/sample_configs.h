/* picks: which configurations a validation looks at: some of every declared size that host code accepts, fewer of every check: size, and
 * the secret seeds of their values. Used by validate.c alone, which builds and judges them. */
#ifndef PEAKD_CORE_JUDGE_SAMPLE_CONFIGS_H
#define PEAKD_CORE_JUDGE_SAMPLE_CONFIGS_H

#include "core/judge/validate.h"
#include "core/workers/variant.h"

/* One configuration on its way: picked, compiled, judged. */
struct sample_config {
	struct validate_finding finding;
	struct variant variant;
	struct err why;      /* of the compile; ERR_NONE when it worked */
	uint64_t other_seed; /* of the values; finding.seed is the first */
	bool first;          /* of its size: the user's validators look at it */
	bool full;           /* all rounds (rounds.h): the first of a deep size */
};

struct sample_configs {
	struct sample_config *at;
	size_t count;
	size_t pruned;
	struct err pruned_why; /* the first pruning; ERR_NONE */
};

/* Appends to `p` (zeroed before), nothing built yet; mistakes in host code are picked too, since they are findings. Errors are those of
 * space_new: also after one the picks are the caller's. */
int sample_configs_draw(const struct validate_request *q, struct sample_configs *p, struct err *e);
void sample_configs_fini(struct sample_configs *p);

#endif

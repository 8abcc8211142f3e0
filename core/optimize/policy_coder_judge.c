/* policy_coder_judge: CudaForge's two roles with the AI CUDA Engineer's soft verification: the fastest checkpoint is changed, and a
 * reviewer who has not written the code reads it before device time is spent. */
#include "core/optimize/policy.h"

static void next(const struct graph *g, struct policy_choice *c)
{
	int node = policy_best_open(g, NULL, 0);
	if (node >= 0 && policy_expand(g, c, node, POLICY_ANY, "the fastest checkpoint"))
		c->reviewed = c->kind == DECISION_EXPERIMENT;
}

const struct policy policy_coder_judge = { "coder-judge", "CudaForge; AI CUDA Engineer",
					   "the fastest checkpoint; an independent reviewer reads code first", next };

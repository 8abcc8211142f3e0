/* question: what an optimizing search asks a model beside code: plans for a checkpoint, and a review of changed code. Pure: prompts
 * out of contexts, plans out of answers. Called by core/jobs/work_optimize and core/jobs/work_transform. */
#ifndef PEAKD_CORE_OPTIMIZE_QUESTION_H
#define PEAKD_CORE_OPTIMIZE_QUESTION_H

#include "backends/wire/facts.h"
#include "core/context/context.h"
#include "core/optimize/graph.h"
#include "core/transform/prompt.h"

/* Names that exchanges and recordings have where a transformation's name stands otherwise. */
#define QUESTION_PLANS "optimize-plans"
#define QUESTION_REVIEW "optimize-review"

/* All borrowed; NULL where there is none. */
struct question_about {
	const struct context *ctx, *reference;
	const struct facts *facts;
	const char *profile, *findings, *offers; /* Markdown; offers: a line for each transformation of the library that fits */
};

/* Ten avenues, five plans. `p` must be empty. */
void question_plans(struct prompt *p, const struct question_about *about);
/* The plans of an answer become options of the node; `trial` is the question's place. Returns how many lines were plans. */
size_t question_read_plans(const char *answer, struct graph *g, int node, int trial);
/* Should changed code be run? `wanted` is what the change was to do. */
void question_review(struct prompt *p, const char *wanted, const struct context *before, const struct context *after,
		     const struct facts *facts);
/* True when the answer rejects the code; *ret_why (free()) says why. Any answer that does not begin with REJECT accepts. */
bool question_rejects(const char *answer, char **ret_why);

#endif

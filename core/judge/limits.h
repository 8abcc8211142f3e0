/* limits: what a verdict on a context does not cover: front matter that differs from its baseline's, and rounds of the suite that
 * nobody could judge. validate.c puts both into its summary; work_transform.c asks which edits keep the contract. */
#ifndef PEAKD_CORE_JUDGE_LIMITS_H
#define PEAKD_CORE_JUDGE_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/context/context.h"

/* The part of a context that no step may change, since a verdict would mean something else: its canonical front matter without
 * the tuning parameters, their constraints and requires:. free() */
char *limits_contract(const struct context *ctx);
/* What ctx demands or declares and its baseline does not, with what is judged instead: "requires: n % 8 == 0; check: differs from
 * the baseline's, whose sizes were judged". So are clocks and places of execution that its code alone reads. A requirement that
 * `parent` (may be NULL) lacks is called new. NULL: nothing. free() */
char *limits_declared(const struct context *baseline, const struct context *parent, const struct context *ctx);

/* A round that could not be judged, over all configurations. */
struct limits_gap {
	char *round, *why; /* "races", "it knows no wave operations" */
	size_t configurations;
	bool told; /* limits_gaps_text is through with it */
};
struct limits_gaps {
	struct limits_gap *at;
	size_t count;
	size_t looked; /* configurations whose branches were looked at */
};
/* Adds what one configuration's log (struct check; NULL is fine) says. */
void limits_gaps_add(struct limits_gaps *g, const char *log);
/* All of them, those with one reason together: "races in 2 configurations (why); on values with spikes, on constants (why)". Of
 * reasons that differ in numbers alone the first stands for all. A gap in all configurations, or in all that got the `extras`
 * (suite.h), says no number. A branch that one configuration took is no gap of the others; the first few stand for all. NULL: none.
 * free() */
char *limits_gaps_text(struct limits_gaps *g, size_t configurations, size_t extras);
void limits_gaps_fini(struct limits_gaps *g);

#endif

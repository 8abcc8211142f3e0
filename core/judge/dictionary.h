/* dictionary: which numbers of a kernel's code become input values, as fuzzers take them from the program. Code that is wrong at
 * one number, or beyond a threshold that no round reaches, most often holds that number. Called by suite.c. */
#ifndef PEAKD_CORE_JUDGE_DICTIONARY_H
#define PEAKD_CORE_JUDGE_DICTIONARY_H

#include "core/workers/variant.h"

/* Adds the constants of a variant's code, and the numbers that its host code passes, but for extents of arrays. Free with
 * dictionary_fini. */
void dictionary_add(struct wire_immediates *to, const struct variant *v);
void dictionary_fini(struct wire_immediates *w);

/* One execution's values. */
struct dictionary_draw {
	enum plan_values values; /* PLAN_IMMEDIATES, PLAN_IMMEDIATE_ROWS or PLAN_LABELS */
	uint64_t seed;           /* of the values */
	bool optional;           /* no gap where it cannot judge: only floats that the kernel alone holds are sure to matter */
	struct plan_immediates numbers;
};
enum { DICTIONARY_DRAWS = 8 };
/* The executions of this kind that are due to a kernel, beside the baseline's own numbers: at most DICTIONARY_DRAWS. Those of the
 * kernel alone come first; where they are too many, the seed chooses. Doubles, halves, squares and roots of its floats are last,
 * where there is room. PLAN_IMMEDIATE_ROWS also asks for rows of integers (PLAN_LABELS). in_parts: factors may be split into
 * narrower ones (suite_in_parts), so numbers are at most 2^24. */
unsigned dictionary_draws(const struct wire_immediates *kernel, const struct wire_immediates *baseline, const struct plan *plan,
			  enum plan_values values, bool in_parts, uint64_t seed,
			  struct dictionary_draw ret_draws[DICTIONARY_DRAWS]);
/* Whether these are so large that their squares and sums overflow: then an honest kernel may, where the baseline does not. Other
 * numbers are never drawn beside them. */
bool dictionary_is_huge(const struct plan_immediates *numbers);
/* "-9999, 12345.678 and 3 more". free() */
char *dictionary_text(const struct plan_immediates *numbers);

#endif

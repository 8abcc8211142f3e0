/* bound: how far each element of an output may be from the truth. docs/judging.md derives the formula and lists what it was
 * calibrated on. Called by reference.c, which runs the truth, its perturbations and the baseline. Arrays of n elements are the
 * output's logical content, packed. */
#ifndef PEAKD_CORE_JUDGE_BOUND_H
#define PEAKD_CORE_JUDGE_BOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/wire/bound_element.h"
#include "backends/wire/dtype.h"

/* What the baseline's `precision:` and shape permit. */
struct bound_rules {
	double sums;     /* unit roundoff of permitted arithmetic */
	double inputs;   /* unit roundoff to which inputs may be rounded beyond their own types; 0: none */
	double terms;    /* of a typical sum, ≥ 1: decides between 64 and 256 roundoffs only, or 1024 */
	bool truncates;  /* sums may run on matrix units, which truncate them */
	double flushed;  /* what devices may flush to zero in inputs: the smallest normal number of the narrowest; 0: of no
			 * account */
	double stored;   /* unit roundoff of arrays that the baseline stores and reads again, where it errs by as much; 0: none */
	double lost;     /* terms that doubles may lose beside others; 0: none */
	bool rough;      /* the truth was computed no more exactly than candidates are */
	bool rounded;    /* the truth is of the output's own type, so it was rounded, too */
	bool copies;     /* where no element of a large output was rounded, none may differ: copies, choices, negations */
	bool far;        /* values differ by many powers of two: of ill-conditioned elements two honest errors differ more */
	bool shifted;    /* all values are far from zero: an output that vanishes throughout says nothing of its errors */
	bool cancels;    /* all of a row may cancel, so that errors are small beside the largest element alone */
	bool stops;      /* where the truth is zero, so near to it iterations may end, and what numbers leave that cancel is as
			  * exact as they are */
	bool pooled;     /* terms may be as large as the largest element */
	bool declared;   /* values as they are timed, where no output may go unjudged by chance */
	bool none;       /* no element is judged by itself (`distribution`): values alone, which all count as judged */
	bool mixed;      /* values of two scales, or equal ones: a NaN of the truth says nothing */
	bool coarse;     /* the baseline calls functions that devices compute with few digits */
	unsigned fields; /* of a record, at most BOUND_FIELDS; 0: to be found by their sizes, by bound_make */
};

/* One output of one set of input values. All borrowed. */
struct bound_output {
	enum dtype type; /* declared */
	size_t n;
	enum dtype truth_type;
	const void *truth;    /* y*, of truth_type */
	const void *baseline; /* of the declared type; NULL: the baseline is the truth */
	float *moved;         /* the largest |y_p − y*| over perturbed truths; infinite where their class differs (NaN, infinity,
				 finite). NULL: unknown, for integers that depend on integers alone */
	double amplitude;     /* of the perturbation, relative to the inputs */
	const float *errors;  /* the baseline's largest ones on perturbed inputs; NULL: unknown */
};

/* In words, for messages: "rounding of the output". */
const char *bound_cause_text(enum bound_cause cause);
/* What to declare where a cause leaves no bound. */
const char *bound_cause_help(enum bound_cause cause);

/* What was made of one output. */
struct bound_summary {
	uint64_t judged;               /* elements with a finite bound */
	uint64_t causes[BOUND_CAUSES]; /* elements of each */
	uint64_t forgiven;             /* elements that may be off by up to `jump`, because as many truths jump there */
	double jump;           /* the largest distance that perturbed truths moved an element that has no bound, or an integer */
	bool tells_zeros;      /* zeros everywhere do not pass */
	bool tells_constant;   /* nor does any other single number */
	bool capped;           /* the baseline's errors were too large to be granted, and truth alone judges */
	uint64_t gross;        /* elements where the baseline is off by more than 5 % of the scale */
	size_t first_gross;    /* the first of them */
	double baseline_ratio; /* the largest ratio of the baseline's own error to the bound; 0 without a baseline */
	double size;           /* sqrt(Σbound²/Σy²) over judged elements */
};

/* For outputs that stay on the device (core/workers/resident.h), in parts: what all elements share, once the largest finite |y*|
 * that the type holds is known; and the summary of what was counted over n elements, without `capped`. */
struct bound_limits bound_limits_of(enum dtype type, const struct bound_rules *rules, double amplitude, bool has_baseline);
void bound_limits_reach(struct bound_limits *io_limits, double most, uint64_t n);
void bound_summarise(const struct bound_tally *parts, size_t count, size_t n, struct bound_summary *ret_summary);

/* How many of n elements may be off, where rounding turned `moved` over: a few more, which it turned by luck; never a large
 * part. */
uint64_t bound_forgiven(uint64_t moved, size_t n);

/* Adds what the baseline errs by on other inputs, beyond the rounding of its output, to n numbers. truth: n of them there. */
void bound_add_errors(const struct bound_output *o, const double *truth, const void *baseline, float *io_errors);
/* Adds what one perturbed truth (of the same type) moved. */
void bound_add_moved(const struct bound_output *o, const void *perturbed);
/* Whether rounding turns a decision over: an integer moved, or a number moved by far more than a smooth function does. */
bool bound_turns(const struct bound_output *o);
/* Whether all elements are integers that sums with roundoff `sums` hold exactly, and the baseline has them but for `own`. */
bool bound_is_whole(const struct bound_output *o, double sums, double own);
/* Marks what the truth absorbs: `large` is the truth with large numbers in place of infinities and NaN. Behind all moves. */
void bound_add_absorbed(const struct bound_output *o, const void *large);
/* Finds among them what an infinity itself decides, which is judged: `with_nan` is the truth with NaN in place of infinities. */
void bound_add_decided(const struct bound_output *o, const void *with_nan);
/* Why an output of this name whose reference does not tell is judged by nothing. free() */
char *bound_weakness(const struct bound_summary *s, const char *name);
/* The type of right values that the worker compares with: f32 for floats, f64 for f64, integers their own. */
enum dtype bound_wanted_type(enum dtype type);
/* Fills n right values, n bounds (f32, f64 beside f64 values; none for integers, which must be equal) and n causes. A bound is
 * infinite where nothing can be judged. */
void bound_make(const struct bound_output *o, const struct bound_rules *rules, void *ret_values, void *ret_bounds,
		uint8_t *ret_causes, struct bound_summary *ret_summary);

#endif

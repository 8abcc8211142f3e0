/* reference: the right outputs. The outputs of the baseline (or of its `reference` block) are computed for one input size and
 * secret seed. That happens in a process of its own; they are kept, with a bound for every element. check.c reads them; suite.c and
 * validate.c have them computed ahead. */
#ifndef PEAKD_CORE_JUDGE_REFERENCE_H
#define PEAKD_CORE_JUDGE_REFERENCE_H

#include "base/hash.h"
#include "core/context/context.h"
#include "core/workers/eval.h"

/* Completes "OUTPUT …": why a round of integers cannot judge, which says nothing against the others. */
#define REFERENCE_INEXACT "is not exact on integers"
/* The same: what another round judges in place of this one. */
#define REFERENCE_ELSEWHERE "is judged on other values"

/* Where references come from. All borrowed. */
struct reference_source {
	const struct eval *ev;
	const struct context *baseline; /* whose outputs are right */
	const struct facts *facts;      /* device; must run */
};

/* What one output must be. Many fields, because each is part of the verdict on it. */
struct reference_output {
	char *name;      /* of the buffer */
	enum dtype type; /* declared */
	size_t elements;
	unsigned rank;
	int64_t dims[PLAN_RANK_MAX];
	struct judgement judgement; /* as the baseline declares, or by type */
	uint8_t *wanted;            /* what candidates are compared with (struct wire_compare: values, then bounds); owned */
	size_t wanted_len;
	enum dtype wanted_type; /* of the values */
	struct hash hash;       /* of what is wanted; of a resident reference the name of its truth */
	uint8_t *causes;        /* enum bound_cause of each element's bound; owned; NULL when resident */
	uint64_t forgiven;      /* elements that may be off by up to `jump`: rounding turns decisions over */
	bool turns;             /* causes tells all integers that it turns over (BOUND_JUMPS) */
	double jump;
	uint64_t overflows; /* elements where the baseline is not finite, though the truth is: a candidate may overflow in as many
			       others */
	double tolerance;  /* sqrt(Σbound²/Σvalue²), for checks of whole rows */
	bool repeats;      /* equal values have equal rounding errors, whose mean is not zero */
	bool other_values; /* than declared: what overflows may be NaN in place of infinity */
	bool may_be_nan;   /* honest recurrences give NaN in place of numbers: exp(x - m) with both infinite */
	bool tells;        /* zeros, or any one number everywhere, would not pass */
	char *unfit;       /* why these values cannot judge it, though others of their outputs; NULL: they can; owned */
	char *hint;        /* what a refused candidate should know about the baseline; NULL: nothing; owned */
};
/* "(2, 0, 17)": the place of an element, outermost extent first. free() */
char *reference_place(const struct reference_output *o, int64_t index);

/* True when elements are judged one by one within bounds that follow from rounding (integers: equal); else the declared kind alone
 * decides. */
bool reference_is_close(const struct reference_output *o);

struct reference {
	struct reference_output *outputs;
	size_t output_count;
	char *unfit;   /* why these values cannot judge any output (declared values that cannot are an error); NULL: they can */
	bool resident; /* values and bounds are on the device, in the process of references (core/workers/resident.h) */
	bool tells;    /* some output does */
	char *weak;    /* why none does; NULL: one does */
	char *by;      /* the oracle that computed it; NULL: a context did; owned */
	struct wire_immediates immediates; /* what the baseline's own code holds; none where it did not run */
	uint64_t execute_ns; /* the baseline's own execution, with what the first one costs; bounds how long a candidate may take */
};

/* Keeps references up to `max_bytes`; the least recently used ones go first. Shared by all jobs. */
struct references *references_new(size_t max_bytes);
void references_free(struct references *refs);
/* Bytes that are kept now, and at most. */
size_t references_bytes(struct references *refs, size_t *ret_limit);
/* Which contexts compute the exact outputs, as it was chosen before (truth.h). Borrowed. */
struct truth_memory *references_truths(struct references *refs);
/* Runs of truths and baselines that stay prepared. Borrowed. */
struct kept_trials *references_trials(struct references *refs);
/* The processes that answer for imported problems (oracle.h). Borrowed. */
struct oracle *references_oracle(struct references *refs);

/* Which reference: of an input size (inputs of `size`; tuning parameters in it are ignored), seed and kind of values. size:
 * borrowed. */
struct reference_values {
	const struct params *size;
	uint64_t seed;
	enum plan_values values;
	struct plan_immediates immediates; /* of PLAN_IMMEDIATES, PLAN_IMMEDIATE_ROWS and PLAN_LABELS */
	/* With bounds from one perturbed truth instead of four to eight, and without the baseline's errors (but on declared
	 * values): a third of the work. They are no wider, so what passes them is right; what does not needs the others. Nothing
	 * else follows from them, least of all `tells`. */
	bool quick;
};

/* Borrowed until reference_release. Computed on `device`'s reference process unless it is kept or being computed; one at a time
 * there, whoever asks. Errors: the baseline does not run; with declared values also a reference that cannot judge
 * (ERR_INTERNAL, since the baseline is at fault). */
int reference_get(const struct reference_source *j, struct pool_worker *device, const struct reference_values *values,
		  const struct reference **ret_reference, struct err *e);
void reference_release(struct references *refs, const struct reference *reference);
/* Nothing is computed on `device`'s reference process between hold and let_go; hold waits for what is. For times that are compared
 * while other threads may ask for references. The holder asks for none. -ERR_CANCELLED. */
int reference_hold(const struct reference_source *j, struct pool_worker *device, struct err *e);
void reference_let_go(const struct reference_source *j, struct pool_worker *device);

/* References that will be needed, computed by a thread of their own: the process of references and that of candidates then work at
 * the same time. What is timed meanwhile calls reference_hold first. */
struct reference_ahead;

/* Borrows both until reference_ahead_free, which must come before the device is given back. */
struct reference_ahead *reference_ahead_new(const struct reference_source *j, struct pool_worker *device);
/* In the order of need. output_bytes: of all outputs at this size. No more than half of what references_new keeps is computed
 * ahead: the rest would push it out again. */
void reference_ahead_add(struct reference_ahead *a, const struct reference_values *values, uint64_t output_bytes);
/* Begins. What cannot be computed ahead is computed, or fails, when it is needed. */
void reference_ahead_start(struct reference_ahead *a);
/* Ends after the reference that is being computed. NULL is fine. */
void reference_ahead_free(struct reference_ahead *take_ahead);

#endif

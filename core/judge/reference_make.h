/* reference_make: computes one reference: runs the truth, the truth on perturbed inputs and the baseline, and has bound.c make the
 * bounds. Also decides what cannot judge. Called by reference.c alone, which keeps the result. */
#ifndef PEAKD_CORE_JUDGE_REFERENCE_MAKE_H
#define PEAKD_CORE_JUDGE_REFERENCE_MAKE_H

#include "core/judge/bound.h"
#include "core/judge/oracle.h"
#include "core/judge/reference.h"
#include "core/judge/truth.h"

/* Of which values, and where. All borrowed. */
struct reference_making {
	const struct reference_source *j;
	struct pool_worker *process; /* the caller's meanwhile */
	const struct params *params; /* the baseline runs with them */
	uint64_t seed;
	enum plan_values values;
	struct plan_immediates immediates;
	bool quick; /* reference_values.quick */
};

/* Fills *io_reference, which is empty; the caller frees it, even on failure. Values that cannot judge are an error only if they are
 * the declared ones (ERR_INTERNAL: the baseline is at fault); else io_reference->unfit says why. */
int reference_make(const struct reference_making *m, struct reference *io_reference, struct err *e);

/* --- while it is made: reference_fit.c looks at it, too ------------------------------------------------------------------ */

/* One output. */
struct making_raw {
	uint8_t *answer; /* holds the truth's bytes; owned */
	const uint8_t *truth;
	enum dtype truth_type;
	uint8_t *baseline_answer;
	const uint8_t *baseline; /* NULL: the baseline is the truth */
	float *moved;
	double *others;             /* the perturbed truths, one behind the other; NULL: nobody needs them */
	float *errors;              /* the baseline's beside them */
	struct bound_limits limits; /* resident */
	double most;                /* resident: the largest finite |y*| */
	uint64_t fractions;         /* resident: elements of y* that are no integers */
	struct bound_summary summary;
};

struct making {
	const struct reference_making *q;
	const struct spec *spec;
	struct plan *plan; /* the baseline's */
	struct truth truth;
	struct reference *r;
	struct making_raw *raw; /* one an output */
	double operands;        /* roundoff to which `precision:` lets kernels round operands of products; 0: that of the arrays */
	double stored; /* of arrays that the baseline stores and reads again, or of what Python code rounds between its steps */
	bool nan;      /* inputs take NaN */
	bool likely;   /* only probabilities have such values: they are never far from 1 together */
	double amplitude;
	unsigned perturbations;
	int64_t timeout;
	struct oracle_answer answer; /* the oracle's to the last execution */
	struct oracle_run *there;    /* where it computes on the device; NULL: its arrays travel */
};

/* What the bounds of output k are made from, on the host. */
struct bound_output reference_make_output(const struct making *m, size_t k);
/* Decides what the finished bounds cannot judge: fills the outputs' `unfit` and the reference's `tells` and `weak`. An error where
 * nothing is judged. reference_fit.c */
int reference_fit(struct making *m, struct err *e);

#endif

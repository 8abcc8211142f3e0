/* suite_draws: the checks of suite.c that execute a kernel on several draws of one kind of values. Called by suite.c alone. */
#ifndef PEAKD_CORE_JUDGE_SUITE_DRAWS_H
#define PEAKD_CORE_JUDGE_SUITE_DRAWS_H

#include "base/buf.h"
#include "core/judge/check.h"
#include "core/judge/dictionary.h"
#include "core/judge/suite.h"

#define SUITE_OPEN                                                                                                                 \
	"inputs may hold any number, not only those that are timed; a domain is closed as in `x: f32[n] = random(0, 1) closed`"

#define SUITE_SPECIAL "on zeros, denormals, infinities and NaN" /* the name of a step */

/* One suite while it runs. */
struct suite_running {
	const struct reference_source *j;
	const struct suite_request *q;
	struct trial trial;
	struct check check; /* of the last step */
	bool needless; /* set by an extra that is unfit because there is nothing that it could find here: no gap in the verdict */
	bool told;     /* a round that passed would have refused zeros, and any one number everywhere */
	char *weak;    /* why the first one that would not; owned */
	struct buf log;
	double reuse;      /* time of an execution that finds what the last one left / time of one that does not */
	char *reuse_unfit; /* why that is not known */
};

/* Each makes the executions that its inputs allow until one is wrong; *c is the last of them. Where none could judge, *ret_unfit
 * says why (free()), and `needless` whether there was nothing to find. An error is the kernel's own failure. */
int suite_check_ends(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e);
int suite_check_again(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e);
int suite_check_special(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e);
int suite_check_apart(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e);
int suite_check_narrow(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e);
int suite_check_natural(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e);
int suite_check_mixture(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e);
int suite_check_chains(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e);
int suite_check_segments(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e);
int suite_check_patterns(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e);
int suite_check_runs(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e);
int suite_check_immediates(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e);
int suite_check_immediate_rows(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e);
/* The seed of draw i of PLAN_NATURAL: each form once, by chance in all arrays or in some, then once more, the other way round. */
uint64_t suite_natural_seed(const struct plan *plan, uint64_t seed, unsigned i);
/* Whether the seed chooses buffer k alone (fill_chooses) among those that have such values, or none where k is past the end. */
bool suite_chooses(const struct plan *plan, enum plan_values values, size_t k, uint64_t seed);
/* Of outputs that are random numbers, those of many executions together, and of two whose integers differ little. */
int suite_check_many_seeds(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e);
int suite_check_neighbours(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e);
/* The draws of PLAN_IMMEDIATES or PLAN_IMMEDIATE_ROWS that are due to the kernel. */
int suite_numbers(const struct suite_running *r, enum plan_values values, struct dictionary_draw ret_draws[DICTIONARY_DRAWS],
		  unsigned *ret_count, struct err *e);
/* suite.c: the seed of such values in the suite's steps, and whether inputs have them and outputs are judged on them. */
uint64_t suite_seed(const struct suite_request *q, enum plan_values values, bool other);
bool suite_has_values(const struct suite_running *r, enum plan_values values);
/* suite_branches.c, behind all checks: looks for values on which the kernel takes a branch that it has not taken yet. r->check is
 * then wrong if its outputs are, and the log names what was never taken. Negative only when it was cancelled. */
int suite_branches(struct suite_running *r, struct err *e);
/* `precision: tensor:f32/…`: a factor may be split into narrower ones. */
bool suite_in_parts(const struct spec *spec);

#endif

/* suite_branches: branches of a kernel that no other check took. A special case for rows that are nearly flat is right or wrong on
 * such rows alone. The kernel is rewritten so that it tells which branches it takes (branches.h), and executed on many draws, which
 * cost little while nothing is compared. A draw on which it takes a branch for the first time is judged like all others; one that
 * cannot be judged counts for nothing. What was never taken is told in the verdict. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/judge/branches.h"
#include "core/judge/round.h"
#include "core/judge/suite_draws.h"

enum {
	LOOK_MS = 400,         /* for executions of the rewritten kernel, */
	ALL_MS = 3000,         /* and with those of the kernel itself that are judged */
	EACH_MS = 2000,        /* that one of the former may take */
	LOOK_BYTES = 16 << 20, /* of all arrays */
	DECLARED_DRAWS = 2
};

struct looking {
	struct branches branches;
	struct variant variant;
	struct trial trial;
	bool built, runs;
	uint32_t output; /* which one the kernels write to */
	bool taken[2 * BRANCHES_MOST];
	bool fresh[2 * BRANCHES_MOST];                 /* what the last execution took for the first time */
	long latest;                                   /* the last one of these; -1: none */
	int64_t looked_ns;                             /* that executions of the rewritten kernel took */
	enum { UNTRIED, FIT, UNFIT } fit[PLAN_VALUES]; /* whether the baseline runs on such values */
};

static int build(const struct suite_running *r, bool selects, struct looking *l, struct err *e)
{
	int rc = branches_make(r->q->ctx, selects, &l->branches, e);
	if (rc < 0 || l->branches.ctx == NULL)
		return rc;
	rc = variant_build(r->j->ev, l->branches.ctx, r->trial.variant->params, r->j->facts, &l->variant, e);
	l->built = rc == 0;
	return rc;
}

/* Without conditions of ?: where these are vectors. */
static int begin(const struct suite_running *r, struct looking *l, struct err *e)
{
	int rc = build(r, true, l, e);
	if (rc < 0 && e->code == ERR_COMPILE) {
		*e = (struct err)ERR_INIT;
		branches_fini(&l->branches);
		rc = build(r, false, l, e);
	}
	if (rc < 0 || !l->built)
		return rc;
	while (l->output < variant_output_count(&l->variant) &&
	       strcmp(variant_output(&l->variant, l->output)->name, BRANCHES_ARRAY) != 0)
		l->output++;
	rc = trial_begin(&l->trial, r->trial.worker, &l->variant, e);
	l->runs = rc == 0;
	return rc;
}

static int look(struct looking *l, const struct trial_input *input, struct err *e)
{
	uint8_t *answer = NULL;
	const uint8_t *bytes;
	size_t len = 0;
	l->latest = -1;
	memset(l->fresh, 0, sizeof l->fresh);
	int64_t begun = clock_now();
	int rc = trial_execute(&l->trial, input, EACH_MS * CLOCK_MS, NULL, e);
	if (rc == 0)
		rc = trial_output(&l->trial, l->output, &answer, &bytes, &len, e);
	for (size_t i = 0; rc == 0 && i < 2 * l->branches.count && 4 * i + 4 <= len; i++) {
		uint32_t word;
		memcpy(&word, bytes + 4 * i, sizeof word);
		if (word == 1 && !l->taken[i]) {
			l->fresh[i] = true;
			l->latest = (long)i;
		}
	}
	free(answer);
	l->looked_ns += clock_now() - begun;
	return rc;
}

static bool is_any_open(const struct looking *l)
{
	for (size_t i = 0; i < 2 * l->branches.count; i++)
		if (!l->taken[i])
			return true;
	return false;
}

/* A kernel that the rewritten one ended, too, starts anew. */
static int revive(struct suite_running *r, struct err *e)
{
	if (trial_is_alive(&r->trial))
		return 0;
	const struct variant *variant = r->trial.variant;
	struct pool_worker *worker = r->trial.worker;
	trial_end(&r->trial);
	return trial_begin(&r->trial, worker, variant, e);
}

/* The kernel itself on these values. *ret_unfit: nothing was judged. */
static int judge(struct suite_running *r, const struct looking *l, const struct trial_input *input, bool *ret_unfit, struct err *e)
{
	struct check c = { .passed = true };
	char *unfit = NULL;
	int rc = revive(r, e);
	if (rc == 0)
		rc = check_draw(r->j, &r->trial, input, &c, &unfit, e);
	*ret_unfit = unfit != NULL;
	free(unfit);
	if (rc == 0 && !c.passed) {
		const struct branch *b = l->latest < 0 ? NULL : &l->branches.at[l->latest / 2];
		bool open = round_inputs(r->trial.variant->plan, input->values).open;
		char *where = b ? mem_fmt("where `%s` in line %ld is %s%s", b->condition, b->line, l->latest & 1 ? "true" : "false",
					  open ? "; " SUITE_OPEN : "")
				: mem_str("where it takes another branch");
		check_name(&c, where);
		free(where);
		check_fini(&r->check);
		r->check = c;
	} else {
		check_fini(&c);
	}
	return rc;
}

/* One draw, judged if it takes a branch for the first time or is the first of values on which a baseline may crash. Where the
 * rewritten kernel fails, the kernel itself has to tell why. */
static int draw(struct suite_running *r, struct looking *l, const struct trial_input *input, struct err *e)
{
	bool unfit = false;
	int rc = 0;
	if (l->fit[input->values] == UNFIT)
		return 0;
	if (round_may_crash(input->values) && l->fit[input->values] == UNTRIED) {
		l->latest = -1;
		rc = judge(r, l, input, &unfit, e);
		l->fit[input->values] = unfit ? UNFIT : FIT;
		if (rc < 0 || unfit || !r->check.passed)
			return rc;
	}
	rc = look(l, input, e);
	if (rc < 0 && (e->code == ERR_WRONG || e->code == ERR_CRASH || e->code == ERR_TIMEOUT)) {
		struct err own = ERR_INIT;
		rc = judge(r, l, input, &unfit, &own);
		if (rc == 0 && r->check.passed)
			return -e->code; /* the rewriting is to blame */
		*e = own;
		return rc;
	}
	if (rc == 0 && l->latest >= 0)
		rc = judge(r, l, input, &unfit, e);
	for (size_t i = 0; rc == 0 && !unfit && i < 2 * l->branches.count; i++)
		l->taken[i] |= l->fresh[i];
	return rc;
}

/* Draw i: declared values, the kinds of the suite's steps, then values as people have them and by turn another kind. */
static struct trial_input draw_at(const struct suite_running *r, unsigned i)
{
	static const enum plan_values steps[] = {
		PLAN_SPARSE,   PLAN_FAR,      PLAN_LARGER,      PLAN_SMALL,         PLAN_WIDE,    PLAN_EXTREME,
		PLAN_HUGE,     PLAN_FAINT,    PLAN_SPECIAL,     PLAN_INFINITE_ROWS, PLAN_ALONE,   PLAN_NEAR_TIES,
		PLAN_INTEGERS, PLAN_NEGATIVE, PLAN_MIXED_ZEROS, PLAN_HIGH_END,      PLAN_LOW_END, PLAN_COINCIDING,
		PLAN_FEW,      PLAN_NUMBERS,  PLAN_CHAINS,      PLAN_EIGHTHS,       PLAN_RUNS,    PLAN_MIXED_CONSTANTS,
	};
	static const enum plan_values others[] = { PLAN_MIXTURE,  PLAN_PATTERNS,   PLAN_NEAR_TIES, PLAN_FEW,     PLAN_MIXED_ZEROS,
						   PLAN_SEGMENTS, PLAN_COINCIDING, PLAN_WIDE,      PLAN_CHAINS,  PLAN_MIXED_ENDS,
						   PLAN_HIGH_END, PLAN_NUMBERS,    PLAN_NARROW,    PLAN_NEGATIVE };
	struct trial_input input = { .seed = r->q->seed, .poison = TRIAL_POISON, .values = PLAN_DECLARED };
	unsigned turn = i / 2;
	if (i < DECLARED_DRAWS) {
		input.seed = suite_seed(r->q, PLAN_DECLARED, i > 0);
	} else if (i < DECLARED_DRAWS + MEM_COUNT(steps)) {
		input.values = steps[i - DECLARED_DRAWS];
		input.seed = suite_seed(r->q, input.values, false);
	} else if (i & 1) {
		input.values = others[turn % MEM_COUNT(others)];
		input.seed += 1 + turn / MEM_COUNT(others);
	} else {
		input.values = PLAN_NATURAL;
		input.seed = suite_natural_seed(r->trial.variant->plan, input.seed + 2 * PLAN_FORMS * (1 + turn / PLAN_FORMS),
						turn % PLAN_FORMS);
	}
	return input;
}

static int look_around(struct suite_running *r, struct looking *l, struct err *e)
{
	int64_t until = clock_now() + ALL_MS * CLOCK_MS;
	int rc = 0;
	for (unsigned i = 0; rc == 0 && r->check.passed && is_any_open(l); i++) {
		struct trial_input input = draw_at(r, i);
		if (clock_now() > until || l->looked_ns > LOOK_MS * CLOCK_MS)
			break;
		if (suite_has_values(r, input.values))
			rc = draw(r, l, &input, e);
	}
	return rc;
}

static void tell(struct suite_running *r, const struct looking *l)
{
	for (size_t i = 0; i < 2 * l->branches.count; i++) {
		const struct branch *b = &l->branches.at[i / 2];
		if (!l->taken[i])
			buf_addf(&r->log, SUITE_GAP SUITE_BRANCHES ": `%s` in line %ld was never %s\n", b->condition, b->line,
				 i & 1 ? "true" : "false");
	}
	if (l->branches.left_out)
		buf_addf(&r->log, SUITE_GAP SUITE_BRANCHES ": %zu further conditions are not followed\n", l->branches.left_out);
	buf_adds(&r->log, SUITE_LOOKED "\n");
}

int suite_branches(struct suite_running *r, struct err *e)
{
	struct looking l = { .latest = -1 };
	if (plan_bytes(r->trial.variant->plan) > LOOK_BYTES || r->j->facts->emulated)
		return 0;
	int64_t begun = clock_now();
	int rc = begin(r, &l, e);
	if (l.runs)
		rc = look_around(r, &l, e);
	if (rc == 0 && l.runs && r->check.passed)
		tell(r, &l);
	else if (rc < 0 && e->code != ERR_CANCELLED) /* what keeps the rewritten code from running is no mistake of the kernel's */
		buf_addf(&r->log, SUITE_GAP SUITE_BRANCHES ": the code that tells them does not run here: %s\n", e->text);
	if (l.runs)
		trial_end(&l.trial);
	if (l.built)
		variant_fini(&l.variant);
	branches_fini(&l.branches);
	log_debug("branches took %.3f ms", (double)(clock_now() - begun) / 1e6);
	if (rc < 0 && e->code == ERR_CANCELLED)
		return rc;
	*e = (struct err)ERR_INIT;
	return 0;
}

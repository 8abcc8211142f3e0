/* suite_branches: branches of a kernel that no other check took. A special case for rows that are nearly flat is right or wrong on
 * such rows alone. The kernel is rewritten so that it tells which branches it takes (branches.h), and executed on many draws, which
 * cost little while nothing is compared. The draws that take a branch for the first time are judged like all others. What was never
 * taken is a gap of the verdict. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/judge/branches.h"
#include "core/judge/round.h"
#include "core/judge/suite_draws.h"

enum {
	LOOK_MS = 400,            /* for draws beyond the first */
	LOOK_BYTES = 16 << 20,    /* of all arrays: what draws cost little for */
	ROUND_DRAWS = PLAN_FORMS, /* of PLAN_NATURAL, before other kinds have a turn */
	TOLD = 4                  /* branches in a verdict */
};

struct looking {
	struct branches branches;
	struct variant variant;
	struct trial trial;
	uint32_t output; /* which one the kernels write to */
	bool taken[2 * BRANCHES_MOST];
	long latest; /* what the last execution took for the first time; -1: nothing */
};

static int build(const struct suite_running *r, bool selects, struct looking *l, struct err *e)
{
	int rc = branches_make(r->q->ctx, selects, &l->branches, e);
	if (rc < 0 || l->branches.ctx == NULL)
		return rc;
	rc = variant_build(r->j->ev, l->branches.ctx, r->trial.variant->params, r->j->facts, &l->variant, e);
	if (rc < 0)
		branches_fini(&l->branches);
	return rc;
}

/* Without conditions of ?: where these are vectors. Nothing to look at leaves l->branches.ctx NULL, as does what does not build. */
static int begin(const struct suite_running *r, struct looking *l, struct err *e)
{
	int rc = build(r, true, l, e);
	if (rc < 0 && e->code == ERR_COMPILE) {
		*e = (struct err)ERR_INIT;
		rc = build(r, false, l, e);
	}
	if (rc < 0 || l->branches.ctx == NULL)
		return rc;
	while (l->output < variant_output_count(&l->variant) &&
	       strcmp(variant_output(&l->variant, l->output)->name, BRANCHES_ARRAY) != 0)
		l->output++;
	return trial_begin(&l->trial, r->trial.worker, &l->variant, e);
}

static int look(struct looking *l, const struct trial_input *input, struct err *e)
{
	uint8_t *answer = NULL;
	const uint8_t *bytes;
	size_t len = 0;
	l->latest = -1;
	int rc = trial_execute(&l->trial, input, EVAL_EXECUTE_NS, NULL, e);
	if (rc == 0)
		rc = trial_output(&l->trial, l->output, &answer, &bytes, &len, e);
	for (size_t i = 0; rc == 0 && i < 2 * l->branches.count && 4 * i + 4 <= len; i++) {
		uint32_t word;
		memcpy(&word, bytes + 4 * i, sizeof word);
		if (word == 1 && !l->taken[i]) {
			l->taken[i] = true;
			l->latest = (long)i;
		}
	}
	free(answer);
	return rc;
}

/* Whether a condition was decided one way and never the other. */
static bool is_open(const struct looking *l, size_t branch)
{
	return l->taken[2 * branch] != l->taken[2 * branch + 1];
}

static bool is_any_open(const struct looking *l)
{
	for (size_t i = 0; i < l->branches.count; i++)
		if (is_open(l, i))
			return true;
	return false;
}

static bool has_values(const struct suite_running *r, enum plan_values values)
{
	const struct plan *plan = r->trial.variant->plan;
	return round_inputs(plan, values).any && round_judges(plan, values) &&
	       !(round_is_infinite(values) && suite_in_parts(context_spec(r->j->baseline)));
}

/* What the steps of the suite execute it on. */
static int look_at_steps(const struct suite_running *r, struct looking *l, struct err *e)
{
	static const enum plan_values steps[] = {
		PLAN_DECLARED,  PLAN_EXACT,     PLAN_SPARSE,          PLAN_FAR,         PLAN_LARGER,          PLAN_SMALL,
		PLAN_WIDE,      PLAN_EXTREME,   PLAN_HUGE,            PLAN_FAINT,       PLAN_SPECIAL,         PLAN_INFINITE_ROWS,
		PLAN_ALONE,     PLAN_NEAR_TIES, PLAN_MIXED_CONSTANTS, PLAN_MIXED_ZEROS, PLAN_INTEGERS,        PLAN_NEGATIVE,
		PLAN_HIGH_END,  PLAN_LOW_END,   PLAN_COINCIDING,      PLAN_FEW,         PLAN_NUMBERS,         PLAN_CHAINS,
		PLAN_EIGHTHS,
	};
	int rc = 0;
	for (size_t i = 0; i < MEM_COUNT(steps) && rc == 0; i++) {
		uint64_t seed = steps[i] == PLAN_SPECIAL ? plan_seed(r->q->seed, PLAN_SEED_MANY) : r->q->seed;
		struct trial_input input = { .seed = seed, .poison = TRIAL_POISON, .values = steps[i] };
		if (has_values(r, steps[i]))
			rc = look(l, &input, e);
	}
	return rc;
}

/* Draw i of those that follow: values as people have them, and by turn another kind. */
static struct trial_input later_draw(const struct suite_running *r, unsigned i)
{
	static const enum plan_values others[] = { PLAN_MIXTURE,   PLAN_PATTERNS,   PLAN_NEAR_TIES, PLAN_FEW,     PLAN_MIXED_ZEROS,
						   PLAN_SEGMENTS,  PLAN_COINCIDING, PLAN_WIDE,      PLAN_CHAINS,  PLAN_MIXED_ENDS,
						   PLAN_HIGH_END,  PLAN_NUMBERS,    PLAN_NARROW,    PLAN_NEGATIVE };
	unsigned turn = i / 2, of = MEM_COUNT(others);
	uint64_t seed = r->q->seed + 2 * PLAN_FORMS * (uint64_t)(1 + turn / ROUND_DRAWS);
	struct trial_input input = { .poison = TRIAL_POISON, .values = PLAN_NATURAL };
	if (i & 1) {
		input.values = others[turn % of];
		input.seed = seed + 64 * (uint64_t)(turn / of);
	} else {
		input.seed = suite_natural_seed(r->trial.variant->plan, seed, turn % ROUND_DRAWS);
	}
	return input;
}

/* Like any other draw. What cannot be judged on such values is no gap. */
static int judge(struct suite_running *r, const struct looking *l, const struct trial_input *input, struct err *e)
{
	struct check c = { .passed = true };
	char *unfit = NULL;
	int rc = check_draw(r->j, &r->trial, input, &c, &unfit, e);
	free(unfit);
	if (rc == 0 && !c.passed) {
		const struct branch *b = l->latest < 0 ? NULL : &l->branches.at[l->latest / 2];
		char *where = b ? mem_fmt("where `%s` in line %ld is %s", b->condition, b->line, l->latest & 1 ? "true" : "false")
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

static int look_further(struct suite_running *r, struct looking *l, struct err *e)
{
	int64_t until = clock_now() + LOOK_MS * CLOCK_MS;
	int rc = 0;
	for (unsigned i = 0; rc == 0 && r->check.passed && is_any_open(l) && clock_now() < until; i++) {
		struct trial_input input = later_draw(r, i);
		if (!has_values(r, input.values))
			continue;
		rc = look(l, &input, e);
		bool stray = rc < 0 && e->code == ERR_WRONG; /* it wrote where it must not: so may the kernel itself */
		if (stray)
			*e = (struct err)ERR_INIT;
		if ((rc == 0 && l->latest >= 0) || stray)
			rc = judge(r, l, &input, e);
	}
	return rc;
}

static void tell(struct suite_running *r, const struct looking *l)
{
	unsigned told = 0;
	for (size_t i = 0; i < l->branches.count && told < TOLD; i++)
		if (is_open(l, i)) {
			const struct branch *b = &l->branches.at[i];
			buf_addf(&r->log, SUITE_GAP SUITE_BRANCHES ": `%s` in line %ld was never %s\n", b->condition, b->line,
				 l->taken[2 * i] ? "true" : "false");
			told++;
		}
}

int suite_branches(struct suite_running *r, struct err *e)
{
	struct looking l = { .latest = -1 };
	if (plan_bytes(r->trial.variant->plan) > LOOK_BYTES || r->j->facts->emulated)
		return 0;
	int64_t begun = clock_now();
	int rc = begin(r, &l, e);
	bool runs = rc == 0 && l.branches.ctx;
	if (runs)
		rc = look_at_steps(r, &l, e);
	if (runs && rc == 0)
		rc = look_further(r, &l, e);
	if (runs && rc == 0 && r->check.passed)
		tell(r, &l);
	if (runs)
		trial_end(&l.trial);
	if (l.branches.ctx)
		variant_fini(&l.variant);
	branches_fini(&l.branches);
	log_debug("branches took %.3f ms", (double)(clock_now() - begun) / 1e6);
	if (rc < 0 && e->code == ERR_CANCELLED)
		return rc;
	if (rc < 0) /* what keeps the rewritten kernel from running says nothing about the kernel itself */
		log_debug("branches are not known: %s", e->text);
	*e = (struct err)ERR_INIT;
	return 0;
}

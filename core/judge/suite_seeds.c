/* suite_seeds: the checks of suite_draws.h for outputs that are random numbers. The worker that compares them keeps what it
 * compares them with. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/judge/suite_draws.h"

enum {
	SEEDS = 160,       /* some are drawn twice, which the worker leaves out; */
	SEEDS_LEAST = 6,   /* fewer, where */
	NUMBERS = 1 << 22, /* so many numbers come of fewer */
	NEIGHBOURS = 24,   /* executions that differ little from one */
	NEIGHBOURS_LEAST = 8,
	BESIDE = 4,      /* of each integer */
	DRAWS = 1 << 16, /* that are tried for one that chooses an array */
	OF_EACH = 3,     /* log2 of the words that honest kernels take for one number, at most */
};

/* Elements of the smallest output, and of the largest one. *ret_unfit: none is made of random numbers. */
static bool draws_numbers(struct suite_running *r, uint64_t *ret_least, uint64_t *ret_most, char **ret_unfit)
{
	const struct spec *spec = context_spec(r->j->baseline);
	bool any = false;
	*ret_least = NUMBERS;
	*ret_most = 1;
	for (size_t i = 0; i < spec->array_count; i++)
		any |= spec->arrays[i].role != PLAN_IN && spec->arrays[i].judged.kind == JUDGE_DISTRIBUTION;
	r->needless = !any;
	if (!any)
		*ret_unfit = mem_str("no output is a `distribution`");
	for (size_t k = 0; k < variant_output_count(r->trial.variant); k++) {
		uint64_t n = plan_buffer_logical(variant_output(r->trial.variant, k));
		*ret_least = n < *ret_least ? n : *ret_least;
		*ret_most = n > *ret_most ? n : *ret_most;
	}
	return any;
}

static uint64_t executions(uint64_t numbers, uint64_t least, uint64_t most)
{
	uint64_t enough = NUMBERS / numbers;
	return enough > most ? most : enough < least ? least : enough;
}

int suite_check_many_seeds(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	uint64_t least, most;
	int rc = 0;
	if (!draws_numbers(r, &least, &most, ret_unfit))
		return 0;
	uint64_t seeds = executions(least, SEEDS_LEAST, SEEDS);
	for (uint64_t i = 1; i <= seeds && rc == 0 && c->passed && *ret_unfit == NULL; i++) {
		struct trial_input input = { .seed = r->q->seed + i, .poison = TRIAL_POISON, .values = PLAN_INTEGERS };
		check_fini(c);
		rc = check_execution(r->j, &r->trial, &input, c, ret_unfit, e);
	}
	return rc;
}

static unsigned log2_of(uint64_t x)
{
	unsigned bits = 0;
	while (x >>= 1)
		bits++;
	return bits;
}

/* The highest bit that must count. Where numbers are hashes of seed · n + i, the highest bits of the product are lost; that has as
 * many bits as the seed, but 32 at least. */
static unsigned highest(const struct plan_buffer *b, uint64_t numbers)
{
	unsigned bits = (unsigned)(8 * dtype_size(b->type)), held = bits, word = bits > 32 ? 64 : 32;
	if (b->closed && isfinite(b->least) && isfinite(b->most) && b->most - b->least < 0x1p63)
		held = log2_of((uint64_t)(b->most - b->least)) + 1;
	unsigned lost = log2_of(numbers * 2 - 1) + OF_EACH, kept = word > lost + 1 ? word - lost - 1 : 0;
	return held - 1 < kept ? held - 1 : kept;
}

/* What differs in the k-th execution: the integer itself by one, its second bit, one of the upper bits, or the highest. */
static uint64_t differs(unsigned k, unsigned highest, uint64_t drawn)
{
	switch (k) {
	case 0: return PLAN_NEIGHBOUR_NEXT;
	case 1: return 1 + 1;
	case 2: return 1 + highest - drawn % (highest / 2 + 1);
	}
	return 1 + highest;
}

/* A seed that chooses buffer k alone; 0: none was found. */
static uint64_t seed_for(const struct plan *plan, size_t k, uint64_t group, uint64_t element, uint64_t differs)
{
	for (uint64_t draw = 0; draw < DRAWS; draw++) {
		uint64_t seed = plan_neighbour(group, draw, element, differs);
		if (suite_chooses(plan, PLAN_NEIGHBOURS, k, seed))
			return seed;
	}
	return 0;
}

static uint64_t integers_of(const struct plan_buffer *b)
{
	if (!plan_takes(b, PLAN_NEIGHBOURS))
		return 0;
	uint64_t n = plan_buffer_logical(b);
	return n > PLAN_NEIGHBOUR_ELEMENTS ? 1 : n; /* all of a larger array differ at once */
}

/* One execution, and then such ones in which one integer of one array differs from it. Of many integers the seed chooses some. */
int suite_check_neighbours(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	const struct plan *plan = r->trial.variant->plan;
	uint64_t least, most, all = 0, group = r->q->seed & UINT32_MAX;
	bool judged = false;
	char *unfit = NULL;
	int rc = 0;
	if (!draws_numbers(r, &least, &most, ret_unfit))
		return 0;
	for (size_t k = 0; k < plan->buffer_count; k++)
		all += integers_of(&plan->buffers[k]);
	r->needless = all == 0;
	uint64_t some = executions(least, NEIGHBOURS_LEAST, NEIGHBOURS), first = all ? r->q->seed % all : 0;
	some = all * BESIDE < some ? all * BESIDE : some;
	for (uint64_t i = 0; all && i <= some && rc == 0 && c->passed; i++) {
		struct trial_input input = { .seed = plan_neighbour(group, 0, 0, PLAN_NEIGHBOUR_NONE),
					     .poison = TRIAL_POISON,
					     .values = PLAN_NEIGHBOURS };
		if (i > 0) {
			uint64_t element = (first + (i - 1) / BESIDE) % all;
			size_t k = 0;
			for (; element >= integers_of(&plan->buffers[k]); k++)
				element -= integers_of(&plan->buffers[k]);
			uint64_t how = differs((i - 1) % BESIDE, highest(&plan->buffers[k], most), group >> 8);
			input.seed = seed_for(plan, k, group, element, how);
		}
		check_fini(c);
		free(unfit);
		unfit = NULL;
		rc = check_execution(r->j, &r->trial, &input, c, &unfit, e);
		judged |= unfit == NULL;
	}
	if (all == 0)
		*ret_unfit = mem_str("no input holds integers that vary");
	else if (!judged)
		*ret_unfit = mem_str(unfit);
	free(unfit);
	return rc;
}

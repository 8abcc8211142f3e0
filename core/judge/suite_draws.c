/* suite_draws: see suite_draws.h. */
#include "core/judge/suite_draws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/values/fill.h"
#include "base/clock.h"
#include "base/mem.h"
#include "core/judge/dictionary.h"
#include "core/judge/round.h"

enum {
	ENDS = 32, /* draws of PLAN_MIXED_ENDS */
	ENDS_BESIDE_FLOATS = 8,
	ENDS_LEAST = 2,      /* of large arrays */
	CHOICES = 400000,    /* that are tried for one that chooses an array, */
	AGAIN = 8,           /* draws of declared values */
	SPECIALS = 16,       /* further draws of PLAN_SPECIAL, three of four with one value alone */
	SPECIALS_LARGE = 10, /* of large arrays: a GPU makes them fast, and elsewhere their time ends them */
	PATTERNS = 16,       /* further draws of PLAN_PATTERNS */
	CHAINS = 12,         /* of PLAN_CHAINS */
	DIRECTIONS = 2,      /* of PLAN_APART: rows, columns */
	FORMS_LEAST = 3,     /* draws of PLAN_NATURAL, of large arrays; of huge ones one */
	BLANK = 4,           /* arrays that are zero alone */
	MIXTURES = 16,       /* draws of PLAN_MIXTURE, */
	MIXTURES_LEAST = 2,  /* of large arrays */
	SEGMENTS = 8,        /* draws of PLAN_SEGMENTS, */
	SEGMENTS_LEAST = 2,
	SMALL_BYTES = 1 << 20,  /* of all arrays together: what draws cost little for, */
	LARGE_BYTES = 16 << 20, /* and what they cost much for */
	HUGE_BYTES = 256 << 20
};

#define DRAWS_NS CLOCK_S

/* `precision: tensor:f32/…`: a factor may be split into narrower ones. */
bool suite_in_parts(const struct spec *spec)
{
	return spec->precision == SPEC_TENSOR && strcmp(spec->precision_in, "f32") == 0;
}

/* How many inputs get such values. */
static unsigned takers(const struct plan *plan, enum plan_values values)
{
	unsigned n = 0;
	for (size_t i = 0; i < plan->buffer_count; i++)
		n += plan_takes(&plan->buffers[i], values);
	return n;
}

/* Whether executions cost much: of large arrays, and on emulated devices. */
static bool is_slow(const struct suite_running *r)
{
	return plan_bytes(r->trial.variant->plan) > LARGE_BYTES || r->j->facts->emulated;
}

/* One draw. *io_unfit is why the last one could not judge. */
static int execute(struct suite_running *r, const struct trial_input *input, struct check *c, bool *io_judged, char **io_unfit,
		   struct err *e)
{
	check_fini(c);
	free(*io_unfit);
	*io_unfit = NULL;
	int rc = check_draw(r->j, &r->trial, input, c, io_unfit, e);
	*io_judged |= *io_unfit == NULL;
	return rc;
}

/* Behind all draws: one that judged is enough. */
static void settle(bool judged, char **io_unfit)
{
	if (!judged)
		return;
	free(*io_unfit);
	*io_unfit = NULL;
}

/* How often it may be drawn which array stands at which end: floats are perturbed each time, and large arrays take time. */
static unsigned draws_of_ends(const struct plan *plan)
{
	bool floats = false;
	for (size_t i = 0; i < plan->buffer_count; i++)
		floats = floats || (plan_is_input(&plan->buffers[i]) && dtype_is_float(plan->buffers[i].type));
	return plan_bytes(plan) > LARGE_BYTES ? ENDS_LEAST : floats ? ENDS_BESIDE_FLOATS : ENDS;
}

/* Of draw i, from 1 on. */
static uint64_t seed_of(enum plan_values values, uint64_t seed, uint64_t i)
{
	if (values != PLAN_SPECIAL)
		return seed + i;
	return plan_seed(seed + PLAN_SEEDS * i, i % 4 ? PLAN_SEED_LONE : PLAN_SEED_MORE);
}

/* At most so many draws: the first one, and others while time is left. A kernel that takes 0.1 s gets three or four. */
static int draw(struct suite_running *r, enum plan_values values, unsigned draws, struct check *c, char **ret_unfit, struct err *e)
{
	int64_t until = values == PLAN_MIXED_ENDS ? CLOCK_NEVER : clock_now() + (values == PLAN_MIXTURE ? DRAWS_NS / 2 : DRAWS_NS);
	bool judged = false;
	int rc = 0;
	for (uint64_t i = 1; i <= draws && rc == 0 && c->passed && (i == 1 || clock_now() < until); i++) {
		struct trial_input input = { .seed = seed_of(values, r->q->seed, i),
					     .poison = values == PLAN_SPECIAL ? CHECK_POISON : TRIAL_POISON,
					     .values = values };
		rc = execute(r, &input, c, &judged, ret_unfit, e);
	}
	settle(judged, ret_unfit);
	return rc;
}

static int draw_several(struct suite_running *r, enum plan_values values, unsigned draws, struct check *c, char **ret_unfit,
			struct err *e)
{
	struct round_inputs inputs = round_inputs(r->trial.variant->plan, values);
	r->needless = draws == 0 || (values != PLAN_DECLARED && !inputs.any);
	if (r->needless) {
		*ret_unfit = mem_str(draws ? "no input has such values" : "its arrays are large, so one draw holds many rows");
		return 0;
	}
	int rc = draw(r, values, draws, c, ret_unfit, e);
	if (rc == 0 && !c->passed && inputs.open)
		check_name(c, SUITE_OPEN);
	return rc;
}

/* Several draws meet most pairs of ends. */
int suite_check_ends(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	return draw_several(r, PLAN_MIXED_ENDS, draws_of_ends(r->trial.variant->plan), c, ret_unfit, e);
}

/* One draw of few elements rarely holds what one row of a hundred does. */
int suite_check_again(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	return draw_several(r, PLAN_DECLARED, plan_bytes(r->trial.variant->plan) > SMALL_BYTES ? 0 : AGAIN, c, ret_unfit, e);
}

/* One draw has few of the special values in a short row, and among many no single one shows in a sum or flag of the whole array. */
int suite_check_special(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	const struct plan *plan = r->trial.variant->plan;
	uint64_t bytes = plan_bytes(plan);
	unsigned draws = bytes > SMALL_BYTES ? SPECIALS_LARGE : SPECIALS;
	r->needless = !round_judges(plan, PLAN_SPECIAL) || !round_inputs(plan, PLAN_SPECIAL).any ||
		      suite_in_parts(context_spec(r->j->baseline));
	if (r->needless) {
		*ret_unfit = mem_str("no input has such values, or they leave nothing to judge");
		return 0;
	}
	int rc = draw(r, PLAN_SPECIAL, draws, c, ret_unfit, e);
	/* Said already, or no gap. */
	bool said = strstr(buf_text(&r->log), SUITE_GAP SUITE_SPECIAL);
	r->needless = said || (*ret_unfit && strstr(*ret_unfit, REFERENCE_ELSEWHERE));
	return rc;
}

int suite_check_apart(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	return draw_several(r, PLAN_APART, DIRECTIONS, c, ret_unfit, e);
}

/* Each draw breaks such integers elsewhere. */
int suite_check_chains(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	return draw_several(r, PLAN_CHAINS, CHAINS, c, ret_unfit, e);
}

/* Each width once; a formula that overflows on some still says something on others. */
int suite_check_narrow(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	int rc = draw_several(r, PLAN_NARROW, PLAN_WIDTHS, c, ret_unfit, e);
	r->needless = true; /* such values only say more */
	return rc;
}

/* What one kind of values shows only beside another one in another array. */
int suite_check_mixture(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	const struct plan *plan = r->trial.variant->plan;
	uint64_t bytes = plan_bytes(plan);
	unsigned draws = is_slow(r) ? 1 : bytes > SMALL_BYTES ? MIXTURES_LEAST : MIXTURES;
	if (takers(plan, PLAN_MIXTURE) < 2)
		draws = 0;
	int rc = draw_several(r, PLAN_MIXTURE, draws, c, ret_unfit, e);
	r->needless = true; /* such values only say more */
	return rc;
}

/* Which parts are small differs from array to array. */
int suite_check_segments(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	uint64_t bytes = plan_bytes(r->trial.variant->plan);
	unsigned draws = bytes > LARGE_BYTES ? 1 : bytes > SMALL_BYTES ? SEGMENTS_LEAST : SEGMENTS;
	return draw_several(r, PLAN_SEGMENTS, draws, c, ret_unfit, e);
}

bool suite_chooses(const struct plan *plan, enum plan_values values, size_t k, uint64_t seed)
{
	for (size_t i = 0; i < plan->buffer_count; i++)
		if (plan_takes(&plan->buffers[i], values) && fill_chooses(&plan->buffers[i], seed) != (i == k))
			return false;
	return true;
}

/* A seed that chooses buffer k alone, so many steps behind the first one; 0: none was found. */
static uint64_t seed_choosing(const struct plan *plan, enum plan_values values, size_t k, uint64_t first, uint64_t step)
{
	for (uint64_t seed = first; seed < first + CHOICES; seed += step)
		if (suite_chooses(plan, values, k, seed))
			return seed;
	return 0;
}

/* An added mask is one array beside others, a square one at first. */
uint64_t suite_natural_seed(const struct plan *plan, uint64_t seed, unsigned i)
{
	unsigned again = i / PLAN_FORMS, some = takers(plan, PLAN_NATURAL), form = (unsigned)((seed + i) % PLAN_FORMS);
	bool all = some == 1 || ((seed >> (8 + i % PLAN_FORMS)) ^ again) & 1;
	uint64_t drawn = plan_natural_seed(seed + 2 * PLAN_FORMS * again, form, all), chosen;
	if (form != PLAN_FORM_ADDITIVE || some == 1)
		return drawn;
	size_t one = 0, seen = 0; /* each as likely */
	bool square = false;
	for (size_t k = 0; k < plan->buffer_count; k++) {
		const struct plan_buffer *b = &plan->buffers[k];
		bool is_square = again == 0 && b->rank > 1 && b->dims[b->rank - 1] == b->dims[b->rank - 2];
		if (!plan_takes(b, PLAN_NATURAL) || !dtype_is_float(b->type) || (square && !is_square))
			continue;
		seen = is_square && !square ? 1 : seen + 1;
		square = is_square;
		if ((seed >> 32) % seen == 0)
			one = k;
	}
	drawn = plan_natural_seed(drawn, form, false);
	chosen = seed_choosing(plan, PLAN_NATURAL, one, drawn, 2 * PLAN_FORMS);
	return chosen ? chosen : drawn;
}

/* Draws of PLAN_NATURAL, but for the first one while time is left. */
struct forms {
	unsigned first, end;
	int64_t until;
	bool alone; /* one array has such values */
};

/* In words, for messages. */
static const char *const form_names[PLAN_FORMS] = {
	"smooth values",
	"smooth values with noise",
	"values in nearly even steps",
	"multiples of 1/255, or text",
	"levels of video, or marks of text",
	"sound of 16 bits, text, or words of few bits",
	"values as bf16 holds them, or video",
	"zeros and ones",
	[PLAN_FORM_RECTIFIED] = "rectified values, most of them zero",
	[PLAN_FORM_MASKED] = "a mask of ones below the diagonal, with holes",
	[PLAN_FORM_DECIMAL] = "prices and whole numbers",
	[PLAN_FORM_SIGNS] = "ones and minus ones",
	[PLAN_FORM_ADDITIVE] = "a mask of 0 and -256 or -10000 in one array",
	[PLAN_FORM_PEAKED] = "rows of which one column stands out",
	[PLAN_FORM_NEARLY] = "nearly equal values",
	[PLAN_FORM_SHARED] = "arrays that begin alike",
	[PLAN_FORM_BAND] = "zeros beside a band",
	[PLAN_FORM_BLOCKS] = "a mask of ones below the diagonal, and of columns or blocks above it",
	[PLAN_FORM_REGULAR] = "symmetric, diagonal, periodic or equal values, but for some",
};

static int draw_forms(struct suite_running *r, const struct forms *q, struct check *c, bool *io_judged, char **io_unfit,
		      struct err *e)
{
	int rc = 0;
	for (unsigned i = q->first; i < q->end && rc == 0 && c->passed && (i == 0 || clock_now() < q->until); i++) {
		struct trial_input input = { .poison = TRIAL_POISON, .values = PLAN_NATURAL };
		input.seed = suite_natural_seed(r->trial.variant->plan, r->q->seed, i);
		if (q->alone && plan_natural_form(input.seed) == PLAN_FORM_ADDITIVE) /* a mask is added to others */
			continue;
		rc = execute(r, &input, c, io_judged, io_unfit, e);
		if (rc == 0 && !c->passed)
			check_name(c, form_names[plan_natural_form(input.seed)]);
	}
	return rc;
}

/* Forms; then arrays, four at most, of which one is zero alone or all others are; then forms of small arrays again. */
int suite_check_natural(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	const struct plan *plan = r->trial.variant->plan;
	uint64_t bytes = plan_bytes(plan), seed = r->q->seed;
	unsigned draws = bytes > HUGE_BYTES ? 1 : is_slow(r) ? FORMS_LEAST : PLAN_FORMS, some = takers(plan, PLAN_NATURAL);
	unsigned takes = takers(plan, PLAN_BLANK), kinds = takes > 2 ? 2 : 1, most = bytes > LARGE_BYTES ? 1 : BLANK;
	unsigned blanks = takes < 2 ? 0 : kinds * (takes < most ? takes : most); /* one: PLAN_ALONE */
	int64_t until = clock_now() + DRAWS_NS;
	struct forms forms = { .end = some ? draws : 0, .until = until, .alone = some == 1 };
	bool judged = false;
	int rc = draw_forms(r, &forms, c, &judged, ret_unfit, e);
	for (size_t i = 0; blanks && i < kinds * plan->buffer_count && rc == 0 && c->passed && clock_now() < until; i++) {
		size_t k = (i / kinds + seed) % plan->buffer_count;
		struct trial_input input = { .poison = TRIAL_POISON, .values = PLAN_BLANK };
		if (!plan_takes(&plan->buffers[k], PLAN_BLANK) ||
		    (input.seed = seed_choosing(plan, PLAN_BLANK, k, plan_seed(seed, i % kinds), PLAN_SEEDS)) == 0)
			continue;
		blanks--;
		rc = execute(r, &input, c, &judged, ret_unfit, e);
	}
	forms.first = PLAN_FORMS;
	forms.end = 2 * PLAN_FORMS;
	if (some && rc == 0 && bytes <= SMALL_BYTES && !is_slow(r))
		rc = draw_forms(r, &forms, c, &judged, ret_unfit, e);
	if (!some)
		*ret_unfit = mem_str("no input has such values");
	if (rc == 0 && !c->passed && round_inputs(plan, PLAN_NATURAL).open)
		check_name(c, SUITE_OPEN);
	settle(judged, ret_unfit);
	r->needless = true; /* such values only say more */
	return rc;
}

/* A mask is infinite in runs and in whole rows. In several arrays at once infinities often leave nothing to judge. */
int suite_check_runs(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	const struct plan *plan = r->trial.variant->plan;
	size_t count = suite_in_parts(context_spec(r->j->baseline)) ? 0 : plan->buffer_count;
	char *unfit = NULL;
	bool judged = false;
	int rc = 0;
	r->needless = true;
	for (size_t i = 0; i < 3 * count && rc == 0 && c->passed; i++) {
		size_t k = i / 3;
		const struct plan_buffer *b = &plan->buffers[k];
		struct trial_input input = { .poison = CHECK_POISON, .values = PLAN_RUNS };
		/* Of an only row the seed says how much is infinite. */
		static const uint64_t kinds[3] = { 0, 1, 3 };
		bool alone = plan_is_one_row(b);
		if (!plan_takes(b, PLAN_RUNS) || (i % 3 && !alone) ||
		    (input.seed = seed_choosing(plan, PLAN_RUNS, k, plan_seed(r->q->seed, kinds[i % 3]), PLAN_SEEDS)) == 0)
			continue;
		rc = execute(r, &input, c, &judged, &unfit, e);
		if (rc == 0 && !c->passed) {
			char *where = mem_fmt("%s has them; a domain without them is closed, as in `%s: f32[n] = random closed`",
					      b->name, b->name);
			check_name(c, where);
			free(where);
		}
	}
	free(unfit);
	if (rc == 0 && c->passed && !judged)
		*ret_unfit = mem_str("no input has such values, or they leave nothing to judge");
	return rc;
}

/* Ends of ranges in patterns, with each array at one end throughout, and with none; of large arrays, with one of them. */
int suite_check_patterns(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	const struct plan *plan = r->trial.variant->plan;
	size_t one = 0, seen = 0; /* each as likely */
	bool judged = false, large = plan_bytes(plan) > LARGE_BYTES;
	int rc = 0;
	for (size_t k = 0; k < plan->buffer_count; k++)
		if (plan_takes(&plan->buffers[k], PLAN_PATTERNS) && r->q->seed % ++seen == 0)
			one = k;
	r->needless = seen == 0;
	if (r->needless)
		*ret_unfit = mem_str("no input has such values");
	size_t none = plan->buffer_count, all = none + 1 + (plan_bytes(plan) > SMALL_BYTES ? 0 : PATTERNS);
	uint64_t first = r->q->seed;
	int64_t until = clock_now() + DRAWS_NS;
	for (size_t k = 0; k < all && rc == 0 && c->passed && !r->needless && (k <= none || clock_now() < until); k++) {
		struct trial_input input = { .poison = TRIAL_POISON, .values = PLAN_PATTERNS };
		uint64_t kind = k > none ? (k - none - 1) % PLAN_SEEDS : PLAN_SEED_COMBS + ((r->q->seed + k) & 1);
		if ((k < none && (!plan_takes(&plan->buffers[k], PLAN_PATTERNS) || (large && k != one))) ||
		    (input.seed = seed_choosing(plan, PLAN_PATTERNS, k, plan_seed(first, kind), PLAN_SEEDS)) == 0)
			continue;
		if (k >= none)
			first = input.seed + PLAN_SEEDS;
		rc = execute(r, &input, c, &judged, ret_unfit, e);
	}
	settle(judged, ret_unfit);
	return rc;
}

int suite_numbers(const struct suite_running *r, enum plan_values values, struct dictionary_draw ret_draws[DICTIONARY_DRAWS],
		  unsigned *ret_count, struct err *e)
{
	struct reference_values declared = { .size = r->trial.variant->params, .seed = r->q->seed };
	const struct reference *baseline = NULL;
	int rc = reference_get(r->j, r->trial.worker, &declared, &baseline, e);
	if (rc < 0)
		return rc;
	*ret_count = dictionary_draws(r->q->immediates, &baseline->immediates, r->trial.variant->plan, values,
				      suite_in_parts(context_spec(r->j->baseline)), r->q->seed, ret_draws);
	reference_release(r->j->ev->references, baseline);
	return 0;
}

/* Values made of the numbers that the kernel's code holds. */
static int check_dictionary(struct suite_running *r, enum plan_values values, struct check *c, char **ret_unfit, struct err *e)
{
	const struct plan *plan = r->trial.variant->plan;
	struct dictionary_draw draws[DICTIONARY_DRAWS];
	unsigned n = 0;
	bool judged = false;
	int rc = suite_numbers(r, values, draws, &n, e);
	if (rc < 0)
		return rc;
	r->needless = true;
	for (unsigned i = 0; i < n && rc == 0 && c->passed; i++) {
		struct trial_input input = {
			.seed = draws[i].seed, .poison = TRIAL_POISON, .values = draws[i].values, .immediates = draws[i].numbers
		};
		char *unfit = NULL;
		check_fini(c);
		rc = check_draw(r->j, &r->trial, &input, c, &unfit, e);
		if (rc == 0 && !c->passed) {
			bool open = round_inputs(plan, values).open;
			char *numbers = dictionary_text(&draws[i].numbers);
			char *where = mem_fmt("it holds %s%s", numbers, open ? "; " SUITE_OPEN : "");
			check_name(c, where);
			free(numbers);
			free(where);
		}
		judged |= unfit == NULL;
		if (unfit == NULL || !r->needless) { /* the first gap stays */
			free(unfit);
			continue;
		}
		free(*ret_unfit);
		*ret_unfit = unfit;
		r->needless = draws[i].optional;
	}
	if (n == 0)
		*ret_unfit = mem_str("the code holds no number that an input could take");
	settle(judged && r->needless, ret_unfit);
	return rc;
}

int suite_check_immediates(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	return check_dictionary(r, PLAN_IMMEDIATES, c, ret_unfit, e);
}

int suite_check_immediate_rows(struct suite_running *r, struct check *c, char **ret_unfit, struct err *e)
{
	return check_dictionary(r, PLAN_IMMEDIATE_ROWS, c, ret_unfit, e);
}

/* --- outputs that are random numbers ---------------------------------------------------------------------------------------------
 * The worker that compares them keeps what it compares them with. */

enum {
	SEEDS = 160,       /* some are drawn twice, which the worker leaves out; */
	SEEDS_LEAST = 6,   /* fewer, where */
	NUMBERS = 1 << 22, /* so many numbers come of fewer */
	NEIGHBOURS = 24,   /* executions that differ little from one */
	NEIGHBOURS_LEAST = 8,
	BESIDE = 4,      /* of each integer */
	SEEDS_TRIED = 1 << 16, /* for one that chooses an array */
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
	for (uint64_t draw = 0; draw < SEEDS_TRIED; draw++) {
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

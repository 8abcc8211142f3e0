/* dictionary: see dictionary.h. */
#include "core/judge/dictionary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/values/fill.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"

enum {
	DRAWS_MOST = 7, /* of single elements */
	LABELS_MOST = 3,
	SHOWN = 4,      /* numbers in a message */
	DRAWN_LEAST = 4 /* numbers, also where an array is too small */
};
#define USUAL_MOST 0x1p60
/* Where factors are held in narrower parts, the largest of a row may leave few bits to what is far smaller. */
#define PARTS_MOST 0x1p24

/* --- gathering -------------------------------------------------------------------------------------------------------------- */

static bool has(const double *list, size_t count, double v)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == v)
			return true;
	return false;
}

static void add(double **list, size_t *count, double v)
{
	if (isfinite(v) && v != 0 && !has(*list, *count, v))
		*MEM_PUSH(*list, *count) = v;
}

static bool is_extent(const struct plan *plan, int64_t n)
{
	for (size_t i = 0; i < plan->buffer_count; i++)
		for (unsigned d = 0; d < plan->buffers[i].rank; d++)
			if (plan->buffers[i].dims[d] == n)
				return true;
	return false;
}

void dictionary_add(struct wire_immediates *to, const struct variant *v)
{
	const struct wire_immediates *from = &v->compiled.immediates;
	for (size_t i = 0; i < v->plan->op_count; i++) {
		const struct plan_launch *l = &v->plan->ops[i].launch;
		for (size_t k = 0; v->plan->ops[i].kind == PLAN_OP_LAUNCH && k < l->arg_count; k++) {
			const struct plan_arg *a = &l->args[k];
			if (a->kind == PLAN_ARG_SCALAR && dtype_is_float(a->type))
				add(&to->floats, &to->float_count, a->f);
			else if (a->kind == PLAN_ARG_SCALAR && !is_extent(v->plan, a->i))
				add(&to->others, &to->other_count, (double)a->i);
		}
	}
	for (size_t i = 0; i < from->float_count; i++)
		add(&to->floats, &to->float_count, from->floats[i]);
	for (size_t i = 0; i < from->other_count; i++)
		add(&to->others, &to->other_count, from->others[i]);
}

void dictionary_fini(struct wire_immediates *w)
{
	free(w->floats);
	free(w->others);
	*w = (struct wire_immediates){ 0 };
}

/* --- choosing --------------------------------------------------------------------------------------------------------------- */

struct list {
	double *at;
	size_t count;
};
struct sizes {
	double above, most;
};
static const struct sizes sizes_usual = { 0, USUAL_MOST }, sizes_in_parts = { 0, PARTS_MOST },
			  sizes_huge = { USUAL_MOST, INFINITY };

/* Whether some input takes such values, and can hold the number. */
static bool is_held(const struct plan *plan, enum plan_values values, double v, bool floats_only)
{
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		if (plan_takes(b, values) && (!floats_only || dtype_is_float(b->type)) && fill_holds(b, v))
			return true;
	}
	return false;
}

static bool is_usable(const struct plan *plan, double v, bool floats_only)
{
	return is_held(plan, PLAN_IMMEDIATES, v, floats_only) || is_held(plan, PLAN_IMMEDIATES, -v, floats_only);
}

/* Adds what is usable, is not there yet and not in `but` (NULL: nothing is), in an order that the seed draws. */
static void take(struct list *to, const double *from, size_t count, const struct plan *plan, const struct wire_immediates *but,
		 struct sizes sizes, uint64_t seed)
{
	size_t first = to->count;
	bool huge = sizes.above > 0;
	for (size_t i = 0; i < count; i++) {
		bool known = but && (has(but->floats, but->float_count, from[i]) || has(but->others, but->other_count, from[i]));
		if (!known && fabs(from[i]) != 1 && fabs(from[i]) > sizes.above && fabs(from[i]) <= sizes.most &&
		    is_usable(plan, from[i], huge))
			add(&to->at, &to->count, from[i]);
	}
	/* Fisher and Yates's shuffle. */
	for (size_t n = to->count - first; n > 1; n--) {
		size_t k = hash_next(&seed) % n;
		double last = to->at[first + n - 1];
		to->at[first + n - 1] = to->at[first + k];
		to->at[first + k] = last;
	}
}

/* Adds up to `most` numbers. */
static void draw(const struct list *from, size_t first, size_t most, struct plan_immediates *ret)
{
	*ret = (struct plan_immediates){ .count = 0 };
	while (ret->count < most && first < from->count)
		ret->at[ret->count++] = from->at[first++];
}

/* How many numbers have so many elements each in every array. */
static size_t room_of(const struct plan *plan, uint64_t elements)
{
	size_t room = PLAN_IMMEDIATES_MAX;
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		size_t places = (size_t)(plan_buffer_logical(b) / elements);
		if (plan_takes(b, PLAN_IMMEDIATES) && places < room)
			room = places;
	}
	return room;
}

/* Where there is room, what becomes a number of the kernel's own when it is doubled, halved, squared or its root is taken, as in
 * x*x == 81. */
static void take_derived(struct list *to, const struct wire_immediates *kernel, const struct wire_immediates *baseline,
			 const struct plan *plan, struct sizes sizes)
{
	struct list own = { NULL, 0 };
	size_t room = room_of(plan, PLAN_IMMEDIATES_FORMS * PLAN_IMMEDIATES_PLACE);
	take(&own, kernel->floats, kernel->float_count, plan, baseline, sizes, 0);
	for (size_t i = 0; i < own.count; i++) {
		double c = own.at[i], derived[] = { sqrt(fabs(c)), c / 2, 2 * c, c * c };
		for (size_t k = 0; k < MEM_COUNT(derived) && to->count < room; k++)
			take(to, &derived[k], 1, plan, NULL, sizes, 0);
	}
	free(own.at);
}

static unsigned draw_places(const struct wire_immediates *kernel, const struct wire_immediates *baseline, const struct plan *plan,
			    struct sizes sizes, uint64_t seed, struct dictionary_draw ret_draws[DICTIONARY_DRAWS])
{
	struct list usual = { NULL, 0 }, huge = { NULL, 0 };
	unsigned n = 0;
	take(&usual, kernel->floats, kernel->float_count, plan, baseline, sizes, seed);
	size_t floats = usual.count;
	take(&usual, kernel->others, kernel->other_count, plan, baseline, sizes, seed);
	take(&usual, baseline->floats, baseline->float_count, plan, NULL, sizes, seed);
	size_t room = room_of(plan, PLAN_IMMEDIATES_PLACE), most = room > DRAWN_LEAST ? room : DRAWN_LEAST;
	size_t least = usual.count; /* a last draw of the baseline's integers alone would not be worth it */
	take(&usual, baseline->others, baseline->other_count, plan, NULL, sizes, seed);
	take_derived(&usual, kernel, baseline, plan, sizes);
	for (size_t first = 0; n < DRAWS_MOST && first < usual.count && (n == 0 || first < least); n++) {
		ret_draws[n] = (struct dictionary_draw){ .values = PLAN_IMMEDIATES, .seed = seed, .optional = first >= floats };
		draw(&usual, first, most, &ret_draws[n].numbers);
		first += most;
	}
	take(&huge, kernel->floats, kernel->float_count, plan, baseline, sizes_huge, seed);
	take(&huge, kernel->others, kernel->other_count, plan, baseline, sizes_huge, seed);
	if (huge.count && sizes.most >= sizes_huge.above) {
		ret_draws[n] = (struct dictionary_draw){ .values = PLAN_IMMEDIATES, .seed = seed, .optional = true };
		draw(&huge, 0, PLAN_IMMEDIATES_MAX, &ret_draws[n++].numbers);
	}
	free(usual.at);
	free(huge.at);
	return n;
}

/* Two draws meet the levels of one number in arrays of few rows; of a single row, its parts and its whole take turns. */
static unsigned row_draws(const struct plan *plan)
{
	unsigned draws = 0;
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		if (plan_takes(b, PLAN_IMMEDIATE_ROWS))
			draws = draws == 4 || plan_is_one_row(b) ? 4 : 2;
	}
	return draws;
}

static unsigned draw_rows(const struct wire_immediates *kernel, const struct wire_immediates *baseline, const struct plan *plan,
			  struct sizes sizes, uint64_t seed, struct dictionary_draw ret_draws[DICTIONARY_DRAWS])
{
	struct list own = { NULL, 0 };
	unsigned n = 0, draws = row_draws(plan);
	take(&own, kernel->floats, kernel->float_count, plan, baseline, sizes, seed);
	for (; own.count && n < draws; n++) {
		ret_draws[n] = (struct dictionary_draw){ .values = PLAN_IMMEDIATE_ROWS, .seed = seed + n, .optional = true };
		draw(&own, 0, PLAN_IMMEDIATES_MAX, &ret_draws[n].numbers);
	}
	free(own.at);
	return n;
}

/* Integers that may stand for something: the first few, since those that host code passes come first. One draw has rows of them,
 * and in each of the others arrays hold one alone. */
static unsigned draw_labels(const struct wire_immediates *kernel, const struct wire_immediates *baseline, const struct plan *plan,
			    uint64_t seed, struct dictionary_draw ret_draws[LABELS_MOST + 1])
{
	const struct wire_immediates *from[] = { baseline, kernel };
	struct plan_immediates found = { .count = 0 };
	for (size_t k = 0; k < MEM_COUNT(from); k++)
		for (size_t i = 0; i < from[k]->other_count && found.count < LABELS_MOST; i++) {
			double v = from[k]->others[i];
			if (is_held(plan, PLAN_LABELS, v, false) && !has(found.at, found.count, v))
				found.at[found.count++] = v;
		}
	for (uint64_t i = 0; found.count && i <= found.count; i++)
		ret_draws[i] = (struct dictionary_draw){ .values = PLAN_LABELS,
							 .seed = (seed / 2 * found.count + i) * 2 + (i > 0),
							 .optional = true,
							 .numbers = found };
	return found.count ? (unsigned)found.count + 1 : 0;
}

unsigned dictionary_draws(const struct wire_immediates *kernel, const struct wire_immediates *baseline, const struct plan *plan,
			  enum plan_values values, bool in_parts, uint64_t seed, struct dictionary_draw ret_draws[DICTIONARY_DRAWS])
{
	struct sizes sizes = in_parts ? sizes_in_parts : sizes_usual;
	if (values == PLAN_IMMEDIATES)
		return draw_places(kernel, baseline, plan, sizes, seed, ret_draws);
	unsigned n = draw_rows(kernel, baseline, plan, sizes, seed, ret_draws);
	return n + draw_labels(kernel, baseline, plan, seed, ret_draws + n);
}

bool dictionary_is_huge(const struct plan_immediates *numbers)
{
	return numbers->count && fabs(numbers->at[0]) > USUAL_MOST;
}

char *dictionary_text(const struct plan_immediates *numbers)
{
	struct buf text = BUF_INIT;
	for (uint64_t i = 0; i < numbers->count && i < SHOWN; i++)
		buf_addf(&text, "%s%.9g", i ? ", " : "", numbers->at[i]);
	if (numbers->count > SHOWN)
		buf_addf(&text, " and %u more", (unsigned)(numbers->count - SHOWN));
	return buf_steal(&text);
}

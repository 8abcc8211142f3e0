/* core/judge/dictionary: which numbers of a kernel's code are tried, and in which executions. */
#include "core/judge/dictionary.h"

#include <math.h>

#include "backends/array.h"
#include "base/mem.h"
#include "tap.h"

enum { MANY = 400 };

static bool holds(const struct plan_immediates *m, double v)
{
	for (uint64_t i = 0; i < m->count; i++)
		if (m->at[i] == v)
			return true;
	return false;
}

static void test_places(void)
{
	struct plan_buffer a = array(DTYPE_F32, 64, 64, PLAN_RANDOM);
	struct plan plan = { .buffers = &a, .buffer_count = 1 };
	struct wire_immediates kernel = { .floats = (double[]){ -9999, 0.5, 1, 3.4e38 },
					  .float_count = 4,
					  .others = (double[]){ 64, 777 },
					  .other_count = 2 },
			       baseline = {
				       .floats = (double[]){ 0.5 }, .float_count = 1, .others = (double[]){ 64 }, .other_count = 1
			       };
	struct dictionary_draw d[DICTIONARY_DRAWS];
	unsigned n = dictionary_draws(&kernel, &baseline, &plan, PLAN_IMMEDIATES, false, 5, d);
	is_int(n, 2, "numbers that overflow have an execution of their own");
	ok(d[0].numbers.at[0] == -9999 && d[0].numbers.at[1] == 777 && d[0].numbers.at[2] == 0.5 && d[0].numbers.at[3] == 64,
	   "what only the kernel holds comes first, floats before integers");
	ok(!d[0].optional && d[1].optional, "numbers that overflow need not judge");
	ok(!holds(&d[0].numbers, 1), "1 is no number to try");
	ok(d[1].numbers.count == 1 && d[1].numbers.at[0] == 3.4e38 && dictionary_is_huge(&d[1].numbers) &&
		   !dictionary_is_huge(&d[0].numbers),
	   "the largest is alone");
	kernel.floats[1] = 0x1p43;
	n = dictionary_draws(&kernel, &baseline, &plan, PLAN_IMMEDIATES, true, 5, d);
	ok(n == 1 && !holds(&d[0].numbers, 0x1p43) && holds(&d[0].numbers, -9999),
	   "none hides the others of its row where factors may be held in parts");
	kernel.floats[1] = 0.5;
	a = array(DTYPE_I32, 64, 64, PLAN_RANDOM);
	a.closed = true;
	a.least = 0;
	a.most = 1000;
	n = dictionary_draws(&kernel, &baseline, &plan, PLAN_IMMEDIATES, false, 5, d);
	ok(n == 1 && d[0].numbers.count == 2 && d[0].numbers.at[0] == 777, "integers take the integers of their range");
	a.most = 10;
	is_int(dictionary_draws(&kernel, &baseline, &plan, PLAN_IMMEDIATES, false, 5, d), 0, "or none");
}

/* Where there is room, a float's root and square, half and double are tried behind all others. */
static void test_derived(void)
{
	struct plan_buffer a = array(DTYPE_F32, 64, 64, PLAN_RANDOM);
	struct plan plan = { .buffers = &a, .buffer_count = 1 };
	struct wire_immediates kernel = {
		.floats = (double[]){ 81, 0.5 }, .float_count = 2, .others = (double[]){ 700 }, .other_count = 1
	};
	struct wire_immediates baseline = { .floats = (double[]){ 0.5 }, .float_count = 1 };
	struct dictionary_draw d[DICTIONARY_DRAWS];
	unsigned n = dictionary_draws(&kernel, &baseline, &plan, PLAN_IMMEDIATES, false, 5, d);
	const struct plan_immediates *m = &d[0].numbers;
	ok(n == 1 && m->count == 7 && m->at[0] == 81 && m->at[1] == 700 && m->at[2] == 0.5, "a kernel's own numbers come first");
	ok(holds(m, 9) && holds(m, 40.5) && holds(m, 162) && holds(m, 6561), "x*x == 81, 2*x == 81, x/2 == 81 and sqrt(x) == 81");
	ok(!holds(m, 1400) && !holds(m, 0.25), "integers and the baseline's floats are tried as they are");
	a = array(DTYPE_F32, 1, 640, PLAN_RANDOM);
	dictionary_draws(&kernel, &baseline, &plan, PLAN_IMMEDIATES, false, 5, d);
	ok(m->count == 5 && holds(m, 9) && holds(m, 40.5), "an array of 640 has places for five, the root first");
	a = array(DTYPE_F32, 1, 384, PLAN_RANDOM);
	dictionary_draws(&kernel, &baseline, &plan, PLAN_IMMEDIATES, false, 5, d);
	is_int((long)m->count, 3, "one of 384 for no more than the numbers themselves");
}

/* Every number of the kernel's has its turn while there are less than a hundred, then as many as the seed chooses. */
static void test_many(void)
{
	struct plan_buffer a = array(DTYPE_F32, 64, 64, PLAN_RANDOM);
	struct plan plan = { .buffers = &a, .buffer_count = 1 };
	double list[MANY];
	struct wire_immediates kernel = { .floats = list, .float_count = 90 }, baseline = { .floats = NULL };
	struct dictionary_draw d[DICTIONARY_DRAWS], other[DICTIONARY_DRAWS];
	int tried = 0, same = 0;
	for (int i = 0; i < MANY; i++)
		list[i] = i + 1.5;
	unsigned n = dictionary_draws(&kernel, &baseline, &plan, PLAN_IMMEDIATES, false, 5, d);
	for (int i = 0; i < 90; i++)
		for (unsigned k = 0; k < n; k++)
			tried += holds(&d[k].numbers, list[i]);
	ok(n == 3 && tried == 90, "90 numbers are all tried, in %u executions", n);
	kernel.float_count = MANY;
	n = dictionary_draws(&kernel, &baseline, &plan, PLAN_IMMEDIATES, false, 5, d);
	dictionary_draws(&kernel, &baseline, &plan, PLAN_IMMEDIATES, false, 6, other);
	for (uint64_t i = 0; i < PLAN_IMMEDIATES_MAX; i++)
		same += holds(&other[0].numbers, d[0].numbers.at[i]);
	ok(n == 7 && same < PLAN_IMMEDIATES_MAX / 2, "of 400 the seed chooses (%d of 32 are the same)", same);
	dictionary_draws(&kernel, &baseline, &plan, PLAN_IMMEDIATES, false, 5, other);
	ok(memcmp(d, other, 7 * sizeof *d) == 0, "the same seed chooses the same");
}

static void test_rows(void)
{
	struct plan_buffer a = array(DTYPE_F32, 64, 64, PLAN_RANDOM);
	struct plan plan = { .buffers = &a, .buffer_count = 1 };
	struct wire_immediates kernel = { .floats = (double[]){ 1e-6, 0.5 },
					  .float_count = 2,
					  .others = (double[]){ 64 },
					  .other_count = 1 },
			       baseline = { .floats = (double[]){ 0.5 }, .float_count = 1 };
	struct dictionary_draw d[DICTIONARY_DRAWS];
	unsigned n = dictionary_draws(&kernel, &baseline, &plan, PLAN_IMMEDIATE_ROWS, false, 5, d);
	ok(n == 2 && d[0].numbers.count == 1 && d[0].numbers.at[0] == 1e-6 && d[1].seed != d[0].seed,
	   "rows are near floats that only the kernel holds");
	a = array(DTYPE_F32, 1, 4096, PLAN_RANDOM);
	is_int(dictionary_draws(&kernel, &baseline, &plan, PLAN_IMMEDIATE_ROWS, false, 5, d), 4,
	       "one row is also scaled as a whole");
	kernel.float_count = 0;
	is_int(dictionary_draws(&kernel, &baseline, &plan, PLAN_IMMEDIATE_ROWS, false, 5, d), 0, "integers are no size of rows");
}

/* Integers that stand for something fill rows and arrays of integers that may hold them. */
static void test_labels(void)
{
	struct plan_buffer a = array(DTYPE_I32, 1, 4096, PLAN_RANDOM);
	struct plan plan = { .buffers = &a, .buffer_count = 1 };
	struct wire_immediates kernel = { .others = (double[]){ 8, 300 }, .other_count = 2 },
			       baseline = { .others = (double[]){ 100, -1, 8 }, .other_count = 3 };
	struct dictionary_draw d[DICTIONARY_DRAWS];
	a.closed = true;
	a.least = 0;
	a.most = 210;
	unsigned n = dictionary_draws(&kernel, &baseline, &plan, PLAN_IMMEDIATE_ROWS, false, 5, d), whole = 0;
	for (unsigned i = 0; i < n; i++)
		whole += d[i].values == PLAN_LABELS && d[i].seed & 1 ? 1U << d[i].seed / 2 % d[i].numbers.count : 0;
	ok(n == 3 && d[0].numbers.count == 2 && d[0].numbers.at[0] == 100 && d[0].numbers.at[1] == 8 && whole == 3,
	   "rows of both labels, and an array of each");
}

/* Numbers that host code passes count as the code's own, unless they are extents. */
static void test_gathered(void)
{
	struct plan_arg args[] = { { .kind = PLAN_ARG_SCALAR, .type = DTYPE_F32, .f = 12.5 },
				   { .kind = PLAN_ARG_SCALAR, .type = DTYPE_I32, .i = 7 },
				   { .kind = PLAN_ARG_SCALAR, .type = DTYPE_I32, .i = 64 } };
	struct plan_op op = { .kind = PLAN_OP_LAUNCH, .launch = { .args = args, .arg_count = 3 } };
	struct plan_buffer a = array(DTYPE_F32, 64, 16, PLAN_RANDOM);
	struct plan plan = { .buffers = &a, .buffer_count = 1, .ops = &op, .op_count = 1 };
	struct variant v = { .plan = &plan };
	v.compiled.immediates = (struct wire_immediates){
		.floats = (double[]){ 2.5 }, .float_count = 1, .others = (double[]){ 9 }, .other_count = 1
	};
	struct wire_immediates all = { .floats = NULL };
	dictionary_add(&all, &v);
	dictionary_add(&all, &v);
	ok(all.float_count == 2 && all.floats[0] == 12.5 && all.floats[1] == 2.5, "each float once, that of host code first");
	ok(all.other_count == 2 && all.others[0] == 7 && all.others[1] == 9, "an integer that is no extent, too");
	dictionary_fini(&all);
	char *text = dictionary_text(&(struct plan_immediates){ .count = 6, .at = { -9999, 0.5, 3, 4, 5, 6 } });
	is_str(text, "-9999, 0.5, 3, 4 and 2 more", "a list in words");
	free(text);
}

int main(void)
{
	test_places();
	test_derived();
	test_many();
	test_rows();
	test_labels();
	test_gathered();
	return tap_done();
}

/* numbers: random numbers of one execution beside those of others; see runs.h. Few streams in all, tails that are cut off and
 * streams that overlap do not show in one execution. What the reference's numbers show as well is no finding. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/values/stream.h"
#include "backends/worker/runs.h"
#include "base/hash.h"
#include "base/mem.h"

enum {
	POOLED_ELEMENTS = 4096,    /* of each execution */
	POOLED_FIRST = 16,         /* executions */
	BESIDE_ELEMENTS = 1 << 16, /* that are kept to be compared with a neighbour's */
	OVERLAPS = 2,              /* that chance does not explain */
};

struct numbers {
	struct hash got, want; /* the numbers compared last, and the reference that they were compared with */
	/* Of many executions. */
	uint8_t *pooled_got, *pooled_want;
	unsigned count;
	struct hash references[WIRE_POOLED]; /* by which inputs are known to differ */
	/* Of the execution whose neighbours follow (PLAN_NEIGHBOURS). */
	bool is_beside;
	uint64_t group;
	uint8_t *beside_got, *beside_want;
	struct hash beside_got_hash, beside_want_hash;
	unsigned overlaps;
};

void numbers_forget(struct output *out)
{
	struct numbers *x = out->numbers;
	out->numbers = NULL;
	if (x == NULL)
		return;
	free(x->pooled_got);
	free(x->pooled_want);
	free(x->beside_got);
	free(x->beside_want);
	free(x);
}

static bool same(const struct hash *a, const struct hash *b)
{
	return strcmp(a->hex, b->hex) == 0;
}

static void refuse(struct wire_compared *compared)
{
	compared->mismatched = compared->elements;
}

/* Random numbers that ignore the seed are well distributed each time; they stay when the reference's change. */
static void watch_last(struct numbers *x, const struct hash *got, const struct hash *want, struct wire_compared *compared)
{
	if (compared->mismatched == 0 && same(got, &x->got) && !same(want, &x->want)) {
		refuse(compared);
		snprintf(compared->finding, sizeof compared->finding,
			 "the numbers are the same with other inputs, but the reference's change");
	}
	x->got = *got;
	x->want = *want;
}

/* Adds some of the numbers, from a place on that the reference decides, to those of executions with other inputs, and compares the
 * whole after 16 and 48 of them. */
static void pool(struct numbers *x, const struct plan_buffer *b, const struct output *out, const struct compare_wanted *want,
		 struct wire_compared *compared)
{
	size_t got_size = dtype_size(b->type), want_size = dtype_size(want->type), n = out->len / got_size,
	       some = n < POOLED_ELEMENTS ? n : POOLED_ELEMENTS;
	uint64_t place;
	for (unsigned i = 0; i < x->count; i++)
		if (same(&x->references[i], &x->want))
			return;
	if (x->count == WIRE_POOLED || compared->mismatched)
		return;
	memcpy(&place, x->want.hex, sizeof place);
	size_t first = stream_mix(place) % (n - some + 1) & ~(size_t)1;
	x->pooled_got = mem_resize(x->pooled_got, x->count + 1, some * got_size);
	x->pooled_want = mem_resize(x->pooled_want, x->count + 1, some * want_size);
	memcpy(x->pooled_got + x->count * some * got_size, out->bytes + first * got_size, some * got_size);
	memcpy(x->pooled_want + x->count * some * want_size, (const uint8_t *)want->values + first * want_size, some * want_size);
	x->references[x->count++] = x->want;
	if (x->count != POOLED_FIRST && x->count != WIRE_POOLED)
		return;
	struct plan_buffer all = *b;
	struct compare_wanted wanted = { .type = want->type, .values = x->pooled_want, .poison = want->poison, .several = true };
	struct wire_compared pooled;
	all.rank = 2;
	all.dims[0] = x->count;
	all.dims[1] = all.ld = (int64_t)some;
	compare_random(&all, x->pooled_got, &wanted, &pooled);
	if (pooled.mismatched == 0)
		return;
	refuse(compared);
	snprintf(compared->finding, sizeof compared->finding, "in %u executions with different inputs %.180s", x->count,
		 pooled.finding);
}

/* Compares numbers with those of the execution whose integers differ in one bit, or by one. */
static void watch_neighbour(struct numbers *x, const struct plan_buffer *b, const struct output *out, uint64_t seed,
			    const struct compare_wanted *want, struct wire_compared *compared)
{
	size_t size = dtype_size(b->type), n = out->len / size, some = n < BESIDE_ELEMENTS ? n : BESIDE_ELEMENTS;
	char finding[WIRE_FINDING];
	if (plan_neighbour_differs(seed) == PLAN_NEIGHBOUR_NONE) {
		x->is_beside = true;
		x->group = plan_neighbour_group(seed);
		x->beside_got = mem_resize(x->beside_got, some, size);
		x->beside_want = mem_resize(x->beside_want, some, dtype_size(want->type));
		memcpy(x->beside_got, out->bytes, some * size);
		memcpy(x->beside_want, want->values, some * dtype_size(want->type));
		x->beside_got_hash = x->got;
		x->beside_want_hash = x->want;
		x->overlaps = 0;
		return;
	}
	if (compared->mismatched || !x->is_beside || plan_neighbour_group(seed) != x->group || same(&x->want, &x->beside_want_hash))
		return;
	struct compare_streams two = { .type = b->type,
				       .want_type = want->type,
				       .got = { x->beside_got, out->bytes },
				       .want = { x->beside_want, want->values },
				       .n = some,
				       .equal = same(&x->got, &x->beside_got_hash) };
	x->overlaps += compare_streams(&two, finding);
	if (*finding == '\0' && x->overlaps < OVERLAPS)
		return;
	refuse(compared);
	snprintf(compared->finding, sizeof compared->finding,
		 "when one integer differs by one or in one bit, the numbers %.120s, unlike the reference's",
		 *finding ? finding : "are those from before, moved or in another order");
}

void numbers_compare_first(const struct plan_buffer *b, const struct output *out, const struct compare_wanted *want,
			   struct wire_compared *ret_compared)
{
	struct plan_buffer first = *b;
	uint64_t n = plan_buffer_logical(b);
	first.rank = 1;
	first.dims[0] = first.ld = n < BESIDE_ELEMENTS ? (int64_t)n : BESIDE_ELEMENTS;
	compare_random(&first, out->bytes, want, ret_compared);
	ret_compared->elements = ret_compared->judged = n;
	if (ret_compared->mismatched)
		refuse(ret_compared);
}

void numbers_watch(const struct plan_buffer *b, struct output *out, const struct fill_choice *choice,
		   const struct compare_wanted *want, struct wire_compared *io_compared)
{
	size_t n = out->len / dtype_size(b->type);
	struct hash got = hash_array(out->bytes, out->len), reference = hash_array(want->values, n * dtype_size(want->type));
	if (out->numbers == NULL)
		out->numbers = MEM_NEW(struct numbers);
	watch_last(out->numbers, &got, &reference, io_compared);
	if (choice->values == PLAN_NEIGHBOURS)
		watch_neighbour(out->numbers, b, out, choice->seed, want, io_compared);
	else
		pool(out->numbers, b, out, want, io_compared);
}

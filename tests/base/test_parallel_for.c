/* base/parallel_for: every element is visited once, and the split into ranges depends only on the count. */
#include "base/parallel_for.h"

#include <stdlib.h>

#include "base/mem.h"
#include "tap.h"

struct seen {
	unsigned char *times;
	uint64_t from[PARALLEL_FOR_PARTS], to[PARALLEL_FOR_PARTS];
};

static void look(void *arg, unsigned k, uint64_t from, uint64_t to)
{
	struct seen *s = arg;
	s->from[k] = from;
	s->to[k] = to;
	for (uint64_t i = from; i < to; i++)
		s->times[i]++;
}

static void count_one(void *arg, unsigned k)
{
	unsigned char *times = arg;
	times[k]++;
}

int main(void)
{
	unsigned char times[41] = { 0 };
	unsigned wrong_items = 0;
	parallel_each(40, count_one, times);
	for (unsigned k = 0; k < 40; k++)
		wrong_items += times[k] != 1;
	is_int(wrong_items + times[40], 0, "each of 40 items is done once, and no other");
	static const uint64_t counts[] = { 0, 1, 17, (1 << 18) - 1, 1 << 18, (1 << 20) + 7 };
	for (size_t c = 0; c < MEM_COUNT(counts); c++) {
		struct seen once = { .times = mem_new(counts[c] + 1, 1) }, again = { .times = mem_new(counts[c] + 1, 1) };
		uint64_t wrong = 0;
		parallel_for(counts[c], look, &once);
		parallel_for(counts[c], look, &again);
		for (uint64_t i = 0; i < counts[c]; i++)
			wrong += once.times[i] != 1;
		is_int(wrong, 0, "each of %llu elements is visited once", (unsigned long long)counts[c]);
		is_int(once.times[counts[c]], 0, "no element beyond the count is visited");
		ok(memcmp(once.from, again.from, sizeof once.from) == 0 && memcmp(once.to, again.to, sizeof once.to) == 0,
		   "a second run has the same ranges");
		free(once.times);
		free(again.times);
	}
	return tap_done();
}

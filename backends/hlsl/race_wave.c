/* race_wave: lanes of one wave, and the operations that exchange values between them. race.c calls it for every wave of a group.
 *
 * A lane runs alone until it meets such an operation. When no lane of the wave can run on, those at the same place execute the
 * operation together, with the others inactive; of several places the one goes first that comes first in the text, inside of
 * loops the one in the earliest turn. So lanes that diverged meet again behind the branch, and lanes that left a loop wait
 * behind it: the rules of maximal reconvergence. */
#include "backends/hlsl/race_lane.h"

#include <string.h>

#include "base/mem.h"

enum {
	ELECT = 333,
	ALL,
	ANY,
	ALL_EQUAL,
	BROADCAST,
	BROADCAST_FIRST,
	BALLOT,
	INVERSE_BALLOT,
	BALLOT_BIT_EXTRACT,
	BALLOT_BIT_COUNT,
	BALLOT_FIND_LSB,
	BALLOT_FIND_MSB,
	SHUFFLE,
	SHUFFLE_XOR,
	SHUFFLE_UP,
	SHUFFLE_DOWN,
	ADD_FIRST,
	LOGICAL_LAST = 364,
	QUAD_BROADCAST,
	QUAD_SWAP,
};
enum { REDUCE, INCLUSIVE, EXCLUSIVE, CLUSTERED };

/* The active lanes of a wave at one operation. */
struct wave {
	struct race_group *g;
	const uint32_t *w; /* the operation */
	uint32_t op, words, count;
	struct race_lane *lanes[RACE_WAVE_MAX]; /* active, in order */
	struct race_lane *at[RACE_WAVE_MAX];    /* by number in the wave; NULL inactive */
};

static uint32_t number(const struct wave *x, const struct race_lane *lane)
{
	return lane->index % x->g->wave;
}

static uint64_t operand(const struct wave *x, const struct race_lane *lane, uint32_t word)
{
	return *race_value(x->g, lane, x->w[word]);
}

/* --- votes and ballots -------------------------------------------------------------------------------------------- */

/* What a lane asks about a ballot that it has. */
static uint64_t ask_ballot(const struct wave *x, const struct race_lane *lane)
{
	bool counts = x->op == BALLOT_BIT_COUNT;
	const uint64_t *bits = race_value(x->g, lane, x->w[counts ? 5 : 4]);
	uint32_t me = number(x, lane), how = counts ? x->w[4] : REDUCE, wave = x->g->wave, count = 0;
	uint32_t end = how == REDUCE ? wave : how == INCLUSIVE ? me + 1 : me, low = UINT32_MAX, high = UINT32_MAX;
	if (x->op == INVERSE_BALLOT || x->op == BALLOT_BIT_EXTRACT) {
		uint64_t n = x->op == INVERSE_BALLOT ? me : operand(x, lane, 5);
		return n < wave ? bits[n / 32] >> n % 32 & 1 : 0;
	}
	for (uint32_t i = 0; i < end; i++)
		if (bits[i / 32] >> i % 32 & 1) {
			count++;
			high = i;
			low = low == UINT32_MAX ? i : low;
		}
	return counts ? count : x->op == BALLOT_FIND_LSB ? low : high;
}

/* --- exchange ----------------------------------------------------------------------------------------------------- */

/* The lane whose value this one gets. */
static uint64_t source(const struct wave *x, const struct race_lane *lane)
{
	uint32_t me = number(x, lane);
	uint64_t v = x->op == BROADCAST_FIRST ? 0 : operand(x, lane, 5);
	switch (x->op) {
	case BROADCAST_FIRST: return number(x, x->lanes[0]);
	case SHUFFLE_XOR: return me ^ v;
	case SHUFFLE_UP: return me - v;
	case SHUFFLE_DOWN: return me + v;
	case QUAD_BROADCAST: return (me & ~3u) + v;
	case QUAD_SWAP: return me ^ (v + 1);
	default: return v;
	}
}

static void exchange(const struct wave *x, struct race_lane *lane)
{
	struct race_group *g = x->g;
	const struct spirv_type *t = race_value_type(g, x->w[2]),
				*one = t->op == SPIRV_TYPE_VECTOR ? race_type_of(g, t->element) : t;
	uint64_t from = source(x, lane), *to = race_value(g, lane, x->w[2]);
	if (from < g->wave && x->at[from]) {
		memcpy(to, race_value(g, x->at[from], x->w[4]), t->slots * sizeof *to);
		return;
	}
	if (g->doubt == NULL)
		g->doubt = mem_fmt("thread %u of group %u asks lane %lld of its wave, which is not active, for a value",
				   lane->index, g->me->number - 1, (long long)from);
	for (uint32_t i = 0; i < t->slots; i++)
		to[i] = hlsl_race_undefined(g, one);
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

/* The operation on two values that a reduction repeats, and what it begins with. */
static const struct {
	uint8_t op;
	bool ext;
	uint8_t first; /* 0, 1, or 2 for all ones */
	bool is_float;
} sums[] = { { 128, false, 0, false }, { 129, false, 0, true },  { 132, false, 1, false }, { 133, false, 1, true },
	     { 39, true, 3, false },   { 38, true, 2, false },   { 37, true, 3, true },    { 42, true, 3, false },
	     { 41, true, 0, false },   { 40, true, 3, true },    { 199, false, 2, false }, { 197, false, 0, false },
	     { 198, false, 0, false }, { 167, false, 1, false }, { 166, false, 0, false }, { 165, false, 0, false } };

static int sum(const struct wave *x, struct err *e)
{
	struct race_group *g = x->g;
	const struct spirv_type *t = race_value_type(g, x->w[2]),
				*one = t->op == SPIRV_TYPE_VECTOR ? race_type_of(g, t->element) : t;
	uint32_t how = x->w[4], k = x->op - ADD_FIRST,
		 size = how == CLUSTERED && x->words > 6 ? (uint32_t)operand(x, x->lanes[0], 6) : g->wave;
	uint64_t first = sums[k].first == 2                       ? UINT64_MAX
			 : sums[k].first == 1 && sums[k].is_float ? hlsl_race_scalar(111, false, one, 1, 0)
								  : sums[k].first;
	if (how > CLUSTERED || size == 0 || (how == EXCLUSIVE && sums[k].first == 3))
		return hlsl_race_unknown(x->op, e);
	for (uint32_t s = 0; s < t->slots; s++) {
		uint64_t so_far = 0;
		for (uint32_t i = 0, begin = 0; i < x->count; i++) {
			bool fresh = i == 0 || number(x, x->lanes[i]) / size != number(x, x->lanes[begin]) / size;
			uint64_t v = race_value(g, x->lanes[i], x->w[5])[s], *to = race_value(g, x->lanes[i], x->w[2]) + s;
			begin = fresh ? i : begin;
			*to = fresh ? first : so_far;
			so_far = fresh ? v : hlsl_race_scalar(sums[k].op, sums[k].ext, one, so_far, v);
			if (how != EXCLUSIVE)
				*to = so_far;
			for (uint32_t j = begin; how != INCLUSIVE && how != EXCLUSIVE && j < i; j++)
				race_value(g, x->lanes[j], x->w[2])[s] = so_far;
		}
	}
	return 0;
}

/* --- running ------------------------------------------------------------------------------------------------------ */

static int execute(const struct wave *x, struct err *e)
{
	uint64_t bits[4] = { 0 }, voted = 0;
	if (x->op >= ADD_FIRST && x->op <= LOGICAL_LAST)
		return sum(x, e);
	if (x->op >= ALL && x->op <= ALL_EQUAL) {
		const struct spirv_type *t = race_value_type(x->g, x->w[4]);
		bool all = true, any = false, same = true;
		for (uint32_t i = 0; i < x->count; i++) {
			const uint64_t *v = race_value(x->g, x->lanes[i], x->w[4]);
			all &= *v != 0;
			any |= *v != 0;
			same &= memcmp(v, race_value(x->g, x->lanes[0], x->w[4]), t->slots * sizeof *v) == 0;
		}
		voted = x->op == ALL ? all : x->op == ANY ? any : same;
	}
	if (x->op == BALLOT) {
		for (uint32_t i = 0; i < x->count; i++) {
			uint32_t n = number(x, x->lanes[i]);
			bits[n / 32] |= (uint64_t)(operand(x, x->lanes[i], 4) != 0) << n % 32;
		}
	}
	for (uint32_t i = 0; i < x->count; i++) {
		uint64_t *to = race_value(x->g, x->lanes[i], x->w[2]);
		if (x->op == ELECT)
			*to = i == 0;
		else if (x->op <= ALL_EQUAL)
			*to = voted;
		else if (x->op == BALLOT)
			memcpy(to, bits, sizeof bits);
		else if (x->op >= INVERSE_BALLOT && x->op <= BALLOT_FIND_MSB)
			*to = ask_ballot(x, x->lanes[i]);
		else
			exchange(x, x->lanes[i]);
	}
	return 0;
}

/* Executes the operation that is due among the n lanes; *ret_any: there was one. */
static int meet(struct race_group *g, struct race_lane *lanes, uint32_t n, bool *ret_any, struct err *e)
{
	const struct race_lane *first = NULL;
	for (uint32_t i = 0; i < n; i++)
		if (lanes[i].state == RACE_AT_WAVE && (first == NULL || hlsl_race_lane_order(&lanes[i], first) < 0))
			first = &lanes[i];
	*ret_any = first != NULL;
	if (first == NULL)
		return 0;
	struct wave x = { .g = g, .w = g->m->s.words + first->at };
	x.op = x.w[0] & 0xFFFF;
	x.words = x.w[0] >> 16;
	for (uint32_t i = 0; i < n; i++)
		if (lanes[i].state == RACE_AT_WAVE && hlsl_race_lane_order(&lanes[i], first) == 0) {
			x.lanes[x.count++] = &lanes[i];
			x.at[number(&x, &lanes[i])] = &lanes[i];
		}
	int rc = execute(&x, e);
	for (uint32_t i = 0; i < x.count; i++) {
		x.lanes[i]->at += x.words;
		x.lanes[i]->state = RACE_RUNS;
	}
	g->budget -= g->budget < x.count ? g->budget : x.count;
	return rc;
}

int hlsl_race_wave_run(struct race_group *g, struct race_lane *lanes, uint32_t n, struct err *e)
{
	bool any = true, stopped = false;
	int rc = 0;
	while (rc == 0 && any && !stopped && g->finding == NULL && g->budget > g->until) {
		for (uint32_t i = 0; rc == 0 && i < n; i++)
			if (lanes[i].state == RACE_RUNS)
				rc = hlsl_race_lane_run(g, &lanes[i], e);
		for (uint32_t i = 0; i < n; i++)
			stopped |= lanes[i].state == RACE_STOPPED;
		if (rc == 0 && !stopped && g->budget > g->until)
			rc = meet(g, lanes, n, &any, e);
	}
	return rc;
}

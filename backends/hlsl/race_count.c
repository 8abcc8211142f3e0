/* race_count: what an interpreted launch does, in numbers: instructions, operations on floats, and the memory requests that a wave
 * of a GPU would make of its lanes' accesses. race_lane.c and race_memory.c call it, see race_lane.h.
 *
 * Lanes run one after the other, so that their accesses are logged first. Those of 32 lanes at one instruction, each in its same
 * turn, are one request: it takes as many sectors of a buffer as its lanes touch. It takes as many passes over shared memory as the
 * busiest of 32 banks has different words. (CUDA C++ Programming Guide, "Device Memory Accesses", "Shared Memory") */
#include "backends/hlsl/race_lane.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/order.h"

enum { REQUEST = 32 /* lanes, whatever the device's waves have */, BANKS = 32, WORD = 4, BUFFER_SHIFT = 40, LOG_MAX = 1 << 21 };

/* Operations on floats of one instruction, by its number in SPIR-V; of a vector's component. */
static uint32_t float_ops(const struct race_group *g, uint32_t op, const uint32_t *w)
{
	enum { ADD = 129, SUBTRACT = 131, MULTIPLY = 133, DIVIDE = 136, SCALE = 142, DOT = 148, EXTENDED = 12, FMA = 50 };
	switch (op) {
	case ADD:
	case SUBTRACT:
	case MULTIPLY:
	case DIVIDE:
	case SCALE: return race_value_type(g, w[2])->slots;
	case DOT: return 2 * race_value_type(g, w[3])->slots - 1;
	case EXTENDED: return race_value_type(g, w[2])->slots * (w[4] == FMA ? 2 : 1);
	default: return 0;
	}
}

void hlsl_race_count_op(struct race_group *g, uint32_t op, const uint32_t *w)
{
	struct wire_launch_count *to = g->counting->to;
	to->instructions++;
	to->flops += float_ops(g, op, w);
	to->atomics += op >= 227 && op <= 242;
}

void hlsl_race_count_access(struct race_group *g, const struct race_lane *lane, uint64_t memory, uint64_t at, uint32_t bytes,
			    bool shared, bool store)
{
	struct race_counting *c = g->counting;
	struct wire_launch_count *to = c->to;
	if (shared)
		to->shared++;
	else if (store)
		to->stores++;
	else
		to->loads++;
	to->store_bytes += store && !shared ? bytes : 0;
	to->load_bytes += store || shared ? 0 : bytes;
	if (!shared && !store) {
		struct race_memory *mem = &g->memory[memory];
		for (uint64_t s = at / RACE_SECTOR; s * RACE_SECTOR < at + bytes && s * RACE_SECTOR < mem->len; s++) {
			to->read_once += (mem->touched[s / 8] >> s % 8 & 1) ? 0 : RACE_SECTOR;
			mem->touched[s / 8] |= (uint8_t)(1 << s % 8);
		}
	}
	if (c->count == LOG_MAX)
		return;
	*MEM_PUSH(c->log, c->count) = (struct race_access){ .at = lane->now,
							    .lane = lane->index,
							    .bytes = bytes,
							    .address = shared ? at * WORD : memory << BUFFER_SHIFT | at,
							    .shared = shared,
							    .store = store };
}

/* By instruction and lane, in the order of the log. */
static int by_lane(const void *a, const void *b)
{
	const struct race_access *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return x->turn < y->turn ? -1 : x->turn > y->turn;
}

static int by_turn(const void *a, const void *b)
{
	const struct race_access *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	return x->lane < y->lane ? -1 : x->lane > y->lane;
}

/* One request: n accesses of one wave. */
static void count_request(struct wire_launch_count *to, const struct race_access *at, size_t n)
{
	uint64_t *units = NULL;
	size_t count = 0;
	uint32_t busy[BANKS] = { 0 }, most = 0;
	uint64_t unit = at->shared ? WORD : RACE_SECTOR;
	for (size_t i = 0; i < n; i++)
		for (uint64_t u = at[i].address / unit; u * unit < at[i].address + at[i].bytes; u++)
			*MEM_PUSH(units, count) = u;
	/* Sorts n units and drops repetitions. */
	size_t kept = 0;
	qsort(units, count, sizeof *units, order_numbers);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || units[i] != units[kept - 1])
			units[kept++] = units[i];
	count = kept;
	for (size_t i = 0; i < count; i++)
		most = ++busy[units[i] % BANKS] > most ? busy[units[i] % BANKS] : most;
	free(units);
	if (at->shared) {
		/* Wide accesses take several passes at best. */
		uint64_t least = (count + BANKS - 1) / BANKS;
		to->shared_requests += least;
		to->shared_passes += most > least ? most : least;
	} else if (at->store) {
		to->store_sectors += count;
	} else {
		to->load_requests++;
		to->load_sectors += count;
	}
}

void hlsl_race_count_requests(struct race_group *g)
{
	struct race_counting *c = g->counting;
	for (size_t i = 0; i < c->count; i++)
		c->log[i].turn = (uint32_t)i;
	if (c->count)
		qsort(c->log, c->count, sizeof *c->log, by_lane);
	for (size_t i = 0; i < c->count; i++) {
		bool same = i > 0 && c->log[i].at == c->log[i - 1].at && c->log[i].lane == c->log[i - 1].lane;
		c->log[i].turn = same ? c->log[i - 1].turn + 1 : 0;
	}
	if (c->count)
		qsort(c->log, c->count, sizeof *c->log, by_turn);
	for (size_t from = 0, to; from < c->count; from = to) {
		const struct race_access *first = &c->log[from];
		for (to = from + 1; to < c->count && c->log[to].at == first->at && c->log[to].turn == first->turn &&
				    c->log[to].lane / REQUEST == first->lane / REQUEST;)
			to++;
		count_request(c->to, first, to - from);
	}
	c->count = 0;
}

/* race_lane: one thread group of a kernel, interpreted, with a shadow of its shared memory. race.c makes groups and runs them. */
#ifndef PEAKD_BACKENDS_HLSL_RACE_LANE_H
#define PEAKD_BACKENDS_HLSL_RACE_LANE_H

#include "backends/hlsl/race_module.h"

enum { RACE_DEPTH = 16 };
#define RACE_SEVERAL UINT32_MAX /* more than one lane */

/* Who touched one scalar of shared memory last, and between which barriers. */
struct race_shadow { uint32_t write_epoch, writer, read_epoch, reader, atomic_epoch, updater; };

struct race_memory { uint8_t *bytes; uint64_t len; };

struct race_frame { uint32_t at, result, block, previous; };

struct race_lane {
	uint64_t *slots;
	uint32_t at;                /* next instruction */
	uint32_t block, previous;   /* labels */
	struct race_frame stack[RACE_DEPTH];
	uint32_t depth, index;
	uint32_t barrier;           /* where it waits; 0 nowhere */
	bool done;
};

struct race_group {
	const struct race_module *m;
	struct race_memory *memory; /* per id: what a buffer or the push constants hold */
	uint64_t *shared;
	struct race_shadow *shadow;
	uint32_t epoch;             /* counts barriers; begins with 1 */
	uint64_t budget;            /* instructions that may still run */
	char *finding;              /* the first race, in words */
};

/* Runs until the next barrier, the end, a finding or the budget's end. -ERR_UNSUPPORTED for what it does not know. */
int hlsl_race_lane_run(struct race_group *g, struct race_lane *lane, struct err *e);

#endif

/* occupancy: how many blocks of a kernel one multiprocessor holds at a time, what allows no more, and how a launch fills the
 * device with them. Worked out from published limits, not measured: CUDA C++ Programming Guide, "Technical Specifications per
 * Compute Capability", CUDA's cuda_occupancy.h, and LLVM's AMDGPU target; occupancy.c says what comes from where. Called for the
 * profile. */
#ifndef PEAKD_CORE_MEASURE_OCCUPANCY_H
#define PEAKD_CORE_MEASURE_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/wire/facts.h"

/* What one launch asks for. */
struct occupancy_use {
	uint32_t threads;   /* per block */
	uint32_t registers; /* per thread (AMD: vector registers, with the accumulation registers); WIRE_UNKNOWN */
	uint32_t shared;    /* bytes per block, static and dynamic */
	uint64_t grid;      /* blocks of the launch; 0 unknown */
};

struct occupancy {
	uint32_t blocks;     /* resident on one unit (multiprocessor, compute unit); 0: not even one fits */
	uint32_t warps;      /* resident on one unit (AMD: waves) */
	double share;        /* of the warps that a unit can hold, 0…1 */
	const char *limiter; /* what allows no more blocks: "threads", "blocks", "registers", "shared memory"; static */
	double waves;        /* grid / (blocks × units): how often all units are filled; NAN not known */
	double tail;         /* places for blocks that stay empty in the last of them, 0…1; NAN not known */
};

/* False when this device's limits or the registers are not known: always for HLSL, and for architectures that are not in the table.
 * Of equal limits the first in the order above is named. Not counted: named barriers, clusters, and AMD's scalar registers (more
 * than 96 of them can cost a wave or two). Nor is it counted that a driver may give the caches more of the memory that they share
 * with shared memory. waves and tail suppose that all blocks take equally long. */
bool occupancy_of(const struct facts *facts, const struct occupancy_use *use, struct occupancy *ret_occupancy);

#endif

/* occupancy: see occupancy.h. */
#include "core/measure/occupancy.h"

#include <math.h>
#include <string.h>

#include "backends/wire/wire.h"
#include "base/mem.h"

enum { QUARTERS = 4 }; /* each with its own registers (CUDA: sub-partitions, AMD: SIMDs) */

/* Limits of one unit. NVIDIA: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" (warps, blocks,
 * registers, shared memory; 7.0 in releases before 13), and cuda_occupancy.h of CUDA 13.0 (steps, quarters; the runtime keeps
 * 1 KiB for itself in every block from 8.0 on). AMD: LLVM, AMDGPUBaseInfo.cpp (getMaxWavesPerEU, getTotalNumVGPRs,
 * getVGPRAllocGranule, getEUsPerCU; getMaxWorkGroupsPerCU is never less than the waves allow), and its AMDGPU user guide
 * (GRANULATED_LDS_SIZE: 128 words). */
static const struct arch {
	const char *name;
	uint32_t warp, warps, blocks;      /* threads of a warp; resident warps and blocks */
	uint32_t registers, register_step; /* of a quarter; a warp gets whole steps */
	uint32_t shared, shared_step;      /* KiB; bytes: a block gets whole steps */
	uint32_t reserved;                 /* bytes of shared memory in every block */
} archs[] = {
	{ "sm_70", 32, 64, 32, 16384, 256, 96, 256, 0 },      { "sm_75", 32, 32, 16, 16384, 256, 64, 256, 0 },
	{ "sm_80", 32, 64, 32, 16384, 256, 164, 128, 1024 },  { "sm_86", 32, 48, 16, 16384, 256, 100, 128, 1024 },
	{ "sm_87", 32, 48, 16, 16384, 256, 164, 128, 1024 },  { "sm_89", 32, 48, 24, 16384, 256, 100, 128, 1024 },
	{ "sm_90", 32, 64, 32, 16384, 256, 228, 128, 1024 },  { "sm_100", 32, 64, 32, 16384, 256, 228, 128, 1024 },
	{ "sm_103", 32, 64, 32, 16384, 256, 228, 128, 1024 }, { "sm_110", 32, 48, 24, 16384, 256, 228, 128, 1024 },
	{ "sm_120", 32, 48, 24, 16384, 256, 100, 128, 1024 }, { "sm_121", 32, 48, 24, 16384, 256, 100, 128, 1024 },
	{ "gfx90a", 64, 32, 32, 32768, 512, 64, 512, 0 },     { "gfx942", 64, 32, 32, 32768, 512, 64, 512, 0 },
};

/* "sm_90a" and "sm_100f" are compile targets of the same chips as "sm_90" and "sm_100". */
static const struct arch *find(const char *name)
{
	for (size_t i = 0; i < MEM_COUNT(archs); i++) {
		size_t n = strlen(archs[i].name);
		const char *rest = name + n;
		if (strncmp(name, archs[i].name, n) == 0 && (!*rest || ((*rest == 'a' || *rest == 'f') && !rest[1])))
			return &archs[i];
	}
	return NULL;
}

static uint64_t round_up(uint64_t n, uint64_t step)
{
	return (n + step - 1) / step * step;
}

static void lower(uint64_t to, const char *why, struct occupancy *o)
{
	if (to < o->blocks) {
		o->blocks = (uint32_t)to;
		o->limiter = why;
	}
}

bool occupancy_of(const struct facts *facts, const struct occupancy_use *use, struct occupancy *ret_occupancy)
{
	struct occupancy o = { .limiter = "threads", .waves = NAN, .tail = NAN };
	const struct arch *a = find(facts->arch);
	uint64_t warps, registers, shared, places;

	if (!a || use->threads == 0 || use->registers == WIRE_UNKNOWN)
		return false;
	warps = round_up(use->threads, a->warp) / a->warp;
	registers = round_up((uint64_t)use->registers * a->warp, a->register_step);
	shared = round_up((uint64_t)use->shared + a->reserved, a->shared_step);
	if (!facts->max_threads || use->threads <= facts->max_threads)
		o.blocks = (uint32_t)(a->warps / warps);
	lower(a->blocks, "blocks", &o);
	if (registers)
		lower(a->registers / registers * QUARTERS / warps, "registers", &o);
	if (shared)
		lower(a->shared * UINT64_C(1024) / shared, "shared memory", &o);
	o.warps = (uint32_t)(o.blocks * warps);
	o.share = (double)o.warps / a->warps;
	places = (uint64_t)o.blocks * facts->units;
	if (places && use->grid) {
		o.waves = (double)use->grid / (double)places;
		o.tail = (double)((places - use->grid % places) % places) / (double)places;
	}
	*ret_occupancy = o;
	return true;
}

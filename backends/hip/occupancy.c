/* occupancy: see hip.h. */
#include "backends/hip/hip.h"

enum { LDS_STEP = 512, SGPRS_PLENTY = 10 };

static void lower(uint32_t to, const char *why, uint32_t *io, const char **io_why)
{
	if (to < *io) {
		*io = to;
		*io_why = why;
	}
}

struct hip_occupancy hip_occupancy(const struct gpu_kernel *k, const struct hip_arch *a, uint64_t threads, uint32_t shared)
{
	uint32_t wave = k->wave ? k->wave : a->wave, waves = a->waves, per_block = (uint32_t)((threads + wave - 1) / wave);
	uint32_t lds = k->shared + shared, by_lds;
	struct hip_occupancy o = { .max = a->waves, .limit = "the architecture" };
	per_block = per_block ? per_block : 1;
	/* With separate files .vgpr_count leaves the accumulation registers out and each file limits for itself; with a unified one
	 * it counts both (AMDGPU user guide, "Code Object V3 Kernel Metadata Map"). */
	uint32_t vgprs = !a->unified && k->agprs > k->registers ? k->agprs : k->registers, halves = k->wave > a->wave ? 2 : 1;
	uint32_t step = a->vgpr_step / halves;
	vgprs = (vgprs + step - 1) / step * step;
	lower(vgprs ? a->vgprs / halves / vgprs : a->waves, "vector registers", &waves, &o.limit);
	/* LLVM AMDGPUBaseInfo/GCNSubtarget::getOccupancyWithNumSGPRs: gfx9 and before; later ones have enough for every wave. */
	if (a->wave != 32)
		lower(k->sgprs <= 80    ? SGPRS_PLENTY
		      : k->sgprs <= 88  ? 9
		      : k->sgprs <= 100 ? 8
					: 7,
		      "scalar registers", &waves, &o.limit);
	o.blocks = waves * a->simds / per_block;
	if (o.blocks * per_block < waves * a->simds && waves == a->waves)
		o.limit = "the block's size";
	by_lds = lds ? a->lds_unit * 1024 / ((lds + LDS_STEP - 1) / LDS_STEP * LDS_STEP) : o.blocks;
	lower(by_lds, "LDS", &o.blocks, &o.limit);
	o.waves = o.blocks * per_block / a->simds;
	return o;
}

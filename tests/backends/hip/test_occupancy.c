/* Computed occupancy against values worked out by hand. */
#include "backends/hip/hip.h"

#include <string.h>

#include "tap.h"

static void occupancy(const char *arch, struct gpu_kernel k, uint32_t threads, uint32_t waves, uint32_t max, const char *limit)
{
	struct hip_occupancy o = hip_occupancy(&k, hip_facts_arch(arch), threads, 0);

	ok(o.waves == waves && o.max == max && strcmp(o.limit, limit) == 0,
	   "%s, %u VGPR, %u AGPR, %u bytes LDS, %u threads: %u of %u waves, limited by %s", arch, k.registers, k.agprs, k.shared,
	   threads, o.waves, o.max, o.limit);
}

/* By hand: waves = registers of a SIMD / (registers of a wave in steps); blocks by LDS; four SIMDs. */
static void occupancies(void)
{
	struct gpu_kernel k = { .registers = 64, .sgprs = 30, .wave = 64 };

	occupancy("gfx90a", k, 256, 8, 8, "the architecture");     /* 512/64 = 8 */
	k.registers = 65;
	occupancy("gfx90a", k, 256, 7, 8, "vector registers");    /* 512/72 = 7.1 */
	k.registers = 512, k.agprs = 256;
	occupancy("gfx90a", k, 256, 1, 8, "vector registers");
	k.registers = 100;
	occupancy("gfx908", k, 256, 1, 10, "vector registers");   /* separate files: 256/256 */
	k.agprs = 0;
	occupancy("gfx908", k, 256, 2, 10, "vector registers");   /* 256/100 */
	k.registers = 24, k.sgprs = 102;
	occupancy("gfx906", k, 256, 7, 10, "scalar registers");
	k.sgprs = 30, k.shared = 32768;
	occupancy("gfx90a", k, 256, 2, 8, "LDS");      /* 2 blocks of 4 waves on 4 SIMDs */
	k.shared = 0;
	occupancy("gfx90a", k, 1024, 8, 8, "the architecture");
	occupancy("gfx90a", k, 320, 7, 8, "the block's size");    /* blocks of 5 waves: 6 of them in 32 places */
	k.registers = 96, k.wave = 32;
	occupancy("gfx1030", k, 256, 10, 16, "vector registers"); /* 1024/96 */
	occupancy("gfx1100", k, 256, 16, 16, "the architecture");  /* 1536/96 */
	k.wave = 64;
	occupancy("gfx1030", k, 256, 5, 16, "vector registers");  /* wave64 on 32 lanes: half of the file */
}

int main(void)
{
	occupancies();
	return tap_done();
}

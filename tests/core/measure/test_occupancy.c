/* Occupancy against values worked out by hand. */
#include "core/measure/occupancy.h"

#include <math.h>
#include <string.h>

#include "backends/wire/wire.h"
#include "tap.h"

static struct facts of(const char *arch, uint32_t units)
{
	struct facts f = { .units = units, .max_threads = 1024 };
	snprintf(f.arch, sizeof f.arch, "%s", arch);
	return f;
}

static void fits(const char *arch, uint32_t threads, uint32_t registers, uint32_t shared, uint32_t blocks, double share,
                 const char *limiter)
{
	struct facts f = of(arch, 0);
	struct occupancy_use use = { .threads = threads, .registers = registers, .shared = shared };
	struct occupancy o = { .limiter = "" };
	bool known = occupancy_of(&f, &use, &o);

	ok(known && o.blocks == blocks && fabs(o.share - share) < 1e-9 && strcmp(o.limiter, limiter) == 0,
	   "%s, %u threads, %u registers, %u bytes: %u blocks, %.3f of the warps, limited by %s", arch, threads, registers, shared,
	   o.blocks, o.share, o.limiter);
}

static void nvidia(void)
{
	fits("sm_90a", 128, 32, 0, 16, 1, "threads");                      /* 64 warps / 4; registers allow as many */
	fits("sm_90a", 256, 255, 0, 1, 8.0 / 64, "registers");             /* 8160 → 8192 a warp, 2 a quarter, 8 in all */
	fits("sm_90a", 512, 255, 0, 0, 0, "registers");                    /* 16 warps of them fit nowhere */
	fits("sm_90", 96, 40, 0, 16, 48.0 / 64, "registers");              /* 12.8 warps a quarter: 48, not 51 */
	fits("sm_90", 96, 33, 0, 16, 48.0 / 64, "registers");              /* 1056 → 1280 a warp */
	fits("sm_90", 32, 16, 0, 32, 0.5, "blocks");
	fits("sm_90", 1, 0, 0, 32, 0.5, "blocks");                         /* a warp is allocated whole */
	fits("sm_90a", 128, 32, 200 * 1024, 1, 4.0 / 64, "shared memory"); /* 201 of 228 KiB */
	fits("sm_90a", 128, 32, 113 * 1024, 2, 8.0 / 64, "shared memory"); /* 2 · (113 + 1) = 228 */
	fits("sm_90a", 128, 32, 113 * 1024 + 1, 1, 4.0 / 64, "shared memory");
	fits("sm_90a", 128, 32, 227 * 1024, 1, 4.0 / 64, "shared memory");
	fits("sm_90a", 128, 32, 228 * 1024, 0, 0, "shared memory");
	fits("sm_86", 32, 16, 6852, 12, 12.0 / 48, "shared memory");       /* 7876 → 7936: 12.9, not 13 */
	fits("sm_75", 32, 16, 6500, 9, 9.0 / 32, "shared memory");         /* 6500 → 6656: 9.8, not 10.04; none reserved */
	fits("sm_70", 256, 32, 48 * 1024, 2, 16.0 / 64, "shared memory");
	fits("sm_80", 1024, 64, 0, 1, 0.5, "registers");
	fits("sm_87", 512, 32, 81 * 1024, 2, 32.0 / 48, "shared memory");  /* 2 · 82 = 164 */
	fits("sm_89", 1024, 32, 0, 1, 32.0 / 48, "threads");
	fits("sm_89", 64, 32, 0, 24, 1, "threads");
	fits("sm_86", 64, 32, 0, 16, 32.0 / 48, "blocks");
	fits("sm_100a", 64, 32, 0, 32, 1, "threads");
	fits("sm_103f", 1024, 32, 0, 2, 1, "threads");
	fits("sm_120", 32, 32, 0, 24, 0.5, "blocks");
	fits("sm_90", 1025, 16, 0, 0, 0, "threads");
}

static void amd(void)
{
	fits("gfx90a", 256, 64, 0, 8, 1, "threads");                 /* 512/64 = 8 waves on each of 4 SIMDs */
	fits("gfx90a", 256, 65, 0, 7, 28.0 / 32, "registers");       /* 512/72 = 7.1 */
	fits("gfx942", 256, 512, 0, 1, 4.0 / 32, "registers");
	fits("gfx942", 64, 32, 0, 32, 1, "threads");
	fits("gfx942", 256, 64, 32 * 1024, 2, 8.0 / 32, "shared memory");
	fits("gfx90a", 256, 64, 21505, 2, 8.0 / 32, "shared memory"); /* 21505 → 22016: 2.98, not 3.05 */
}

static void unknown(void)
{
	static const char *const names[] = { "spirv1.3", "sm_61", "sm_9", "sm_900", "sm_90ab", "gfx908", "gfx1100", "" };
	struct occupancy_use use = { .threads = 128, .registers = 32 };
	struct occupancy o = { .blocks = 77 };
	struct facts f;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		f = of(names[i], 1);
		ok(!occupancy_of(&f, &use, &o), "nothing is known of \"%s\"", names[i]);
	}
	f = of("sm_90a", 132);
	use.registers = WIRE_UNKNOWN;
	ok(!occupancy_of(&f, &use, &o) && o.blocks == 77, "nor without the number of registers, and nothing is written");
}

static void fills(uint32_t units, uint32_t shared, uint64_t grid, double waves, double tail)
{
	struct facts f = of("sm_90a", units);
	struct occupancy_use use = { .threads = 128, .registers = 32, .shared = shared, .grid = grid };
	struct occupancy o = { .blocks = 0 };
	bool known = occupancy_of(&f, &use, &o);

	ok(known && fabs(o.waves - waves) < 1e-9 && fabs(o.tail - tail) < 1e-9,
	   "%llu blocks on %u units of %u: %.4f waves, %.4f of the last is empty", (unsigned long long)grid, units, o.blocks,
	   o.waves, o.tail);
}

static void grids(void)
{
	enum { ONE = 200 * 1024, NONE = 228 * 1024 };
	struct facts f = of("sm_90a", 0);
	struct occupancy_use use = { .threads = 128, .registers = 32, .grid = 100 };
	struct occupancy o;

	fills(132, ONE, 132, 1, 0);
	fills(132, ONE, 133, 133.0 / 132, 131.0 / 132);
	fills(132, ONE, 66, 0.5, 0.5);
	fills(132, 0, 132 * 16 * 3, 3, 0);
	fills(132, 0, UINT64_C(1) << 40, (double)(UINT64_C(1) << 40) / 2112, (2112 - (UINT64_C(1) << 40) % 2112) / 2112.0);
	ok(occupancy_of(&f, &use, &o) && isnan(o.waves) && isnan(o.tail), "no waves without the number of units");
	f.units = 132;
	use.shared = NONE;
	ok(occupancy_of(&f, &use, &o) && isnan(o.waves) && isnan(o.tail), "nor where not even one block fits");
	use.grid = use.shared = 0;
	ok(occupancy_of(&f, &use, &o) && isnan(o.waves) && isnan(o.tail) && o.blocks == 16, "nor without a grid");
}

int main(void)
{
	nvidia();
	amd();
	unknown();
	grids();
	return tap_done();
}

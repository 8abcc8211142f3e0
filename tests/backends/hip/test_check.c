/* Launches against limits, and computed occupancy against values worked out by hand. */
#include "backends/hip/backend.h"
#define PLANS_BACKEND backend_hip
#include "backends/plans.h"
#include "backends/gpu/check.h"
#include "backends/hip/occupancy.h"
#include "tap.h"

static struct gpu_param params[] = { { 0, 8 }, { 8, 4 } };
static struct gpu_kernel kernel(void)
{
	return (struct gpu_kernel){ .registers = 64, .sgprs = 30, .shared = 1000, .bound = 256, .wave = 64, .params = params, .param_count = 2,
	                            .params_known = true };
}

static struct plan *new_plan(void)
{
	struct plan *p = plan_new();
	struct plan_launch *l;
	add_buffer(p, "C", PLAN_OUT, 3, 5);
	l = add_launch(p, "kern", 4, 3, 64, 2);
	add_buffer_arg(l, "C", 0);
	add_int_arg(l, "n", DTYPE_I32, 7);
	return p;
}

static void refused(const char *what, struct plan *take_plan, const struct gpu_kernel *k, enum err_code code, const char *part)
{
	struct facts f;
	struct err e = ERR_INIT;

	backend_hip.describe("gfx90a", &f, &e);
	is_int(gpu_check_launch(&take_plan->ops[0].launch, k, &f, &e), -(int)code, "%s: %s", what, err_code_name(code));
	if (code)
		has_str(e.text, part, "%s: is said", what);
	plan_free(take_plan);
}

static void launches(void)
{
	struct gpu_kernel k = kernel();
	struct plan *p;

	refused("a good launch", new_plan(), &k, ERR_NONE, "");
	p = new_plan();
	p->ops[0].launch.block[1] = 8;
	refused("launch bounds", p, &k, ERR_PRUNED, "512 threads per block asked, its __launch_bounds__ allow 256");
	p = new_plan();
	p->ops[0].launch.block[0] = 1024;
	refused("the device's threads", p, &k, ERR_PRUNED, "2048 threads per block asked, the device allows 1024");
	p = new_plan();
	p->ops[0].launch.grid[0] = UINT32_C(1) << 30;
	refused("the grid's threads", p, &k, ERR_PRUNED, "grid dimension x has 68719476736 threads");
	p = new_plan();
	p->ops[0].launch.shared = 65000;
	refused("LDS", p, &k, ERR_PRUNED, "66000 bytes of shared memory (LDS) per block asked (1000 static, 65000 dynamic), the device allows 65536");
	p = new_plan();
	p->ops[0].launch.cluster[0] = 2;
	refused("clusters", p, &k, ERR_UNSUPPORTED, "no clusters");
	p = new_plan();
	p->ops[0].launch.args[1].type = DTYPE_I64;
	refused("an argument's size", p, &k, ERR_INPUT, "argument 2 (n) is i64 of 8 bytes, but the kernel's parameter 2 has 4");
	p = new_plan();
	p->ops[0].launch.args[1].kind = PLAN_ARG_MAP;
	refused("a tensor map", p, &k, ERR_UNSUPPORTED, "tensor map");
	p = new_plan();
	add_int_arg(&p->ops[0].launch, "m", DTYPE_I32, 7);
	refused("the number of arguments", p, &k, ERR_INPUT, "takes 2 parameters");
	k.block[0] = k.block[1] = k.block[2] = 8;
	refused("a fixed block", new_plan(), &k, ERR_INPUT, "blocks of {8, 8, 8}");
}

static void occupancy(const char *arch, struct gpu_kernel k, uint32_t threads, uint32_t waves, uint32_t max, const char *limit)
{
	struct hip_occupancy o = hip_occupancy(&k, hip_facts_arch(arch), threads, 0);

	ok(o.waves == waves && o.max == max && strcmp(o.limit, limit) == 0, "%s, %u VGPR, %u AGPR, %u bytes LDS, %u threads: %u of %u waves, limited by %s",
	   arch, k.registers, k.agprs, k.shared, threads, o.waves, o.max, o.limit);
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
	launches();
	occupancies();
	return tap_done();
}

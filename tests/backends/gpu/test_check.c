/* Checks of a launch: threads by registers as in NVIDIA's occupancy calculator, and every refusal with what was
 * asked and allowed. */
#include "backends/cuda/cuda.h"
#define PLANS_BACKEND backend_cuda
#include "backends/plans.h"

#include "backends/gpu/gpu.h"
#include "backends/hip/hip.h"
#include "tap.h"

static struct gpu_kernel kernel(uint32_t registers)
{
	return (struct gpu_kernel){ .name = (char *)"k", .registers = registers, .params_known = true };
}

static void threads(const struct facts *f)
{
	/* registers per thread, threads per block */
	static const uint32_t known[][2] = { { 16, 1024 }, { 32, 1024 }, { 64, 1024 },         { 65, 896 },
					     { 72, 896 },  { 96, 640 },  { 128, 512 },         { 168, 384 },
					     { 200, 256 }, { 255, 256 }, { UINT32_MAX, 1024 }, { 0, 1024 } };
	struct gpu_kernel k;

	for (size_t i = 0; i < MEM_COUNT(known); i++) {
		k = kernel(known[i][0]);
		is_int(gpu_check_max_threads(&k, f), known[i][1], "threads per block with %u registers", known[i][0]);
	}
	k = kernel(96);
	k.bound = 128;
	is_int(gpu_check_max_threads(&k, f), 128, "launch bounds below the registers' limit");
	k.bound = 1024;
	is_int(gpu_check_max_threads(&k, f), 640, "launch bounds above the registers' limit");
}

static void check(const char *what, const struct plan_launch *l, const struct gpu_kernel *k, const struct facts *f,
		  enum err_code want, const char *part)
{
	struct err e = ERR_INIT;

	is_int(gpu_check_launch(l, k, f, &e), -(int)want, "%s: %s", what, err_code_name(want));
	has_str(e.text, part, "%s: the message says what", what);
}

static void geometry(const struct facts *f)
{
	struct plan *p = plan_new();
	struct plan_launch *l = add_launch(p, "k", 16, 1, 128, 1);
	struct gpu_kernel k = kernel(32);

	check("a good launch", l, &k, f, ERR_NONE, "");
	l->block[2] = 65;
	check("a large block dimension", l, &k, f, ERR_PRUNED, "block dimension z is 65, but the device allows 64");
	l->block[2] = 1;
	l->grid[2] = 70000;
	check("a large grid dimension", l, &k, f, ERR_PRUNED, "grid dimension z is 70000, but the device allows 65535");
	l->grid[2] = 1;
	l->block[0] = 1024;
	l->block[1] = 1024;
	l->block[2] = 64;
	check("too many threads", l, &k, f, ERR_PRUNED, "asks for 67108864 threads per block, but the device allows 1024");
	l->block[1] = l->block[2] = 1;
	k = kernel(168);
	check("too many registers", l, &k, f, ERR_PRUNED,
	      "at 168 registers per thread the device's 65536 registers per block allow 384 threads");
	k = kernel(32);
	k.block[0] = 256;
	k.block[1] = k.block[2] = 1;
	check("a block other than the fixed one", l, &k, f, ERR_INPUT, "compiled for blocks of {256, 1, 1}");
	k = kernel(32);
	k.cluster[0] = 4;
	k.cluster[1] = k.cluster[2] = 1;
	check("a fixed cluster", l, &k, f, ERR_NONE, "");
	l->cluster[0] = 2;
	check("a cluster other than the fixed one", l, &k, f, ERR_INPUT, "compiled for clusters of {4, 1, 1}");
	k.cluster[0] = 32;
	l->cluster[0] = 1;
	check("a large fixed cluster", l, &k, f, ERR_PRUNED, "a cluster of 32 blocks was asked for, and the device allows 16");
	k = kernel(32);
	k.shared = 40000;
	l->shared = 192449;
	check("too much shared memory", l, &k, f, ERR_PRUNED,
	      "asks for 232449 bytes of shared memory per block (40000 static, 192449 dynamic), but the device allows 232448");
	l->shared--;
	check("all of the shared memory", l, &k, f, ERR_NONE, "");
	plan_free(p);
}

static void arguments(const struct facts *f)
{
	struct gpu_param params[] = { { 0, 8 }, { 8, 2 } };
	struct plan *p = small_plan("k", 1, 32);
	struct plan_launch *l = &p->ops[0].launch;
	struct gpu_kernel k = kernel(32);

	k.params = params;
	k.param_count = 2;
	check("too few arguments", l, &k, f, ERR_INPUT, "takes 2 parameters, but the host code's launch gives 1");
	add_int_arg(l, "", DTYPE_I16, 1);
	check("arguments that fit", l, &k, f, ERR_NONE, "");
	params[0].bytes = 4;
	check("a buffer for an int", l, &k, f, ERR_INPUT,
	      "argument 1 (C) is a buffer of 8 bytes, but the kernel's parameter 1 has 4");
	params[0].bytes = 128;
	check("a buffer for a map", l, &k, f, ERR_INPUT, "has 128 bytes");
	k.params_known = false;
	check("arguments of a kernel with unknown parameters", l, &k, f, ERR_NONE, "");
	plan_free(p);
}

static struct gpu_param amd_params[] = { { 0, 8 }, { 8, 4 } };
static struct gpu_kernel amd_kernel(void)
{
	return (struct gpu_kernel){ .registers = 64,
				    .sgprs = 30,
				    .shared = 1000,
				    .bound = 256,
				    .wave = 64,
				    .params = amd_params,
				    .param_count = 2,
				    .params_known = true };
}

static struct plan *amd_plan(void)
{
	struct plan *p = plan_new();
	struct plan_launch *l;
	add_buffer(p, "C", PLAN_OUT, 3, 5);
	l = add_launch(p, "kern", 4, 3, 64, 2);
	add_buffer_arg(l, "C", 0);
	add_int_arg(l, "n", DTYPE_I32, 7);
	return p;
}

static void amd_check(const char *what, struct plan *take_plan, const struct gpu_kernel *k, enum err_code code, const char *part)
{
	struct facts f;
	struct err e = ERR_INIT;

	backend_hip.describe("gfx90a", &f, &e);
	is_int(gpu_check_launch(&take_plan->ops[0].launch, k, &f, &e), -(int)code, "AMD, %s: %s", what, err_code_name(code));
	if (code)
		has_str(e.text, part, "AMD, %s: the message says what", what);
	plan_free(take_plan);
}

static void amd(void)
{
	struct gpu_kernel k = amd_kernel();
	struct plan *p;

	amd_check("a good launch", amd_plan(), &k, ERR_NONE, "");
	p = amd_plan();
	p->ops[0].launch.block[1] = 8;
	amd_check("more threads than the launch bounds", p, &k, ERR_PRUNED,
		  "asks for 512 threads per block, but its __launch_bounds__ allow 256");
	p = amd_plan();
	p->ops[0].launch.block[0] = 1024;
	amd_check("more threads than the device allows", p, &k, ERR_PRUNED,
		  "asks for 2048 threads per block, but the device allows 1024");
	p = amd_plan();
	p->ops[0].launch.grid[0] = UINT32_C(1) << 30;
	amd_check("more threads in the grid than 32 bits count", p, &k, ERR_PRUNED, "grid dimension x has 68719476736 threads");
	p = amd_plan();
	p->ops[0].launch.shared = 65000;
	amd_check("too much LDS", p, &k, ERR_PRUNED,
		  "asks for 66000 bytes of shared memory (LDS) per block (1000 static, 65000 dynamic), but the device "
		  "allows 65536");
	p = amd_plan();
	p->ops[0].launch.cluster[0] = 2;
	amd_check("clusters", p, &k, ERR_UNSUPPORTED, "no clusters");
	p = amd_plan();
	p->ops[0].launch.args[1].type = DTYPE_I64;
	amd_check("an argument of the wrong size", p, &k, ERR_INPUT,
		  "argument 2 (n) is i64 of 8 bytes, but the kernel's parameter 2 has 4");
	p = amd_plan();
	p->ops[0].launch.args[1].kind = PLAN_ARG_MAP;
	amd_check("a tensor map", p, &k, ERR_UNSUPPORTED, "tensor map");
	p = amd_plan();
	add_int_arg(&p->ops[0].launch, "m", DTYPE_I32, 7);
	amd_check("too many arguments", p, &k, ERR_INPUT, "takes 2 parameters");
	k.block[0] = k.block[1] = k.block[2] = 8;
	amd_check("a block other than the fixed one", amd_plan(), &k, ERR_INPUT, "blocks of {8, 8, 8}");
}

int main(void)
{
	struct facts f;

	backend_cuda.describe("sm_90a", &f, NULL);
	threads(&f);
	geometry(&f);
	arguments(&f);
	amd();
	return tap_done();
}

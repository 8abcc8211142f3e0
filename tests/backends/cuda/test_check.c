/* Limits of a launch: threads by registers as NVIDIA's occupancy calculator has them, and each refusal with asked and allowed. */
#include "backends/cuda/backend.h"
#define PLANS_BACKEND backend_cuda
#include "backends/plans.h"

#include "backends/gpu/check.h"
#include "tap.h"

static struct gpu_kernel kernel(uint32_t registers)
{
	return (struct gpu_kernel){ .name = (char *)"k", .registers = registers, .params_known = true };
}

static void threads(const struct facts *f)
{
	/* registers per thread, threads per block */
	static const uint32_t known[][2] = { { 16, 1024 }, { 32, 1024 }, { 64, 1024 }, { 65, 896 }, { 72, 896 }, { 96, 640 }, { 128, 512 },
	                                     { 168, 384 }, { 200, 256 }, { 255, 256 }, { UINT32_MAX, 1024 }, { 0, 1024 } };
	struct gpu_kernel k;

	for (size_t i = 0; i < MEM_COUNT(known); i++) {
		k = kernel(known[i][0]);
		is_int(gpu_check_max_threads(&k, f), known[i][1], "%u registers", known[i][0]);
	}
	k = kernel(96);
	k.bound = 128;
	is_int(gpu_check_max_threads(&k, f), 128, "launch bounds below that");
	k.bound = 1024;
	is_int(gpu_check_max_threads(&k, f), 640, "launch bounds above that");
}

static void check(const char *what, const struct plan_launch *l, const struct gpu_kernel *k, const struct facts *f, enum err_code want,
                  const char *part)
{
	struct err e = ERR_INIT;

	is_int(gpu_check_launch(l, k, f, &e), -(int)want, "%s: %s", what, err_code_name(want));
	has_str(e.text, part, "%s: is said", what);
}

static void geometry(const struct facts *f)
{
	struct plan *p = plan_new();
	struct plan_launch *l = add_launch(p, "k", 16, 1, 128, 1);
	struct gpu_kernel k = kernel(32);

	check("plain", l, &k, f, ERR_NONE, "");
	l->block[2] = 65;
	check("block z", l, &k, f, ERR_PRUNED, "block dimension z is 65, the device allows 64");
	l->block[2] = 1;
	l->grid[2] = 70000;
	check("grid z", l, &k, f, ERR_PRUNED, "grid dimension z is 70000, the device allows 65535");
	l->grid[2] = 1;
	l->block[0] = 1024;
	l->block[1] = 1024;
	l->block[2] = 64;
	check("threads", l, &k, f, ERR_PRUNED, "67108864 threads per block asked, the device allows 1024");
	l->block[1] = l->block[2] = 1;
	k = kernel(168);
	check("registers", l, &k, f, ERR_PRUNED, "at 168 registers per thread the device's 65536 registers per block allow 384 threads");
	k = kernel(32);
	k.block[0] = 256;
	k.block[1] = k.block[2] = 1;
	check("fixed block", l, &k, f, ERR_INPUT, "compiled for blocks of {256, 1, 1}");
	k = kernel(32);
	k.cluster[0] = 4;
	k.cluster[1] = k.cluster[2] = 1;
	check("fixed cluster", l, &k, f, ERR_NONE, "");
	l->cluster[0] = 2;
	check("other cluster", l, &k, f, ERR_INPUT, "compiled for clusters of {4, 1, 1}");
	k.cluster[0] = 32;
	l->cluster[0] = 1;
	check("large cluster", l, &k, f, ERR_PRUNED, "clusters of 32 blocks asked, the device allows 16");
	k = kernel(32);
	k.shared = 40000;
	l->shared = 192449;
	check("shared memory", l, &k, f, ERR_PRUNED, "232449 bytes of shared memory per block asked (40000 static, 192449 dynamic), the device "
	      "allows 232448");
	l->shared--;
	check("one byte less", l, &k, f, ERR_NONE, "");
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
	check("too few", l, &k, f, ERR_INPUT, "takes 2 parameters, but the host code's launch gives 1");
	add_int_arg(l, "", DTYPE_I16, 1);
	check("equal", l, &k, f, ERR_NONE, "");
	params[0].bytes = 4;
	check("a buffer for an int", l, &k, f, ERR_INPUT, "argument 1 (C) is a buffer of 8 bytes, but the kernel's parameter 1 has 4");
	params[0].bytes = 128;
	check("a buffer for a map", l, &k, f, ERR_INPUT, "has 128 bytes");
	k.params_known = false;
	check("unknown", l, &k, f, ERR_NONE, "");
	plan_free(p);
}

int main(void)
{
	struct facts f;

	backend_cuda.describe("sm_90a", &f, NULL);
	threads(&f);
	geometry(&f);
	arguments(&f);
	return tap_done();
}

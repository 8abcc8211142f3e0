/* check: see check.h. */
#include "backends/hip/check.h"

enum { POINTER_BYTES = 8, LDS_STEP = 512, SGPRS_PLENTY = 10 };

static uint64_t volume(const uint32_t v[3])
{
	return (uint64_t)v[0] * v[1] * v[2];
}

/* The compiler has fitted registers to its bound, so nothing but the bound limits the block. */
uint32_t hip_check_max_threads(const struct hip_kernel *k, const struct facts *limits)
{
	return k->bound && k->bound < limits->max_threads ? k->bound : limits->max_threads;
}

static size_t arg_bytes(const struct plan_arg *a)
{
	switch (a->kind) {
	case PLAN_ARG_BUFFER: return POINTER_BYTES;
	case PLAN_ARG_SCALAR: return dtype_size(a->type);
	case PLAN_ARG_MAP: break;
	}
	return 0;
}

static int check_args(const struct plan_launch *l, const struct hip_kernel *k, struct err *e)
{
	if (l->arg_count != k->param_count)
		return err_set(e, ERR_INPUT, "kernel \"%s\" takes %zu parameters, but the host code's launch gives %zu arguments: make the two "
		               "lists equal, in the same order", l->kernel, k->param_count, l->arg_count);
	for (size_t i = 0; i < l->arg_count; i++) {
		const struct plan_arg *a = &l->args[i];
		if (a->kind == PLAN_ARG_MAP)
			return err_set(e, ERR_UNSUPPORTED, "kernel \"%s\", argument %zu is a tensor map: AMD devices have none; pass the buffer", l->kernel,
			               i + 1);
		if (arg_bytes(a) != k->params[i].bytes)
			return err_set(e, ERR_INPUT, "kernel \"%s\", argument %zu%s%s%s is %s of %zu bytes, but the kernel's parameter %zu has %u bytes: "
			               "give a value of the parameter's type, as i32(x), i64(x), f32(x), f64(x)", l->kernel, i + 1,
			               a->name && *a->name ? " (" : "", a->name ? a->name : "", a->name && *a->name ? ")" : "",
			               a->kind == PLAN_ARG_BUFFER ? "a buffer" : dtype_name(a->type), arg_bytes(a), i + 1, k->params[i].bytes);
	}
	return 0;
}

static int check_block(const struct plan_launch *l, const struct hip_kernel *k, const struct facts *limits, struct err *e)
{
	uint64_t threads = volume(l->block);

	for (int i = 0; i < 3; i++) {
		if (l->block[i] > limits->max_block[i])
			return err_set(e, ERR_PRUNED, "kernel \"%s\": block dimension %c is %u, the device allows %u", l->kernel, "xyz"[i],
			               l->block[i], limits->max_block[i]);
		if (l->grid[i] > limits->max_grid[i])
			return err_set(e, ERR_PRUNED, "kernel \"%s\": grid dimension %c is %u, the device allows %u", l->kernel, "xyz"[i],
			               l->grid[i], limits->max_grid[i]);
		/* The dispatch packet counts work-items in 32 bits (HSA Runtime Specification, kernel dispatch packet). */
		if ((uint64_t)l->grid[i] * l->block[i] > UINT32_MAX)
			return err_set(e, ERR_PRUNED, "kernel \"%s\": grid dimension %c has %llu threads, the device allows %u", l->kernel, "xyz"[i],
			               (unsigned long long)l->grid[i] * l->block[i], UINT32_MAX);
		if (k->block[0] && l->block[i] != k->block[i])
			return err_set(e, ERR_INPUT, "kernel \"%s\" is compiled for blocks of {%u, %u, %u}, but the host code launches blocks of "
			               "{%u, %u, %u}", l->kernel, k->block[0], k->block[1], k->block[2], l->block[0], l->block[1], l->block[2]);
	}
	if (threads > limits->max_threads)
		return err_set(e, ERR_PRUNED, "kernel \"%s\": %llu threads per block asked, the device allows %u", l->kernel,
		               (unsigned long long)threads, limits->max_threads);
	if (k->bound && threads > k->bound)
		return err_set(e, ERR_PRUNED, "kernel \"%s\": %llu threads per block asked, its __launch_bounds__ allow %u", l->kernel,
		               (unsigned long long)threads, k->bound);
	return 0;
}

static int check_shared(const struct plan_launch *l, const struct hip_kernel *k, const struct facts *limits, struct err *e)
{
	if ((uint64_t)k->shared + l->shared > limits->shared_optin)
		return err_set(e, ERR_PRUNED, "kernel \"%s\": %llu bytes of shared memory (LDS) per block asked (%u static, %u dynamic), the device "
		               "allows %u", l->kernel, (unsigned long long)k->shared + l->shared, k->shared, l->shared, limits->shared_optin);
	return 0;
}

int hip_check_launch(const struct plan_launch *launch, const struct hip_kernel *k, const struct facts *limits, struct err *e)
{
	int rc = check_args(launch, k, e);
	if (!rc)
		rc = check_block(launch, k, limits, e);
	if (!rc)
		rc = check_shared(launch, k, limits, e);
	if (!rc && volume(launch->cluster) > 1)
		rc = err_set(e, ERR_UNSUPPORTED, "kernel \"%s\": AMD devices have no clusters of blocks; launch without cluster=", launch->kernel);
	return rc;
}

/* --- occupancy -------------------------------------------------------------------------------------------------------- */
/* LLVM AMDGPUBaseInfo/GCNSubtarget::getOccupancyWithNumSGPRs: gfx9 and before; later ones have enough for every wave. */
static uint32_t waves_by_sgprs(const struct hip_arch *a, uint32_t sgprs)
{
	if (a->wave == 32)
		return a->waves;
	return sgprs <= 80 ? SGPRS_PLENTY : sgprs <= 88 ? 9 : sgprs <= 100 ? 8 : 7;
}

/* With separate files .vgpr_count leaves the accumulation registers out and each file limits for itself; with a unified one it
 * counts both (AMDGPU user guide, "Code Object V3 Kernel Metadata Map"). */
static uint32_t waves_by_vgprs(const struct hip_arch *a, const struct hip_kernel *k)
{
	uint32_t n = !a->unified && k->agprs > k->vgprs ? k->agprs : k->vgprs;
	uint32_t file = k->wave > a->wave ? a->vgprs / 2 : a->vgprs, step = k->wave > a->wave ? a->vgpr_step / 2 : a->vgpr_step;
	n = (n + step - 1) / step * step;
	return n ? file / n : a->waves;
}

static void lower(uint32_t to, enum hip_limit why, uint32_t *io, enum hip_limit *io_why)
{
	if (to < *io) {
		*io = to;
		*io_why = why;
	}
}

struct hip_occupancy hip_check_occupancy(const struct hip_kernel *k, const struct hip_arch *a, uint64_t threads, uint32_t shared)
{
	uint32_t wave = k->wave ? k->wave : a->wave, waves = a->waves, per_block, by_lds, lds = k->shared + shared;
	struct hip_occupancy o = { .max = a->waves, .limit = HIP_LIMIT_NONE };

	per_block = (uint32_t)((threads + wave - 1) / wave);
	per_block = per_block ? per_block : 1;
	lower(waves_by_vgprs(a, k), HIP_LIMIT_VGPRS, &waves, &o.limit);
	lower(waves_by_sgprs(a, k->sgprs), HIP_LIMIT_SGPRS, &waves, &o.limit);
	o.blocks = waves * a->simds / per_block;
	if (o.blocks * per_block < waves * a->simds && o.limit == HIP_LIMIT_NONE)
		o.limit = HIP_LIMIT_BLOCK;
	by_lds = lds ? a->lds_unit * 1024 / ((lds + LDS_STEP - 1) / LDS_STEP * LDS_STEP) : o.blocks;
	lower(by_lds, HIP_LIMIT_LDS, &o.blocks, &o.limit);
	o.waves = o.blocks * per_block / a->simds;
	return o;
}

const char *hip_check_limit_name(enum hip_limit limit)
{
	switch (limit) {
	case HIP_LIMIT_NONE: return "the architecture";
	case HIP_LIMIT_VGPRS: return "vector registers";
	case HIP_LIMIT_SGPRS: return "scalar registers";
	case HIP_LIMIT_LDS: return "LDS";
	case HIP_LIMIT_BLOCK: return "the block's size";
	}
	return "";
}

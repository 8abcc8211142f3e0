/* check: see gpu.h. */
#include "backends/gpu/gpu.h"

#include <string.h>

enum { POINTER_BYTES = 8, MAP_BYTES = 128 };

static bool is_amd(const struct facts *limits)
{
	return strcmp(limits->backend, "hip") == 0;
}

uint64_t gpu_check_volume(const uint32_t v[3])
{
	return (uint64_t)v[0] * v[1] * v[2];
}

/* NVIDIA gives out registers per warp in units of 256, from four separate files (CUDA Occupancy Calculator, compute
 * capability 3.0 and later). AMD's compiler has fitted the registers to the launch bounds already. */
uint32_t gpu_check_max_threads(const struct gpu_kernel *k, const struct facts *limits)
{
	uint32_t threads = limits->max_threads;

	if (!is_amd(limits) && k->registers && k->registers != UINT32_MAX && limits->registers) {
		uint32_t per_warp = (k->registers + 7) / 8 * 8 * 32;
		uint32_t by_registers = limits->registers / 4 / per_warp * 4 * 32;
		threads = by_registers < threads ? by_registers : threads;
	}
	return k->bound && k->bound < threads ? k->bound : threads;
}

static int check_args(const struct plan_launch *l, const struct gpu_kernel *k, const struct facts *limits, struct err *e)
{
	if (k->params_known && l->arg_count != k->param_count)
		return err_set(e, ERR_INPUT,
			       "kernel \"%s\" takes %zu parameters, but the host code's launch gives %zu arguments: make the two "
			       "lists equal, in the same order",
			       l->kernel, k->param_count, l->arg_count);
	for (size_t i = 0; i < l->arg_count; i++) {
		const struct plan_arg *a = &l->args[i];
		const char *kind = "a buffer", *name = a->name ? a->name : "";
		size_t bytes = POINTER_BYTES;

		switch (a->kind) {
		case PLAN_ARG_BUFFER: break;
		case PLAN_ARG_SCALAR:
			kind = dtype_name(a->type);
			bytes = dtype_size(a->type);
			break;
		case PLAN_ARG_MAP:
			if (is_amd(limits))
				return err_set(
					e, ERR_UNSUPPORTED,
					"kernel \"%s\", argument %zu is a tensor map: AMD devices have none; pass the buffer",
					l->kernel, i + 1);
			kind = "a tensor map";
			bytes = MAP_BYTES;
			break;
		}
		if (k->params_known && bytes != k->params[i].bytes)
			return err_set(e, ERR_INPUT,
				       "kernel \"%s\", argument %zu%s%s%s is %s of %zu bytes, but the kernel's parameter %zu has "
				       "%u bytes. Give a value of the parameter's type, as i32(x), i64(x), f32(x), f64(x)",
				       l->kernel, i + 1, *name ? " (" : "", name, *name ? ")" : "", kind, bytes, i + 1,
				       k->params[i].bytes);
	}
	return 0;
}

static int check_block(const struct plan_launch *l, const struct gpu_kernel *k, const struct facts *limits, struct err *e)
{
	uint32_t allowed = gpu_check_max_threads(k, limits);
	uint64_t threads = gpu_check_volume(l->block);

	for (int i = 0; i < 3; i++) {
		if (l->block[i] > limits->max_block[i])
			return err_set(e, ERR_PRUNED, "kernel \"%s\": block dimension %c is %u, but the device allows %u",
				       l->kernel, "xyz"[i], l -> block[i], limits -> max_block[i]);
		if (l->grid[i] > limits->max_grid[i])
			return err_set(e, ERR_PRUNED, "kernel \"%s\": grid dimension %c is %u, but the device allows %u", l->kernel,
				       "xyz"[i], l -> grid[i], limits -> max_grid[i]);
		/* AMD's dispatch packet counts threads in 32 bits (HSA Runtime Specification, kernel dispatch packet). */
		if (is_amd(limits) && (uint64_t)l->grid[i] * l->block[i] > UINT32_MAX)
			return err_set(e, ERR_PRUNED, "kernel \"%s\": grid dimension %c has %llu threads, but the device allows %u",
				       l->kernel, "xyz"[i], (unsigned long long)l -> grid[i] * l -> block[i], UINT32_MAX);
		if (k->block[0] && l->block[i] != k->block[i])
			return err_set(e, ERR_INPUT,
				       "kernel \"%s\" is compiled for blocks of {%u, %u, %u}, but the host code launches blocks of "
				       "{%u, %u, %u}",
				       l->kernel, k->block[0], k->block[1], k->block[2], l->block[0], l->block[1], l->block[2]);
	}
	if (threads <= allowed)
		return 0;
	if (threads > limits->max_threads)
		return err_set(e, ERR_PRUNED, "kernel \"%s\" asks for %llu threads per block, but the device allows %u", l->kernel,
			       (unsigned long long)threads, limits->max_threads);
	if (k->bound && threads > k->bound)
		return err_set(e, ERR_PRUNED, "kernel \"%s\" asks for %llu threads per block, but its __launch_bounds__ allow %u",
			       l->kernel, (unsigned long long)threads, k->bound);
	return err_set(e, ERR_PRUNED,
		       "kernel \"%s\" asks for %llu threads per block; at %u registers per thread the device's %u registers per "
		       "block allow %u threads",
		       l->kernel, (unsigned long long)threads, k->registers, limits->registers, allowed);
}

static int check_shared(const struct plan_launch *l, const struct gpu_kernel *k, const struct facts *limits, struct err *e)
{
	uint64_t all = (uint64_t)k->shared + l->shared;

	if (k->shared > limits->shared_static && limits->shared_optin > limits->shared_static)
		return err_set(e, ERR_PRUNED,
			       "kernel \"%s\": %u bytes of static shared memory declared, the device allows %u. For up to %u, "
			       "declare them extern __shared__ and launch with {shared = bytes}",
			       l->kernel, k->shared, limits->shared_static, limits->shared_optin);
	if (all > limits->shared_optin)
		return err_set(e, ERR_PRUNED,
			       "kernel \"%s\" asks for %llu bytes of shared memory%s per block (%u static, %u dynamic), but the "
			       "device allows %u",
			       l->kernel, (unsigned long long)all, is_amd(limits) ? " (LDS)" : "", k->shared, l->shared,
			       limits->shared_optin);
	return 0;
}

static int check_cluster(const struct plan_launch *l, const struct gpu_kernel *k, const struct facts *limits, struct err *e)
{
	bool asked = gpu_check_volume(l->cluster) > 1, fixed = k->cluster[0] != 0;
	const uint32_t *cluster = asked || !fixed ? l->cluster : k->cluster;
	uint64_t blocks = gpu_check_volume(cluster);

	if (asked && is_amd(limits))
		return err_set(e, ERR_UNSUPPORTED,
			       "kernel \"%s\": AMD devices have no clusters of blocks; launch without cluster=", l->kernel);
	for (int i = 0; asked && fixed && i < 3; i++)
		if (l->cluster[i] != k->cluster[i])
			return err_set(e, ERR_INPUT,
				       "kernel \"%s\" is compiled for clusters of {%u, %u, %u}, but the host code launches "
				       "clusters of {%u, %u, %u}",
				       l->kernel, k->cluster[0], k->cluster[1], k->cluster[2], l->cluster[0], l->cluster[1],
				       l->cluster[2]);
	if (blocks <= 1)
		return 0;
	if (blocks > limits->max_cluster)
		return err_set(e, ERR_PRUNED, "kernel \"%s\": a cluster of %llu blocks was asked for, and the device allows %u%s",
			       l->kernel, (unsigned long long)blocks, limits->max_cluster,
			       limits->max_cluster > GPU_CLUSTER_PORTABLE ? " (8 on every such device)" : "");
	for (int i = 0; i < 3; i++)
		if (l->grid[i] % cluster[i] != 0)
			return err_set(e, ERR_PRUNED,
				       "kernel \"%s\": grid dimension %c is %u blocks, which clusters of %u do not divide",
				       l->kernel, "xyz"[i], l -> grid[i], cluster[i]);
	return 0;
}

int gpu_check_launch(const struct plan_launch *launch, const struct gpu_kernel *k, const struct facts *limits, struct err *e)
{
	int rc = check_args(launch, k, limits, e);

	if (!rc)
		rc = check_block(launch, k, limits, e);
	if (!rc)
		rc = check_shared(launch, k, limits, e);
	return rc ? rc : check_cluster(launch, k, limits, e);
}

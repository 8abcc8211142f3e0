/* backend: the CUDA backend's table, and what only CUDA does when it opens a device and prepares a plan: the primary
 * context, tensor maps, functions' opt-ins, products by cuBLASLt. gpu/run.c does the rest. */
#include "backends/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/api.h"
#include "backends/gpu/run.h"
#include "base/mem.h"

enum { FLUSH_MIN = 64 << 20 }; /* bytes; for drivers that do not tell the size of the L2 */

/* --- device ------------------------------------------------------------------------------------------------------------- */
static int open_device(uint32_t index, struct backend_device **ret_device, struct err *e)
{
	struct backend_device *d = MEM_NEW(struct backend_device);
	gpu_result result;
	int rc = cuda_library_driver(&d->api, e);

	if (!rc)
		rc = cuda_facts_device(&d->api, index, &d->facts, e);
	if (rc)
		goto out;
	d->api.device_get(&d->handle, (int)index);
	result = d->api.context_retain(&d->context, d->handle);
	if (result == GPU_SUCCESS)
		result = d->api.context_use(d->context);
	if (result != GPU_SUCCESS) {
		rc = gpu_device_fail(
			d, result, "opening the device (is it in exclusive mode and in use, or out of memory? see nvidia-smi)", e);
		goto out;
	}
	d->cooperative = d->api.launch_extended && gpu_facts_ask(&d->api, d->handle, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
	d->tensor_maps = d->api.tensor_map && gpu_facts_ask(&d->api, d->handle, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED);
	d->graphs = true;
	d->cache_bytes = d->facts.l2_bytes;
	cuda_counters_start(d);
	if ((rc = gpu_device_start(d, FLUSH_MIN, e)))
		goto out;
	*ret_device = d;
	return 0;
out:
	gpu_device_close(d);
	return rc;
}

/* --- tensor maps -------------------------------------------------------------------------------------------------------- */
static const int map_types[DTYPE_COUNT] = {
	[DTYPE_I8] = CU_TENSOR_MAP_DATA_TYPE_UINT8,    [DTYPE_U8] = CU_TENSOR_MAP_DATA_TYPE_UINT8, /* bytes are only moved */
	[DTYPE_E4M3] = CU_TENSOR_MAP_DATA_TYPE_UINT8,  [DTYPE_E5M2] = CU_TENSOR_MAP_DATA_TYPE_UINT8,
	[DTYPE_I16] = CU_TENSOR_MAP_DATA_TYPE_UINT16,  [DTYPE_U16] = CU_TENSOR_MAP_DATA_TYPE_UINT16,
	[DTYPE_I32] = CU_TENSOR_MAP_DATA_TYPE_INT32,   [DTYPE_U32] = CU_TENSOR_MAP_DATA_TYPE_UINT32,
	[DTYPE_I64] = CU_TENSOR_MAP_DATA_TYPE_INT64,   [DTYPE_U64] = CU_TENSOR_MAP_DATA_TYPE_UINT64,
	[DTYPE_F16] = CU_TENSOR_MAP_DATA_TYPE_FLOAT16, [DTYPE_BF16] = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
	[DTYPE_F32] = CU_TENSOR_MAP_DATA_TYPE_FLOAT32, [DTYPE_F64] = CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
};

static int map_swizzle(unsigned bytes)
{
	return bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
	       : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
	       : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
			     : CU_TENSOR_MAP_SWIZZLE_NONE;
}

static int encode_map(const struct backend_run *run, struct gpu_set *set, size_t i, struct err *e)
{
	static const uint32_t every_element[PLAN_RANK_MAX] = { 1, 1, 1, 1, 1 };
	const struct plan_map *m = &run->plan->maps[i];
	const struct backend_device *d = run->device;
	gpu_result result;

	if (!d->tensor_maps)
		return err_set(e, ERR_UNSUPPORTED,
			       "tensor maps need compute capability 9.0 and driver 525 or newer; this is %s (%s)", d->facts.name,
			       d->facts.driver);
	/* strides[0] is implied by the element type: the driver's list starts with dimension 1. */
	result = d->api.tensor_map(
		&set->maps[i], map_types[m->type], m->rank, (void *)(uintptr_t)set->buffers[m->buffer], m->dims, m->strides + 1,
		m->box, every_element, CU_TENSOR_MAP_INTERLEAVE_NONE, map_swizzle(m->swizzle), CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
		m->fill_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
	if (result == GPU_INVALID_VALUE)
		return err_set(e, ERR_PRUNED,
			       "the device refuses tensor map %zu of buffer \"%s\" (%s, rank %u, innermost %llu elements, box "
			       "%u×%u, swizzle %u). Dims are at most 2^32, strides multiples of 16 below 2^40, box dims 1 to 256. "
			       "The box's innermost bytes are a multiple of 16 and at most the swizzle",
			       i + 1, run->plan->buffers[m->buffer].name, dtype_name(m->type), m->rank,
			       (unsigned long long)m->dims[0], m->box[0], m->rank > 1 ? m->box[1] : 1, m->swizzle);
	return result == GPU_SUCCESS ? 0 : gpu_device_fail(d, result, "encoding a tensor map", e);
}

/* --- runs --------------------------------------------------------------------------------------------------------------- */
/* Opt-ins of a launched function, and the limits that only the driver knows. */
static int set_function(struct backend_run *run, const struct plan_launch *l, gpu_function f, struct err *e)
{
	const struct backend_device *d = run->device;
	uint64_t block = gpu_check_volume(l->block), cluster = gpu_check_volume(l->cluster);
	struct gpu_launch_attribute attrs[GPU_ATTRIBUTES];
	struct gpu_launch_config config = { .grid = { l->grid[0], l->grid[1], l->grid[2] },
					    .block = { l->block[0], l->block[1], l->block[2] },
					    .shared = l->shared,
					    .stream = d->stream,
					    .attrs = attrs,
					    .attr_count = gpu_submit_attributes(l, attrs) };
	int threads = 0, shared = 0, local = 0, clusters = 1;
	gpu_result result = d->api.function_attribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f);

	if (result == GPU_SUCCESS && block > (uint64_t)threads)
		return err_set(e, ERR_PRUNED, "kernel \"%s\" asks for %llu threads per block, but the driver allows %d for it",
			       l->kernel, (unsigned long long)block, threads);
	/* Only upwards: an earlier launch of the same kernel may need more. */
	if (result == GPU_SUCCESS)
		result = d->api.function_attribute(&shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f);
	if (result == GPU_SUCCESS && l->shared > (uint32_t)shared)
		result = d->api.function_set(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)l->shared);
	if (result == GPU_SUCCESS)
		result = d->api.function_attribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, f);
	run->local_bytes = (unsigned)local > run->local_bytes ? (unsigned)local : run->local_bytes;
	if (result == GPU_SUCCESS && cluster > GPU_CLUSTER_PORTABLE)
		result = d->api.function_set(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
	if (result != GPU_SUCCESS)
		return gpu_device_fail(d, result, "asking for the kernel's memory and clusters", e);
	if (cluster > 1 && d->api.occupancy_clusters && d->api.occupancy_clusters(&clusters, f, &config) == GPU_SUCCESS &&
	    clusters < 1)
		return err_set(e, ERR_PRUNED,
			       "kernel \"%s\": no cluster of %llu blocks with %u bytes of shared memory each fits on the device",
			       l->kernel, (unsigned long long)cluster, l->shared);
	return 0;
}

static void release(struct backend_run *run)
{
	struct cuda_gemm *gemm = run ? run->gemm : NULL;

	gpu_run_free(run);
	cuda_gemm_free(gemm);
}

/* Records the set that gpu_run_add_set has just allocated. */
static int record(struct backend_run *run, struct err *e)
{
	int rc = 0;

	if (run->gemm)
		return cuda_gemm_record(run, e);
	for (size_t i = 0; i < run->plan->map_count && !rc; i++)
		rc = encode_map(run, &run->sets[run->set_count], i, e);
	return rc ? rc : gpu_run_record(run, e);
}

static int prepare(struct backend_device *device, const void *binary, size_t len, const struct plan *plan,
		   struct backend_run **ret_run, struct err *e)
{
	struct backend_run *run = MEM_NEW(struct backend_run);
	struct gpu_module module = { .kernels = NULL };
	bool library = plan_is_library(plan);
	int rc = 0;

	*run = (struct backend_run){ .device = device, .plan = plan, .binary = library ? NULL : binary, .binary_len = len };
	if (library && !(rc = cuda_gemm_new(device, plan, &run->gemm, e)))
		rc = gpu_run_add_set(run, e);
	if (!library && !(rc = cuda_object_read(binary, len, NULL, &module, e)))
		rc = gpu_run_load(run, binary, &module, e);
	for (size_t i = 0; i < plan->op_count && !rc; i++)
		if (plan->ops[i].kind == PLAN_OP_LAUNCH)
			rc = set_function(run, &plan->ops[i].launch, run->functions[i], e);
	/* A library's algorithm is searched and recorded at the first execution, because the search needs the inputs. */
	if (!rc && !library)
		rc = record(run, e);
	gpu_module_fini(&module);
	if (rc)
		release(run);
	else
		*ret_run = run;
	return rc;
}

static int make_sets(struct backend_run *run, enum wire_cache cache, unsigned *ret_count, struct err *e)
{
	return gpu_run_make_sets(run, cache, record, ret_count, e);
}

static int execute(struct backend_run *run, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e)
{
	if (run->gemm && !run->set_count) {
		int rc = cuda_gemm_search(run->gemm, run->sets[0].buffers, e);
		if (!rc)
			rc = record(run, e);
		if (rc)
			return rc;
	}
	return gpu_run_execute(run, times, cache, ret_ns, e);
}

const struct backend backend_cuda = {
	.name = "cuda",
	.monitor = &gpu_nvml_monitor,
	.ceilings = cuda_ceilings,
	.resident = &gpu_judge_resident,
	.devices = cuda_facts_devices,
	.describe = cuda_facts_describe,
	.compile = cuda_compile,
	.open = open_device,
	.prepare = prepare,
	.make_sets = make_sets,
	.execute = execute,
	.counters = cuda_counters_read,
	.release = release,
	GPU_RUN_BACKEND,
};

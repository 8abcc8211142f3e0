/* record: see record.h. Operations are captured from a stream, which works for ordinary, cooperative and cluster launches, sets and
 * copies alike; a stream's order is the plan's order. */
#include "backends/cuda/record.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/check.h"
#include "base/mem.h"

enum { CLUSTER_PORTABLE = 8 }; /* blocks per cluster that need no opt-in */

int cuda_record_check(const struct backend_device *device, const struct plan_launch *launch, const struct cuda_cubin *cubin,
                      struct err *e)
{
	const struct cuda_kernel *k = cuda_cubin_find(cubin, launch->kernel);

	if (!k)
		return cuda_cubin_missing(cubin, launch->kernel, e);
	if (launch->cooperative && !device->cooperative)
		return err_set(e, ERR_UNSUPPORTED, "kernel \"%s\": %s has no cooperative launches", launch->kernel, device->facts.name);
	if (k->cluster[0] && !device->cu.launch_extended)
		return err_set(e, ERR_UNSUPPORTED, "kernel \"%s\": the driver has no cluster launches; install driver 525 or newer", launch->kernel);
	return cuda_check_launch(launch, k, &device->facts, e);
}

/* --- tensor maps ------------------------------------------------------------------------------------------------------ */
static int map_type(enum dtype t)
{
	switch (t) {
	case DTYPE_I8:
	case DTYPE_U8:
	case DTYPE_E4M3:
	case DTYPE_E5M2: return CU_TENSOR_MAP_DATA_TYPE_UINT8; /* bytes are only moved */
	case DTYPE_I16:
	case DTYPE_U16: return CU_TENSOR_MAP_DATA_TYPE_UINT16;
	case DTYPE_I32: return CU_TENSOR_MAP_DATA_TYPE_INT32;
	case DTYPE_U32: return CU_TENSOR_MAP_DATA_TYPE_UINT32;
	case DTYPE_I64: return CU_TENSOR_MAP_DATA_TYPE_INT64;
	case DTYPE_U64: return CU_TENSOR_MAP_DATA_TYPE_UINT64;
	case DTYPE_F16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
	case DTYPE_BF16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
	case DTYPE_F32: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
	case DTYPE_F64: return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
	case DTYPE_COUNT: break;
	}
	return -1;
}

static int map_swizzle(unsigned bytes)
{
	return bytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B :
	       bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B : CU_TENSOR_MAP_SWIZZLE_NONE;
}

static int encode_map(const struct cuda_record *r, size_t i, struct err *e)
{
	static const uint32_t every_element[PLAN_RANK_MAX] = { 1, 1, 1, 1, 1 };
	const struct plan_map *m = &r->plan->maps[i];
	const struct backend_device *d = r->device;
	CUresult result;

	if (!d->tensor_maps)
		return err_set(e, ERR_UNSUPPORTED, "tensor maps need compute capability 9.0 and driver 525 or newer; this is %s (%s)", d->facts.name,
		               d->facts.driver);
	/* strides[0] is implied by the element type: the driver's list starts with dimension 1. */
	result = d->cu.tensor_map(&r->maps[i], map_type(m->type), m->rank, (void *)(uintptr_t)r->buffers[m->buffer], m->dims, m->strides + 1,
	                          m->box, every_element, CU_TENSOR_MAP_INTERLEAVE_NONE, map_swizzle(m->swizzle),
	                          CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
	                          m->fill_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
	if (result == CUDA_ERROR_INVALID_VALUE)
		return err_set(e, ERR_PRUNED, "the device refuses tensor map %zu of buffer \"%s\" (%s, rank %u, innermost %llu elements, box %u×%u, "
		               "swizzle %u): dims at most 2^32, strides multiples of 16 below 2^40, box dims 1 to 256, the box's innermost bytes a "
		               "multiple of 16 and at most the swizzle", i + 1, r->plan->buffers[m->buffer].name, dtype_name(m->type), m->rank,
		               (unsigned long long)m->dims[0], m->box[0], m->rank > 1 ? m->box[1] : 1, m->swizzle);
	return result == CUDA_SUCCESS ? 0 : cuda_device_fail(d, result, "encoding a tensor map", e);
}

/* --- launches --------------------------------------------------------------------------------------------------------- */
/* One argument's value; the driver copies it when the launch is recorded. */
union slot { CUtensorMap map; CUdeviceptr address; int64_t integer; unsigned char scalar[16]; };

static void fill_slot(const struct cuda_record *r, const struct plan_arg *a, union slot *to)
{
	switch (a->kind) {
	case PLAN_ARG_BUFFER:
		to->address = r->buffers[a->index];
		break;
	case PLAN_ARG_MAP:
		to->map = r->maps[a->index];
		break;
	case PLAN_ARG_SCALAR:
		if (dtype_is_float(a->type))
			dtype_store(a->type, to->scalar, a->f);
		else
			to->integer = a->i; /* little-endian: narrower types are its first bytes */
		break;
	}
}

/* What the launch needs of attributes; returns their number. */
static unsigned attributes(const struct plan_launch *l, CUlaunchAttribute to[2])
{
	unsigned n = 0;

	memset(to, 0, 2 * sizeof *to);
	if ((uint64_t)l->cluster[0] * l->cluster[1] * l->cluster[2] > 1) {
		to[n].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
		to[n].value.cluster.x = l->cluster[0];
		to[n].value.cluster.y = l->cluster[1];
		to[n++].value.cluster.z = l->cluster[2];
	}
	if (l->cooperative) {
		to[n].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
		to[n++].value.cooperative = 1;
	}
	return n;
}

/* Opt-ins of the function, and the limits that only the driver knows. */
static int set_function(const struct cuda_record *r, const struct plan_launch *l, CUfunction f, CUlaunchConfig *config, struct err *e)
{
	const struct backend_device *d = r->device;
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2], cluster = (uint64_t)l->cluster[0] * l->cluster[1] * l->cluster[2];
	int threads = 0, shared = 0, per_unit = 0, clusters = 1;
	CUresult result = d->cu.function_attribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f);

	if (result == CUDA_SUCCESS && (uint64_t)l->block[0] * l->block[1] * l->block[2] > (uint64_t)threads)
		return err_set(e, ERR_PRUNED, "kernel \"%s\": %llu threads per block asked, the driver allows %d for this kernel", l->kernel,
		               (unsigned long long)l->block[0] * l->block[1] * l->block[2], threads);
	/* Only upwards: an earlier launch of the same kernel may need more. */
	if (result == CUDA_SUCCESS)
		result = d->cu.function_attribute(&shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f);
	if (result == CUDA_SUCCESS && l->shared > (uint32_t)shared)
		result = d->cu.function_set(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)l->shared);
	if (result == CUDA_SUCCESS && cluster > CLUSTER_PORTABLE)
		result = d->cu.function_set(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
	if (result != CUDA_SUCCESS)
		return cuda_device_fail(d, result, "asking for the kernel's shared memory and clusters", e);
	if (l->cooperative && d->cu.occupancy_blocks(&per_unit, f, (int)(l->block[0] * l->block[1] * l->block[2]), l->shared) == CUDA_SUCCESS &&
	    blocks > (uint64_t)per_unit * d->facts.units)
		return err_set(e, ERR_PRUNED, "kernel \"%s\": a cooperative grid of %llu blocks asked, the device holds %llu at once", l->kernel,
		               (unsigned long long)blocks, (unsigned long long)per_unit * d->facts.units);
	if (cluster > 1 && d->cu.occupancy_clusters && d->cu.occupancy_clusters(&clusters, f, config) == CUDA_SUCCESS && clusters < 1)
		return err_set(e, ERR_PRUNED, "kernel \"%s\": no cluster of %llu blocks with %u bytes of shared memory each fits on the device",
		               l->kernel, (unsigned long long)cluster, l->shared);
	return 0;
}

/* Before the capture: what may allocate or ask the driver must not happen inside it. */
static int ready_launch(const struct cuda_record *r, const struct plan_launch *l, CUfunction *ret_function, struct err *e)
{
	const struct backend_device *d = r->device;
	CUlaunchAttribute attrs[2];
	CUlaunchConfig config = { .shared = l->shared, .stream = d->stream, .attrs = attrs, .attr_count = attributes(l, attrs) };
	CUresult result = d->cu.module_function(ret_function, r->module, l->kernel);

	memcpy(config.grid, l->grid, sizeof config.grid);
	memcpy(config.block, l->block, sizeof config.block);
	if (result == CUDA_ERROR_NOT_FOUND)
		return err_set(e, ERR_INPUT, "the binary has no kernel \"%s\"", l->kernel);
	if (result != CUDA_SUCCESS)
		return cuda_device_fail(d, result, "looking up a kernel", e);
	if (config.attr_count && !d->cu.launch_extended)
		return err_set(e, ERR_UNSUPPORTED, "kernel \"%s\": the driver has no cluster or cooperative launches; install driver 525 or newer",
		               l->kernel);
	return set_function(r, l, *ret_function, &config, e);
}

static CUresult add_launch(const struct cuda_record *r, const struct plan_launch *l, CUfunction f)
{
	const struct backend_device *d = r->device;
	union slot *slots = aligned_alloc(_Alignof(union slot), (l->arg_count + 1) * sizeof *slots);
	void **args = MEM_NEW_N(void *, l->arg_count + 1);
	CUlaunchAttribute attrs[2];
	CUlaunchConfig config = { .shared = l->shared, .stream = d->stream, .attrs = attrs, .attr_count = attributes(l, attrs) };
	CUresult result;

	if (!slots)
		abort();
	for (size_t i = 0; i < l->arg_count; i++) {
		fill_slot(r, &l->args[i], &slots[i]);
		args[i] = &slots[i];
	}
	memcpy(config.grid, l->grid, sizeof config.grid);
	memcpy(config.block, l->block, sizeof config.block);
	if (config.attr_count)
		result = d->cu.launch_extended(&config, f, args, NULL);
	else
		result = d->cu.launch(f, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->shared, d->stream, args, NULL);
	free(args);
	free(slots);
	return result;
}

static CUresult add_op(const struct cuda_record *r, const struct plan_op *op, CUfunction f)
{
	const struct cuda_driver *cu = &r->device->cu;

	switch (op->kind) {
	case PLAN_OP_LAUNCH:
		return add_launch(r, &op->launch, f);
	case PLAN_OP_MEMSET:
		return cu->memory_set(r->buffers[op->memset.buffer] + op->memset.offset, op->memset.value, op->memset.bytes, r->device->stream);
	case PLAN_OP_COPY:
		return cu->copy_within(r->buffers[op->copy.dst] + op->copy.dst_offset, r->buffers[op->copy.src] + op->copy.src_offset,
		                       op->copy.bytes, r->device->stream);
	case PLAN_OP_GEMM:
		return r->gemm && cuda_gemm_issue(r->gemm, r->buffers) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

static int capture(const struct cuda_record *r, CUfunction *functions, CUgraphExec *ret_graph, struct err *e)
{
	const struct backend_device *d = r->device;
	CUgraph graph = NULL;
	CUresult result = d->cu.capture_begin(d->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), ended;
	char *doing = NULL;
	int rc = 0;

	if (result != CUDA_SUCCESS)
		return cuda_device_fail(d, result, "starting to record the plan", e);
	for (size_t i = 0; i < r->plan->op_count && result == CUDA_SUCCESS; i++) {
		const struct plan_op *op = &r->plan->ops[i];
		result = add_op(r, op, functions[i]);
		if (result != CUDA_SUCCESS)
			doing = mem_fmt("recording operation %zu%s%s", i + 1, op->kind == PLAN_OP_LAUNCH ? ", kernel " : "",
			                op->kind == PLAN_OP_LAUNCH ? op->launch.kernel : op->kind == PLAN_OP_GEMM ? ", cuBLASLt" : "");
	}
	/* Ended in any case: a stream left in capture could never be used again. */
	ended = d->cu.capture_end(d->stream, &graph);
	if (result == CUDA_SUCCESS)
		result = ended;
	if (result == CUDA_SUCCESS)
		result = d->cu.graph_instantiate(ret_graph, graph, 0);
	if (result != CUDA_SUCCESS)
		rc = cuda_device_fail(d, result, doing ? doing : "making a graph of the plan", e);
	if (graph)
		d->cu.graph_free(graph);
	free(doing);
	return rc;
}

int cuda_record_graph(const struct cuda_record *r, CUgraphExec *ret_graph, struct err *e)
{
	CUfunction *functions = MEM_NEW_N(CUfunction, r->plan->op_count + 1);
	int rc = 0;

	for (size_t i = 0; i < r->plan->map_count && !rc; i++)
		rc = encode_map(r, i, e);
	for (size_t i = 0; i < r->plan->op_count && !rc; i++)
		if (r->plan->ops[i].kind == PLAN_OP_LAUNCH)
			rc = ready_launch(r, &r->plan->ops[i].launch, &functions[i], e);
	if (!rc)
		rc = capture(r, functions, ret_graph, e);
	free(functions);
	return rc;
}

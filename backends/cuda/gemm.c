/* gemm: see gemm.h. cuBLASLt thinks in columns: a row-major c = a·b is, in columns, cᵀ = bᵀ·aᵀ, so b is given as its first operand. */
#include "backends/cuda/gemm.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/blas.h"
#include "base/mem.h"

enum { ALGORITHMS = 64, FIRST_SAMPLES = 3, FINALISTS = 5, FINAL_SAMPLES = 9, SAMPLES_MAX = 9 };
#define WORKSPACE ((size_t)64 << 20) /* bytes; twice what cuBLAS recommends for Hopper */

/* What is multiplied: all that cuBLASLt is told. No padding: compared as bytes. */
struct product_key {
	int64_t rows[3], columns[3], ld[3]; /* of a, b, c */
	int32_t types[3], transposed[2], compute;
};

struct cuda_gemm_known {
	struct product_key key;
	cublasLtMatmulAlgo_t finalists[FINALISTS];
	int count;
};

struct cuda_gemm {
	struct product_key key;
	struct cuda_blas blas;
	struct backend_device *device;              /* borrowed */
	const struct plan_gemm *op;                 /* borrowed, of the plan */
	cublasLtHandle_t handle;
	cublasLtMatmulDesc_t desc;
	cublasLtMatrixLayout_t first, second, out;  /* b, a, c */
	cublasLtMatmulPreference_t preference;
	CUdeviceptr workspace;
	cublasLtMatmulHeuristicResult_t list[ALGORITHMS];
	int count, best;                            /* of list; best -1 until it is sought */
	bool f64;                                   /* scale factors are doubles */
};

static int data_type(enum dtype t)
{
	return t == DTYPE_F16 ? CUDA_R_16F : t == DTYPE_BF16 ? CUDA_R_16BF : t == DTYPE_F64 ? CUDA_R_64F : CUDA_R_32F;
}

static cublasStatus_t layout(const struct cuda_gemm *g, const struct plan_buffer *b, cublasLtMatrixLayout_t *to)
{
	return g->blas.layout_new(to, data_type(b->type), (uint64_t)b->dims[1], (uint64_t)b->dims[0], b->ld);
}

static struct product_key key_of(const struct plan *plan, const struct plan_gemm *op, int compute)
{
	const unsigned of[] = { op->a, op->b, op->c };
	struct product_key key = { .transposed = { op->a_transposed, op->b_transposed }, .compute = compute };

	for (unsigned i = 0; i < MEM_COUNT(of); i++) {
		const struct plan_buffer *b = &plan->buffers[of[i]];
		key.rows[i] = b->dims[0];
		key.columns[i] = b->dims[1];
		key.ld[i] = b->ld;
		key.types[i] = (int32_t)b->type;
	}
	return key;
}

static cublasStatus_t describe(struct cuda_gemm *g, const struct plan *plan)
{
	const struct plan_buffer *a = &plan->buffers[g->op->a], *b = &plan->buffers[g->op->b], *c = &plan->buffers[g->op->c];
	int32_t first = g->op->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, second = g->op->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
	int compute = g->f64 ? CUBLAS_COMPUTE_64F : g->op->tf32 && a->type == DTYPE_F32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
	size_t bytes = WORKSPACE;
	cublasStatus_t s = g->blas.handle_new(&g->handle);

	g->key = key_of(plan, g->op, compute);
	if (!s)
		s = g->blas.desc_new(&g->desc, compute, g->f64 ? CUDA_R_64F : CUDA_R_32F);
	if (!s)
		s = g->blas.desc_set(g->desc, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first);
	if (!s)
		s = g->blas.desc_set(g->desc, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second);
	if (!s)
		s = layout(g, b, &g->first);
	if (!s)
		s = layout(g, a, &g->second);
	if (!s)
		s = layout(g, c, &g->out);
	if (!s)
		s = g->blas.preference_new(&g->preference);
	if (!s)
		s = g->blas.preference_set(g->preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes);
	if (!s)
		s = g->blas.heuristic(g->handle, g->desc, g->first, g->second, g->out, g->out, g->preference, ALGORITHMS, g->list, &g->count);
	return s;
}

int cuda_gemm_new(struct backend_device *device, const struct plan *plan, struct cuda_gemm **ret_gemm, struct err *e)
{
	struct cuda_gemm *g = MEM_NEW(struct cuda_gemm);
	cublasStatus_t status;
	CUresult result;
	int rc;

	*g = (struct cuda_gemm){ .device = device, .op = &plan->ops[0].gemm, .best = -1 };
	if (plan->op_count != 1) {
		rc = err_set(e, ERR_UNSUPPORTED, "a library plan of %zu products: one is expected", plan->op_count);
		goto out;
	}
	g->f64 = plan->buffers[g->op->a].type == DTYPE_F64;
	if ((rc = cuda_blas_open(&g->blas, e)))
		goto out;
	status = describe(g, plan);
	if (status || g->count < 1) {
		rc = err_set(e, ERR_UNSUPPORTED, "cuBLASLt has no algorithm for this product of %s and %s (status %d): its rules for types, "
		             "leading dimensions and alignment are in the documentation of cublasLtMatmul", plan->buffers[g->op->a].name,
		             plan->buffers[g->op->b].name, status);
		goto out;
	}
	result = device->cu.memory_alloc(&g->workspace, WORKSPACE);
	if (result != CUDA_SUCCESS) {
		rc = cuda_device_fail(device, result, "allocating cuBLASLt's workspace", e);
		goto out;
	}
	*ret_gemm = g;
	return 0;
out:
	cuda_gemm_free(g);
	return rc;
}

void cuda_gemm_free(struct cuda_gemm *g)
{
	if (!g)
		return;
	if (g->workspace)
		g->device->cu.memory_free(g->workspace);
	if (g->preference)
		g->blas.preference_free(g->preference);
	if (g->first)
		g->blas.layout_free(g->first);
	if (g->second)
		g->blas.layout_free(g->second);
	if (g->out)
		g->blas.layout_free(g->out);
	if (g->desc)
		g->blas.desc_free(g->desc);
	if (g->handle)
		g->blas.handle_free(g->handle);
	free(g);
}

static cublasStatus_t issue(const struct cuda_gemm *g, int which, const CUdeviceptr *buffers)
{
	static const double f64[] = { 1, 0 };
	static const float f32[] = { 1, 0 };
	const void *alpha = g->f64 ? (const void *)&f64[0] : &f32[0], *beta = g->f64 ? (const void *)&f64[1] : &f32[1];
	void *a = (void *)(uintptr_t)buffers[g->op->a], *b = (void *)(uintptr_t)buffers[g->op->b], *c = (void *)(uintptr_t)buffers[g->op->c];

	return g->blas.matmul(g->handle, g->desc, alpha, b, g->first, a, g->second, beta, c, g->out, c, g->out, &g->list[which].algo,
	                      (void *)(uintptr_t)g->workspace, WORKSPACE, g->device->stream);
}

int cuda_gemm_issue(const struct cuda_gemm *g, const CUdeviceptr *buffers)
{
	return issue(g, g->best < 0 ? 0 : g->best, buffers);
}

/* --- search ------------------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;
	return (x > y) - (x < y);
}

/* The median of some cold executions in *ret_ms; negative in it when the algorithm refuses. */
static CUresult time_one(const struct cuda_gemm *g, int which, int samples, const CUdeviceptr *buffers, float *ret_ms)
{
	struct backend_device *d = g->device;
	float ms[SAMPLES_MAX] = { 0 };
	CUresult result = CUDA_SUCCESS;

	*ret_ms = -1;
	for (int i = 0; i < samples && result == CUDA_SUCCESS; i++) {
		result = d->cu.memory_set(d->flush, 0, d->flush_bytes, d->stream);
		if (result == CUDA_SUCCESS)
			result = d->cu.event_record(d->start, d->stream);
		if (result == CUDA_SUCCESS && issue(g, which, buffers) != CUBLAS_STATUS_SUCCESS)
			return CUDA_SUCCESS;
		if (result == CUDA_SUCCESS)
			result = d->cu.event_record(d->end, d->stream);
		if (result == CUDA_SUCCESS)
			result = d->cu.stream_wait(d->stream);
		if (result == CUDA_SUCCESS)
			result = d->cu.event_elapsed(&ms[i], d->start, d->end);
	}
	qsort(ms, (size_t)samples, sizeof *ms, ascending);
	*ret_ms = ms[samples / 2];
	return result;
}

/* The usable algorithm with the least time that is not in `taken`; -1 when there is none. */
static int fastest(const float *ms, int count, const bool *taken)
{
	int best = -1;

	for (int i = 0; i < count; i++)
		if (ms[i] > 0 && !taken[i] && (best < 0 || ms[i] < ms[best]))
			best = i;
	return best;
}

static struct cuda_gemm_known *find_known(const struct cuda_gemm *g)
{
	for (size_t i = 0; i < g->device->gemm_count; i++)
		if (memcmp(&g->device->gemms[i].key, &g->key, sizeof g->key) == 0)
			return &g->device->gemms[i];
	return NULL;
}

static bool is_usable(const struct cuda_gemm *g, int which)
{
	return g->list[which].state == CUBLAS_STATUS_SUCCESS && g->list[which].workspace <= WORKSPACE;
}

/* Leaves those that were finalists before, when the library proposes all of them again; else nothing is known. */
static bool recall(const struct cuda_gemm *g, float ms[ALGORITHMS])
{
	const struct cuda_gemm_known *known = find_known(g);
	int found = 0;

	for (int i = 0; i < g->count; i++) {
		ms[i] = -1;
		for (int k = 0; known && ms[i] < 0 && is_usable(g, i) && k < known->count; k++)
			if (memcmp(&known->finalists[k], &g->list[i].algo, sizeof g->list[i].algo) == 0)
				ms[i] = 1;
		found += ms[i] > 0;
	}
	return known && found == known->count;
}

static void remember(const struct cuda_gemm *g, const bool taken[ALGORITHMS])
{
	struct cuda_gemm_known *known = find_known(g);

	if (!known)
		known = MEM_PUSH(g->device->gemms, g->device->gemm_count);
	*known = (struct cuda_gemm_known){ .key = g->key };
	for (int i = 0; i < g->count; i++)
		if (taken[i])
			known->finalists[known->count++] = g->list[i].algo;
}

static CUresult time_all(const struct cuda_gemm *g, const CUdeviceptr *buffers, float ms[ALGORITHMS])
{
	CUresult result = CUDA_SUCCESS;
	float once;

	for (int i = 0; i < g->count && result == CUDA_SUCCESS; i++) {
		ms[i] = -1;
		if (!is_usable(g, i))
			continue;
		result = time_one(g, i, 1, buffers, &once); /* loads it */
		if (result == CUDA_SUCCESS)
			result = time_one(g, i, FIRST_SAMPLES, buffers, &ms[i]);
	}
	return result;
}

int cuda_gemm_search(struct cuda_gemm *g, const CUdeviceptr *buffers, struct err *e)
{
	bool taken[ALGORITHMS] = { false };
	float ms[ALGORITHMS], least = 0, again;
	CUresult result = g->best < 0 ? cuda_device_flush(g->device) : CUDA_SUCCESS;

	if (g->best >= 0)
		return 0;
	if (result == CUDA_SUCCESS && !recall(g, ms))
		result = time_all(g, buffers, ms);
	for (int i = 0; i < FINALISTS && result == CUDA_SUCCESS; i++) {
		int which = fastest(ms, g->count, taken);
		if (which < 0)
			break;
		taken[which] = true;
		result = time_one(g, which, FINAL_SAMPLES, buffers, &again);
		if (again > 0 && (g->best < 0 || again < least)) {
			g->best = which;
			least = again;
		}
	}
	if (result != CUDA_SUCCESS)
		return cuda_device_fail(g->device, result, "timing cuBLASLt's algorithms", e);
	if (g->best < 0)
		return err_set(e, ERR_UNSUPPORTED, "none of the %d algorithms that cuBLASLt proposes for this product works", g->count);
	remember(g, taken);
	return 0;
}

/* gemm: see cuda.h. cuBLASLt stores matrices by columns: a row-major c = a·b is, by columns, cᵀ = bᵀ·aᵀ, so b becomes its
 * first operand. The interface below is NVIDIA's (cuBLAS documentation, "Using the cublasLt API"). */
#include "backends/cuda/cuda.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/order.h"

typedef int cublasStatus_t;
typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct cublasLtMatmulDesc_st *cublasLtMatmulDesc_t;
typedef struct cublasLtMatrixLayout_st *cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulPreference_st *cublasLtMatmulPreference_t;
typedef struct {
	uint64_t data[8];
} cublasLtMatmulAlgo_t;
typedef struct {
	cublasLtMatmulAlgo_t algo;
	size_t workspace;     /* bytes that it needs */
	cublasStatus_t state; /* CUBLAS_STATUS_SUCCESS: usable */
	float waves;
	int reserved[4];
} cublasLtMatmulHeuristicResult_t;

enum { CUBLAS_STATUS_SUCCESS = 0 };
enum { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_64F = 70, CUBLAS_COMPUTE_32F_FAST_TF32 = 77 };
enum { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum { CUBLASLT_MATMUL_DESC_TRANSA = 3, CUBLASLT_MATMUL_DESC_TRANSB = 4 };
enum { CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3 };
enum { CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2, CUBLASLT_REDUCTION_SCHEME_MASK = 7 };

/* X(member, symbol, (parameters)) */
#define BLAS_LIST(X)                                                                                                               \
	X(handle_new, cublasLtCreate, (cublasLtHandle_t * handle))                                                                 \
	X(handle_free, cublasLtDestroy, (cublasLtHandle_t handle))                                                                 \
	X(desc_new, cublasLtMatmulDescCreate, (cublasLtMatmulDesc_t * desc, int compute, int scale))                               \
	X(desc_free, cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t desc))                                                       \
	X(desc_set, cublasLtMatmulDescSetAttribute, (cublasLtMatmulDesc_t desc, int attribute, const void *value, size_t bytes))   \
	X(layout_new, cublasLtMatrixLayoutCreate,                                                                                  \
	  (cublasLtMatrixLayout_t * layout, int type, uint64_t rows, uint64_t columns, int64_t ld))                                \
	X(layout_free, cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t layout))                                               \
	X(preference_new, cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t * preference))                               \
	X(preference_free, cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t preference))                               \
	X(preference_set, cublasLtMatmulPreferenceSetAttribute,                                                                    \
	  (cublasLtMatmulPreference_t preference, int attribute, const void *value, size_t bytes))                                 \
	X(heuristic, cublasLtMatmulAlgoGetHeuristic,                                                                               \
	  (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,                 \
	   cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int wanted,                  \
	   cublasLtMatmulHeuristicResult_t *list, int *count))                                                                     \
	X(matmul, cublasLtMatmul,                                                                                                  \
	  (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a, cublasLtMatrixLayout_t layout_a,  \
	   const void *b, cublasLtMatrixLayout_t layout_b, const void *beta, const void *c, cublasLtMatrixLayout_t layout_c,       \
	   void *d, cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t *algo, void *workspace, size_t bytes,              \
	   gpu_stream stream))

#define MEMBER(member, symbol, parameters) cublasStatus_t(*member) parameters;
#define SYMBOL(member, symbol, parameters) GPU_SYMBOL(blas, member, symbol, true)
struct blas {
	BLAS_LIST(MEMBER)
};

enum { ALGORITHMS = 64, FIRST_SAMPLES = 3, FINALISTS = 5, FINAL_SAMPLES = 9, SAMPLES_MAX = 9 };
#define WORKSPACE ((size_t)64 << 20) /* bytes; twice what cuBLAS recommends for Hopper */

/* A product as cuBLASLt sees it. Has no padding, because it is compared as bytes. */
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
	struct blas blas;
	struct backend_device *device; /* borrowed */
	const struct plan_gemm *op;    /* borrowed, of the plan */
	cublasLtHandle_t handle;
	cublasLtMatmulDesc_t desc;
	cublasLtMatrixLayout_t first, second, out; /* b, a, c */
	cublasLtMatmulPreference_t preference;
	gpu_address workspace;
	cublasLtMatmulHeuristicResult_t list[ALGORITHMS];
	int count, best; /* of list; best is -1 until it was searched */
	bool f64;        /* scale factors are doubles */
};

/* --- the library -------------------------------------------------------------------------------------------------------- */
static const char *const names[] = { "libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so" };

static const struct gpu_symbol symbols[] = { BLAS_LIST(SYMBOL) };
static const struct cuda_library library = { .without = "no library to compare with",
					     .package = "libcublas-13-0",
					     .names = names,
					     .name_count = MEM_COUNT(names),
					     .symbols = symbols,
					     .symbol_count = MEM_COUNT(symbols) };

void cuda_gemm_version(char version[32])
{
	char file[GPU_PATH], real[PATH_MAX];
	const char *tail;

	version[0] = 0;
	if (!cuda_library_find(names, MEM_COUNT(names), file) || !realpath(file, real))
		return;
	tail = strstr(real, ".so.");
	if (tail)
		snprintf(version, 32, "%.31s", tail + 4);
}

/* --- one product -------------------------------------------------------------------------------------------------------- */
/* Describes the product to the library, and asks it for algorithms. */
static cublasStatus_t describe(struct cuda_gemm *g, const struct plan *plan)
{
	const struct plan_gemm *op = g->op;
	const struct plan_buffer *of[] = { &plan->buffers[op->a], &plan->buffers[op->b], &plan->buffers[op->c] };
	cublasLtMatrixLayout_t *layouts[] = { &g->second, &g->first, &g->out };
	int32_t first = op->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, second = op->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
	int compute = g->f64                                 ? CUBLAS_COMPUTE_64F
		      : op->tf32 && of[0]->type == DTYPE_F32 ? CUBLAS_COMPUTE_32F_FAST_TF32
							     : CUBLAS_COMPUTE_32F;
	size_t bytes = WORKSPACE;
	/* An algorithm may divide the sum over K and add the parts in C's own type. Parts in half or bfloat16 are no float sums. */
	bool narrow = dtype_size(of[2]->type) < 4;
	uint32_t schemes = narrow ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE : CUBLASLT_REDUCTION_SCHEME_MASK;
	cublasStatus_t s = g->blas.handle_new(&g->handle);

	g->key = (struct product_key){ .transposed = { op->a_transposed, op->b_transposed }, .compute = compute };
	if (!s)
		s = g->blas.desc_new(&g->desc, compute, g->f64 ? CUDA_R_64F : CUDA_R_32F);
	if (!s)
		s = g->blas.desc_set(g->desc, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first);
	if (!s)
		s = g->blas.desc_set(g->desc, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second);
	for (size_t i = 0; i < MEM_COUNT(of) && !s; i++) {
		const struct plan_buffer *b = of[i];
		g->key.rows[i] = b->dims[0];
		g->key.columns[i] = b->dims[1];
		g->key.ld[i] = b->ld;
		g->key.types[i] = (int32_t)b->type;
		int type = b->type == DTYPE_F16    ? CUDA_R_16F
			   : b->type == DTYPE_BF16 ? CUDA_R_16BF
			   : b->type == DTYPE_F64  ? CUDA_R_64F
						   : CUDA_R_32F;
		s = g->blas.layout_new(layouts[i], type, (uint64_t)b->dims[1], (uint64_t)b->dims[0], b->ld);
	}
	if (!s)
		s = g->blas.preference_new(&g->preference);
	if (!s)
		s = g->blas.preference_set(g->preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes);
	if (!s)
		s = g->blas.preference_set(g->preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes);
	if (!s)
		s = g->blas.heuristic(g->handle, g->desc, g->first, g->second, g->out, g->out, g->preference, ALGORITHMS, g->list,
				      &g->count);
	return s;
}

int cuda_gemm_new(struct backend_device *device, const struct plan *plan, struct cuda_gemm **ret_gemm, struct err *e)
{
	struct cuda_gemm *g = MEM_NEW(struct cuda_gemm);
	cublasStatus_t status;
	gpu_result result;
	int rc;

	*g = (struct cuda_gemm){ .device = device, .op = &plan->ops[0].gemm, .best = -1 };
	if (plan->op_count != 1) {
		rc = err_set(e, ERR_UNSUPPORTED, "a library plan has one product, not %zu", plan->op_count);
		goto out;
	}
	g->f64 = plan->buffers[g->op->a].type == DTYPE_F64;
	if ((rc = cuda_library_load(&library, &g->blas, e)))
		goto out;
	status = describe(g, plan);
	if (status || g->count < 1) {
		rc = err_set(e, ERR_UNSUPPORTED,
			     "cuBLASLt has no algorithm for this product of %s and %s (status %d). The documentation of "
			     "cublasLtMatmul has its rules for types, leading dimensions and alignment",
			     plan->buffers[g->op->a].name, plan->buffers[g->op->b].name, status);
		goto out;
	}
	result = device->api.memory_alloc(&g->workspace, WORKSPACE);
	if (result != GPU_SUCCESS) {
		rc = gpu_device_fail(device, result, "allocating cuBLASLt's workspace", e);
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
		g->device->api.memory_free(g->workspace);
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

static cublasStatus_t issue(const struct cuda_gemm *g, int which, const gpu_address *buffers)
{
	static const double f64[] = { 1, 0 };
	static const float f32[] = { 1, 0 };
	const void *alpha = g->f64 ? (const void *)&f64[0] : &f32[0], *beta = g->f64 ? (const void *)&f64[1] : &f32[1];
	void *a = (void *)(uintptr_t)buffers[g->op->a], *b = (void *)(uintptr_t)buffers[g->op->b],
	     *c = (void *)(uintptr_t)buffers[g->op->c];

	return g->blas.matmul(g->handle, g->desc, alpha, b, g->first, a, g->second, beta, c, g->out, c, g->out,
			      &g->list[which].algo, (void *)(uintptr_t)g->workspace, WORKSPACE, g->device->stream);
}

int cuda_gemm_issue(const struct cuda_gemm *g, const gpu_address *buffers)
{
	return issue(g, g->best < 0 ? 0 : g->best, buffers);
}

int cuda_gemm_record(struct backend_run *run, struct err *e)
{
	gpu_result result = gpu_run_capture_begin(run);

	if (result == GPU_SUCCESS) {
		bool good = cuda_gemm_issue(run->gemm, run->sets[run->set_count].buffers) == CUBLAS_STATUS_SUCCESS;
		result = gpu_run_capture_end(run, good ? GPU_SUCCESS : GPU_INVALID_VALUE);
	}
	return result == GPU_SUCCESS ? 0 : gpu_device_fail(run->device, result, "recording the product of cuBLASLt", e);
}

/* --- search ------------------------------------------------------------------------------------------------------------- */

/* The median of some cold executions in *ret_ms; negative when the algorithm refuses. */
static gpu_result time_one(const struct cuda_gemm *g, int which, int samples, const gpu_address *buffers, float *ret_ms)
{
	struct backend_device *d = g->device;
	double times[SAMPLES_MAX] = { 0 };
	float ms = 0;
	gpu_result result = GPU_SUCCESS;

	*ret_ms = -1;
	for (int i = 0; i < samples && result == GPU_SUCCESS; i++) {
		result = d->api.memory_set(d->flush, 0, d->flush_bytes, d->stream);
		if (result == GPU_SUCCESS)
			result = d->api.event_record(d->start, d->stream);
		if (result == GPU_SUCCESS && issue(g, which, buffers) != CUBLAS_STATUS_SUCCESS)
			return GPU_SUCCESS;
		if (result == GPU_SUCCESS)
			result = gpu_device_window_end(d, &ms);
		times[i] = (double)ms;
	}
	qsort(times, (size_t)samples, sizeof *times, order_doubles);
	*ret_ms = (float)times[samples / 2];
	return result;
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

/* Marks the product's earlier finalists in ms, all others -1. False unless the library proposes every one of them again. */
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

int cuda_gemm_search(struct cuda_gemm *g, const gpu_address *buffers, struct err *e)
{
	bool taken[ALGORITHMS] = { false };
	float ms[ALGORITHMS], least = 0, again;
	gpu_result result;

	if (g->best >= 0)
		return 0;
	result = gpu_device_flush(g->device);
	if (result == GPU_SUCCESS && !recall(g, ms))
		for (int i = 0; i < g->count && result == GPU_SUCCESS; i++) {
			ms[i] = -1;
			if (!is_usable(g, i))
				continue;
			result = time_one(g, i, 1, buffers, &again); /* loads it */
			if (result == GPU_SUCCESS)
				result = time_one(g, i, FIRST_SAMPLES, buffers, &ms[i]);
		}
	for (int n = 0; n < FINALISTS && result == GPU_SUCCESS; n++) {
		int which = -1;
		for (int i = 0; i < g->count; i++)
			if (ms[i] > 0 && !taken[i] && (which < 0 || ms[i] < ms[which]))
				which = i;
		if (which < 0)
			break;
		taken[which] = true;
		result = time_one(g, which, FINAL_SAMPLES, buffers, &again);
		if (again > 0 && (g->best < 0 || again < least)) {
			g->best = which;
			least = again;
		}
	}
	if (result != GPU_SUCCESS)
		return gpu_device_fail(g->device, result, "timing cuBLASLt's algorithms", e);
	if (g->best < 0)
		return err_set(e, ERR_UNSUPPORTED, "none of the %d algorithms that cuBLASLt proposes for this product works",
			       g->count);
	remember(g, taken);
	return 0;
}

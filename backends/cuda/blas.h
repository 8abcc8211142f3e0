/* blas: cuBLASLt, NVIDIA's matrix product, opened at run time: what a context with a `library:` line is compared with. Names and values
 * are NVIDIA's published interface (cuBLAS documentation, "Using the cublasLt API"). Called by gemm.c and facts.c. */
#ifndef PEAKD_BACKENDS_CUDA_BLAS_H
#define PEAKD_BACKENDS_CUDA_BLAS_H

#include "backends/cuda/api.h"
#include "base/err.h"

typedef int cublasStatus_t;
typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct cublasLtMatmulDesc_st *cublasLtMatmulDesc_t;
typedef struct cublasLtMatrixLayout_st *cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulPreference_st *cublasLtMatmulPreference_t;
typedef struct { uint64_t data[8]; } cublasLtMatmulAlgo_t;
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
enum { CUBLASLT_MATMUL_DESC_TRANSA = 3, CUBLASLT_MATMUL_DESC_TRANSB = 4, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1 };

/* X(need, member, symbol, (parameters)): as in api.h. */
#define CUDA_BLAS_LIST(X) \
	X(1, handle_new, cublasLtCreate, (cublasLtHandle_t *handle)) \
	X(1, handle_free, cublasLtDestroy, (cublasLtHandle_t handle)) \
	X(1, desc_new, cublasLtMatmulDescCreate, (cublasLtMatmulDesc_t *desc, int compute, int scale)) \
	X(1, desc_free, cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t desc)) \
	X(1, desc_set, cublasLtMatmulDescSetAttribute, (cublasLtMatmulDesc_t desc, int attribute, const void *value, size_t bytes)) \
	X(1, layout_new, cublasLtMatrixLayoutCreate, (cublasLtMatrixLayout_t *layout, int type, uint64_t rows, uint64_t columns, \
	                                              int64_t ld)) \
	X(1, layout_free, cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t layout)) \
	X(1, preference_new, cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t *preference)) \
	X(1, preference_free, cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t preference)) \
	X(1, preference_set, cublasLtMatmulPreferenceSetAttribute, \
	  (cublasLtMatmulPreference_t preference, int attribute, const void *value, size_t bytes)) \
	X(1, heuristic, cublasLtMatmulAlgoGetHeuristic, \
	  (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, \
	   cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int wanted, \
	   cublasLtMatmulHeuristicResult_t *list, int *count)) \
	X(1, matmul, cublasLtMatmul, \
	  (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a, cublasLtMatrixLayout_t layout_a, \
	   const void *b, cublasLtMatrixLayout_t layout_b, const void *beta, const void *c, cublasLtMatrixLayout_t layout_c, void *d, \
	   cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t *algo, void *workspace, size_t bytes, CUstream stream))

#define CUDA_MEMBER_BLAS(need, member, symbol, parameters) cublasStatus_t (*member) parameters;
struct cuda_blas { CUDA_BLAS_LIST(CUDA_MEMBER_BLAS) };

/* Opens the newest cuBLASLt that is found where NVRTC is sought too (library.h). -ERR_UNSUPPORTED: none; says what brings it. */
int cuda_blas_open(struct cuda_blas *ret_blas, struct err *e);
/* "13.0.2.14", from the library's file name, without opening it; "" when there is none. */
void cuda_blas_version(char version[32]);

#endif

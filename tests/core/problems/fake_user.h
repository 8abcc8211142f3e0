/* fake_user: a program that uses the library all_of_it (test_export.c) as people do: through its header, and through dlopen as
 * TVM-FFI does, with a fake libtvm_ffi inside.
 *   user launch N S SHIFT     calls the launch; every address is shifted
 *   user tvm CHANGE           calls __tvm_ffi_all_of_it with one thing changed
 *   user twice                launches twice and prints how many binaries were loaded */
#ifdef AGAINST_HEADER
#include <cuda.h>
#include "all_of_it.c"
#define SAME(a, b, c, d) _Static_assert(offsetof(struct a, b) == offsetof(c, d), #b)
SAME(peakd_attribute, id, CUlaunchAttribute, id);
SAME(peakd_attribute, value, CUlaunchAttribute, value);
_Static_assert(sizeof(struct peakd_attribute) == sizeof(CUlaunchAttribute), "CUlaunchAttribute");
SAME(peakd_config, grid, CUlaunchConfig, gridDimX);
SAME(peakd_config, block, CUlaunchConfig, blockDimX);
SAME(peakd_config, shared, CUlaunchConfig, sharedMemBytes);
SAME(peakd_config, stream, CUlaunchConfig, hStream);
SAME(peakd_config, attributes, CUlaunchConfig, attrs);
SAME(peakd_config, attribute_count, CUlaunchConfig, numAttrs);
_Static_assert(sizeof(struct peakd_config) == sizeof(CUlaunchConfig), "CUlaunchConfig");
_Static_assert(sizeof(struct peakd_tensor_map) == sizeof(CUtensorMap), "CUtensorMap");
_Static_assert(_Alignof(struct peakd_tensor_map) >= _Alignof(CUtensorMap), "CUtensorMap");
_Static_assert(CU_LAUNCH_ATTRIBUTE_COOPERATIVE == 2 && CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION == 4, "attributes of a launch");
_Static_assert(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES == 8 && CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED == 14,
	       "limits");
_Static_assert(CUDA_ERROR_NO_BINARY_FOR_GPU == PEAKD_WRONG_BINARY, "a binary of another architecture");
_Static_assert(CU_TENSOR_MAP_L2_PROMOTION_L2_128B == 2 && CU_TENSOR_MAP_SWIZZLE_128B == 3, "tensor maps");
#else
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "all_of_it.h"

typedef struct { int32_t type_index; uint32_t zero; union { int64_t i; double f; void *p; } v; } any;
struct tensor {
	void *data;
	int32_t device_type, device;
	int32_t rank;
	uint8_t code, bits;
	uint16_t lanes;
	int64_t *shape, *strides;
	uint64_t offset;
};

void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) { printf("%s: %s\n", kind, message); }
void *TVMFFIEnvGetStream(int32_t type, int32_t device) { return (void *)(size_t)(type == 2 && device == 3 ? 55 : 0); }

static int call_tvm(void *library, const char *change)
{
	int64_t a_shape[] = { 256, 256 }, c_shape[] = { 256, 256 }, c_strides[] = { 264, 1 }, d_shape[] = { 256 };
	struct tensor a = { (void *)4096, 2, 3, 2, 2, 16, 1, a_shape, NULL, 0 },
		      d = { (void *)(12288 - 64), 2, 3, 1, 0, 64, 1, d_shape, NULL, 64 };
	struct { char header[24]; struct tensor c; } object = { { 0 }, { (void *)8192, 2, 3, 2, 2, 32, 1, c_shape, c_strides, 0 } };
	any arguments[] = { { 3, 0, { .f = 1.5 } }, { 7, 0, { .p = &a } }, { 7, 0, { .p = &d } }, { 7, 0, { .p = &object.c } } },
	    result = { 0 };
	int count = strcmp(change, "count") == 0 ? 2 : 4;
	int (*entry)(void *, const any *, int32_t, any *);
	void *found = dlsym(library, "__tvm_ffi_all_of_it");
	memcpy(&entry, &found, sizeof found);
	if (strcmp(change, "object") == 0)
		arguments[3] = (any){ 70, 0, { .p = &object } };
	else if (strcmp(change, "shape") == 0)
		a_shape[1] = 255;
	else if (strcmp(change, "type") == 0)
		a.code = 4;
	else if (strcmp(change, "stride") == 0)
		c_strides[0] = 256;
	else if (strcmp(change, "number") == 0)
		arguments[0].v.f = 1.75;
	else if (strcmp(change, "cpu") == 0)
		a.device_type = 1;
	return printf("returned %d\n", entry(NULL, arguments, count, &result));
}

int main(int argc, char **argv)
{
	void *library = dlopen("./liball_of_it.so", RTLD_NOW | RTLD_LOCAL), *found = NULL;
	__typeof__(all_of_it_launch) *launch;
	__typeof__(all_of_it_error) *error;
	if (library == NULL || argc < 2)
		return 2;
	found = dlsym(library, "all_of_it_launch");
	memcpy(&launch, &found, sizeof found);
	found = dlsym(library, "all_of_it_error");
	memcpy(&error, &found, sizeof found);
	if (strcmp(argv[1], "tvm") == 0)
		return call_tvm(library, argv[2]) < 0;
	if (strcmp(argv[1], "twice") == 0) {
		FILE *quiet = freopen("/dev/null", "w", stdout);
		for (int i = 0; i < 2; i++)
			launch((void *)4096, (void *)8192, (void *)12288, 256, 1.5f, (cudaStream_t)77);
		found = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_loads");
		fprintf(stderr, "loads %d\n", *(int *)found);
		return quiet == NULL;
	}
	size_t shift = (size_t)atoi(argv[4]);
	int code =
		launch((void *)(4096 + shift), (void *)8192, (void *)12288, atoi(argv[2]), (float)atof(argv[3]), (cudaStream_t)77);
	printf("result %d %s\n", code, error(code));
	return 0;
}
#endif

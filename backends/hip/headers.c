/* headers: see headers.h. hiprtc's built-in declarations have size_t, the fixed-width integers, __half and the mathematical
 * functions, so most of these are empty. */
#include "backends/hip/headers.h"

#include "base/mem.h"

#define LIMITS \
	"#pragma once\n" \
	"#define INT_MAX 2147483647\n#define INT_MIN (-INT_MAX - 1)\n#define UINT_MAX 4294967295u\n" \
	"#define LLONG_MAX 9223372036854775807ll\n#define LLONG_MIN (-LLONG_MAX - 1)\n#define ULLONG_MAX 18446744073709551615ull\n"
#define FLOAT \
	"#pragma once\n" \
	"#define FLT_MAX __FLT_MAX__\n#define FLT_MIN __FLT_MIN__\n#define FLT_EPSILON __FLT_EPSILON__\n" \
	"#define DBL_MAX __DBL_MAX__\n#define DBL_MIN __DBL_MIN__\n#define DBL_EPSILON __DBL_EPSILON__\n"
#define MATH \
	"#pragma once\n" \
	"#ifndef INFINITY\n#define INFINITY __builtin_huge_valf()\n#endif\n#ifndef NAN\n#define NAN __builtin_nanf(\"\")\n#endif\n" \
	"#define M_PI 3.14159265358979323846\n"
#define HALF "#pragma once\ntypedef __half half;\ntypedef __half2 half2;\n"
#define BUILT_IN "#pragma once\n"

#define LIST(X) \
	X("stdint.h", BUILT_IN) X("cstdint", BUILT_IN) X("stddef.h", BUILT_IN) X("cstddef", BUILT_IN) \
	X("stdio.h", BUILT_IN) X("cstdio", BUILT_IN) X("stdlib.h", BUILT_IN) X("assert.h", BUILT_IN) X("cassert", BUILT_IN) \
	X("limits.h", LIMITS) X("climits", LIMITS) X("float.h", FLOAT) X("cfloat", FLOAT) X("math.h", MATH) X("cmath", MATH) \
	X("string.h", BUILT_IN) X("hip/hip_runtime.h", BUILT_IN) X("hip/hip_fp16.h", HALF)
#define NAME(name, text) name,
#define TEXT(name, text) text,

const char *const hip_headers_names[] = { LIST(NAME) };
const char *const hip_headers_texts[] = { LIST(TEXT) };
const int hip_headers_count = MEM_COUNT(hip_headers_names);

#define INDEX(hip, plain) \
	"#ifndef hip" hip "_x\n#define hip" hip "_x " plain ".x\n#define hip" hip "_y " plain ".y\n#define hip" hip "_z " plain ".z\n#endif\n"

const char hip_headers_begin[] =
	INDEX("ThreadIdx", "threadIdx") INDEX("BlockIdx", "blockIdx") INDEX("BlockDim", "blockDim") INDEX("GridDim", "gridDim")
	"#pragma clang force_cuda_host_device begin\n";
const char hip_headers_end[] = "\n#pragma clang force_cuda_host_device end\n";

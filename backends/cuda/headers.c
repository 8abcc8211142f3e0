/* headers: see headers.h. The types are those that the toolkit's own cuda/std/cstdint has under NVRTC, so that both can be
 * included; everything else that such headers declare (size_t, printf, assert, sqrtf, …) NVRTC has built in. */
#include "backends/cuda/headers.h"

#include "base/mem.h"

#define STDINT \
	"#pragma once\n" \
	"typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;\n" \
	"typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;\n" \
	"typedef unsigned long long uint64_t; typedef long long intptr_t; typedef unsigned long long uintptr_t;\n"
#define LIMITS \
	"#pragma once\n" \
	"#define INT_MAX 2147483647\n#define INT_MIN (-INT_MAX - 1)\n#define UINT_MAX 4294967295u\n" \
	"#define LLONG_MAX 9223372036854775807ll\n#define LLONG_MIN (-LLONG_MAX - 1)\n#define ULLONG_MAX 18446744073709551615ull\n"
#define FLOAT \
	"#pragma once\n" \
	"#define FLT_MAX 3.40282346638528859812e+38f\n#define FLT_MIN 1.17549435082228750797e-38f\n" \
	"#define FLT_EPSILON 1.19209289550781250000e-7f\n#define DBL_MAX 1.79769313486231570815e+308\n" \
	"#define DBL_MIN 2.22507385850720138309e-308\n#define DBL_EPSILON 2.22044604925031308085e-16\n"
#define MATH \
	"#pragma once\n" \
	"#define INFINITY __int_as_float(0x7f800000)\n#define NAN __int_as_float(0x7fffffff)\n" \
	"#define M_PI 3.14159265358979323846\n"
/* What a kernel needs of the driver API's header: the type of a tensor map parameter. */
#define DRIVER \
	"#pragma once\n" \
	"typedef struct alignas(64) CUtensorMap_st { unsigned long long opaque[16]; } CUtensorMap;\n"
#define BUILT_IN "#pragma once\n"

#define LIST(X) \
	X("stdint.h", STDINT) X("cstdint", STDINT) X("stddef.h", BUILT_IN) X("cstddef", BUILT_IN) \
	X("stdio.h", BUILT_IN) X("cstdio", BUILT_IN) X("stdlib.h", BUILT_IN) X("assert.h", BUILT_IN) X("cassert", BUILT_IN) \
	X("limits.h", LIMITS) X("climits", LIMITS) X("float.h", FLOAT) X("cfloat", FLOAT) X("math.h", MATH) X("cmath", MATH) \
	X("string.h", BUILT_IN) X("cuda.h", DRIVER) X("cudaTypedefs.h", "#include <cuda.h>\n") X("cuda_runtime.h", BUILT_IN) \
	X("device_launch_parameters.h", BUILT_IN)
#define NAME(name, text) name,
#define TEXT(name, text) text,

const char *const cuda_headers_names[] = { LIST(NAME) };
const char *const cuda_headers_texts[] = { LIST(TEXT) };
const int cuda_headers_count = MEM_COUNT(cuda_headers_names);

/* judge_prelude: what C's headers would bring to the files that judge_kernels.cu shares with the host. */
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define UINT64_C(x) x##ull
#define UINT64_MAX 0xffffffffffffffffull
#define INFINITY __longlong_as_double(0x7ff0000000000000ll)
#define NAN __longlong_as_double(0x7ff8000000000000ll)
#define __builtin_floor floor
#define __builtin_ceil ceil

// What a lifted CUDA or HIP context (lift.h) calls in place of functions of float. Sections as in lift.hlsl; those marked @@ are for
// contexts all of whose arrays are lifted, those marked @! for the others.
//@@ cuda_fp16 cuda_bf16 cuda_fp8 hip_fp16 hip_bf16 hip_bfloat16 _Float16
// All arrays are arrays of double: types of 16 and 8 bits are double, and conversions change nothing.
#ifndef __HIP__ // its vectors have operators
static __device__ inline double2 operator+(double2 a, double2 b) { return make_double2(a.x + b.x, a.y + b.y); }
static __device__ inline double2 operator-(double2 a, double2 b) { return make_double2(a.x - b.x, a.y - b.y); }
static __device__ inline double2 operator*(double2 a, double2 b) { return make_double2(a.x * b.x, a.y * b.y); }
static __device__ inline double2 operator/(double2 a, double2 b) { return make_double2(a.x / b.x, a.y / b.y); }
static __device__ inline double2 &operator+=(double2 &a, double2 b) { return a = a + b; }
static __device__ inline double2 &operator-=(double2 &a, double2 b) { return a = a - b; }
static __device__ inline double2 &operator*=(double2 &a, double2 b) { return a = a * b; }
static __device__ inline double2 operator-(double2 a) { return make_double2(-a.x, -a.y); }
#endif
static __device__ inline double2 peakd_both(double x) { return make_double2(x, x); }
static __device__ inline double2 peakd_fma2(double2 a, double2 b, double2 c) { return make_double2(fma(a.x, b.x, c.x), fma(a.y, b.y, c.y)); }
static __device__ inline double2 peakd_max2(double2 a, double2 b) { return make_double2(fmax(a.x, b.x), fmax(a.y, b.y)); }
static __device__ inline double2 peakd_min2(double2 a, double2 b) { return make_double2(fmin(a.x, b.x), fmin(a.y, b.y)); }
static __device__ inline double2 peakd_exp2x(double2 a) { return make_double2(exp(a.x), exp(a.y)); }
#define __half2float(x) ((double)(x))
#define __float2half(x) ((double)(x))
#define __float2half_rn(x) ((double)(x))
#define __double2half(x) ((double)(x))
#define __half2double(x) ((double)(x))
#define __int2half_rn(x) ((double)(x))
#define __uint2half_rn(x) ((double)(x))
#define __ushort2half_rn(x) ((double)(x))
#define __bfloat162float(x) ((double)(x))
#define __float2bfloat16(x) ((double)(x))
#define __float2bfloat16_rn(x) ((double)(x))
#define __double2bfloat16(x) ((double)(x))
#define __int2bfloat16_rn(x) ((double)(x))
#define __half22float2(v) (v)
#define __float22half2_rn(v) (v)
#define __bfloat1622float2(v) (v)
#define __float22bfloat162_rn(v) (v)
#define __floats2half2_rn(a, b) make_double2(a, b)
#define __halves2half2(a, b) make_double2(a, b)
#define __floats2bfloat162_rn(a, b) make_double2(a, b)
#define __halves2bfloat162(a, b) make_double2(a, b)
#define make_half2(a, b) make_double2(a, b)
#define make_bfloat162(a, b) make_double2(a, b)
#define __half2half2(x) peakd_both(x)
#define __float2half2_rn(x) peakd_both(x)
#define __bfloat162bfloat162(x) peakd_both(x)
#define __float2bfloat162_rn(x) peakd_both(x)
#define __low2half(v) ((v).x)
#define __high2half(v) ((v).y)
#define __low2float(v) ((v).x)
#define __high2float(v) ((v).y)
#define __low2bfloat16(v) ((v).x)
#define __high2bfloat16(v) ((v).y)
#define __hadd(a, b) ((double)(a) + (double)(b))
#define __hadd_rn(a, b) ((double)(a) + (double)(b))
#define __hadd2 operator+
#define __hsub(a, b) ((double)(a) - (double)(b))
#define __hsub_rn(a, b) ((double)(a) - (double)(b))
#define __hsub2 operator-
#define __hmul(a, b) ((double)(a) * (double)(b))
#define __hmul_rn(a, b) ((double)(a) * (double)(b))
#define __hmul2 operator*
#define __hdiv(a, b) ((double)(a) / (double)(b))
#define __hdiv_rn(a, b) ((double)(a) / (double)(b))
#define __hdiv2 operator/
#define __hgt(a, b) ((double)(a) > (double)(b))
#define __hlt(a, b) ((double)(a) < (double)(b))
#define __hge(a, b) ((double)(a) >= (double)(b))
#define __hle(a, b) ((double)(a) <= (double)(b))
#define __heq(a, b) ((double)(a) == (double)(b))
#define __hne(a, b) ((double)(a) != (double)(b))
#define __hfma fma
#define __hfma2 peakd_fma2
#define __hmax fmax
#define __hmin fmin
#define __hmax2 peakd_max2
#define __hmin2 peakd_min2
#define __hneg(x) (-(double)(x))
#define __habs fabs
#define __hisnan isnan
#define hexp exp
#define hexp2 exp2
#define h2exp peakd_exp2x
#define hlog log
#define hlog2 log2
#define hsqrt sqrt
#define hrsqrt rsqrt
#define hrcp(x) (1.0 / (double)(x))
#define hsin sin
#define hcos cos
#define htanh tanh
#define hfloor floor
#define hceil ceil
#define half double
#define half2 double2
#define __half double
#define __half2 double2
#define nv_bfloat16 double
#define nv_bfloat162 double2
#define __nv_bfloat16 double
#define __nv_bfloat162 double2
#define __hip_bfloat16 double
#define __hip_bfloat162 double2
#define hip_bfloat16 double
#define _Float16 double
#define __nv_fp8_e4m3 double
#define __nv_fp8_e5m2 double
//@! __half22float2 __bfloat1622float2
static __device__ inline double2 peakd_wide(float2 v) { return make_double2(v.x, v.y); }
#define __half22float2(h) peakd_wide(__half22float2(h))
#define __bfloat1622float2(h) peakd_wide(__bfloat1622float2(h))
//@! __float22half2_rn __float22bfloat162_rn
static __device__ inline float2 peakd_narrow(double2 v) { return make_float2((float)v.x, (float)v.y); }
#define __float22half2_rn(v) __float22half2_rn(peakd_narrow(v))
#define __float22bfloat162_rn(v) __float22bfloat162_rn(peakd_narrow(v))
//@
#define float double
#define float1 double1
#define float2 double2
#define float3 double3
#define float4 double4
#define make_float1 make_double1
#define make_float2 make_double2
#define make_float3 make_double3
#define make_float4 make_double4
// Constants such as INFINITY stay floats.
#define atan2(a, b) atan2((double)(a), (double)(b))
#define copysign(a, b) copysign((double)(a), (double)(b))
#define fdim(a, b) fdim((double)(a), (double)(b))
#define fmax(a, b) fmax((double)(a), (double)(b))
#define fmin(a, b) fmin((double)(a), (double)(b))
#define fmod(a, b) fmod((double)(a), (double)(b))
#define hypot(a, b) hypot((double)(a), (double)(b))
#define pow(a, b) pow((double)(a), (double)(b))
#define remainder(a, b) remainder((double)(a), (double)(b))
#define fma(a, b, c) fma((double)(a), (double)(b), (double)(c))
#define acosf acos
#define acoshf acosh
#define asinf asin
#define asinhf asinh
#define atanf atan
#define atan2f atan2
#define atanhf atanh
#define cbrtf cbrt
#define ceilf ceil
#define copysignf copysign
#define cosf cos
#define coshf cosh
#define cospif cospi
#define erff erf
#define erfcf erfc
#define erfcxf erfcx
#define erfinvf erfinv
#define expf exp
#define exp2f exp2
#define exp10f exp10
#define expm1f expm1
#define fabsf fabs
#define fdimf fdim
#define fdividef(a, b) ((double)(a) / (double)(b))
#define floorf floor
#define fmaf fma
#define fmaxf fmax
#define fminf fmin
#define fmodf fmod
#define frexpf frexp
#define hypotf hypot
#define ldexpf ldexp
#define lgammaf lgamma
#define logf log
#define log10f log10
#define log1pf log1p
#define log2f log2
#define lrintf lrint
#define llrintf llrint
#define lroundf lround
#define modff modf
#define nearbyintf nearbyint
#define normf norm
#define normcdff normcdf
#define powf pow
#define rcbrtf rcbrt
#define remainderf remainder
#define rhypotf rhypot
#define rintf rint
#define roundf round
#define rsqrtf rsqrt
#define sinf sin
#define sincosf sincos
#define sinhf sinh
#define sinpif sinpi
#define sqrtf sqrt
#define tanf tan
#define tanhf tanh
#define tgammaf tgamma
#define truncf trunc
#define __cosf cos
#define __sinf sin
#define __tanf tan
#define __sincosf sincos
#define __expf exp
#define __exp10f exp10
#define __logf log
#define __log2f log2
#define __log10f log10
#define __powf pow
#define __tanhf tanh
#define __saturatef(x) fmin(fmax((double)(x), 0.0), 1.0)
#define __fdividef(a, b) ((double)(a) / (double)(b))
#define __fadd_rn __dadd_rn
#define __fsub_rn __dsub_rn
#define __fmul_rn __dmul_rn
#define __fmaf_rn __fma_rn
#define __fdiv_rn __ddiv_rn
#define __frcp_rn __drcp_rn
#define __fsqrt_rn __dsqrt_rn
#define __frsqrt_rn rsqrt
#define __float2int_rn __double2int_rn
#define __float2int_rd __double2int_rd
#define __float2int_ru __double2int_ru
#define __float2int_rz __double2int_rz
#define __float2uint_rn __double2uint_rn
#define __float2uint_rd __double2uint_rd
#define __float2uint_ru __double2uint_ru
#define __float2uint_rz __double2uint_rz
#define __float2ll_rn __double2ll_rn
#define __float2ll_rd __double2ll_rd
#define __float2ll_ru __double2ll_ru
#define __float2ll_rz __double2ll_rz

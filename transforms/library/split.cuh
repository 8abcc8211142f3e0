/* Single precision out of products of half. A number x, multiplied by a power of two so that the largest of its row (or column) lies
 * between 2^14 and 2^15, is held as two halves: hi is x rounded to half, lo is 2048 times what is missing. Together they hold 23 bits of every
 * number down to 2^-28 of the largest, so that of (hi + lo/2048)·(hi' + lo'/2048) the term lo·lo' is too small to matter. */
#include <cuda_fp16.h>

/* The power of two that brings numbers up to `largest` below 2^15, and its inverse; exact. */
__device__ __forceinline__ int split_exponent(float largest) { return max(__float_as_int(largest) >> 23, 15); }
__device__ __forceinline__ float split_scale(float largest) { return __int_as_float((268 - split_exponent(largest)) << 23); }
__device__ __forceinline__ float split_unscale(float largest) { return __int_as_float((split_exponent(largest) - 14) << 23); }

/* x is scaled already. */
__device__ __forceinline__ void split(float x, half &hi, half &lo)
{
	hi = __float2half_rn(x);
	lo = __float2half_rn((x - __half2float(hi)) * 2048);
}
/* Four neighbours, each with its own scale; hi and lo point to multiples of 8 bytes. */
__device__ __forceinline__ void split4(float4 x, float4 scale, half *hi, half *lo)
{
	__align__(8) half h[4], l[4];
	split(x.x * scale.x, h[0], l[0]);
	split(x.y * scale.y, h[1], l[1]);
	split(x.z * scale.z, h[2], l[2]);
	split(x.w * scale.w, h[3], l[3]);
	*reinterpret_cast<uint2 *>(hi) = *reinterpret_cast<const uint2 *>(h);
	*reinterpret_cast<uint2 *>(lo) = *reinterpret_cast<const uint2 *>(l);
}
#define SPLIT_LO (1.0f / 2048) /* what a product with one lo counts */

/* The largest of the 32 values of a warp, in each of its threads. */
__device__ __forceinline__ float warp_largest(float x)
{
#pragma unroll
	for (int lanes = 16; lanes; lanes /= 2)
		x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, lanes));
	return x;
}
/* *to becomes the larger of itself and x; both are not negative, and bits of such floats are ordered as integers. */
__device__ __forceinline__ void atomic_largest(float *to, float x) { atomicMax(reinterpret_cast<int *>(to), __float_as_int(x)); }

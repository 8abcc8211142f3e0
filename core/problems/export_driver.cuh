// What the exported driver is made of: buffers, filling, launching, timing, checking. Nothing here depends on the kernel.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#ifdef PEAKD_FP8
#include <cuda_fp8.h>
#endif

namespace peakd {

enum type { I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, E4M3, E5M2 };
enum role { IN, OUT, INOUT, SCRATCH, TABLE };
enum fill { ZEROS, ONES, RANDOM, NORMAL, IOTA, SORTED, PERMUTATION, PROBABILITIES };

struct buffer {
	const char *name;
	type element;
	role is;
	fill with;
	double lo, hi;            // of RANDOM and SORTED
	uint64_t rows, columns;   // logical extents, the outer ones together
	uint64_t ld;              // elements between rows
	uint64_t bytes;           // allocated
	const void *table;        // content of a TABLE
};

inline void ok(cudaError_t result, const char *what)
{
	if (result == cudaSuccess)
		return;
	fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
	exit(2);
}

inline size_t size_of(type t)
{
	static const unsigned char sizes[] = { 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 1, 1 };
	return sizes[t];
}

inline bool is_float(type t) { return t >= F16; }

template <class T> inline void put(void *to, T value) { memcpy(to, &value, sizeof value); }
template <class T> inline T get(const void *from) { T value; memcpy(&value, from, sizeof value); return value; }

inline void store(type t, void *to, double v)
{
	switch (t) {
	case I8: put(to, (int8_t)v); break;
	case I16: put(to, (int16_t)v); break;
	case I32: put(to, (int32_t)v); break;
	case I64: put(to, (int64_t)v); break;
	case U8: put(to, (uint8_t)v); break;
	case U16: put(to, (uint16_t)v); break;
	case U32: put(to, (uint32_t)v); break;
	case U64: put(to, (uint64_t)v); break;
	case F16: put(to, __float2half((float)v)); break;
	case BF16: put(to, __float2bfloat16((float)v)); break;
	case F32: put(to, (float)v); break;
	case F64: put(to, v); break;
#ifdef PEAKD_FP8
	case E4M3: put(to, __nv_fp8_e4m3((float)v)); break;
	case E5M2: put(to, __nv_fp8_e5m2((float)v)); break;
#else
	case E4M3: case E5M2: break;
#endif
	}
}

inline double load(type t, const void *from)
{
	switch (t) {
	case I8: return get<int8_t>(from);
	case I16: return get<int16_t>(from);
	case I32: return get<int32_t>(from);
	case I64: return (double)get<int64_t>(from);
	case U8: return get<uint8_t>(from);
	case U16: return get<uint16_t>(from);
	case U32: return get<uint32_t>(from);
	case U64: return (double)get<uint64_t>(from);
	case F16: return __half2float(get<__half>(from));
	case BF16: return __bfloat162float(get<__nv_bfloat16>(from));
	case F32: return get<float>(from);
	case F64: return get<double>(from);
#ifdef PEAKD_FP8
	case E4M3: return (float)get<__nv_fp8_e4m3>(from);
	case E5M2: return (float)get<__nv_fp8_e5m2>(from);
#else
	case E4M3: case E5M2: return 0;
#endif
	}
	return 0;
}

// SplitMix64 (Steele, Lea, Flood 2014): a number for every index, the same on every machine.
inline uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

inline double uniform(uint64_t seed, uint64_t i) { return (double)(mix(seed * 0x2545f4914f6cdd1du + i) >> 11) * 0x1p-53; }

inline double value(const buffer &b, uint64_t seed, uint64_t i)
{
	uint64_t row = i / b.columns, column = i % b.columns;
	switch (b.with) {
	case ZEROS: return 0;
	case ONES: return 1;
	case IOTA: return (double)i;
	case NORMAL: return sqrt(-2 * log(1 - uniform(seed, 2 * i))) * cos(6.283185307179586 * uniform(seed, 2 * i + 1));
	case SORTED: return b.lo + (b.hi - b.lo) * ((double)column + uniform(seed, i)) / (double)b.columns;
	case PERMUTATION: return (double)((column + mix(seed + row)) % b.columns);
	case PROBABILITIES: // pairs of columns share 2 / columns
		if (column + 1 == b.columns && column % 2 == 0)
			return 1 / (double)b.columns;
		return (column % 2 ? 2 - 2 * uniform(seed, i - 1) : 2 * uniform(seed, i)) / (double)b.columns;
	case RANDOM: break;
	}
	return b.lo + (b.hi - b.lo) * uniform(seed, i);
}

// The values of an input as bytes; padding is zero.
inline std::vector<unsigned char> image(const buffer &b, uint64_t seed)
{
	std::vector<unsigned char> bytes(b.bytes);
	size_t size = size_of(b.element);
	for (uint64_t r = 0; r < b.rows; r++)
		for (uint64_t c = 0; c < b.columns; c++)
			store(b.element, &bytes[(r * b.ld + c) * size], value(b, seed, r * b.columns + c));
	return bytes;
}

// Device memory for a list of buffers; outputs and scratch are poisoned with 0xFF (NaN in every floating type).
inline std::vector<void *> place(const buffer *list, size_t count, const std::vector<std::vector<unsigned char>> &images)
{
	std::vector<void *> device(count);
	for (size_t i = 0; i < count; i++) {
		const buffer &b = list[i];
		ok(cudaMalloc(&device[i], b.bytes), b.name);
		ok(cudaMemset(device[i], 0xff, b.bytes), b.name);
		const void *from = b.is == TABLE ? b.table : b.is == IN || b.is == INOUT ? images[i].data() : nullptr;
		if (from)
			ok(cudaMemcpy(device[i], from, b.bytes, cudaMemcpyHostToDevice), b.name);
	}
	return device;
}

inline void launch(const void *kernel, const char *name, dim3 grid, dim3 block, unsigned shared, dim3 cluster, bool cooperative,
                   void **arguments)
{
	cudaLaunchAttribute attributes[2];
	cudaLaunchConfig_t config = {};
	unsigned blocks = cluster.x * cluster.y * cluster.z;
	config.gridDim = grid;
	config.blockDim = block;
	config.dynamicSmemBytes = shared;
	config.attrs = attributes;
	if (shared > 48 * 1024)
		ok(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared), name);
	if (blocks > 8)
		ok(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), name);
	if (blocks > 1) {
		attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
		attributes[config.numAttrs].val.clusterDim.x = cluster.x;
		attributes[config.numAttrs].val.clusterDim.y = cluster.y;
		attributes[config.numAttrs++].val.clusterDim.z = cluster.z;
	}
	if (cooperative) {
		attributes[config.numAttrs].id = cudaLaunchAttributeCooperative;
		attributes[config.numAttrs++].val.cooperative = 1;
	}
	ok(cudaLaunchKernelExC(&config, kernel, arguments), name);
}

// Compares one output with the reference's: ||got - want|| / ||want|| for floating types, every element for integers.
inline bool compare(const buffer &b, const void *got_device, const void *want_device, double tolerance)
{
	std::vector<unsigned char> got(b.bytes), want(b.bytes);
	size_t size = size_of(b.element);
	double difference = 0, norm = 0;
	uint64_t wrong = 0;
	ok(cudaMemcpy(got.data(), got_device, b.bytes, cudaMemcpyDeviceToHost), b.name);
	ok(cudaMemcpy(want.data(), want_device, b.bytes, cudaMemcpyDeviceToHost), b.name);
	for (uint64_t r = 0; r < b.rows; r++)
		for (uint64_t c = 0; c < b.columns; c++) {
			size_t at = (r * b.ld + c) * size;
			double g = load(b.element, &got[at]), w = load(b.element, &want[at]);
			bool same = memcmp(&got[at], &want[at], size) == 0;
			bool bad = is_float(b.element) ? std::isfinite(w) != std::isfinite(g) : !same;
			if (bad && wrong++ < 8)
				printf("  %s[%llu][%llu] = %.9g, want %.9g\n", b.name, (unsigned long long)r, (unsigned long long)c, g, w);
			if (!bad && std::isfinite(w)) {
				difference += (g - w) * (g - w);
				norm += w * w;
			}
		}
	double error = norm > 0 ? sqrt(difference / norm) : sqrt(difference);
	bool good = wrong == 0 && (!is_float(b.element) || error <= tolerance);
	printf("check %s: relative error %.3g, tolerance %.3g, %llu wrong elements: %s\n", b.name, error, tolerance,
	       (unsigned long long)wrong, good ? "passed" : "FAILED");
	return good;
}

// Median of 20 runs in milliseconds, each after the L2 cache was overwritten.
inline double median_ms(void (*run)(void *const *device), void *const *device)
{
	const size_t flush_bytes = size_t(256) << 20;
	void *flush = nullptr;
	std::vector<float> times(20);
	cudaEvent_t begin, end;
	ok(cudaMalloc(&flush, flush_bytes), "memory to flush the cache with");
	ok(cudaEventCreate(&begin), "event");
	ok(cudaEventCreate(&end), "event");
	for (int i = -3; i < (int)times.size(); i++) {
		float ms;
		ok(cudaMemsetAsync(flush, i & 0xff, flush_bytes), "flush");
		ok(cudaEventRecord(begin), "event");
		run(device);
		ok(cudaEventRecord(end), "event");
		ok(cudaEventSynchronize(end), "run");
		ok(cudaEventElapsedTime(&ms, begin, end), "event");
		if (i >= 0)
			times[i] = ms;
	}
	ok(cudaFree(flush), "flush");
	std::sort(times.begin(), times.end());
	return (times[times.size() / 2 - 1] + times[times.size() / 2]) / 2;
}

} // namespace peakd

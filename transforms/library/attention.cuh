/* What attention on Hopper (sm_90a) needs beside hopper.cuh, which stands in front: panels of arrays with three extents, the product of
 * rows with rows (scores), the product whose first factor is in registers (weights times values), and what the threads that hold a
 * row of a tile need for a softmax. PTX ISA 8.x: wgmma §9.7.15 (register fragments of A and D, matrix descriptors), ex2 §9.7.3.21.
 *
 * As in hopper.cuh a thread holds the elements i of a warpgroup's 64 x N tile of floats, at (acc_row(i), acc_col(i)). They belong to only
 * two rows of the tile, and the other elements of these rows are in the three other threads of a group of four neighbours. */

/* Which of the thread's two rows element i belongs to, 0 or 1. */
__device__ __forceinline__ constexpr int acc_side(int i) { return i / 2 % 2; }
/* Each thread's values for its two rows become the maximum, the sum, over the four threads that hold these rows. By all threads of a warp.
 * The maximum is at least the smallest float: while a row's scores are all minus infinity, their distance to it is no NaN, and their weights
 * are 0. */
__device__ __forceinline__ void row_max(float (&v)[2])
{
#pragma unroll
	for (int r = 0; r < 2; r++) {
		v[r] = fmaxf(v[r], __shfl_xor_sync(0xffffffffu, v[r], 1));
		v[r] = fmaxf(v[r], __shfl_xor_sync(0xffffffffu, v[r], 2));
		v[r] = fmaxf(v[r], -3.402823466e38f);
	}
}
__device__ __forceinline__ void row_sum(float (&v)[2])
{
#pragma unroll
	for (int r = 0; r < 2; r++) {
		v[r] += __shfl_xor_sync(0xffffffffu, v[r], 1);
		v[r] += __shfl_xor_sync(0xffffffffu, v[r], 2);
	}
}
/* 2 to the power of x; of minus infinity it is 0. */
__device__ __forceinline__ float exp2_fast(float x)
{
	float y;
	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}
#define MINUS_INFINITY __int_as_float(0xff800000)

/* --- copies of panels of an array with three extents, [slice][row][col]; called by ONE thread. What lies outside of the slice reads as zero
 * and is not written. The map's box is {64, rows, 1}. */
__device__ __forceinline__ void load_panel_of(half *to, const tensor_map *map, int col, int row, int slice, barrier *b)
{
	asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
	             :: "r"(shared_address(to)), "l"(map), "r"(col), "r"(row), "r"(slice), "r"(shared_address(b)) : "memory");
}
__device__ __forceinline__ void store_panel_of(const tensor_map *map, int col, int row, int slice, const half *from)
{
	asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];"
	             :: "l"(map), "r"(shared_address(from)), "r"(col), "r"(row), "r"(slice) : "memory");
}

/* --- products of a warpgroup; wgmma_begin, wgmma_commit as in hopper.cuh ------------------------------------------------------ */
/* Behind wgmma_wait, for each array of sums that has become complete: only behind this call are its elements read or written. */
template <int N> __device__ __forceinline__ void acc_ready(float (&acc)[N])
{
#pragma unroll
	for (int i = 0; i < N; i++)
		asm volatile("" : "+f"(acc[i]) :: "memory");
}
#define WGMMA_ROWS_(N, REGS, A, B, ADD, ...) \
	asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " ADD ", 0;\n" \
	             "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.f16.f16 {" REGS "}, " A ", " B ", add, 1, 1, 0, 0;\n}" \
	             : __VA_ARGS__ : "l"(a), "l"(b), "r"(add))
/* 16 columns of A and 16 columns of B, both with K along the rows; add 0: acc starts from zero. */
template <int N> __device__ __forceinline__ void wgmma_rows_k16(float (&acc)[N / 2], unsigned long long a, unsigned long long b, int add)
{
	static_assert(N == 64 || N == 128, "wgmma_rows: 64 or 128 rows of B");
	if constexpr (N == 64)
		WGMMA_ROWS_(64, REGS32_, "%32", "%33", "%34", ACC32_(acc, 0));
	else
		WGMMA_ROWS_(128, REGS64_, "%64", "%65", "%66", ACC64_(acc, 0));
}
/* acc (64 x N) = A · B^T, with K columns in both. A: 64 rows of K/64 panels, whose beginnings are a_panel elements apart; B: K/64 panels of N
 * rows, one behind the other. What acc held before is lost. Starts the work and does not wait. */
template <int K, int N> __device__ __forceinline__ void wgmma_rows(float (&acc)[N / 2], const half *a, int a_panel, const half *b)
{
#pragma unroll
	for (int p = 0; p < K / 64; p++) {
		unsigned long long da = panel_descriptor(a + p * a_panel, 0), db = panel_descriptor(b + p * N * 64, 0);
#pragma unroll
		for (int k = 0; k < 4; k++) /* 16 columns are 32 bytes; addresses count in 16 bytes */
			wgmma_rows_k16<N>(acc, da + 2 * k, db + 2 * k, p + k > 0);
	}
}
#define WGMMA_REGISTERS_(N, REGS, A, B, ...) \
	asm volatile("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.f16.f16 {" REGS "}, {" A "}, " B ", 1, 1, 1, 1;" \
	             : __VA_ARGS__ : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b))
template <int N>
__device__ __forceinline__ void wgmma_registers_k16(float (&acc)[N / 2], unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                                    unsigned long long b)
{
	static_assert(N == 64 || N == 128, "wgmma_registers: 64 or 128 columns");
	if constexpr (N == 64)
		WGMMA_REGISTERS_(64, REGS32_, "%32, %33, %34, %35", "%36", ACC32_(acc, 0));
	else
		WGMMA_REGISTERS_(128, REGS64_, "%64, %65, %66, %67", "%68", ACC64_(acc, 0));
}
/* acc (64 x N) += A · B. A: 64 x K, in registers as acc_to_factor leaves it; B: N/64 panels of K rows, one behind the other. Starts the work
 * and does not wait; a may be written again only when it has ended. */
template <int K, int N> __device__ __forceinline__ void wgmma_registers(float (&acc)[N / 2], const unsigned (&a)[K / 4], const half *b)
{
	unsigned long long db = panel_descriptor(b, K * 128);
#pragma unroll
	for (int k = 0; k < K / 16; k++) /* 16 rows of a panel are 2048 bytes */
		wgmma_registers_k16<N>(acc, a[4 * k], a[4 * k + 1], a[4 * k + 2], a[4 * k + 3], db + 128 * k);
}
/* A tile of sums, rounded to half, becomes a first factor for wgmma_registers<2 * N, …>: each thread's elements stay where they are. */
template <int N> __device__ __forceinline__ void acc_to_factor(const float (&acc)[N], unsigned (&a)[N / 2])
{
#pragma unroll
	for (int i = 0; i < N / 2; i++) {
		half2 h = __floats2half2_rn(acc[2 * i], acc[2 * i + 1]);
		a[i] = *reinterpret_cast<unsigned *>(&h);
	}
}

/* --- turns: bar.sync and bar.arrive of PTX ISA §9.7.13.1 for two warpgroups; `id` is 1 to 15 ------------------------------------- */
/* Waits until another warpgroup has called turn_give with this id, once for each call. By all threads of a warpgroup. */
__device__ __forceinline__ void turn_wait(int id) { asm volatile("bar.sync %0, 256;" :: "r"(id) : "memory"); }
__device__ __forceinline__ void turn_give(int id) { asm volatile("bar.arrive %0, 256;" :: "r"(id) : "memory"); }

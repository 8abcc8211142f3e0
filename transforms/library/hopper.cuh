/* A small library for matrix kernels on Hopper (sm_90a): copies of whole tiles by the tensor memory accelerator, barriers that count
 * bytes, matrix products by warpgroups, clusters. PTX ISA 8.x: mbarrier §9.7.13.15, cp.async.bulk.tensor §9.7.9.27, wgmma §9.7.15,
 * setmaxnreg §9.7.19.5, stmatrix §9.7.14.5.16.
 *
 * PANEL: 64 columns (128 bytes) of half, any number of rows, in shared memory at a multiple of 1024 bytes. Element (r, c) stands at
 * panel_at(r, c): the groups of eight columns of each row are permuted ("128-byte swizzle"), so that neither the copy engine nor the
 * tensor cores meet bank conflicts. A tensor map with box {64, rows} and swizzle 128 describes one panel. */
#include <cuda_fp16.h>

struct alignas(64) tensor_map { unsigned long long opaque[16]; }; /* parameter: const __grid_constant__ tensor_map NAME */
typedef unsigned long long barrier;                               /* in shared memory */

__device__ __forceinline__ constexpr int panel_at(int row, int col)
{
	return row * 64 + ((((col >> 3) ^ row) & 7) << 3) + (col & 7);
}
__device__ __forceinline__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

/* --- barriers: a phase ends when `arrivals` threads have arrived and all expected bytes have come; phases are 0, 1, 0, 1, … ------- */
__device__ __forceinline__ void barrier_init(barrier *b, int arrivals)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(b)), "r"(arrivals) : "memory");
}
/* By the thread that called barrier_init, behind the last one; then all threads of the block must meet (__syncthreads()). */
__device__ __forceinline__ void barrier_init_done()
{
	asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void barrier_arrive(barrier *b)
{
	asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(b)) : "memory");
}
/* Arrives, and says how many bytes of copies this phase waits for. */
__device__ __forceinline__ void barrier_arrive_expect(barrier *b, int bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared_address(b)), "r"(bytes) : "memory");
}
/* Arrives at the same barrier of block `rank` of the cluster. */
__device__ __forceinline__ void barrier_arrive_at(barrier *b, int rank)
{
	asm volatile("{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
	             "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" :: "r"(shared_address(b)), "r"(rank) : "memory");
}
/* Waits until the phase (0 or 1) has ended. A fresh barrier is in phase 0, so waiting for phase 1 returns at once. */
__device__ __forceinline__ void barrier_wait(barrier *b, int phase)
{
	asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}"
	             :: "r"(shared_address(b)), "r"(phase) : "memory");
}

/* --- copies of panels; called by ONE thread. Columns and rows of the map; what lies outside of the array reads as zero and is not written. */
__device__ __forceinline__ void load_panel(half *to, const tensor_map *map, int col, int row, barrier *b)
{
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
	             :: "r"(shared_address(to)), "l"(map), "r"(col), "r"(row), "r"(shared_address(b)) : "memory");
}
/* The same panel into all blocks of the cluster whose bit is set in `blocks`, at the same place; tells the same barrier of each. */
__device__ __forceinline__ void load_panel_multicast(half *to, const tensor_map *map, int col, int row, barrier *b, int blocks)
{
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
	             " [%0], [%1, {%2, %3}], [%4], %5;"
	             :: "r"(shared_address(to)), "l"(map), "r"(col), "r"(row), "r"(shared_address(b)), "h"((unsigned short)blocks) : "memory");
}
__device__ __forceinline__ void store_panel(const tensor_map *map, int col, int row, const half *from)
{
	asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];"
	             :: "l"(map), "r"(shared_address(from)), "r"(col), "r"(row) : "memory");
}
__device__ __forceinline__ void store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/* Waits until all stores of this thread have read their panels, so that these may be overwritten. */
__device__ __forceinline__ void store_wait() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
/* By each thread that wrote shared memory, before a barrier behind which the copy engine reads it. */
__device__ __forceinline__ void shared_written() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void prefetch_map(const tensor_map *map) { asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory"); }

/* --- warpgroups: 128 threads, the first a multiple of 128 --------------------------------------------------------------------- */
__device__ __forceinline__ int warpgroup() { return __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0); }
/* A barrier of one warpgroup; `id` is 1 to 15. */
__device__ __forceinline__ void warpgroup_sync(int id) { asm volatile("bar.sync %0, 128;" :: "r"(id) : "memory"); }
/* __syncthreads() in two halves, for a block of `threads`: warps that call block_arrive go on at once, those that call block_wait see what
 * the others wrote before. */
__device__ __forceinline__ void block_arrive(int threads) { asm volatile("bar.arrive 0, %0;" :: "r"(threads) : "memory"); }
__device__ __forceinline__ void block_wait(int threads) { asm volatile("bar.sync 0, %0;" :: "r"(threads) : "memory"); }
template <int N> __device__ __forceinline__ void registers_down() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(N)); }
template <int N> __device__ __forceinline__ void registers_up() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(N)); }

/* A warpgroup's 64 x N tile of floats: `float acc[N / 2]` in each thread, whose element i is (acc_row(i), acc_col(i)) of the tile. */
__device__ __forceinline__ int acc_row(int i) { return (threadIdx.x & 96) / 2 + (threadIdx.x & 31) / 4 + (i & 2) * 4; }
__device__ __forceinline__ int acc_col(int i) { return i / 4 * 8 + (threadIdx.x & 3) * 2 + (i & 1); }

/* What the tensor cores need to know of a panel: its address, the bytes between panels and between groups of eight rows. */
__device__ __forceinline__ unsigned long long panel_descriptor(const half *p, unsigned panel_bytes)
{
	return (unsigned long long)((shared_address(p) & 0x3ffff) >> 4) | (unsigned long long)(panel_bytes >> 4) << 16 |
	       (unsigned long long)(1024 >> 4) << 32 | 1ull << 62;
}

#define ACC4_(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define ACC16_(d, i) ACC4_(d, i), ACC4_(d, i + 4), ACC4_(d, i + 8), ACC4_(d, i + 12)
#define ACC32_(d, i) ACC16_(d, i), ACC16_(d, i + 16)
#define ACC64_(d, i) ACC32_(d, i), ACC32_(d, i + 32)
#define REGS32_ "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define REGS64_ REGS32_ ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define REGS96_ REGS64_ ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define REGS128_ REGS96_ ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
/* acc += A·B for 16 columns of A and 16 rows of B; A as it stands (K along the row), B with K along the columns. */
#define WGMMA_(N, REGS, A, B, ...) \
	asm volatile("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.f16.f16 {" REGS "}, " A ", " B ", 1, 1, 1, 0, 1;" \
	             : __VA_ARGS__ : "l"(a), "l"(b))
template <int N> __device__ __forceinline__ void wgmma_k16(float (&acc)[N / 2], unsigned long long a, unsigned long long b)
{
	static_assert(N == 64 || N == 128 || N == 192 || N == 256, "wgmma: 64, 128, 192 or 256 columns");
	if constexpr (N == 64)
		WGMMA_(64, REGS32_, "%32", "%33", ACC32_(acc, 0));
	else if constexpr (N == 128)
		WGMMA_(128, REGS64_, "%64", "%65", ACC64_(acc, 0));
	else if constexpr (N == 192)
		WGMMA_(192, REGS96_, "%96", "%97", ACC64_(acc, 0), ACC32_(acc, 64));
	else
		WGMMA_(256, REGS128_, "%128", "%129", ACC64_(acc, 0), ACC64_(acc, 64));
}
/* By all threads of a warpgroup. wgmma_begin before the first product of a group (it orders the registers), wgmma_commit behind the last,
 * wgmma_wait<P>() until at most the P latest groups are still running; acc may be read, and tiles be overwritten, only behind it. */
__device__ __forceinline__ void wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int P> __device__ __forceinline__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(P) : "memory"); }
/* acc (64 x N) += A (64 rows of one panel) · B (N/64 panels of 64 rows, one behind the other). Starts the work and does not wait. */
template <int N> __device__ __forceinline__ void wgmma_tile(float (&acc)[N / 2], const half *a, const half *b)
{
	unsigned long long da = panel_descriptor(a, 8192), db = panel_descriptor(b, 8192);
#pragma unroll
	for (int k = 0; k < 4; k++) /* 16 columns of A are 32 bytes, 16 rows of B 2048; addresses count in 16 bytes */
		wgmma_k16<N>(acc, da + 2 * k, db + 128 * k);
}

/* --- results: 64 columns of a warpgroup's tile, acc[i] with i from `first` to first + 31, rounded to half into a panel of 64 rows ---- */
template <int N> __device__ __forceinline__ void acc_to_panel(const float (&acc)[N], int first, half *panel)
{
	int lane = threadIdx.x & 31, row = (threadIdx.x & 96) / 2 + (lane & 15);
#pragma unroll
	for (int i = 0; i < 32; i += 8) { /* two groups of eight columns at a time: lanes 16 to 31 point to the second */
		unsigned r[4];
#pragma unroll
		for (int j = 0; j < 4; j++) {
			half2 h = __floats2half2_rn(acc[first + i + 2 * j], acc[first + i + 2 * j + 1]);
			r[j] = *reinterpret_cast<unsigned *>(&h);
		}
		asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
		             :: "r"(shared_address(panel + panel_at(row, i * 2 + (lane & 16) / 2))), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
		             : "memory");
	}
}

/* --- clusters ----------------------------------------------------------------------------------------------------------------- */
__device__ __forceinline__ int cluster_rank()
{
	int r;
	asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
	return r;
}
/* All threads of all blocks of the cluster meet. */
__device__ __forceinline__ void cluster_sync()
{
	asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

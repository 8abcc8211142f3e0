/* More products of warpgroups, to be imported behind hopper.cuh: those that begin a new sum, and waits that name what they wait for. */
#define OUT4_(d, i) "=f"(d[i]), "=f"(d[i + 1]), "=f"(d[i + 2]), "=f"(d[i + 3])
#define OUT16_(d, i) OUT4_(d, i), OUT4_(d, i + 4), OUT4_(d, i + 8), OUT4_(d, i + 12)
#define OUT32_(d, i) OUT16_(d, i), OUT16_(d, i + 16)
#define WGMMA_NEW_(N, REGS, A, B, ...) \
	asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, 0, 0;\n" \
	             "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.f16.f16 {" REGS "}, " A ", " B ", add, 1, 1, 0, 1;\n}" \
	             : __VA_ARGS__ : "l"(a), "l"(b))
/* acc = A·B for 16 columns of A and 16 rows of B, whatever acc held before. */
template <int N> __device__ __forceinline__ void wgmma_new_k16(float (&acc)[N / 2], unsigned long long a, unsigned long long b)
{
	static_assert(N == 64 || N == 128, "wgmma_new: 64 or 128 columns");
	if constexpr (N == 64)
		WGMMA_NEW_(64, REGS32_, "%32", "%33", OUT32_(acc, 0));
	else
		WGMMA_NEW_(128, REGS64_, "%64", "%65", OUT32_(acc, 0), OUT32_(acc, 32));
}
/* As wgmma_tile, but acc begins anew. */
template <int N> __device__ __forceinline__ void wgmma_new_tile(float (&acc)[N / 2], const half *a, const half *b)
{
	unsigned long long da = panel_descriptor(a, 8192), db = panel_descriptor(b, 8192);
	wgmma_new_k16<N>(acc, da, db);
#pragma unroll
	for (int k = 1; k < 4; k++)
		wgmma_k16<N>(acc, da + 2 * k, db + 128 * k);
}
/* wgmma_wait<P>() behind which acc is read: no read of it is moved in front of the wait. */
template <int P, int N> __device__ __forceinline__ void wgmma_wait_for(float (&acc)[N])
{
	wgmma_wait<P>();
#pragma unroll
	for (int i = 0; i < N; i++)
		asm volatile("" : "+f"(acc[i]) :: "memory");
}

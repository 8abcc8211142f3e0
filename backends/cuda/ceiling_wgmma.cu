/* SHAPE and TAIL: the instruction. 8 of them a warp group and step. Operands are swizzled tiles of 64 and 256 rows of 128 bytes in
 * shared memory (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"). */
#define F(i) "+f"(d[i])
#define F4(i) F(i), F(i+1), F(i+2), F(i+3)
#define F16(i) F4(i), F4(i+4), F4(i+8), F4(i+12)
#define F64(i) F16(i), F16(i+16), F16(i+32), F16(i+48)
__device__ unsigned long long tile(const void *shared)
{
	unsigned long long at = (unsigned)__cvta_generic_to_shared(shared);
	return (at & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
extern "C" __global__ void __launch_bounds__(256) ceiling(const float *in, float *out, int n)
{
	__shared__ __align__(1024) unsigned a[2][2048], b[8192];
	int at = blockIdx.x * blockDim.x + threadIdx.x, group = threadIdx.x / 128;
	float d[128];
	for (int i = 0; i < 128; i++) d[i] = 0;
	for (int i = threadIdx.x; i < 4096; i += 256) a[i / 2048][i % 2048] = __float_as_uint(in[(at + i) % (gridDim.x * 256)]) & 0x3fff3fffu;
	for (int i = threadIdx.x; i < 8192; i += 256) b[i] = __float_as_uint(in[(at + i) % (gridDim.x * 256)]) & 0x3fff3fffu;
	asm volatile("fence.proxy.async;" ::: "memory");
	__syncthreads();
	unsigned long long da = tile(a[group]), db = tile(b);
	for (int s = 0; s < n; s++) {
		asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
		for (int k = 0; k < 8; k++)
			asm volatile("wgmma.mma_async.sync.aligned." SHAPE " {"
				"%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
				"%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,"
				"%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,"
				"%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
				"}, %128, %129, 1, 1, 1" TAIL ";" : F64(0), F64(64) : "l"(da + 2 * (k % 4)), "l"(db + 2 * (k % 4)));
		asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
		asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
	}
	float sum = 0;
	for (int i = 0; i < 128; i++) sum += d[i];
	out[at] = sum;
}

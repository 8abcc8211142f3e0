/* SHAPE: the instruction. 16 of them a warp and step. */
extern "C" __global__ void ceiling(const float *in, float *out, int n)
{
	int at = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned a[4], b[2];
	float d[8][4] = { { in[at] } };
	for (int i = 0; i < 4; i++) a[i] = __float_as_uint(in[at]) & 0x3fff3fffu;
	for (int i = 0; i < 2; i++) b[i] = a[i] >> 1;
	for (int s = 0; s < n; s++)
#pragma unroll
		for (int k = 0; k < 16; k++) {
			float *e = d[k % 8];
			asm volatile("mma.sync.aligned." SHAPE " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
				: "+f"(e[0]), "+f"(e[1]), "+f"(e[2]), "+f"(e[3])
				: "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
		}
	float sum = 0;
	for (int i = 0; i < 8; i++) sum += d[i][0] + d[i][1] + d[i][2] + d[i][3];
	out[at] = sum;
}

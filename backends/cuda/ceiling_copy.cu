/* Four independent loads a thread, so that enough of them are under way. */
extern "C" __global__ void ceiling(const float4 *in, float4 *out, int n)
{
	int step = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
	for (; i + 3 * step < n / 4; i += 4 * step) {
		float4 a = in[i], b = in[i + step], c = in[i + 2 * step], d = in[i + 3 * step];
		out[i] = a, out[i + step] = b, out[i + 2 * step] = c, out[i + 3 * step] = d;
	}
	for (; i < n / 4; i += step) out[i] = in[i];
}

// Layer normalisation of rows as one finds it in an inference library: the launch stands in a function whose sizes come from its caller, and
// the block's size from a helper.
#include <cuda_runtime.h>

struct Shape {
	int tokens, hidden;
};

static int threads_for(int hidden)
{
	int threads = 32;
	while (threads < 256 && threads * 4 < hidden)
		threads *= 2;
	return threads;
}

__device__ float sum_of_block(float value, float *scratch)
{
	scratch[threadIdx.x] = value;
	__syncthreads();
	for (int half = blockDim.x / 2; half > 0; half /= 2) {
		if (threadIdx.x < half)
			scratch[threadIdx.x] += scratch[threadIdx.x + half];
		__syncthreads();
	}
	float sum = scratch[0];
	__syncthreads();
	return sum;
}

__device__ void put4(float *to, int i, float4 value)
{
	reinterpret_cast<float4 *>(to)[i] = value;
}

// hidden is a multiple of 4; gamma and beta have `hidden` elements, x and y one row of them for each token.
__global__ void layer_norm(float *y, const float4 *x, const float *gamma, const float *beta, float epsilon, int hidden)
{
	extern __shared__ float scratch[];
	const float4 *row = x + (size_t)blockIdx.x * (hidden / 4);
	float *to = y + (size_t)blockIdx.x * hidden;
	float sum = 0, squares = 0;
	for (int i = threadIdx.x; i < hidden / 4; i += blockDim.x) {
		float4 v = row[i];
		sum += v.x + v.y + v.z + v.w;
		squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
	}
	float mean = sum_of_block(sum, scratch) / hidden;
	float scale = rsqrtf(sum_of_block(squares, scratch) / hidden - mean * mean + epsilon);
	for (int i = threadIdx.x; i < hidden / 4; i += blockDim.x) {
		float4 v = row[i], g = reinterpret_cast<const float4 *>(gamma)[i], b = reinterpret_cast<const float4 *>(beta)[i];
		put4(to, i, make_float4((v.x - mean) * scale * g.x + b.x, (v.y - mean) * scale * g.y + b.y,
		                        (v.z - mean) * scale * g.z + b.z, (v.w - mean) * scale * g.w + b.w));
	}
}

// The model that this serves has hidden = 4096, and batches of 128 to 2048 tokens.
extern "C" int layer_norm_forward(float *y, const float4 *x, const float *gamma, const float *beta, Shape shape, cudaStream_t stream)
{
	int threads = threads_for(shape.hidden);
	layer_norm<<<shape.tokens, threads, threads * sizeof(float), stream>>>(y, x, gamma, beta, 1e-5f, shape.hidden);
	return cudaGetLastError();
}

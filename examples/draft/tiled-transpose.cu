// Transposes a batch of matrices through shared memory. Sizes come from the command line, the grid from a helper, and the block has fewer
// rows than the tile: what `peakd draft` cannot read by form it asks, and `peakd draft --model` has a model answer.
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int TILE = 32, ROWS = 8;

template <typename T> static T blocks_for(T size, T each)
{
	return (size + each - 1) / each;
}

static dim3 tiles_of(int width, int height, int batch)
{
	return dim3(blocks_for(width, TILE), blocks_for(height, TILE), batch);
}

__device__ void store_row(float *to, const float *from, int column, int columns)
{
	if (column < columns)
		to[column] = from[threadIdx.x * (TILE + 1)];
}

__global__ void transpose(const float *__restrict__ in, float *__restrict__ out, int width, int height)
{
	__shared__ float tile[TILE][TILE + 1]; // one column more: no two rows share a bank
	size_t plane = static_cast<size_t>(blockIdx.z) * width * height;
	int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
	for (int i = 0; i < TILE; i += ROWS)
		if (x < width && y + i < height)
			tile[threadIdx.y + i][threadIdx.x] = in[plane + static_cast<size_t>(y + i) * width + x];
	__syncthreads();
	int row = blockIdx.x * TILE + threadIdx.y;
	for (int i = 0; i < TILE; i += ROWS)
		if (row + i < width)
			store_row(out + plane + static_cast<size_t>(row + i) * height, &tile[0][threadIdx.y + i],
			          blockIdx.y * TILE + threadIdx.x, height);
}

int main(int argc, char **argv)
{
	// e.g. 1920 x 1080, 16 pictures
	int width = argc > 1 ? std::atoi(argv[1]) : 1920, height = argc > 2 ? std::atoi(argv[2]) : 1080;
	int batch = argc > 3 ? std::atoi(argv[3]) : 16;
	std::vector<float> host(static_cast<size_t>(width) * height * batch, 1.0f);
	float *in, *out;
	cudaMalloc(&in, host.size() * sizeof(float));
	cudaMalloc(&out, host.size() * sizeof(float));
	cudaMemcpy(in, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
	transpose<<<tiles_of(width, height, batch), dim3(TILE, ROWS)>>>(in, out, width, height);
	cudaMemcpy(host.data(), out, host.size() * sizeof(float), cudaMemcpyDeviceToHost);
	std::printf("%g\n", host[0]);
}

// A matrix product in double whose sums are in order of k: what product.c puts in place of a slow truth. A block of 256 threads makes
// 64 x 64 elements, a thread 4 x 4 of them. Extents and leading dimensions are macros.
#define PRODUCT_TILE 64
#define PRODUCT_STEP 16
extern "C" __global__ void __launch_bounds__(256) peakd_product(const PRODUCT_IN *a, const PRODUCT_IN *b, PRODUCT_OUT *c)
{
	__shared__ double rows[PRODUCT_STEP][PRODUCT_TILE + 1], columns[PRODUCT_STEP][PRODUCT_TILE + 1];
	long long m0 = (long long)blockIdx.y * PRODUCT_TILE, n0 = (long long)blockIdx.x * PRODUCT_TILE;
	int x = threadIdx.x % 16, y = threadIdx.x / 16;
	double sum[4][4] = {};
	for (long long k0 = 0; k0 < PRODUCT_K; k0 += PRODUCT_STEP) {
		for (int i = threadIdx.x; i < PRODUCT_TILE * PRODUCT_STEP; i += 256) {
			// Neighbouring threads read neighbouring elements, however the operand is stored.
			int ak = PRODUCT_A_T ? i / PRODUCT_TILE : i % PRODUCT_STEP, am = PRODUCT_A_T ? i % PRODUCT_TILE : i / PRODUCT_STEP;
			int bk = PRODUCT_B_T ? i % PRODUCT_STEP : i / PRODUCT_TILE, bn = PRODUCT_B_T ? i / PRODUCT_STEP : i % PRODUCT_TILE;
			long long m = m0 + am, n = n0 + bn;
			rows[ak][am] = m < PRODUCT_M && k0 + ak < PRODUCT_K
					       ? (double)a[PRODUCT_A_T ? (k0 + ak) * PRODUCT_LDA + m : m * PRODUCT_LDA + k0 + ak]
					       : 0.0;
			columns[bk][bn] = n < PRODUCT_N && k0 + bk < PRODUCT_K
						  ? (double)b[PRODUCT_B_T ? n * PRODUCT_LDB + k0 + bk : (k0 + bk) * PRODUCT_LDB + n]
						  : 0.0;
		}
		__syncthreads();
		// Beyond the last k there is nothing: zero times infinity is no zero.
		int steps = PRODUCT_K - k0 < PRODUCT_STEP ? (int)(PRODUCT_K - k0) : PRODUCT_STEP;
#pragma unroll 4
		for (int k = 0; k < steps; k++) {
			double left[4], right[4];
			for (int i = 0; i < 4; i++) {
				left[i] = rows[k][y + 16 * i];
				right[i] = columns[k][x + 16 * i];
			}
			for (int i = 0; i < 4; i++)
				for (int j = 0; j < 4; j++)
					sum[i][j] += left[i] * right[j];
		}
		__syncthreads();
	}
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++) {
			long long m = m0 + y + 16 * i, n = n0 + x + 16 * j;
			if (m < PRODUCT_M && n < PRODUCT_N)
				c[m * PRODUCT_LDC + n] = (PRODUCT_OUT)sum[i][j];
		}
}

/* As good as nothing. */
extern "C" __global__ void ceiling(const float *from, float *to, int n) { to[threadIdx.x] = from[threadIdx.x] + n; }

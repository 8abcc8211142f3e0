/* A compiled CUDA binary that may be damaged. */
#include "backends/cuda/cubin.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = fuzz_bytes(data, size);
	struct cuda_cubin c;
	struct err e = ERR_INIT;
	if (cuda_cubin_read(bytes, size, &c, &e) == 0) {
		for (size_t i = 0; i < c.count; i++)
			assert(cuda_cubin_find(&c, c.kernels[i].name));
		assert(cuda_cubin_missing(&c, "no such kernel", &e) == -ERR_INPUT);
		cuda_cubin_fini(&c);
	}
	assert(e.text[0]);
	free(bytes);
	return 0;
}

/* A compiled CUDA binary that may be damaged. */
#include "backends/cuda/cuda.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = fuzz_bytes(data, size);
	struct gpu_module c;
	struct err e = ERR_INIT;
	if (cuda_object_read(bytes, size, NULL, &c, &e) == 0) {
		for (size_t i = 0; i < c.count; i++)
			assert(gpu_module_find(&c, c.kernels[i].name));
		assert(gpu_module_missing(&c, "no such kernel", &e) == -ERR_INPUT);
		gpu_module_fini(&c);
	}
	assert(e.text[0]);
	free(bytes);
	return 0;
}

/* The HLSL backend's binary as a database may hold it: a decoded binary is encoded to the same bytes again. */
#include "backends/hlsl/object.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = fuzz_bytes(data, size);
	struct hlsl_object m, again;
	struct err e = ERR_INIT;
	if (hlsl_object_decode(bytes, size, &m, &e) == 0) {
		struct buf first = BUF_INIT, second = BUF_INIT;
		for (size_t i = 0; i < m.count; i++)
			assert(hlsl_object_find(&m, m.kernels[i].name));
		hlsl_object_encode(&m, &first);
		assert(hlsl_object_decode(first.data, first.len, &again, &e) == 0);
		hlsl_object_encode(&again, &second);
		assert(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
		hlsl_object_fini(&again);
		hlsl_object_fini(&m);
		buf_fini(&first);
		buf_fini(&second);
	} else {
		assert(e.code == ERR_INPUT && e.text[0]);
	}
	free(bytes);
	return 0;
}

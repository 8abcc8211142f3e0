/* SPIR-V words as a broken compiler or a foreign database could supply them. */
#include "backends/hlsl/object.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t count = size / sizeof(uint32_t);
	uint32_t *words = (uint32_t *)fuzz_bytes(data, count * sizeof(uint32_t));
	struct spirv s;
	struct err e = ERR_INIT;
	if (hlsl_spirv_read(words, count, &s, &e) == 0) {
		for (size_t i = 0; i < s.binding_count; i++)
			assert(s.bindings[i].name);
		for (size_t i = 0; i < s.member_count; i++)
			assert(s.members[i].name && s.members[i].bits <= 64);
		hlsl_spirv_fini(&s);
	} else {
		assert(e.text[0]);
	}
	free(words);
	return 0;
}

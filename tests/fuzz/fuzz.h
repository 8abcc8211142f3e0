/* fuzz: what the libFuzzer targets of this folder share (docs/fuzzing.md). A target reads bytes from an unknown
 * source and asserts what must hold for all accepted input. It prints nothing and keeps nothing between runs. */
#ifndef PEAKD_TESTS_FUZZ_FUZZ_H
#define PEAKD_TESTS_FUZZ_FUZZ_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* libFuzzer's entry point (https://llvm.org/docs/LibFuzzer.html): 0, or -1 to keep the input out of the corpus. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes as text up to the first NUL, owned by the caller; the rest is cut off. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	return mem_strn((const char *)data, strnlen((const char *)data, size));
}

/* The bytes in memory of exactly their size, so that AddressSanitizer sees one read too many. Owned by the caller. */
static inline uint8_t *fuzz_bytes(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	assert(copy);
	if (size)
		memcpy(copy, data, size);
	return copy;
}

#endif

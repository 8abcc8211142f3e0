/* SPIR-V words as somebody else's database could hand them over, interpreted by the race check as the kernel of a small matmul: for
 * any input it ends with a finding, without one, or with an error that gives the reason. */
#include "backends/hlsl/object.h"
#include "backends/hlsl/hlsl.h"
#include "backends/sample_plan.h"
#include "fuzz/fuzz.h"

static const struct wire_races asked = { .seed = 7, .ordered = WIRE_ORDER_FIXED };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t count = size / sizeof(uint32_t);
	uint32_t *words = (uint32_t *)fuzz_bytes(data, count * sizeof(uint32_t));
	struct plan *p = sample_matmul(5, 4, 2);
	struct hlsl_kernel kernel = { p->ops[0].launch.kernel, words, count * sizeof *words };
	struct buf binary = BUF_INIT;
	struct err e = ERR_INIT;
	struct wire_raced raced;
	hlsl_object_encode(&(struct hlsl_object){ .kernels = &kernel, .count = 1 }, &binary);
	if (hlsl_race_check(binary.data, binary.len, p, &asked, 4, &raced, &e) < 0)
		assert(e.text[0] && raced.finding == NULL);
	else
		assert(raced.finding == NULL || raced.finding[0]);
	free(raced.finding);
	buf_fini(&binary);
	plan_free(p);
	free(words);
	return 0;
}

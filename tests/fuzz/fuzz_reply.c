/* A model's answer. The first byte chooses the region (two bits), how the answer ended (two bits) and what the step
 * allows (three bits); the text behind it is the answer, or, with a NUL in it, the region as it was and the answer. */
#include "core/transform/reply.h"
#include "fuzz/fuzz.h"

static const char *const before[REGION_COUNT] = {
	[REGION_DEVICE] = "#define K 4\n__global__ void matmul(float *C)\n{\n\tC[0] = 0;\n}\n",
	[REGION_HOST] = "launch(\"matmul\", {1}, {1}, {C})\n",
	[REGION_MACROS] = "#define TILE 16\n#define OTHER 2\n",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0 || (data[0] & 3) >= REGION_COUNT)
		return -1;
	enum region region = (enum region)(data[0] & 3);
	char *first = fuzz_text(data + 1, size - 1), *second = NULL;
	size_t len = strlen(first);
	if (len + 1 < size)
		second = fuzz_text(data + 1 + len + 1, size - 1 - len - 1);
	const struct reply_want want = { .region = region, .backend = "cuda", .before = second ? first : before[region],
					 .host = data[0] & 128 ? NULL : before[REGION_HOST],
					 .may_drop_kernels = data[0] & 16, .may_keep = data[0] & 32,
					 .may_patch = data[0] & 64 };
	struct reply r;
	reply_parse(&want, second ? second : first, (enum reply_finish)(data[0] >> 2 & 3), &r);
	assert(reply_outcome_name(r.outcome));
	if (r.outcome == REPLY_OK)
		assert(r.text && (*r.text ? r.text[strlen(r.text) - 1] == '\n' : region == REGION_MACROS));
	else
		assert(r.detail && *r.detail);
	reply_fini(&r);
	free(first);
	free(second);
	return 0;
}

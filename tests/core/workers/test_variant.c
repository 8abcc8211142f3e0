/* What a variant's kernels use of a device. */
#include "core/workers/variant.h"

#include "core/context/params.h"
#include "tap.h"

int main(void)
{
	struct wire_kernel kernels[] = {
		{ .name = (char *)"small", .registers = 40, .shared = 512, .spill = 0, .max_threads = 1024 },
		{ .name = (char *)"large", .registers = 168, .shared = 1024, .spill = 16, .max_threads = 384 },
	};
	struct plan_op ops[] = {
		{ .kind = PLAN_OP_LAUNCH, .launch = { .kernel = (char *)"large", .shared = 200000 } },
		{ .kind = PLAN_OP_LAUNCH, .launch = { .kernel = (char *)"large", .shared = 100 } },
		{ .kind = PLAN_OP_MEMSET },
		{ .kind = PLAN_OP_LAUNCH, .launch = { .kernel = (char *)"small" } },
	};
	struct plan plan = { .ops = ops, .op_count = 4 };
	struct variant v = { .params = params_new(), .plan = &plan, .compiled = { .kernels = kernels, .kernel_count = 2 } };
	int64_t registers, shared, spill;
	variant_resources(&v, &registers, &shared, &spill);
	is_int(registers, 168, "the registers of the kernel that has most");
	is_int(shared, 201024, "static and dynamic shared memory of the largest launch");
	is_int(spill, 16, "its spills");
	char *text = variant_describe(&v);
	has_str(text, "large: 384 threads a block at most, 168 registers a thread, 201024 bytes of shared memory",
		"a model reads the same");
	has_str(text, "small: 1024 threads a block at most, 40 registers a thread, 512 bytes of shared memory", "of each kernel");
	free(text);
	kernels[0].shared = kernels[1].shared = UINT32_MAX;
	variant_resources(&v, &registers, &shared, &spill);
	is_int(shared, -1, "what is not known stays unknown");
	params_free(v.params);
	return tap_done();
}

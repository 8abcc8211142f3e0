/* The kernels behind the ceilings compile, for a CPU and for other devices, and their plans are consistent. Needs no device. */
#include "backends/hlsl/hlsl.h"

#define PLANS_BACKEND backend_hlsl
#include "backends/plans.h"
#include "tap.h"

static void all_for(bool cpu)
{
	struct wire_target target = { .arch = (char *)"spirv1.3", .shares_cpu = cpu };
	const char *kind = cpu ? "a CPU" : "a GPU";
	struct wire_ceilings list;
	ceilings_list(hlsl_ceilings, &target, &list);
	is_int((long long)list.count, 3, "%s has three ceilings", kind);
	for (size_t i = 0; i < list.count; i++) {
		struct wire_ceiling *c = &list.at[i];
		const struct plan_launch *l = &c->plan->ops[0].launch;
		struct wire_compiled out = { 0 };
		struct err e = ERR_INIT;
		uint64_t bytes = c->plan->buffers[0].bytes + c->plan->buffers[1].bytes,
			 threads = (uint64_t)l->grid[0] * l->block[0];
		is_int(plan_check(c->plan, &e), 0, "%s, %s: the plan is consistent %s", kind, c->name, e.text);
		is_int(compile("spirv1.3", "", c->device, c->plan, &out, &e), 0, "%s, %s: compiles %s", kind, c->name, e.text);
		ok(l->grid[0] <= 65535, "%s, %s: every device takes %u blocks", kind, c->name, l->grid[0]);
		ok(!cpu || bytes < 128 << 20, "%s, %s: %llu bytes", kind, c->name, (unsigned long long)bytes);
		if (strcmp(c->unit, "byte") == 0)
			ok(c->work == (double)bytes && threads * 64 == c->plan->buffers[0].bytes,
			   "%s: every byte is read and written once", kind);
		else if (strcmp(c->unit, "launch") == 0)
			ok(c->work == 1, "%s: it is one launch", kind);
		else
			ok(c->work == 2.0 * 24 * 4 * (double)l->args[2].i * (double)threads, "%s: %g operations", kind, c->work);
		wire_compiled_fini(&out);
	}
	wire_ceilings_fini(&list);
}

int main(void)
{
	all_for(true);
	all_for(false);
	return tap_done();
}

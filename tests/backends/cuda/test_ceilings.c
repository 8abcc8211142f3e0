/* The kernels behind the ceilings compile for their architectures, and their plans are consistent. */
#include "backends/timing/ceilings.h"

#include "backends/cuda/cuda.h"
#define PLANS_BACKEND backend_cuda
#include "backends/plans.h"
#include "tap.h"

static void all_for(const char *arch, size_t want)
{
	struct wire_ceilings list;
	ceilings_list(cuda_ceilings, &(struct wire_target){ .arch = (char *)arch, .units = 132 }, &list);
	is_int((long long)list.count, (long long)want, "%s has %zu ceilings", arch, want);
	for (size_t i = 0; i < list.count; i++) {
		struct wire_ceiling *c = &list.at[i];
		struct wire_compiled out = { 0 };
		struct err e = ERR_INIT;
		is_int(plan_check(c->plan, &e), 0, "%s %s: the plan is consistent %s", arch, c->name, e.text);
		is_int(compile(arch, "", c->device, c->plan, &out, &e), 0, "the ceiling's kernel compiles %s", e.text);
		if (out.kernel_count)
			ok(out.kernels[0].spill == 0, "the ceiling's kernel does not spill (%u registers)",
			   out.kernels[0].registers);
		ok(strcmp(c->unit, "launch") == 0 ? c->work == 1 : c->work > 1e6, "the work of an execution is known: %g %s",
		   c->work, c->unit);
		wire_compiled_fini(&out);
	}
	wire_ceilings_fini(&list);
}

int main(void)
{
	struct gpu_rtc nvrtc;
	struct err e = ERR_INIT;
	if (cuda_library_nvrtc(&nvrtc, &e) < 0) {
		SKIP(1, "no NVRTC");
		return tap_done();
	}
	all_for("sm_90a", 7);
	all_for("sm_80", 7);
	struct wire_ceilings none;
	ceilings_list(NULL, &(struct wire_target){ .arch = (char *)"gfx90a" }, &none);
	is_int((long long)none.count, 0, "a backend without ceiling kernels has no ceilings");
	wire_ceilings_fini(&none);
	return tap_done();
}

/* Kernels that are rewritten so that loads, stores or barriers are nearly free: they stay valid SPIR-V, and what they do is
 * counted. Needs no device. */
#include "backends/hlsl/hlsl.h"

#include "backends/sample_plan.h"
#include "tap.h"

enum { N = 64, BX = 32, BY = 2 };

static struct wire_define defines[] = { { (char *)"BX", (char *)"32" }, { (char *)"BY", (char *)"2" } };

static int count(enum wire_probe probe, const char *device, struct wire_launch_count *ret, struct err *e)
{
	struct wire_compiled out;
	struct wire_counted all = { .count = 0 };
	struct plan *p = sample_matmul(N, BX, BY);
	struct wire_compile c = { .backend = (char *)"hlsl", .arch = (char *)"spirv1.3", .macros = (char *)"",
				  .device = (char *)(uintptr_t)device, .defines = defines, .define_count = MEM_COUNT(defines),
				  .plan = p, .probe = probe };
	int rc = hlsl_compile(&c, &out, e);
	if (rc == 0) {
		rc = hlsl_race_count(out.binary, out.binary_len, p, 7, 32, &all, e);
		wire_compiled_fini(&out);
	}
	if (all.count)
		*ret = all.at[0];
	wire_counted_fini(&all);
	plan_free(p);
	return rc;
}

#define KERNEL(declarations, body) \
	declarations "[numthreads(BX, BY, 1)] void matmul(uint3 id : SV_DispatchThreadID, uint3 t : SV_GroupThreadID) { " \
	body " }\n"
static const char sums[] = KERNEL("groupshared float part[64];\n",
	"float s = 0; for (uint k = 0; k < uint(n); k++) s += A[id.y * n + k] * B[k * n + id.x]; part[t.y * 32 + t.x] = s; "
	"GroupMemoryBarrierWithGroupSync(); C[id.y * n + id.x] = part[t.y * 32 + 31 - t.x];");
static const char vectors[] =
	KERNEL("", "if (id.x < uint(n) / 4) C_float4[id.y * n / 4 + id.x] = A_float4[id.y * n / 4 + id.x] + 1;");

int main(void)
{
	struct err e = ERR_INIT;
	struct wire_launch_count whole, loads, stores;
	is_int(count(WIRE_PROBE_NONE, sums, &whole, &e), 0, "a kernel as it is %s", e.text);
	is_int(count(WIRE_PROBE_LOADS, sums, &loads, &e), 0, "the same with loads for nothing %s", e.text);
	ok(loads.loads == whole.loads && loads.flops == whole.flops && loads.barriers == whole.barriers, "it does the same work");
	ok(whole.read_once == 2 * N * N * 4 && loads.read_once == 2 * 64 * 4, "and reads 64 elements of each input (%llu bytes)",
	   (unsigned long long)loads.read_once);
	is_int(count(WIRE_PROBE_LOADS, vectors, &loads, &e), 0, "with vectors %s", e.text);
	is_int((long long)loads.read_once, 64 * 16, "64 vectors are read");
	is_int(count(WIRE_PROBE_STORES, KERNEL("", "C[id.y * n + id.x] = float(id.x + 7 * id.y);"), &stores, &e), -ERR_UNSUPPORTED,
	       "stores for nothing");
	has_str(e.text, "race in buffer C", "all fall into few elements");
	e = (struct err)ERR_INIT;
	count(WIRE_PROBE_BARRIERS, sums, &stores, &e);
	has_str(e.text, "race", "without its barrier the kernel has a race");
	e = (struct err)ERR_INIT;
	is_int(count(WIRE_PROBE_BARRIERS, vectors, &stores, &e), -ERR_UNSUPPORTED,
	       "a kernel without barriers has none to leave out");
	has_str(e.text, "it has none", "and it is said");
	return tap_done();
}

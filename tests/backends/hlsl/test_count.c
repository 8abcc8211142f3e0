/* Counts of interpreted kernels, worked out by hand: instructions on floats, requests of a wave of 32, sectors, bank conflicts.
 * Needs no device. */
#include "backends/hlsl/hlsl.h"

#include "backends/sample_plan.h"
#include "tap.h"

enum { N = 64, BX = 32, BY = 2 }; /* 2 × 32 groups of two waves */

static struct wire_define defines[] = { { (char *)"BX", (char *)"32" }, { (char *)"BY", (char *)"2" } };

/* What one launch of this code counts. */
static struct wire_launch_count count(const char *name, const char *device)
{
	struct err e = ERR_INIT;
	struct wire_compiled out;
	struct wire_counted all = { .count = 0 };
	struct plan *p = sample_matmul(N, BX, BY);
	struct wire_compile c = { .backend = (char *)"hlsl", .arch = (char *)"spirv1.3", .macros = (char *)"",
				  .device = (char *)(uintptr_t)device, .defines = defines, .define_count = MEM_COUNT(defines),
				  .plan = p };
	int rc = hlsl_compile(&c, &out, &e);
	if (rc == 0) {
		rc = hlsl_race_count(out.binary, out.binary_len, p, 7, 32, &all, &e);
		wire_compiled_fini(&out);
	}
	struct wire_launch_count first = { .kernel = NULL };
	if (rc == 0 && all.count == 1)
		first = all.at[0];
	ok(rc == 0 && all.count == 1 && first.groups == 64 && first.counted == 64 && first.threads == 64, "%s is counted whole %s",
	   name, e.text);
	wire_counted_fini(&all);
	plan_free(p);
	return first;
}

#define KERNEL(declarations, body) \
	declarations "[numthreads(BX, BY, 1)] void matmul(uint3 id : SV_DispatchThreadID, uint3 t : SV_GroupThreadID) { " \
	body " }\n"

static void test_buffers(void)
{
	struct wire_launch_count c = count("a copy", KERNEL("", "C[id.y * n + id.x] = A[id.y * n + id.x] * 2;"));
	is_int((long long)c.loads, N * N, "every thread loads once");
	is_int((long long)c.load_requests, N * N / 32, "a wave makes one request");
	ok(c.load_sectors == N * N * 4 / 32 && c.store_sectors == c.load_sectors, "neighbours share sectors of 32 bytes");
	ok(c.read_once == N * N * 4 && c.load_bytes == N * N * 4, "every byte is read once");
	is_int((long long)c.flops, N * N, "one product a thread");
	ok(c.barriers == 0 && c.atomics == 0 && c.shared == 0, "no barrier, atomic operation or shared memory");
	c = count("a column", KERNEL("", "C[id.y * n + id.x] = A[id.x * n + id.y];"));
	is_int((long long)c.load_sectors, N * N, "a column takes one sector a thread");
	is_int((long long)c.read_once, N * N * 4, "of which each is counted once");
	c = count("a broadcast", KERNEL("", "C[id.y * n + id.x] = A[id.y];"));
	is_int((long long)c.load_sectors, N * N / 32, "a broadcast takes one sector a wave");
	c = count("vectors",
		  KERNEL("", "if (id.x < uint(n) / 4) C_float4[id.y * n / 4 + id.x] = A_float4[id.y * n / 4 + id.x] + 1;"));
	ok(c.loads == N * N / 4 && c.load_bytes == N * N * 4, "a vector of four is one load of 16 bytes");
	is_int((long long)c.flops, N * N, "and four sums");
	c = count("a product", KERNEL("", "float s = 0; for (uint k = 0; k < uint(n); k++) s += A[id.y * n + k] * B[k * n + id.x]; "
					  "C[id.y * n + id.x] = s;"));
	is_int((long long)c.flops, 2 * N * N * N, "a matrix product has 2·n³ operations");
	is_int((long long)(c.load_bytes / c.read_once), N, "and loads every byte n times");
}

static void test_shared(void)
{
	struct wire_launch_count c = count("rows of shared memory", KERNEL("groupshared float s[32][32];",
		"s[t.y][t.x] = A[id.x]; GroupMemoryBarrierWithGroupSync(); C[id.y * n + id.x] = s[t.y][31 - t.x];"));
	ok(c.shared == 2 * N * N && c.shared_passes == c.shared_requests && c.shared_requests == 2 * N * N / 32,
	   "rows have no bank conflicts");
	is_int((long long)c.barriers, 64, "each group meets once");
	c = count("columns of shared memory", KERNEL("groupshared float s[32][32];",
		"s[t.x][t.y] = A[id.x]; GroupMemoryBarrierWithGroupSync(); C[id.y * n + id.x] = s[t.x][t.y];"));
	is_int((long long)(c.shared_passes / c.shared_requests), 32, "columns of 32 words need 32 passes");
	c = count("padded columns", KERNEL("groupshared float s[32][33];",
		"s[t.x][t.y] = A[id.x]; GroupMemoryBarrierWithGroupSync(); C[id.y * n + id.x] = s[t.x][t.y];"));
	is_int((long long)c.shared_passes, (long long)c.shared_requests, "padding mends it");
	c = count("a histogram",
		  KERNEL("groupshared uint h[32];", "if (t.y == 0) h[t.x] = 0; GroupMemoryBarrierWithGroupSync(); uint old; "
						    "InterlockedAdd(h[t.x], 1, old); GroupMemoryBarrierWithGroupSync();"
						    "C[id.y * n + id.x] = h[t.x];"));
	ok(c.atomics == N * N && c.barriers == 2 * 64, "atomic operations and barriers are counted");
}

int main(void)
{
	test_buffers();
	test_shared();
	return tap_done();
}

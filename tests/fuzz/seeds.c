/* seeds FOLDER: writes the binary seeds of tests/fuzz/corpus (wire, module, cubin, spirv, race) below FOLDER. Run by hand when
 * one of those formats changes: build/tests/fuzz/seeds tests/fuzz/corpus (docs/fuzzing.md). */
#include <stdio.h>

#include "backends/cuda/image.h"
#include "backends/hlsl/glslang.h"
#include "backends/hlsl/object.h"
#include "backends/sample_plan.h"
#include "backends/wire/wire.h"
#include "fuzz/fuzz.h"

static const char shader[] = "RWStructuredBuffer<float> C;\ncbuffer P { int n; };\ngroupshared float t[8];\n"
			     "[numthreads(8, 1, 1)]\nvoid k(uint3 id : SV_DispatchThreadID)\n{\n"
			     "\tt[id.x & 7] = 1;\n\tif (id.x < n)\n\t\tC[id.x] = t[0];\n}\n";
/* Shared memory, barriers, a loop, a function and an atomic: what race.c interprets. */
static const char tiled[] =
	"StructuredBuffer<float> A, B;\nRWStructuredBuffer<float> C;\ncbuffer P { int n; };\n"
	"groupshared float t[2][4];\ngroupshared uint f;\n"
	"float at(int r, int c) { return r < n && c < n ? A[r * n + c] : 0; }\n"
	"[numthreads(4, 2, 1)]\nvoid matmul(uint3 g : SV_GroupID, uint3 l : SV_GroupThreadID, uint me : SV_GroupIndex)\n{\n"
	"\tint r = int(g.y * 2 + l.y), c = int(g.x * 4 + l.x);\n\tfloat4 s = 0;\n\tif (me == 0)\n\t\tf = 0;\n"
	"\tfor (int k = 0; k < n; k += 4) {\n\t\tt[l.y][l.x] = at(r, k + int(l.x));\n"
	"\t\tGroupMemoryBarrierWithGroupSync();\n\t\tfor (int i = 0; i < 4 && k + i < n && c < n; i++)\n"
	"\t\t\ts[i] += t[l.y][i] * B[(k + i) * n + c];\n\t\tuint old;\n\t\tInterlockedAdd(f, 1u, old);\n"
	"\t\tGroupMemoryBarrierWithGroupSync();\n\t}\n\tif (r < n && c < n)\n"
	"\t\tC[r * n + c] = dot(s, float4(1, 1, 1, 1)) + sqrt(abs(s.y)) * min(int(f), 0);\n}\n";
static const char hash[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/* Writes the bytes to FOLDER/name and empties them. */
static void put(const char *folder, const char *name, struct buf *bytes)
{
	char *path = mem_fmt("%s/%s", folder, name);
	FILE *f = fopen(path, "wbe");
	if (!f || fwrite(bytes->data, 1, bytes->len, f) != bytes->len || fclose(f) != 0) {
		perror(path);
		exit(1);
	}
	free(path);
	buf_fini(bytes);
	*bytes = (struct buf)BUF_INIT;
}

/* The numbers are those of fuzz_wire.c's tables. */
static void daemon_messages(const char *folder)
{
	struct buf b = BUF_INIT;
	struct plan *plan = sample_matmul(32, 8, 8), *all = sample_everything();
	struct wire_define defines[] = { { "BX", "16" } };
	char *options[] = { "-O3" };
	struct wire_compile compile = { .backend = "hlsl", .arch = "spirv1.3", .macros = "#define X 1\n",
					.device = "void f() {}\n", .defines = defines, .define_count = 1,
					.options = options, .option_count = 1, .plan = plan };
	struct wire_compare compare = { .run = 1, .reference = (const uint8_t *)"12345678", .reference_len = 8,
					.want_type = DTYPE_F32, .poison = 0xFF };
	memcpy(compare.reference_hash, hash, sizeof compare.reference_hash);
	buf_addc(&b, 1), wire_compile_encode(&compile, &b), put(folder, "wire/compile", &b);
	buf_addc(&b, 3);
	wire_prepare_encode(&(struct wire_prepare){ .binary = (const uint8_t *)"bin", .binary_len = 3, .plan = plan }, &b);
	put(folder, "wire/prepare", &b);
	buf_addc(&b, 5);
	wire_execute_encode(&(struct wire_execute){ .run = 1, .seed = 42, .poison = 0xFF, .values = PLAN_WIDE,
						    .keep = WIRE_KEEP_SCRATCH, .perturbation = 2, .amplitude = 0.25 }, &b);
	put(folder, "wire/execute", &b);
	buf_addc(&b, 8), wire_compare_encode(&compare, &b), put(folder, "wire/compare", &b);
	buf_addc(&b, 10);
	wire_measure_encode(&(struct wire_measure){ .run = 1, .min_samples = 10, .max_samples = 50, .rse = 0.01 }, &b);
	put(folder, "wire/measure", &b);
	buf_addc(&b, 12), wire_encode(&plan_table, all, &b), put(folder, "wire/plan", &b);
	plan_free(plan);
	plan_free(all);
}

static void worker_messages(const char *folder)
{
	struct buf b = BUF_INIT;
	struct wire_kernel kernels[] = { { .name = "f", .registers = 32, .block = { 16, 8, 1 } } };
	uint64_t samples[] = { 5, 6, 7 };
	buf_addc(&b, 2);
	wire_compiled_encode(&(struct wire_compiled){ .binary = (uint8_t *)"bin", .binary_len = 3, .log = "warning",
						      .kernels = kernels, .kernel_count = 1 }, &b);
	put(folder, "wire/compiled", &b);
	buf_addc(&b, 6);
	wire_executed_encode(&(struct wire_executed){ .device_ns = 3, .changed_input = 1 }, &b);
	put(folder, "wire/executed", &b);
	buf_addc(&b, 9);
	wire_compared_encode(&(struct wire_compared){ .error = 0.25, .elements = 9, .mismatched = 1, .mismatch_count = 1,
						      .mismatch = { { .index = 3, .got = 1, .want = 2 } } }, &b);
	put(folder, "wire/compared", &b);
	buf_addc(&b, 11);
	struct wire_condition conditions[3] = { { .core_mhz = 1980 } };
	wire_measured_encode(&(struct wire_measured){ .samples = samples, .conditions = conditions, .sample_count = 3,
						      .launches = 2 }, &b);
	put(folder, "wire/measured", &b);
	buf_addc(&b, 16);
	wire_paired_encode(&(struct wire_paired){ .a_ns = samples, .b_ns = samples, .conditions = conditions, .pair_count = 3 },
			   &b);
	put(folder, "wire/paired", &b);
	buf_addc(&b, 17), wire_energised_encode(&(struct wire_energised){ .executions = 9, .seconds = 1, .joules = 300 }, &b);
	put(folder, "wire/energised", &b);
	buf_addc(&b, 13), wire_facts_encode(&(struct facts){ .id = "cuda:0", .backend = "cuda" }, &b);
	put(folder, "wire/facts", &b);
	buf_addc(&b, 14), wire_failed_encode(&(struct err){ .code = ERR_CRASH, .text = "gone" }, &b);
	put(folder, "wire/failed", &b);
	buf_addc(&b, 20), wire_devices_encode(&(struct wire_devices){ .at = &(struct facts){ .id = "cuda:0" }, .count = 1 }, &b);
	put(folder, "wire/devices", &b);
	buf_addc(&b, 27),
		wire_product_encode(&(struct wire_product){ .run = 1, .gemm = { .b = 1, .c = 2 }, .tolerance = 1e-3 }, &b);
	put(folder, "wire/product", &b);
}

static void words_of(const char *folder, const char *name, const char *source, const char *entry)
{
	struct buf b = BUF_INIT;
	struct glslang_output spirv;
	if (!hlsl_glslang(source, entry, false, &spirv)) {
		fputs(spirv.log, stderr);
		exit(1);
	}
	buf_add(&b, spirv.words, spirv.word_count * sizeof *spirv.words), put(folder, name, &b);
	free(spirv.words);
	free(spirv.log);
}

static void binaries(const char *folder)
{
	struct buf b = BUF_INIT;
	image(&b), put(folder, "cubin/kern", &b);
	words_of(folder, "race/tiled", tiled, "matmul");
	words_of(folder, "spirv/kernel", shader, "k");
	uint32_t words[] = { 0x07230203, 0x00010300 };
	struct hlsl_kernel kernels[] = { { "f", words, 8 }, { "g", words, 4 } };
	hlsl_object_encode(&(struct hlsl_object){ .kernels = kernels, .count = 2 }, &b), put(folder, "module/two", &b);
	hlsl_object_encode(&(struct hlsl_object){ 0 }, &b), put(folder, "module/none", &b);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: seeds FOLDER\n", stderr);
		return 2;
	}
	daemon_messages(argv[1]);
	worker_messages(argv[1]);
	binaries(argv[1]);
	return 0;
}

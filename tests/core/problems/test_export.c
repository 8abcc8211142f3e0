/* test_export: contexts exported as source files name their origin, compile without peakd, and refuse what cannot be written. */
#include "core/problems/export.h"

#include <sys/stat.h>
#include <unistd.h>

#include "backends/hlsl/glslang.h"
#include "base/buf.h"
#include "base/mem.h"
#include "core/context/host.h"
#include "core/context/space.h"
#include "tests/core/context/sample.h"
#include "tests/tap.h"

struct made {
	struct context *ctx;
	struct params *params;
	struct plan *plan;
};

/* The first configuration of a context and its plan. */
static struct made make(const char *text, const char *params)
{
	struct made m = { 0 };
	struct err e = ERR_INIT;
	struct facts facts = sample_facts();
	is_int(context_parse("t.peak.md", text, &m.ctx, &e), 0, "the context is parsed %s", e.text);
	is_int(params_parse(m.ctx, params, true, &m.params, &e), 0, "the parameters are parsed %s", e.text);
	snprintf(facts.backend, sizeof facts.backend, "%s", context_backend(m.ctx));
	is_int(host_run(m.ctx, m.params, &facts, &m.plan, &e), 0, "the host code runs %s", e.text);
	return m;
}

static void made_fini(struct made *m)
{
	plan_free(m->plan);
	params_free(m->params);
	context_free(m->ctx);
}

static const char *find(const struct export_file *files, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(files[i].name, name) == 0)
			return files[i].text;
	return NULL;
}

static const char hlsl_text[] =
	"---\nkernel: scale\nbackend: hlsl\nconstants:\n  HALF: 0.5\ninputs:\n  n: int = {1000}\n  A: f32[n] = random\n"
	"  C: out f32[n]\ntune:\n  BX: {32, 64}\n---\n"
	"```hlsl\n[numthreads(BX, 1, 1)]\nvoid scale(uint3 id : SV_DispatchThreadID)\n{\n\tif (id.x < uint(n) / 4)\n"
	"\t\tfor (uint i = 0; i < 4; i++)\n\t\t\tC[4 * id.x + i] = TWICE * HALF * A_float4[id.x][i];\n}\n```\n"
	"```macros\n#define TWICE 2.0\n```\n```lua host\nlaunch(\"scale\", {cdiv(n / 4, BX)}, {BX}, {A, C, n})\n```\n";

static void test_hlsl(void)
{
	struct made m = make(hlsl_text, "n=1000 BX=64");
	struct export_file *files = NULL;
	struct glslang_output compiled;
	struct err e = ERR_INIT;
	size_t count = 0;
	struct export_request first = { .ctx = m.ctx, .params = m.params, .plan = m.plan, .provenance = "checkpoint 7\n0.1 ms on a device" };
	is_int(export_request(&first, &files, &count, &e), 0,
	       "an HLSL context is exported %s", e.text);
	const char *text = find(files, count, "scale.hlsl");
	has_str(text, "// checkpoint 7\n// 0.1 ms on a device\n", "the HLSL source names its checkpoint");
	has_str(text, "#define BX 64\n", "the HLSL source defines its tuning parameters");
	has_str(text, "StructuredBuffer<float4> A_float4 : register(t", "the HLSL source declares its views");
	has_str(text, "int n;", "the HLSL source declares its scalars");
	ok(text && hlsl_glslang(text, "scale", false, &compiled), "the HLSL source compiles alone");
	ok(text && compiled.words != NULL, "the HLSL source compiles to a module: %s", text ? compiled.log : "");
	free(compiled.words);
	free(compiled.log);
	struct context *again = NULL;
	is_int(context_parse("scale.peak.md", find(files, count, "scale.peak.md"), &again, &e), 0,
	       "the exported context file is parsed %s", e.text);
	is_str(again ? context_hash(again)->hex : "", context_hash(m.ctx)->hex, "the exported context has the same hash");
	context_free(again);
	export_files_free(files, count);
	made_fini(&m);
}

/* Every kind of operation and argument in one plan. */
static const char cuda_text[] =
	"---\nkernel: all-of-it\nbackend: cuda\ninputs:\n  n: int = {256}\n  s: f16 = {1.5}\n  A: f16[n, n] = random\n"
	"  C: out f32[n, n; n+8]\n  D: inout i64[n] = iota\ntune:\n  BX: {32, 64}\nflops: 2*n^3\nprecision: tensor:f16/f32\n---\n"
	"```cuda\n#include <cuda_fp16.h>\n"
	"struct alignas(64) map { unsigned char bytes[128]; };\n"
	"extern \"C\" __global__ void first(const __grid_constant__ map m, const half *A, float *C, const int *order, char "
	"*scratch,\n"
	"                                 int n, half s)\n"
	"{\n\textern __shared__ float tile[];\n\tint i = blockIdx.x * BX + threadIdx.x;\n\ttile[threadIdx.x] = m.bytes[0];\n"
	"\tif (i < n)\n\t\tC[i] = __half2float(A[i]) * __half2float(s) * order[i % 3] * SCALE + scratch[0];\n}\n"
	"extern \"C\" __global__ void second(long long *D)\n{\n\tD[threadIdx.x]++;\n}\n```\n"
	"```macros\n#define SCALE 2.0f\n```\n"
	"```lua host\n"
	"local m = tensor_map{A, box={64, 32}, swizzle=128, fill='nan'}\n"
	"local order, scratch = table('i32', {2, 0, 1}), alloc(1024)\n"
	"memset(scratch, 0)\ncopy(scratch, A, 512, 0, 128)\n"
	"launch('first', {n / BX}, {BX}, {m, A, C, order, scratch, n, s}, {shared=100000, cluster={2}})\n"
	"launch('second', 1, n, {D}, {cooperative=true})\n```\n";

static int write_files(const char *folder, const struct export_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *path = mem_fmt("%s/%s", folder, files[i].name);
		FILE *f = fopen(path, "we");
		free(path);
		if (f == NULL || fputs(files[i].text, f) < 0 || fclose(f) != 0)
			return -1;
	}
	return 0;
}

static const char *find_nvcc(void)
{
	if (access("/usr/local/cuda/bin/nvcc", X_OK) == 0)
		return "/usr/local/cuda/bin/nvcc";
	return system("command -v nvcc >/dev/null 2>&1") == 0 ? "nvcc" : NULL;
}

static void compile(const char *stem, const struct export_file *files, size_t count)
{
	char folder[] = "/tmp/peakd-export.XXXXXX";
	const char *nvcc = find_nvcc();
	if (nvcc == NULL) {
		SKIP(1, "no nvcc here");
		return;
	}
	if (mkdtemp(folder) == NULL || write_files(folder, files, count) < 0) {
		ok(0, "cannot write to %s", folder);
		return;
	}
	char *command =
		mem_fmt("cd %s && timeout 120 %s -std=c++17 -arch=sm_90a -O1 -o driver %s_main.cu %s_reference.cu >log 2>&1",
			folder, nvcc, stem, stem);
	int status = system(command);
	ok(status == 0, "nvcc builds the driver, the kernel and the reference");
	free(command);
	command = mem_fmt("sed 's/^/# /' %s/log; rm -rf %s", folder, folder);
	if (system(command) != 0)
		printf("# %s was left behind\n", folder);
	free(command);
}

static void test_cuda(void)
{
	struct made m = make(cuda_text, "n=256 s=1.5 BX=64"), root = make(cuda_text, "n=256 s=1.5 BX=32");
	struct export_request q = { .ctx = m.ctx,
				    .params = m.params,
				    .plan = m.plan,
				    .provenance = "a path\\\nx",
				    .reference = root.ctx,
				    .reference_params = root.params,
				    .reference_plan = root.plan };
	struct export_file *files = NULL;
	struct err e = ERR_INIT;
	size_t count = 0;
	is_int(export_request(&q, &files, &count, &e), 0, "a CUDA context is exported %s", e.text);
	is_int(count, 5, "a CUDA export has five files");
	has_str(find(files, count, "all-of-it.cu"), "#define BX 64\n", "the CUDA source defines its tuning parameters");
	has_str(find(files, count, "all-of-it.cu"), "// a path\\.\n", "a comment cannot swallow the next line");
	const char *text = find(files, count, "all-of-it_main.cu");
	has_str(text, "nvcc -std=c++17 -O3", "the driver says how to build it");
	has_str(text, "peakd::launch((const void *)first, \"first\", dim3(4, 1, 1), dim3(64, 1, 1), 100000, dim3(2, 1, 1), false",
		"the driver launches the kernel as in the plan");
	has_str(text, "dim3(1, 1, 1), dim3(256, 1, 1), 0, dim3(1, 1, 1), true", "the driver launches cooperatively as in the plan");
	has_str(text, "#undef SCALE\n", "macros of the kernel do not reach the driver");
	has_str(find(files, count, "all-of-it_driver.h"), "fprintf(stderr, \"%s: %s\\n\", what", "the driver's own texts keep their escapes");
	has_str(text, "peakd::F32, peakd::OUT, peakd::ZEROS, 0, 0, 256, 256, 264,", "the driver keeps leading dimensions");
	has_str(text, "CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA",
		"the driver encodes tensor maps");
	has_str(text, "alignas(8) unsigned char s6[] = { 0, 62, }; // s = 1.5", "the driver passes a half as its bits");
	has_str(find(files, count, "all-of-it_reference.cu"), "#define first first_reference\n",
		"the reference's kernels have other names");
	compile("all-of-it", files, count);
	export_files_free(files, count);

	q.reference = NULL;
	is_int(export_request(&q, &files, &count, &e), 0, "a CUDA context is exported without a reference %s", e.text);
	has_str(find(files, count, "all-of-it_main.cu"), "nothing was compared",
		"a driver without a reference says that nothing was compared");
	is_str(find(files, count, "all-of-it_reference.cu") ? "there" : "", "",
	       "an export without a reference has no reference file");
	export_files_free(files, count);
	made_fini(&m);
	made_fini(&root);
}

static void test_reference(void)
{
	static const char text[] =
		"---\nkernel: k\nbackend: cuda\ninputs:\n  n: int = {64, 128}\n  C: out f32[n]\ntune:\n  BX: {7, 32, 64}\n---\n"
		"```cuda\nextern \"C\" __global__ void k(float *C) {}\n```\n```lua host\nneed(n %% BX == 0)\n"
		"launch('k', n / BX, BX, {C})\n```\n%s";
	char *plain = mem_fmt(text, ""),
	     *precise = mem_fmt(text, "```cuda reference\n// slow\nextern \"C\" __global__ void k(float *C) {}\n```\n");
	struct made m = make(plain, "n=128 BX=64"), better = make(precise, "n=128 BX=64");
	struct facts facts = sample_facts();
	struct context *reference = NULL;
	struct params *params = NULL;
	struct plan *plan = NULL;
	struct err e = ERR_INIT;
	is_int(export_reference(m.ctx, m.params, &facts, &reference, &params, &plan, &e), 0,
	       "the reference of a baseline without a reference block is found %s", e.text);
	char *chosen = params ? params_text(params) : NULL;
	is_str(chosen, "n=128 BX=32", "the reference has the same input and the first valid configuration");
	ok(plan && plan->ops[0].launch.block[0] == 32, "the reference has the plan of its configuration");
	ok(reference && context_region(reference, REGION_DEVICE)[0] == 'e', "the reference is the baseline's own code");
	free(chosen);
	plan_free(plan);
	params_free(params);
	context_free(reference);
	is_int(export_reference(better.ctx, m.params, &facts, &reference, &params, &plan, &e), 0,
	       "the reference of a baseline with a reference block is found %s", e.text);
	has_str(context_region(reference, REGION_DEVICE), "// slow", "the reference is the reference block's code");
	plan_free(plan);
	params_free(params);
	context_free(reference);
	made_fini(&m);
	made_fini(&better);
	free(plain);
	free(precise);
}

static void test_refusals(void)
{
	struct made m = make("---\nkernel: big\nbackend: cuda\ninputs:\n  C: out f32[4]\n---\n```cuda\nextern \"C\" __global__ "
			     "void k(float *C, int *t) {}\n"
			     "```\n```lua host\nlaunch('k', 1, 1, {C, table('i32', {1})})\n```\n",
			     "");
	struct export_file *files = NULL;
	struct err e = ERR_INIT;
	size_t count = 0;
	m.plan->buffers[1].bytes = 8 << 20;
	struct export_request q = { .ctx = m.ctx, .params = m.params, .plan = m.plan };
	is_int(export_request(&q, &files, &count, &e), -ERR_UNSUPPORTED,
	       "a table that is too large is refused");
	has_str(e.text, "exporting big: table ", "the refusal names the kernel and the table");
	m.plan->buffers[1].bytes = 4;
	made_fini(&m);
}

int main(void)
{
	test_hlsl();
	test_cuda();
	test_reference();
	test_refusals();
	return tap_done();
}

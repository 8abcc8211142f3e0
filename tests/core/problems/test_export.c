/* test_export: a context becomes a library that a C compiler builds without a toolkit. The library runs here against a fake driver
 * that prints what it is asked for (fake_driver.h). So every launch, its arguments and the refusals are checked without a GPU. */
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

/* A configuration of a context, its plan, and bytes in place of a binary. */
static struct variant make(const struct context *ctx, const char *params, const char *binary)
{
	struct variant v = { 0 };
	struct err e = ERR_INIT;
	struct facts facts = sample_facts();
	is_int(params_parse(ctx, params, true, &v.params, &e), 0, "the parameters are parsed %s", e.text);
	snprintf(facts.backend, sizeof facts.backend, "%s", context_backend(ctx));
	is_int(host_run(ctx, v.params, &facts, &v.plan, &e), 0, "the host code runs %s", e.text);
	v.compiled.binary = (uint8_t *)mem_str(binary);
	v.compiled.binary_len = strlen(binary) + 1;
	return v;
}

static struct context *parse(const char *text)
{
	struct context *ctx = NULL;
	struct err e = ERR_INIT;
	is_int(context_parse("t.peak.md", text, &ctx, &e), 0, "the context is parsed %s", e.text);
	return ctx;
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
	struct context *ctx = parse(hlsl_text), *again = NULL;
	struct export_case c = { .built = make(ctx, "n=1000 BX=64", "") };
	struct export_file *files = NULL;
	struct glslang_output compiled;
	struct err e = ERR_INIT;
	size_t count = 0;
	struct export_request q = {
		.ctx = ctx, .cases = &c, .count = 1, .arch = "spirv1.3", .provenance = "checkpoint 7\n0.1 ms on a device"
	};
	is_int(export_request(&q, &files, &count, &e), 0, "an HLSL context is exported %s", e.text);
	const char *text = find(files, count, "scale.hlsl");
	has_str(text, "// checkpoint 7\n// 0.1 ms on a device\n", "the HLSL source names its checkpoint");
	has_str(text, "#define BX 64\n", "the HLSL source defines its tuning parameters");
	has_str(text, "StructuredBuffer<float4> A_float4 : register(t", "the HLSL source declares its views");
	has_str(text, "int n;", "the HLSL source declares its scalars");
	ok(text && hlsl_glslang(text, "scale", false, &compiled), "the HLSL source compiles alone");
	ok(text && compiled.words != NULL, "the HLSL source compiles to a module: %s", text ? compiled.log : "");
	free(compiled.words);
	free(compiled.log);
	is_int(context_parse("scale.peak.md", find(files, count, "scale.peak.md"), &again, &e), 0,
	       "the exported context file is parsed %s", e.text);
	is_str(again ? context_hash(again)->hex : "", context_hash(ctx)->hex, "the exported context has the same hash");
	context_free(again);
	export_files_free(files, count);
	variant_fini(&c.built);
	context_free(ctx);
}

/* Every kind of operation and argument in one plan. */
static const char cuda_text[] =
	"---\nkernel: all-of-it\nbackend: cuda\ninputs:\n  n: int = {256, 512, 1024}\n  s: f16 = {1.5, 2}\n  A: f16[n, n] = "
	"random\n"
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
	"launch('first', {n / BX}, {BX}, {m, A, C, order, scratch, n, s}, {shared=n < 1000 and 100000 or 60000, cluster={2}})\n"
	"launch('second', 1, min(n, 512), {D}, {cooperative=true})\n```\n";

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

/* Runs a command in the folder; what it prints goes to *ret_text (free()). */
static int shell(const char *folder, const char *command, char **ret_text)
{
	char *line = mem_fmt("root=$PWD && cd %s && { %s; } 2>&1", folder, command);
	struct buf text = BUF_INIT;
	char part[4096];
	FILE *pipe = popen(line, "r");
	for (size_t n; pipe && (n = fread(part, 1, sizeof part, pipe)) > 0;)
		buf_add(&text, part, n);
	free(line);
	*ret_text = buf_steal(&text);
	return pipe ? pclose(pipe) : -1;
}

static void builds(const char *folder, const char *what, const char *command)
{
	char *text;
	int status = shell(folder, command, &text);
	ok(status == 0, "%s", what);
	if (status)
		printf("# %s\n", text);
	free(text);
}

/* What the user of the library asks for, and what the driver then sees. */
static const struct {
	const char *asked, *said, *name;
} runs[] = {
	{ "256 1.5 0",
	  "map type 6 rank 2 base 4096 dims 256 256 strides 512 box 64 32 swizzle 3 promotion 2 fill 1\n"
	  "set scratch 0 1024\ncopy scratch+0 from 4096+128 512\n"
	  "load first configuration\nlimit first 8 100000\n"
	  "launch first grid 4 1 1 block 64 1 1 shared 100000 stream 77 cluster 2 1 1 cooperative 0: map 4096 8192 table scratch "
	  "256 15872\n"
	  "launch second grid 1 1 1 block 256 1 1 shared 0 stream 77 cluster 0 0 0 cooperative 1: 12288\n"
	  "free scratch\nresult 0 success\n",
	  "a launch of the first size does what its plan says" },
	{ "512 2 0",
	  "map type 6 rank 2 base 4096 dims 512 512 strides 1024 box 64 32 swizzle 3 promotion 2 fill 1\n"
	  "set scratch 0 1024\ncopy scratch+0 from 4096+128 512\n"
	  "load second configuration\nlimit first 8 100000\n"
	  "launch first grid 16 1 1 block 32 1 1 shared 100000 stream 77 cluster 2 1 1 cooperative 0: map 4096 8192 table scratch "
	  "512 16384\n"
	  "launch second grid 1 1 1 block 512 1 1 shared 0 stream 77 cluster 0 0 0 cooperative 1: 12288\n"
	  "free scratch\nresult 0 success\n",
	  "a launch of another size uses its own configuration" },
	{ "1024 2 0",
	  "map type 6 rank 2 base 4096 dims 1024 1024 strides 2048 box 64 32 swizzle 3 promotion 2 fill 1\n"
	  "set scratch 0 1024\ncopy scratch+0 from 4096+128 512\n"
	  "load second configuration\nlimit first 8 100000\n"
	  "launch first grid 32 1 1 block 32 1 1 shared 60000 stream 77 cluster 2 1 1 cooperative 0: map 4096 8192 table scratch "
	  "1024 16384\n"
	  "launch second grid 1 1 1 block 512 1 1 shared 0 stream 77 cluster 0 0 0 cooperative 1: 12288\n"
	  "free scratch\nresult 0 success\n",
	  "a limit of shared memory serves every size that shares the binary" },
	{ "257 1.5 0", "result -1 no configuration was validated for these sizes\n",
	  "a size that was not validated launches nothing" },
	{ "256 2 0", "result -1 no configuration was validated for these sizes\n",
	  "a number that was not validated launches nothing" },
	{ "256 1.5 4", "result -2 an array is NULL or not aligned to 16 bytes\n", "a misaligned array launches nothing" },
	{ "256 1.5 -4096", "result -2 an array is NULL or not aligned to 16 bytes\n", "a NULL array launches nothing" },
};

/* The same through TVM-FFI: a call with tensors, and what the fake libtvm_ffi is told. */
static const struct {
	const char *change, *said, *name;
} calls[] = {
	{ "none", "stream 55 cluster 2 1 1 cooperative 0: map 4096 8192 table scratch 256 15872\n",
	  "TVM-FFI tensors choose the configuration" },
	{ "object", "stream 55 cluster 2 1 1 cooperative 0: map 4096 8192 table scratch 256 15872\n",
	  "TVM-FFI tensor objects are read" },
	{ "none", "context of device 3\n", "the call uses the tensors' device" },
	{ "none", "context restored\n", "the caller's context is restored" },
	{ "shape", "ValueError: all_of_it: no validated configuration has", "an unknown shape is a ValueError" },
	{ "type", "ValueError: all_of_it: no validated configuration has", "an unknown type is a ValueError" },
	{ "stride", "ValueError: all_of_it: no validated configuration has", "unknown strides are a ValueError" },
	{ "number", "ValueError: all_of_it: no validated configuration has", "an unknown number is a ValueError" },
	{ "cpu", "ValueError: all_of_it: argument 1 is not on the first tensor's GPU", "a tensor of the CPU is a ValueError" },
	{ "count", "TypeError: all_of_it takes 4 arguments (s, A, D, C), and 2 were given",
	  "a wrong number of arguments is a TypeError" },
	{ "none", "returned 0\n", "a call that succeeds returns 0" },
	{ "shape", "returned -1\n", "a call that is refused returns -1" },
};

static void drive(const char *folder)
{
	char *text, *command;
	for (size_t i = 0; i < MEM_COUNT(runs); i++) {
		command = mem_fmt("LD_LIBRARY_PATH=. ./user launch %s", runs[i].asked);
		shell(folder, command, &text);
		is_str(text, runs[i].said, "%s", runs[i].name);
		free(command);
		free(text);
	}
	for (size_t i = 0; i < MEM_COUNT(calls); i++) {
		command = mem_fmt("LD_LIBRARY_PATH=. ./user tvm %s", calls[i].change);
		shell(folder, command, &text);
		has_str(text, calls[i].said, "%s", calls[i].name);
		free(command);
		free(text);
	}
	shell(folder, "LD_LIBRARY_PATH=. ./user twice", &text);
	is_str(text, "loads 1\n", "a second launch loads nothing");
	free(text);
	shell(folder, "./user launch 256 1.5 0", &text);
	if (strcmp(text, "result -3 the GPU driver's library cannot be loaded\n") == 0)
		ok(1, "a machine without a driver gets an error code");
	else
		SKIP(1, "this machine has a driver");
	free(text);
}

static void test_cuda(void)
{
	char folder[] = "/tmp/peakd-export.XXXXXX";
	struct context *ctx = parse(cuda_text);
	struct export_case cases[] = {
		{ .built = make(ctx, "n=256 s=1.5 BX=64", "first configuration"),
		  .reference = make(ctx, "n=256 s=1.5 BX=32", "reference") },
		{ .built = make(ctx, "n=512 s=2 BX=32", "second configuration"),
		  .reference = make(ctx, "n=512 s=2 BX=32", "reference") },
		{ .built = make(ctx, "n=1024 s=2 BX=32", "second configuration"),
		  .reference = make(ctx, "n=1024 s=2 BX=32", "reference") },
	};
	struct export_request q = { .ctx = ctx,
				    .reference = ctx,
				    .cases = cases,
				    .count = MEM_COUNT(cases),
				    .arch = "sm_90a",
				    .provenance = "a path\\\nx" };
	struct export_file *files = NULL;
	struct err e = ERR_INIT;
	size_t count = 0;
	is_int(export_request(&q, &files, &count, &e), 0, "a CUDA context is exported %s", e.text);
	is_int(count, 8, "a CUDA export has eight files without its JSON");
	const char *source = find(files, count, "all_of_it.cu");
	has_str(source, "#elif PEAKD_CONFIGURATION == 1 // n=512 s=2 BX=32\n", "the device code has every configuration");
	has_str(source, "#define BX 64\n", "the device code defines its tuning parameters");
	has_str(source, "// a path\\.\n", "a comment cannot swallow the next line");
	has_str(find(files, count, "all_of_it.h"),
		"int all_of_it_launch(\n\tconst void *A /* f16 */, void *C /* f32 */, void *D /* i64 */, int32_t n, float s, "
		"cudaStream_t stream);",
		"the header declares the launch");
	has_str(find(files, count, "all_of_it.py"), "C = op(s, A, D) ", "the Python file says how the operator is called");
	if (mkdtemp(folder) == NULL || write_files(folder, files, count) < 0) {
		ok(0, "cannot write to %s", folder);
		return;
	}
	builds(folder, "C builds the library without a warning",
	       "${CC:-cc} -std=c17 -O2 -Wall -Wextra -Wpedantic -Werror -fPIC -shared -pthread -o liball_of_it.so all_of_it.c "
	       "-ldl");
	builds(folder, "C builds the check program without a warning",
	       "${CC:-cc} -std=c17 -O2 -Wall -Wextra -Wpedantic -Werror -pthread -o check all_of_it_check.c -ldl -lm");
	builds(folder, "C++ builds the library without a warning",
	       "${CXX:-c++} -x c++ -std=c++17 -O2 -Wall -Wextra -Wpedantic -Werror -fPIC -shared -pthread -o libcxx.so all_of_it.c "
	       "-ldl");
	builds(folder, "the fake driver and its user are built",
	       "${CC:-cc} -std=gnu17 -w -fPIC -shared -o libcuda.so.1 -x c $root/tests/core/problems/fake_driver.h && "
	       "${CC:-cc} -std=gnu17 -Wall -Wextra -Werror -rdynamic -pthread -I. -o user -x c "
	       "$root/tests/core/problems/fake_user.h -ldl");
	if (access("/usr/local/cuda/include/cuda.h", R_OK) == 0)
		builds(folder, "the library's structures have the layout of CUDA's header",
		       "${CC:-cc} -std=gnu17 -DAGAINST_HEADER -I. -I/usr/local/cuda/include -fsyntax-only -x c "
		       "$root/tests/core/problems/fake_user.h");
	else
		SKIP(1, "no CUDA headers here");
	drive(folder);
	builds(folder, "the Python file is Python", "python3 -m py_compile all_of_it.py");
	export_files_free(files, count);

	q.reference = NULL;
	is_int(export_request(&q, &files, &count, &e), 0, "a CUDA context is exported without a reference %s", e.text);
	has_str(find(files, count, "all_of_it_check.c"), "#define PEAKD_HAS_REFERENCE 0\n",
		"a check program without a reference only times");
	export_files_free(files, count);
	for (size_t i = 0; i < MEM_COUNT(cases); i++) {
		variant_fini(&cases[i].built);
		variant_fini(&cases[i].reference);
	}
	context_free(ctx);
	char *line = mem_fmt("rm -r %s", folder);
	if (system(line) != 0)
		printf("# %s was left behind\n", folder);
	free(line);
}

static void test_reference(void)
{
	static const char text[] =
		"---\nkernel: k\nbackend: cuda\ninputs:\n  n: int = {64, 128}\n  C: out f32[n]\ntune:\n  BX: {7, 32, 64}\n---\n"
		"```cuda\nextern \"C\" __global__ void k(float *C) {}\n```\n```lua host\nneed(n %% BX == 0)\n"
		"launch('k', n / BX, BX, {C})\n```\n%s";
	char *plain = mem_fmt(text, ""),
	     *precise = mem_fmt(text, "```cuda reference\n// slow\nextern \"C\" __global__ void k(float *C) {}\n```\n");
	struct context *ctx = parse(plain), *better = parse(precise), *reference = NULL;
	struct facts facts = sample_facts();
	struct params *asked = NULL, *params = NULL;
	struct err e = ERR_INIT;
	is_int(params_parse(ctx, "n=128 BX=64", true, &asked, &e), 0, "the parameters are parsed %s", e.text);
	is_int(export_reference(ctx, asked, &facts, &reference, &params, &e), 0,
	       "the reference of a baseline without a reference block is found %s", e.text);
	char *chosen = params ? params_text(params) : NULL;
	is_str(chosen, "n=128 BX=32", "the reference has the same input and the first valid configuration");
	ok(reference && context_region(reference, REGION_DEVICE)[0] == 'e', "the reference is the baseline's own code");
	free(chosen);
	params_free(params);
	context_free(reference);
	is_int(export_reference(better, asked, &facts, &reference, &params, &e), 0,
	       "the reference of a baseline with a reference block is found %s", e.text);
	has_str(context_region(reference, REGION_DEVICE), "// slow", "the reference is the reference block's code");
	params_free(params);
	params_free(asked);
	context_free(reference);
	context_free(ctx);
	context_free(better);
	free(plain);
	free(precise);
}

static void test_refusals(void)
{
	struct context *ctx =
		parse("---\nkernel: big\nbackend: cuda\ninputs:\n  C: out f32[4]\n---\n```cuda\nextern \"C\" __global__ "
		      "void k(float *C, int *t) {}\n"
		      "```\n```lua host\nlaunch('k', 1, 1, {C, table('i32', {1})})\n```\n");
	struct export_case c = { .built = make(ctx, "", "x") };
	struct export_file *files = NULL;
	struct err e = ERR_INIT;
	size_t count = 0;
	c.built.plan->buffers[1].bytes = 8 << 20;
	struct export_request q = { .ctx = ctx, .cases = &c, .count = 1, .arch = "sm_90a" };
	is_int(export_request(&q, &files, &count, &e), -ERR_UNSUPPORTED, "a table that is too large is refused");
	has_str(e.text, "exporting big: table ", "the refusal names the kernel and the table");
	c.built.plan->buffers[1].bytes = 4;
	variant_fini(&c.built);
	context_free(ctx);
}

int main(void)
{
	test_hlsl();
	test_cuda();
	test_reference();
	test_refusals();
	return tap_done();
}

/* The installed CUDA compiler library: the result for a good kernel, and the message for a bad one. */
#include "backends/cuda/cuda.h"
#include "backends/gpu/run.h"
#define PLANS_BACKEND backend_cuda
#include "backends/plans.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

#define ARCH "sm_90a"

static void good(void)
{
	struct plan *p = matmul_plan(256, 16, 16);
	struct wire_compiled c;
	struct err e;

	is_int(compile(ARCH, "", naive_matmul, p, &c, &e), 0, "naive matmul compiles for " ARCH " (%s)", e.text);
	ok(c.binary_len > 1000 && memcmp(c.binary, "\177ELF", 4) == 0, "the binary is an ELF image of %zu bytes", c.binary_len);
	is_int(c.kernel_count, 1, "one kernel is reported");
	if (c.kernel_count == 1) {
		is_str(c.kernels[0].name, "matmul", "the kernel's name");
		ok(c.kernels[0].registers >= 16 && c.kernels[0].registers <= 64, "%u registers", c.kernels[0].registers);
		is_int(c.kernels[0].shared, 0, "no shared memory");
		is_int(c.kernels[0].spill, 0, "no spills");
		is_int(c.kernels[0].max_threads, 1024, "1024 threads per block are allowed");
		is_int(c.kernels[0].block[0], 0, "the block size is not fixed");
	}
	ok(c.compile_ns > 1000000, "the compile time is reported: %.1f ms", (double)c.compile_ns / 1e6);
	wire_compiled_fini(&c);
	plan_free(p);
}

/* Expects failure with this code and these two parts of the message. */
static void bad(const char *what, const char *macros, const char *device, struct plan *take_plan, enum err_code code,
		const char *part, const char *part2)
{
	struct wire_compiled c;
	struct err e;

	is_int(compile(ARCH, macros, device, take_plan, &c, &e), -(int)code, "%s: %s", what, err_code_name(code));
	has_str(e.text, part, "%s: the message says where or what", what);
	has_str(e.text, part2, "%s: the message says why", what);
	ok(!strstr(e.text, "/device(") && !strstr(e.text, "/macros("), "%s: the region's name has no path", what);
	wire_compiled_fini(&c);
	plan_free(take_plan);
}

static void errors(void)
{
	bad("undefined name", "", "extern \"C\" __global__ void k(float *C) {\n\tint unused;\n\tC[0] = nothing;\n}\n",
	    small_plan("k", 1, 32), ERR_COMPILE, "device(3): error", "\"nothing\" is undefined");
	bad("broken macro region", "#define ONE 1\n#if ONE\n", "extern \"C\" __global__ void k(float *C) { }\n",
	    small_plan("k", 1, 32), ERR_COMPILE, "macros(2): error", "#endif");
	bad("bad instruction", "", "extern \"C\" __global__ void k(float *C) {\n\n\n\tasm volatile(\"wgmma.nonsense;\");\n}\n",
	    small_plan("k", 1, 32), ERR_COMPILE, "device(4): ptxas error", "wgmma.nonsense;");
	bad("bad instruction in a macro", "static __device__ void f() {\n\tasm volatile(\"wgmma.nonsense;\");\n}\n",
	    "extern \"C\" __global__ void k(float *C) { f(); }\n", small_plan("k", 1, 32), ERR_COMPILE, "macros(2): ptxas error",
	    "wgmma.nonsense;");
	bad("a macro that does not end", "#define NEVER 1 \\", "extern \"C\" __global__ void k(float *C) {\nnothing; }\n",
	    small_plan("k", 1, 32), ERR_COMPILE, "device(2): error", "\"nothing\" is undefined");
	bad("unknown header", "", "#include <iostream>\nextern \"C\" __global__ void k(float *C) { }\n", small_plan("k", 1, 32),
	    ERR_COMPILE, "device(1)", "leave <iostream> out");
	bad("missing kernel", "", "extern \"C\" __global__ void k1(float *C) { }\nextern \"C\" __global__ void k2(float *C) { }\n",
	    small_plan("k", 1, 32), ERR_INPUT, "k1", "k2");
	bad("extern \"C\" forgotten", "", "__global__ void k(float *C) { }\n", small_plan("k", 1, 32), ERR_INPUT, "_Z1kPf",
	    "declare it extern \"C\"");
	bad("memory of the device's own", "",
	    "extern \"C\" __global__ void k(float *C) { float *p = new float[8]; p[threadIdx.x & 7] = C[0]; C[1] = p[0]; delete[] "
	    "p; }\n",
	    small_plan("k", 1, 32), ERR_INPUT, "allocates memory", "alloc()");
	bad("no kernel at all", "", "__device__ int x;\n", small_plan("k", 1, 32), ERR_INPUT, "\"k\"", "has no kernel");
	bad("argument count", "", "extern \"C\" __global__ void k(float *C, int n) { }\n", small_plan("k", 1, 32), ERR_INPUT,
	    "takes 2 parameters", "gives 1");
	bad("too many threads", "", "extern \"C\" __global__ void k(float *C) { }\n", small_plan("k", 1, 2000), ERR_PRUNED, "2000",
	    "1024");
	bad("launch bounds", "", "extern \"C\" __global__ void __launch_bounds__(128) k(float *C) { }\n", small_plan("k", 1, 256),
	    ERR_PRUNED, "256", "128");
	bad("too much static shared memory", "",
	    "extern \"C\" __global__ void k(float *C) { __shared__ float t[20000];\n"
	    "t[threadIdx.x * 4] = C[threadIdx.x]; __syncthreads(); C[threadIdx.x] = t[19999 - threadIdx.x]; }\n",
	    small_plan("k", 1, 32), ERR_PRUNED, "80000", "49152");
}

static void more_errors(void)
{
	struct plan *p = small_plan("k", 1, 32);
	struct wire_compiled c;
	struct err e;

	p->ops[0].launch.shared = 240000;
	bad("too much dynamic shared memory", "", "extern \"C\" __global__ void k(float *C) { }\n", p, ERR_PRUNED, "240000",
	    "232448");
	p = small_plan("k", 1, 32);
	add_int_arg(&p->ops[0].launch, "n", DTYPE_I64, 5);
	bad("argument type", "", "extern \"C\" __global__ void k(float *C, int n) { }\n", p, ERR_INPUT,
	    "argument 2 (n) is i64 of 8 bytes", "4 bytes");
	p = small_plan("k", 3, 32);
	p->ops[0].launch.cluster[0] = 2;
	bad("cluster", "", "extern \"C\" __global__ void k(float *C) { }\n", p, ERR_PRUNED, "grid dimension x is 3",
	    "clusters of 2");
	p = small_plan("k", 1, 1024);
	bad("registers", "#define STEP(i) float v##i = C[i]; ",
	    "extern \"C\" __global__ void __launch_bounds__(1024) other(float *C) { }\n"
	    "extern \"C\" __global__ void k(float *C) {\n\tfloat v[96];\n#pragma unroll\n"
	    "\tfor (int i = 0; i < 96; i++) v[i] = C[i * 1024 + threadIdx.x];\n"
	    "\t__syncthreads();\n#pragma unroll\n"
	    "\tfor (int i = 0; i < 96; i++) C[(i * 7 % 96) * 1024 + threadIdx.x] = v[i] * v[95 - i] + v[(i * 5) % 96];\n}\n",
	    p, ERR_PRUNED, "asks for 1024 threads per block", "registers per thread");
	p = small_plan("k", 1, 32);
	is_int(compile("sm_20", "", "", p, &c, &e), -ERR_NOT_FOUND, "an unknown architecture is refused");
	has_str(e.text, "sm_90a", "the message lists the known architectures");
	is_int(compile("sm_70", "", "", p, &c, &e), -ERR_UNSUPPORTED, "an architecture that NVRTC does not support is refused");
	has_str(e.text, "sm_75", "the message lists the architectures of this NVRTC");
	plan_free(p);
}

static void shows_resources(void)
{
	struct plan *p = small_plan("k", 1, 64);
	struct wire_compiled c;
	struct err e;

	p->ops[0].launch.shared = 100000;
	is_int(compile(ARCH, "#include <stdint.h>\n#include <math.h>\n#include <cuda_runtime.h>\n",
		       "extern \"C\" __global__ void __launch_bounds__(64, 2) k(float *C) {\n"
		       "	extern __shared__ float dynamic[]; __shared__ float t[333]; float local[100]; int unused; uint32_t "
		       "x = threadIdx.x;\n"
		       "	for (int i = 0; i < 100; i++) local[i] = C[i + x];\n"
		       "	t[x] = local[(int)C[x]] + INFINITY; dynamic[x] = t[x]; __syncthreads(); C[x] = t[63 - x] * "
		       "dynamic[x + 1];\n}\n",
		       p, &c, &e),
	       0, "compile a kernel with shared, local and dynamic memory (%s)", e.text);
	is_int(c.kernel_count == 1 ? c.kernels[0].shared : 0, 1344,
	       "static shared memory: 1332 bytes in units of 16, without the reserved part");
	is_int(c.kernel_count == 1 ? c.kernels[0].spill : 0, 400, "an indexed array counts as local memory");
	is_int(c.kernel_count == 1 ? c.kernels[0].max_threads : 0, 64, "launch bounds limit the threads");
	has_str(c.log, "device(2): warning", "the log keeps warnings");
	ok(c.log && !strstr(c.log, "Remark"), "the log drops hints about compiler options");
	wire_compiled_fini(&c);
	plan_free(p);
}

static void toolkit_headers(void)
{
	static const char device[] = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <mma.h>\n#include <stdint.h>\n"
				     "#include <cuda.h>\n"
				     "extern \"C\" __global__ void k(float *C) { __half h = __float2half(C[0]); __nv_bfloat16 b = "
				     "__float2bfloat16(C[1]);\n"
				     "	CUtensorMap *m = 0; uint64_t z = sizeof *m;\n"
				     "	C[2] = __half2float(h) + __bfloat162float(b) + z; }\n";
	struct plan *p = small_plan("k", 1, 32);
	struct gpu_rtc nvrtc;
	struct wire_compiled c;
	struct err e;
	char folder[] = "/tmp/peakd-cuda-XXXXXX", lib[64], link[160], target[PATH_MAX];

	cuda_library_nvrtc(&nvrtc, NULL);
	if (nvrtc.include_count)
		is_int(compile(ARCH, "", device, p, &c, &e), 0, "fp16, bf16 and mma headers of the toolkit compile (%s)", e.text);
	else
		SKIP(1, "no toolkit headers beside %s", nvrtc.path);
	if (nvrtc.include_count)
		wire_compiled_fini(&c);

	/* A toolkit that is only the library: a folder with a link to it, so that no include/ is beside it. */
	ok(mkdtemp(folder) != NULL, "make a folder");
	snprintf(lib, sizeof lib, "%s/lib64", folder);
	mkdir(lib, 0700);
	snprintf(link, sizeof link, "%s/libnvrtc.so.%d", lib, nvrtc.version_major);
	ok(realpath(nvrtc.path, target) && symlink(target, link) == 0, "link NVRTC into it");
	setenv("PEAKD_CUDA_TOOLKIT", folder, 1);
	is_int(compile(ARCH, "", device, p, &c, &e), -ERR_UNSUPPORTED, "a toolkit header without a toolkit is refused");
	has_str(e.text, "<cuda_fp16.h>", "the message names the header");
	has_str(e.text, "CUDA_HOME", "the message says what to do");
	is_int(compile(ARCH, "", "#include <stdint.h>\nextern \"C\" __global__ void k(float *C) { C[0] = sizeof(uint64_t); }", p,
		       &c, &e),
	       0, "standard types work without a toolkit (%s)", e.text);
	wire_compiled_fini(&c);
	unsetenv("PEAKD_CUDA_TOOLKIT");
	unlink(link);
	rmdir(lib);
	rmdir(folder);
	plan_free(p);
}

/* Barriers for nothing. */
static void probes(void)
{
	static const char device[] = "extern \"C\" __global__ void k(float *C) {\n\t__shared__ float s[32];\n"
		"\ts[threadIdx.x] = C[threadIdx.x];\n"
				     "\t__syncthreads();\n\tC[threadIdx.x] = s[31 - threadIdx.x];\n}\n";
	struct plan *p = small_plan("k", 1, 32);
	struct wire_compiled without = { .binary = NULL }, with = { .binary = NULL };
	struct wire_compile request = { .backend = (char *)"cuda", .arch = (char *)ARCH, .macros = (char *)"",
	                                .device = (char *)(uintptr_t)device, .plan = p, .probe = WIRE_PROBE_BARRIERS };
	struct err e = ERR_INIT;
	is_int(PLANS_BACKEND.compile(&request, &without, &e), 0, "a kernel compiles without its barriers %s", e.text);
	request.probe = WIRE_PROBE_NONE;
	is_int(PLANS_BACKEND.compile(&request, &with, &e), 0, "and with them %s", e.text);
	ok(without.binary_len != with.binary_len || memcmp(without.binary, with.binary, with.binary_len) != 0, "the code differs");
	wire_compiled_fini(&without);
	wire_compiled_fini(&with);
	request.probe = WIRE_PROBE_LOADS;
	/* That takes nvJitLink, which a machine with NVRTC need not have. */
	int rc = PLANS_BACKEND.compile(&request, &without, &e);
	if (rc == -ERR_UNSUPPORTED)
		has_str(e.text, "nvJitLink", "loads are free where nvJitLink is");
	else
		ok(rc == 0 && without.binary_len, "a kernel compiles with free loads %s", e.text);
	wire_compiled_fini(&without);
	plan_free(p);
}

/* The judge's own kernels, which share sources with the host: what is C for it must be CUDA for them. */
static void judge_compiles(void)
{
	struct plan *p = plan_new();
	char *options[] = { (char *)"-fmad=false", (char *)"-default-device" };
	struct wire_compile request = { .backend = (char *)backend_cuda.name,
					.arch = (char *)ARCH,
					.macros = (char *)"",
					.device = (char *)gpu_judge_resident.source,
					.options = options,
					.option_count = 2,
					.plan = p };
	struct wire_compiled c = { .binary = NULL };
	struct err e = ERR_INIT;
	add_buffer(p, "found", PLAN_OUT, 1, 1);
	add_launch(p, "judge", 1, 1, 256, 1);
	is_int(backend_cuda.compile(&request, &c, &e), 0, "the judge's kernels compile for " ARCH " (%s)", e.text);
	wire_compiled_fini(&c);
	plan_free(p);
}

/* The numbers in the code, after NVRTC has computed with them. */
static void immediates(void)
{
	static const char device[] = "extern \"C\" __global__ void k(float *C, int n) {\n\tint i = threadIdx.x;\n"
				     "\tif (C[i] == 9998.0f + 1.0f || n > 100000) C[i] = 1;\n"
				     "\tif (__float_as_uint(C[i + n]) == 0x42f6e979u) C[i] = 2;\n}\n";
	static const double want[] = { 9999, 100000 };
	struct plan *p = plan_new();
	unsigned buffer = add_buffer(p, "C", PLAN_OUT, 1, 64);
	struct plan_launch *l = add_launch(p, "k", 1, 1, 32, 1);
	struct wire_compile request = { .backend = (char *)"cuda", .arch = (char *)ARCH, .macros = (char *)"",
	                                .device = (char *)(uintptr_t)device, .plan = p };
	struct wire_compiled c = { .binary = NULL };
	struct err e = ERR_INIT;
	add_buffer_arg(l, "C", buffer);
	add_int_arg(l, "n", DTYPE_I32, 32);
	is_int(PLANS_BACKEND.compile(&request, &c, &e), 0, "a kernel with numbers compiles %s", e.text);
	const struct wire_immediates *w = &c.immediates;
	for (size_t k = 0; k < MEM_COUNT(want); k++) {
		int n = 0;
		for (size_t i = 0; i < w->float_count + w->other_count; i++)
			n += fabs((i < w->float_count ? w->floats[i] : w->others[i - w->float_count]) - want[k]) <= 1;
		ok(n > 0, "it holds %g, or the number beside it", want[k]);
	}
	int bits = 0;
	for (size_t i = 0; i < w->float_count + w->other_count; i++)
		bits += (float)(i < w->float_count ? w->floats[i] : w->others[i - w->float_count]) == 123.456001f;
	ok(bits > 0, "and the float that an integer's bits mean");
	wire_compiled_fini(&c);
	plan_free(p);
}

int main(void)
{
	struct gpu_rtc nvrtc;
	struct err e = ERR_INIT;

	if (cuda_library_nvrtc(&nvrtc, &e)) {
		SKIP(1, "%.200s", e.text);
		return tap_done();
	}
	good();
	judge_compiles();
	immediates();
	errors();
	more_errors();
	shows_resources();
	toolkit_headers();
	probes();
	return tap_done();
}

/* The installed HIP compiler library: the result for a good kernel, and the message for a bad one. */
#include "backends/hip/hip.h"
#define PLANS_BACKEND backend_hip
#include "backends/plans.h"

#include "tap.h"

#define ARCH "gfx90a"
#define KERNEL "extern \"C\" __global__ void "

static void good(const char *arch, uint32_t most)
{
	struct plan *p = matmul_plan(256, 16, 16);
	struct wire_compiled c;
	struct err e;

	is_int(compile(arch, "", naive_matmul, p, &c, &e), 0, "naive matmul compiles for %s (%s)", arch, e.text);
	ok(c.binary_len > 1000 && memcmp(c.binary, "\177ELF", 4) == 0, "the binary is an ELF image of %zu bytes", c.binary_len);
	is_int(c.kernel_count, 1, "one kernel is reported");
	if (c.kernel_count == 1) {
		is_str(c.kernels[0].name, "matmul", "the kernel's name");
		ok(c.kernels[0].registers >= 4 && c.kernels[0].registers <= most, "%u vector registers", c.kernels[0].registers);
		is_int(c.kernels[0].shared, 0, "no shared memory");
		is_int(c.kernels[0].spill, 0, "no scratch");
		is_int(c.kernels[0].max_threads, 1024, "1024 threads per block are allowed");
	}
	has_str(c.log, "SGPR, 0 bytes LDS, 0 bytes scratch, 0 VGPR and 0 SGPR spilled; computed occupancy",
		"the log has the resources");
	has_str(c.log, "with blocks of 256 threads", "the log has the occupancy for the plan's block");
	ok(c.compile_ns > 1000000, "the compile time is reported: %.1f ms", (double)c.compile_ns / 1e6);
	wire_compiled_fini(&c);
	plan_free(p);
}

static void spellings(void)
{
	static const char device[] =
		"#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n#include <stdint.h>\n#include <math.h>\n"
		"#include <float.h>\n"
		"float helper(float x) { return x * 2; }\ntemplate <int N> float more(float x) { return x * N; }\n" KERNEL
		"__launch_bounds__(64) k(float *C) {\n"
		"	uint32_t i = hipBlockIdx_x * hipBlockDim_x + hipThreadIdx_x, j = blockIdx.x * blockDim.x + threadIdx.x;\n"
		"	half h = __float2half(C[i]);\n"
		"	C[j] = helper(__half2float(h)) + more<3>(C[j]) + INFINITY + FLT_MAX + __shfl_xor(C[i], 3) + warpSize + "
		"hipGridDim_x;\n}\n";
	struct plan *p = small_plan("k", 1, 64);
	struct wire_compiled c;
	struct err e;

	is_int(compile(ARCH, "", device, p, &c, &e), 0,
	       "both spellings of the indices, headers, plain helpers and shuffles compile (%s)", e.text);
	is_int(c.kernel_count == 1 ? c.kernels[0].max_threads : 0, 64, "launch bounds limit the threads");
	wire_compiled_fini(&c);
	is_int(compile(ARCH, "__constant__ float table[4] = { 1, 2, 3, 4 };\n",
		       KERNEL "k(float *C) { C[threadIdx.x] = table[threadIdx.x & 3]; }\n", p, &c, &e),
	       0, "a table of constants compiles (%s)", e.text);
	wire_compiled_fini(&c);
	is_int(compile(ARCH, "typedef float v4 __attribute__((ext_vector_type(4)));\n",
		       KERNEL "k(float *C) { v4 acc = { 0, 0, 0, 0 };\n"
			      "for (int i = 0; i < 64; i++) acc = __builtin_amdgcn_mfma_f32_16x16x4f32(C[i], C[threadIdx.x], acc, "
			      "0, 0, 0);\n"
			      "C[threadIdx.x] = acc[0] + acc[1] + acc[2] + acc[3]; }\n",
		       p, &c, &e),
	       0, "matrix instructions by built-ins compile (%s)", e.text);
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
	wire_compiled_fini(&c);
	plan_free(take_plan);
}

static void errors(void)
{
	bad("undefined name", "", KERNEL "k(float *C) {\n\tint unused;\n\tC[0] = nothing;\n}\n", small_plan("k", 1, 32),
	    ERR_COMPILE, "device(3): error", "'nothing'");
	bad("broken macro region", "#define ONE 1\n#if ONE\n", KERNEL "k(float *C) { }\n", small_plan("k", 1, 32), ERR_COMPILE,
	    "macros(2): error", "unterminated conditional");
	bad("bad instruction", "", KERNEL "k(float *C) { asm volatile(\"v_nonsense v1\"); }\n", small_plan("k", 1, 32), ERR_COMPILE,
	    "invalid instruction", "v_nonsense v1");
	bad("a macro that does not end", "#define NEVER 1 \\", KERNEL "k(float *C) {\nnothing; }\n", small_plan("k", 1, 32),
	    ERR_COMPILE, "device(2): error", "'nothing'");
	bad("unknown header", "", "#include <hip/nonsense.h>\n" KERNEL "k(float *C) { }\n", small_plan("k", 1, 32), ERR_COMPILE,
	    "device(1)", "leave <hip/nonsense.h> out");
	bad("missing kernel", "", KERNEL "k1(float *C) { }\n" KERNEL "k2(float *C) { }\n", small_plan("k", 1, 32), ERR_INPUT, "k1",
	    "k2");
	bad("extern \"C\" forgotten", "", "__global__ void k(float *C) { }\n", small_plan("k", 1, 32), ERR_INPUT, "_Z1kPf",
	    "declare it extern \"C\"");
	bad("a variable that outlives an execution", "",
	    "__device__ float kept[100];\n" KERNEL "k(float *C) { kept[threadIdx.x] += C[0]; C[0] = kept[1]; }\n",
	    small_plan("k", 1, 32), ERR_INPUT, "400 bytes", "outlive an execution");
	bad("a static one", "", KERNEL "k(float *C) { static __device__ int calls; calls++; C[0] = calls; }\n",
	    small_plan("k", 1, 32), ERR_INPUT, "4 bytes", "alloc()");
	bad("no kernel at all", "", "__device__ int x;\n", small_plan("k", 1, 32), ERR_INPUT, "\"k\"", "has no kernel");
	bad("argument count", "", KERNEL "k(float *C, int n) { }\n", small_plan("k", 1, 32), ERR_INPUT, "takes 2 parameters",
	    "gives 1");
	bad("too many threads", "", KERNEL "k(float *C) { }\n", small_plan("k", 1, 2000), ERR_PRUNED, "2000", "1024");
	bad("launch bounds", "", KERNEL "__launch_bounds__(128) k(float *C) { }\n", small_plan("k", 1, 256), ERR_PRUNED, "256",
	    "128");
	bad("too much LDS", "",
	    KERNEL "k(float *C) { __shared__ float t[20000];\nt[threadIdx.x * 4] = C[threadIdx.x]; __syncthreads();\n"
		   "C[threadIdx.x] = t[19999 - threadIdx.x]; }\n",
	    small_plan("k", 1, 32), ERR_PRUNED, "80000", "65536");
}

static void options(void)
{
	char *option = (char *)"-fnonsense";
	struct plan *p = small_plan("k", 1, 32);
	struct wire_compile request = { .backend = (char *)"hip", .arch = (char *)ARCH, .macros = (char *)"",
		.device = (char *)(KERNEL "k(float *C) { }\n"), .options = &option, .option_count = 1, .plan = p };
	struct wire_compiled c = { .binary = NULL };
	struct err e = ERR_INIT;

	is_int(backend_hip.compile(&request, &c, &e), -ERR_INPUT, "an unknown option is refused");
	has_str(e.text, "-fnonsense", "the message names the option (%s)", e.text);
	wire_compiled_fini(&c);
	plan_free(p);
}

/* hiprtc would abort this process if it were asked. */
static void architectures(const struct gpu_rtc *rtc)
{
	static const char *const newer[] = { "gfx942", "gfx1100", "gfx1201" };
	struct plan *p = small_plan("k", 1, 32);
	struct wire_compiled c;
	struct err e;

	for (size_t i = 0; i < MEM_COUNT(newer); i++) {
		bool known = hip_library_knows(rtc, newer[i], NULL);
		int rc = compile(newer[i], "", KERNEL "k(float *C) { }\n", p, &c, &e);
		ok(known ? rc == 0 : rc == -ERR_UNSUPPORTED && strstr(e.text, "gfx90a"), "%s: %s", newer[i],
		   known ? "compiles" : e.text);
		wire_compiled_fini(&c);
	}
	is_int(compile("gfx9zz", "", "", p, &c, &e), -ERR_NOT_FOUND, "a malformed architecture is refused");
	is_int(compile("gfx999", "", "", p, &c, &e), -ERR_NOT_FOUND, "an unknown architecture is refused");
	has_str(e.text, "gfx1030", "the message lists the known architectures");
	plan_free(p);
}

static void shows_resources(void)
{
	struct plan *p = small_plan("k", 1, 64);
	struct wire_compiled c;
	struct err e;

	p->ops[0].launch.shared = 1000;
	is_int(compile(ARCH, "",
		       KERNEL "k(float *C) {\n\textern __shared__ float dynamic[]; __shared__ float t[333]; float local[100]; int "
			      "unused;\n"
			      "	int x = threadIdx.x;\n	for (int i = 0; i < 100; i++) local[i] = C[i + x];\n"
			      "	t[x] = local[(int)C[x]]; dynamic[x] = t[x]; __syncthreads(); C[x] = t[63 - x] * dynamic[x + 1];\n"
			      "}\n",
		       p, &c, &e),
	       0, "compile a kernel with shared, local and dynamic memory (%s)", e.text);
	is_int(c.kernel_count == 1 ? c.kernels[0].shared : 0, 1332, "static LDS is reported");
	ok(c.kernel_count == 1 && c.kernels[0].spill >= 400, "an indexed array counts as scratch");
	has_str(c.log, "2332 bytes LDS", "the log has LDS with the dynamic part");
	wire_compiled_fini(&c);
	plan_free(p);
}

int main(void)
{
	struct gpu_rtc rtc;
	struct err e = ERR_INIT;

	if (hip_library_rtc(&rtc, &e)) {
		SKIP(1, "%.200s", e.text);
		return tap_done();
	}
	good("gfx906", 64);
	good("gfx90a", 64);
	good("gfx1030", 64);
	spellings();
	errors();
	options();
	architectures(&rtc);
	shows_resources();
	return tap_done();
}

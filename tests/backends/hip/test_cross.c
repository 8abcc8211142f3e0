/* Architectures that ROCm 5.2's compiler does not know, compiled by a newer clang (Debian's clang-19): newer code
 * objects are read, and peakd's translation units compile for gfx942, gfx1100 and gfx1201. Only tests do this: peakd
 * itself never starts a compiler driver. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/gpu/gpu.h"
#include "backends/hip/hip.h"
#define PLANS_BACKEND backend_hip
#include "backends/plans.h"
#include "tap.h"

#define PRELUDE "tests/backends/hip/prelude.h"
/* Block-wide sums through LDS, with both spellings of the indices and a plain helper function. */
static const char sums[] =
	"float twice(float x) { return x * 2; }\n"
	"extern \"C\" __global__ void __launch_bounds__(256) sums(const float *A, float *C, long n, short m) {\n"
	"	__shared__ float t[256];\n"
	"	t[hipThreadIdx_x] = twice(A[blockIdx.x * 256 + threadIdx.x]);\n	__syncthreads();\n"
	"	for (int s = 128; s > 0; s /= 2) { if (threadIdx.x < s) t[threadIdx.x] += t[threadIdx.x + s]; __syncthreads(); }\n"
	"	if (threadIdx.x == 0) C[hipBlockIdx_x] = t[0] + n + m;\n}\n";

static char folder[] = "/tmp/peakd-cross-XXXXXX";

/* The code object, empty when it does not compile. */
static struct buf cross(const char *arch, const char *device)
{
	struct buf code = BUF_INIT;
	char *source = mem_fmt("%s/k.hip", folder), *object = mem_fmt("%s/k.co", folder), *command, bytes[4096];
	FILE *f = fopen(source, "w");
	size_t n;

	if (f) {
		fprintf(f, "%s#define BX 16\n#define BY 16\n%s%s", hip_compile_begin, device, hip_compile_end);
		fclose(f);
	}
	command = mem_fmt(
		"clang-19 -x hip --offload-arch=%s --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib -std=c++17 -O3 "
		"-include " PRELUDE " %s -o %s",
		arch, source, object);
	f = system(command) == 0 ? fopen(object, "r") : NULL;
	while (f && (n = fread(bytes, 1, sizeof bytes, f)) > 0)
		buf_add(&code, bytes, n);
	if (f)
		fclose(f);
	unlink(source);
	unlink(object);
	free(source);
	free(object);
	free(command);
	return code;
}

static void matmul(const char *arch, uint32_t wave)
{
	struct buf code = cross(arch, naive_matmul);
	struct gpu_module o = { .kernels = NULL };
	struct err e = ERR_INIT;
	struct plan *p = matmul_plan(256, 16, 16);
	const struct gpu_kernel *k;
	struct facts f;

	is_int(hip_object_read(code.data, code.len, &o, &e), 0, "%s: a naive matmul compiles and is read (%s)", arch, e.text);
	k = gpu_module_find(&o, "matmul");
	is_int(backend_hip.describe(arch, &f, &e), 0, "%s: the architecture is described", arch);
	if (k) {
		struct hip_occupancy oc = hip_occupancy(k, hip_facts_arch(arch), 256, 0);
		is_int(k->wave, wave, "%s: the compiler's wave size", arch);
		is_int(f.warp_size, wave, "%s: the facts have that wave size", arch);
		is_int(k->param_count, 4, "%s: hidden parameters are not counted", arch);
		is_int(gpu_check_launch(&p->ops[0].launch, k, &f, &e), 0, "%s: the launch fits (%s)", arch, e.text);
		ok(oc.waves == oc.max, "%s: %u VGPR, %u SGPR, occupancy %u of %u", arch, k->registers, k->sgprs, oc.waves, oc.max);
	} else {
		ok(false, "%s: the code object has the kernel", arch);
	}
	gpu_module_fini(&o);
	buf_fini(&code);
	plan_free(p);
}

static void local(const char *arch)
{
	struct buf code = cross(arch, sums);
	struct gpu_module o = { .kernels = NULL };
	struct err e = ERR_INIT;
	const struct gpu_kernel *k;

	is_int(hip_object_read(code.data, code.len, &o, &e), 0, "%s: LDS, launch bounds and both spellings compile (%s)", arch,
	       e.text);
	k = gpu_module_find(&o, "sums");
	ok(k && k->shared == 1024 && k->bound == 256 && k->local == 0 && k->vgpr_spills == 0,
	   "%s: %u bytes LDS, bound %u, %u scratch, %u spills", arch, k ? k->shared : 0, k ? k->bound : 0, k ? k->local : 0,
	   k ? k->vgpr_spills : 0);
	ok(k && k->param_count == 4 && k->params[2].bytes == 8 && k->params[3].bytes == 2, "%s: parameters of 8 and 2 bytes", arch);
	gpu_module_fini(&o);
	buf_fini(&code);
}

static void matrix(void)
{
	struct buf code = cross("gfx942", "typedef float v4 __attribute__((ext_vector_type(4)));\n"
		"extern \"C\" __global__ void __launch_bounds__(64) k(float *C) { v4 acc[32];\n"
		"for (int j = 0; j < 32; j++) acc[j] = 0;\n"
		"for (int i = 0; i < 64; i++)\n#pragma unroll\nfor (int j = 0; j < 32; j++)\n"
		"acc[j] = __builtin_amdgcn_mfma_f32_16x16x4f32(C[i], C[j * 64 + threadIdx.x], acc[j], 0, 0, 0);\n"
		"for (int j = 0; j < 32; j++) C[j * 64 + threadIdx.x] = acc[j][0] + acc[j][1] + acc[j][2] + acc[j][3]; }\n");
	struct gpu_module o = { .kernels = NULL };
	struct err e = ERR_INIT;
	const struct gpu_kernel *k;

	is_int(hip_object_read(code.data, code.len, &o, &e), 0, "gfx942: matrix instructions compile (%s)", e.text);
	k = gpu_module_find(&o, "k");
	ok(k && k->registers >= 128, "gfx942: accumulators in registers: %u vector, of them %u accumulation", k ? k->registers : 0,
	   k ? k->agprs : 0);
	if (k)
		ok(hip_occupancy(k, hip_facts_arch("gfx942"), 64, 0).waves <= 4, "gfx942: the accumulators limit occupancy");
	gpu_module_fini(&o);
	buf_fini(&code);
}

int main(void)
{
	if (system("command -v clang-19 >/dev/null && command -v ld.lld-19 >/dev/null") != 0 || access(PRELUDE, R_OK) != 0) {
		SKIP(1, "no clang-19 with lld-19 here (Debian: clang-19, lld-19)");
		return tap_done();
	}
	if (!mkdtemp(folder))
		return 1;
	matmul("gfx90a", 64);
	matmul("gfx942", 64);
	matmul("gfx1100", 32);
	matmul("gfx1201", 32);
	local("gfx942");
	local("gfx1100");
	matrix();
	rmdir(folder);
	return tap_done();
}

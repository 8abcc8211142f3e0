/* PTX rewritten for a probe, and assembled where the toolkit's libraries are here. */
#include "backends/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

static const char ptx[] = ".visible .entry k(\n)\n{\n\t.reg .f32 %f<3>;\n\tld.param.u64 \t%rd1, [k_param_0];\n"
	"\tld.global.u32 \t%r6, [%rd16];\n"
			  "\tld.global.nc.f32 \t%f9, [%rd18+16];\n\t@%p1 ld.global.v4.f32 \t{%f1, %f2, %f3, %f4}, [%rd14];\n"
			  "\tst.global.f64 \t[%rd23], %fd1;\n\tret;\n}\n";

static void rewrite(void)
{
	struct buf out = BUF_INIT;
	is_int((long long)cuda_probe_rewrite(ptx, WIRE_PROBE_LOADS, &out), 2,
	       "loads of floats change, also predicated and wide ones");
	const char *text = buf_text(&out);
	has_str(text, "{\n\t.reg .b64 \t%peakd_place;", "a function gets a register for the place");
	has_str(text, "and.b64 \t%peakd_place, %rd18, -65536;\n\tld.global.nc.f32 \t%f9, [%peakd_place+16];",
		"an address is rounded down, and its offset stays");
	has_str(text, "\n\t@%p1 ld.global.v4.f32 \t{%f1, %f2, %f3, %f4}, [%peakd_place];", "a predicate stays");
	has_str(text, "ld.global.u32 \t%r6, [%rd16];", "an integer may be an index, and stays");
	has_str(text, "st.global.f64 \t[%rd23], %fd1;", "and so do stores");
	buf_clear(&out);
	is_int((long long)cuda_probe_rewrite(ptx, WIRE_PROBE_STORES, &out), 1, "the other probe changes stores");
	has_str(buf_text(&out), "st.global.f64 \t[%peakd_place], %fd1;", "in the same way");
	buf_fini(&out);
}

static void compile_probe(enum wire_probe probe, const char *code, const char *what, int want)
{
	struct wire_compile request = { .backend = (char *)"cuda", .arch = (char *)"sm_90a", .macros = (char *)"",
					.device = (char *)(uintptr_t)code, .probe = probe };
	struct wire_compiled to = { .binary = NULL };
	struct err e = ERR_INIT;
	int rc = cuda_compile(&request, &to, &e);
	is_int(rc, want, "%s %s", what, e.text);
	if (rc == 0)
		ok(to.kernel_count == 1 && strcmp(to.kernels[0].name, "k") == 0, "%s: the binary has the kernel", what);
	wire_compiled_fini(&to);
}

int main(void)
{
	static const char code[] = "extern \"C\" __global__ void k(const float4 *A, float *C) { float4 a = A[threadIdx.x]; "
				   "C[threadIdx.x] = a.x + a.y * a.z + a.w; }";
	struct wire_compile plain = { .backend = (char *)"cuda", .arch = (char *)"sm_90a", .macros = (char *)"",
				      .device = (char *)(uintptr_t)code };
	struct wire_compiled to = { .binary = NULL };
	struct err e = ERR_INIT;
	rewrite();
	if (cuda_compile(&plain, &to, &e) < 0) {
		SKIP(1, "no CUDA compiler: %s", e.text);
		return tap_done();
	}
	wire_compiled_fini(&to);
	if (cuda_probe_apply(ptx, "sm_90a", WIRE_PROBE_LOADS, &to, &e) < 0 && strstr(e.text, "libnvJitLink")) {
		SKIP(1, "%s", e.text);
		return tap_done();
	}
	wire_compiled_fini(&to);
	compile_probe(WIRE_PROBE_LOADS, code, "a kernel with loads for nothing", 0);
	compile_probe(WIRE_PROBE_STORES, code, "a kernel with stores for nothing", 0);
	compile_probe(WIRE_PROBE_STORES, "extern \"C\" __global__ void k(int *C) { C[0] = 1; }", "a kernel without floats",
		      -ERR_UNSUPPORTED);
	return tap_done();
}

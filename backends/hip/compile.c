/* compile: see hip.h. */
#include "backends/hip/hip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/gpu/compile.h"
#include "base/clock.h"
#include "base/mem.h"

/* --- headers -------------------------------------------------------------------------------------------------------------- */
/* hiprtc has size_t, the fixed-width integers, __half and the mathematical functions built in, so most of these are empty.
 * ROCm 5.2 cannot even include its own hip_fp16.h. */
#define FLOAT                                                                                                                      \
	"#pragma once\n"                                                                                                           \
	"#define FLT_MAX __FLT_MAX__\n#define FLT_MIN __FLT_MIN__\n#define FLT_EPSILON __FLT_EPSILON__\n"                          \
	"#define DBL_MAX __DBL_MAX__\n#define DBL_MIN __DBL_MIN__\n#define DBL_EPSILON __DBL_EPSILON__\n"
#define MATH                                                                                                                       \
	"#pragma once\n"                                                                                                           \
	"#ifndef INFINITY\n#define INFINITY __builtin_huge_valf()\n#endif\n#ifndef NAN\n#define NAN "                              \
	"__builtin_nanf(\"\")\n#endif\n"                                                                                           \
	"#define M_PI 3.14159265358979323846\n"
#define HALF "#pragma once\ntypedef __half half;\ntypedef __half2 half2;\n"

static const struct gpu_header headers[] = {
	GPU_HEADERS(GPU_HEADER_EMPTY, FLOAT, MATH),
	{ "hip/hip_runtime.h", GPU_HEADER_EMPTY },
	{ "hip/hip_fp16.h", HALF },
	{ NULL, NULL },
};

#define INDEX(hip, plain)                                                                                                          \
	"#ifndef hip" hip "_x\n#define hip" hip "_x " plain ".x\n#define hip" hip "_y " plain ".y\n#define hip" hip "_z " plain    \
	".z\n#endif\n"

const char hip_compile_begin[] = INDEX("ThreadIdx", "threadIdx") INDEX("BlockIdx", "blockIdx") INDEX("BlockDim", "blockDim")
	INDEX("GridDim", "gridDim") "#pragma clang force_cuda_host_device begin\n";
const char hip_compile_end[] = "\n#pragma clang force_cuda_host_device end\n";

/* --- failures --------------------------------------------------------------------------------------------------------- */
/* The assembler's words go to stderr: compiles once more with stderr redirected. The first attempt leaves stderr alone,
 * because the daemon must see what a crash writes there. */
static void add_assembler(const struct gpu_rtc *rtc, const char *source, const struct gpu_options *o, struct buf *out)
{
	int aside = memfd_create("peakd-assembler", MFD_CLOEXEC), kept = dup(STDERR_FILENO);
	struct gpu_attempt again;
	char text[4096];
	ssize_t n;
	if (aside >= 0 && kept >= 0) {
		fflush(stderr);
		dup2(aside, STDERR_FILENO);
		again = gpu_attempt_new(rtc, source, headers, o);
		fflush(stderr);
		dup2(kept, STDERR_FILENO);
		gpu_attempt_fini(rtc, &again);
		n = pread(aside, text, sizeof text, 0);
		if (n > 0)
			buf_add(out, text, (size_t)n);
	}
	if (aside >= 0)
		close(aside);
	if (kept >= 0)
		close(kept);
}

static int fail(const struct gpu_rtc *rtc, const char *arch, const char *source, const struct gpu_options *o,
		const struct gpu_attempt *a, struct err *e)
{
	struct buf text = BUF_INIT;
	unsigned asked, allowed;
	if (strstr(a->log, "unsupported option") || strstr(a->log, "unknown argument") || a->result == GPU_RTC_INVALID_OPTION)
		return err_set(e, ERR_INPUT, "the HIP compiler (hiprtc %d.%d) refuses an option of the context's `options`: %.*s",
			       rtc->version_major, rtc->version_minor, (int)strcspn(a->log, "\n"), a->log);
	if (hip_diagnostic_shared(a->log, &asked, &allowed))
		return err_set(e, ERR_PRUNED, "%u bytes of static shared memory (LDS) asked, %s allows %u", asked, arch, allowed);
	if (hip_diagnostic_is_assembler(a->log))
		add_assembler(rtc, source, o, &text);
	hip_diagnostic_clean(a->log, true, &text);
	if (!text.len)
		buf_addf(&text, "hiprtc %d.%d fails with result %d and says: %s\n", rtc->version_major, rtc->version_minor,
			 a->result, a->log[0] ? a->log : "nothing");
	char *header = hip_diagnostic_header(a->log);
	if (header)
		buf_addf(&text,
			 "Device code is compiled alone, without the host's headers: leave <%.100s> out; <stdint.h>, <math.h>, "
			 "<hip/hip_runtime.h> and <hip/hip_fp16.h> are there",
			 header);
	int rc = err_set(e, ERR_COMPILE, "%s", buf_text(&text));
	free(header);
	buf_fini(&text);
	return rc;
}

/* --- compiling ------------------------------------------------------------------------------------------------------------ */
static int check_arch(const struct gpu_rtc *rtc, const char *arch, struct err *e)
{
	struct buf known = BUF_INIT;
	int rc = 0;
	if (!hip_library_knows(rtc, arch, &known))
		rc = err_set(e, ERR_UNSUPPORTED,
			     "the HIP compiler (hiprtc %d.%d, %s) cannot compile for \"%.40s\": it knows %s. Install a ROCm that "
			     "fits the device",
			     rtc->version_major, rtc->version_minor, rtc->path, arch, buf_text(&known));
	buf_fini(&known);
	return rc;
}

/* One line of resources for each reported kernel, at its first launch. */
static void log_kernels(const struct wire_compile *request, const struct gpu_module *module, const struct wire_compiled *to,
			struct buf *log)
{
	const struct hip_arch *arch = hip_facts_arch(request->arch);
	const struct plan *plan = request->plan;
	for (size_t i = 0; i < to->kernel_count; i++) {
		const struct gpu_kernel *k = gpu_module_find(module, to->kernels[i].name);
		uint64_t threads = k->bound;
		uint32_t shared = 0;
		for (size_t n = 0; plan && n < plan->op_count; n++) {
			const struct plan_launch *l = &plan->ops[n].launch;
			if (plan->ops[n].kind == PLAN_OP_LAUNCH && strcmp(l->kernel, k->name) == 0) {
				threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
				shared = l->shared;
				break;
			}
		}
		buf_addf(log, "%s: %u VGPR, %u AGPR, %u SGPR, %u bytes LDS, %u bytes scratch, %u VGPR and %u SGPR spilled", k->name,
			 k->registers, k->agprs, k->sgprs, k->shared + shared, k->local, k->vgpr_spills, k->sgpr_spills);
		if (arch) {
			struct hip_occupancy o = hip_occupancy(k, arch, threads, shared);
			buf_addf(log, "; computed occupancy %u of %u waves per SIMD with blocks of %llu threads, limited by %s",
				 o.waves, o.max, (unsigned long long)threads, o.limit);
		}
		buf_addc(log, '\n');
	}
}

int hip_compile(const struct wire_compile *request, struct wire_compiled *ret_compiled, struct err *e)
{
	struct wire_compiled to = { .binary = NULL };
	struct gpu_module module = { .kernels = NULL };
	struct gpu_options options = { .list = NULL };
	struct gpu_attempt a = { .program = NULL };
	struct buf source = BUF_INIT, log = BUF_INIT;
	int64_t start = clock_now();
	struct facts limits;
	struct gpu_rtc rtc;
	int rc = hip_library_rtc(&rtc, e);
	if (rc)
		return rc;
	buf_adds(&source, hip_compile_begin);
	if ((rc = hip_facts_describe(request->arch, &limits, e)) || (rc = check_arch(&rtc, request->arch, e)) ||
	    (rc = gpu_compile_source(request, &source, e)))
		goto out;
	buf_adds(&source, hip_compile_end);
	gpu_options_add(&options, mem_fmt("--offload-arch=%s", request->arch));
	gpu_options_add(&options, mem_str("-std=c++17"));
	gpu_options_add(&options, mem_str("-O3"));
	gpu_options_add_request(&options, request);
	a = gpu_attempt_new(&rtc, buf_text(&source), headers, &options);
	if (a.result != GPU_RTC_SUCCESS) {
		rc = fail(&rtc, request->arch, buf_text(&source), &options, &a, e);
		goto out;
	}
	if ((rc = gpu_attempt_binary(&rtc, &a, "hiprtc", "bitcode or relocatable code", &to, e)) ||
	    (rc = hip_object_read(to.binary, to.binary_len, &module, e)) ||
	    (rc = gpu_compile_check(request->plan, &module, &limits, &to, e)))
		goto out;
	log_kernels(request, &module, &to, &log);
	hip_diagnostic_clean(a.log, false, &log);
	to.log = buf_steal(&log);
	to.compile_ns = (uint64_t)(clock_now() - start);
	*ret_compiled = to;
	to = (struct wire_compiled){ .binary = NULL };
out:
	wire_compiled_fini(&to);
	gpu_attempt_fini(&rtc, &a);
	gpu_options_fini(&options);
	gpu_module_fini(&module);
	buf_fini(&source);
	buf_fini(&log);
	return rc;
}

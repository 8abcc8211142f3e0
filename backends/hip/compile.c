/* compile: see hip.h. */
#include "backends/hip/hip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/values/immediates.h"
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
static void add_assembler(const struct gpu_compilation *c, struct buf *out)
{
	int aside = memfd_create("peakd-assembler", MFD_CLOEXEC), kept = dup(STDERR_FILENO);
	struct gpu_attempt again;
	char text[4096];
	ssize_t n;
	if (aside >= 0 && kept >= 0) {
		fflush(stderr);
		dup2(aside, STDERR_FILENO);
		again = gpu_compile_attempt(c, headers);
		fflush(stderr);
		dup2(kept, STDERR_FILENO);
		gpu_attempt_fini(&c->rtc, &again);
		n = pread(aside, text, sizeof text, 0);
		if (n > 0)
			buf_add(out, text, (size_t)n);
	}
	if (aside >= 0)
		close(aside);
	if (kept >= 0)
		close(kept);
}

static int fail(const struct gpu_compilation *c, struct err *e)
{
	const struct gpu_rtc *rtc = &c->rtc;
	const struct gpu_attempt *a = &c->attempt;
	const char *shared = strstr(a->log, "local memory ("), *end = strstr(a->log, "' file not found"), *header = end;
	struct buf text = BUF_INIT;
	unsigned asked, allowed;
	int rc = gpu_compile_able(c, "the HIP compiler (hiprtc", e);
	if (rc < 0)
		return rc;
	if (strstr(a->log, "unsupported option") || strstr(a->log, "unknown argument") || a->result == GPU_RTC_INVALID_OPTION)
		return err_set(e, ERR_INPUT, "the HIP compiler (hiprtc %d.%d) refuses an option of the context's `options`: %.*s",
			       rtc->version_major, rtc->version_minor, (int)strcspn(a->log, "\n"), a->log);
	if (shared && sscanf(shared, "local memory (%u) exceeds limit (%u)", &asked, &allowed) == 2)
		return err_set(e, ERR_PRUNED, "the kernel asks for %u bytes of static shared memory (LDS), but %s allows %u", asked,
			       c->request->arch, allowed);
	if (strstr(a->log, "cannot compile inline asm"))
		add_assembler(c, &text);
	hip_diagnostic_clean(a->log, true, &text);
	if (!text.len)
		buf_addf(&text, "hiprtc %d.%d fails with result %d and says: %s\n", rtc->version_major, rtc->version_minor,
			 a->result, a->log[0] ? a->log : "nothing");
	while (header && header > a->log && header[-1] != '\'' && header[-1] != '\n')
		header--;
	if (header)
		buf_addf(&text,
			 "Device code is compiled alone, without the host's headers: leave <%.*s> out; <stdint.h>, <math.h>, "
			 "<hip/hip_runtime.h> and <hip/hip_fp16.h> are there",
			 end - header < 100 ? (int)(end - header) : 100, header);
	rc = err_set(e, ERR_COMPILE, "%s", buf_text(&text));
	buf_fini(&text);
	return rc;
}

/* --- compiling ------------------------------------------------------------------------------------------------------------ */
/* One line of resources for each reported kernel, at its first launch. */
static void log_kernels(struct gpu_compilation *c)
{
	const struct hip_arch *arch = hip_facts_arch(c->request->arch);
	const struct plan *plan = c->request->plan;
	struct buf *log = &c->log;
	for (size_t i = 0; i < c->to.kernel_count; i++) {
		const struct gpu_kernel *k = gpu_module_find(&c->module, c->to.kernels[i].name);
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
	struct gpu_compilation c = { .request = request, .start = clock_now() };
	struct buf known = BUF_INIT;
	int rc = hip_library_rtc(&c.rtc, e);
	buf_adds(&c.source, hip_compile_begin);
	if (!rc)
		rc = hip_facts_describe(request->arch, &c.limits, e);
	if (!rc && !hip_library_knows(&c.rtc, request->arch, &known))
		rc = err_set(e, ERR_UNSUPPORTED,
			     "the HIP compiler (hiprtc %d.%d, %s) cannot compile for \"%.40s\": it knows %s. Install a ROCm that "
			     "fits the device",
			     c.rtc.version_major, c.rtc.version_minor, c.rtc.path, request->arch, buf_text(&known));
	if (!rc)
		rc = gpu_compile_source(request, &c.source, e);
	buf_adds(&c.source, hip_compile_end);
	gpu_compile_option(&c, mem_fmt("--offload-arch=%s", request->arch));
	gpu_compile_option(&c, mem_str("-std=c++17"));
	gpu_compile_option(&c, mem_str("-O3"));
	if (!rc && (c.attempt = gpu_compile_attempt(&c, headers)).result != GPU_RTC_SUCCESS)
		rc = fail(&c, e);
	if (!rc)
		rc = gpu_compile_binary(&c, "hiprtc", "bitcode or relocatable code", e);
	if (!rc)
		rc = hip_object_read(c.to.binary, c.to.binary_len, &c.module, e);
	if (!rc)
		rc = gpu_compile_check(&c, e);
	if (!rc) {
		/* hiprtc gives no readable code. */
		immediates_add_source(&c.to.immediates, buf_text(&c.source));
		immediates_finish(&c.to.immediates);
		log_kernels(&c);
		hip_diagnostic_clean(c.attempt.log, false, &c.log);
	}
	buf_fini(&known);
	return gpu_compile_end(&c, rc, ret_compiled);
}

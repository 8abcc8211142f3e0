/* compile: see cuda.h. */
#include "backends/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/values/immediates.h"
#include "base/clock.h"
#include "base/lex.h"
#include "base/mem.h"

/* --- headers -------------------------------------------------------------------------------------------------------------- */
/* The integer types are those of the toolkit's own cuda/std/cstdint under NVRTC, so that both can be included. NVRTC has
 * everything else that such headers declare built in (size_t, printf, assert, sqrtf, …). */
#define STDINT                                                                                                                     \
	"#pragma once\n"                                                                                                           \
	"typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;\n"                     \
	"typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;\n"                         \
	"typedef unsigned long long uint64_t; typedef long long intptr_t; typedef unsigned long long uintptr_t;\n"
#define FLOAT                                                                                                                      \
	"#pragma once\n"                                                                                                           \
	"#define FLT_MAX 3.40282346638528859812e+38f\n#define FLT_MIN 1.17549435082228750797e-38f\n"                               \
	"#define FLT_EPSILON 1.19209289550781250000e-7f\n#define DBL_MAX 1.79769313486231570815e+308\n"                            \
	"#define DBL_MIN 2.22507385850720138309e-308\n#define DBL_EPSILON 2.22044604925031308085e-16\n"
#define MATH                                                                                                                       \
	"#pragma once\n"                                                                                                           \
	"#define INFINITY __int_as_float(0x7f800000)\n#define NAN __int_as_float(0x7fffffff)\n"                                    \
	"#define M_PI 3.14159265358979323846\n"
/* The only part of the driver API's header that a kernel needs: the type of a tensor map parameter. */
#define DRIVER                                                                                                                     \
	"#pragma once\n"                                                                                                           \
	"typedef struct alignas(64) CUtensorMap_st { unsigned long long opaque[16]; } CUtensorMap;\n"

const struct gpu_header cuda_compile_headers[] = {
	GPU_HEADERS(STDINT, FLOAT, MATH),
	{ "cuda.h", DRIVER },
	{ "cudaTypedefs.h", "#include <cuda.h>\n" },
	{ "cuda_runtime.h", GPU_HEADER_EMPTY },
	{ "device_launch_parameters.h", GPU_HEADER_EMPTY },
	{ NULL, NULL },
};

/* --- failures --------------------------------------------------------------------------------------------------------- */
static int fail_option(const struct gpu_rtc *nvrtc, const char *arch, const char *log, struct err *e)
{
	struct buf list = BUF_INIT;
	int count = 0, *archs, rc;

	if (!strstr(log, "architecture"))
		return err_set(e, ERR_INPUT, "the CUDA compiler (NVRTC %d.%d) refuses an option of the context's `options`: %.*s",
			       nvrtc->version_major, nvrtc->version_minor, (int)strcspn(log, "\n"), log);
	nvrtc->arch_count(&count);
	archs = MEM_NEW_N(int, count > 0 ? (size_t)count : 1);
	if (count > 0 && nvrtc->archs(archs) == GPU_RTC_SUCCESS)
		for (int i = 0; i < count; i++)
			buf_addf(&list, " sm_%d", archs[i]);
	rc = err_set(e, ERR_UNSUPPORTED,
		     "the CUDA compiler (NVRTC %d.%d) cannot compile for \"%.40s\": it knows%s (with a or f behind the number from "
		     "sm_90 on). Install a toolkit that fits the device",
		     nvrtc->version_major, nvrtc->version_minor, arch, buf_text(&list));
	free(archs);
	buf_fini(&list);
	return rc;
}

/* True for a header of the toolkit, false for one of the host. */
static bool is_toolkit_header(const char *name)
{
	static const char *const prefixes[] = {
		"cuda",    "mma.h", "cooperative_groups", "cub/",     "thrust/", "curand", "nv/", "crt/",
		"vector_", "sm_",   "math_constants.h",   "texture_", "surface_"
	};
	for (size_t i = 0; i < MEM_COUNT(prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static int fail_header(const struct gpu_rtc *nvrtc, const char *header, const char *errors, struct err *e)
{
	struct buf places = BUF_INIT;
	int rc;

	if (is_toolkit_header(header) && !nvrtc->include_count) {
		cuda_library_include_places(&places);
		rc = err_set(e, ERR_UNSUPPORTED,
			     "the device code includes <%.100s>, but the CUDA toolkit's headers are not on this machine (looked "
			     "for cuda_fp16.h beside %s and in %s). Install them (NVIDIA's packages cuda-cudart-dev-13-0 and "
			     "cuda-crt-13-0, or the whole toolkit), name the toolkit in CUDA_HOME, or do without the header\n%s",
			     header, nvrtc->path, buf_text(&places), errors);
	} else if (is_toolkit_header(header)) {
		rc = err_set(e, ERR_COMPILE, "%sThe header <%.100s> is not in the CUDA toolkit's folder %s", errors, header,
			     nvrtc->include[0]);
	} else {
		rc = err_set(e, ERR_COMPILE,
			     "%sDevice code is compiled alone, without the host's headers: leave <%.100s> out; <stdint.h>, "
			     "<math.h> and the CUDA headers are there",
			     errors, header);
	}
	buf_fini(&places);
	return rc;
}

static int fail(struct gpu_compilation *c, struct err *e)
{
	const struct gpu_rtc *nvrtc = &c->rtc;
	const struct gpu_attempt *a = &c->attempt;
	const char *shared = strstr(a->log, "uses too much shared data ("), *header = strstr(a->log, "open source file \"");
	struct buf text = BUF_INIT;
	unsigned asked, allowed;
	int rc;

	if ((rc = gpu_compile_able(c, "the CUDA compiler (NVRTC", e)) < 0)
		return rc;
	if (a->result == GPU_RTC_INVALID_OPTION)
		return fail_option(nvrtc, c->request->arch, a->log, e);
	if (shared && sscanf(shared, "uses too much shared data (%x bytes, %x max", &asked, &allowed) == 2)
		return err_set(e, ERR_PRUNED,
			       "%u bytes of static shared memory asked, the compiler allows %u for %s; more is possible as extern "
			       "__shared__ with {shared = bytes} in the launch",
			       asked, allowed, c->request->arch);
	if (strstr(a->log, "ptxas application ptx input") && strstr(a->log, "ptxas fatal")) {
		/* ptxas only knows lines of the intermediate code; a second attempt, with line information, leads to the
		 * author's. */
		gpu_compile_option(c, mem_str("--generate-line-info"));
		struct gpu_attempt again = gpu_compile_attempt(c, cuda_compile_headers);
		char *ptx = gpu_attempt_text(again.program, nvrtc->ptx_size, nvrtc->ptx);
		cuda_diagnostic_clean(again.log, ptx, c->request, true, &text);
		free(ptx);
		gpu_attempt_fini(nvrtc, &again);
	} else {
		cuda_diagnostic_clean(a->log, NULL, c->request, true, &text);
	}
	if (!text.len)
		buf_addf(&text, "NVRTC %d.%d fails with result %d and says: %s\n", nvrtc->version_major, nvrtc->version_minor,
			 a->result, a->log[0] ? a->log : "nothing");
	if (header) {
		header = strchr(header, '"') + 1;
		char *name = mem_strn(header, strcspn(header, "\"\n"));
		rc = fail_header(nvrtc, name, buf_text(&text), e);
		free(name);
	} else {
		rc = err_set(e, ERR_COMPILE, "%s", buf_text(&text));
	}
	buf_fini(&text);
	return rc;
}

/* Names that rewritten code has. Those of converted code (lift.cu) are mangled, and so stand inside of longer ones. */
static bool has_own_name(const char *ptx)
{
	for (const char *at = ptx; (at = strstr(at, "peakd_")); at++)
		if (at > ptx && !lex_in_word(at[-1]))
			return true;
	return false;
}

static int disturb(const char *ptx, const struct wire_compile *request, struct wire_compiled *io_compiled, struct err *e)
{
	struct err first = ERR_INIT;
	int rc = -ERR_UNSUPPORTED;
	if (has_own_name(ptx))
		return err_set(e, ERR_COMPILE, "names that begin with peakd_ are those of rewritten code: take others");
	for (int reduced = 0; reduced < 2 && rc < 0; reduced++) {
		struct buf out = BUF_INIT;
		cuda_disturb(ptx, request->plan, reduced, &out);
		rc = cuda_link(&out, request->arch, io_compiled, reduced ? e : &first);
		buf_fini(&out);
	}
	return rc;
}

/* --- compiling ------------------------------------------------------------------------------------------------------------ */
int cuda_compile(const struct wire_compile *request, struct wire_compiled *ret_compiled, struct err *e)
{
	struct gpu_compilation c = { .request = request, .start = clock_now() };
	int rc = cuda_library_nvrtc(&c.rtc, e);

	if (!rc)
		rc = cuda_facts_describe(request->arch, &c.limits, e);
	if (!rc)
		rc = gpu_compile_source(request, &c.source, e);
	gpu_compile_option(&c, mem_fmt("--gpu-architecture=%s", request->arch));
	gpu_compile_option(&c, mem_str("--std=c++17"));
	/* Unannotated helper functions are device code: there is no host code in a device region. */
	gpu_compile_option(&c, mem_str("-default-device"));
	for (unsigned i = 0; i < c.rtc.include_count; i++)
		gpu_compile_option(&c, mem_fmt("--include-path=%s", c.rtc.include[i]));
	if (!rc && (c.attempt = gpu_compile_attempt(&c, cuda_compile_headers)).result != GPU_RTC_SUCCESS)
		rc = fail(&c, e);
	if (!rc)
		rc = gpu_compile_binary(&c, "NVRTC", "PTX or LTO", e);
	char *ptx = rc ? NULL : gpu_attempt_text(c.attempt.program, c.rtc.ptx_size, c.rtc.ptx);
	if (!rc) {
		immediates_add_ptx(&c.to.immediates, ptx);
		immediates_finish(&c.to.immediates);
		if (request->probe == WIRE_PROBE_LOADS || request->probe == WIRE_PROBE_STORES)
			rc = cuda_probe_apply(ptx, request->arch, request->probe, &c.to, e);
		if (request->disturbed)
			rc = disturb(ptx, request, &c.to, e);
	}
	if (!rc)
		rc = cuda_object_read(c.to.binary, c.to.binary_len, ptx, &c.module, e);
	free(ptx);
	if (!rc)
		rc = gpu_compile_check(&c, e);
	if (!rc)
		cuda_diagnostic_clean(c.attempt.log, NULL, request, false, &c.log);
	return gpu_compile_end(&c, rc, ret_compiled);
}

/* compile: see cuda.h. */
#include "backends/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
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

static int fail(const struct gpu_rtc *nvrtc, const struct wire_compile *request, const char *source, const struct gpu_options *o,
		const struct gpu_attempt *a, struct err *e)
{
	struct buf text = BUF_INIT;
	char *header;
	unsigned asked, allowed;
	int rc;

	if (a->result == GPU_RTC_INVALID_OPTION)
		return fail_option(nvrtc, request->arch, a->log, e);
	if (cuda_diagnostic_shared(a->log, &asked, &allowed))
		return err_set(e, ERR_PRUNED,
			       "%u bytes of static shared memory asked, the compiler allows %u for %s; more is possible as extern "
			       "__shared__ with {shared = bytes} in the launch",
			       asked, allowed, request->arch);
	if (cuda_diagnostic_is_ptxas(a->log)) {
		/* ptxas only knows lines of the intermediate code; a second attempt, with line information, leads to the
		 * author's. */
		struct gpu_options with_lines = { .list = mem_new(o->count + 1, sizeof *o->list), .count = o->count + 1 };
		struct gpu_attempt again;
		char *ptx;

		memcpy(with_lines.list, o->list, o->count * sizeof *o->list);
		with_lines.list[o->count] = (char *)"--generate-line-info";
		again = gpu_attempt_new(nvrtc, source, cuda_compile_headers, &with_lines);
		ptx = gpu_attempt_text(again.program, nvrtc->ptx_size, nvrtc->ptx);
		cuda_diagnostic_clean(again.log, ptx, request, true, &text);
		free(ptx);
		gpu_attempt_fini(nvrtc, &again);
		free(with_lines.list);
	} else {
		cuda_diagnostic_clean(a->log, NULL, request, true, &text);
	}
	if (!text.len)
		buf_addf(&text, "NVRTC %d.%d fails with result %d and says: %s\n", nvrtc->version_major, nvrtc->version_minor,
			 a->result, a->log[0] ? a->log : "nothing");
	header = cuda_diagnostic_header(a->log);
	rc = header ? fail_header(nvrtc, header, buf_text(&text), e) : err_set(e, ERR_COMPILE, "%s", buf_text(&text));
	free(header);
	buf_fini(&text);
	return rc;
}

static int apply_probe(const struct gpu_rtc *nvrtc, const struct wire_compile *request, const struct gpu_attempt *a,
		       struct wire_compiled *to, struct err *e)
{
	if (request->probe != WIRE_PROBE_LOADS && request->probe != WIRE_PROBE_STORES)
		return 0;
	char *ptx = gpu_attempt_text(a->program, nvrtc->ptx_size, nvrtc->ptx);
	int rc = cuda_probe_apply(ptx, request->arch, request->probe, to, e);
	free(ptx);
	return rc;
}

/* --- compiling ------------------------------------------------------------------------------------------------------------ */
int cuda_compile(const struct wire_compile *request, struct wire_compiled *ret_compiled, struct err *e)
{
	struct wire_compiled to = { .binary = NULL };
	struct gpu_module module = { .kernels = NULL };
	struct gpu_options options = { .list = NULL };
	struct gpu_attempt a = { .program = NULL };
	struct buf source = BUF_INIT, log = BUF_INIT;
	int64_t start = clock_now();
	struct gpu_rtc nvrtc;
	struct facts limits;
	int rc = cuda_library_nvrtc(&nvrtc, e);

	if (rc)
		return rc;
	if ((rc = cuda_facts_describe(request->arch, &limits, e)) || (rc = gpu_compile_source(request, &source, e)))
		goto out;
	gpu_options_add(&options, mem_fmt("--gpu-architecture=%s", request->arch));
	gpu_options_add(&options, mem_str("--std=c++17"));
	/* Unannotated helper functions are device code: there is no host code in a device region. */
	gpu_options_add(&options, mem_str("-default-device"));
	for (unsigned i = 0; i < nvrtc.include_count; i++)
		gpu_options_add(&options, mem_fmt("--include-path=%s", nvrtc.include[i]));
	gpu_options_add_request(&options, request);
	a = gpu_attempt_new(&nvrtc, buf_text(&source), cuda_compile_headers, &options);
	if (a.result != GPU_RTC_SUCCESS) {
		rc = fail(&nvrtc, request, buf_text(&source), &options, &a, e);
		goto out;
	}
	if ((rc = gpu_attempt_binary(&nvrtc, &a, "NVRTC", "PTX or LTO", &to, e)) ||
	    (rc = apply_probe(&nvrtc, request, &a, &to, e)) || (rc = cuda_object_read(to.binary, to.binary_len, &module, e)) ||
	    (rc = gpu_compile_check(request->plan, &module, &limits, &to, e)))
		goto out;
	cuda_diagnostic_clean(a.log, NULL, request, false, &log);
	to.log = buf_steal(&log);
	to.compile_ns = (uint64_t)(clock_now() - start);
	*ret_compiled = to;
	to = (struct wire_compiled){ .binary = NULL };
out:
	wire_compiled_fini(&to);
	gpu_attempt_fini(&nvrtc, &a);
	gpu_options_fini(&options);
	gpu_module_fini(&module);
	buf_fini(&source);
	buf_fini(&log);
	return rc;
}

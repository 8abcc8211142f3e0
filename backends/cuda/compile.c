/* compile: see compile.h. One translation unit is made of the parameters as #define, the macros region and the device region; #line
 * makes messages read macros(3) and device(12), the lines that the author wrote. */
#include "backends/cuda/compile.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/check.h"
#include "backends/cuda/cubin.h"
#include "backends/cuda/diagnostic.h"
#include "backends/cuda/facts.h"
#include "backends/cuda/headers.h"
#include "backends/cuda/library.h"
#include "backends/gpu/source.h"
#include "base/clock.h"
#include "base/mem.h"

struct options { char **list; size_t count; };

static void options_fini(struct options *o)
{
	for (size_t i = 0; i < o->count; i++)
		free(o->list[i]);
	free(o->list);
}

static struct options options_new(const struct wire_compile *request, const struct cuda_nvrtc *nvrtc)
{
	struct options o = { .list = NULL, .count = 0 };

	*MEM_PUSH(o.list, o.count) = mem_fmt("--gpu-architecture=%s", request->arch);
	*MEM_PUSH(o.list, o.count) = mem_str("--std=c++17");
	/* Unannotated helper functions are device code: there is no host code in a device region. */
	*MEM_PUSH(o.list, o.count) = mem_str("-default-device");
	for (unsigned i = 0; i < nvrtc->include_count; i++)
		*MEM_PUSH(o.list, o.count) = mem_fmt("--include-path=%s", nvrtc->include[i]);
	for (size_t i = 0; i < request->option_count; i++)
		*MEM_PUSH(o.list, o.count) = mem_str(request->options[i]);
	return o;
}

/* What NVRTC wrote; texts are never NULL. */
struct attempt {
	nvrtcResult result;
	nvrtcProgram program; /* NULL when it could not even be made */
	char *log, *ptx;
};

static void attempt_fini(const struct cuda_nvrtc *nvrtc, struct attempt *a)
{
	if (a->program)
		nvrtc->program_free(&a->program);
	free(a->log);
	free(a->ptx);
}

static char *get_text(nvrtcProgram program, nvrtcResult (*size)(nvrtcProgram, size_t *), nvrtcResult (*get)(nvrtcProgram, char *))
{
	size_t bytes = 0;
	char *text;

	if (!program || size(program, &bytes) != NVRTC_SUCCESS)
		bytes = 0;
	text = mem_new(bytes + 1, 1);
	if (bytes && get(program, text) != NVRTC_SUCCESS)
		text[0] = 0;
	return text;
}

static struct attempt attempt_new(const struct cuda_nvrtc *nvrtc, const char *source, const struct options *o)
{
	struct attempt a = { .result = NVRTC_SUCCESS, .program = NULL };

	a.result = nvrtc->program_new(&a.program, source, "parameters", cuda_headers_count, cuda_headers_texts, cuda_headers_names);
	if (a.result == NVRTC_SUCCESS)
		a.result = nvrtc->program_compile(a.program, (int)o->count, (const char *const *)o->list);
	else
		a.program = NULL;
	a.log = get_text(a.program, nvrtc->log_size, nvrtc->log);
	a.ptx = get_text(a.result == NVRTC_SUCCESS ? NULL : a.program, nvrtc->ptx_size, nvrtc->ptx);
	return a;
}

/* --- failures --------------------------------------------------------------------------------------------------------- */
static int fail_option(const struct cuda_nvrtc *nvrtc, const char *arch, const char *log, struct err *e)
{
	struct buf list = BUF_INIT;
	int count = 0, *archs, rc;

	if (!strstr(log, "architecture"))
		return err_set(e, ERR_INPUT, "the CUDA compiler (NVRTC %d.%d) refuses an option of the context's `options`: %.*s",
		               nvrtc->version_major, nvrtc->version_minor, (int)strcspn(log, "\n"), log);
	nvrtc->arch_count(&count);
	archs = MEM_NEW_N(int, count > 0 ? (size_t)count : 1);
	if (count > 0 && nvrtc->archs(archs) == NVRTC_SUCCESS)
		for (int i = 0; i < count; i++)
			buf_addf(&list, " sm_%d", archs[i]);
	rc = err_set(e, ERR_UNSUPPORTED, "the CUDA compiler (NVRTC %d.%d) cannot compile for \"%.40s\": it knows%s (with a or f behind the number "
	             "from sm_90 on). Install a toolkit that fits the device", nvrtc->version_major, nvrtc->version_minor, arch, buf_text(&list));
	free(archs);
	buf_fini(&list);
	return rc;
}

/* A header that the toolkit brings, as opposed to the host's. */
static bool is_toolkit_header(const char *name)
{
	static const char *const prefixes[] = { "cuda", "mma.h", "cooperative_groups", "cub/", "thrust/", "curand", "nv/", "crt/", "vector_",
	                                        "sm_", "math_constants.h", "texture_", "surface_" };
	for (size_t i = 0; i < MEM_COUNT(prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static int fail_header(const struct cuda_nvrtc *nvrtc, const char *header, const char *errors, struct err *e)
{
	struct buf places = BUF_INIT;
	int rc;

	if (is_toolkit_header(header) && !nvrtc->include_count) {
		cuda_library_include_places(&places);
		rc = err_set(e, ERR_UNSUPPORTED, "the device code includes <%.100s>, but the CUDA toolkit's headers are not on this machine (looked for "
		             "cuda_fp16.h beside %s and in %s). Install them (NVIDIA's packages cuda-cudart-dev-13-0 and cuda-crt-13-0, or the "
		             "whole toolkit), name the toolkit in CUDA_HOME, or do without the header\n%s",
		             header, nvrtc->path, buf_text(&places), errors);
	} else if (is_toolkit_header(header)) {
		rc = err_set(e, ERR_COMPILE, "%sThe header <%.100s> is not in the CUDA toolkit's folder %s", errors, header, nvrtc->include[0]);
	} else {
		rc = err_set(e, ERR_COMPILE, "%sDevice code is compiled alone, without the host's headers: leave <%.100s> out; <stdint.h>, <math.h> "
		             "and the CUDA headers are there", errors, header);
	}
	buf_fini(&places);
	return rc;
}

static int fail(const struct cuda_nvrtc *nvrtc, const char *arch, const char *source, const struct options *o, const struct attempt *a,
                struct err *e)
{
	struct buf text = BUF_INIT;
	char *header = cuda_diagnostic_header(a->log);
	unsigned asked, allowed;
	int rc;

	if (a->result == NVRTC_ERROR_INVALID_OPTION) {
		rc = fail_option(nvrtc, arch, a->log, e);
		goto out;
	}
	if (cuda_diagnostic_shared(a->log, &asked, &allowed)) {
		rc = err_set(e, ERR_PRUNED, "%u bytes of static shared memory asked, the compiler allows %u for %s; more is possible as extern "
		             "__shared__ with {shared = bytes} in the launch", asked, allowed, arch);
		goto out;
	}
	if (cuda_diagnostic_is_ptxas(a->log)) {
		/* ptxas only knows lines of the intermediate code; a second go with line information tells the author's. */
		struct options with_lines = { .list = mem_new(o->count + 1, sizeof *o->list), .count = o->count + 1 };
		struct attempt again;
		memcpy(with_lines.list, o->list, o->count * sizeof *o->list);
		with_lines.list[o->count] = "--generate-line-info";
		again = attempt_new(nvrtc, source, &with_lines);
		cuda_diagnostic_clean(again.log, again.ptx, true, &text);
		attempt_fini(nvrtc, &again);
		free(with_lines.list);
	} else {
		cuda_diagnostic_clean(a->log, NULL, true, &text);
	}
	if (!text.len)
		buf_addf(&text, "NVRTC %d.%d fails with result %d and says: %s\n", nvrtc->version_major, nvrtc->version_minor, a->result,
		         a->log[0] ? a->log : "nothing");
	if (header)
		rc = fail_header(nvrtc, header, buf_text(&text), e);
	else
		rc = err_set(e, ERR_COMPILE, "%s", buf_text(&text));
out:
	free(header);
	buf_fini(&text);
	return rc;
}

/* --- the kernels that the plan launches ------------------------------------------------------------------------------------ */
static void report(const struct cuda_kernel *k, const struct facts *limits, struct wire_compiled *to)
{
	for (size_t i = 0; i < to->kernel_count; i++)
		if (strcmp(to->kernels[i].name, k->name) == 0)
			return;
	*MEM_PUSH(to->kernels, to->kernel_count) = (struct wire_kernel){
		.name = mem_str(k->name), .registers = k->registers, .shared = k->shared, .spill = k->local,
		.max_threads = cuda_check_max_threads(k, limits), .block = { k->block[0], k->block[1], k->block[2] },
	};
}

static int check_plan(const struct plan *plan, const struct cuda_cubin *cubin, const struct facts *limits, struct wire_compiled *to,
                      struct err *e)
{
	for (size_t i = 0; i < cubin->count && !plan; i++)
		report(&cubin->kernels[i], limits, to);
	for (size_t i = 0; plan && i < plan->op_count; i++) {
		const struct plan_launch *l = &plan->ops[i].launch;
		const struct cuda_kernel *k;
		int rc;

		if (plan->ops[i].kind != PLAN_OP_LAUNCH)
			continue;
		k = cuda_cubin_find(cubin, l->kernel);
		if (!k)
			return cuda_cubin_missing(cubin, l->kernel, e);
		rc = cuda_check_launch(l, k, limits, e);
		if (rc)
			return rc;
		report(k, limits, to);
	}
	return 0;
}

static int take_binary(const struct cuda_nvrtc *nvrtc, nvrtcProgram program, struct wire_compiled *to, struct err *e)
{
	size_t bytes = 0;

	if (nvrtc->cubin_size(program, &bytes) != NVRTC_SUCCESS || bytes == 0)
		return err_set(e, ERR_INTERNAL, "NVRTC %d.%d compiled without error but gives no binary: options that ask for PTX or LTO only "
		               "cannot be used", nvrtc->version_major, nvrtc->version_minor);
	to->binary = mem_new(bytes, 1);
	to->binary_len = bytes;
	if (nvrtc->cubin(program, (char *)to->binary) != NVRTC_SUCCESS)
		return err_set(e, ERR_INTERNAL, "NVRTC does not hand out its binary of %zu bytes", bytes);
	return 0;
}

int cuda_compile(const struct wire_compile *request, struct wire_compiled *ret_compiled, struct err *e)
{
	struct wire_compiled to = { .binary = NULL };
	struct cuda_cubin cubin = { .kernels = NULL };
	struct options options = { .list = NULL };
	struct attempt a = { .program = NULL };
	struct buf source = BUF_INIT, log = BUF_INIT;
	int64_t start = clock_now();
	struct cuda_nvrtc nvrtc;
	struct facts limits;
	int rc = cuda_library_nvrtc(&nvrtc, e);

	if (rc)
		return rc;
	if ((rc = cuda_facts_describe(request->arch, &limits, e)) || (rc = source_add(request, &source, e)))
		goto out;
	options = options_new(request, &nvrtc);
	a = attempt_new(&nvrtc, buf_text(&source), &options);
	if (a.result != NVRTC_SUCCESS) {
		rc = fail(&nvrtc, request->arch, buf_text(&source), &options, &a, e);
		goto out;
	}
	if ((rc = take_binary(&nvrtc, a.program, &to, e)) || (rc = cuda_cubin_read(to.binary, to.binary_len, &cubin, e)) ||
	    (rc = check_plan(request->plan, &cubin, &limits, &to, e)) || (rc = cuda_cubin_stateless(&cubin, e)))
		goto out;
	cuda_diagnostic_clean(a.log, NULL, false, &log);
	to.log = buf_steal(&log);
	to.compile_ns = (uint64_t)(clock_now() - start);
	*ret_compiled = to;
	to = (struct wire_compiled){ .binary = NULL };
out:
	wire_compiled_fini(&to);
	attempt_fini(&nvrtc, &a);
	options_fini(&options);
	cuda_cubin_fini(&cubin);
	buf_fini(&source);
	buf_fini(&log);
	return rc;
}

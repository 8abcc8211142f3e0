/* compile: see compile.h. One translation unit is made of the parameters as #define, the macros region and the device region; #line
 * makes messages read macros(3) and device(12), the lines that the author wrote. */
#include "backends/hip/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/hip/check.h"
#include "backends/hip/diagnostic.h"
#include "backends/hip/facts.h"
#include "backends/hip/headers.h"
#include "backends/hip/library.h"
#include "backends/hip/object.h"
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

static struct options options_new(const struct wire_compile *request)
{
	struct options o = { .list = NULL, .count = 0 };

	*MEM_PUSH(o.list, o.count) = mem_fmt("--offload-arch=%s", request->arch);
	*MEM_PUSH(o.list, o.count) = mem_str("-std=c++17");
	*MEM_PUSH(o.list, o.count) = mem_str("-O3");
	for (size_t i = 0; i < request->option_count; i++)
		*MEM_PUSH(o.list, o.count) = mem_str(request->options[i]);
	return o;
}

static int source_new(const struct wire_compile *request, struct buf *out, struct err *e)
{
	buf_adds(out, hip_headers_begin);
	int rc = source_add(request, out, e);
	buf_adds(out, hip_headers_end);
	return rc;
}

/* What hiprtc wrote; the text is never NULL. */
struct attempt {
	hiprtcResult result;
	hiprtcProgram program; /* NULL when it could not even be made */
	char *log;
};

static void attempt_fini(const struct hip_rtc *rtc, struct attempt *a)
{
	if (a->program)
		rtc->program_free(&a->program);
	free(a->log);
}

static char *get_log(const struct hip_rtc *rtc, hiprtcProgram program)
{
	size_t bytes = 0;
	char *text;

	if (!program || rtc->log_size(program, &bytes) != HIPRTC_SUCCESS)
		bytes = 0;
	text = mem_new(bytes + 1, 1);
	if (bytes && rtc->log(program, text) != HIPRTC_SUCCESS)
		text[0] = 0;
	return text;
}

static struct attempt attempt_new(const struct hip_rtc *rtc, const char *source, const struct options *o)
{
	struct attempt a = { .result = HIPRTC_SUCCESS, .program = NULL };

	a.result = rtc->program_new(&a.program, source, "parameters", hip_headers_count, hip_headers_texts, hip_headers_names);
	if (a.result == HIPRTC_SUCCESS)
		a.result = rtc->program_compile(a.program, (int)o->count, (const char *const *)o->list);
	else
		a.program = NULL;
	a.log = get_log(rtc, a.program);
	return a;
}

/* --- failures --------------------------------------------------------------------------------------------------------- */
/* The assembler's words go to stderr: compiles once more with it turned aside. Not done at first, since what a crash says on stderr
 * must reach whoever reads it. */
static void add_assembler(const struct hip_rtc *rtc, const char *source, const struct options *o, struct buf *out)
{
	int aside = memfd_create("peakd-assembler", MFD_CLOEXEC), kept = dup(STDERR_FILENO);
	struct attempt again;
	char text[4096];
	ssize_t n;

	if (aside >= 0 && kept >= 0) {
		fflush(stderr);
		dup2(aside, STDERR_FILENO);
		again = attempt_new(rtc, source, o);
		fflush(stderr);
		dup2(kept, STDERR_FILENO);
		attempt_fini(rtc, &again);
		n = pread(aside, text, sizeof text, 0);
		if (n > 0)
			buf_add(out, text, (size_t)n);
	}
	if (aside >= 0)
		close(aside);
	if (kept >= 0)
		close(kept);
}

static int fail(const struct hip_rtc *rtc, const char *arch, const char *source, const struct options *o, const struct attempt *a,
                struct err *e)
{
	struct buf text = BUF_INIT;
	char *header = hip_diagnostic_header(a->log);
	unsigned asked, allowed;
	int rc;

	if (strstr(a->log, "unsupported option") || strstr(a->log, "unknown argument") || a->result == HIPRTC_ERROR_INVALID_OPTION) {
		rc = err_set(e, ERR_INPUT, "the HIP compiler (hiprtc %d.%d) refuses an option of the context's `options`: %.*s", rtc->version_major,
		             rtc->version_minor, (int)strcspn(a->log, "\n"), a->log);
		goto out;
	}
	if (hip_diagnostic_shared(a->log, &asked, &allowed)) {
		rc = err_set(e, ERR_PRUNED, "%u bytes of static shared memory (LDS) asked, %s allows %u", asked, arch, allowed);
		goto out;
	}
	if (hip_diagnostic_is_assembler(a->log))
		add_assembler(rtc, source, o, &text);
	hip_diagnostic_clean(a->log, true, &text);
	if (!text.len)
		buf_addf(&text, "hiprtc %d.%d fails with result %d and says: %s\n", rtc->version_major, rtc->version_minor, a->result,
		         a->log[0] ? a->log : "nothing");
	if (header)
		buf_addf(&text, "Device code is compiled alone, without the host's headers: leave <%.100s> out; <stdint.h>, <math.h>, "
		         "<hip/hip_runtime.h> and <hip/hip_fp16.h> are there", header);
	rc = err_set(e, ERR_COMPILE, "%s", buf_text(&text));
out:
	free(header);
	buf_fini(&text);
	return rc;
}

static int check_arch(const struct hip_rtc *rtc, const char *arch, struct err *e)
{
	struct buf known = BUF_INIT;
	int rc = 0;

	if (!hip_library_knows(rtc, arch, &known))
		rc = err_set(e, ERR_UNSUPPORTED, "the HIP compiler (hiprtc %d.%d, %s) cannot compile for \"%.40s\": it knows %s. Install a ROCm that "
		             "fits the device", rtc->version_major, rtc->version_minor, rtc->path, arch, buf_text(&known));
	buf_fini(&known);
	return rc;
}

/* --- the kernels that the plan launches ------------------------------------------------------------------------------------ */
static void report(const struct hip_kernel *k, const struct plan_launch *l, const char *arch, const struct facts *limits,
                   struct wire_compiled *to, struct buf *log)
{
	const struct hip_arch *a = hip_facts_arch(arch);
	uint64_t threads = l ? (uint64_t)l->block[0] * l->block[1] * l->block[2] : k->bound;

	for (size_t i = 0; i < to->kernel_count; i++)
		if (strcmp(to->kernels[i].name, k->name) == 0)
			return;
	*MEM_PUSH(to->kernels, to->kernel_count) = (struct wire_kernel){
		.name = mem_str(k->name), .registers = k->vgprs, .shared = k->shared, .spill = k->scratch,
		.max_threads = hip_check_max_threads(k, limits), .block = { k->block[0], k->block[1], k->block[2] },
	};
	buf_addf(log, "%s: %u VGPR, %u AGPR, %u SGPR, %u bytes LDS, %u bytes scratch, %u VGPR and %u SGPR spilled", k->name, k->vgprs, k->agprs,
	         k->sgprs, k->shared + (l ? l->shared : 0), k->scratch, k->vgpr_spills, k->sgpr_spills);
	if (a) {
		struct hip_occupancy o = hip_check_occupancy(k, a, threads, l ? l->shared : 0);
		buf_addf(log, "; computed occupancy %u of %u waves per SIMD with blocks of %llu threads, limited by %s", o.waves, o.max,
		         (unsigned long long)threads, hip_check_limit_name(o.limit));
	}
	buf_addc(log, '\n');
}

static int check_plan(const struct wire_compile *request, const struct hip_object *object, const struct facts *limits,
                      struct wire_compiled *to, struct buf *log, struct err *e)
{
	const struct plan *plan = request->plan;

	for (size_t i = 0; i < object->count && !plan; i++)
		report(&object->kernels[i], NULL, request->arch, limits, to, log);
	for (size_t i = 0; plan && i < plan->op_count; i++) {
		const struct plan_launch *l = &plan->ops[i].launch;
		const struct hip_kernel *k;
		int rc;

		if (plan->ops[i].kind != PLAN_OP_LAUNCH)
			continue;
		k = hip_object_find(object, l->kernel);
		if (!k)
			return hip_object_missing(object, l->kernel, e);
		rc = hip_check_launch(l, k, limits, e);
		if (rc)
			return rc;
		report(k, l, request->arch, limits, to, log);
	}
	return 0;
}

static int take_binary(const struct hip_rtc *rtc, hiprtcProgram program, struct wire_compiled *to, struct err *e)
{
	size_t bytes = 0;

	if (rtc->code_size(program, &bytes) != HIPRTC_SUCCESS || bytes == 0)
		return err_set(e, ERR_INTERNAL, "hiprtc %d.%d compiled without error but gives no code object: options that ask for bitcode or "
		               "relocatable code only cannot be used", rtc->version_major, rtc->version_minor);
	to->binary = mem_new(bytes, 1);
	to->binary_len = bytes;
	if (rtc->code(program, (char *)to->binary) != HIPRTC_SUCCESS)
		return err_set(e, ERR_INTERNAL, "hiprtc does not hand out its code object of %zu bytes", bytes);
	return 0;
}

int hip_compile(const struct wire_compile *request, struct wire_compiled *ret_compiled, struct err *e)
{
	struct wire_compiled to = { .binary = NULL };
	struct hip_object object = { .kernels = NULL };
	struct options options = { .list = NULL };
	struct attempt a = { .program = NULL };
	struct buf source = BUF_INIT, log = BUF_INIT;
	int64_t start = clock_now();
	struct facts limits;
	struct hip_rtc rtc;
	int rc = hip_library_rtc(&rtc, e);

	if (rc)
		return rc;
	if ((rc = hip_facts_describe(request->arch, &limits, e)) || (rc = check_arch(&rtc, request->arch, e)) ||
	    (rc = source_new(request, &source, e)))
		goto out;
	options = options_new(request);
	a = attempt_new(&rtc, buf_text(&source), &options);
	if (a.result != HIPRTC_SUCCESS) {
		rc = fail(&rtc, request->arch, buf_text(&source), &options, &a, e);
		goto out;
	}
	if ((rc = take_binary(&rtc, a.program, &to, e)) || (rc = hip_object_read(to.binary, to.binary_len, &object, e)) ||
	    (rc = check_plan(request, &object, &limits, &to, &log, e)) || (rc = hip_object_stateless(&object, e)))
		goto out;
	hip_diagnostic_clean(a.log, false, &log);
	to.log = buf_steal(&log);
	to.compile_ns = (uint64_t)(clock_now() - start);
	*ret_compiled = to;
	to = (struct wire_compiled){ .binary = NULL };
out:
	wire_compiled_fini(&to);
	attempt_fini(&rtc, &a);
	options_fini(&options);
	hip_object_fini(&object);
	buf_fini(&source);
	buf_fini(&log);
	return rc;
}

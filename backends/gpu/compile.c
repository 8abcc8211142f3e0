/* compile: see compile.h. */
#include "backends/gpu/compile.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/check.h"
#include "base/mem.h"

enum { HEADERS_MAX = 32 };

/* Barriers for nothing. Other probes rewrite compiled code: cuda/probe.c. */
static int add_probe(const struct wire_compile *request, struct buf *out, struct err *e)
{
	if (request->probe == WIRE_PROBE_NONE || (request->probe != WIRE_PROBE_BARRIERS && strcmp(request->backend, "cuda") == 0))
		return 0;
	if (request->probe != WIRE_PROBE_BARRIERS)
		return err_set(e, ERR_UNSUPPORTED, "on this backend only barriers can be left out");
	if (!strstr(request->device ? request->device : "", "__syncthreads()"))
		return err_set(e, ERR_UNSUPPORTED, "it has no __syncthreads()");
	buf_adds(out, "#define __syncthreads() ((void)0)\n");
	return 0;
}

int gpu_compile_source(const struct wire_compile *request, struct buf *out, struct err *e)
{
	for (size_t i = 0; i < request->define_count; i++) {
		const struct wire_define *d = &request->defines[i];
		if (strpbrk(d->name, " \t\r\n") || strpbrk(d->value, "\r\n"))
			return err_set(
				e, ERR_INPUT,
				"the parameter \"%.60s\" cannot become a macro: its name or value has a line break or a space",
				d->name);
		buf_addf(out, "#define %s %s\n", d->name, d->value);
	}
	/* The empty line ends a macro whose last line ends in a backslash. */
	buf_addf(out, "#line 1 \"macros\"\n%s\n\n", request->macros ? request->macros : "");
	if (add_probe(request, out, e) < 0)
		return -(int)e->code;
	buf_addf(out, "#line 1 \"device\"\n%s\n", request->device ? request->device : "");
	return 0;
}

void gpu_options_add(struct gpu_options *o, char *take_option)
{
	*MEM_PUSH(o->list, o->count) = take_option;
}

void gpu_options_add_request(struct gpu_options *o, const struct wire_compile *request)
{
	for (size_t i = 0; i < request->option_count; i++)
		gpu_options_add(o, mem_str(request->options[i]));
}

void gpu_options_fini(struct gpu_options *o)
{
	mem_free_texts(o->list, o->count);
}

char *gpu_attempt_text(gpu_program program, int (*size)(gpu_program, size_t *), int (*get)(gpu_program, char *))
{
	size_t bytes = 0;
	char *text;

	if (!program || size(program, &bytes) != GPU_RTC_SUCCESS)
		bytes = 0;
	text = mem_new(bytes + 1, 1);
	if (bytes && get(program, text) != GPU_RTC_SUCCESS)
		text[0] = 0;
	return text;
}

struct gpu_attempt gpu_attempt_new(const struct gpu_rtc *rtc, const char *source, const struct gpu_header *headers,
				   const struct gpu_options *options)
{
	const char *names[HEADERS_MAX], *texts[HEADERS_MAX];
	struct gpu_attempt a = { .program = NULL };
	int count = 0;

	for (const struct gpu_header *h = headers; h->name; h++) {
		assert(count < HEADERS_MAX);
		names[count] = h->name;
		texts[count++] = h->text;
	}
	a.result = rtc->program_new(&a.program, source, "parameters", count, texts, names);
	if (a.result == GPU_RTC_SUCCESS)
		a.result = rtc->program_compile(a.program, (int)options->count, (const char *const *)options->list);
	else
		a.program = NULL;
	a.log = gpu_attempt_text(a.program, rtc->log_size, rtc->log);
	return a;
}

void gpu_attempt_fini(const struct gpu_rtc *rtc, struct gpu_attempt *a)
{
	if (a->program)
		rtc->program_free(&a->program);
	free(a->log);
}

int gpu_attempt_binary(const struct gpu_rtc *rtc, const struct gpu_attempt *a, const char *compiler, const char *other,
		       struct wire_compiled *to, struct err *e)
{
	size_t bytes = 0;

	if (rtc->binary_size(a->program, &bytes) != GPU_RTC_SUCCESS || bytes == 0)
		return err_set(e, ERR_INTERNAL,
			       "%s %d.%d compiled without error but gives no binary: options that ask for %s only cannot be used",
			       compiler, rtc->version_major, rtc->version_minor, other);
	to->binary = mem_new(bytes, 1);
	to->binary_len = bytes;
	if (rtc->binary(a->program, (char *)to->binary) != GPU_RTC_SUCCESS)
		return err_set(e, ERR_INTERNAL, "%s does not hand out its binary of %zu bytes", compiler, bytes);
	return 0;
}

static void report(const struct gpu_kernel *k, const struct facts *limits, struct wire_compiled *to)
{
	for (size_t i = 0; i < to->kernel_count; i++)
		if (strcmp(to->kernels[i].name, k->name) == 0)
			return;
	*MEM_PUSH(to->kernels, to->kernel_count) = (struct wire_kernel){ .name = mem_str(k->name),
									 .registers = k->registers,
									 .shared = k->shared,
									 .spill = k->local,
									 .max_threads = gpu_check_max_threads(k, limits),
									 .block = { k->block[0], k->block[1], k->block[2] } };
}

int gpu_compile_check(const struct plan *plan, const struct gpu_module *module, const struct facts *limits,
		      struct wire_compiled *to, struct err *e)
{
	for (size_t i = 0; !plan && i < module->count; i++)
		report(&module->kernels[i], limits, to);
	for (size_t i = 0; plan && i < plan->op_count; i++) {
		const struct plan_launch *l = &plan->ops[i].launch;
		const struct gpu_kernel *k;
		int rc;

		if (plan->ops[i].kind != PLAN_OP_LAUNCH)
			continue;
		k = gpu_module_find(module, l->kernel);
		rc = k ? gpu_check_launch(l, k, limits, e) : gpu_module_missing(module, l->kernel, e);
		if (rc)
			return rc;
		report(k, limits, to);
	}
	return gpu_module_stateless(module, e);
}

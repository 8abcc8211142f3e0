/* compile: see gpu.h. */
#include "backends/gpu/gpu.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

enum { HEADERS_MAX = 32 };

/* The includes at the head of a region once more, in front of the parameters: headers have template arguments called T or B. The
 * second time their guards leave nothing of them. */
static void add_includes(const char *region, const char *text, struct buf *out)
{
	unsigned number = 1;
	for (const char *at = text ? text : ""; *at; number++) {
		size_t len = strcspn(at, "\n");
		char *line = mem_strn(at, len);
		int end = 0;
		(void)sscanf(line, " # include < %*[^>]> %n", &end);
		bool found = end && !strchr(line, '\\') && (line[end] == '\0' || strncmp(line + end, "//", 2) == 0);
		if (found)
			buf_addf(out, "#line %u \"%s\"\n%s\n", number, region, line);
		const char *word = line + strspn(line, " \t\r");
		bool more = found || *word == '\0' || strncmp(word, "//", 2) == 0;
		free(line);
		if (!more)
			return;
		at += len + (at[len] == '\n');
	}
}

int gpu_compile_source(const struct wire_compile *request, struct buf *out, struct err *e)
{
	size_t before = out->len;
	add_includes("macros", request->macros, out);
	add_includes("device", request->device, out);
	if (out->len > before)
		buf_adds(out, "#line 1 \"parameters\"\n");
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
	/* Barriers for nothing. Other probes rewrite compiled code: cuda/probe.c. */
	if (request->probe == WIRE_PROBE_BARRIERS) {
		if (!strstr(request->device ? request->device : "", "__syncthreads()"))
			return err_set(e, ERR_UNSUPPORTED, "it has no __syncthreads()");
		buf_adds(out, "#define __syncthreads() ((void)0)\n");
	} else if (request->probe != WIRE_PROBE_NONE && strcmp(request->backend, "cuda") != 0) {
		return err_set(e, ERR_UNSUPPORTED, "on this backend only barriers can be left out");
	}
	buf_addf(out, "#line 1 \"device\"\n%s\n", request->device ? request->device : "");
	return 0;
}

void gpu_compile_option(struct gpu_compilation *c, char *take_option)
{
	*MEM_PUSH(c->options, c->option_count) = take_option;
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

struct gpu_attempt gpu_compile_attempt(const struct gpu_compilation *c, const struct gpu_header *headers)
{
	const char *names[HEADERS_MAX], *texts[HEADERS_MAX];
	size_t own = c->option_count, given = c->request->option_count;
	const char **options = MEM_NEW_N(const char *, own + given + 1);
	struct gpu_attempt a = { .program = NULL };
	int count = 0;

	for (const struct gpu_header *h = headers; h->name; h++) {
		assert(count < HEADERS_MAX);
		names[count] = h->name;
		texts[count++] = h->text;
	}
	for (size_t i = 0; i < own + given; i++)
		options[i] = i < own ? c->options[i] : c->request->options[i - own];
	a.result = c->rtc.program_new(&a.program, buf_text(&c->source), "parameters", count, texts, names);
	if (a.result == GPU_RTC_SUCCESS)
		a.result = c->rtc.program_compile(a.program, (int)(own + given), options);
	else
		a.program = NULL;
	a.log = gpu_attempt_text(a.program, c->rtc.log_size, c->rtc.log);
	free(options);
	return a;
}

int gpu_compile_able(const struct gpu_compilation *c, const char *compiler, struct err *e)
{
	int result = c->attempt.result;
	if (result != GPU_RTC_NO_MEMORY && result != GPU_RTC_NO_PROGRAM && result != GPU_RTC_NO_BUILTINS)
		return 0;
	return err_set(e, ERR_IO, "%s %d.%d) cannot work here: result %d: %.1000s", compiler, c->rtc.version_major,
		       c->rtc.version_minor, result, c->attempt.log);
}

void gpu_attempt_fini(const struct gpu_rtc *rtc, struct gpu_attempt *a)
{
	if (a->program)
		rtc->program_free(&a->program);
	free(a->log);
}

int gpu_compile_binary(struct gpu_compilation *c, const char *compiler, const char *other, struct err *e)
{
	const struct gpu_rtc *rtc = &c->rtc;
	size_t bytes = 0;

	if (rtc->binary_size(c->attempt.program, &bytes) != GPU_RTC_SUCCESS || bytes == 0)
		return err_set(e, ERR_INTERNAL,
			       "%s %d.%d compiled without error but gives no binary: options that ask for %s only cannot be used",
			       compiler, rtc->version_major, rtc->version_minor, other);
	c->to.binary = mem_new(bytes, 1);
	c->to.binary_len = bytes;
	if (rtc->binary(c->attempt.program, (char *)c->to.binary) != GPU_RTC_SUCCESS)
		return err_set(e, ERR_INTERNAL, "%s does not hand out its binary of %zu bytes", compiler, bytes);
	return 0;
}

static void report(struct gpu_compilation *c, const struct gpu_kernel *k)
{
	for (size_t i = 0; i < c->to.kernel_count; i++)
		if (strcmp(c->to.kernels[i].name, k->name) == 0)
			return;
	*MEM_PUSH(c->to.kernels, c->to.kernel_count) = (struct wire_kernel){ .name = mem_str(k->name),
									     .registers = k->registers,
									     .shared = k->shared,
									     .spill = k->local,
									     .max_threads = gpu_check_max_threads(k, &c->limits),
									     .block = { k->block[0], k->block[1], k->block[2] } };
}

int gpu_compile_check(struct gpu_compilation *c, struct err *e)
{
	const struct plan *plan = c->request->plan;

	for (size_t i = 0; !plan && i < c->module.count; i++)
		report(c, &c->module.kernels[i]);
	for (size_t i = 0; plan && i < plan->op_count; i++) {
		const struct plan_launch *l = &plan->ops[i].launch;
		const struct gpu_kernel *k;
		int rc;

		if (plan->ops[i].kind != PLAN_OP_LAUNCH)
			continue;
		k = gpu_module_find(&c->module, l->kernel);
		rc = k ? gpu_check_launch(l, k, &c->limits, e) : gpu_module_missing(&c->module, l->kernel, e);
		if (rc)
			return rc;
		report(c, k);
	}
	return gpu_module_stateless(&c->module, e);
}

int gpu_compile_end(struct gpu_compilation *c, int rc, struct wire_compiled *ret_compiled)
{
	if (rc == 0) {
		*ret_compiled = c->to;
		ret_compiled->log = buf_steal(&c->log);
		ret_compiled->compile_ns = (uint64_t)(clock_now() - c->start);
	} else {
		wire_compiled_fini(&c->to);
	}
	gpu_attempt_fini(&c->rtc, &c->attempt);
	mem_free_texts(c->options, c->option_count);
	gpu_module_fini(&c->module);
	buf_fini(&c->source);
	buf_fini(&c->log);
	return rc;
}

/* compile: see compile.h. Every kernel is compiled from the same text with another entry point; glslang then drops
 * what that entry point does not reach, so what is left in its module is what it uses. */
#include "backends/hlsl/compile.h"

#include <stdlib.h>
#include <string.h>

#include "backends/hlsl/bind.h"
#include "backends/hlsl/facts.h"
#include "backends/hlsl/glslang.h"
#include "backends/hlsl/kernel.h"
#include "backends/hlsl/module.h"
#include "backends/hlsl/spirv.h"
#include "base/clock.h"
#include "base/mem.h"

/* The whole source; lines of the regions count from 1 under the regions' names. */
static int assemble(const struct wire_compile *request, struct buf *out, bool *ret_half, struct err *e)
{
	for (size_t i = 0; i < request->define_count; i++)
		buf_addf(out, "#define %s %s\n", request->defines[i].name, request->defines[i].value);
	buf_adds(out, "#line 1 \"arguments\"\n");
	if (hlsl_bind_declare(request, out, ret_half, e) < 0)
		return -(int)e->code;
	buf_addf(out, "#line 1 \"macros\"\n%s\n#line 1 \"device\"\n%s\n", request->macros, request->device);
	return 0;
}

/* --- the front end's text ----------------------------------------------------------------------------------------- */

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* Lines that tell nothing beyond the others, or what the parser says when it gives up on a line it has already
 * reported. */
static bool is_noise(const char *line)
{
	static const char *const noise[] = { "compilation errors", "HLSL parsing failed", "'declaration' : Expected",
	                                     "'expression' : Expected", "'assignment expression' : Expected" };
	for (size_t i = 0; i < MEM_COUNT(noise); i++)
		if (strstr(line, noise[i]))
			return true;
	return line[0] == '\0';
}

static void add_once(struct buf *out, const char *line)
{
	char *whole = mem_fmt("\n%s", line);
	if (line[0] && strstr(buf_text(out), whole) == NULL && !starts(buf_text(out), line))
		buf_adds(out, out->len ? whole : line);
	free(whole);
}

/* Appends the lines with (or without) "ERROR:", each once, without glslang's prefixes. */
static void add_lines(struct buf *out, const char *log, bool errors, bool noise)
{
	for (const char *at = log; *at;) {
		size_t n = strcspn(at, "\n");
		char *line = mem_strn(at, n);
		bool prefixed = starts(line, "ERROR: ") || starts(line, "WARNING: ");
		if (starts(line, "ERROR:") == errors && (noise || !is_noise(line)))
			add_once(out, prefixed ? strchr(line, ' ') + 1 : line);
		free(line);
		at += n + (at[n] == '\n');
	}
}

static int refused(const char *kernel, const char *log, struct err *e)
{
	struct buf text = BUF_INIT;
	add_lines(&text, log, true, false);
	if (text.len == 0) /* nothing but what is usually noise */
		add_lines(&text, log, true, true);
	add_lines(&text, log, false, false);
	if (strstr(log, "unknown variable"))
		add_once(&text, "a kernel sees, by their names, the buffers and scalars that host code passes to its launch");
	int r = err_set(e, ERR_COMPILE, "kernel %s:\n%s", kernel, buf_text(&text));
	buf_fini(&text);
	return r;
}

/* --- kernels ------------------------------------------------------------------------------------------------------ */

static int compile_kernel(const char *source, const char *name, bool half, struct module_kernel *ret_kernel,
                          struct buf *log, struct err *e)
{
	struct glslang_output o;
	bool good = hlsl_glslang(source, name, half, &o);
	int r = 0;
	if (strstr(o.log, "Entry point not found"))
		r = err_set(e, ERR_COMPILE, "the device code has no function %s, which host code launches: name one of its functions in "
		            "launch, or write it", name);
	else if (!good)
		r = refused(name, o.log, e);
	else if ((r = hlsl_spirv_validate(o.words, o.word_count, e)) < 0)
		err_wrap(e, "kernel %s", name);
	if (r < 0) {
		free(o.words);
		free(o.log);
		return r;
	}
	add_lines(log, o.log, false, false);
	free(o.log);
	*ret_kernel = (struct module_kernel){ .name = mem_str(name), .words = o.words, .count = o.word_count };
	return 0;
}

/* Compiles what is launched and not yet there; checks the launch in any case. */
static int compile_launch(const struct wire_compile *request, const struct plan_launch *launch, const char *source,
                          bool half, struct module *module, struct wire_compiled *out, struct buf *log, struct err *e)
{
	const struct module_kernel *k = hlsl_module_find(module, launch->kernel);
	struct spirv s;
	bool fresh = k == NULL;
	if (fresh) {
		struct module_kernel new;
		if (compile_kernel(source, launch->kernel, half, &new, log, e) < 0)
			return -(int)e->code;
		*MEM_PUSH(module->kernels, module->count) = new;
		k = &module->kernels[module->count - 1];
	}
	if (hlsl_spirv_read(k->words, k->count, &s, e) < 0)
		return -(int)e->code;
	if (fresh)
		*MEM_PUSH(out->kernels, out->kernel_count) = (struct wire_kernel){
			.name = mem_str(k->name), .registers = UINT32_MAX, .spill = UINT32_MAX, .shared = s.shared,
			.max_threads = s.block[0] * s.block[1] * s.block[2], .block = { s.block[0], s.block[1], s.block[2] },
		};
	int r = hlsl_kernel_fits(request->plan, launch, &s, e);
	hlsl_spirv_fini(&s);
	return r;
}

int hlsl_compile(const struct wire_compile *request, struct wire_compiled *ret_compiled, struct err *e)
{
	struct wire_compiled out = { 0 };
	struct module module = { 0 };
	struct buf source = BUF_INIT, log = BUF_INIT, binary = BUF_INIT;
	bool half = false;
	int64_t start = clock_now();
	int r = 0;
	if (strcmp(request->arch, FACTS_ARCH) != 0)
		r = err_set(e, ERR_UNSUPPORTED, "hlsl compiles for %s only, not for \"%s\"", FACTS_ARCH, request->arch);
	else if (request->option_count)
		r = err_set(e, ERR_INPUT, "the HLSL front end takes no options (\"%s\" given); remove them from the context",
		            request->options[0]);
	if (r == 0)
		r = assemble(request, &source, &half, e);
	for (size_t i = 0; i < request->plan->op_count && r == 0; i++)
		if (request->plan->ops[i].kind == PLAN_OP_LAUNCH)
			r = compile_launch(request, &request->plan->ops[i].launch, buf_text(&source), half, &module, &out, &log, e);
	if (r == 0) {
		hlsl_module_encode(&module, &binary);
		out.binary_len = binary.len;
		out.binary = (uint8_t *)buf_steal(&binary);
		out.log = buf_steal(&log);
		out.compile_ns = (uint64_t)(clock_now() - start);
		*ret_compiled = out;
	} else {
		wire_compiled_fini(&out);
	}
	hlsl_module_fini(&module);
	buf_fini(&source);
	buf_fini(&log);
	buf_fini(&binary);
	return r;
}

/* export: which files a context becomes, and their device code; see export.h. */
#include "core/problems/export.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/lex.h"
#include "base/mem.h"
#include "core/problems/export_source.h"

struct files {
	struct export_file *at;
	size_t count;
};

char *export_stem(const struct context *ctx)
{
	char *stem = mem_str(context_kernel(ctx));
	for (char *c = stem; *c; c++)
		if (!isalnum((unsigned char)*c) && strchr("-_.", *c) == NULL)
			*c = '_';
	if (*stem == '.')
		*stem = '_';
	return stem;
}

void export_comment(struct buf *out, const char *lines)
{
	while (*lines) {
		size_t n = strcspn(lines, "\n");
		/* A backslash at the end would swallow the next line. */
		buf_addf(out, "// %.*s%s\n", (int)n, lines, n && lines[n - 1] == '\\' ? "." : "");
		lines += n + (lines[n] == '\n');
	}
}

void export_defines(struct buf *out, const struct context *ctx, const struct params *params)
{
	size_t count;
	struct wire_define *defines = context_defines(ctx, params, &count);
	for (size_t i = 0; i < count; i++)
		buf_addf(out, "#define %s %s\n", defines[i].name, defines[i].value);
	context_defines_free(defines, count);
}

static void undefine(struct buf *out, const char *name, size_t n)
{
	buf_addf(out, "#undef %.*s\n", (int)n, name);
}

void export_undefines(struct buf *out, const struct context *ctx, const struct params *params)
{
	size_t count;
	struct wire_define *defines = context_defines(ctx, params, &count);
	for (size_t i = 0; i < count; i++)
		undefine(out, defines[i].name, strlen(defines[i].name));
	context_defines_free(defines, count);
	const char *texts[] = { context_region(ctx, REGION_MACROS), context_region(ctx, REGION_DEVICE) };
	for (size_t k = 0; k < MEM_COUNT(texts); k++)
		for (const char *line = texts[k]; *line; line += strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n')) {
			const char *at = line + strspn(line, " \t");
			at += *at == '#' ? 1 + strspn(at + 1, " \t") : 0;
			if (at > line && strncmp(at, "define", 6) == 0 && (at[6] == ' ' || at[6] == '\t')) {
				at += 6 + strspn(at + 6, " \t");
				undefine(out, at, lex_word(at));
			}
		}
}

static void add_file(struct files *files, char *take_name, struct buf *take_text)
{
	*MEM_PUSH(files->at, files->count) = (struct export_file){ .name = take_name, .text = buf_steal(take_text) };
}

/* --- the head of every file --------------------------------------------------------------------------------------------------- */

static void describe_launch(const struct plan_launch *l, struct buf *out)
{
	buf_addf(out, "//   launch %s: grid %u x %u x %u, block %u x %u x %u", l->kernel, l->grid[0], l->grid[1], l->grid[2],
		 l->block[0], l->block[1], l->block[2]);
	if (l->shared)
		buf_addf(out, ", %u bytes of dynamic shared memory", l->shared);
	if (l->cluster[0] * l->cluster[1] * l->cluster[2] > 1)
		buf_addf(out, ", clusters of %u x %u x %u", l->cluster[0], l->cluster[1], l->cluster[2]);
	buf_addf(out, "%s\n", l->cooperative ? ", cooperative" : "");
}

static void head(const struct export_request *q, const char *what, struct buf *out)
{
	char *params = params_text(q->params);
	buf_addf(out, "// %s: %s\n// Configuration: %s\n", context_kernel(q->ctx), what, *params ? params : "no parameters");
	if (q->provenance && *q->provenance)
		export_comment(out, q->provenance);
	buf_addf(out, "// Exported by peakd %s. What happens, in this order:\n", PEAKD_VERSION);
	const struct plan *plan = q->plan;
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct plan_op *op = &plan->ops[i];
		switch (op->kind) {
		case PLAN_OP_LAUNCH: describe_launch(&op->launch, out); break;
		case PLAN_OP_MEMSET:
			buf_addf(out, "//   memset %s: %llu bytes from %llu on to %u\n", plan->buffers[op->memset.buffer].name,
				 (unsigned long long)op->memset.bytes, (unsigned long long)op->memset.offset, op->memset.value);
			break;
		case PLAN_OP_COPY:
			buf_addf(out, "//   copy %llu bytes from %s to %s\n", (unsigned long long)op->copy.bytes,
				 plan->buffers[op->copy.src].name, plan->buffers[op->copy.dst].name);
			break;
		case PLAN_OP_GEMM: break; /* never of a context */
		}
	}
	free(params);
}

static void regions(const struct context *ctx, struct buf *out)
{
	const char *macros = context_region(ctx, REGION_MACROS);
	if (*macros)
		buf_addf(out, "\n%s", macros);
	buf_addf(out, "\n%s", context_region(ctx, REGION_DEVICE));
}

/* --- the kinds of files --------------------------------------------------------------------------------------------------------
 */

static void device_file(const struct export_request *q, const char *stem, const char *end, const char *what, struct files *files)
{
	struct buf text = BUF_INIT;
	head(q, what, &text);
	export_comment(&text,
		       "Helper functions need __device__ in front for nvcc and hipcc; the run-time compilers take them without.");
	buf_adds(&text, "\n");
	export_defines(&text, q->ctx, q->params);
	regions(q->ctx, &text);
	add_file(files, mem_fmt("%s.%s", stem, end), &text);
}

static int cuda_files(const struct export_request *q, const char *stem, struct files *files, struct err *e)
{
	struct buf text = BUF_INIT;
	device_file(q, stem, "cu", "CUDA device code, for nvcc or NVRTC", files);
	head(q, "a driver that fills the inputs, launches, times and checks", &text);
	int rc = export_cuda_main(q, stem, &text, e);
	if (rc == 0) {
		add_file(files, mem_fmt("%s_main.cu", stem), &text);
		buf_adds(&text, embedded_file("core/problems/export_driver.cuh"));
		add_file(files, mem_fmt("%s_driver.h", stem), &text);
	}
	if (rc == 0 && q->reference) {
		buf_addf(&text, "// %s: the reference that %s_main.cu compares with\n", context_kernel(q->ctx), stem);
		rc = export_cuda_reference(q, stem, &text, e);
		if (rc == 0)
			add_file(files, mem_fmt("%s_reference.cu", stem), &text);
	}
	buf_fini(&text);
	return rc;
}

static int hlsl_file(const struct export_request *q, const char *stem, struct files *files, struct err *e)
{
	struct buf text = BUF_INIT, declarations = BUF_INIT;
	bool half = false;
	int rc = export_hlsl_declare(q, &declarations, &half, e);
	if (rc == 0) {
		head(q, "an HLSL compute shader", &text);
		export_comment(&text, "One entry point per launch above. dxc: dxc -spirv -fspv-target-env=vulkan1.1 -T cs_6_2 -E "
				      "ENTRY FILE\nThe scalars of the push constants have these values:");
		for (size_t i = 0; i < q->plan->op_count; i++) {
			const struct plan_launch *l = q->plan->ops[i].kind == PLAN_OP_LAUNCH ? &q->plan->ops[i].launch : NULL;
			for (size_t k = 0; l && k < l->arg_count; k++) {
				const struct plan_arg *a = &l->args[k];
				if (a->kind == PLAN_ARG_SCALAR && dtype_is_float(a->type))
					buf_addf(&text, "//   %s: %s = %.9g\n", l->kernel, a->name, a->f);
				else if (a->kind == PLAN_ARG_SCALAR)
					buf_addf(&text, "//   %s: %s = %lld\n", l->kernel, a->name, (long long)a->i);
			}
		}
		if (half)
			export_comment(&text, "half and min16float are true 16-bit types here (dxc: -enable-16bit-types).");
		buf_adds(&text, "\n");
		export_defines(&text, q->ctx, q->params);
		buf_addf(&text, "\n%s", buf_text(&declarations));
		regions(q->ctx, &text);
		add_file(files, mem_fmt("%s.hlsl", stem), &text);
	}
	buf_fini(&declarations);
	buf_fini(&text);
	return rc;
}

int export_request(const struct export_request *q, struct export_file **ret_files, size_t *ret_count, struct err *e)
{
	struct files files = { 0 };
	struct buf context = BUF_INIT;
	const char *backend = context_backend(q->ctx);
	char *stem = export_stem(q->ctx);
	int rc = 0;
	if (strcmp(backend, "cuda") == 0)
		rc = cuda_files(q, stem, &files, e);
	else if (strcmp(backend, "hlsl") == 0)
		rc = hlsl_file(q, stem, &files, e);
	else
		device_file(q, stem, "hip", "HIP device code, for hipcc or hiprtc", &files);
	buf_adds(&context, context_render(q->ctx));
	add_file(&files, mem_fmt("%s.peak.md", stem), &context);
	free(stem);
	if (rc < 0) {
		export_files_free(files.at, files.count);
		return err_wrap(e, "exporting %s", context_kernel(q->ctx));
	}
	*ret_files = files.at;
	*ret_count = files.count;
	return 0;
}

void export_files_free(struct export_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(files[i].name);
		free(files[i].text);
	}
	free(files);
}

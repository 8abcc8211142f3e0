/* export: which files a context becomes; see export.h. The texts are templates in core/problems/export. */
#include "core/problems/export.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/lex.h"
#include "base/mem.h"
#include "core/context/expr.h"
#include "core/problems/export_source.h"

struct files {
	struct export_file *at;
	size_t count;
};

char *export_identifier(const char *name)
{
	char *to = mem_fmt("%s%s%s", isdigit((unsigned char)*name) ? "_" : "", name, strcmp(name, "stream") == 0 ? "_" : "");
	for (char *c = to; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	return to;
}

char *export_name(const struct context *ctx)
{
	return export_identifier(context_kernel(ctx));
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

void export_fill(struct buf *out, const char *name, const struct export_word *words, size_t count)
{
	char *path = mem_fmt("core/problems/export/%s", name);
	const char *text = embedded_file(path), *at;
	free(path);
	while ((at = strchr(text, '@')) != NULL) {
		size_t n = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), i = 0;
		buf_add(out, text, (size_t)(at - text));
		while (i < count && (strlen(words[i].key) != n || strncmp(words[i].key, at + 1, n) != 0 || at[n + 1] != '@'))
			i++;
		buf_add(out, i < count ? words[i].value : "@", i < count ? strlen(words[i].value) : 1);
		text = at + (i < count ? n + 2 : 1);
	}
	buf_adds(out, text);
}

static void add_file(struct files *files, char *take_name, struct buf *take_text)
{
	*MEM_PUSH(files->at, files->count) = (struct export_file){ .name = take_name, .text = buf_steal(take_text) };
}

/* An extent says itself: some input has a dimension that is this variable alone, in every case. */
bool export_is_extent(const struct export_request *q, size_t var)
{
	const struct spec *spec = context_spec(q->ctx);
	for (size_t a = 0; a < spec->array_count; a++)
		for (unsigned d = 0; d < spec->arrays[a].rank && spec->arrays[a].role != PLAN_OUT; d++) {
			size_t slots, same = 0;
			const uint16_t *slot = expr_slots(spec->arrays[a].dims[d], &slots);
			if (slots != 1 || slot[0] != spec->vars[var].slot)
				continue;
			for (size_t i = 0; i < q->count; i++) {
				const struct param *p = params_find(q->cases[i].built.params, spec->vars[var].name);
				same += p && !p->is_float && p->i == q->cases[i].built.plan->buffers[a].dims[d];
			}
			if (same == q->count)
				return true;
		}
	return false;
}

/* --- comments ----------------------------------------------------------------------------------------------------------------- */

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

static void describe_plan(const struct plan *plan, struct buf *out)
{
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
}

/* What a launch passes as numbers, for code that binds them itself. */
static void describe_scalars(const struct plan *plan, struct buf *out)
{
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct plan_launch *l = plan->ops[i].kind == PLAN_OP_LAUNCH ? &plan->ops[i].launch : NULL;
		for (size_t k = 0; l && k < l->arg_count; k++) {
			const struct plan_arg *a = &l->args[k];
			if (a->kind == PLAN_ARG_SCALAR && dtype_is_float(a->type))
				buf_addf(out, "//   %s: %s = %.9g\n", l->kernel, a->name, a->f);
			else if (a->kind == PLAN_ARG_SCALAR)
				buf_addf(out, "//   %s: %s = %lld\n", l->kernel, a->name, (long long)a->i);
		}
	}
}

/* --- device code: one text, and the parameters of each configuration -------------------------------------------------------- */

static void add_configurations(const struct export_request *q, struct buf *out)
{
	buf_adds(out, "\n#ifndef PEAKD_CONFIGURATION\n#define PEAKD_CONFIGURATION 0\n#endif\n");
	for (size_t i = 0; i < q->count; i++) {
		const struct variant *v = &q->cases[i].built;
		char *params = params_text(v->params);
		buf_addf(out, "%s PEAKD_CONFIGURATION == %zu // %s\n", i ? "#elif" : "#if", i, *params ? params : "no parameters");
		describe_plan(v->plan, out);
		describe_scalars(v->plan, out);
		export_defines(out, q->ctx, v->params);
		free(params);
	}
	buf_addf(out, "#else\n#error \"PEAKD_CONFIGURATION is 0 to %zu\"\n#endif\n", q->count - 1);
}

static void add_regions(const struct context *ctx, struct buf *out)
{
	const char *macros = context_region(ctx, REGION_MACROS);
	if (*macros)
		buf_addf(out, "\n%s", macros);
	buf_addf(out, "\n%s", context_region(ctx, REGION_DEVICE));
}

static void device_file(const struct export_request *q, const char *name, const char *end, struct files *files)
{
	const struct spec *spec = context_spec(q->ctx);
	struct buf text = BUF_INIT;
	buf_addf(&text,
		 "// %s: its device code. %s.c holds binaries of it for %s; compile this for other architectures, and validate\n"
		 "// there. -DPEAKD_CONFIGURATION=N chooses a configuration; launches and numbers stand at each.\n",
		 context_kernel(q->ctx), name, q->arch);
	export_comment(&text,
		       "Helper functions need __device__ in front for nvcc and hipcc; the run-time compilers take them without.");
	if (spec->option_count)
		buf_adds(&text, "// Options:");
	for (size_t i = 0; i < spec->option_count; i++)
		buf_addf(&text, " %s%s", spec->options[i], i + 1 == spec->option_count ? "\n" : "");
	if (q->provenance)
		export_comment(&text, q->provenance);
	add_configurations(q, &text);
	add_regions(q->ctx, &text);
	add_file(files, mem_fmt("%s.%s", name, end), &text);
}

/* --- the library ------------------------------------------------------------------------------------------------------------ */

static const char *c_type(enum dtype t)
{
	static const char *const names[DTYPE_COUNT] = {
		[DTYPE_I8] = "int8_t",    [DTYPE_I16] = "int16_t",  [DTYPE_I32] = "int32_t",
		[DTYPE_I64] = "int64_t",  [DTYPE_U8] = "uint8_t",   [DTYPE_U16] = "uint16_t",
		[DTYPE_U32] = "uint32_t", [DTYPE_U64] = "uint64_t", [DTYPE_F64] = "double",
	};
	return names[t] ? names[t] : "float";
}

/* The parameter list of NAME_launch, and how its body passes it on. */
static void add_signature(const struct spec *spec, struct buf *parameters, struct buf *arrays, struct buf *sizes)
{
	for (size_t i = 0; i < spec->array_count; i++) {
		char *name = export_identifier(spec->arrays[i].name);
		buf_addf(parameters, "%svoid *%s /* %s */, ", spec->arrays[i].role == PLAN_IN ? "const " : "", name,
			 dtype_name(spec->arrays[i].type));
		buf_addf(arrays, "%s(void *)%s", i ? ", " : "", name);
		free(name);
	}
	for (size_t i = 0; i < spec->input_count; i++) {
		const char *type = c_type(spec->vars[i].type);
		char *name = export_identifier(spec->vars[i].name);
		buf_addf(parameters, "%s %s, ", type, name);
		buf_addf(sizes, "%s%s(%s%s)", i ? ", " : "",
			 !dtype_is_float(spec->vars[i].type) ? "peakd_integer"
			 : type[0] == 'd'                    ? "peakd_double"
							     : "peakd_float",
			 dtype_is_float(spec->vars[i].type) ? "" : "(long long)", name);
		free(name);
	}
	buf_adds(sizes, spec->input_count ? "" : "0");
}

/* "A, B, C": Python's and TVM-FFI's order; `outputs`: also those. */
static char *call_text(const struct export_request *q, bool outputs)
{
	const struct spec *spec = context_spec(q->ctx);
	struct buf out = BUF_INIT;
	for (int last = 0; last <= outputs; last++)
		for (size_t i = 0; i < spec->inputs_len; i++) {
			size_t k = spec->inputs[i].index;
			bool array = spec->inputs[i].is_array;
			if (array ? (spec->arrays[k].role == PLAN_OUT) != last : last || export_is_extent(q, k))
				continue;
			char *name = export_identifier(array ? spec->arrays[k].name : spec->vars[k].name);
			buf_addf(&out, "%s%s", out.len ? ", " : "", name);
			free(name);
		}
	return buf_steal(&out);
}

static char *describe_cases(const struct export_request *q, const char *prefix, const char *end)
{
	struct buf out = BUF_INIT;
	for (size_t i = 0; i < q->count; i++) {
		char *params = params_text(q->cases[i].built.params);
		buf_addf(&out, "%s%s%s", prefix, *params ? params : "no parameters", end);
		free(params);
	}
	return buf_steal(&out);
}

enum { WORDS = 24 };

/* What the templates ask for. */
static size_t make_words(const struct export_request *q, const char *name, struct export_word words[WORDS])
{
	bool hip = strcmp(context_backend(q->ctx), "hip") == 0;
	struct export_limits limits = export_limits(q);
	struct buf parameters = BUF_INIT, arrays = BUF_INIT, sizes = BUF_INIT, provenance = BUF_INIT;
	char *upper = mem_str(name);
	for (char *c = upper; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	add_signature(context_spec(q->ctx), &parameters, &arrays, &sizes);
	if (q->provenance)
		export_comment(&provenance, q->provenance);
	const struct export_word made[] = {
		{ "NAME", mem_str(name) },
		{ "UPPER", upper },
		{ "VERSION", mem_str(PEAKD_VERSION) },
		{ "ARCH", mem_str(q->arch) },
		{ "PROVENANCE", buf_steal(&provenance) },
		{ "DESCRIPTION", describe_cases(q, " *   ", "\n") },
		{ "CASE_NAMES", describe_cases(q, "\"", "\", ") },
		{ "PARAMETERS", buf_steal(&parameters) },
		{ "ARRAYS", buf_steal(&arrays) },
		{ "SIZES", buf_steal(&sizes) },
		{ "INPUTS", call_text(q, false) },
		{ "CALL", call_text(q, true) },
		{ "HIP", mem_str(hip ? "1" : "0") },
		{ "DRIVERS", mem_str(hip ? "\"libamdhip64.so\", \"libamdhip64.so.7\", \"libamdhip64.so.6\", \"libamdhip64.so.5\""
					 : "\"libcuda.so.1\"") },
		{ "DEVICE_TYPE", mem_str(hip ? "10" : "2") },
		{ "STREAM", mem_str(hip ? "hipStream_t" : "cudaStream_t") },
		{ "STREAM_TAG", mem_str(hip ? "ihipStream_t" : "CUstream_st") },
		{ "BUFFERS_MAX", mem_fmt("%zu", limits.buffers) },
		{ "MAPS_MAX", mem_fmt("%zu", limits.maps) },
		{ "ARGUMENTS_MAX", mem_fmt("%zu", limits.arguments) },
		{ "SIZES_MAX", mem_fmt("%zu", context_spec(q->ctx)->input_count + 1) },
		{ "HAS_REFERENCE", mem_str(q->reference ? "1" : "0") },
	};
	_Static_assert(MEM_COUNT(made) < WORDS, "and one for the reference's tables");
	memcpy(words, made, sizeof made);
	return MEM_COUNT(made);
}

static int library_files(const struct export_request *q, const char *name, struct files *files, struct err *e)
{
	static const struct {
		const char *template, *file;
	} plain[] = { { "header.h.in", "%s.h" },
		      { "op.py.in", "%s.py" },
		      { "kernels.py.in", "%s_kernels.py" },
		      { "CMakeLists.txt.in", "CMakeLists.txt" } };
	struct export_word words[WORDS];
	struct buf text = BUF_INIT;
	size_t count = make_words(q, name, words);
	for (size_t i = 0; i < MEM_COUNT(plain); i++) {
		export_fill(&text, plain[i].template, words, count);
		add_file(files, strchr(plain[i].file, '%') ? mem_fmt("%s%s", name, plain[i].file + 2) : mem_str(plain[i].file),
			 &text);
	}
	export_fill(&text, "types.c.in", words, count);
	int rc = export_tables(q, false, "peakd_library", &text, e);
	export_fill(&text, "library.c.in", words, count);
	add_file(files, mem_fmt("%s.c", name), &text);
	if (rc == 0 && q->reference)
		rc = export_tables(q, true, "peakd_reference", &text, e);
	words[count++] = (struct export_word){ "REFERENCE", buf_steal(&text) };
	export_fill(&text, "check.c.in", words, count);
	add_file(files, mem_fmt("%s_check.c", name), &text);
	for (size_t i = 0; i < count; i++)
		free(words[i].value);
	return rc;
}

static int hlsl_file(const struct export_request *q, const char *name, struct files *files, struct err *e)
{
	struct buf text = BUF_INIT, declarations = BUF_INIT;
	bool half = false;
	int rc = export_hlsl_declare(q->ctx, q->cases[0].built.plan, &declarations, &half, e);
	if (rc == 0) {
		buf_addf(&text, "// %s: an HLSL compute shader. Generated by peakd %s.\n", context_kernel(q->ctx), PEAKD_VERSION);
		if (q->provenance)
			export_comment(&text, q->provenance);
		export_comment(&text, "One entry point for each launch below; -DPEAKD_CONFIGURATION=N chooses a configuration.\n"
				      "dxc: dxc -spirv -fspv-target-env=vulkan1.1 -T cs_6_2 -E ENTRY FILE");
		if (half)
			export_comment(&text, "half and min16float are true 16-bit types here (dxc: -enable-16bit-types).");
		add_configurations(q, &text);
		buf_addf(&text, "\n%s", buf_text(&declarations));
		add_regions(q->ctx, &text);
		add_file(files, mem_fmt("%s.hlsl", name), &text);
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
	char *name = export_name(q->ctx);
	int rc;
	if (strcmp(backend, "hlsl") == 0)
		rc = hlsl_file(q, name, &files, e);
	else {
		device_file(q, name, strcmp(backend, "hip") == 0 ? "hip" : "cu", &files);
		rc = library_files(q, name, &files, e);
	}
	buf_adds(&context, context_render(q->ctx));
	add_file(&files, mem_fmt("%s.peak.md", name), &context);
	free(name);
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

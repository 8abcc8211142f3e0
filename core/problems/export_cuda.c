/* export_cuda: a plan as C++ that nvcc builds: the driver and the reference beside it; see export_source.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/mem.h"
#include "core/problems/export_source.h"

enum { TABLES_MAX = 4 << 20 };

static const char *const types[DTYPE_COUNT] = {
	[DTYPE_I8] = "I8",   [DTYPE_I16] = "I16", [DTYPE_I32] = "I32",   [DTYPE_I64] = "I64",   [DTYPE_U8] = "U8",
	[DTYPE_U16] = "U16", [DTYPE_U32] = "U32", [DTYPE_U64] = "U64",   [DTYPE_F16] = "F16",   [DTYPE_BF16] = "BF16",
	[DTYPE_F32] = "F32", [DTYPE_F64] = "F64", [DTYPE_E4M3] = "E4M3", [DTYPE_E5M2] = "E5M2",
};

static const char *role_name(enum plan_role role)
{
	switch (role) {
	case PLAN_IN: return "IN";
	case PLAN_OUT: return "OUT";
	case PLAN_INOUT: return "INOUT";
	case PLAN_SCRATCH: return "SCRATCH";
	case PLAN_TABLE: return "TABLE";
	}
	return "SCRATCH";
}

static const char *fill_name(enum plan_fill fill)
{
	switch (fill) {
	case PLAN_ZEROS: return "ZEROS";
	case PLAN_ONES: return "ONES";
	case PLAN_RANDOM: return "RANDOM";
	case PLAN_NORMAL: return "NORMAL";
	case PLAN_IOTA: return "IOTA";
	case PLAN_SORTED: return "SORTED";
	case PLAN_PERMUTATION: return "PERMUTATION";
	case PLAN_PROBABILITIES: return "PROBABILITIES";
	}
	return "ZEROS";
}

/* --- buffers ------------------------------------------------------------------------------------------------------------------ */

static int add_table(const struct plan_buffer *b, const char *prefix, size_t i, struct buf *out, struct err *e)
{
	const unsigned char *bytes = b->table;
	if (b->bytes > TABLES_MAX)
		return err_set(e, ERR_UNSUPPORTED, "table %s has %llu bytes, and at most %d are written into a source file",
			       b->name, (unsigned long long)b->bytes, TABLES_MAX);
	buf_addf(out, "alignas(16) static const unsigned char %s_table%zu[] = {", prefix, i);
	for (uint64_t k = 0; k < b->bytes; k++)
		buf_addf(out, "%s%u,", k % 32 ? "" : "\n\t", bytes[k]);
	buf_adds(out, "\n};\n");
	return 0;
}

/* --- tensor maps -------------------------------------------------------------------------------------------------------------- */

static const char *map_type(enum dtype t)
{
	switch (t) {
	case DTYPE_I8:
	case DTYPE_U8:
	case DTYPE_E4M3:
	case DTYPE_E5M2: return "UINT8";
	case DTYPE_I16:
	case DTYPE_U16: return "UINT16";
	case DTYPE_I32: return "INT32";
	case DTYPE_U32: return "UINT32";
	case DTYPE_I64: return "INT64";
	case DTYPE_U64: return "UINT64";
	case DTYPE_F16: return "FLOAT16";
	case DTYPE_BF16: return "BFLOAT16";
	case DTYPE_F32: return "FLOAT32";
	case DTYPE_F64: return "FLOAT64";
	case DTYPE_COUNT: break;
	}
	return "UINT8";
}

static void add_map_function(struct buf *out)
{
	buf_adds(out, embedded_file("core/problems/export_map.cuh"));
}

/* --- operations --------------------------------------------------------------------------------------------------------------- */

static void add_launch(const struct plan_launch *l, const char *suffix, struct buf *out)
{
	buf_adds(out, "\t{\n");
	for (size_t k = 0; k < l->arg_count; k++) {
		const struct plan_arg *a = &l->args[k];
		if (a->kind == PLAN_ARG_SCALAR) {
			/* A scalar as a C++ variable of its exact bytes. */
			unsigned char bytes[8] = { 0 };
			size_t n = dtype_size(a->type);
			if (dtype_is_float(a->type))
				dtype_store(a->type, bytes, a->f);
			else
				memcpy(bytes, &a->i, n); /* little-endian, as every machine with a GPU */
			buf_addf(out, "\t\talignas(8) unsigned char s%zu[] = {", k);
			for (size_t i = 0; i < n; i++)
				buf_addf(out, " %u,", bytes[i]);
			if (dtype_is_float(a->type))
				buf_addf(out, " }; // %s = %.9g\n", *a->name ? a->name : dtype_name(a->type), a->f);
			else
				buf_addf(out, " }; // %s = %lld\n", *a->name ? a->name : dtype_name(a->type), (long long)a->i);
		} else if (a->kind == PLAN_ARG_BUFFER)
			buf_addf(out, "\t\tvoid *p%zu = device[%u];\n", k, a->index);
	}
	buf_adds(out, "\t\tvoid *arguments[] = {");
	for (size_t k = 0; k < l->arg_count; k++) {
		const struct plan_arg *a = &l->args[k];
		if (a->kind == PLAN_ARG_SCALAR)
			buf_addf(out, " s%zu,", k);
		else if (a->kind == PLAN_ARG_BUFFER)
			buf_addf(out, " &p%zu,", k);
		else
			buf_addf(out, " &map%u,", a->index);
	}
	buf_addf(out,
		 " nullptr };\n\t\tpeakd::launch((const void *)%s%s, \"%s\", dim3(%u, %u, %u), dim3(%u, %u, %u), %u, dim3(%u, %u, "
		 "%u), %s,\n"
		 "\t\t              arguments);\n\t}\n",
		 l->kernel, suffix, l->kernel, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->shared,
		 l->cluster[0], l->cluster[1], l->cluster[2], l->cooperative ? "true" : "false");
}

static void add_op(const struct plan_op *op, const char *suffix, struct buf *out)
{
	switch (op->kind) {
	case PLAN_OP_LAUNCH: add_launch(&op->launch, suffix, out); break;
	case PLAN_OP_MEMSET:
		buf_addf(out, "\tpeakd::ok(cudaMemsetAsync((char *)device[%u] + %llu, %u, %llu), \"memset\");\n", op->memset.buffer,
			 (unsigned long long)op->memset.offset, op->memset.value, (unsigned long long)op->memset.bytes);
		break;
	case PLAN_OP_COPY:
		buf_addf(out,
			 "\tpeakd::ok(cudaMemcpyAsync((char *)device[%u] + %llu, (char *)device[%u] + %llu, %llu, "
			 "cudaMemcpyDeviceToDevice), \"copy\");\n",
			 op->copy.dst, (unsigned long long)op->copy.dst_offset, op->copy.src,
			 (unsigned long long)op->copy.src_offset, (unsigned long long)op->copy.bytes);
		break;
	case PLAN_OP_GEMM: break; /* never of a context */
	}
}

static int add_run(const struct plan *plan, const char *prefix, const char *suffix, struct buf *out, struct err *e)
{
	const char *storage = *suffix ? "extern " : "static ";
	int rc = 0;
	for (size_t i = 0; i < plan->buffer_count && rc == 0; i++)
		if (plan->buffers[i].role == PLAN_TABLE)
			rc = add_table(&plan->buffers[i], prefix, i, out, e);
	buf_addf(out, "%sconst peakd::buffer %s_buffers[] = {\n", storage, prefix);
	for (size_t i = 0; i < plan->buffer_count; i++) {
		uint64_t rows = 1;
		for (unsigned k = 0; k + 1 < plan->buffers[i].rank; k++)
			rows *= (uint64_t)plan->buffers[i].dims[k];
		bool filled = plan->buffers[i].role == PLAN_IN || plan->buffers[i].role == PLAN_INOUT;
		buf_addf(out, "\t{ \"%s\", peakd::%s, peakd::%s, peakd::%s, %.17g, %.17g, %llu, %lld, %lld, %llu, ",
			 plan->buffers[i].name, types[plan->buffers[i].type], role_name(plan->buffers[i].role),
			 fill_name(filled ? plan->buffers[i].fill : PLAN_ZEROS), filled ? plan->buffers[i].lo : 0,
			 filled ? plan->buffers[i].hi : 0, (unsigned long long)rows,
			 (long long)plan->buffers[i].dims[plan->buffers[i].rank - 1], (long long)plan->buffers[i].ld,
			 (unsigned long long)plan->buffers[i].bytes);
		if (plan->buffers[i].role == PLAN_TABLE)
			buf_addf(out, "%s_table%zu },\n", prefix, i);
		else
			buf_adds(out, "nullptr },\n");
	}
	buf_addf(out, "};\n%sconst size_t %s_count = %zu;\n\n", storage, prefix, plan->buffer_count);
	if (plan->map_count)
		add_map_function(out);
	buf_addf(out, "%svoid %s_run(void *const *device)\n{\n", *suffix ? "" : "static ", prefix);
	for (size_t i = 0; i < plan->map_count; i++) {
		buf_addf(out, "\tconst cuuint64_t dims%zu[] = {", i);
		for (unsigned k = 0; k < plan->maps[i].rank; k++)
			buf_addf(out, " %llu,", (unsigned long long)plan->maps[i].dims[k]);
		buf_addf(out, " }, strides%zu[] = {", i);
		for (unsigned k = 1; k < plan->maps[i].rank; k++)
			buf_addf(out, " %llu,", (unsigned long long)plan->maps[i].strides[k]);
		buf_addf(out, "%s };\n\tconst cuuint32_t box%zu[] = {", plan->maps[i].rank > 1 ? "" : " 0", i);
		for (unsigned k = 0; k < plan->maps[i].rank; k++)
			buf_addf(out, " %u,", plan->maps[i].box[k]);
		buf_addf(out,
			 " };\n\tCUtensorMap map%zu = tensor_map(CU_TENSOR_MAP_DATA_TYPE_%s, %u, device[%u], dims%zu, strides%zu, "
			 "box%zu,\n",
			 i, map_type(plan->maps[i].type), plan->maps[i].rank, plan->maps[i].buffer, i, i, i);
		if (plan->maps[i].swizzle)
			buf_addf(out, "\t\tCU_TENSOR_MAP_SWIZZLE_%uB, ", plan->maps[i].swizzle);
		else
			buf_adds(out, "\t\tCU_TENSOR_MAP_SWIZZLE_NONE, ");
		buf_addf(out, "CU_TENSOR_MAP_FLOAT_OOB_FILL_%s);\n", plan->maps[i].fill_nan ? "NAN_REQUEST_ZERO_FMA" : "NONE");
	}
	for (size_t i = 0; i < plan->op_count; i++)
		add_op(&plan->ops[i], suffix, out);
	buf_adds(out, "}\n");
	return rc;
}

static void add_includes(const struct plan *plan, const char *stem, struct buf *out)
{
	bool fp8 = false;
	for (size_t i = 0; i < plan->buffer_count; i++)
		fp8 |= plan->buffers[i].type == DTYPE_E4M3 || plan->buffers[i].type == DTYPE_E5M2;
	buf_addf(out, "%s#include \"%s_driver.h\"\n%s\n", fp8 ? "#define PEAKD_FP8\n" : "", stem,
		 plan->map_count ? "#include <cuda.h>\n" : "");
}

/* --- the two files ------------------------------------------------------------------------------------------------------------ */

static void add_check(const struct export_request *q, struct buf *out)
{
	const struct spec *spec = context_spec(q->ctx);
	double tolerance = 4 * spec_roundoff(spec) * sqrt(spec_reduction(spec, q->params));
	if (q->reference == NULL) {
		buf_adds(out, "\tprintf(\"nothing was compared: this driver was exported without a reference\\n\");\n");
		return;
	}
	buf_addf(out,
		 "\tstd::vector<void *> wanted = peakd::place(peakd_reference_buffers, peakd_reference_count, images);\n"
		 "\tpeakd_reference_run(wanted.data());\n"
		 "\tpeakd::ok(cudaDeviceSynchronize(), \"the reference\");\n"
		 "\t// 4 u sqrt(K): u the unit roundoff of the coarsest type that is allowed, K the length of the sums.\n"
		 "\tfor (size_t i = 0; i < %zu; i++)\n"
		 "\t\tif (peakd_kernel_buffers[i].is == peakd::OUT || peakd_kernel_buffers[i].is == peakd::INOUT)\n"
		 "\t\t\tgood = peakd::compare(peakd_kernel_buffers[i], device[i], wanted[i], %.9g) && good;\n",
		 spec->array_count, tolerance);
}

int export_cuda_main(const struct export_request *q, const char *stem, struct buf *out, struct err *e)
{
	double flops = spec_flops(context_spec(q->ctx), q->params);
	const struct spec *spec = context_spec(q->ctx);
	buf_addf(out, "// Build and run (-arch=native is this machine's GPU; name one with its features otherwise: sm_90a):\n"
		      "//   nvcc -std=c++17 -O3 -arch=native");
	for (size_t i = 0; i < spec->option_count; i++)
		buf_addf(out, " %s", spec->options[i]);
	buf_addf(out, " -o %s %s_main.cu", stem, stem);
	if (q->reference)
		buf_addf(out, " %s_reference.cu", stem);
	buf_addf(out, " && ./%s\n", stem);
	add_includes(q->plan, stem, out);
	buf_addf(out, "#include \"%s.cu\"\n\n", stem);
	export_undefines(out, q->ctx, q->params);
	buf_adds(out, "\n");
	int rc = add_run(q->plan, "peakd_kernel", "", out, e);
	if (q->reference)
		buf_addf(out,
			 "\n// In %s_reference.cu.\nextern const peakd::buffer peakd_reference_buffers[];\n"
			 "extern const size_t peakd_reference_count;\nvoid peakd_reference_run(void *const *device);\n",
			 stem);
	buf_adds(out, "\nint main()\n{\n\tbool good = true;\n\tstd::vector<std::vector<unsigned char>> images;\n"
		      "\tfor (size_t i = 0; i < peakd_kernel_count; i++)\n"
		      "\t\timages.push_back(peakd_kernel_buffers[i].is == peakd::IN || peakd_kernel_buffers[i].is == peakd::INOUT\n"
		      "\t\t                 ? peakd::image(peakd_kernel_buffers[i], i + 1) : std::vector<unsigned char>());\n"
		      "\tstd::vector<void *> device = peakd::place(peakd_kernel_buffers, peakd_kernel_count, images);\n"
		      "\tpeakd_kernel_run(device.data());\n"
		      "\tpeakd::ok(cudaDeviceSynchronize(), \"the kernel\");\n");
	add_check(q, out);
	buf_addf(out, "\tdouble ms = peakd::median_ms(peakd_kernel_run, device.data());\n\tprintf(\"%s: median %%.6g ms\", ms);\n",
		 stem);
	if (isfinite(flops) && flops > 0)
		buf_addf(out, "\tprintf(\", %%.6g GFLOP/s\", %.17g / ms / 1e6);\n", flops);
	buf_adds(out, "\tprintf(\"\\n\");\n\treturn good ? 0 : 1;\n}\n");
	return rc;
}

/* A second translation unit, so that its macros and helpers cannot meet the kernel's; only the kernels' names need to differ. */
int export_cuda_reference(const struct export_request *q, const char *stem, struct buf *out, struct err *e)
{
	const struct plan *plan = q->reference_plan;
	struct buf renames = BUF_INIT;
	for (size_t i = 0; i < plan->op_count; i++) {
		const char *kernel = plan->ops[i].kind == PLAN_OP_LAUNCH ? plan->ops[i].launch.kernel : NULL;
		char *line = kernel ? mem_fmt("#define %s %s_reference\n", kernel, kernel) : NULL;
		if (line && strstr(buf_text(&renames), line) == NULL)
			buf_adds(&renames, line);
		free(line);
	}
	add_includes(plan, stem, out);
	export_defines(out, q->reference, q->reference_params);
	buf_adds(out, buf_text(&renames));
	buf_addf(out, "\n%s\n%s\n", context_region(q->reference, REGION_MACROS), context_region(q->reference, REGION_DEVICE));
	for (size_t i = 0; i < plan->op_count; i++)
		if (plan->ops[i].kind == PLAN_OP_LAUNCH)
			buf_addf(out, "#undef %s\n", plan->ops[i].launch.kernel);
	export_undefines(out, q->reference, q->reference_params);
	buf_adds(out, "\n");
	int rc = add_run(plan, "peakd_reference", "_reference", out, e);
	buf_fini(&renames);
	return rc;
}

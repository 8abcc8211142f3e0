/* export_tables: plans and binaries as initialised C tables, in the structs of export/types.c.in; see export_source.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/problems/export_source.h"

enum { TABLES_MAX = 4 << 20 };

/* DLPack's type codes, and the data types of cuTensorMapEncodeTiled (CUDA driver API, CUtensorMapDataType). */
static const struct {
	const char *code;
	int map;
} types[DTYPE_COUNT] = {
	[DTYPE_I8] = { "PEAKD_INT", 0 },      [DTYPE_I16] = { "PEAKD_INT", 1 },   [DTYPE_I32] = { "PEAKD_INT", 3 },
	[DTYPE_I64] = { "PEAKD_INT", 5 },     [DTYPE_U8] = { "PEAKD_UINT", 0 },   [DTYPE_U16] = { "PEAKD_UINT", 1 },
	[DTYPE_U32] = { "PEAKD_UINT", 2 },    [DTYPE_U64] = { "PEAKD_UINT", 4 },  [DTYPE_F16] = { "PEAKD_FLOAT", 6 },
	[DTYPE_BF16] = { "PEAKD_BFLOAT", 9 }, [DTYPE_F32] = { "PEAKD_FLOAT", 7 }, [DTYPE_F64] = { "PEAKD_FLOAT", 8 },
	[DTYPE_E4M3] = { "PEAKD_E4M3", 0 },   [DTYPE_E5M2] = { "PEAKD_E5M2", 0 },
};
static const char *const roles[] = {
	[PLAN_IN] = "PEAKD_IN",           [PLAN_OUT] = "PEAKD_OUT",     [PLAN_INOUT] = "PEAKD_INOUT",
	[PLAN_SCRATCH] = "PEAKD_SCRATCH", [PLAN_TABLE] = "PEAKD_TABLE",
};

static void add_bytes(struct buf *out, const void *bytes, size_t n)
{
	for (size_t k = 0; k < n; k++)
		buf_addf(out, "%s%u,", k % 48 ? "" : "\n\t", ((const unsigned char *)bytes)[k]);
	buf_adds(out, "\n};\n");
}

static void add_numbers(struct buf *out, const void *numbers, size_t size, size_t n)
{
	buf_adds(out, "{ ");
	for (size_t i = 0; i < n; i++) {
		uint64_t value = 0;
		memcpy(&value, (const char *)numbers + i * size, size); /* little-endian, as every machine with a GPU */
		buf_addf(out, "%s%lluu", i ? ", " : "", (unsigned long long)value);
	}
	buf_adds(out, n ? " }" : "0 }");
}

/* The bits by which the library finds a case: floats as doubles, of which only a double is exact (peakd_float in library.c.in). */
static void add_sizes(struct buf *out, const struct spec *spec, const struct params *params)
{
	for (size_t i = 0; i < spec->input_count; i++) {
		const struct param *p = params_find(params, spec->vars[i].name);
		double value = p->is_float ? p->f : (double)p->i;
		uint64_t bits = (uint64_t)p->i;
		if (dtype_is_float(spec->vars[i].type)) {
			value = spec->vars[i].type == DTYPE_F64 ? value : (double)(float)value;
			memcpy(&bits, &value, sizeof bits);
		}
		buf_addf(out, "%s%lluu", i ? ", " : "", (unsigned long long)bits);
	}
	buf_adds(out, spec->input_count ? "" : "0");
}

static int add_buffers(const struct plan *plan, const char *stem, struct buf *out, struct err *e)
{
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		if (b->role != PLAN_TABLE)
			continue;
		if (b->bytes > TABLES_MAX)
			return err_set(e, ERR_UNSUPPORTED, "table %s has %llu bytes, and at most %d are written into a source file",
				       b->name, (unsigned long long)b->bytes, TABLES_MAX);
		buf_addf(out, "static const unsigned char %s_table%zu[] __attribute__((aligned(16))) = {", stem, i);
		add_bytes(out, b->table, (size_t)b->bytes);
	}
	buf_addf(out, "static const struct peakd_buffer %s_buffers[] = {\n", stem);
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		bool filled = plan_is_input(b);
		buf_addf(out, "\t{ \"%s\", %s, %s, %zu, %u, ", b->name, roles[b->role], types[b->type].code,
			 8 * dtype_size(b->type), b->rank);
		add_numbers(out, b->dims, sizeof *b->dims, PLAN_RANK_MAX);
		buf_addf(out, ", %lld, %lluu, %d, %.17g, %.17g, ", (long long)b->ld, (unsigned long long)b->bytes,
			 filled ? (int)b->fill : 0, filled ? b->lo : 0, filled ? b->hi : 0);
		if (b->role == PLAN_TABLE)
			buf_addf(out, "%s_table%zu },\n", stem, i);
		else
			buf_adds(out, "NULL },\n");
	}
	buf_adds(out, "};\n");
	return 0;
}

static void add_maps(const struct plan *plan, const char *stem, struct buf *out)
{
	if (plan->map_count == 0)
		return;
	buf_addf(out, "static const struct peakd_map %s_maps[] = {\n", stem);
	for (size_t i = 0; i < plan->map_count; i++) {
		const struct plan_map *m = &plan->maps[i];
		int swizzle = m->swizzle == 128 ? 3 : (int)m->swizzle / 32; /* CU_TENSOR_MAP_SWIZZLE_NONE, _32B, _64B, _128B */
		buf_addf(out, "\t{ %u, %d, %u, ", m->buffer, types[m->type].map, m->rank);
		add_numbers(out, m->dims, sizeof *m->dims, m->rank);
		buf_adds(out, ", ");
		add_numbers(out, m->strides, sizeof *m->strides, m->rank);
		buf_adds(out, ", ");
		add_numbers(out, m->box, sizeof *m->box, m->rank);
		buf_addf(out, ", %d, %d },\n", swizzle, m->fill_nan);
	}
	buf_adds(out, "};\n");
}

static void add_arguments(const struct plan_launch *l, const char *stem, size_t op, struct buf *out)
{
	if (l->arg_count == 0)
		return;
	buf_addf(out, "static const struct peakd_argument %s_arguments%zu[] = {\n", stem, op);
	for (size_t k = 0; k < l->arg_count; k++) {
		const struct plan_arg *a = &l->args[k];
		uint64_t value = 0;
		if (a->kind != PLAN_ARG_SCALAR) {
			buf_addf(out, "\t{ %s, %u, 0 },\n", a->kind == PLAN_ARG_MAP ? "PEAKD_MAP" : "PEAKD_BUFFER", a->index);
			continue;
		}
		if (dtype_is_float(a->type))
			dtype_store(a->type, &value, a->f);
		else
			memcpy(&value, &a->i, dtype_size(a->type));
		buf_addf(out, "\t{ PEAKD_SCALAR, 0, %lluu }, // %s\n", (unsigned long long)value, dtype_name(a->type));
	}
	buf_adds(out, "};\n");
}

static void add_launch(const struct plan_launch *l, const char *stem, size_t op, struct buf *out)
{
	buf_addf(out, "\t{ PEAKD_LAUNCH, \"%s\", { %u, %u, %u }, { %u, %u, %u }, { %u, %u, %u }, %u, %d, ", l->kernel, l->grid[0],
		 l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->cluster[0], l->cluster[1], l->cluster[2],
		 l->shared, l->cooperative);
	if (l->arg_count)
		buf_addf(out, "%s_arguments%zu, %zu, 0, 0, 0, 0, 0, 0 },\n", stem, op, l->arg_count);
	else
		buf_adds(out, "NULL, 0, 0, 0, 0, 0, 0, 0 },\n");
}

static void add_operations(const struct plan *plan, const char *stem, struct buf *out)
{
	for (size_t i = 0; i < plan->op_count; i++)
		if (plan->ops[i].kind == PLAN_OP_LAUNCH)
			add_arguments(&plan->ops[i].launch, stem, i, out);
	buf_addf(out, "static const struct peakd_operation %s_operations[] = {\n", stem);
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct plan_op *op = &plan->ops[i];
		switch (op->kind) {
		case PLAN_OP_LAUNCH: add_launch(&op->launch, stem, i, out); break;
		case PLAN_OP_MEMSET:
			buf_addf(out, "\t{ PEAKD_MEMSET, NULL, { 0 }, { 0 }, { 0 }, 0, 0, NULL, 0, %u, 0, %u, %lluu, 0, %lluu },\n",
				 op->memset.buffer, op->memset.value, (unsigned long long)op->memset.offset,
				 (unsigned long long)op->memset.bytes);
			break;
		case PLAN_OP_COPY:
			buf_addf(out,
				 "\t{ PEAKD_COPY, NULL, { 0 }, { 0 }, { 0 }, 0, 0, NULL, 0, %u, %u, 0, %lluu, %lluu, %lluu },\n",
				 op->copy.dst, op->copy.src, (unsigned long long)op->copy.dst_offset,
				 (unsigned long long)op->copy.src_offset, (unsigned long long)op->copy.bytes);
			break;
		case PLAN_OP_GEMM: break; /* never of a context */
		}
	}
	buf_adds(out, "};\n");
}

static const struct variant *side(const struct export_case *c, bool reference)
{
	return reference ? &c->reference : &c->built;
}

static bool same_binary(const struct variant *a, const struct variant *b)
{
	return a->compiled.binary_len == b->compiled.binary_len &&
	       memcmp(a->compiled.binary, b->compiled.binary, a->compiled.binary_len) == 0;
}

/* The first case with this one's binary: configurations of several sizes share theirs. */
static size_t first_same(const struct export_request *q, bool reference, size_t i)
{
	size_t k = 0;
	while (!same_binary(side(&q->cases[k], reference), side(&q->cases[i], reference)))
		k++;
	return k;
}

static void add_binaries(const struct export_request *q, bool reference, const char *name, struct buf *out)
{
	for (size_t i = 0; i < q->count; i++) {
		const struct wire_compiled *compiled = &side(&q->cases[i], reference)->compiled;
		if (first_same(q, reference, i) != i)
			continue;
		buf_addf(out, "static const unsigned char %s_binary%zu[] __attribute__((aligned(16))) = {", name, i);
		add_bytes(out, compiled->binary, compiled->binary_len);
	}
	buf_addf(out, "static const unsigned char *const %s_binaries[] = {", name);
	for (size_t i = 0; i < q->count; i++)
		buf_addf(out, " %s_binary%zu,", name, first_same(q, reference, i));
	buf_adds(out, " };\n");
}

/* Python's and TVM-FFI's order: inputs as declared, then outputs. */
static size_t add_parameters(const struct export_request *q, const char *name, struct buf *out)
{
	const struct spec *spec = context_spec(q->ctx);
	size_t count = 0;
	buf_addf(out, "static const struct peakd_parameter %s_parameters[] = {\n", name);
	for (int outputs = 0; outputs < 2; outputs++)
		for (size_t i = 0; i < spec->inputs_len; i++) {
			size_t k = spec->inputs[i].index;
			if (spec->inputs[i].is_array && (spec->arrays[k].role == PLAN_OUT) == outputs)
				buf_addf(out, "\t{ PEAKD_BUFFER, %zu, 0 }, // %s\n", k, spec->arrays[k].name);
			else if (!spec->inputs[i].is_array && !outputs && !export_is_extent(q, k))
				buf_addf(out, "\t{ PEAKD_SCALAR, %zu, %d }, // %s\n", k,
					 !dtype_is_float(spec->vars[k].type) ? 0
					 : spec->vars[k].type == DTYPE_F64   ? 64
									     : 32,
					 spec->vars[k].name);
			else
				continue;
			count++;
		}
	buf_adds(out, "};\n");
	return count;
}

int export_tables(const struct export_request *q, bool reference, const char *name, struct buf *out, struct err *e)
{
	const struct spec *spec = context_spec(q->ctx);
	struct buf cases = BUF_INIT;
	int rc = 0;
	add_binaries(q, reference, name, out);
	for (size_t i = 0; i < q->count && rc == 0; i++) {
		const struct variant *v = side(&q->cases[i], reference);
		const struct params *params = q->cases[i].built.params;
		char *stem = mem_fmt("%s_case%zu", name, i), *text = params_text(v->params);
		double flops = spec_flops(spec, params);
		buf_addf(out, "\n// %s\nstatic const unsigned long long %s_sizes[] = { ", text, stem);
		add_sizes(out, spec, params);
		buf_adds(out, " };\n");
		rc = add_buffers(v->plan, stem, out, e);
		add_maps(v->plan, stem, out);
		add_operations(v->plan, stem, out);
		buf_addf(&cases, "\t{ %s_sizes, %zu, %zu, %zu, %zu, %s_buffers, %s%s, %s_operations, %.9g, %.17g },\n", stem, i,
			 v->plan->buffer_count, v->plan->map_count, v->plan->op_count, stem, v->plan->map_count ? stem : "NULL",
			 v->plan->map_count ? "_maps" : "", stem, 4 * spec_roundoff(spec) * sqrt(spec_reduction(spec, params)),
			 isfinite(flops) && flops > 0 ? flops : 0);
		free(text);
		free(stem);
	}
	buf_adds(out, "\n");
	size_t parameters = add_parameters(q, name, out);
	buf_addf(out,
		 "static const struct peakd_case %s_cases[] = {\n%s};\n"
		 "static const struct peakd_library %s = { %zu, %zu, %zu, %zu, %s_cases, %s_binaries, %s_parameters };\n",
		 name, buf_text(&cases), name, spec->array_count, spec->input_count, q->count, parameters, name, name, name);
	buf_fini(&cases);
	return rc;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

struct export_limits export_limits(const struct export_request *q)
{
	struct export_limits limits = { 1, 1, 1 };
	for (size_t i = 0; i < q->count; i++)
		for (int reference = 0; reference < 2; reference++) {
			const struct plan *plan = side(&q->cases[i], reference)->plan;
			if (plan == NULL)
				continue;
			limits.buffers = larger(limits.buffers, plan->buffer_count);
			limits.maps = larger(limits.maps, plan->map_count);
			for (size_t k = 0; k < plan->op_count; k++)
				if (plan->ops[k].kind == PLAN_OP_LAUNCH)
					limits.arguments = larger(limits.arguments, plan->ops[k].launch.arg_count);
		}
	return limits;
}

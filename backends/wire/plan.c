/* plan: checks plans, and tells the wire what they look like; see plan.h. The checks here hold for every device, so no
 * backend repeats them. */
#include "backends/wire/plan.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Far above any real plan; they keep sums of sizes from overflowing. */
enum { COUNT_MAX = 4096 };
#define BYTES_MAX (UINT64_C(1) << 44)

struct plan *plan_new(void)
{
	return MEM_NEW(struct plan);
}

void plan_free(struct plan *plan)
{
	if (plan)
		wire_fini(&plan_table, plan);
	free(plan);
}

uint64_t plan_buffer_logical(const struct plan_buffer *b)
{
	uint64_t n = 1;
	for (unsigned i = 0; i < b->rank; i++)
		n *= (uint64_t)b->dims[i];
	return n;
}

bool plan_takes_nan(const struct plan *plan)
{
	bool any = false;
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		bool varies = b->fill == PLAN_RANDOM || b->fill == PLAN_NORMAL;
		any = any || (plan_is_input(b) && dtype_is_float(b->type) && varies && !b->closed);
	}
	return any;
}

static size_t launches_with(const struct plan *plan, size_t buffer)
{
	size_t count = 0;
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct plan_launch *l = &plan->ops[i].launch;
		bool takes = false;
		for (size_t k = 0; plan->ops[i].kind == PLAN_OP_LAUNCH && k < l->arg_count; k++)
			takes |= l->args[k].kind == PLAN_ARG_BUFFER && l->args[k].index == buffer;
		count += takes;
	}
	return count;
}

double plan_roundoff(const struct plan *plan)
{
	double u = 0;
	for (size_t i = 0; i < plan->buffer_count; i++)
		u = fmax(u, dtype_roundoff(plan->buffers[i].type));
	return u;
}

double plan_stored_roundoff(const struct plan *plan)
{
	double u = 0;
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		bool again = b->role == PLAN_INOUT || (b->role != PLAN_IN && launches_with(plan, i) > 1);
		if (again && dtype_roundoff(b->type) > u)
			u = dtype_roundoff(b->type);
	}
	return u;
}

/* A lifted array holds what the declared type does. */
static enum dtype held_type(const struct plan_buffer *b)
{
	return dtype_is_float(b->rounded) ? b->rounded : b->type;
}

/* Devices flush small halves. */
static bool holds_faint(const struct plan_buffer *b)
{
	return dtype_smallest_normal(held_type(b)) < 0x1p-100;
}

enum { SEGMENTED = 16 /* columns of PLAN_SEGMENTS, at least */ };

bool plan_values_apply(const struct plan_buffer *b, enum plan_values values)
{
	bool floats = dtype_is_float(b->type), sorted = b->fill == PLAN_SORTED, likely = b->fill == PLAN_PROBABILITIES;
	bool varies = b->fill == PLAN_RANDOM || b->fill == PLAN_NORMAL, has_zero = !b->closed || (b->least <= 0 && b->most >= 0);
	bool half = held_type(b) == DTYPE_F16;
	double first;
	switch (values) {
	case PLAN_DECLARED:
	case PLAN_VALUES: return false;
	case PLAN_NATURAL: return varies || sorted;
	case PLAN_MIXTURE: return varies || sorted || likely;
	case PLAN_BLANK: return floats && varies && has_zero;
	case PLAN_EXACT: return floats && (varies || sorted) && plan_integers(b, 16, &first);
	case PLAN_EXACT_SMALL: return floats && (varies || sorted) && plan_integers(b, 4, &first);
	case PLAN_OFFSET:
	case PLAN_APART:
	case PLAN_FAR: return floats && (varies || sorted);
	case PLAN_WIDE: return floats && (varies || likely || (sorted && !b->closed));
	case PLAN_LARGER: return floats && varies;
	case PLAN_SMALLER:
	case PLAN_TINY:
	case PLAN_IMMEDIATE_ROWS:
	case PLAN_SMALL: return floats && (varies || (sorted && values == PLAN_SMALL)) && holds_faint(b);
	case PLAN_SPECIAL:
	case PLAN_SPECIAL_HIGH:
	case PLAN_SPECIAL_NUMBERS:
	case PLAN_SPECIAL_FINITE:
	case PLAN_SPECIAL_NANS:
	case PLAN_SPECIAL_LOW: return floats ? varies || likely : varies && plan_has_ends(b);
	case PLAN_INFINITE_ROWS:
	case PLAN_FINITE_ROWS:
	case PLAN_NAN_ROWS:
	case PLAN_RUNS:
	case PLAN_NAN_RUNS:
	case PLAN_FINITE_RUNS: return floats && varies && !b->closed && b->type != DTYPE_E4M3;
	case PLAN_IMMEDIATES:
	case PLAN_SPARSE: return varies;
	case PLAN_ZERO_ROWS: return varies && has_zero;
	case PLAN_MIXED_ZEROS: return likely || (varies && (has_zero || (!floats && isfinite(b->least) && isfinite(b->most))));
	case PLAN_ALONE: return varies && (has_zero || (!floats && isfinite(b->least)));
	case PLAN_TIES:
	case PLAN_NEAR_TIES: return varies || sorted;
	case PLAN_INTEGERS:
	case PLAN_ENDS:
	case PLAN_MIXED_ENDS:
	case PLAN_NEIGHBOURS:
	case PLAN_LABELS:
	case PLAN_NUMBERS: return !floats && varies;
	case PLAN_NARROW: return varies && (floats || !plan_has_ends(b) || b->most - b->least > INT8_MAX);
	case PLAN_HALVES:
	case PLAN_QUARTERS:
	case PLAN_EIGHTHS: return floats && varies;
	case PLAN_CHAINS:
	case PLAN_FEW: return !floats && (varies || sorted);
	case PLAN_EXTREME: return floats && varies && holds_faint(b) && !(b->closed && b->most < 0x1p60);
	case PLAN_HUGE: return floats && varies && (holds_faint(b) || half) && !(b->closed && b->most < (half ? 0x1p10 : 0x1p110));
	/* Between two ends a kernel may use fixed point. The weights of a short filter would mix what lies beside them. */
	case PLAN_FAINT: return floats && varies && has_zero && !plan_has_ends(b) && holds_faint(b);
	case PLAN_SEGMENTS: return floats && varies && has_zero && b->dims[b->rank - 1] >= SEGMENTED && holds_faint(b);
	case PLAN_PATTERNS: return floats && varies;
	case PLAN_NEGATIVE:
		if (b->closed || !plan_is_input(b))
			return false;
		return b->fill == PLAN_ONES || (floats ? b->fill == PLAN_RANDOM && b->lo >= 0 : b->fill == PLAN_ZEROS);
	case PLAN_HIGH_END:
	case PLAN_LOW_END: return varies;
	case PLAN_COINCIDING: return floats && (varies || sorted || likely);
	case PLAN_OTHER_CONSTANTS:
	case PLAN_MIXED_CONSTANTS:
		return plan_is_input(b) && (b->fill == PLAN_ZEROS || b->fill == PLAN_ONES || b->fill == PLAN_IOTA) &&
		       !(b->closed && (b->fill == PLAN_IOTA || b->least == b->most));
	}
	return false;
}

static bool known_type(enum dtype t)
{
	return (unsigned)t < DTYPE_COUNT;
}

static int check_buffer(const struct plan_buffer *b, struct err *e)
{
	if (!known_type(b->type) || (unsigned)b->role > PLAN_TABLE || (unsigned)b->fill > PLAN_PROBABILITIES)
		return err_set(e, ERR_INPUT, "type %u, role %u or fill %u does not exist", b->type, b->role, b->fill);
	if (b->rank < 1 || b->rank > PLAN_RANK_MAX)
		return err_set(e, ERR_INPUT, "rank %u, allowed are 1 to %d", b->rank, PLAN_RANK_MAX);
	for (unsigned i = 0; i < b->rank; i++)
		if (b->dims[i] < 1)
			return err_set(e, ERR_INPUT, "dimension %u is %lld, must be at least 1", i, (long long)b->dims[i]);
	if (b->ld < b->dims[b->rank - 1])
		return err_set(e, ERR_INPUT, "the leading dimension %lld is smaller than a row of %lld", (long long)b->ld,
			       (long long)b->dims[b->rank - 1]);
	/* Elements from the first to the end of the last: rows are ld apart, the last one may be shorter. */
	uint64_t elements, rows = 1;
	bool fits = true;
	for (unsigned i = 0; i + 1 < b->rank; i++)
		fits = fits && !__builtin_mul_overflow(rows, (uint64_t)b->dims[i], &rows);
	if (!fits || __builtin_mul_overflow(rows - 1, (uint64_t)b->ld, &elements) ||
	    __builtin_add_overflow(elements, (uint64_t)b->dims[b->rank - 1], &elements) || elements > BYTES_MAX)
		return err_set(e, ERR_INPUT, "the shape has more than 2^44 elements");
	if (b->bytes < 1 || b->bytes > BYTES_MAX)
		return err_set(e, ERR_INPUT, "%llu bytes, allowed are 1 to 2^44", (unsigned long long)b->bytes);
	if (elements * dtype_size(b->type) > b->bytes)
		return err_set(e, ERR_INPUT, "%llu bytes do not hold its shape of %llu elements of %s",
			       (unsigned long long)b->bytes, (unsigned long long)elements, dtype_name(b->type));
	bool filled = plan_is_input(b);
	bool ranged = b->fill == PLAN_RANDOM || b->fill == PLAN_SORTED;
	if (filled && ranged && !(isfinite(b->lo) && isfinite(b->hi) && b->lo <= b->hi))
		return err_set(e, ERR_INPUT, "%s(%g,%g) is not a range; write finite bounds, the lower one first",
			       b->fill == PLAN_SORTED ? "sorted" : "random", b->lo, b->hi);
	if (filled && b->closed && !(b->least <= b->most))
		return err_set(e, ERR_INPUT, "no value is at least %g and at most %g", b->least, b->most);
	if (filled && b->closed && ranged && !(b->lo >= b->least && b->lo <= b->most))
		return err_set(e, ERR_INPUT, "values from %g on are outside of the domain, %g to %g", b->lo, b->least, b->most);
	if ((b->role == PLAN_TABLE) != (b->table != NULL))
		return err_set(e, ERR_INPUT, "%s", b->table ? "only tables have content" : "the table has no content");
	return 0;
}

static int check_arg(const struct plan *plan, const struct plan_arg *a, struct err *e)
{
	size_t count = a->kind == PLAN_ARG_BUFFER ? plan->buffer_count : plan->map_count;
	switch (a->kind) {
	case PLAN_ARG_SCALAR:
		if (!known_type(a->type))
			return err_set(e, ERR_INPUT, "scalar type %u does not exist", a->type);
		return 0;
	case PLAN_ARG_BUFFER:
	case PLAN_ARG_MAP:
		if (a->index >= count)
			return err_set(e, ERR_INPUT, "%s %u does not exist: there are %zu",
				       a->kind == PLAN_ARG_BUFFER ? "buffer" : "tensor map", a->index, count);
		return 0;
	}
	return err_set(e, ERR_INPUT, "argument kind %u does not exist", a->kind);
}

/* Are `bytes` bytes from offset on in the buffer? */
static int check_range(const struct plan *plan, unsigned buffer, uint64_t offset, uint64_t bytes, struct err *e)
{
	if (buffer >= plan->buffer_count)
		return err_set(e, ERR_INPUT, "buffer %u does not exist: there are %zu", buffer, plan->buffer_count);
	const struct plan_buffer *b = &plan->buffers[buffer];
	if (bytes < 1 || offset > b->bytes || bytes > b->bytes - offset)
		return err_set(e, ERR_INPUT, "bytes %llu to %llu are outside of %s, which has %llu", (unsigned long long)offset,
			       (unsigned long long)(offset + bytes), b->name, (unsigned long long)b->bytes);
	return 0;
}

static int check_written(const struct plan_buffer *b, struct err *e)
{
	if (b->role == PLAN_IN || b->role == PLAN_TABLE)
		return err_set(e, ERR_INPUT, "%s is an input and must not be written; declare it inout, or copy it to scratch",
			       b->name);
	return 0;
}

bool plan_is_library(const struct plan *plan)
{
	for (size_t i = 0; i < plan->op_count; i++)
		if (plan->ops[i].kind != PLAN_OP_GEMM)
			return false;
	return plan->op_count > 0;
}

int plan_check_gemm(const struct plan *plan, const struct plan_gemm *g, struct err *e)
{
	const unsigned operands[] = { g->a, g->b, g->c };
	for (size_t i = 0; i < MEM_COUNT(operands); i++) {
		if (operands[i] >= plan->buffer_count)
			return err_set(e, ERR_INPUT, "gemm: buffer %u does not exist: there are %zu", operands[i],
				       plan->buffer_count);
		const struct plan_buffer *b = &plan->buffers[operands[i]];
		if (b->rank != 2 || !dtype_is_float(b->type) || dtype_size(b->type) < 2)
			return err_set(e, ERR_INPUT, "gemm: %s is not a matrix of f16, bf16, f32 or f64", b->name);
	}
	const struct plan_buffer *a = &plan->buffers[g->a], *b = &plan->buffers[g->b], *c = &plan->buffers[g->c];
	if (check_written(c, e) < 0)
		return err_wrap(e, "gemm");
	if (a->type != b->type || g->c == g->a || g->c == g->b)
		return err_set(e, ERR_INPUT, "gemm: %s and %s need the same type, and %s must be another buffer", a->name, b->name,
			       c->name);
	int64_t m = a->dims[g->a_transposed], k = a->dims[!g->a_transposed];
	int64_t k2 = b->dims[g->b_transposed], n = b->dims[!g->b_transposed];
	if (c->dims[0] != m || c->dims[1] != n || k != k2)
		return err_set(e, ERR_INPUT, "gemm: %lld×%lld times %lld×%lld does not give %s, which is %lld×%lld", (long long)m,
			       (long long)k, (long long)k2, (long long)n, c->name, (long long)c->dims[0], (long long)c->dims[1]);
	return 0;
}

static int check_op(const struct plan *plan, const struct plan_op *op, struct err *e)
{
	switch (op->kind) {
	case PLAN_OP_LAUNCH: {
		const struct plan_launch *l = &op->launch;
		uint64_t threads = 1;
		if (l->kernel == NULL || l->kernel[0] == '\0')
			return err_set(e, ERR_INPUT, "a launch without a kernel name");
		for (int i = 0; i < 3; i++) {
			if (l->grid[i] < 1 || l->block[i] < 1 || l->cluster[i] < 1)
				return err_set(e, ERR_INPUT, "launch of %s: grid, block or cluster %c is 0, must be at least 1",
					       l->kernel, 'x' + i);
			if (l->grid[i] % l->cluster[i])
				return err_set(e, ERR_INPUT, "launch of %s: grid %c = %u is not a multiple of the cluster's %u",
					       l->kernel, 'x' + i, l->grid[i], l->cluster[i]);
			threads = l->block[i] > UINT32_MAX / threads ? UINT32_MAX : threads * l->block[i];
		}
		if (threads >= UINT32_MAX)
			return err_set(e, ERR_INPUT, "launch of %s: more than 2^32 threads in a block", l->kernel);
		if (l->arg_count > COUNT_MAX)
			return err_set(e, ERR_INPUT, "launch of %s: %zu arguments, at most %d", l->kernel, l->arg_count, COUNT_MAX);
		for (size_t i = 0; i < l->arg_count; i++)
			if (check_arg(plan, &l->args[i], e) < 0)
				return err_wrap(e, "launch of %s, argument %zu", l->kernel, i + 1);
		return 0;
	}
	case PLAN_OP_MEMSET: {
		const struct plan_memset *m = &op->memset;
		if (check_range(plan, m->buffer, m->offset, m->bytes, e) < 0 || check_written(&plan->buffers[m->buffer], e) < 0)
			return err_wrap(e, "memset");
		return 0;
	}
	case PLAN_OP_COPY: {
		const struct plan_copy *c = &op->copy;
		if (check_range(plan, c->dst, c->dst_offset, c->bytes, e) < 0 ||
		    check_range(plan, c->src, c->src_offset, c->bytes, e) < 0 || check_written(&plan->buffers[c->dst], e) < 0)
			return err_wrap(e, "copy");
		if (c->dst == c->src && c->dst_offset < c->src_offset + c->bytes && c->src_offset < c->dst_offset + c->bytes)
			return err_set(e, ERR_INPUT, "copy: source and destination overlap in %s", plan->buffers[c->dst].name);
		return 0;
	}
	case PLAN_OP_GEMM: return plan_check_gemm(plan, &op->gemm, e);
	}
	return err_set(e, ERR_INPUT, "kind %u does not exist", op->kind);
}

/* Dimensions and strides: the same page; "globalStrides" must be multiples of 16 below 2^40. */
static int check_map(const struct plan *plan, const struct plan_map *m, struct err *e)
{
	if (m->buffer >= plan->buffer_count)
		return err_set(e, ERR_INPUT, "buffer %u does not exist: there are %zu", m->buffer, plan->buffer_count);
	if (!known_type(m->type) || m->rank < 1 || m->rank > PLAN_RANK_MAX)
		return err_set(e, ERR_INPUT, "rank %u (1 to %d) or type %u does not exist", m->rank, PLAN_RANK_MAX, m->type);
	uint64_t size = dtype_size(m->type), reach = size;
	for (unsigned i = 0; i < m->rank; i++) {
		uint64_t stride = i ? m->strides[i] : size, part;
		if (m->dims[i] < 1 || m->dims[i] > UINT64_C(1) << 32)
			return err_set(e, ERR_INPUT, "dimension %u is %llu, allowed are 1 to 2^32", i,
				       (unsigned long long)m->dims[i]);
		if (i && (stride % 16 || stride == 0 || stride >= UINT64_C(1) << 40))
			return err_set(e, ERR_INPUT, "stride %u is %llu bytes, must be a multiple of 16 below 2^40", i,
				       (unsigned long long)stride);
		if (__builtin_mul_overflow(m->dims[i] - 1, stride, &part) || __builtin_add_overflow(reach, part, &reach) ||
		    reach > plan->buffers[m->buffer].bytes)
			return err_set(e, ERR_INPUT, "dimension %u reaches beyond the %llu bytes of %s", i,
				       (unsigned long long)plan->buffers[m->buffer].bytes, plan->buffers[m->buffer].name);
	}
	if (m->fill_nan && (!dtype_is_float(m->type) || size < 2))
		return err_set(e, ERR_INPUT, "fill = nan needs a floating type of 16 bits or more, not %s", dtype_name(m->type));
	/* The rules for the innermost box row: CUDA driver API, cuTensorMapEncodeTiled, "boxDim" and "swizzle". */
	for (unsigned i = 0; i < m->rank; i++)
		if (m->box[i] < 1 || m->box[i] > 256)
			return err_set(e, ERR_INPUT, "box %u is %u, allowed are 1 to 256", i, m->box[i]);
	uint64_t row = m->box[0] * dtype_size(m->type);
	if (row % 16)
		return err_set(e, ERR_INPUT, "a box row of %llu bytes is not a multiple of 16", (unsigned long long)row);
	if (m->swizzle != 0 && m->swizzle != 32 && m->swizzle != 64 && m->swizzle != 128)
		return err_set(e, ERR_INPUT, "swizzle %u, allowed are 0, 32, 64 and 128 bytes", m->swizzle);
	if (m->swizzle && row > m->swizzle)
		return err_set(e, ERR_INPUT, "a box row of %llu bytes is longer than the swizzle of %u; narrow the box",
			       (unsigned long long)row, m->swizzle);
	return 0;
}

int plan_check(const struct plan *plan, struct err *e)
{
	struct err own = ERR_INIT;
	uint64_t total = 0;
	size_t launches = 0;
	if (e == NULL)
		e = &own;
	if (plan->buffer_count > COUNT_MAX || plan->map_count > COUNT_MAX || plan->op_count > COUNT_MAX)
		return err_set(e, ERR_INPUT, "plan: %zu buffers, %zu tensor maps, %zu operations; at most %d of each",
			       plan->buffer_count, plan->map_count, plan->op_count, COUNT_MAX);
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		if (b->name == NULL || b->name[0] == '\0')
			return err_set(e, ERR_INPUT, "plan: buffer %zu has no name", i);
		for (size_t k = 0; k < i; k++)
			if (strcmp(plan->buffers[k].name, b->name) == 0)
				return err_set(e, ERR_INPUT, "plan: two buffers are named %s", b->name);
		if (check_buffer(b, e) < 0)
			return err_wrap(e, "plan: buffer %s", b->name);
		total += b->bytes;
		if (total > BYTES_MAX)
			return err_set(e, ERR_INPUT, "plan: the buffers have more than 2^44 bytes in total");
	}
	for (size_t i = 0; i < plan->map_count; i++)
		if (check_map(plan, &plan->maps[i], e) < 0)
			return err_wrap(e, "plan, tensor map %zu", i + 1);
	for (size_t i = 0; i < plan->op_count; i++) {
		if (check_op(plan, &plan->ops[i], e) < 0)
			return err_wrap(e, "plan, operation %zu", i + 1);
		launches += plan->ops[i].kind == PLAN_OP_LAUNCH || plan->ops[i].kind == PLAN_OP_GEMM;
	}
	if (launches == 0)
		return err_set(e, ERR_INPUT, "plan: host code launched no kernel; call launch(kernel, grid, block, args)");
	return 0;
}

/* --- what a compiler sees ----------------------------------------------------------------------------------------- */

enum {
	BUFFER_BYTES = 16 /* one element of any type */,
	GRID_ALWAYS = 65535 /* blocks in each dimension that every device allows */
};

struct plan *plan_form(const struct plan *plan, bool with_grids)
{
	struct plan *form = plan_new();
	/* Names, types and roles bind arguments; extents and values only matter to execution. */
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		*MEM_PUSH(form->buffers, form->buffer_count) =
			(struct plan_buffer){ .name = mem_str(b->name),
					      .type = b->type,
					      .role = b->role,
					      .rank = 1,
					      .dims = { 1 },
					      .ld = 1,
					      .bytes = BUFFER_BYTES,
					      .table = b->role == PLAN_TABLE ? mem_new(BUFFER_BYTES, 1) : NULL };
	}
	for (size_t i = 0; i < plan->map_count; i++) {
		const struct plan_map *m = &plan->maps[i];
		*MEM_PUSH(form->maps, form->map_count) = (struct plan_map){ .buffer = m->buffer,
									    .type = m->type,
									    .rank = 1,
									    .dims = { 1 },
									    .box = { m->box[0] },
									    .swizzle = m->swizzle,
									    .fill_nan = m->fill_nan };
	}
	for (size_t i = 0; i < plan->op_count; i++) {
		struct plan_op op = plan->ops[i];
		struct plan_launch *l = &op.launch;
		bool matters =
			with_grids; /* a grid does where a check could refuse it: beyond a limit, or not divisible by a cluster */
		if (op.kind != PLAN_OP_LAUNCH)
			continue;
		for (int k = 0; k < 3; k++)
			matters |= l->grid[k] > GRID_ALWAYS || l->cluster[k] > 1;
		for (int k = 0; k < 3 && !matters; k++)
			l->grid[k] = 1;
		const struct plan_arg *args = l->args;
		l->kernel = mem_str(l->kernel);
		l->args = MEM_NEW_N(struct plan_arg, l->arg_count);
		for (size_t k = 0; k < l->arg_count; k++)
			l->args[k] = (struct plan_arg){ .name = args[k].name ? mem_str(args[k].name) : NULL,
							.kind = args[k].kind,
							.index = args[k].index,
							.type = args[k].type };
		*MEM_PUSH(form->ops, form->op_count) = op;
	}
	return form;
}

/* --- tables for the wire ------------------------------------------------------------------------------------------ */
/* One row a line. */
/* clang-format off */

static const struct wire_table arg_table = WIRE_TABLE("argument", plan_arg, NULL,
	WIRE_STRING(plan_arg, name),
	WIRE_RUN(plan_arg, kind, type),
	WIRE_ANY(plan_arg, i),
	WIRE_ANY(plan_arg, f));

const struct wire_table plan_op_tables[] = {
	[PLAN_OP_LAUNCH] = WIRE_TABLE("launch", plan_launch, NULL,
		WIRE_STRING(plan_launch, kernel),
		WIRE_RUN(plan_launch, grid[0], shared),
		WIRE_ANY(plan_launch, cooperative),
		WIRE_LIST(plan_launch, args, arg_count, &arg_table)),
	[PLAN_OP_MEMSET] = WIRE_TABLE("memset", plan_memset, NULL,
		WIRE_ANY(plan_memset, buffer),
		WIRE_ANY(plan_memset, offset),
		WIRE_ANY(plan_memset, bytes),
		WIRE_ANY(plan_memset, value)),
	[PLAN_OP_COPY] = WIRE_TABLE("copy", plan_copy, NULL,
		WIRE_ANY(plan_copy, dst),
		WIRE_ANY(plan_copy, src),
		WIRE_RUN(plan_copy, dst_offset, bytes)),
	[PLAN_OP_GEMM] = WIRE_TABLE("gemm", plan_gemm, NULL,
		WIRE_RUN(plan_gemm, a, c),
		WIRE_RUN(plan_gemm, a_transposed, tf32)),
};

static const struct wire_table buffer_table = WIRE_TABLE("buffer", plan_buffer, NULL,
	WIRE_STRING(plan_buffer, name),
	WIRE_RUN(plan_buffer, type, rank),
	WIRE_EACH(plan_buffer, dims, 0),
	WIRE_ANY(plan_buffer, ld),
	WIRE_ANY(plan_buffer, bytes),
	WIRE_ANY(plan_buffer, fill),
	WIRE_ANY(plan_buffer, lo),
	WIRE_ANY(plan_buffer, hi),
	WIRE_ANY(plan_buffer, closed),
	WIRE_ANY(plan_buffer, least),
	WIRE_ANY(plan_buffer, most),
	WIRE_UP_TO(plan_buffer, rounded, DTYPE_COUNT - 1),
	WIRE_ROW(plan_buffer, table, WIRE_IS_BYTES, .same = true, .length = offsetof(struct plan_buffer, bytes)));

static const struct wire_table map_table = WIRE_TABLE("tensor map", plan_map, NULL,
	WIRE_RUN(plan_map, buffer, rank),
	WIRE_EACH(plan_map, dims, 0),
	WIRE_EACH(plan_map, strides, 0),
	WIRE_EACH(plan_map, box, 0),
	WIRE_ANY(plan_map, swizzle),
	WIRE_ANY(plan_map, fill_nan));

static const struct wire_table op_table = WIRE_TABLE("operation", plan_op, NULL,
	WIRE_UP_TO(plan_op, kind, PLAN_OP_GEMM),
	{ .name = "operation", .kind = WIRE_IS_CHOICE, .offset = offsetof(struct plan_op, launch),
	  .count = MEM_COUNT(plan_op_tables),
	.length = offsetof(struct plan_op, kind), .of = plan_op_tables });

static int check_decoded(const void *plan, struct err *e)
{
	return plan_check(plan, e);
}

const struct wire_table plan_table = WIRE_TABLE("plan", plan, check_decoded,
	WIRE_LIST(plan, buffers, buffer_count, &buffer_table),
	WIRE_LIST(plan, maps, map_count, &map_table),
	WIRE_LIST(plan, ops, op_count, &op_table));

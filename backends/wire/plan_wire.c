/* plan_wire: a plan to bytes and back; declared in plan.h. The reader allocates only what the bytes that are there
 * can hold, and hands out no plan that plan_check refuses. */
#include <stdlib.h>
#include <string.h>

#include "backends/wire/plan.h"
#include "backends/wire/wire.h"
#include "base/mem.h"

static void put_three(struct buf *out, const uint32_t v[3])
{
	for (int i = 0; i < 3; i++)
		wire_put_u32(out, v[i]);
}

static void get_three(struct wire_in *in, uint32_t v[3])
{
	for (int i = 0; i < 3; i++)
		v[i] = wire_get_u32(in);
}

static void buffer_encode(const struct plan_buffer *b, struct buf *out)
{
	wire_put_text(out, b->name);
	wire_put_u32(out, b->type);
	wire_put_u32(out, b->role);
	wire_put_u32(out, b->rank);
	for (unsigned i = 0; i < PLAN_RANK_MAX; i++)
		wire_put_u64(out, i < b->rank ? (uint64_t)b->dims[i] : 0);
	wire_put_u64(out, (uint64_t)b->ld);
	wire_put_u64(out, b->bytes);
	wire_put_u32(out, b->fill);
	wire_put_f64(out, b->lo);
	wire_put_f64(out, b->hi);
	wire_put_bytes(out, b->table, b->table ? b->bytes : 0);
}

static void buffer_decode(struct wire_in *in, struct plan_buffer *b)
{
	b->name = wire_get_text(in);
	b->type = (enum dtype)wire_get_u32(in);
	b->role = (enum plan_role)wire_get_u32(in);
	b->rank = wire_get_u32(in);
	for (unsigned i = 0; i < PLAN_RANK_MAX; i++)
		b->dims[i] = (int64_t)wire_get_u64(in);
	b->ld = (int64_t)wire_get_u64(in);
	b->bytes = wire_get_u64(in);
	b->fill = (enum plan_fill)wire_get_u32(in);
	b->lo = wire_get_f64(in);
	b->hi = wire_get_f64(in);
	size_t n;
	const void *table = wire_get_bytes(in, &n);
	if (n)
		b->table = mem_copy(table, n);
	/* A table of another length than the buffer's would be read beyond its end. */
	if (n && n != b->bytes)
		in->bad = true;
}

static void map_encode(const struct plan_map *m, struct buf *out)
{
	wire_put_u32(out, m->buffer);
	wire_put_u32(out, m->type);
	wire_put_u32(out, m->rank);
	for (unsigned i = 0; i < PLAN_RANK_MAX; i++) {
		wire_put_u64(out, m->dims[i]);
		wire_put_u64(out, m->strides[i]);
		wire_put_u32(out, m->box[i]);
	}
	wire_put_u32(out, m->swizzle);
	wire_put_u32(out, m->fill_nan);
}

static void map_decode(struct wire_in *in, struct plan_map *m)
{
	m->buffer = wire_get_u32(in);
	m->type = (enum dtype)wire_get_u32(in);
	m->rank = wire_get_u32(in);
	for (unsigned i = 0; i < PLAN_RANK_MAX; i++) {
		m->dims[i] = wire_get_u64(in);
		m->strides[i] = wire_get_u64(in);
		m->box[i] = wire_get_u32(in);
	}
	m->swizzle = wire_get_u32(in);
	m->fill_nan = wire_get_u32(in) != 0;
}

static void launch_encode(const struct plan_launch *l, struct buf *out)
{
	wire_put_text(out, l->kernel);
	put_three(out, l->grid);
	put_three(out, l->block);
	put_three(out, l->cluster);
	wire_put_u32(out, l->shared);
	wire_put_u32(out, l->cooperative);
	wire_put_u64(out, l->arg_count);
	for (size_t i = 0; i < l->arg_count; i++) {
		const struct plan_arg *a = &l->args[i];
		wire_put_text(out, a->name ? a->name : "");
		wire_put_u32(out, a->kind);
		wire_put_u32(out, a->index);
		wire_put_u32(out, a->type);
		wire_put_u64(out, (uint64_t)a->i);
		wire_put_f64(out, a->f);
	}
}

enum { ARG_MIN = 8 + 3 * 4 + 2 * 8 };

static void launch_decode(struct wire_in *in, struct plan_launch *l)
{
	l->kernel = wire_get_text(in);
	get_three(in, l->grid);
	get_three(in, l->block);
	get_three(in, l->cluster);
	l->shared = wire_get_u32(in);
	l->cooperative = wire_get_u32(in) != 0;
	l->arg_count = wire_get_count(in, ARG_MIN);
	l->args = MEM_NEW_N(struct plan_arg, l->arg_count);
	for (size_t i = 0; i < l->arg_count; i++) {
		struct plan_arg *a = &l->args[i];
		a->name = wire_get_text(in);
		a->kind = (enum plan_arg_kind)wire_get_u32(in);
		a->index = wire_get_u32(in);
		a->type = (enum dtype)wire_get_u32(in);
		a->i = (int64_t)wire_get_u64(in);
		a->f = wire_get_f64(in);
	}
}

static void op_encode(const struct plan_op *op, struct buf *out)
{
	wire_put_u32(out, op->kind);
	switch (op->kind) {
	case PLAN_OP_LAUNCH:
		launch_encode(&op->launch, out);
		return;
	case PLAN_OP_MEMSET:
		wire_put_u32(out, op->memset.buffer);
		wire_put_u64(out, op->memset.offset);
		wire_put_u64(out, op->memset.bytes);
		wire_put_u32(out, op->memset.value);
		return;
	case PLAN_OP_COPY:
		wire_put_u32(out, op->copy.dst);
		wire_put_u32(out, op->copy.src);
		wire_put_u64(out, op->copy.dst_offset);
		wire_put_u64(out, op->copy.src_offset);
		wire_put_u64(out, op->copy.bytes);
		return;
	case PLAN_OP_GEMM:
		wire_put_u32(out, op->gemm.a);
		wire_put_u32(out, op->gemm.b);
		wire_put_u32(out, op->gemm.c);
		wire_put_u32(out, op->gemm.a_transposed);
		wire_put_u32(out, op->gemm.b_transposed);
		wire_put_u32(out, op->gemm.tf32);
		return;
	}
}

static void op_decode(struct wire_in *in, struct plan_op *op)
{
	op->kind = (enum plan_op_kind)wire_get_u32(in);
	switch (op->kind) {
	case PLAN_OP_LAUNCH:
		launch_decode(in, &op->launch);
		return;
	case PLAN_OP_MEMSET:
		op->memset.buffer = wire_get_u32(in);
		op->memset.offset = wire_get_u64(in);
		op->memset.bytes = wire_get_u64(in);
		op->memset.value = (uint8_t)wire_get_u32(in);
		return;
	case PLAN_OP_COPY:
		op->copy.dst = wire_get_u32(in);
		op->copy.src = wire_get_u32(in);
		op->copy.dst_offset = wire_get_u64(in);
		op->copy.src_offset = wire_get_u64(in);
		op->copy.bytes = wire_get_u64(in);
		return;
	case PLAN_OP_GEMM:
		op->gemm.a = wire_get_u32(in);
		op->gemm.b = wire_get_u32(in);
		op->gemm.c = wire_get_u32(in);
		op->gemm.a_transposed = wire_get_u32(in) != 0;
		op->gemm.b_transposed = wire_get_u32(in) != 0;
		op->gemm.tf32 = wire_get_u32(in) != 0;
		return;
	}
	in->bad = true;
}

void plan_encode(const struct plan *plan, struct buf *out)
{
	wire_put_u64(out, plan->buffer_count);
	for (size_t i = 0; i < plan->buffer_count; i++)
		buffer_encode(&plan->buffers[i], out);
	wire_put_u64(out, plan->map_count);
	for (size_t i = 0; i < plan->map_count; i++)
		map_encode(&plan->maps[i], out);
	wire_put_u64(out, plan->op_count);
	for (size_t i = 0; i < plan->op_count; i++)
		op_encode(&plan->ops[i], out);
}

enum {
	BUFFER_MIN = 8 + 3 * 4 + PLAN_RANK_MAX * 8 + 2 * 8 + 4 + 2 * 8 + 8,
	MAP_MIN = 3 * 4 + PLAN_RANK_MAX * 20 + 2 * 4,
	OP_MIN = 4 + 6 * 4,
};

int plan_decode(struct wire_in *in, struct plan **ret_plan, struct err *e)
{
	struct plan *plan = plan_new();
	plan->buffer_count = wire_get_count(in, BUFFER_MIN);
	plan->buffers = MEM_NEW_N(struct plan_buffer, plan->buffer_count);
	for (size_t i = 0; i < plan->buffer_count; i++)
		buffer_decode(in, &plan->buffers[i]);
	plan->map_count = wire_get_count(in, MAP_MIN);
	plan->maps = MEM_NEW_N(struct plan_map, plan->map_count);
	for (size_t i = 0; i < plan->map_count; i++)
		map_decode(in, &plan->maps[i]);
	plan->op_count = wire_get_count(in, OP_MIN);
	plan->ops = MEM_NEW_N(struct plan_op, plan->op_count);
	for (size_t i = 0; i < plan->op_count; i++)
		op_decode(in, &plan->ops[i]);
	int r = in->bad ? err_set(e, ERR_NETWORK, "the plan on the wire is cut short or holds a value that cannot be; "
	                          "daemon and worker must be the same build of peakd") : plan_check(plan, e);
	if (r < 0)
		plan_free(plan);
	else
		*ret_plan = plan;
	return r;
}

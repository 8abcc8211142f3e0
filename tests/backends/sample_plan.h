/* sample_plan: plans for the tests of backends/: a matmul C = A·B, and one that uses everything that a plan can
 * hold. */
#ifndef PEAKD_TESTS_BACKENDS_SAMPLE_PLAN_H
#define PEAKD_TESTS_BACKENDS_SAMPLE_PLAN_H

#include <string.h>

#include "backends/wire/plan.h"
#include "base/mem.h"

__attribute__((unused))
static struct plan_buffer *sample_matrix(struct plan *p, const char *name, enum plan_role role, int64_t rows,
                                         int64_t cols)
{
	struct plan_buffer *b = MEM_PUSH(p->buffers, p->buffer_count);
	*b = (struct plan_buffer){
		.name = mem_str(name), .type = DTYPE_F32, .role = role, .rank = 2, .dims = { rows, cols }, .ld = cols,
		.bytes = (uint64_t)(rows * cols) * 4, .fill = PLAN_RANDOM, .lo = -1, .hi = 1,
	};
	return b;
}

__attribute__((unused))
static struct plan_launch *sample_launch(struct plan *p, const char *kernel, uint32_t gx, uint32_t gy, uint32_t bx,
                                         uint32_t by)
{
	struct plan_op *op = MEM_PUSH(p->ops, p->op_count);
	*op = (struct plan_op){ .kind = PLAN_OP_LAUNCH, .launch = {
		.kernel = mem_str(kernel), .grid = { gx, gy, 1 }, .block = { bx, by, 1 }, .cluster = { 1, 1, 1 },
	} };
	return &op->launch;
}

__attribute__((unused))
static void sample_arg_buffer(struct plan_launch *l, const char *name, unsigned index)
{
	*MEM_PUSH(l->args, l->arg_count) = (struct plan_arg){ .name = mem_str(name), .kind = PLAN_ARG_BUFFER,
	                                                      .index = index };
}

__attribute__((unused))
static void sample_arg_int(struct plan_launch *l, const char *name, int64_t i)
{
	*MEM_PUSH(l->args, l->arg_count) =
		(struct plan_arg){ .name = mem_str(name), .kind = PLAN_ARG_SCALAR, .type = DTYPE_I32, .i = i };
}

/* C = A·B for n×n, blocks of bx×by, arguments A, B, C, n. */
__attribute__((unused))
static struct plan *sample_matmul(int64_t n, uint32_t bx, uint32_t by)
{
	struct plan *p = plan_new();
	sample_matrix(p, "A", PLAN_IN, n, n);
	sample_matrix(p, "B", PLAN_IN, n, n);
	sample_matrix(p, "C", PLAN_OUT, n, n);
	struct plan_launch *l = sample_launch(p, "matmul", (uint32_t)(n + bx - 1) / bx, (uint32_t)(n + by - 1) / by, bx,
	                                      by);
	sample_arg_buffer(l, "A", 0);
	sample_arg_buffer(l, "B", 1);
	sample_arg_buffer(l, "C", 2);
	sample_arg_int(l, "n", n);
	return p;
}

/* The same with scratch, a table, a tensor map, memset, copy and a floating scalar. */
__attribute__((unused))
static struct plan *sample_everything(void)
{
	static const uint32_t order[4] = { 3, 1, 0, 2 };
	struct plan *p = sample_matmul(64, 16, 8);
	sample_matrix(p, "scratch0", PLAN_SCRATCH, 64, 64);
	struct plan_buffer *t = sample_matrix(p, "order", PLAN_TABLE, 1, 4);
	t->type = DTYPE_U32;
	t->table = mem_copy(order, sizeof order);
	struct plan_map *m = MEM_PUSH(p->maps, p->map_count);
	*m = (struct plan_map){ .buffer = 0, .type = DTYPE_F32, .rank = 2, .dims = { 64, 64 }, .strides = { 0, 256 },
	                        .box = { 32, 8 }, .swizzle = 128, .fill_nan = true };
	*MEM_PUSH(p->ops, p->op_count) = (struct plan_op){ .kind = PLAN_OP_MEMSET,
		.memset = { .buffer = 3, .offset = 16, .bytes = 1024, .value = 7 } };
	*MEM_PUSH(p->ops, p->op_count) = (struct plan_op){ .kind = PLAN_OP_COPY,
		.copy = { .dst = 3, .src = 0, .dst_offset = 0, .src_offset = 256, .bytes = 512 } };
	struct plan_launch *l = &p->ops[0].launch;
	*MEM_PUSH(l->args, l->arg_count) = (struct plan_arg){ .name = mem_str("map"), .kind = PLAN_ARG_MAP, .index = 0 };
	*MEM_PUSH(l->args, l->arg_count) =
		(struct plan_arg){ .name = mem_str("alpha"), .kind = PLAN_ARG_SCALAR, .type = DTYPE_F32, .f = 0.5 };
	return p;
}

#endif

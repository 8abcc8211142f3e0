/* plans: small plans and compile requests for the tests of the CUDA and HIP backends. Whoever includes it defines PLANS_BACKEND
 * (backend_cuda or backend_hip) first. */
#ifndef PEAKD_TESTS_BACKENDS_PLANS_H
#define PEAKD_TESTS_BACKENDS_PLANS_H

#include <stdarg.h>
#include <string.h>

#include "backends/worker/backend.h"
#include "base/mem.h"

static const char naive_matmul[] =
	"extern \"C\" __global__ void matmul(const float *A, const float *B, float *C, int n) {\n"
	"	int row = blockIdx.y * BY + threadIdx.y, col = blockIdx.x * BX + threadIdx.x;\n"
	"	if (row >= n || col >= n) return;\n"
	"	float sum = 0;\n"
	"	for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];\n"
	"	C[row * n + col] = sum;\n"
	"}\n";

/* A buffer of f32[rows, cols]; returns its index. */
__attribute__((unused))
static unsigned add_buffer(struct plan *p, const char *name, enum plan_role role, int64_t rows, int64_t cols)
{
	*MEM_PUSH(p->buffers, p->buffer_count) = (struct plan_buffer){
		.name = mem_str(name), .type = DTYPE_F32, .role = role, .rank = 2, .dims = { rows, cols }, .ld = cols,
		.bytes = (uint64_t)rows * (uint64_t)cols * 4, .fill = PLAN_RANDOM, .hi = 1,
	};
	return (unsigned)p->buffer_count - 1;
}

__attribute__((unused))
static struct plan_launch *add_launch(struct plan *p, const char *kernel, uint32_t gx, uint32_t gy, uint32_t bx, uint32_t by)
{
	struct plan_op *op = MEM_PUSH(p->ops, p->op_count);
	*op = (struct plan_op){ .kind = PLAN_OP_LAUNCH, .launch = {
		.kernel = mem_str(kernel), .grid = { gx, gy, 1 }, .block = { bx, by, 1 }, .cluster = { 1, 1, 1 } } };
	return &op->launch;
}

__attribute__((unused))
static void add_buffer_arg(struct plan_launch *l, const char *name, unsigned buffer)
{
	*MEM_PUSH(l->args, l->arg_count) = (struct plan_arg){ .name = mem_str(name), .kind = PLAN_ARG_BUFFER, .index = buffer };
}

__attribute__((unused))
static void add_map_arg(struct plan_launch *l, unsigned map)
{
	*MEM_PUSH(l->args, l->arg_count) = (struct plan_arg){ .name = mem_str(""), .kind = PLAN_ARG_MAP, .index = map };
}

__attribute__((unused))
static void add_int_arg(struct plan_launch *l, const char *name, enum dtype type, int64_t i)
{
	*MEM_PUSH(l->args, l->arg_count) =
		(struct plan_arg){ .name = mem_str(name), .kind = PLAN_ARG_SCALAR, .type = type, .i = i };
}

/* C = A·B, n×n, in blocks of bx×by. */
__attribute__((unused))
static struct plan *matmul_plan(uint32_t n, uint32_t bx, uint32_t by)
{
	struct plan *p = plan_new();
	struct plan_launch *l;
	add_buffer(p, "A", PLAN_IN, n, n);
	add_buffer(p, "B", PLAN_IN, n, n);
	add_buffer(p, "C", PLAN_OUT, n, n);
	l = add_launch(p, "matmul", (n + bx - 1) / bx, (n + by - 1) / by, bx, by);
	add_buffer_arg(l, "A", 0);
	add_buffer_arg(l, "B", 1);
	add_buffer_arg(l, "C", 2);
	add_int_arg(l, "n", DTYPE_I32, n);
	return p;
}

/* One buffer "C" of 1024 floats and a launch of `kernel` with {C}. */
__attribute__((unused))
static struct plan *small_plan(const char *kernel, uint32_t blocks, uint32_t threads)
{
	struct plan *p = plan_new();
	add_buffer(p, "C", PLAN_OUT, 1, 1024);
	add_buffer_arg(add_launch(p, kernel, blocks, 1, threads, 1), "C", 0);
	return p;
}

/* Compiles for `arch` with BX = 16, BY = 16; the plan stays the caller's. */
__attribute__((unused)) static int compile(const char *arch, const char *macros, const char *device, struct plan *plan,
					   struct wire_compiled *ret, struct err *e)
{
	struct wire_define defines[] = { { (char *)"BX", (char *)"16" }, { (char *)"BY", (char *)"16" } };
	struct wire_compile request = {
		.backend = (char *)PLANS_BACKEND.name, .arch = (char *)arch, .macros = (char *)macros, .device = (char *)device,
		.defines = defines, .define_count = MEM_COUNT(defines), .plan = plan,
	};
	*e = (struct err)ERR_INIT;
	*ret = (struct wire_compiled){ .binary = NULL };
	return PLANS_BACKEND.compile(&request, ret, e);
}

#endif

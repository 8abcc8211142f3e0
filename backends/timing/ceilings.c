/* ceilings: see ceilings.h. */
#include "backends/timing/ceilings.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void add_buffer(struct plan *p, const char *name, enum plan_role role, int64_t elements)
{
	*MEM_PUSH(p->buffers, p->buffer_count) = (struct plan_buffer){
		.name = mem_str(name), .type = DTYPE_F32, .role = role, .rank = 1, .dims = { elements }, .ld = elements,
		.bytes = (uint64_t)elements * 4, .fill = PLAN_RANDOM, .lo = -1, .hi = 1,
	};
}

static struct plan *make_plan(const struct ceilings_kernel *k, uint32_t grid)
{
	struct plan *p = plan_new();
	struct plan_op op = { .kind = PLAN_OP_LAUNCH };
	/* Reads a little, so that nothing is known at compile time, and writes a result, so that the work is not optimised away. */
	int64_t elements = strcmp(k->unit, "byte") == 0 ? k->steps : (int64_t)grid * k->threads;
	size_t count = 0;
	add_buffer(p, "in", PLAN_IN, elements);
	add_buffer(p, "out", PLAN_OUT, elements);
	op.launch = (struct plan_launch){ .kernel = mem_str("ceiling"), .grid = { grid, 1, 1 }, .block = { k->threads, 1, 1 },
	                                  .cluster = { 1, 1, 1 } };
	*MEM_PUSH(op.launch.args, count) = (struct plan_arg){ .name = mem_str(""), .kind = PLAN_ARG_BUFFER, .index = 0 };
	*MEM_PUSH(op.launch.args, count) = (struct plan_arg){ .name = mem_str(""), .kind = PLAN_ARG_BUFFER, .index = 1 };
	*MEM_PUSH(op.launch.args, count) = (struct plan_arg){ .name = mem_str(""), .kind = PLAN_ARG_SCALAR, .type = DTYPE_I32,
	                                                      .i = k->steps };
	op.launch.arg_count = count;
	*MEM_PUSH(p->ops, p->op_count) = op;
	return p;
}

static bool is_listed(const struct wire_ceilings *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->at[i].name, name) == 0)
			return true;
	return false;
}

void ceilings_list(const struct ceilings_kernel *table, const char *arch, uint32_t units, struct wire_ceilings *ret_list)
{
	struct wire_ceilings list = { 0 };
	for (const struct ceilings_kernel *k = table; k && k->name; k++) {
		uint32_t grid = k->blocks * (units ? units : 1);
		if (strncmp(arch, k->needs, strlen(k->needs)) != 0 || is_listed(&list, k->name))
			continue;
		*MEM_PUSH(list.at, list.count) = (struct wire_ceiling){
			.name = mem_str(k->name), .unit = mem_str(k->unit), .device = mem_str(k->device), .plan = make_plan(k, grid),
			.work = strcmp(k->unit, "byte") == 0 ? 8.0 * k->steps : k->work * k->steps * grid,
		};
	}
	*ret_list = list;
}

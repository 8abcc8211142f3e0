/* ceilings: see ceilings.h. */
#include "backends/timing/ceilings.h"

#include <string.h>

#include "base/embedded.h"
#include "base/mem.h"

/* An input that nobody can know at compile time, and an output, so that the work is not optimised away. HLSL binds them by
 * their names. */
static struct plan *make_plan(const struct ceilings_kernel *k, uint32_t grid)
{
	int64_t elements = strcmp(k->unit, "byte") == 0 ? k->steps : (int64_t)grid * k->threads;
	struct plan_buffer b = { .type = DTYPE_F32, .rank = 1, .dims = { elements }, .ld = elements, .lo = -1, .hi = 1 };
	struct plan_arg arg = { .kind = PLAN_ARG_BUFFER };
	struct plan_launch l = { .grid = { grid, 1, 1 }, .block = { k->threads, 1, 1 }, .cluster = { 1, 1, 1 } };
	struct plan *p = plan_new();
	l.kernel = mem_str("ceiling");
	b.bytes = (uint64_t)elements * 4;
	b.fill = PLAN_RANDOM;
	for (unsigned i = 0; i < 2; i++) {
		b.name = mem_str(i ? "to" : "from");
		b.role = i ? PLAN_OUT : PLAN_IN;
		arg.name = mem_str("");
		arg.index = i;
		*MEM_PUSH(p->buffers, p->buffer_count) = b;
		*MEM_PUSH(l.args, l.arg_count) = arg;
	}
	arg = (struct plan_arg){ .kind = PLAN_ARG_SCALAR, .type = DTYPE_I32, .i = k->steps };
	arg.name = mem_str("n");
	*MEM_PUSH(l.args, l.arg_count) = arg;
	*MEM_PUSH(p->ops, p->op_count) = (struct plan_op){ .kind = PLAN_OP_LAUNCH, .launch = l };
	return p;
}

void ceilings_list(const struct ceilings_kernel *table, const struct wire_target *target, struct wire_ceilings *ret_list)
{
	struct wire_ceilings list = { 0 };
	for (const struct ceilings_kernel *k = table; k && k->name; k++) {
		uint32_t grid = k->blocks * (target->units ? target->units : 1);
		bool fits = strncmp(target->arch, k->needs, strlen(k->needs)) == 0 && k->on_cpu == target->shares_cpu;
		for (size_t i = 0; i < list.count; i++)
			fits = fits && strcmp(list.at[i].name, k->name) != 0;
		if (!fits)
			continue;
		*MEM_PUSH(list.at, list.count) =
			(struct wire_ceiling){ .name = mem_str(k->name),
					       .unit = mem_str(k->unit),
					       .device = mem_fmt("%s%s", k->defines, embedded_file(k->file)),
					       .plan = make_plan(k, grid),
					       .work = strcmp(k->unit, "launch") == 0 ? 1
						       : strcmp(k->unit, "byte") == 0 ? 8.0 * k->steps
										      : k->work * k->steps * grid };
	}
	*ret_list = list;
}

/* plan_form: what a compiler sees of a plan; declared in plan.h. core/workers/variant.c sends it in place of the plan, so that one answer
 * serves every input size at which the launches look alike. */
#include <stdlib.h>
#include <string.h>

#include "backends/wire/plan.h"
#include "base/mem.h"

enum { BUFFER_BYTES = 16 /* one element of any type */, GRID_ALWAYS = 65535 /* blocks in each dimension that every device allows */ };

/* Names, types and roles bind arguments; extents and values are for execution. */
static struct plan_buffer buffer_form(const struct plan_buffer *b)
{
	struct plan_buffer form = { .name = mem_str(b->name), .type = b->type, .role = b->role, .rank = 1, .dims = { 1 }, .ld = 1,
	                            .bytes = BUFFER_BYTES };
	if (b->role == PLAN_TABLE)
		form.table = mem_new(BUFFER_BYTES, 1);
	return form;
}

static struct plan_map map_form(const struct plan_map *m)
{
	return (struct plan_map){ .buffer = m->buffer, .type = m->type, .rank = 1, .dims = { 1 }, .box = { m->box[0] },
	                          .swizzle = m->swizzle, .fill_nan = m->fill_nan };
}

/* A grid counts where a check could refuse it: beyond a limit, or not divided by a cluster. */
static bool grid_counts(const struct plan_launch *l)
{
	for (int i = 0; i < 3; i++)
		if (l->grid[i] > GRID_ALWAYS || l->cluster[i] > 1)
			return true;
	return false;
}

static struct plan_launch launch_form(const struct plan_launch *l, bool with_grids)
{
	struct plan_launch form = *l;
	form.kernel = mem_str(l->kernel);
	if (!with_grids && !grid_counts(l))
		form.grid[0] = form.grid[1] = form.grid[2] = 1;
	form.args = MEM_NEW_N(struct plan_arg, l->arg_count);
	for (size_t i = 0; i < l->arg_count; i++)
		form.args[i] = (struct plan_arg){ .name = l->args[i].name ? mem_str(l->args[i].name) : NULL, .kind = l->args[i].kind,
		                                  .index = l->args[i].index, .type = l->args[i].type };
	return form;
}

struct plan *plan_form(const struct plan *plan, bool with_grids)
{
	struct plan *form = plan_new();
	for (size_t i = 0; i < plan->buffer_count; i++)
		*MEM_PUSH(form->buffers, form->buffer_count) = buffer_form(&plan->buffers[i]);
	for (size_t i = 0; i < plan->map_count; i++)
		*MEM_PUSH(form->maps, form->map_count) = map_form(&plan->maps[i]);
	for (size_t i = 0; i < plan->op_count; i++)
		if (plan->ops[i].kind == PLAN_OP_LAUNCH)
			*MEM_PUSH(form->ops, form->op_count) = (struct plan_op){ .kind = PLAN_OP_LAUNCH,
			                                                         .launch = launch_form(&plan->ops[i].launch, with_grids) };
	return form;
}

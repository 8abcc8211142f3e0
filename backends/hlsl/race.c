/* race: see race.h. Threads of a group run one after the other from barrier to barrier: any order shows the same conflicts, since
 * what counts is who touched what between which barriers. */
#include "backends/hlsl/race.h"

#include <stdlib.h>
#include <string.h>

#include "backends/values/fill.h"
#include "backends/hlsl/bind.h"
#include "backends/hlsl/module.h"
#include "backends/hlsl/race_lane.h"
#include "backends/hlsl/spirv.h"
#include "base/mem.h"

enum {
	STORAGE_PUSH = 9, PUSH_MAX = 256, POISON = 0xFF, LANES_MAX = 4096,
	BUILTIN_GROUPS = 24, BUILTIN_GROUP = 26, BUILTIN_LOCAL = 27, BUILTIN_GLOBAL = 28, BUILTIN_INDEX = 29,
};
#define BUDGET UINT64_C(4000000)        /* instructions of a launch */
#define MEMORY_MAX ((uint64_t)1 << 29)  /* bytes of all lanes, and of all buffers */

/* One launch while it is interpreted. */
struct launch {
	const struct plan *plan;
	const struct plan_launch *l;
	struct race_module m;
	struct spirv s;
	struct race_group group;
	struct race_lane *lanes;
	uint64_t *first;         /* what every lane's slots begin with */
	uint32_t lane_count;
	uint8_t push[PUSH_MAX];
};

/* --- memory ------------------------------------------------------------------------------------------------------------- */

static int buffers_new(const struct plan *plan, uint64_t seed, uint8_t ***ret_buffers, struct err *e)
{
	uint64_t all = 0;
	for (size_t i = 0; i < plan->buffer_count; i++)
		all += plan->buffers[i].bytes;
	if (all > MEMORY_MAX)
		return err_set(e, ERR_UNSUPPORTED, "the race check runs on the host, and %llu bytes of buffers are too many for it",
		               (unsigned long long)all);
	uint8_t **buffers = MEM_NEW_N(uint8_t *, plan->buffer_count + 1);
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		buffers[i] = mem_new(b->bytes + 1, 1);
		if (b->role == PLAN_IN || b->role == PLAN_INOUT)
			fill_buffer(b, seed, buffers[i]);
		else if (b->role == PLAN_TABLE)
			memcpy(buffers[i], b->table, b->bytes);
		else
			memset(buffers[i], POISON, b->bytes);
	}
	*ret_buffers = buffers;
	return 0;
}

static void buffers_free(const struct plan *plan, uint8_t **buffers)
{
	for (size_t i = 0; buffers && i < plan->buffer_count; i++)
		free(buffers[i]);
	free(buffers);
}

static void write_scalar(struct launch *x, const struct spirv_member *m)
{
	const struct plan_arg *a = hlsl_bind_find(x->plan, x->l, m->name);
	if (a == NULL || a->kind != PLAN_ARG_SCALAR || m->bits < 32 || m->offset + m->bits / 8 > PUSH_MAX)
		return;
	double d = dtype_is_float(a->type) ? a->f : (double)a->i;
	int64_t i = dtype_is_float(a->type) ? (int64_t)a->f : a->i;
	float f = (float)d;
	memcpy(x->push + m->offset, m->floating ? m->bits == 64 ? (void *)&d : (void *)&f : (void *)&i, m->bits / 8);
}

static void bind(struct launch *x, uint8_t *const *buffers)
{
	for (size_t i = 0; i < x->s.member_count; i++)
		write_scalar(x, &x->s.members[i]);
	for (uint32_t id = 0; id < x->m.bound; id++) {
		const struct race_id *v = &x->m.ids[id];
		if (!v->variable || v->place != RACE_UNSET)
			continue;
		if (x->m.ids[v->type].type_def->storage == STORAGE_PUSH)
			x->group.memory[id] = (struct race_memory){ x->push, PUSH_MAX };
		for (size_t i = 0; i < x->s.binding_count; i++) {
			const struct plan_arg *a = x->s.bindings[i].binding == v->binding ? hlsl_bind_find(x->plan, x->l, x->s.bindings[i].name) : NULL;
			if (a && a->kind == PLAN_ARG_BUFFER)
				x->group.memory[id] = (struct race_memory){ buffers[a->index], x->plan->buffers[a->index].bytes };
		}
	}
}

/* Pointers of all variables, and initial values. */
static void make_first(struct launch *x)
{
	x->first = MEM_NEW_N(uint64_t, x->m.lane_slots + 1);
	for (uint32_t id = 0; id < x->m.bound; id++) {
		const struct race_id *v = &x->m.ids[id];
		if (!v->variable)
			continue;
		x->first[v->slot] = id;
		if (v->init && v->init < x->m.bound && x->m.ids[v->init].constant && v->place != RACE_UNSET &&
		    x->m.ids[v->type].type_def->storage != 4)
			memcpy(x->first + v->place, x->m.constants + x->m.ids[v->init].slot,
			       hlsl_race_module_type(&x->m, v->init)->slots * sizeof *x->first);
	}
}

/* --- a group ------------------------------------------------------------------------------------------------------------ */

static void set_builtins(const struct launch *x, uint64_t *slots, const uint32_t group[3], uint32_t index)
{
	const uint32_t *block = x->s.block;
	uint32_t local[3] = { index % block[0], index / block[0] % block[1], index / block[0] / block[1] };
	for (uint32_t id = 0; id < x->m.bound; id++) {
		const struct race_id *v = &x->m.ids[id];
		if (!v->variable || v->place == RACE_UNSET || v->builtin == RACE_UNSET)
			continue;
		uint32_t n = x->m.ids[x->m.ids[v->type].type_def->element].type_def->slots;
		for (uint32_t k = 0; k < n && k < 3; k++)
			switch (v->builtin) {
			case BUILTIN_GROUPS: slots[v->place + k] = x->l->grid[k]; break;
			case BUILTIN_GROUP: slots[v->place + k] = group[k]; break;
			case BUILTIN_LOCAL: slots[v->place + k] = local[k]; break;
			case BUILTIN_GLOBAL: slots[v->place + k] = group[k] * block[k] + local[k]; break;
			case BUILTIN_INDEX: slots[v->place] = index; break;
			default: break;
			}
	}
}

static void begin_group(struct launch *x, const uint32_t group[3])
{
	x->group.epoch++;
	for (uint32_t i = 0; i < x->lane_count; i++) {
		uint64_t *slots = x->lanes[i].slots;
		x->lanes[i] = (struct race_lane){ .slots = slots, .at = x->m.ids[x->m.entry].at, .index = i };
		memcpy(slots, x->first, x->m.lane_slots * sizeof *slots);
		set_builtins(x, slots, group, i);
	}
}

/* After all lanes have come as far as they can: all at one barrier, or all at the end. */
static bool meet(struct launch *x)
{
	uint32_t waits = 0, stranger = 0;
	const struct race_lane *first = NULL;
	for (uint32_t i = 0; i < x->lane_count; i++) {
		const struct race_lane *lane = &x->lanes[i];
		if (lane->barrier == 0)
			stranger = i;
		else if (first && first->barrier != lane->barrier)
			x->group.finding = x->group.finding ? x->group.finding
			                   : mem_fmt("threads %u and %u of a group wait at different barriers", first->index, lane->index);
		else
			first = lane;
		waits += lane->barrier != 0;
	}
	if (waits && waits < x->lane_count && !x->group.finding && x->group.budget)
		x->group.finding = mem_fmt("thread %u of a group does not reach the barrier at which thread %u waits", stranger, first->index);
	x->group.epoch++;
	return waits == x->lane_count && x->group.finding == NULL && x->group.budget > 0;
}

static int run_group(struct launch *x, const uint32_t group[3], struct err *e)
{
	int rc = 0;
	begin_group(x, group);
	do
		for (uint32_t i = 0; rc == 0 && i < x->lane_count; i++)
			rc = hlsl_race_lane_run(&x->group, &x->lanes[i], e);
	while (rc == 0 && meet(x));
	return rc;
}

/* --- a launch ----------------------------------------------------------------------------------------------------------- */

static int make_lanes(struct launch *x, struct err *e)
{
	const uint32_t *b = x->s.block;
	bool many = b[0] > LANES_MAX || b[1] > LANES_MAX || b[2] > LANES_MAX || (uint64_t)b[0] * b[1] * b[2] > LANES_MAX;
	x->lane_count = many ? 0 : b[0] * b[1] * b[2];
	if (many || (uint64_t)x->lane_count * x->m.lane_slots * 8 > MEMORY_MAX)
		return err_set(e, ERR_UNSUPPORTED, "the kernel is too large for the race check");
	x->lanes = MEM_NEW_N(struct race_lane, x->lane_count + 1);
	for (uint32_t i = 0; i < x->lane_count; i++)
		x->lanes[i].slots = MEM_NEW_N(uint64_t, x->m.lane_slots + 1);
	x->group = (struct race_group){ .m = &x->m, .memory = MEM_NEW_N(struct race_memory, x->m.bound + 1),
	                                .shared = MEM_NEW_N(uint64_t, x->m.group_slots + 1),
	                                .shadow = MEM_NEW_N(struct race_shadow, x->m.group_slots + 1), .budget = BUDGET };
	make_first(x);
	return 0;
}

static void launch_fini(struct launch *x)
{
	for (uint32_t i = 0; x->lanes && i < x->lane_count; i++)
		free(x->lanes[i].slots);
	free(x->lanes);
	free(x->first);
	free(x->group.memory);
	free(x->group.shared);
	free(x->group.shadow);
	hlsl_race_module_fini(&x->m);
	hlsl_spirv_fini(&x->s);
}

static int run_launch(const struct plan *plan, const struct plan_launch *l, const struct module *module, uint8_t *const *buffers,
                      char **ret_finding, struct err *e)
{
	const struct module_kernel *k = hlsl_module_find(module, l->kernel);
	struct launch x = { .plan = plan, .l = l };
	if (k == NULL)
		return err_set(e, ERR_INPUT, "the binary has no kernel %s", l->kernel);
	struct err why = ERR_INIT;
	if (hlsl_spirv_validate(k->words, k->count, &why) < 0) /* the interpreter believes what a validator has seen */
		return err_set(e, ERR_INPUT, "the race check reads valid SPIR-V only, and the binary's kernel %s is not: compile it again", l->kernel);
	if (hlsl_spirv_read(k->words, k->count, &x.s, e) < 0)
		return -(int)e->code;
	int rc = hlsl_race_module_read(k->words, k->count, &x.m, e);
	if (rc == 0 && x.m.group_slots == 0 && !x.m.has_barrier) { /* nothing is shared, nobody waits */
		launch_fini(&x);
		return 0;
	}
	if (rc == 0)
		rc = make_lanes(&x, e);
	if (rc == 0)
		bind(&x, buffers);
	for (uint64_t i = 0; rc == 0 && i < (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] && !x.group.finding && x.group.budget; i++) {
		uint32_t at[3] = { (uint32_t)(i % l->grid[0]), (uint32_t)(i / l->grid[0] % l->grid[1]),
		                   (uint32_t)(i / l->grid[0] / l->grid[1]) };
		rc = run_group(&x, at, e);
	}
	if (rc == 0 && x.group.finding)
		*ret_finding = mem_fmt("kernel %s: %s", l->kernel, x.group.finding);
	free(x.group.finding);
	launch_fini(&x);
	return rc;
}

int hlsl_race_check(const void *binary, size_t len, const struct plan *plan, uint64_t seed, char **ret_finding, struct err *e)
{
	struct module module;
	uint8_t **buffers = NULL;
	*ret_finding = NULL;
	int rc = hlsl_module_decode(binary, len, &module, e);
	if (rc < 0)
		return rc;
	rc = buffers_new(plan, seed, &buffers, e);
	for (size_t i = 0; rc == 0 && !*ret_finding && i < plan->op_count; i++) {
		const struct plan_op *op = &plan->ops[i];
		switch (op->kind) {
		case PLAN_OP_LAUNCH: rc = run_launch(plan, &op->launch, &module, buffers, ret_finding, e); break;
		case PLAN_OP_MEMSET: memset(buffers[op->memset.buffer] + op->memset.offset, op->memset.value, op->memset.bytes); break;
		case PLAN_OP_COPY:
			memmove(buffers[op->copy.dst] + op->copy.dst_offset, buffers[op->copy.src] + op->copy.src_offset, op->copy.bytes);
			break;
		case PLAN_OP_GEMM: break; /* the vendor's library */
		}
	}
	buffers_free(plan, buffers);
	hlsl_module_fini(&module);
	return rc;
}

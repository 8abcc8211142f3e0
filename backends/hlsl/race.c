/* race: see race.h. Threads of a group run one after the other from barrier to barrier: any order shows the same conflicts,
 * because all that counts is who touched what between which barriers. Numbers are those of the SPIR-V specification 1.6
 * (Khronos). */
#include "backends/hlsl/race.h"

#include <stdlib.h>
#include <string.h>

#include "backends/hlsl/bind.h"
#include "backends/hlsl/object.h"
#include "backends/hlsl/race_lane.h"
#include "backends/values/fill.h"
#include "base/mem.h"

enum {
	OP_NAME = 5,
	OP_EXT_IMPORT = 11,
	OP_ENTRY_POINT = 15,
	OP_TYPE_VOID = 19,
	OP_TYPE_BOOL = 20,
	OP_TYPE_INT = 21,
	OP_TYPE_FLOAT = 22,
	OP_TYPE_VECTOR = 23,
	OP_TYPE_ARRAY = 28,
	OP_TYPE_RUNTIME_ARRAY = 29,
	OP_TYPE_STRUCT = 30,
	OP_TYPE_POINTER = 32,
	OP_TYPE_FUNCTION = 33,
	OP_CONSTANT_TRUE = 41,
	OP_CONSTANT_FALSE = 42,
	OP_CONSTANT = 43,
	OP_CONSTANT_COMPOSITE = 44,
	OP_CONSTANT_NULL = 46,
	OP_UNDEF = 1,
	OP_FUNCTION = 54,
	OP_VARIABLE = 59,
	OP_DECORATE = 71,
	OP_MEMBER_DECORATE = 72,
	OP_LABEL = 248,
	OP_CONTROL_BARRIER = 224,
	DECORATION_ARRAY_STRIDE = 6,
	DECORATION_BUILTIN = 11,
	DECORATION_BINDING = 33,
	DECORATION_OFFSET = 35,
	STORAGE_WORKGROUP = 4,
	STORAGE_PRIVATE = 6,
	STORAGE_FUNCTION = 7,
	STORAGE_INPUT = 1,
	MEMBERS_MAX = 4096,
	SLOTS_MAX = 1 << 20,
	POINTER_SLOTS = 2,
};

enum {
	STORAGE_PUSH = 9,
	PUSH_MAX = 256,
	POISON = 0xFF,
	LANES_MAX = 4096,
	BUILTIN_GROUPS = 24,
	BUILTIN_GROUP = 26,
	BUILTIN_LOCAL = 27,
	BUILTIN_GLOBAL = 28,
	BUILTIN_INDEX = 29,
};
#define BUDGET UINT64_C(4000000)       /* instructions of a launch */
#define MEMORY_MAX ((uint64_t)1 << 29) /* bytes of all lanes, and of all buffers */

/* --- reading a module --------------------------------------------------------------------------------------------- */

static const struct race_type *value_type(const struct race_module *m, uint32_t id)
{
	return id < m->bound && m->ids[id].type < m->bound ? m->ids[m->ids[id].type].type_def : NULL;
}

static const struct race_type *type_at(const struct race_module *m, uint32_t id)
{
	return id < m->bound ? m->ids[id].type_def : NULL;
}

static int decorate_member(struct race_module *m, const uint32_t *w, uint32_t n, struct err *e)
{
	struct race_id *x = &m->ids[w[1]];
	if (n < 5 || w[3] != DECORATION_OFFSET)
		return 0;
	if (w[2] >= MEMBERS_MAX)
		return hlsl_race_lane_unknown(OP_MEMBER_DECORATE, e);
	while (x->offset_count <= w[2])
		*MEM_PUSH(x->offsets, x->offset_count) = 0;
	x->offsets[w[2]] = w[4];
	return 0;
}

static int add_struct(struct race_module *m, struct race_type *t, const uint32_t *w, uint32_t n, struct err *e)
{
	const struct race_id *x = &m->ids[w[1]];
	t->count = n - 2;
	t->members = MEM_NEW_N(uint32_t, t->count + 1);
	t->offsets = MEM_NEW_N(uint32_t, t->count + 1);
	for (uint32_t i = 0; i < t->count; i++) {
		const struct race_type *member = type_at(m, w[2 + i]);
		if (member == NULL || member->slots > SLOTS_MAX - t->slots)
			return hlsl_race_lane_unknown(OP_TYPE_STRUCT, e);
		t->members[i] = w[2 + i];
		t->offsets[i] = i < x->offset_count ? x->offsets[i] : 0;
		t->slots += member->slots;
	}
	return 0;
}

static int add_type(struct race_module *m, uint32_t op, const uint32_t *w, uint32_t n, struct err *e)
{
	struct race_type *t = MEM_NEW(struct race_type);
	m->ids[w[1]].type_def = t;
	t->op = op;
	t->stride = m->ids[w[1]].stride;
	const struct race_type *element = n > 2 ? type_at(m, w[2]) : NULL;
	switch (op) {
	case OP_TYPE_VOID:
	case OP_TYPE_FUNCTION: return 0;
	case OP_TYPE_BOOL:
	case OP_TYPE_INT:
	case OP_TYPE_FLOAT:
		t->slots = 1;
		t->bits = op == OP_TYPE_BOOL ? 1 : w[2];
		t->is_signed = op == OP_TYPE_INT && w[3];
		return 0;
	case OP_TYPE_STRUCT: return add_struct(m, t, w, n, e);
	case OP_TYPE_POINTER:
		t->slots = POINTER_SLOTS;
		t->storage = w[2];
		t->element = w[3];
		return 0;
	case OP_TYPE_RUNTIME_ARRAY:
	case OP_TYPE_VECTOR:
	case OP_TYPE_ARRAY:
		t->element = w[2];
		if (op == OP_TYPE_RUNTIME_ARRAY)
			return 0;
		t->count = op == OP_TYPE_VECTOR                       ? w[3]
			   : w[3] < m->bound && m->ids[w[3]].constant ? (uint32_t)m->constants[m->ids[w[3]].slot]
								      : 0;
		if (element == NULL || t->count == 0 || t->count > SLOTS_MAX || element->slots > SLOTS_MAX / t->count)
			return hlsl_race_lane_unknown(op, e);
		t->slots = t->count * element->slots;
		return 0;
	default: return hlsl_race_lane_unknown(op, e);
	}
}

static int add_constant(struct race_module *m, uint32_t op, const uint32_t *w, uint32_t n, struct err *e)
{
	struct race_id *x = &m->ids[w[2]];
	x->type = w[1];
	const struct race_type *t = type_at(m, w[1]);
	if (t == NULL || t->slots == 0 || m->constant_slots > SLOTS_MAX || t->slots > SLOTS_MAX - m->constant_slots)
		return hlsl_race_lane_unknown(op, e);
	x->constant = true;
	x->slot = m->constant_slots;
	m->constants = mem_resize(m->constants, m->constant_slots + t->slots, sizeof *m->constants);
	memset(m->constants + x->slot, 0, t->slots * sizeof *m->constants);
	m->constant_slots += t->slots;
	if (op == OP_CONSTANT_TRUE)
		m->constants[x->slot] = 1;
	else if (op == OP_CONSTANT)
		m->constants[x->slot] = w[3] | (n > 4 ? (uint64_t)w[4] << 32 : 0);
	uint32_t to = x->slot;
	for (uint32_t i = 3; op == OP_CONSTANT_COMPOSITE && i < n; i++) {
		const struct race_type *part = value_type(m, w[i]);
		if (part == NULL || !m->ids[w[i]].constant || to + part->slots > m->constant_slots)
			return hlsl_race_lane_unknown(op, e);
		memcpy(m->constants + to, m->constants + m->ids[w[i]].slot, part->slots * sizeof *m->constants);
		to += part->slots;
	}
	return 0;
}

static int add_variable(struct race_module *m, const uint32_t *w, uint32_t n, struct err *e)
{
	struct race_id *x = &m->ids[w[2]];
	const struct race_type *p = type_at(m, w[1]), *t = p ? type_at(m, p->element) : NULL;
	if (p == NULL || t == NULL)
		return hlsl_race_lane_unknown(OP_VARIABLE, e);
	x->type = w[1];
	x->variable = true;
	x->init = n > 4 ? w[4] : 0;
	x->place = RACE_UNSET;
	if (w[3] == STORAGE_WORKGROUP) {
		x->place = m->group_slots;
		m->group_slots += t->slots;
	} else if (w[3] == STORAGE_PRIVATE || w[3] == STORAGE_FUNCTION || w[3] == STORAGE_INPUT) {
		x->place = m->lane_slots;
		m->lane_slots += t->slots;
	}
	x->slot = m->lane_slots; /* the pointer itself */
	m->lane_slots += POINTER_SLOTS;
	return m->lane_slots > SLOTS_MAX || m->group_slots > SLOTS_MAX ? hlsl_race_lane_unknown(OP_VARIABLE, e) : 0;
}

/* Instructions with a result: type in word 1, number in word 2. */
static bool has_result(uint32_t op)
{
	return op == 12 || op == 55 || op == 57 || (op >= 60 && op <= 68 && op != 62 && op != 63) || (op >= 77 && op <= 84) ||
	       (op >= 109 && op <= 205) || (op >= 227 && op <= 242 && op != 228) || op == 245 || op == OP_UNDEF;
}

static int add_result(struct race_module *m, uint32_t op, const uint32_t *w, struct err *e)
{
	struct race_id *x = &m->ids[w[2]];
	const struct race_type *t = type_at(m, w[1]);
	if (t == NULL || m->lane_slots + t->slots > SLOTS_MAX)
		return hlsl_race_lane_unknown(op, e);
	x->type = w[1];
	x->slot = m->lane_slots;
	m->lane_slots += t->slots;
	return 0;
}

static int read_one(struct race_module *m, size_t at, uint32_t op, uint32_t n, struct err *e)
{
	const uint32_t *w = m->words + at;
	m->has_barrier |= op == OP_CONTROL_BARRIER;
	uint32_t result = op == OP_NAME || op == OP_DECORATE || op == OP_MEMBER_DECORATE ||
					  (op >= OP_TYPE_VOID && op <= OP_TYPE_FUNCTION) || op == OP_LABEL || op == OP_EXT_IMPORT
				  ? 1
				  : 2;
	if (n > result && w[result] >= m->bound && (has_result(op) || result == 1 || op == OP_FUNCTION || op == OP_VARIABLE))
		return hlsl_race_lane_unknown(op, e);
	if (n <= result)
		return 0;
	if (op == OP_NAME && n > 2 && memchr(w + 2, 0, (n - 2) * 4)) {
		free(m->ids[w[1]].name);
		m->ids[w[1]].name = mem_str((const char *)(w + 2));
	} else if (op == OP_EXT_IMPORT) {
		m->ext = w[1];
	} else if (op == OP_ENTRY_POINT) {
		m->entry = w[2];
	} else if (op == OP_DECORATE && n > 3) {
		uint32_t *to = w[2] == DECORATION_ARRAY_STRIDE ? &m->ids[w[1]].stride
			       : w[2] == DECORATION_BUILTIN    ? &m->ids[w[1]].builtin
			       : w[2] == DECORATION_BINDING    ? &m->ids[w[1]].binding
							       : NULL;
		if (to)
			*to = w[3];
	} else if (op == OP_MEMBER_DECORATE) {
		return decorate_member(m, w, n, e);
	} else if (op >= OP_TYPE_VOID && op <= OP_TYPE_FUNCTION) {
		return add_type(m, op, w, n, e);
	} else if (op >= OP_CONSTANT_TRUE && op <= OP_CONSTANT_NULL) {
		return w[2] < m->bound ? add_constant(m, op, w, n, e) : hlsl_race_lane_unknown(op, e);
	} else if (op == OP_VARIABLE) {
		return add_variable(m, w, n, e);
	} else if (op == OP_FUNCTION || op == OP_LABEL) {
		m->ids[w[result]].at = (uint32_t)(at + n);
	} else if (has_result(op)) {
		return add_result(m, op, w, e);
	}
	return 0;
}

static void module_fini(struct race_module *m)
{
	for (uint32_t i = 0; i < m->bound; i++) {
		struct race_type *t = m->ids[i].type_def;
		if (t) {
			free(t->members);
			free(t->offsets);
		}
		free(t);
		free(m->ids[i].name);
		free(m->ids[i].offsets);
	}
	free(m->ids);
	free(m->constants);
	*m = (struct race_module){ 0 };
}

static int module_read(const uint32_t *words, size_t count, struct race_module *ret_m, struct err *e)
{
	struct race_module m = { .words = words, .count = count, .bound = words[3] };
	int rc = 0;
	m.ids = MEM_NEW_N(struct race_id, m.bound);
	for (uint32_t i = 0; i < m.bound; i++)
		m.ids[i].builtin = m.ids[i].binding = RACE_UNSET;
	for (size_t at = 5; rc == 0 && at < count;) {
		uint32_t op = words[at] & 0xFFFF, n = words[at] >> 16;
		if (n == 0 || n > count - at)
			rc = hlsl_race_lane_unknown(op, e);
		else
			rc = read_one(&m, at, op, n, e);
		at += n ? n : 1;
	}
	if (rc == 0 && (m.entry >= m.bound || m.ids[m.entry].at == 0))
		rc = err_set(e, ERR_UNSUPPORTED, "the race check finds no entry point");
	if (rc < 0)
		module_fini(&m);
	else
		*ret_m = m;
	return rc;
}

/* --- a launch ----------------------------------------------------------------------------------------------------- */

/* One launch while it is interpreted. */
struct launch {
	const struct plan *plan;
	const struct plan_launch *l;
	struct race_module m;
	struct spirv s;
	struct race_group group;
	struct race_lane *lanes;
	uint64_t *first; /* what every lane's slots begin with */
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

static void bind(struct launch *x, uint8_t *const *buffers)
{
	for (size_t i = 0; i < x->s.member_count; i++) {
		const struct spirv_member *m = &x->s.members[i];
		const struct plan_arg *a = hlsl_bind_find(x->plan, x->l, m->name);

		if (a && a->kind == PLAN_ARG_SCALAR && m->bits >= 32 && m->offset + m->bits / 8 <= PUSH_MAX)
			hlsl_bind_store(m, a, x->push + m->offset);
	}
	for (uint32_t id = 0; id < x->m.bound; id++) {
		const struct race_id *v = &x->m.ids[id];
		if (!v->variable || v->place != RACE_UNSET)
			continue;
		if (x->m.ids[v->type].type_def->storage == STORAGE_PUSH)
			x->group.memory[id] = (struct race_memory){ x->push, PUSH_MAX };
		for (size_t i = 0; i < x->s.binding_count; i++) {
			const struct plan_arg *a = x->s.bindings[i].binding == v->binding
							   ? hlsl_bind_find(x->plan, x->l, x->s.bindings[i].name)
							   : NULL;
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
			       value_type(&x->m, v->init)->slots * sizeof *x->first);
	}
}

/* --- a group ------------------------------------------------------------------------------------------------------------ */

static void set_builtins(const struct launch *x, uint64_t *slots, const uint32_t group[3], uint32_t index)
{
	const uint32_t *block = x->s.block;
	uint32_t local[3] = { index % block[0], index / block[0] % block[1], index / block[0] / block[1] }, global[3];

	for (int k = 0; k < 3; k++)
		global[k] = group[k] * block[k] + local[k];
	for (uint32_t id = 0; id < x->m.bound; id++) {
		const struct race_id *v = &x->m.ids[id];
		const uint32_t *from;
		uint32_t n;

		if (!v->variable || v->place == RACE_UNSET || v->builtin == RACE_UNSET)
			continue;
		from = v->builtin == BUILTIN_GROUPS   ? x->l->grid
		       : v->builtin == BUILTIN_GROUP  ? group
		       : v->builtin == BUILTIN_LOCAL  ? local
		       : v->builtin == BUILTIN_GLOBAL ? global
						      : NULL;
		n = x->m.ids[x->m.ids[v->type].type_def->element].type_def->slots;
		for (uint32_t k = 0; from && k < n && k < 3; k++)
			slots[v->place + k] = from[k];
		if (v->builtin == BUILTIN_INDEX && n > 0)
			slots[v->place] = index;
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

/* Called when no lane can go on: all must wait at one barrier, or all be at the end. True: at a barrier, so they go on. */
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
							    : mem_fmt("threads %u and %u of a group wait at different barriers",
								      first->index, lane->index);
		else
			first = lane;
		waits += lane->barrier != 0;
	}
	if (waits && waits < x->lane_count && !x->group.finding && x->group.budget)
		x->group.finding =
			mem_fmt("thread %u of a group does not reach the barrier at which thread %u waits", stranger, first->index);
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
	x->group = (struct race_group){ .m = &x->m,
					.memory = MEM_NEW_N(struct race_memory, x->m.bound + 1),
					.shared = MEM_NEW_N(uint64_t, x->m.group_slots + 1),
					.shadow = MEM_NEW_N(struct race_shadow, x->m.group_slots + 1),
					.budget = BUDGET };
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
	module_fini(&x->m);
	hlsl_spirv_fini(&x->s);
}

static int run_launch(const struct plan *plan, const struct plan_launch *l, const struct hlsl_object *object,
		      uint8_t *const *buffers, char **ret_finding, struct err *e)
{
	const struct hlsl_kernel *k = hlsl_object_find(object, l->kernel);
	struct launch x = { .plan = plan, .l = l };
	if (k == NULL)
		return err_set(e, ERR_INPUT, "the binary has no kernel %s", l->kernel);
	struct err why = ERR_INIT;
	if (hlsl_spirv_validate(k->words, k->count, &why) < 0) /* the interpreter trusts what the validator accepted */
		return err_set(e, ERR_INPUT,
			       "the race check reads valid SPIR-V only, and the binary's kernel %s is not: compile it again",
			       l->kernel);
	if (hlsl_spirv_read(k->words, k->count, &x.s, e) < 0)
		return -(int)e->code;
	int rc = module_read(k->words, k->count, &x.m, e);
	if (rc == 0 && x.m.group_slots == 0 && !x.m.has_barrier) { /* no shared memory and no barrier: no race */
		launch_fini(&x);
		return 0;
	}
	if (rc == 0)
		rc = make_lanes(&x, e);
	if (rc == 0)
		bind(&x, buffers);
	for (uint64_t i = 0; rc == 0 && i < (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] && !x.group.finding && x.group.budget;
	     i++) {
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
	struct hlsl_object object;
	uint8_t **buffers = NULL;
	*ret_finding = NULL;
	int rc = hlsl_object_decode(binary, len, &object, e);
	if (rc < 0)
		return rc;
	rc = buffers_new(plan, seed, &buffers, e);
	for (size_t i = 0; rc == 0 && !*ret_finding && i < plan->op_count; i++) {
		const struct plan_op *op = &plan->ops[i];
		switch (op->kind) {
		case PLAN_OP_LAUNCH: rc = run_launch(plan, &op->launch, &object, buffers, ret_finding, e); break;
		case PLAN_OP_MEMSET:
			memset(buffers[op->memset.buffer] + op->memset.offset, op->memset.value, op->memset.bytes);
			break;
		case PLAN_OP_COPY:
			memmove(buffers[op->copy.dst] + op->copy.dst_offset, buffers[op->copy.src] + op->copy.src_offset,
				op->copy.bytes);
			break;
		case PLAN_OP_GEMM: break; /* the vendor's library */
		}
	}
	buffers_free(plan, buffers);
	hlsl_object_fini(&object);
	return rc;
}

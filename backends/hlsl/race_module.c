/* race_module: what the race check needs of a kernel beyond object.h: where every value and variable has its place, constants, and
 * where functions and blocks begin. Called by race.c. Numbers are those of the SPIR-V specification 1.6 (Khronos). */
#include <stdlib.h>
#include <string.h>

#include "backends/hlsl/race_lane.h"
#include "base/mem.h"

enum {
	OP_UNDEF = 1,
	OP_CONSTANT_TRUE = 41,
	OP_CONSTANT_COMPOSITE = 44,
	OP_CONSTANT_NULL = 46,
	OP_FUNCTION = 54,
	OP_LOOP_MERGE = 246,
	OP_LABEL = 248,
	SLOTS_MAX = 1 << 20,
};

int hlsl_race_unknown(uint32_t op, struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED, "the race check does not know the SPIR-V instruction Op%s", hlsl_spirv_instruction(op));
}

static int check_type(const struct spirv *s, const struct spirv_type *t, struct err *e)
{
	static const uint32_t known[] = { SPIRV_TYPE_VOID,    SPIRV_TYPE_BOOL,    SPIRV_TYPE_INT,           SPIRV_TYPE_FLOAT,
					  SPIRV_TYPE_VECTOR,  SPIRV_TYPE_ARRAY,   SPIRV_TYPE_RUNTIME_ARRAY, SPIRV_TYPE_STRUCT,
					  SPIRV_TYPE_POINTER, SPIRV_TYPE_FUNCTION };
	bool good = false, list = t->op == SPIRV_TYPE_VECTOR || t->op == SPIRV_TYPE_ARRAY;
	for (size_t i = 0; i < MEM_COUNT(known); i++)
		good |= known[i] == t->op;
	good &= t->slots <= SLOTS_MAX && (!list || (t->count > 0 && hlsl_spirv_type(s, t->element)));
	for (uint32_t i = 0; t->op == SPIRV_TYPE_STRUCT && i < t->count; i++)
		good &= hlsl_spirv_type(s, t->members[i]) != NULL;
	return good ? 0 : hlsl_race_unknown(t->op, e);
}

static int add_constant(struct race_module *m, uint32_t op, const uint32_t *w, uint32_t n, struct err *e)
{
	struct race_id *x = &m->ids[w[2]];
	const struct spirv_type *t = hlsl_spirv_type(&m->s, w[1]);
	if (t == NULL || t->slots == 0 || m->constant_slots > SLOTS_MAX || t->slots > SLOTS_MAX - m->constant_slots)
		return hlsl_race_unknown(op, e);
	x->constant = true;
	x->slot = m->constant_slots;
	m->constants = mem_resize(m->constants, m->constant_slots + t->slots, sizeof *m->constants);
	memset(m->constants + x->slot, 0, t->slots * sizeof *m->constants);
	m->constant_slots += t->slots;
	if (op == OP_CONSTANT_TRUE)
		m->constants[x->slot] = 1;
	else if (op == SPIRV_CONSTANT)
		m->constants[x->slot] = w[3] | (n > 4 ? (uint64_t)w[4] << 32 : 0);
	uint32_t to = x->slot;
	for (uint32_t i = 3; op == OP_CONSTANT_COMPOSITE && i < n; i++) {
		const struct spirv_type *part = w[i] < m->s.bound ? hlsl_spirv_type(&m->s, m->ids[w[i]].type) : NULL;
		if (part == NULL || !m->ids[w[i]].constant || to + part->slots > m->constant_slots)
			return hlsl_race_unknown(op, e);
		memcpy(m->constants + to, m->constants + m->ids[w[i]].slot, part->slots * sizeof *m->constants);
		to += part->slots;
	}
	return 0;
}

static int add_variable(struct race_module *m, const uint32_t *w, uint32_t n, struct err *e)
{
	struct race_id *x = &m->ids[w[2]];
	const struct spirv_type *p = hlsl_spirv_type(&m->s, w[1]), *t = p ? hlsl_spirv_type(&m->s, p->element) : NULL;
	if (p == NULL || t == NULL)
		return hlsl_race_unknown(SPIRV_VARIABLE, e);
	x->variable = true;
	x->init = n > 4 ? w[4] : 0;
	x->place = SPIRV_UNSET;
	if (w[3] == SPIRV_STORAGE_WORKGROUP) {
		x->place = m->group_slots;
		m->group_slots += t->slots;
	} else if (w[3] == SPIRV_STORAGE_PRIVATE || w[3] == SPIRV_STORAGE_FUNCTION || w[3] == SPIRV_STORAGE_INPUT) {
		x->place = m->lane_slots;
		m->lane_slots += t->slots;
	}
	x->slot = m->lane_slots; /* the pointer itself */
	m->lane_slots += SPIRV_POINTER_SLOTS;
	return m->lane_slots > SLOTS_MAX || m->group_slots > SLOTS_MAX ? hlsl_race_unknown(SPIRV_VARIABLE, e) : 0;
}

static int read_one(struct race_module *m, const uint32_t *w, uint32_t *io_label, struct err *e)
{
	uint32_t op = w[0] & 0xFFFF, n = w[0] >> 16, behind = (uint32_t)(w - m->s.words) + n;
	if (op == OP_LABEL)
		m->ids[ *io_label = w[1]].at = behind;
	if (op == OP_LOOP_MERGE)
		m->ids[*io_label].merge = w[1];
	if (n < 3 || w[2] >= m->s.bound || m->s.ids[w[2]].made != w) /* it has no result, or one without a type */
		return 0;
	struct race_id *x = &m->ids[w[2]];
	if (op >= OP_CONSTANT_TRUE && op <= OP_CONSTANT_NULL)
		return add_constant(m, op, w, n, e);
	if (op == SPIRV_VARIABLE)
		return add_variable(m, w, n, e);
	if (op == OP_FUNCTION) {
		x->at = behind;
		return 0;
	}
	const struct spirv_type *t = hlsl_spirv_type(&m->s, w[1]);
	if (t == NULL || m->lane_slots + t->slots > SLOTS_MAX)
		return hlsl_race_unknown(op, e);
	x->slot = m->lane_slots;
	x->undefined = op == OP_UNDEF;
	m->lane_slots += t->slots;
	m->has_wave_ops |= op >= RACE_WAVE_FIRST && op <= RACE_WAVE_LAST;
	return 0;
}

void hlsl_race_module_fini(struct race_module *m)
{
	free(m->ids);
	free(m->constants);
	hlsl_spirv_fini(&m->s);
	*m = (struct race_module){ 0 };
}

int hlsl_race_module_read(const uint32_t *words, size_t count, struct race_module *ret_m, struct err *e)
{
	struct race_module m = { .unit = 4 };
	uint32_t label = 0;
	int rc = hlsl_spirv_read(words, count, &m.s, e);
	if (rc < 0)
		return rc;
	m.ids = MEM_NEW_N(struct race_id, m.s.bound);
	for (uint32_t i = 0; i < m.s.bound && rc == 0; i++) {
		const struct spirv_id *x = &m.s.ids[i];
		const struct spirv_type *t = x->type_def;
		m.ids[i] = (struct race_id){ .type_def = t, .type = x->type };
		if (t && (t->op == SPIRV_TYPE_INT || t->op == SPIRV_TYPE_FLOAT) && t->bits / 8 < m.unit)
			m.unit = t->bits / 8;
		rc = t ? check_type(&m.s, t, e) : 0;
	}
	for (size_t at = SPIRV_HEADER; rc == 0 && at < count; at += words[at] >> 16)
		rc = read_one(&m, words + at, &label, e);
	if (rc == 0 && (m.s.entry >= m.s.bound || m.ids[m.s.entry].at == 0))
		rc = err_set(e, ERR_UNSUPPORTED, "the race check finds no entry point");
	if (rc < 0)
		hlsl_race_module_fini(&m);
	else
		*ret_m = m;
	return rc;
}

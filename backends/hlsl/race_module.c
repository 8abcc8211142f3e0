/* race_module: reads a kernel's SPIR-V for the race check: types, constants, variables, where functions and blocks begin. Called
 * by race.c. Numbers are those of the SPIR-V specification 1.6 (Khronos). */
#include <stdlib.h>
#include <string.h>

#include "backends/hlsl/object.h"
#include "backends/hlsl/race_lane.h"
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
	DECORATION_ARRAY_STRIDE = 6,
	DECORATION_BUILTIN = 11,
	DECORATION_BINDING = 33,
	DECORATION_OFFSET = 35,
	MEMBERS_MAX = 4096,
	SLOTS_MAX = 1 << 20,
	POINTER_SLOTS = 2,
	OP_LOOP_MERGE = 246,
};

int hlsl_race_unknown(uint32_t op, struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED, "the race check does not know the SPIR-V instruction Op%s", hlsl_spirv_instruction(op));
}

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
		return hlsl_race_unknown(OP_MEMBER_DECORATE, e);
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
			return hlsl_race_unknown(OP_TYPE_STRUCT, e);
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
		if (op != OP_TYPE_BOOL && t->bits / 8 < m->unit)
			m->unit = t->bits / 8;
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
			return hlsl_race_unknown(op, e);
		t->slots = t->count * element->slots;
		return 0;
	default: return hlsl_race_unknown(op, e);
	}
}

static int add_constant(struct race_module *m, uint32_t op, const uint32_t *w, uint32_t n, struct err *e)
{
	struct race_id *x = &m->ids[w[2]];
	x->type = w[1];
	const struct race_type *t = type_at(m, w[1]);
	if (t == NULL || t->slots == 0 || m->constant_slots > SLOTS_MAX || t->slots > SLOTS_MAX - m->constant_slots)
		return hlsl_race_unknown(op, e);
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
			return hlsl_race_unknown(op, e);
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
		return hlsl_race_unknown(OP_VARIABLE, e);
	x->type = w[1];
	x->variable = true;
	x->init = n > 4 ? w[4] : 0;
	x->place = RACE_UNSET;
	if (w[3] == RACE_STORAGE_WORKGROUP) {
		x->place = m->group_slots;
		m->group_slots += t->slots;
	} else if (w[3] == RACE_STORAGE_PRIVATE || w[3] == RACE_STORAGE_FUNCTION || w[3] == RACE_STORAGE_INPUT) {
		x->place = m->lane_slots;
		m->lane_slots += t->slots;
	}
	x->slot = m->lane_slots; /* the pointer itself */
	m->lane_slots += POINTER_SLOTS;
	return m->lane_slots > SLOTS_MAX || m->group_slots > SLOTS_MAX ? hlsl_race_unknown(OP_VARIABLE, e) : 0;
}

/* Instructions with a result: type in word 1, number in word 2. */
static bool has_result(uint32_t op)
{
	return op == 12 || op == 55 || op == 57 || (op >= 60 && op <= 68 && op != 62 && op != 63) || (op >= 77 && op <= 84) ||
	       (op >= 109 && op <= 205) || (op >= 227 && op <= 242 && op != 228) || op == 245 ||
	       (op >= RACE_WAVE_FIRST && op <= RACE_WAVE_LAST) || op == OP_UNDEF;
}

static int add_result(struct race_module *m, uint32_t op, const uint32_t *w, struct err *e)
{
	struct race_id *x = &m->ids[w[2]];
	const struct race_type *t = type_at(m, w[1]);
	if (t == NULL || m->lane_slots + t->slots > SLOTS_MAX)
		return hlsl_race_unknown(op, e);
	x->type = w[1];
	x->slot = m->lane_slots;
	x->undefined = op == OP_UNDEF;
	m->lane_slots += t->slots;
	m->has_wave_ops |= op >= RACE_WAVE_FIRST && op <= RACE_WAVE_LAST;
	return 0;
}

static int read_one(struct race_module *m, size_t at, uint32_t op, uint32_t n, struct err *e)
{
	const uint32_t *w = m->words + at;
	uint32_t result = op == OP_NAME || op == OP_DECORATE || op == OP_MEMBER_DECORATE ||
					  (op >= OP_TYPE_VOID && op <= OP_TYPE_FUNCTION) || op == OP_LABEL || op == OP_EXT_IMPORT
				  ? 1
				  : 2;
	if (n > result && w[result] >= m->bound && (has_result(op) || result == 1 || op == OP_FUNCTION || op == OP_VARIABLE))
		return hlsl_race_unknown(op, e);
	if (op == OP_LOOP_MERGE)
		m->ids[m->label].merge = w[1];
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
		return w[2] < m->bound ? add_constant(m, op, w, n, e) : hlsl_race_unknown(op, e);
	} else if (op == OP_VARIABLE) {
		return add_variable(m, w, n, e);
	} else if (op == OP_FUNCTION || op == OP_LABEL) {
		m->ids[w[result]].at = (uint32_t)(at + n);
		m->label = op == OP_LABEL ? w[result] : 0;
	} else if (has_result(op)) {
		return add_result(m, op, w, e);
	}
	return 0;
}

void hlsl_race_module_fini(struct race_module *m)
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

int hlsl_race_module_read(const uint32_t *words, size_t count, struct race_module *ret_m, struct err *e)
{
	struct race_module m = { .words = words, .count = count, .bound = words[3], .unit = 4 };
	int rc = 0;
	m.ids = MEM_NEW_N(struct race_id, m.bound);
	for (uint32_t i = 0; i < m.bound; i++)
		m.ids[i].builtin = m.ids[i].binding = RACE_UNSET;
	for (size_t at = 5; rc == 0 && at < count;) {
		uint32_t op = words[at] & 0xFFFF, n = words[at] >> 16;
		if (n == 0 || n > count - at)
			rc = hlsl_race_unknown(op, e);
		else
			rc = read_one(&m, at, op, n, e);
		at += n ? n : 1;
	}
	if (rc == 0 && (m.entry >= m.bound || m.ids[m.entry].at == 0))
		rc = err_set(e, ERR_UNSUPPORTED, "the race check finds no entry point");
	if (rc < 0)
		hlsl_race_module_fini(&m);
	else
		*ret_m = m;
	return rc;
}

/* race_lane: see race_lane.h. Memory: values and private variables are scalars in a lane's slots, shared variables in the group's; a
 * pointer is a variable's number and an offset, in scalars, or in bytes for buffers. */
#include "backends/hlsl/race_lane.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/wire/dtype.h"
#include "backends/hlsl/race_ops.h"
#include "base/mem.h"

enum { TYPE_VECTOR = 23, TYPE_ARRAY = 28, TYPE_RUNTIME_ARRAY = 29, TYPE_STRUCT = 30, STORAGE_WORKGROUP = 4, PHI = 245, LABEL = 248 };

static int unknown(uint32_t op, struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED, "the race check does not know SPIR-V instruction %u", op);
}

static const struct race_type *type_of(const struct race_group *g, uint32_t type)
{
	return g->m->ids[type].type_def;
}

static const struct race_type *value_type(const struct race_group *g, uint32_t id)
{
	return type_of(g, g->m->ids[id].type);
}

static const struct race_type *scalar_of(const struct race_group *g, const struct race_type *t)
{
	return t->op == TYPE_VECTOR ? type_of(g, t->element) : t;
}

static uint64_t *value(const struct race_group *g, const struct race_lane *lane, uint32_t id)
{
	const struct race_id *x = &g->m->ids[id];
	return x->constant ? g->m->constants + x->slot : lane->slots + x->slot;
}

/* --- shared memory and its shadow --------------------------------------------------------------------------------------- */

static void found(struct race_group *g, const char *how, uint32_t variable, uint64_t offset, uint32_t one, uint32_t other)
{
	const char *name = g->m->ids[variable].name;
	char *who = other == RACE_SEVERAL ? mem_str("others have touched") : mem_fmt("thread %u has touched", other);
	if (g->finding == NULL)
		g->finding = mem_fmt("race in groupshared %s: thread %u %s element %llu, which %s, with no barrier between them",
		                     name ? name : "memory", one, how, (unsigned long long)offset, who);
	free(who);
}

static void shadow_read(struct race_group *g, const struct race_lane *lane, uint32_t variable, uint64_t offset)
{
	struct race_shadow *s = &g->shadow[g->m->ids[variable].place + offset];
	if (s->write_epoch == g->epoch && s->writer != lane->index)
		found(g, "reads", variable, offset, lane->index, s->writer);
	if (s->atomic_epoch == g->epoch && s->updater != lane->index)
		found(g, "reads", variable, offset, lane->index, s->updater);
	s->reader = s->read_epoch == g->epoch && s->reader != lane->index ? RACE_SEVERAL : lane->index;
	s->read_epoch = g->epoch;
}

/* Several threads that write the same number (a flag) do no harm. */
static void shadow_write(struct race_group *g, const struct race_lane *lane, uint32_t variable, uint64_t offset, bool same)
{
	struct race_shadow *s = &g->shadow[g->m->ids[variable].place + offset];
	if (s->write_epoch == g->epoch && s->writer != lane->index && !same)
		found(g, "overwrites", variable, offset, lane->index, s->writer);
	if (s->read_epoch == g->epoch && s->reader != lane->index && !same)
		found(g, "overwrites", variable, offset, lane->index, s->reader);
	if (s->atomic_epoch == g->epoch && s->updater != lane->index && !same)
		found(g, "overwrites", variable, offset, lane->index, s->updater);
	s->writer = lane->index;
	s->write_epoch = g->epoch;
}

static void shadow_atomic(struct race_group *g, const struct race_lane *lane, uint32_t variable, uint64_t offset)
{
	struct race_shadow *s = &g->shadow[g->m->ids[variable].place + offset];
	if (s->write_epoch == g->epoch && s->writer != lane->index)
		found(g, "updates", variable, offset, lane->index, s->writer);
	if (s->read_epoch == g->epoch && s->reader != lane->index)
		found(g, "updates", variable, offset, lane->index, s->reader);
	s->updater = s->atomic_epoch == g->epoch && s->updater != lane->index ? RACE_SEVERAL : lane->index;
	s->atomic_epoch = g->epoch;
}

/* --- loads and stores --------------------------------------------------------------------------------------------------- */

/* Scalars of a type between slots and a buffer's bytes; what lies outside reads as zero and is not written. */
static uint64_t *buffer_move(const struct race_group *g, const struct race_memory *mem, const struct race_type *t, uint64_t at,
                             uint64_t *slots, bool store)
{
	uint32_t bytes = t->bits == 1 ? 4 : t->bits / 8;
	if (t->op == TYPE_STRUCT) {
		for (uint32_t i = 0; i < t->count; i++)
			slots = buffer_move(g, mem, type_of(g, t->members[i]), at + t->offsets[i], slots, store);
		return slots;
	}
	if (t->op == TYPE_VECTOR || t->op == TYPE_ARRAY) {
		const struct race_type *element = type_of(g, t->element);
		for (uint32_t i = 0; i < t->count; i++)
			slots = buffer_move(g, mem, element, at + (uint64_t)i * (t->stride ? t->stride : element->bits / 8), slots, store);
		return slots;
	}
	bool inside = mem->bytes && at + bytes <= mem->len && at + bytes >= at;
	if (!store)
		*slots = 0;
	if (inside && store)
		memcpy(mem->bytes + at, slots, bytes); /* little-endian, as every host that peakd runs on */
	else if (inside)
		memcpy(slots, mem->bytes + at, bytes);
	return slots + 1;
}

static void move(struct race_group *g, struct race_lane *lane, const uint64_t *pointer, const struct race_type *t, uint64_t *slots,
                 bool store)
{
	uint32_t variable = (uint32_t)pointer[0];
	const struct race_id *x = &g->m->ids[variable < g->m->bound ? variable : 0];
	if (!x->variable)
		return;
	const struct race_type *p = type_of(g, x->type), *whole = type_of(g, p->element);
	if (x->place == RACE_UNSET) {
		buffer_move(g, &g->memory[variable], t, pointer[1], slots, store);
		return;
	}
	if (pointer[1] > whole->slots || t->slots > whole->slots - pointer[1]) {
		if (p->storage == STORAGE_WORKGROUP && g->finding == NULL)
			g->finding = mem_fmt("thread %u reaches outside of groupshared %s", lane->index, x->name ? x->name : "memory");
		return;
	}
	uint64_t *to = (p->storage == STORAGE_WORKGROUP ? g->shared : lane->slots) + x->place + pointer[1];
	for (uint32_t i = 0; p->storage == STORAGE_WORKGROUP && i < t->slots; i++) {
		if (store)
			shadow_write(g, lane, variable, pointer[1] + i, to[i] == slots[i]);
		else
			shadow_read(g, lane, variable, pointer[1] + i);
	}
	memmove(store ? to : slots, store ? slots : to, t->slots * sizeof *to);
}

static int access_chain(struct race_group *g, struct race_lane *lane, const uint32_t *w, uint32_t n, struct err *e)
{
	const uint64_t *base = value(g, lane, w[3]);
	const struct race_type *p = value_type(g, w[3]), *t = type_of(g, p->element);
	uint64_t variable = base[0], at = base[1];
	bool logical = variable < g->m->bound && g->m->ids[variable].place != RACE_UNSET;
	for (uint32_t i = 4; i < n; i++) {
		const struct race_type *it = value_type(g, w[i]);
		uint64_t index = *value(g, lane, w[i]);
		int64_t k = it->is_signed && it->bits == 32 ? (int32_t)(uint32_t)index : (int64_t)index;
		if (t->op == TYPE_STRUCT) {
			if (index >= t->count)
				return unknown(65, e);
			for (uint64_t m = 0; logical && m < index; m++)
				at += type_of(g, t->members[m])->slots;
			at += logical ? 0 : t->offsets[index];
			t = type_of(g, t->members[index]);
			continue;
		}
		const struct race_type *element = type_of(g, t->element);
		at += (uint64_t)(k * (int64_t)(logical ? element->slots : t->stride ? t->stride : element->bits / 8));
		t = element;
	}
	uint64_t *to = value(g, lane, w[2]);
	to[0] = variable;
	to[1] = at;
	return 0;
}

/* --- values ------------------------------------------------------------------------------------------------------------- */

static int elementwise(struct race_group *g, struct race_lane *lane, uint32_t op, bool ext, const uint32_t *w, uint32_t n,
                       uint32_t first, struct err *e)
{
	const struct race_type *out = value_type(g, w[2]), *in = NULL;
	uint64_t *to = value(g, lane, w[2]), *from[3] = { NULL };
	uint32_t step[3] = { 0 };
	for (uint32_t i = 0; i < 3 && first + i < n; i++) {
		const struct race_type *t = value_type(g, w[first + i]);
		if (t == NULL || (t->slots != 1 && t->slots != out->slots))
			return unknown(op, e);
		from[i] = value(g, lane, w[first + i]);
		step[i] = t->slots > 1;
		in = in ? in : scalar_of(g, t);
	}
	if (in == NULL)
		return unknown(op, e);
	const struct race_type *one = scalar_of(g, out);
	for (uint32_t i = 0; i < out->slots; i++) {
		uint64_t v[3] = { 0 };
		for (int k = 0; k < 3; k++)
			v[k] = from[k] ? from[k][i * step[k]] : 0;
		if (!(ext ? hlsl_race_ops_ext(op, one, v[0], v[1], v[2], &to[i]) : hlsl_race_ops_scalar(op, one, in, v[0], v[1], v[2], &to[i])))
			return unknown(ext ? 12 : op, e);
	}
	return 0;
}

/* Offset of a literal index path inside a composite. */
static int path(const struct race_group *g, const struct race_type *t, const uint32_t *at, uint32_t count, uint32_t *ret, uint32_t *ret_slots,
                struct err *e)
{
	*ret = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (at[i] >= t->count)
			return unknown(81, e);
		for (uint32_t m = 0; t->op == TYPE_STRUCT && m < at[i]; m++)
			*ret += type_of(g, t->members[m])->slots;
		const struct race_type *element = type_of(g, t->op == TYPE_STRUCT ? t->members[at[i]] : t->element);
		*ret += t->op == TYPE_STRUCT ? 0 : at[i] * element->slots;
		t = element;
	}
	*ret_slots = t->slots;
	return 0;
}

static int composite(struct race_group *g, struct race_lane *lane, uint32_t op, const uint32_t *w, uint32_t n, struct err *e)
{
	uint64_t *to = value(g, lane, w[2]);
	const struct race_type *out = value_type(g, w[2]);
	uint32_t at = 0, slots = 0;
	int rc = 0;
	switch (op) {
	case 77:
		to[0] = value(g, lane, w[3])[*value(g, lane, w[4]) % value_type(g, w[3])->slots];
		return 0;
	case 78:
		memmove(to, value(g, lane, w[3]), out->slots * sizeof *to);
		to[*value(g, lane, w[5]) % out->slots] = *value(g, lane, w[4]);
		return 0;
	case 79:
		for (uint32_t i = 5; i < n && i - 5 < out->slots; i++) {
			uint32_t left = value_type(g, w[3])->slots, right = value_type(g, w[4])->slots;
			if (w[i] != UINT32_MAX && w[i] >= left + right)
				return unknown(op, e);
			to[i - 5] = w[i] == UINT32_MAX ? 0 : w[i] < left ? value(g, lane, w[3])[w[i]] : value(g, lane, w[4])[w[i] - left];
		}
		return 0;
	case 80:
		for (uint32_t i = 3; i < n; at += value_type(g, w[i])->slots, i++) {
			if (at + value_type(g, w[i])->slots > out->slots)
				return unknown(op, e);
			memmove(to + at, value(g, lane, w[i]), value_type(g, w[i])->slots * sizeof *to);
		}
		return 0;
	case 81:
		rc = path(g, value_type(g, w[3]), w + 4, n - 4, &at, &slots, e);
		if (rc == 0)
			memmove(to, value(g, lane, w[3]) + at, slots * sizeof *to);
		return rc;
	default: /* 82 */
		rc = path(g, out, w + 5, n - 5, &at, &slots, e);
		memmove(to, value(g, lane, w[4]), out->slots * sizeof *to);
		if (rc == 0)
			memmove(to + at, value(g, lane, w[3]), slots * sizeof *to);
		return rc;
	}
}

static int reduce(struct race_group *g, struct race_lane *lane, uint32_t op, const uint32_t *w, struct err *e)
{
	const struct race_type *in = value_type(g, w[3]), *one = scalar_of(g, in);
	const uint64_t *a = value(g, lane, w[3]), *b = op == 148 ? value(g, lane, w[4]) : a;
	uint64_t *to = value(g, lane, w[2]);
	double sum = 0;
	bool any = false, all = true;
	for (uint32_t i = 0; i < in->slots; i++) {
		any |= a[i] != 0;
		all &= a[i] != 0;
		sum += one->bits > 1 ? hlsl_race_ops_float(one, a[i]) * hlsl_race_ops_float(one, b[i]) : 0;
	}
	*to = op == 148 ? hlsl_race_ops_bits(one, sum) : op == 154 ? any : all;
	return op == 148 || op == 154 || op == 155 ? 0 : unknown(op, e);
}

static int extended(struct race_group *g, struct race_lane *lane, const uint32_t *w, uint32_t n, struct err *e)
{
	uint64_t *to = value(g, lane, w[2]);
	uint32_t number = w[4];
	if (w[3] != g->m->ext || n < 6)
		return unknown(12, e);
	const uint64_t *a = value(g, lane, w[5]);
	static const struct race_type f32 = { .bits = 32, .slots = 1 }, f16 = { .bits = 16, .slots = 1 };
	if (number == 58) {
		*to = hlsl_race_ops_bits(&f16, hlsl_race_ops_float(&f32, a[0])) | hlsl_race_ops_bits(&f16, hlsl_race_ops_float(&f32, a[1])) << 16;
		return 0;
	}
	if (number == 62) {
		uint64_t low = a[0] & 0xFFFF, high = a[0] >> 16 & 0xFFFF;
		to[0] = hlsl_race_ops_bits(&f32, hlsl_race_ops_float(&f16, low));
		to[1] = hlsl_race_ops_bits(&f32, hlsl_race_ops_float(&f16, high));
		return 0;
	}
	return elementwise(g, lane, number, true, w, n, 5, e);
}

/* --- atomics ------------------------------------------------------------------------------------------------------------ */

static uint64_t updated(uint32_t op, const struct race_type *t, uint64_t old, uint64_t v)
{
	static const struct { uint32_t atomic, plain; } as[] = { { 234, 128 }, { 235, 130 }, { 240, 199 }, { 241, 197 }, { 242, 198 } };
	static const struct { uint32_t atomic, ext; } minmax[] = { { 236, 39 }, { 237, 38 }, { 238, 42 }, { 239, 41 } };
	uint64_t r = v;
	for (size_t i = 0; i < MEM_COUNT(as); i++)
		if (as[i].atomic == op)
			hlsl_race_ops_scalar(as[i].plain, t, t, old, v, 0, &r);
	for (size_t i = 0; i < MEM_COUNT(minmax); i++)
		if (minmax[i].atomic == op)
			hlsl_race_ops_ext(minmax[i].ext, t, old, v, 0, &r);
	if (op == 232 || op == 233)
		hlsl_race_ops_scalar(op == 232 ? 128 : 130, t, t, old, 1, 0, &r);
	return r;
}

static int atomic(struct race_group *g, struct race_lane *lane, uint32_t op, const uint32_t *w, uint32_t n, struct err *e)
{
	uint32_t pointer_at = op == 228 ? 1 : 3, value_at = op == 228 ? 4 : op == 230 ? 7 : 6;
	const uint64_t *p = value(g, lane, w[pointer_at]);
	const struct race_type *t = type_of(g, value_type(g, w[pointer_at])->element);
	uint64_t old = 0, v = op == 227 || op == 232 || op == 233 ? 0 : n > value_at ? *value(g, lane, w[value_at]) : 0;
	const struct race_id *x = &g->m->ids[p[0] < g->m->bound ? p[0] : 0];
	bool shared = x->variable && x->place != RACE_UNSET && type_of(g, x->type)->storage == STORAGE_WORKGROUP;
	if (t == NULL || t->slots != 1)
		return unknown(op, e);
	if (shared && p[1] < type_of(g, type_of(g, x->type)->element)->slots) {
		shadow_atomic(g, lane, (uint32_t)p[0], p[1]);
		old = g->shared[x->place + p[1]];
		if (op != 227 && (op != 230 || old == *value(g, lane, w[8])))
			g->shared[x->place + p[1]] = updated(op, t, old, v);
	} else if (x->variable && x->place == RACE_UNSET) {
		buffer_move(g, &g->memory[p[0]], t, p[1], &old, false);
		uint64_t next = updated(op, t, old, v);
		if (op != 227 && (op != 230 || old == *value(g, lane, w[8])))
			buffer_move(g, &g->memory[p[0]], t, p[1], &next, true);
	}
	if (op != 228)
		*value(g, lane, w[2]) = old;
	return 0;
}

/* --- control ------------------------------------------------------------------------------------------------------------ */

/* Goes to a label; its phis take their values at once, as if side by side. */
static int jump(struct race_group *g, struct race_lane *lane, uint32_t label, struct err *e)
{
	if (label >= g->m->bound || g->m->ids[label].at == 0)
		return unknown(249, e);
	lane->previous = lane->block;
	lane->block = label;
	lane->at = g->m->ids[label].at;
	uint64_t kept[256];
	uint32_t used = 0, end = lane->at;
	for (int pass = 0; pass < 2; pass++) {
		used = 0;
		for (end = lane->at; (g->m->words[end] & 0xFFFF) == PHI; end += g->m->words[end] >> 16) {
			const uint32_t *w = g->m->words + end;
			uint32_t n = w[0] >> 16, slots = value_type(g, w[2])->slots;
			if (used + slots > MEM_COUNT(kept))
				return unknown(PHI, e);
			for (uint32_t i = 3; pass == 0 && i + 1 < n; i += 2)
				if (w[i + 1] == lane->previous)
					memcpy(kept + used, value(g, lane, w[i]), slots * sizeof *kept);
			if (pass == 1)
				memcpy(value(g, lane, w[2]), kept + used, slots * sizeof *kept);
			used += slots;
		}
	}
	lane->at = end;
	return 0;
}

static int call(struct race_group *g, struct race_lane *lane, const uint32_t *w, uint32_t n, struct err *e)
{
	if (lane->depth == RACE_DEPTH || w[3] >= g->m->bound || g->m->ids[w[3]].at == 0)
		return unknown(57, e);
	lane->stack[lane->depth++] = (struct race_frame){ lane->at, w[2], lane->block, lane->previous };
	lane->at = g->m->ids[w[3]].at;
	for (uint32_t i = 4; i < n; i++, lane->at += g->m->words[lane->at] >> 16) {
		uint32_t parameter = g->m->words[lane->at + 2];
		memmove(value(g, lane, parameter), value(g, lane, w[i]), value_type(g, parameter)->slots * sizeof(uint64_t));
	}
	return 0;
}

static void give_back(struct race_group *g, struct race_lane *lane, const uint64_t *result)
{
	if (lane->depth == 0) {
		lane->done = true;
		return;
	}
	struct race_frame f = lane->stack[--lane->depth];
	if (result)
		memmove(value(g, lane, f.result), result, value_type(g, f.result)->slots * sizeof *result);
	lane->at = f.at;
	lane->block = f.block;
	lane->previous = f.previous;
}

static int control(struct race_group *g, struct race_lane *lane, uint32_t op, const uint32_t *w, uint32_t n, struct err *e)
{
	uint32_t to = w[n > 2 ? 2 : 1];
	switch (op) {
	case 57: return call(g, lane, w, n, e);
	case LABEL: lane->block = w[1]; return 0;
	case 249: return jump(g, lane, w[1], e);
	case 250: return jump(g, lane, *value(g, lane, w[1]) ? w[2] : w[3], e);
	case 251:
		for (uint32_t i = 3; i + 1 < n; i += 2)
			if ((uint32_t)*value(g, lane, w[1]) == w[i])
				to = w[i + 1];
		return jump(g, lane, to, e);
	case 252: case 253: give_back(g, lane, NULL); return 0;
	case 254: give_back(g, lane, value(g, lane, w[1])); return 0;
	default: return unknown(op, e);
	}
}

static int one(struct race_group *g, struct race_lane *lane, uint32_t op, const uint32_t *w, uint32_t n, struct err *e)
{
	const struct race_id *x;
	switch (op) {
	case 8: case 225: case 246: case 247: case 256: case 257: case 317: return 0; /* lines, memory barriers, merges, lifetimes */
	case 1: memset(value(g, lane, w[2]), 0, value_type(g, w[2])->slots * sizeof(uint64_t)); return 0;
	case 12: return extended(g, lane, w, n, e);
	case 59:
		x = &g->m->ids[w[2]];
		if (x->init && x->place != RACE_UNSET)
			memcpy(lane->slots + x->place, value(g, lane, x->init), value_type(g, x->init)->slots * sizeof(uint64_t));
		return 0;
	case 61: move(g, lane, value(g, lane, w[3]), value_type(g, w[2]), value(g, lane, w[2]), false); return 0;
	case 62: move(g, lane, value(g, lane, w[1]), value_type(g, w[2]), value(g, lane, w[2]), true); return 0;
	case 65: case 66: return access_chain(g, lane, w, n, e);
	case 83: case 400: memmove(value(g, lane, w[2]), value(g, lane, w[3]), value_type(g, w[2])->slots * sizeof(uint64_t)); return 0;
	case 142: return elementwise(g, lane, 133, false, w, n, 3, e);
	case 148: case 154: case 155: return reduce(g, lane, op, w, e);
	case 224: lane->barrier = lane->at; return 0;
	default: break;
	}
	if (op >= 77 && op <= 82)
		return composite(g, lane, op, w, n, e);
	if (op >= 227 && op <= 242)
		return atomic(g, lane, op, w, n, e);
	if (op == 57 || op >= LABEL)
		return control(g, lane, op, w, n, e);
	return op >= 109 && op <= 205 ? elementwise(g, lane, op, false, w, n, 3, e) : unknown(op, e);
}

int hlsl_race_lane_run(struct race_group *g, struct race_lane *lane, struct err *e)
{
	int rc = 0;
	lane->barrier = 0;
	while (rc == 0 && !lane->done && lane->barrier == 0 && g->finding == NULL && g->budget > 0) {
		const uint32_t *w = g->m->words + lane->at;
		uint32_t op = w[0] & 0xFFFF, n = w[0] >> 16;
		lane->at += n;
		g->budget--;
		rc = one(g, lane, op, w, n, e);
	}
	return rc;
}

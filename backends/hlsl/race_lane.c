/* race_lane: see race_lane.h. Numbers of operations are SPIR-V's. */
#include "backends/hlsl/race_lane.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

enum { PHI = 245, LABEL = 248, SCOPE_WORKGROUP = 2, DEVICE_MEMORY = 0x40 };

/* --- values ------------------------------------------------------------------------------------------------------- */

static const struct spirv_type *scalar_of(const struct race_group *g, const struct spirv_type *t)
{
	return t->op == SPIRV_TYPE_VECTOR ? race_type_of(g, t->element) : t;
}

static int access_chain(struct race_group *g, struct race_lane *lane, const uint32_t *w, uint32_t n, struct err *e)
{
	const uint64_t *base = race_value(g, lane, w[3]);
	const struct spirv_type *p = race_value_type(g, w[3]), *t = race_type_of(g, p->element);
	uint64_t variable = base[0], at = base[1];
	bool logical = variable < g->m->s.bound && g->m->ids[variable].place != SPIRV_UNSET;
	for (uint32_t i = 4; i < n; i++) {
		const struct spirv_type *it = race_value_type(g, w[i]);
		uint64_t index = *race_value(g, lane, w[i]);
		int64_t k = it->is_signed && it->bits == 32 ? (int32_t)(uint32_t)index : (int64_t)index;
		if (t->op == SPIRV_TYPE_STRUCT) {
			if (index >= t->count)
				return hlsl_race_unknown(65, e);
			for (uint64_t m = 0; logical && m < index; m++)
				at += race_type_of(g, t->members[m])->slots;
			at += logical ? 0 : t->offsets[index];
			t = race_type_of(g, t->members[index]);
			continue;
		}
		const struct spirv_type *element = race_type_of(g, t->element);
		at += (uint64_t)(k * (int64_t)(logical ? element->slots : t->stride ? t->stride : element->bits / 8));
		t = element;
	}
	uint64_t *to = race_value(g, lane, w[2]);
	to[0] = variable;
	to[1] = at;
	return 0;
}

/* An operation on each component. ext: of GLSL.std.450, whose sources stand two words later. */
static int elementwise(struct race_group *g, struct race_lane *lane, uint32_t op, bool ext, const uint32_t *w, uint32_t n,
		       struct err *e)
{
	const uint32_t first = ext ? 5 : 3;
	const struct spirv_type *out = race_value_type(g, w[2]), *in = NULL;
	uint64_t *to = race_value(g, lane, w[2]), *from[3] = { NULL };
	uint32_t step[3] = { 0 };
	for (uint32_t i = 0; i < 3 && first + i < n; i++) {
		const struct spirv_type *t = race_value_type(g, w[first + i]);
		if (t == NULL || (t->slots != 1 && t->slots != out->slots))
			return hlsl_race_unknown(op, e);
		from[i] = race_value(g, lane, w[first + i]);
		step[i] = t->slots > 1;
		in = in ? in : scalar_of(g, t);
	}
	if (in == NULL)
		return hlsl_race_unknown(op, e);
	const struct spirv_type *one = scalar_of(g, out);
	for (uint32_t i = 0; i < out->slots; i++) {
		uint64_t v[3] = { 0 };
		bool known = true;
		for (int k = 0; k < 3; k++)
			v[k] = from[k] ? from[k][i * step[k]] : 0;
		to[i] = hlsl_race_compute(op, ext, one, in, v, &known);
		if (!known)
			return hlsl_race_unknown(ext ? 12 : op, e);
	}
	return 0;
}

/* The offset of a literal index path inside a composite. */
static int path(const struct race_group *g, const struct spirv_type *t, const uint32_t *at, uint32_t count, uint32_t *ret,
		uint32_t *ret_slots, struct err *e)
{
	*ret = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (at[i] >= t->count)
			return hlsl_race_unknown(81, e);
		for (uint32_t m = 0; t->op == SPIRV_TYPE_STRUCT && m < at[i]; m++)
			*ret += race_type_of(g, t->members[m])->slots;
		const struct spirv_type *element = race_type_of(g, t->op == SPIRV_TYPE_STRUCT ? t->members[at[i]] : t->element);
		*ret += t->op == SPIRV_TYPE_STRUCT ? 0 : at[i] * element->slots;
		t = element;
	}
	*ret_slots = t->slots;
	return 0;
}

static int composite(struct race_group *g, struct race_lane *lane, uint32_t op, const uint32_t *w, uint32_t n, struct err *e)
{
	uint64_t *to = race_value(g, lane, w[2]);
	const struct spirv_type *out = race_value_type(g, w[2]);
	uint32_t at = 0, slots = 0;
	int rc = 0;
	switch (op) {
	case 77: to[0] = race_value(g, lane, w[3])[*race_value(g, lane, w[4]) % race_value_type(g, w[3])->slots]; return 0;
	case 78:
		memmove(to, race_value(g, lane, w[3]), out->slots * sizeof *to);
		to[*race_value(g, lane, w[5]) % out->slots] = *race_value(g, lane, w[4]);
		return 0;
	case 79:
		for (uint32_t i = 5; i < n && i - 5 < out->slots; i++) {
			uint32_t left = race_value_type(g, w[3])->slots, right = race_value_type(g, w[4])->slots;
			if (w[i] != UINT32_MAX && w[i] >= left + right)
				return hlsl_race_unknown(op, e);
			to[i - 5] = w[i] == UINT32_MAX ? 0
				    : w[i] < left      ? race_value(g, lane, w[3])[w[i]]
						       : race_value(g, lane, w[4])[w[i] - left];
		}
		return 0;
	case 80:
		for (uint32_t i = 3; i < n; at += race_value_type(g, w[i])->slots, i++) {
			if (at + race_value_type(g, w[i])->slots > out->slots)
				return hlsl_race_unknown(op, e);
			memmove(to + at, race_value(g, lane, w[i]), race_value_type(g, w[i])->slots * sizeof *to);
		}
		return 0;
	case 81:
		rc = path(g, race_value_type(g, w[3]), w + 4, n - 4, &at, &slots, e);
		if (rc == 0)
			memmove(to, race_value(g, lane, w[3]) + at, slots * sizeof *to);
		return rc;
	default: /* 82 */
		rc = path(g, out, w + 5, n - 5, &at, &slots, e);
		memmove(to, race_value(g, lane, w[4]), out->slots * sizeof *to);
		if (rc == 0)
			memmove(to + at, race_value(g, lane, w[3]), slots * sizeof *to);
		return rc;
	}
}

static int reduce(struct race_group *g, struct race_lane *lane, uint32_t op, const uint32_t *w, struct err *e)
{
	const struct spirv_type *in = race_value_type(g, w[3]), *one = scalar_of(g, in);
	const uint64_t *a = race_value(g, lane, w[3]), *b = op == 148 ? race_value(g, lane, w[4]) : a;
	uint64_t *to = race_value(g, lane, w[2]);
	double sum = 0;
	bool any = false, all = true;
	for (uint32_t i = 0; i < in->slots; i++) {
		any |= a[i] != 0;
		all &= a[i] != 0;
		sum += one->bits > 1 ? hlsl_race_float(one, a[i]) * hlsl_race_float(one, b[i]) : 0;
	}
	*to = op == 148 ? hlsl_race_bits(one, sum) : op == 154 ? any : all;
	return op == 148 || op == 154 || op == 155 ? 0 : hlsl_race_unknown(op, e);
}

static int extended(struct race_group *g, struct race_lane *lane, const uint32_t *w, uint32_t n, struct err *e)
{
	uint64_t *to = race_value(g, lane, w[2]);
	uint32_t number = w[4];
	if (w[3] != g->m->s.ext || n < 6)
		return hlsl_race_unknown(12, e);
	const uint64_t *a = race_value(g, lane, w[5]);
	static const struct spirv_type f32 = { .bits = 32, .slots = 1 }, f16 = { .bits = 16, .slots = 1 };
	if (number == 58) {
		*to = hlsl_race_bits(&f16, hlsl_race_float(&f32, a[0])) | hlsl_race_bits(&f16, hlsl_race_float(&f32, a[1])) << 16;
		return 0;
	}
	if (number == 62) {
		uint64_t low = a[0] & 0xFFFF, high = a[0] >> 16 & 0xFFFF;
		to[0] = hlsl_race_bits(&f32, hlsl_race_float(&f16, low));
		to[1] = hlsl_race_bits(&f32, hlsl_race_float(&f16, high));
		return 0;
	}
	enum { LENGTH = 66, DISTANCE = 67, CROSS = 68, NORMALIZE = 69, REFLECT = 71 };
	if (number < LENGTH || number > REFLECT || number == REFLECT - 1)
		return elementwise(g, lane, number, true, w, n, e);
	const struct spirv_type *in = race_value_type(g, w[5]), *one = scalar_of(g, in);
	const uint64_t *b = number == LENGTH || number == NORMALIZE ? NULL : race_value(g, lane, w[6]);
	double square = 0, dot = 0, x[4], y[4] = { 0 };
	if (in->slots > MEM_COUNT(x))
		return hlsl_race_unknown(12, e);
	for (uint32_t i = 0; i < in->slots; i++) {
		x[i] = hlsl_race_float(one, a[i]);
		y[i] = b ? hlsl_race_float(one, b[i]) : 0;
		square += number == DISTANCE ? (x[i] - y[i]) * (x[i] - y[i]) : x[i] * x[i];
		dot += x[i] * y[i];
	}
	for (uint32_t i = 0; number >= CROSS && i < in->slots; i++) {
		uint32_t j = (i + 1) % 3, k = (i + 2) % 3;
		to[i] = hlsl_race_bits(one, number == CROSS       ? x[j] * y[k] - x[k] * y[j]
					    : number == NORMALIZE ? x[i] / sqrt(square)
								  : x[i] - 2 * dot * y[i]);
	}
	if (number < CROSS)
		*to = hlsl_race_bits(one, sqrt(square));
	return 0;
}

/* --- control ------------------------------------------------------------------------------------------------------------ */

/* Keeps the list of loops that the lane is in. */
static int enter(const struct race_group *g, struct race_lane *lane, uint32_t label, struct err *e)
{
	uint32_t base = lane->depth ? lane->stack[lane->depth - 1].loops : 0, at = lane->loop_count;
	while (lane->loop_count > base && g->m->ids[lane->loops[lane->loop_count - 1].header].merge == label)
		lane->loop_count--;
	if (g->m->ids[label].merge == 0)
		return 0;
	for (at = lane->loop_count; at > base && lane->loops[at - 1].header != label;)
		at--;
	if (at == base && lane->loop_count == RACE_LOOPS)
		return err_set(e, ERR_UNSUPPORTED, "loops are nested too deeply for the race check");
	if (at == base)
		lane->loops[lane->loop_count++] = (struct race_loop){ .header = label };
	else
		lane->loops[(lane->loop_count = at) - 1].turns++;
	return 0;
}

int hlsl_race_lane_order(const struct race_lane *a, const struct race_lane *b)
{
	for (uint32_t f = 0, from = 0;; f++) {
		uint32_t ends[2] = { f < a->depth ? a->stack[f].loops : a->loop_count,
				     f < b->depth ? b->stack[f].loops : b->loop_count };
		uint32_t at[2] = { f < a->depth ? a->stack[f].at : a->at, f < b->depth ? b->stack[f].at : b->at };
		for (; from < ends[0] && from < ends[1] && a->loops[from].header == b->loops[from].header; from++)
			if (a->loops[from].turns != b->loops[from].turns)
				return a->loops[from].turns < b->loops[from].turns ? -1 : 1;
		if (at[0] != at[1])
			return at[0] < at[1] ? -1 : 1;
		if (f >= a->depth || f >= b->depth)
			return 0;
		from = ends[0];
	}
}

/* Jumps to a label; its phis all take the values from before the jump. */
static int jump(struct race_group *g, struct race_lane *lane, uint32_t label, struct err *e)
{
	if (label >= g->m->s.bound || g->m->ids[label].at == 0)
		return hlsl_race_unknown(249, e);
	if (enter(g, lane, label, e) < 0)
		return -(int)e->code;
	lane->previous = lane->block;
	lane->block = label;
	lane->at = g->m->ids[label].at;
	uint64_t kept[256];
	uint32_t used = 0, end = lane->at;
	for (int pass = 0; pass < 2; pass++) {
		used = 0;
		for (end = lane->at; (g->m->s.words[end] & 0xFFFF) == PHI; end += g->m->s.words[end] >> 16) {
			const uint32_t *w = g->m->s.words + end;
			uint32_t n = w[0] >> 16, slots = race_value_type(g, w[2])->slots;
			if (used + slots > MEM_COUNT(kept))
				return hlsl_race_unknown(PHI, e);
			for (uint32_t i = 3; pass == 0 && i + 1 < n; i += 2)
				if (w[i + 1] == lane->previous)
					memcpy(kept + used, race_value(g, lane, w[i]), slots * sizeof *kept);
			if (pass == 1)
				memcpy(race_value(g, lane, w[2]), kept + used, slots * sizeof *kept);
			used += slots;
		}
	}
	lane->at = end;
	return 0;
}

static void return_from(struct race_group *g, struct race_lane *lane, const uint64_t *result)
{
	if (lane->depth == 0) {
		lane->state = RACE_DONE;
		return;
	}
	struct race_frame f = lane->stack[--lane->depth];
	if (result)
		memmove(race_value(g, lane, f.result), result, race_value_type(g, f.result)->slots * sizeof *result);
	lane->at = f.at;
	lane->block = f.block;
	lane->previous = f.previous;
	lane->loop_count = f.loops;
}

static int control(struct race_group *g, struct race_lane *lane, uint32_t op, const uint32_t *w, uint32_t n, struct err *e)
{
	uint32_t to = w[n > 2 ? 2 : 1];
	switch (op) {
	case 57: {
		if (lane->depth == RACE_DEPTH || w[3] >= g->m->s.bound || g->m->ids[w[3]].at == 0)
			return hlsl_race_unknown(57, e);
		lane->stack[lane->depth++] = (struct race_frame){ lane->at, w[2], lane->block, lane->previous, lane->loop_count };
		lane->at = g->m->ids[w[3]].at;
		for (uint32_t i = 4; i < n; i++, lane->at += g->m->s.words[lane->at] >> 16) {
			uint32_t parameter = g->m->s.words[lane->at + 2];
			memmove(race_value(g, lane, parameter), race_value(g, lane, w[i]),
				race_value_type(g, parameter)->slots * sizeof(uint64_t));
		}
		return 0;
	}
	case LABEL: lane->block = w[1]; return 0;
	case 249: return jump(g, lane, w[1], e);
	case 250: return jump(g, lane, *race_value(g, lane, w[1]) ? w[2] : w[3], e);
	case 251:
		for (uint32_t i = 3; i + 1 < n; i += 2)
			if ((uint32_t)*race_value(g, lane, w[1]) == w[i])
				to = w[i + 1];
		return jump(g, lane, to, e);
	case 252:
	case 253: return_from(g, lane, NULL); return 0;
	case 254: return_from(g, lane, race_value(g, lane, w[1])); return 0;
	default: return hlsl_race_unknown(op, e);
	}
}

/* Elements of the runtime array that ends a buffer's struct. */
static int array_length(struct race_group *g, struct race_lane *lane, const uint32_t *w, struct err *e)
{
	uint64_t buffer = *race_value(g, lane, w[3]);
	const struct spirv_type *t = race_type_of(g, race_value_type(g, w[3])->element);
	if (t->op != SPIRV_TYPE_STRUCT || w[4] >= t->count || buffer >= g->m->s.bound)
		return hlsl_race_unknown(68, e);
	uint64_t len = g->memory[buffer].len, stride = race_type_of(g, t->members[w[4]])->stride, from = t->offsets[w[4]];
	*race_value(g, lane, w[2]) = stride && len > from ? (len - from) / stride : 0;
	return 0;
}

static int one(struct race_group *g, struct race_lane *lane, uint32_t op, const uint32_t *w, uint32_t n, struct err *e)
{
	const struct race_id *x;
	switch (op) {
	case 225:
		if (*race_value(g, lane, w[2]) & DEVICE_MEMORY)
			hlsl_race_fence(g, lane);
		return 0;
	case 8:
	case 246:
	case 247:
	case 256:
	case 257:
	case 317: return 0; /* lines, merges, lifetimes */
	case 1: return 0;   /* undefined from the start */
	case 12: return extended(g, lane, w, n, e);
	case 59:
		x = &g->m->ids[w[2]];
		if (x->init && x->place != SPIRV_UNSET)
			memcpy(lane->slots + x->place, race_value(g, lane, x->init),
			       race_value_type(g, x->init)->slots * sizeof(uint64_t));
		return 0;
	case 61:
		hlsl_race_move(g, lane, race_value(g, lane, w[3]), race_value_type(g, w[2]), race_value(g, lane, w[2]), false);
		return 0;
	case 62:
		hlsl_race_move(g, lane, race_value(g, lane, w[1]), race_value_type(g, w[2]), race_value(g, lane, w[2]), true);
		return 0;
	case 65:
	case 66: return access_chain(g, lane, w, n, e);
	case 83:
	case 400:
		memmove(race_value(g, lane, w[2]), race_value(g, lane, w[3]), race_value_type(g, w[2])->slots * sizeof(uint64_t));
		return 0;
	case 142: return elementwise(g, lane, 133, false, w, n, e);
	case 148:
	case 154:
	case 155: return reduce(g, lane, op, w, e);
	case 68: return array_length(g, lane, w, e);
	case 224:
		if (*race_value(g, lane, w[1]) != SCOPE_WORKGROUP)
			return err_set(e, ERR_UNSUPPORTED, "the race check knows no barriers of other scopes than the group");
		if (*race_value(g, lane, w[3]) & DEVICE_MEMORY)
			hlsl_race_fence(g, lane);
		lane->state = RACE_AT_BARRIER;
		return 0;
	default: break;
	}
	if (op >= 77 && op <= 82)
		return composite(g, lane, op, w, n, e);
	if (op >= 227 && op <= 242)
		return hlsl_race_atomic(g, lane, op, w, n, e);
	if (op == 57 || op >= LABEL)
		return control(g, lane, op, w, n, e);
	return op >= 109 && op <= 205 ? elementwise(g, lane, op, false, w, n, e) : hlsl_race_unknown(op, e);
}

int hlsl_race_lane_run(struct race_group *g, struct race_lane *lane, struct err *e)
{
	int rc = 0;
	while (rc == 0 && lane->state == RACE_RUNS && g->finding == NULL && g->budget > g->until) {
		const uint32_t *w = g->m->s.words + lane->at;
		uint32_t op = w[0] & 0xFFFF, n = w[0] >> 16;
		if (op >= RACE_WAVE_FIRST && op <= RACE_WAVE_LAST) {
			lane->state = RACE_AT_WAVE;
			return 0;
		}
		lane->now = lane->at;
		lane->at += n;
		g->budget--;
		if (g->counting)
			hlsl_race_count_op(g, op, w);
		rc = one(g, lane, op, w, n, e);
	}
	return rc;
}

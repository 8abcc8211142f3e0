/* race_lane: see race_lane.h. Numbers of operations are SPIR-V's. */
#include "backends/hlsl/race_lane.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/wire/dtype.h"
#include "base/mem.h"

enum { TYPE_VECTOR = 23, TYPE_ARRAY = 28, TYPE_STRUCT = 30, STORAGE_WORKGROUP = 4, PHI = 245, LABEL = 248 };

int hlsl_race_lane_unknown(uint32_t op, struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED, "the race check does not know SPIR-V instruction %u", op);
}

/* --- arithmetic: floats are computed as doubles and rounded once, near enough to any device for control flow ------------------ */

static double as_float(const struct race_type *t, uint64_t bits)
{
	uint32_t u = (uint32_t)bits;
	uint16_t h = (uint16_t)bits;
	double d;
	float f;
	if (t->bits == 16)
		return dtype_load(DTYPE_F16, &h);
	memcpy(&f, &u, sizeof f);
	memcpy(&d, &bits, sizeof d);
	return t->bits == 64 ? d : (double)f;
}

static uint64_t as_bits(const struct race_type *t, double value)
{
	uint64_t bits;
	uint32_t u;
	uint16_t h = 0;
	float f = (float)value;

	memcpy(&bits, &value, sizeof bits);
	memcpy(&u, &f, sizeof u);
	if (t->bits == 16)
		dtype_store(DTYPE_F16, &h, value);
	return t->bits == 64 ? bits : t->bits == 16 ? h : u;
}

static int64_t as_signed(const struct race_type *t, uint64_t x)
{
	return t->bits >= 64   ? (int64_t)x
	       : t->bits == 32 ? (int32_t)(uint32_t)x
	       : t->bits == 16 ? (int16_t)(uint16_t)x
			       : (int8_t)(uint8_t)x;
}

static uint64_t cut(const struct race_type *t, uint64_t x)
{
	return t->bits >= 64 ? x : x & (((uint64_t)1 << t->bits) - 1);
}

static bool compare(uint32_t op, double x, double y)
{
	if (isnan(x) || isnan(y))
		return (op & 1) != 0; /* the odd ones are the unordered comparisons */
	switch (op & ~1u) {
	case 180: return x == y;
	case 182: return x != y;
	case 184: return x < y;
	case 186: return x > y;
	case 188: return x <= y;
	default: return x >= y;
	}
}

/* Arithmetic whose result is a float of the operands' type. */
static double float_result(uint32_t op, double x, double y, bool *io_known)
{
	switch (op) {
	case 127: return -x;
	case 129: return x + y;
	case 131: return x - y;
	case 133: return x * y;
	case 136: return x / y;
	case 140: return fmod(x, y);
	case 141: return x - y * floor(x / y);
	default: *io_known = false; return 0;
	}
}

static uint64_t int_result(uint32_t op, const struct race_type *in, uint64_t a, uint64_t b, bool *io_known)
{
	int64_t x = as_signed(in, a), y = as_signed(in, b);
	uint64_t u = cut(in, a), v = cut(in, b), shift = v & (in->bits - 1);
	bool bad = y == 0 || y == -1; /* the hardware's division by zero, and overflow */

	switch (op) {
	case 126: return 0 - u;
	case 128: return u + v;
	case 130: return u - v;
	case 132: return u * v;
	case 134: return v ? u / v : UINT64_MAX;
	case 135: return bad ? 0 - u : (uint64_t)(x / y);
	case 137: return v ? u % v : UINT64_MAX;
	case 138: return bad ? 0 : (uint64_t)(x % y);
	case 139: return bad ? 0 : (uint64_t)((x % y + y) % y);
	case 170: return u == v;
	case 171: return u != v;
	case 172: return u > v;
	case 173: return x > y;
	case 174: return u >= v;
	case 175: return x >= y;
	case 176: return u < v;
	case 177: return x < y;
	case 178: return u <= v;
	case 179: return x <= y;
	case 194: return u >> shift;
	case 195: return (uint64_t)(x >> shift);
	case 196: return u << shift;
	case 197: return u | v;
	case 198: return u ^ v;
	case 199: return u & v;
	case 200: return ~u;
	case 205: return (uint64_t)__builtin_popcountll(u);
	default: *io_known = false; return 0;
	}
}

/* Conversions, logic and comparisons of floats, whose results have a type of their own; then the arithmetic. `in`: the
 * operands' type. *io_known becomes false for an operation that is not here. */
static uint64_t scalar_result(uint32_t op, const struct race_type *out, const struct race_type *in, const uint64_t v[3],
			      bool *io_known)
{
	uint64_t a = v[0], b = v[1];
	double x = as_float(in, a), y = as_float(in, b), z;
	bool is_float = true;

	switch (op) {
	case 83:
	case 124: return a;
	case 109: return cut(out, (uint64_t)(x > 0 ? x < 1.8e19 ? x : 1.8e19 : 0));
	case 110: return cut(out, (uint64_t)(int64_t)(fabs(x) < 9e18 ? x : 0));
	case 111: return as_bits(out, (double)as_signed(in, a));
	case 112: return as_bits(out, (double)cut(in, a));
	case 113: return cut(out, cut(in, a));
	case 114: return cut(out, (uint64_t)as_signed(in, a));
	case 115: return as_bits(out, x);
	case 156: return isnan(x) != 0;
	case 157: return isinf(x) != 0;
	case 164: return a == b;
	case 165: return a != b;
	case 166: return a | b;
	case 167: return a & b;
	case 168: return !a;
	case 169: return a ? b : v[2];
	default: break;
	}
	if (op >= 180 && op <= 191)
		return compare(op, x, y);
	z = float_result(op, x, y, &is_float);
	return is_float ? as_bits(out, z) : cut(out, int_result(op, in, a, b, io_known));
}

/* An instruction of GLSL.std.450. */
static uint64_t ext_result(uint32_t n, const struct race_type *t, const uint64_t v[3], bool *io_known)
{
	uint64_t a = v[0], b = v[1], c = v[2];
	int64_t i = as_signed(t, a), j = as_signed(t, b), k = as_signed(t, c);
	double x = as_float(t, a), y = as_float(t, b), z = as_float(t, c);

	switch (n) {
	case 1:
	case 2: return as_bits(t, nearbyint(x));
	case 3: return as_bits(t, trunc(x));
	case 4: return as_bits(t, fabs(x));
	case 5: return cut(t, (uint64_t)(i < 0 ? -i : i));
	case 6: return as_bits(t, (x > 0) - (x < 0));
	case 7: return cut(t, (uint64_t)((i > 0) - (i < 0)));
	case 8: return as_bits(t, floor(x));
	case 9: return as_bits(t, ceil(x));
	case 10: return as_bits(t, x - floor(x));
	case 13: return as_bits(t, sin(x));
	case 14: return as_bits(t, cos(x));
	case 15: return as_bits(t, tan(x));
	case 21: return as_bits(t, tanh(x));
	case 26: return as_bits(t, pow(x, y));
	case 27: return as_bits(t, exp(x));
	case 28: return as_bits(t, log(x));
	case 29: return as_bits(t, exp2(x));
	case 30: return as_bits(t, log2(x));
	case 31: return as_bits(t, sqrt(x));
	case 32: return as_bits(t, 1 / sqrt(x));
	case 37:
	case 79: return as_bits(t, fmin(x, y));
	case 38: return a < b ? a : b;
	case 39: return i < j ? a : b;
	case 40:
	case 80: return as_bits(t, fmax(x, y));
	case 41: return a > b ? a : b;
	case 42: return i > j ? a : b;
	case 43:
	case 81: return as_bits(t, fmin(fmax(x, y), z));
	case 44: return a < b ? b : a > c ? c : a;
	case 45: return i < j ? b : i > k ? c : a;
	case 46: return as_bits(t, x * (1 - z) + y * z);
	case 48: return as_bits(t, y < x ? 0 : 1);
	case 50: return as_bits(t, fma(x, y, z));
	default: *io_known = false; return 0;
	}
}

/* --- values in memory --------------------------------------------------------------------------------------------- */

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

/* Several threads may write the same number, such as a flag. */
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

/* Scalars of a type between slots and a buffer's bytes; outside of the buffer reads give zero and writes do nothing. */
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
			slots = buffer_move(g, mem, element, at + (uint64_t)i * (t->stride ? t->stride : element->bits / 8), slots,
					    store);
		return slots;
	}
	bool inside = mem->bytes && at + bytes <= mem->len && at + bytes >= at;
	if (!store)
		*slots = 0;
	if (inside && store)
		memcpy(mem->bytes + at, slots, bytes); /* little-endian, like every host that peakd runs on */
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
			g->finding =
				mem_fmt("thread %u reaches outside of groupshared %s", lane->index, x->name ? x->name : "memory");
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
				return hlsl_race_lane_unknown(65, e);
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
			return hlsl_race_lane_unknown(op, e);
		from[i] = value(g, lane, w[first + i]);
		step[i] = t->slots > 1;
		in = in ? in : scalar_of(g, t);
	}
	if (in == NULL)
		return hlsl_race_lane_unknown(op, e);
	const struct race_type *one = scalar_of(g, out);
	for (uint32_t i = 0; i < out->slots; i++) {
		uint64_t v[3] = { 0 };
		bool known = true;

		for (int k = 0; k < 3; k++)
			v[k] = from[k] ? from[k][i * step[k]] : 0;
		to[i] = ext ? ext_result(op, one, v, &known) : scalar_result(op, one, in, v, &known);
		if (!known)
			return hlsl_race_lane_unknown(ext ? 12 : op, e);
	}
	return 0;
}

/* The offset of a literal index path inside a composite. */
static int path(const struct race_group *g, const struct race_type *t, const uint32_t *at, uint32_t count, uint32_t *ret,
		uint32_t *ret_slots, struct err *e)
{
	*ret = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (at[i] >= t->count)
			return hlsl_race_lane_unknown(81, e);
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
	case 77: to[0] = value(g, lane, w[3])[*value(g, lane, w[4]) % value_type(g, w[3])->slots]; return 0;
	case 78:
		memmove(to, value(g, lane, w[3]), out->slots * sizeof *to);
		to[*value(g, lane, w[5]) % out->slots] = *value(g, lane, w[4]);
		return 0;
	case 79:
		for (uint32_t i = 5; i < n && i - 5 < out->slots; i++) {
			uint32_t left = value_type(g, w[3])->slots, right = value_type(g, w[4])->slots;
			if (w[i] != UINT32_MAX && w[i] >= left + right)
				return hlsl_race_lane_unknown(op, e);
			to[i - 5] = w[i] == UINT32_MAX ? 0
				    : w[i] < left      ? value(g, lane, w[3])[w[i]]
						       : value(g, lane, w[4])[w[i] - left];
		}
		return 0;
	case 80:
		for (uint32_t i = 3; i < n; at += value_type(g, w[i])->slots, i++) {
			if (at + value_type(g, w[i])->slots > out->slots)
				return hlsl_race_lane_unknown(op, e);
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
		sum += one->bits > 1 ? as_float(one, a[i]) * as_float(one, b[i]) : 0;
	}
	*to = op == 148 ? as_bits(one, sum) : op == 154 ? any : all;
	return op == 148 || op == 154 || op == 155 ? 0 : hlsl_race_lane_unknown(op, e);
}

static int extended(struct race_group *g, struct race_lane *lane, const uint32_t *w, uint32_t n, struct err *e)
{
	uint64_t *to = value(g, lane, w[2]);
	uint32_t number = w[4];
	if (w[3] != g->m->ext || n < 6)
		return hlsl_race_lane_unknown(12, e);
	const uint64_t *a = value(g, lane, w[5]);
	static const struct race_type f32 = { .bits = 32, .slots = 1 }, f16 = { .bits = 16, .slots = 1 };
	if (number == 58) {
		*to = as_bits(&f16, as_float(&f32, a[0])) | as_bits(&f16, as_float(&f32, a[1])) << 16;
		return 0;
	}
	if (number == 62) {
		uint64_t low = a[0] & 0xFFFF, high = a[0] >> 16 & 0xFFFF;
		to[0] = as_bits(&f32, as_float(&f16, low));
		to[1] = as_bits(&f32, as_float(&f16, high));
		return 0;
	}
	return elementwise(g, lane, number, true, w, n, 5, e);
}

/* --- atomics ------------------------------------------------------------------------------------------------------------ */

static uint64_t updated(uint32_t op, const struct race_type *t, uint64_t old, uint64_t operand)
{
	static const struct {
		uint32_t atomic, plain, ext; /* the operation that does the same, of SPIR-V or of GLSL.std.450 */
	} as[] = { { 232, 128, 0 }, { 233, 130, 0 }, { 234, 128, 0 }, { 235, 130, 0 }, { 236, 0, 39 }, { 237, 0, 38 },
		   { 238, 0, 42 },  { 239, 0, 41 },  { 240, 199, 0 }, { 241, 197, 0 }, { 242, 198, 0 } };
	uint64_t v[3] = { old, op == 232 || op == 233 ? 1 : operand, 0 };
	bool known = true;

	for (size_t i = 0; i < MEM_COUNT(as); i++)
		if (as[i].atomic == op)
			return as[i].plain ? scalar_result(as[i].plain, t, t, v, &known) : ext_result(as[i].ext, t, v, &known);
	return operand;
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
		return hlsl_race_lane_unknown(op, e);
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

/* Jumps to a label; its phis all take the values from before the jump. */
static int jump(struct race_group *g, struct race_lane *lane, uint32_t label, struct err *e)
{
	if (label >= g->m->bound || g->m->ids[label].at == 0)
		return hlsl_race_lane_unknown(249, e);
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
				return hlsl_race_lane_unknown(PHI, e);
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
		return hlsl_race_lane_unknown(57, e);
	lane->stack[lane->depth++] = (struct race_frame){ lane->at, w[2], lane->block, lane->previous };
	lane->at = g->m->ids[w[3]].at;
	for (uint32_t i = 4; i < n; i++, lane->at += g->m->words[lane->at] >> 16) {
		uint32_t parameter = g->m->words[lane->at + 2];
		memmove(value(g, lane, parameter), value(g, lane, w[i]), value_type(g, parameter)->slots * sizeof(uint64_t));
	}
	return 0;
}

static void return_from(struct race_group *g, struct race_lane *lane, const uint64_t *result)
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
	case 252:
	case 253: return_from(g, lane, NULL); return 0;
	case 254: return_from(g, lane, value(g, lane, w[1])); return 0;
	default: return hlsl_race_lane_unknown(op, e);
	}
}

static int one(struct race_group *g, struct race_lane *lane, uint32_t op, const uint32_t *w, uint32_t n, struct err *e)
{
	const struct race_id *x;
	switch (op) {
	case 8:
	case 225:
	case 246:
	case 247:
	case 256:
	case 257:
	case 317: return 0; /* lines, memory barriers, merges, lifetimes */
	case 1: memset(value(g, lane, w[2]), 0, value_type(g, w[2])->slots * sizeof(uint64_t)); return 0;
	case 12: return extended(g, lane, w, n, e);
	case 59:
		x = &g->m->ids[w[2]];
		if (x->init && x->place != RACE_UNSET)
			memcpy(lane->slots + x->place, value(g, lane, x->init), value_type(g, x->init)->slots * sizeof(uint64_t));
		return 0;
	case 61: move(g, lane, value(g, lane, w[3]), value_type(g, w[2]), value(g, lane, w[2]), false); return 0;
	case 62: move(g, lane, value(g, lane, w[1]), value_type(g, w[2]), value(g, lane, w[2]), true); return 0;
	case 65:
	case 66: return access_chain(g, lane, w, n, e);
	case 83:
	case 400: memmove(value(g, lane, w[2]), value(g, lane, w[3]), value_type(g, w[2])->slots * sizeof(uint64_t)); return 0;
	case 142: return elementwise(g, lane, 133, false, w, n, 3, e);
	case 148:
	case 154:
	case 155: return reduce(g, lane, op, w, e);
	case 224: lane->barrier = lane->at; return 0;
	default: break;
	}
	if (op >= 77 && op <= 82)
		return composite(g, lane, op, w, n, e);
	if (op >= 227 && op <= 242)
		return atomic(g, lane, op, w, n, e);
	if (op == 57 || op >= LABEL)
		return control(g, lane, op, w, n, e);
	return op >= 109 && op <= 205 ? elementwise(g, lane, op, false, w, n, 3, e) : hlsl_race_lane_unknown(op, e);
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

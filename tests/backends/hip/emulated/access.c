/* access: loads and stores: global, flat, scratch and buffer. An address is a lane's own, checked, wherever it
 * points. */
#include "tests/backends/hip/emulated/emulated.h"

enum kind { KIND_GLOBAL, KIND_FLAT, KIND_SCRATCH, KIND_BUFFER };
/* What a load does to the bytes that it reads; stores take the low bytes, or the upper half. */
enum form {
	FORM_WORDS, FORM_U8, FORM_I8, FORM_U16, FORM_I16, FORM_LOW16, FORM_HIGH16, FORM_HIGH8U, FORM_HIGH8I, FORM_LOW8U,
	FORM_LOW8I
};
struct how { enum kind kind; bool store; unsigned bytes; enum form form; };

/* The address operands: global and flat: (vector, scalar or off); scratch: (vector or off, scalar or off). */
static void *lane_global(struct wave *w, const struct op *o, unsigned first, unsigned saddr, unsigned lane, unsigned bytes)
{
	const struct operand *v = &o->o[first], *s = &o->o[saddr];
	uint64_t at;

	if (saddr < o->count && s->kind == OPERAND_SGPR)
		at = wave_s64(w, s->reg) + w->v[v->reg][lane];
	else
		at = w->v[v->reg][lane] | (uint64_t)w->v[v->reg + 1][lane] << 32;
	return memory_at(w, o, lane, at + (uint64_t)(int64_t)o->offset, bytes);
}

static void *lane_scratch(struct wave *w, const struct op *o, unsigned first, unsigned saddr, unsigned lane, unsigned bytes)
{
	uint32_t at = (uint32_t)o->offset;

	if (o->o[first].kind == OPERAND_VGPR)
		at += w->v[o->o[first].reg][lane];
	if (o->o[saddr].kind != OPERAND_NONE)
		at += operand_scalar(w, &o->o[saddr]);
	return memory_private(w, o, lane, at, bytes);
}

/* A descriptor with swizzling is the one of private memory, which dispatch.c made: its scalar offset counts all
 * lanes' bytes. Others are plain: base and bytes. NULL without a stop: out of its range. */
static void *lane_buffer(struct wave *w, const struct op *o, unsigned first, unsigned lane, unsigned bytes)
{
	const uint32_t *d = &w->s[o->o[first + 1].reg];
	uint32_t s = operand_scalar(w, &o->o[first + 2]), at = (uint32_t)o->offset;

	if (o->idxen) {
		dispatch_stop(w, o, hipErrorNotSupported, "this device does not know indexed buffers");
		return NULL;
	}
	if (o->offen)
		at += w->v[o->o[first].reg][lane];
	if (d[1] >> 31)
		return memory_private(w, o, lane, at + s / LANES, bytes);
	if ((uint64_t)at + s + bytes > d[2])
		return NULL;
	return memory_at(w, o, lane, ((uint64_t)(d[1] & 0xffff) << 32 | d[0]) + at + s, bytes);
}

static uint8_t *lane_address(struct wave *w, const struct op *o, enum kind kind, unsigned first, unsigned behind, unsigned lane,
			     unsigned bytes)
{
	switch (kind) {
	case KIND_GLOBAL:
	case KIND_FLAT:
		return lane_global(w, o, first, behind, lane, bytes);
	case KIND_SCRATCH:
		return lane_scratch(w, o, first, behind, lane, bytes);
	case KIND_BUFFER:
		return lane_buffer(w, o, first, lane, bytes);
	}
	return NULL;
}

static uint32_t loaded(enum form form, const uint8_t *from)
{
	uint16_t half = 0;
	int8_t byte = (int8_t)from[0];

	if (form == FORM_U16 || form == FORM_I16 || form == FORM_LOW16 || form == FORM_HIGH16)
		memcpy(&half, from, 2);
	switch (form) {
	case FORM_WORDS:
		break;
	case FORM_U8:
	case FORM_LOW8U:
		return from[0];
	case FORM_I8:
		return (uint32_t)(int32_t)byte;
	case FORM_LOW8I:
		return (uint16_t)(int16_t)byte;
	case FORM_U16:
	case FORM_LOW16:
		return half;
	case FORM_I16:
		return (uint32_t)(int32_t)(int16_t)half;
	case FORM_HIGH16:
		return (uint32_t)half << 16;
	case FORM_HIGH8U:
		return (uint32_t)from[0] << 16;
	case FORM_HIGH8I:
		return (uint32_t)(uint16_t)(int16_t)byte << 16;
	}
	return 0;
}

static bool keeps_low(enum form f) { return f == FORM_HIGH16 || f == FORM_HIGH8U || f == FORM_HIGH8I; }
static bool keeps_high(enum form f) { return f == FORM_LOW16 || f == FORM_LOW8U || f == FORM_LOW8I; }

/* Operands of loads: result, address, behind it; of stores: address, data, behind it; buffers: data first in both. */
static void load(struct wave *w, const struct op *o, const struct how *h)
{
	uint64_t exec = wave_exec(w);
	struct lanes words[4];
	unsigned count = h->bytes > 4 ? h->bytes / 4 : 1;

	for (unsigned lane = 0; lane < LANES; lane++) {
		const uint8_t *from;
		if (!(exec >> lane & 1))
			continue;
		from = lane_address(w, o, h->kind, 1, 2, lane, h->bytes);
		if (w->group->stop.code)
			return;
		for (unsigned i = 0; i < count; i++) {
			uint32_t x = 0;
			if (from && h->form == FORM_WORDS)
				memcpy(&x, from + 4 * i, 4);
			else if (from)
				x = loaded(h->form, from);
			x |= keeps_low(h->form)    ? w->v[o->o[0].reg][lane] & 0xffff
			     : keeps_high(h->form) ? w->v[o->o[0].reg][lane] & 0xffff0000
						   : 0;
			words[i].x[lane] = x;
		}
	}
	for (unsigned i = 0; i < count; i++)
		for (unsigned lane = 0; lane < LANES; lane++)
			if (exec >> lane & 1)
				w->v[o->o[0].reg + i][lane] = words[i].x[lane];
}

static void store(struct wave *w, const struct op *o, const struct how *h)
{
	uint64_t exec = wave_exec(w);
	bool buffer = h->kind == KIND_BUFFER;
	unsigned first = buffer ? 1 : 0, behind = 2, data = o->o[buffer ? 0 : 1].reg, count = h->bytes > 4 ? h->bytes / 4 : 1;

	for (unsigned lane = 0; lane < LANES; lane++) {
		uint8_t *to;
		if (!(exec >> lane & 1))
			continue;
		to = lane_address(w, o, h->kind, first, behind, lane, h->bytes);
		if (w->group->stop.code)
			return;
		for (unsigned i = 0; to && i < count; i++) {
			uint32_t x = w->v[data + i][lane] >> (h->form == FORM_HIGH16 || h->form == FORM_HIGH8U ? 16 : 0);
			memcpy(to + 4 * i, &x, h->bytes < 4 ? h->bytes : 4);
		}
	}
}

#define FORMS(X, kind, KIND) \
	X(kind##_load_dword, KIND, false, 4, FORM_WORDS) X(kind##_load_dwordx2, KIND, false, 8, FORM_WORDS) \
	X(kind##_load_dwordx3, KIND, false, 12, FORM_WORDS) X(kind##_load_dwordx4, KIND, false, 16, FORM_WORDS) \
	X(kind##_load_ubyte, KIND, false, 1, FORM_U8) X(kind##_load_sbyte, KIND, false, 1, FORM_I8) \
	X(kind##_load_ushort, KIND, false, 2, FORM_U16) \
	X(kind##_load_sshort, KIND, false, 2, FORM_I16) X(kind##_load_short_d16, KIND, false, 2, FORM_LOW16) \
	X(kind##_load_short_d16_hi, KIND, false, 2, FORM_HIGH16) X(kind##_load_ubyte_d16, KIND, false, 1, FORM_LOW8U) \
	X(kind##_load_ubyte_d16_hi, KIND, false, 1, FORM_HIGH8U) X(kind##_load_sbyte_d16, KIND, false, 1, FORM_LOW8I) \
	X(kind##_load_sbyte_d16_hi, KIND, false, 1, FORM_HIGH8I) \
	X(kind##_store_dword, KIND, true, 4, FORM_WORDS) X(kind##_store_dwordx2, KIND, true, 8, FORM_WORDS) \
	X(kind##_store_dwordx3, KIND, true, 12, FORM_WORDS) X(kind##_store_dwordx4, KIND, true, 16, FORM_WORDS) \
	X(kind##_store_byte, KIND, true, 1, FORM_WORDS) X(kind##_store_short, KIND, true, 2, FORM_WORDS) \
	X(kind##_store_byte_d16_hi, KIND, true, 1, FORM_HIGH8U) X(kind##_store_short_d16_hi, KIND, true, 2, FORM_HIGH16)
#define LIST(X) FORMS(X, global, KIND_GLOBAL) FORMS(X, flat, KIND_FLAT) FORMS(X, scratch, KIND_SCRATCH) \
	FORMS(X, buffer, KIND_BUFFER)

#define DEFINE(name, kind, is_store, bytes, form) \
	static void do_##name(struct wave *w, const struct op *o) \
	{ \
		static const struct how h = { kind, is_store, bytes, form }; \
		(is_store ? store : load)(w, o, &h); \
	}
LIST(DEFINE)

static void nothing(struct wave *w, const struct op *o) { (void)w; (void)o; }

#define ROW(name, kind, is_store, bytes, form) { #name, do_##name, is_store ? "ffff" : "Ffff" },
const struct rule access_rules[] = {
	LIST(ROW) { "buffer_wbinvl1", nothing, "*" }, { "buffer_wbinvl1_vol", nothing, "*" }, { "buffer_wbl2", nothing, "*" },
	{ "buffer_invl2", nothing, "*" }, { NULL, NULL, NULL },
};

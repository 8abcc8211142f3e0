/* lds: loads and stores of a block's shared memory; every access is checked against its size. */
#include "tests/backends/hip/emulated/emulated.h"

/* result, address */
static void read_bytes(struct wave *w, const struct op *o, unsigned bytes, bool is_signed, int half)
{
	uint64_t exec = wave_exec(w);
	const uint32_t *address = w->v[o->o[1].reg];
	struct lanes words[4];
	unsigned count = bytes > 4 ? bytes / 4 : 1;

	for (unsigned lane = 0; lane < LANES; lane++) {
		const uint8_t *from;
		if (!(exec >> lane & 1))
			continue;
		from = memory_lds(w, o, lane, (uint64_t)address[lane] + (uint32_t)o->offset, bytes);
		if (!from)
			return;
		for (unsigned i = 0; i < count; i++) {
			uint32_t x = 0, old = w->v[o->o[0].reg][lane];
			memcpy(&x, from + 4 * i, bytes < 4 ? bytes : 4);
			if (is_signed)
				x = bytes == 1 ? (uint32_t)(int8_t)x : (uint32_t)(int16_t)x;
			words[i].x[lane] = half == 0 ? x : half == 1 ? (x & 0xffff) | (old & 0xffff0000) : x << 16 | (old & 0xffff);
		}
	}
	for (unsigned i = 0; i < count; i++)
		operand_put(w, o, 0, i, words[i].x);
}

/* address, data */
static void write_bytes(struct wave *w, const struct op *o, unsigned bytes, bool high)
{
	uint64_t exec = wave_exec(w);
	const uint32_t *address = w->v[o->o[0].reg];
	unsigned count = bytes > 4 ? bytes / 4 : 1;

	for (unsigned lane = 0; lane < LANES; lane++) {
		uint8_t *to;
		if (!(exec >> lane & 1))
			continue;
		to = memory_lds(w, o, lane, (uint64_t)address[lane] + (uint32_t)o->offset, bytes);
		if (!to)
			return;
		for (unsigned i = 0; i < count; i++) {
			uint32_t x = w->v[o->o[1].reg + i][lane] >> (high ? 16 : 0);
			memcpy(to + 4 * i, &x, bytes < 4 ? bytes : 4);
		}
	}
}

/* Two elements at offsets that count elements (or 64 of them). */
static void read_two(struct wave *w, const struct op *o, unsigned bytes, unsigned stride)
{
	uint64_t exec = wave_exec(w);
	const uint32_t *address = w->v[o->o[1].reg];
	unsigned each = bytes / 4;
	struct lanes words[4];

	for (unsigned lane = 0; lane < LANES; lane++)
		for (unsigned n = 0; n < 2 && (exec >> lane & 1); n++) {
			const uint8_t *from = memory_lds(
				w, o, lane, (uint64_t)address[lane] + (uint32_t)(n ? o->offset1 : o->offset) * bytes * stride,
				bytes);
			if (!from)
				return;
			for (unsigned i = 0; i < each; i++)
				memcpy(&words[n * each + i].x[lane], from + 4 * i, 4);
		}
	for (unsigned i = 0; i < 2 * each; i++)
		operand_put(w, o, 0, i, words[i].x);
}

static void write_two(struct wave *w, const struct op *o, unsigned bytes, unsigned stride)
{
	uint64_t exec = wave_exec(w);
	const uint32_t *address = w->v[o->o[0].reg];

	for (unsigned lane = 0; lane < LANES; lane++)
		for (unsigned n = 0; n < 2 && (exec >> lane & 1); n++) {
			uint8_t *to = memory_lds(w, o, lane,
						 (uint64_t)address[lane] + (uint32_t)(n ? o->offset1 : o->offset) * bytes * stride,
						 bytes);
			if (!to)
				return;
			for (unsigned i = 0; i < bytes / 4; i++)
				memcpy(to + 4 * i, &w->v[o->o[1 + n].reg + i][lane], 4);
		}
}

#define FN(name, body) static void do_##name(struct wave *w, const struct op *o) { body; }
#define ROW(name, body) { #name, do_##name, "fff" },
#define LIST(X) \
	X(ds_read_b32, read_bytes(w, o, 4, false, 0)) X(ds_read_b64, read_bytes(w, o, 8, false, 0)) \
	X(ds_read_b96, read_bytes(w, o, 12, false, 0)) \
	X(ds_read_b128, read_bytes(w, o, 16, false, 0)) X(ds_read_u8, read_bytes(w, o, 1, false, 0)) \
	X(ds_read_i8, read_bytes(w, o, 1, true, 0)) \
	X(ds_read_u16, read_bytes(w, o, 2, false, 0)) X(ds_read_i16, read_bytes(w, o, 2, true, 0)) \
	X(ds_read_u16_d16, read_bytes(w, o, 2, false, 1)) X(ds_read_u16_d16_hi, read_bytes(w, o, 2, false, 2)) \
	X(ds_read_u8_d16, read_bytes(w, o, 1, false, 1)) X(ds_read_u8_d16_hi, read_bytes(w, o, 1, false, 2)) \
	X(ds_read_i8_d16, read_bytes(w, o, 1, true, 1)) X(ds_read_i8_d16_hi, read_bytes(w, o, 1, true, 2)) \
	X(ds_write_b32, write_bytes(w, o, 4, false)) X(ds_write_b64, write_bytes(w, o, 8, false)) \
	X(ds_write_b96, write_bytes(w, o, 12, false)) \
	X(ds_write_b128, write_bytes(w, o, 16, false)) X(ds_write_b8, write_bytes(w, o, 1, false)) \
	X(ds_write_b16, write_bytes(w, o, 2, false)) \
	X(ds_write_b8_d16_hi, write_bytes(w, o, 1, true)) X(ds_write_b16_d16_hi, write_bytes(w, o, 2, true)) \
	X(ds_read2_b32, read_two(w, o, 4, 1)) X(ds_read2_b64, read_two(w, o, 8, 1)) X(ds_read2st64_b32, read_two(w, o, 4, 64)) \
	X(ds_read2st64_b64, read_two(w, o, 8, 64)) X(ds_write2_b32, write_two(w, o, 4, 1)) X(ds_write2_b64, write_two(w, o, 8, 1)) \
	X(ds_write2st64_b32, write_two(w, o, 4, 64)) X(ds_write2st64_b64, write_two(w, o, 8, 64))
LIST(FN)
static void do_nothing(struct wave *w, const struct op *o) { (void)w; (void)o; }
const struct rule lds_rules[] = { LIST(ROW) { "ds_nop", do_nothing, "*" }, { NULL, NULL, NULL } };

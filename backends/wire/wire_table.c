/* wire_table: writes, reads and frees structs by their tables; see wire_table.h. A struct that was read in part holds
 * zeros in the rest, which wire_fini accepts. */
#include "backends/wire/wire_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied to the wire as they are in memory");
_Static_assert(sizeof(size_t) == 8, "lengths are size_t in memory and 8 bytes on the wire");

/* --- single values ------------------------------------------------------------------------------------------------ */

void wire_put_u32(struct buf *out, uint32_t v)
{
	memcpy(buf_room(out, sizeof v), &v, sizeof v);
}

void wire_put_u64(struct buf *out, uint64_t v)
{
	memcpy(buf_room(out, sizeof v), &v, sizeof v);
}

void wire_put_bytes(struct buf *out, const void *bytes, size_t n)
{
	wire_put_u64(out, n);
	buf_add(out, bytes, n);
}

void wire_put_text(struct buf *out, const char *text)
{
	wire_put_bytes(out, text, strlen(text));
}

/* The next n bytes, or NULL and a bad reader when they are not there. */
static const uint8_t *take(struct wire_in *in, size_t n)
{
	if (in->bad || (size_t)(in->end - in->at) < n) {
		in->bad = true;
		return NULL;
	}
	const uint8_t *at = in->at;
	in->at += n;
	return at;
}

/* A number of up to 8 bytes. */
static uint64_t take_bits(struct wire_in *in, size_t n)
{
	uint64_t bits = 0;
	const uint8_t *at = take(in, n);
	if (at)
		memcpy(&bits, at, n);
	return bits;
}

uint32_t wire_get_u32(struct wire_in *in)
{
	return (uint32_t)take_bits(in, 4);
}

uint64_t wire_get_u64(struct wire_in *in)
{
	return take_bits(in, 8);
}

const void *wire_get_bytes(struct wire_in *in, size_t *ret_n)
{
	size_t n = wire_get_u64(in);
	const uint8_t *at = take(in, n);
	*ret_n = at ? n : 0;
	return at;
}

/* A text inside the message, which is not terminated there. */
static const char *lent_text(struct wire_in *in, size_t *ret_n)
{
	const char *at = wire_get_bytes(in, ret_n);
	if (*ret_n && memchr(at, '\0', *ret_n)) {
		in->bad = true;
		*ret_n = 0;
	}
	return *ret_n ? at : "";
}

char *wire_get_text(struct wire_in *in)
{
	size_t n;
	const char *at = lent_text(in, &n);
	return mem_strn(at, n);
}

size_t wire_get_count(struct wire_in *in, size_t element_min)
{
	assert(element_min > 0);
	uint64_t n = wire_get_u64(in);
	if (in->bad || n > (size_t)(in->end - in->at) / element_min) {
		in->bad = true;
		return 0;
	}
	return n;
}

int wire_end(const struct wire_in *in, const char *what, struct err *e)
{
	if (in->bad)
		return err_set(e, ERR_NETWORK,
			       "the %s message is cut short or holds an invalid value; daemon and worker must be the same "
			       "build of peakd",
			       what);
	if (in->at != in->end)
		return err_set(e, ERR_NETWORK,
			       "the %s message has %zu bytes too many; daemon and worker must be the same build of peakd", what,
			       (size_t)(in->end - in->at));
	return 0;
}

/* --- tables: sizes ------------------------------------------------------------------------------------------------ */

static const struct {
	size_t memory, wire;
} number_bytes[] = {
	[WIRE_U8] = { 1, 4 },  [WIRE_BOOL] = { sizeof(bool), 4 },
	[WIRE_U32] = { 4, 4 }, [WIRE_U64] = { 8, 8 },
	[WIRE_I64] = { 8, 8 }, [WIRE_F32] = { 4, 8 },
	[WIRE_F64] = { 8, 8 },
};

static const struct wire_field u64_row = { .name = "number", .kind = WIRE_IS_NUMBER, .number = WIRE_U64, .count = 1 };
static const struct wire_field f64_row = {
	.name = "number", .kind = WIRE_IS_NUMBER, .number = WIRE_F64, .count = 1, .low = -DBL_MAX, .high = DBL_MAX
};
static const struct wire_field text_row = { .name = "text", .kind = WIRE_IS_TEXT, .count = 1 };
const struct wire_table wire_table_u64 = { .name = "number", .size = sizeof(uint64_t), .fields = &u64_row, .field_count = 1 };
const struct wire_table wire_table_f64 = { .name = "number", .size = sizeof(double), .fields = &f64_row, .field_count = 1 };
const struct wire_table wire_table_text = { .name = "text", .size = sizeof(char *), .fields = &text_row, .field_count = 1 };
const struct wire_table wire_table_empty = { .name = "empty" };

/* Bytes that a struct takes on the wire at least. */
static size_t least_bytes(const struct wire_table *t)
{
	size_t sum = 0;
	for (const struct wire_field *f = t->fields; f < t->fields + t->field_count; f++) {
		size_t least = 8; /* a length */
		if (f->kind == WIRE_IS_NUMBER)
			least = number_bytes[f->number].wire;
		else if (f->kind == WIRE_IS_STRUCT || f->kind == WIRE_IS_POINTER || f->kind == WIRE_IS_CHOICE)
			least = least_bytes(f->of);
		for (size_t i = 1; f->kind == WIRE_IS_CHOICE && i < f->count; i++)
			least = least_bytes(&f->of[i]) < least ? least_bytes(&f->of[i]) : least;
		sum += f->kind == WIRE_IS_NUMBER || f->kind == WIRE_IS_STRUCT ? f->count * least : least;
	}
	return sum;
}

/* --- tables: writing ---------------------------------------------------------------------------------------------- */

static void put_number(enum wire_number number, const uint8_t *at, struct buf *out)
{
	uint64_t bits = 0;
	if (number == WIRE_F32) {
		float narrow;
		memcpy(&narrow, at, sizeof narrow);
		double wide = (double)narrow;
		memcpy(&bits, &wide, sizeof bits);
	} else {
		memcpy(&bits, at, number_bytes[number].memory);
	}
	memcpy(buf_room(out, number_bytes[number].wire), &bits, number_bytes[number].wire);
}

/* The pointer at an address, of whatever type it is declared. */
static void *pointer_at(const uint8_t *at)
{
	void *p;
	memcpy(&p, at, sizeof p);
	return p;
}

static size_t length_at(const void *m, const struct wire_field *f)
{
	size_t n;
	memcpy(&n, (const uint8_t *)m + f->length, sizeof n);
	return n;
}

/* The table of the member that a union holds. */
static const struct wire_table *chosen(const void *m, const struct wire_field *f)
{
	uint32_t which;
	memcpy(&which, (const uint8_t *)m + f->length, sizeof which);
	assert(which < f->count);
	return &f->of[which];
}

static void put_rows(const struct wire_table *t, size_t rows, const void *m, struct buf *out)
{
	for (const struct wire_field *f = t->fields; f < t->fields + rows; f++) {
		const uint8_t *at = (const uint8_t *)m + f->offset;
		const uint8_t *p;
		size_t n;
		switch (f->kind) {
		case WIRE_IS_NUMBER:
			for (size_t i = 0; i < f->count; i++)
				put_number(f->number, at + i * number_bytes[f->number].memory, out);
			break;
		case WIRE_IS_TEXT:
			p = pointer_at(at);
			wire_put_text(out, p ? (const char *)p : "");
			break;
		case WIRE_IS_CHARS: wire_put_text(out, (const char *)at); break;
		case WIRE_IS_BYTES:
		case WIRE_IS_LENT:
			p = pointer_at(at);
			wire_put_bytes(out, p, p ? length_at(m, f) : 0);
			break;
		case WIRE_IS_STRUCT:
			for (size_t i = 0; i < f->count; i++)
				wire_encode(f->of, at + i * f->of->size, out);
			break;
		case WIRE_IS_POINTER: wire_encode(f->of, pointer_at(at), out); break;
		case WIRE_IS_LIST:
			p = pointer_at(at);
			n = length_at(m, f);
			wire_put_u64(out, n);
			for (size_t i = 0; i < n; i++)
				wire_encode(f->of, p + i * f->of->size, out);
			break;
		case WIRE_IS_CHOICE: wire_encode(chosen(m, f), at, out); break;
		}
	}
}

void wire_encode(const struct wire_table *t, const void *m, struct buf *out)
{
	put_rows(t, t->field_count, m, out);
}

void wire_encode_split(const struct wire_table *t, const void *m, struct buf *out, struct wire_tail *ret_tail)
{
	const struct wire_field *last = t->field_count ? &t->fields[t->field_count - 1] : NULL;
	*ret_tail = (struct wire_tail){ .bytes = NULL };
	if (last == NULL || last->kind != WIRE_IS_LENT) {
		wire_encode(t, m, out);
		return;
	}
	put_rows(t, t->field_count - 1, m, out);
	ret_tail->bytes = pointer_at((const uint8_t *)m + last->offset);
	ret_tail->len = ret_tail->bytes ? length_at(m, last) : 0;
	wire_put_u64(out, ret_tail->len);
}

/* --- tables: reading ---------------------------------------------------------------------------------------------- */

static void get_number(const struct wire_field *f, struct wire_in *in, uint8_t *at)
{
	size_t memory = number_bytes[f->number].memory;
	uint64_t bits = take_bits(in, number_bytes[f->number].wire);
	double value = (double)bits;
	if (f->number == WIRE_F32 || f->number == WIRE_F64)
		memcpy(&value, &bits, sizeof value);
	else if (f->number == WIRE_BOOL ? bits > 1 : memory < 8 && bits >> (8 * memory))
		in->bad = true;
	if (f->low != f->high && !(value >= f->low && value <= f->high)) /* refuses NaN, too */
		in->bad = true;
	if (in->bad)
		return;
	float narrow = (float)value;
	memcpy(at, f->number == WIRE_F32 ? (const void *)&narrow : &bits, memory);
}

static void set_pointer(uint8_t *at, const void *p)
{
	memcpy(at, &p, sizeof p);
}

static void get_chars(const struct wire_field *f, struct wire_in *in, uint8_t *at)
{
	size_t n;
	const char *text = lent_text(in, &n);
	if (n < f->count)
		memcpy(at, text, n); /* the rest is zeros already */
	if (n >= f->count || (f->hash && !hash_valid((const char *)at)))
		in->bad = true;
}

static void get_bytes(const struct wire_field *f, struct wire_in *in, uint8_t *m)
{
	size_t n;
	const void *bytes = wire_get_bytes(in, &n);
	if (f->same && n && n != length_at(m, f))
		in->bad = true;
	if (in->bad)
		return;
	if (!f->same)
		memcpy(m + f->length, &n, sizeof n);
	if (f->kind == WIRE_IS_BYTES)
		set_pointer(m + f->offset, f->same && n == 0 ? NULL : mem_copy(bytes, n));
	else
		set_pointer(m + f->offset, n ? bytes : NULL);
}

static int get_struct(const struct wire_table *t, struct wire_in *in, uint8_t *m, struct err *e);

static int get_list(const struct wire_field *f, struct wire_in *in, uint8_t *m, struct err *e)
{
	int r = 0;
	size_t n = wire_get_count(in, least_bytes(f->of));
	if (f->same && n != length_at(m, f))
		in->bad = true;
	if (in->bad)
		return 0;
	uint8_t *list = mem_new(n, f->of->size);
	set_pointer(m + f->offset, list);
	memcpy(m + f->length, &n, sizeof n);
	for (size_t i = 0; i < n && !in->bad && r == 0; i++)
		r = get_struct(f->of, in, list + i * f->of->size, e);
	return r;
}

static int get_field(const struct wire_field *f, struct wire_in *in, uint8_t *m, struct err *e)
{
	uint8_t *at = m + f->offset;
	int r = 0;
	switch (f->kind) {
	case WIRE_IS_NUMBER:
		for (size_t i = 0; i < f->count; i++)
			get_number(f, in, at + i * number_bytes[f->number].memory);
		return 0;
	case WIRE_IS_TEXT: return set_pointer(at, wire_get_text(in)), 0;
	case WIRE_IS_CHARS: return get_chars(f, in, at), 0;
	case WIRE_IS_BYTES:
	case WIRE_IS_LENT: return get_bytes(f, in, m), 0;
	case WIRE_IS_STRUCT:
		for (size_t i = 0; i < f->count && r == 0; i++)
			r = get_struct(f->of, in, at + i * f->of->size, e);
		return r;
	case WIRE_IS_POINTER: set_pointer(at, mem_new(1, f->of->size)); return get_struct(f->of, in, pointer_at(at), e);
	case WIRE_IS_LIST: return get_list(f, in, m, e);
	case WIRE_IS_CHOICE: return get_struct(chosen(m, f), in, at, e);
	}
	return 0;
}

static int get_struct(const struct wire_table *t, struct wire_in *in, uint8_t *m, struct err *e)
{
	int r = 0;
	for (size_t i = 0; i < t->field_count && !in->bad && r == 0; i++)
		r = get_field(&t->fields[i], in, m, e);
	return r == 0 && !in->bad && t->check ? t->check(m, e) : r;
}

int wire_decode(const struct wire_table *t, struct wire_in *in, void *ret_m, struct err *e)
{
	memset(ret_m, 0, t->size);
	int r = get_struct(t, in, ret_m, e);
	if (r == 0)
		r = wire_end(in, t->name, e);
	if (r < 0)
		wire_fini(t, ret_m);
	return r;
}

void wire_fini(const struct wire_table *t, void *m)
{
	for (const struct wire_field *f = t->fields; f < t->fields + t->field_count; f++) {
		uint8_t *at = (uint8_t *)m + f->offset;
		bool owns = f->kind == WIRE_IS_TEXT || f->kind == WIRE_IS_BYTES || f->kind == WIRE_IS_POINTER ||
			    f->kind == WIRE_IS_LIST;
		uint8_t *p = owns ? pointer_at(at) : NULL;
		for (size_t i = 0; f->kind == WIRE_IS_STRUCT && i < f->count; i++)
			wire_fini(f->of, at + i * f->of->size);
		for (size_t i = 0; f->kind == WIRE_IS_LIST && p && i < length_at(m, f); i++)
			wire_fini(f->of, p + i * f->of->size);
		if (f->kind == WIRE_IS_POINTER && p)
			wire_fini(f->of, p);
		if (f->kind == WIRE_IS_CHOICE)
			wire_fini(chosen(m, f), at);
		free(p);
	}
	memset(m, 0, t->size);
}

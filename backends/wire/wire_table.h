/* wire_table: a message as a table of its fields (name, type, offset in its struct). One set of functions writes, reads
 * and frees any struct by its table, so a new field is one row. wire_message.c and plan.c hold the tables; core, the
 * worker and the tests call through the typed names in wire.h. (base/layout.h does the same for JSON and SQL, with
 * names in place of bounds.) Readers treat every byte as hostile: reads are bounded, numbers are checked against their
 * row, and memory is allocated only for what the bytes at hand can fill. Numbers travel little-endian; texts, bytes and
 * lists carry their length. */
#ifndef PEAKD_BACKENDS_WIRE_WIRE_TABLE_H
#define PEAKD_BACKENDS_WIRE_WIRE_TABLE_H

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

/* --- single values ------------------------------------------------------------------------------------------------ */

struct wire_in {
	const uint8_t *at, *end; /* borrowed */
	bool bad;                /* something did not fit: all later reads give zeros and empty texts */
};

void wire_put_u32(struct buf *out, uint32_t v);
void wire_put_u64(struct buf *out, uint64_t v);
void wire_put_text(struct buf *out, const char *text);
void wire_put_bytes(struct buf *out, const void *bytes, size_t n);
uint32_t wire_get_u32(struct wire_in *in);
uint64_t wire_get_u64(struct wire_in *in);
/* Fresh memory, never NULL. The text has no NUL inside. */
char *wire_get_text(struct wire_in *in);
/* Borrowed from the message. */
const void *wire_get_bytes(struct wire_in *in, size_t *ret_n);
/* The length of a list whose elements take at least `element_min` bytes each: bounded by the bytes that are left. */
size_t wire_get_count(struct wire_in *in, size_t element_min);
/* -ERR_NETWORK naming `what` when the reader is bad or bytes are left over. */
int wire_end(const struct wire_in *in, const char *what, struct err *e);

/* --- tables ------------------------------------------------------------------------------------------------------- */

enum wire_kind {
	WIRE_IS_NUMBER,  /* or an enum: `count` of them in place */
	WIRE_IS_TEXT,    /* char *, owned; NULL is written as "" */
	WIRE_IS_CHARS,   /* char[count] */
	WIRE_IS_BYTES,   /* uint8_t * and a length, owned */
	WIRE_IS_LENT,    /* the same, borrowed from the message; NULL when empty */
	WIRE_IS_STRUCT,  /* `count` structs in place */
	WIRE_IS_POINTER, /* a pointer to one struct, owned */
	WIRE_IS_LIST,    /* a pointer to structs, and their number; owned */
	WIRE_IS_CHOICE,  /* a union: the member whose table has the number that stands at `length` */
};
enum wire_number { WIRE_U8, WIRE_BOOL, WIRE_U32, WIRE_U64, WIRE_I64, WIRE_F32, WIRE_F64 };

struct wire_table;
struct wire_field {
	const char *name;
	enum wire_kind kind;
	enum wire_number number; /* NUMBER: its type in memory */
	bool hash; /* CHARS: a valid hash (base/hash.h) */
	bool same; /* LIST, BYTES: `length` belongs to an earlier row and must agree; absent bytes are NULL */
	size_t offset;
	size_t count;                /* elements of a fixed array, else 1; CHOICE: how many tables */
	size_t length;               /* offset of the length (a size_t; CHOICE: a 32-bit number) */
	double low, high;            /* NUMBER: allowed range; equal: any */
	const struct wire_table *of; /* STRUCT, POINTER, LIST; CHOICE: an array of tables */
};

struct wire_table {
	const char *name; /* for error messages */
	size_t size;      /* of the struct */
	const struct wire_field *fields;
	size_t field_count;
	int (*check)(const void *m, struct err *e); /* rules that involve several fields; NULL: none */
};

/* clang-format off */

/* The table of `struct type`, with its rows at the end. */
#define WIRE_TABLE(title, type, checked, ...) \
	{ .name = title, .size = sizeof(struct type), .fields = (const struct wire_field[]){ __VA_ARGS__ }, \
	  .field_count = sizeof((const struct wire_field[]){ __VA_ARGS__ }) / sizeof(struct wire_field), \
	  .check = checked }

/* A row for member m of `struct type`. The kind of a number follows from the member's type. */
#define WIRE_MEMBER(type, m) (((struct type *)0)->m)
#define WIRE_ROW(type, m, as, ...) \
	{ .name = #m, .kind = as, .offset = offsetof(struct type, m), .count = 1, __VA_ARGS__ }
#define WIRE_NUMBER_OF(member) \
	_Generic(&(member), uint8_t *: WIRE_U8, bool *: WIRE_BOOL, uint32_t *: WIRE_U32, uint64_t *: WIRE_U64, \
	         int64_t *: WIRE_I64, float *: WIRE_F32, double *: WIRE_F64)
#define WIRE_BETWEEN(type, m, least, most) \
	WIRE_ROW(type, m, WIRE_IS_NUMBER, .number = WIRE_NUMBER_OF(WIRE_MEMBER(type, m)), .low = (least), \
	         .high = (most))
#define WIRE_ANY(type, m) WIRE_BETWEEN(type, m, 0, 0)
#define WIRE_UP_TO(type, m, most) WIRE_BETWEEN(type, m, 0, most)
/* A finite number that is not negative. */
#define WIRE_AMOUNT(type, m) WIRE_BETWEEN(type, m, 0, DBL_MAX)
/* A fixed array of numbers, or an array of arrays, each number from 0 to `most`; 0: any. */
#define WIRE_EACH_AS(type, m, first, most) \
	{ .name = #m, .kind = WIRE_IS_NUMBER, .number = WIRE_NUMBER_OF(WIRE_MEMBER(type, first)), \
	  .offset = offsetof(struct type, m), .count = sizeof WIRE_MEMBER(type, m) / sizeof WIRE_MEMBER(type, first), \
	  .high = (most) }
#define WIRE_EACH(type, m, most) WIRE_EACH_AS(type, m, m[0], most)
#define WIRE_GRID(type, m, most) WIRE_EACH_AS(type, m, m[0][0], most)
/* Members from `first` to `last` that follow each other in the struct and have one type. */
#define WIRE_RUN_OF(type, first, last, most) \
	{ .name = #first, .kind = WIRE_IS_NUMBER, .number = WIRE_NUMBER_OF(WIRE_MEMBER(type, first)), \
	  .offset = offsetof(struct type, first), \
	  .count = (offsetof(struct type, last) + sizeof WIRE_MEMBER(type, last) - offsetof(struct type, first)) / \
	           sizeof WIRE_MEMBER(type, first), .high = (most) }
#define WIRE_RUN(type, first, last) WIRE_RUN_OF(type, first, last, 0)
#define WIRE_STRING(type, m) WIRE_ROW(type, m, WIRE_IS_TEXT, .length = 0)
#define WIRE_CHARS(type, m) \
	{ .name = #m, .kind = WIRE_IS_CHARS, .offset = offsetof(struct type, m), .count = sizeof WIRE_MEMBER(type, m) }
#define WIRE_HASH(type, m) \
	{ .name = #m, .kind = WIRE_IS_CHARS, .hash = true, .offset = offsetof(struct type, m), \
	  .count = sizeof WIRE_MEMBER(type, m) }
#define WIRE_BYTES(type, m, n) WIRE_ROW(type, m, WIRE_IS_BYTES, .length = offsetof(struct type, n))
#define WIRE_LENT(type, m, n) WIRE_ROW(type, m, WIRE_IS_LENT, .length = offsetof(struct type, n))
#define WIRE_STRUCT(type, m, table) WIRE_ROW(type, m, WIRE_IS_STRUCT, .of = (table))
#define WIRE_STRUCTS(type, m, table) \
	{ .name = #m, .kind = WIRE_IS_STRUCT, .offset = offsetof(struct type, m), \
	  .count = sizeof WIRE_MEMBER(type, m) / sizeof WIRE_MEMBER(type, m)[0], .of = (table) }
#define WIRE_POINTER(type, m, table) WIRE_ROW(type, m, WIRE_IS_POINTER, .of = (table))
#define WIRE_LIST(type, m, n, table) WIRE_ROW(type, m, WIRE_IS_LIST, .length = offsetof(struct type, n), .of = (table))
/* A list as long as the one before it. */
#define WIRE_BESIDE(type, m, n, table) \
	WIRE_ROW(type, m, WIRE_IS_LIST, .same = true, .length = offsetof(struct type, n), .of = (table))

/* clang-format on */

/* For lists of plain numbers and texts, and for messages without content. */
extern const struct wire_table wire_table_u64, wire_table_f64 /* finite */, wire_table_text, wire_table_empty;

/* Appends the struct. */
void wire_encode(const struct wire_table *t, const void *m, struct buf *out);
/* Megabytes that end a message, sent from where they are. Borrowed. */
struct wire_tail {
	const void *bytes;
	size_t len;
};
/* Appends the struct without the bytes of a last row that is LENT: *ret_tail holds them, and belongs behind *out. */
void wire_encode_split(const struct wire_table *t, const void *m, struct buf *out, struct wire_tail *ret_tail);
/* Reads a whole message. On failure *ret_m holds nothing that has to be freed. -ERR_NETWORK, or what a table's check
 * says. */
int wire_decode(const struct wire_table *t, struct wire_in *in, void *ret_m, struct err *e);
/* Frees what the struct owns, and clears it. */
void wire_fini(const struct wire_table *t, void *m);

#endif

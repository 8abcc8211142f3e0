/* layout: a struct described by a table of its fields: name, type, unit, place. From the one table come the JSON of the struct and
 * back, and its JSON Schema. So do its SQL columns (core/record/query.h) and the words that a terminal shows. A new field is one
 * line in its table. Requests and results of jobs (core/jobs/work.h) and the rows of core/record have layouts.
 *
 *	struct figure { int64_t run; double median_ns; char *best; };
 *	static const struct layout_field figure_fields[] = {
 *		{ LAYOUT_AT(struct figure, run, ID) },
 *		{ LAYOUT_AT(struct figure, median_ns, REAL), .unit = "ns", .say = "best %" },
 *		{ LAYOUT_AT(struct figure, best, TEXT), .say = " with %" },
 *		{ .name = NULL },
 *	};
 *	const struct layout figure_layout = { "figure", sizeof(struct figure), figure_fields };
 *
 * A struct that has a layout owns all that it points to: layout_fini frees it. */
#ifndef PEAKD_BASE_LAYOUT_H
#define PEAKD_BASE_LAYOUT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* The member's C type, and which of its values stands for "none": a none is left out of JSON and is NULL in SQL. */
enum layout_type {
	LAYOUT_BOOL,  /* bool */
	LAYOUT_INT,   /* any integer type of 4 or 8 bytes */
	LAYOUT_ID,    /* the same; 0 is none */
	LAYOUT_COUNT, /* signed; a negative value is none */
	LAYOUT_REAL,  /* double; NAN is none */
	LAYOUT_TEXT,  /* char *; NULL is none */
	LAYOUT_WORD,  /* an enum that counts from 0; `words` names its values */
	LAYOUT_HASH,  /* struct hash; an empty one is none */
	LAYOUT_TEXTS, /* char **, with a count beside it */
	LAYOUT_INTS,  /* int64_t *, with a count; in SQL a text of numbers with blanks between them */
	LAYOUT_REALS, /* double *, with a count; in SQL a blob */
	LAYOUT_LIST,  /* an array of the structs that `of` describes, with a count */
	LAYOUT_PART,  /* a struct that `of` describes; its fields stand among these */
};

enum layout_flags {
	LAYOUT_OPTIONAL = 1, /* BOOL, INT: left out of JSON when it is 0 or false */
	LAYOUT_REQUIRED = 2, /* the schema says that it is always there */
	LAYOUT_WRITTEN = 4,  /* written and never read: the count of a list */
	LAYOUT_DETAIL = 8,   /* left out of the schema, which must stay short and does not forbid further properties */
};

struct layout;

struct layout_field {
	const char *name; /* in JSON; NULL ends the table */
	enum layout_type type;
	size_t offset, size;     /* of the member */
	size_t count;            /* offset of the size_t that counts TEXTS, INTS, REALS or LIST */
	const struct layout *of; /* LIST, PART */
	const char *const
		*words; /* WORD: names in order, NULL at the end; a word that SQL has and this list lacks reads as the last one */
	const char *column; /* in SQL, where it is not `name` */
	const char *unit;   /* "ns", "s", "bytes", "share" (a fraction that is shown as percent) …; NULL: a plain number */
	const char *about;  /* for the schema; NULL: the name says it */
	const char *say; /* words for a terminal, % being the value; NULL: not shown. Of a bool: shown when it is true. Of a LIST:
			  * what stands before each element; NULL: each ends a line */
	unsigned flags;  /* of enum layout_flags */
};

struct layout {
	const char *name; /* for messages */
	size_t size;      /* of the struct */
	const struct layout_field *fields;
};

/* What every line of a table begins with: the member gives the name (LAYOUT_AS: another name is given). */
#define LAYOUT_AS(struct_, member_, type_, name_)                                                                                  \
	.name = (name_), .type = LAYOUT_##type_, .offset = offsetof(struct_, member_), .size = sizeof(((struct_ *)0)->member_)
#define LAYOUT_AT(struct_, member_, type_) LAYOUT_AS(struct_, member_, type_, #member_)
/* The same for what has a count beside it. */
#define LAYOUT_MANY(struct_, member_, count_, type_) LAYOUT_AT(struct_, member_, type_), .count = offsetof(struct_, count_)

/* Sets every field to none, 0 or false. */
void layout_init(const struct layout *l, void *object);
/* Frees what the fields point to and sets them to none. */
void layout_fini(const struct layout *l, void *object);
/* The same on the heap; layout_free takes NULL. */
void *layout_new(const struct layout *l);
void layout_free(const struct layout *l, void *take_object);
/* layout_fini for an array, and free(). */
void layout_free_list(const struct layout *l, void *take_at, size_t count);

/* A new JSON object; texts that are not UTF-8 are mended. layout_add_json adds the fields to an object that is there. */
json_t *layout_json(const struct layout *l, const void *object);
void layout_add_json(const struct layout *l, const void *object, json_t *into);
/* Reads JSON into an object that layout_init has set: fields that are missing stay as they are, names that the layout does not know
 * are passed over. Integers are exact to 64 bits. -ERR_INPUT names the field that has the wrong type; the object may be half filled
 * then. */
int layout_read(const struct layout *l, const json_t *json, void *object, struct err *e);
/* The same from and to text; layout_write's is owned by the caller. The text may also be the form that peakd wrote into its
 * database before it wrote JSON: lines "name: value", where "name_2" belongs to the third element of the list. */
int layout_read_text(const struct layout *l, const char *text, void *object, struct err *e);
char *layout_write(const struct layout *l, const void *object);

/* The JSON Schema of layout_json's object: a new reference. */
json_t *layout_schema(const struct layout *l);

/* A list of texts, as layouts write one: a new reference. */
json_t *layout_texts(char *const *at, size_t count);

/* Appends what the fields' `say` gives; of a list the first eight elements, each on a line of its own. */
void layout_text(const struct layout *l, const void *object, struct buf *out);

/* "0.2714 ms", "13.2 us", "-" for what is not finite; returns text. */
char *layout_time(double ns, char text[32]);
/* "450 uJ", "12.3 mJ", "1.2 J", "-" where it is not known; returns text. */
char *layout_joules(double joules, char text[32]);

/* For those who walk a table: one value of a BOOL, INT, ID, COUNT or WORD; and its place in words. */
int64_t layout_get_int(const struct layout_field *f, const void *object);
void layout_set_int(const struct layout_field *f, void *object, int64_t value);
/* The place of a word in a WORD's list; negative when it is not there. */
int layout_word(const struct layout_field *f, const char *word);

#endif

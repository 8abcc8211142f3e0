/* parse: JSON text into jansson values, several times as fast as jansson's own reader on the long strings that kernels
 * and prompts are, and stricter: no duplicate keys, no NUL, bounded depth. Used by mcp/jsonrpc.c for what arrives. */
#ifndef PEAKD_MCP_PARSE_H
#define PEAKD_MCP_PARSE_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

/* One value and nothing after it but white space. ERR_INPUT says what is wrong at which byte; ERR_UNSUPPORTED that it is
 * nested deeper than max_depth arrays and objects. *ret_value is a new reference. */
int mcp_parse(const char *text, size_t n, int max_depth, json_t **ret_value, struct err *e);

/* What is looked for in an object. */
struct mcp_parse_shape {
	const struct mcp_parse_member *members;
	size_t count;
};
struct mcp_parse_member {
	const char *name;
	size_t n;  /* length of the name */
	int index; /* where the value goes */
	const struct mcp_parse_shape
		*below; /* what is looked for in the value, if that is an object; NULL: all of it */
};

/* What the last texts said of those members that are the same in most texts of one sender: equal bytes have an equal
 * value, which is shared then. Of one thread at a time; give values back with mcp_parse_drop. */
struct mcp_parse_memory {
	struct mcp_parse_memo {
		char *text; /* from its quote or brace to that which ends it */
		size_t n;
		json_t *value; /* NULL: nothing is remembered */
	} * memos;
	size_t count; /* by index of the members, the first ones only */
};
void mcp_parse_memory_init(struct mcp_parse_memory *memory, size_t count);
void mcp_parse_memory_fini(struct mcp_parse_memory *memory);
/* Drops a reference to a value that other threads may have references to: json_decref lets go of one without looking
 * what others did before they let go of theirs. */
static inline void mcp_parse_drop(json_t *value)
{
	if (value && __atomic_load_n(&value->refcount, __ATOMIC_RELAXED) != (size_t)-1 &&
	    __atomic_sub_fetch(&value->refcount, 1, __ATOMIC_ACQ_REL) == 0)
		json_delete(value);
}

/* The same for a text that ought to be an object of this shape: values[] gets a new reference for each member that is
 * there, the others are read and dropped, and no object is made. Of a member with a shape of its own the value is true
 * when it was an object, whose members are in values[] too, and false when it was anything else. For another text than
 * an object *ret_other is the value, else NULL. values[] must be all NULL before, and is filled on failure too.
 * memory: of texts that were read with the same shape and max_depth; or NULL. */
int mcp_parse_object(const char *text, size_t n, int max_depth, const struct mcp_parse_shape *shape,
		     struct mcp_parse_memory *memory, json_t **values, json_t **ret_other, struct err *e);
/* The number at the beginning of a text and its length; NULL, and why, when there is none. New reference. */
json_t *mcp_parse_number(const char *s, size_t n, size_t *ret_length, const char **ret_why);
/* How many characters at the beginning stand for themselves in JSON text and are ASCII: no quote, no backslash, no
 * control character. */
size_t mcp_parse_plain(const char *text, size_t n);
/* Length of the well-formed UTF-8 sequence at s, of more than one byte; 0 when it is none. */
size_t mcp_parse_sequence(const unsigned char *s, size_t n);
/* How many bytes at the beginning are well-formed UTF-8. */
size_t mcp_parse_utf8(const char *text, size_t n);
/* The text as a JSON string; bytes that are not UTF-8 become '?'. New reference. */
json_t *mcp_parse_string(const char *text);

#endif

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
/* The same for a text that ought to be an object: the members of these names go into their slots (a new reference each,
 * NULL where there was none), the others are read and dropped, and no object is made. For anything else than an object
 * *ret_other is the value, else NULL. The slots are filled on failure too. */
struct mcp_parse_slot {
	const char *name;
	json_t *value;
};
int mcp_parse_object(const char *text, size_t n, int max_depth, struct mcp_parse_slot *slots, size_t count,
		     json_t **ret_other, struct err *e);
/* How many characters at the beginning stand for themselves in JSON text and are ASCII: no quote, no backslash, no
 * control character. */
size_t mcp_parse_plain(const char *text, size_t n);
/* How many bytes at the beginning are well-formed UTF-8. */
size_t mcp_parse_utf8(const char *text, size_t n);
/* The text as a JSON string; bytes that are not UTF-8 become '?'. New reference. */
json_t *mcp_parse_string(const char *text);

#endif

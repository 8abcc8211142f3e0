/* parse_text: which characters stand for themselves in JSON text, and which bytes are UTF-8; see parse.h. Called by
 * mcp/parse.c for what arrives, and by mcp/jsonrpc.c and mcp/call_reply.c for what leaves. */
#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "mcp/parse.h"

/* Unicode 15, table 3-7. */
size_t mcp_parse_sequence(const unsigned char *s, size_t n)
{
	if (n >= 2 && s[0] >= 0xC2 && s[0] <= 0xDF)
		return (s[1] & 0xC0) == 0x80 ? 2 : 0;
	if (n >= 3 && (s[0] & 0xF0) == 0xE0) {
		int low = s[0] == 0xE0 ? 0xA0 : 0x80, high = s[0] == 0xED ? 0x9F : 0xBF;
		return s[1] >= low && s[1] <= high && (s[2] & 0xC0) == 0x80 ? 3 : 0;
	}
	if (n >= 4 && s[0] >= 0xF0 && s[0] <= 0xF4) {
		int low = s[0] == 0xF0 ? 0x90 : 0x80, high = s[0] == 0xF4 ? 0x8F : 0xBF;
		return s[1] >= low && s[1] <= high && (s[2] & 0xC0) == 0x80 && (s[3] & 0xC0) == 0x80 ? 4 : 0;
	}
	return 0;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Eight at a time. A byte x below 0x80 sets its highest bit in (x - 1) when it is zero and in (x - 0x20) when it is a
 * control character; a borrow can only come from a byte that is found itself, so the first that is found is one. */
size_t mcp_parse_plain(const char *text, size_t n)
{
	size_t i = 0;
	for (uint64_t v; n - i >= sizeof v; i += sizeof v) {
		memcpy(&v, text + i, sizeof v);
		v = le64toh(v);
		uint64_t quote = v ^ EACH('"'), backslash = v ^ EACH('\\');
		uint64_t found = (v | (v - EACH(0x20)) | (quote - EACH(1)) | (backslash - EACH(1))) & EACH(0x80);
		if (found)
			return i + (size_t)__builtin_ctzll(found) / 8;
	}
	while (i < n && (unsigned char)text[i] < 0x80 && (unsigned char)text[i] >= 0x20 && text[i] != '"' &&
	       text[i] != '\\')
		i++;
	return i;
}

size_t mcp_parse_utf8(const char *text, size_t n)
{
	size_t i = 0;
	while (i < n) {
		uint64_t v = 0;
		size_t step = n - i < sizeof v ? n - i : sizeof v;
		memcpy(&v, text + i, step);
		if ((v & EACH(0x80)) == 0) {
			i += step;
			continue;
		}
		while ((unsigned char)text[i] < 0x80)
			i++;
		size_t len = mcp_parse_sequence((const unsigned char *)text + i, n - i);
		if (len == 0)
			break;
		i += len;
	}
	return i;
}

json_t *mcp_parse_string(const char *text)
{
	size_t n = strlen(text), from = 0;
	const unsigned char *s = (const unsigned char *)text;
	struct buf b = BUF_INIT;
	for (size_t i = 0; i < n;) {
		if ((i += mcp_parse_plain(text + i, n - i)) >= n)
			break;
		size_t len = s[i] < 0x80 ? 1 : mcp_parse_sequence(s + i, n - i);
		if (len == 0) {
			buf_add(&b, text + from, i - from);
			buf_addc(&b, '?');
			from = i + 1;
		}
		i += len ? len : 1;
	}
	if (from == 0)
		return json_stringn_nocheck(text, n);
	buf_add(&b, text + from, n - from);
	json_t *string = json_stringn_nocheck(buf_text(&b), b.len);
	buf_fini(&b);
	return string;
}

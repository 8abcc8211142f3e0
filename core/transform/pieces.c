/* pieces: see pieces.h. */
#include "core/transform/pieces.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void pieces_put(struct buf *out, const char *name, const char *text)
{
	buf_addf(out, "%s %zu\n", name, strlen(text));
	buf_adds(out, text);
	buf_addc(out, '\n');
}

void pieces_put_number(struct buf *out, const char *name, unsigned value)
{
	char text[16];
	snprintf(text, sizeof text, "%u", value);
	pieces_put(out, name, text);
}

/* One field from *at; false when it is none. */
static bool read_one(const char **at, const char *end, struct piece *ret_piece)
{
	const char *blank = memchr(*at, ' ', (size_t)(end - *at)), *nl = memchr(*at, '\n', (size_t)(end - *at));
	if (!blank || !nl || blank > nl)
		return false;
	char *stop;
	unsigned long long n = strtoull(blank + 1, &stop, 10);
	if (stop != nl || n >= (unsigned long long)(end - nl) - 1 || nl[1 + n] != '\n')
		return false;
	*ret_piece = (struct piece){ mem_strn(*at, (size_t)(blank - *at)), mem_strn(nl + 1, n) };
	*at = nl + 2 + n;
	return true;
}

int pieces_read(const char *text, size_t len, struct pieces *ret_pieces, struct err *e)
{
	struct pieces f = { 0 };
	for (const char *at = text, *end = text + len; at < end;) {
		struct piece piece;
		if (!read_one(&at, end, &piece)) {
			pieces_fini(&f);
			return err_set(e, ERR_INPUT, "the saved transformation is damaged at byte %zu; begin it again",
				       (size_t)(at - text));
		}
		*MEM_PUSH(f.at, f.count) = piece;
	}
	*ret_pieces = f;
	return 0;
}

void pieces_fini(struct pieces *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->at[i].name);
		free(f->at[i].text);
	}
	free(f->at);
	*f = (struct pieces){ 0 };
}

const char *pieces_text(const struct pieces *f, const char *name)
{
	for (size_t i = 0; i < f->count; i++) {
		if (strcmp(f->at[i].name, name) == 0)
			return f->at[i].text;
	}
	return "";
}

unsigned pieces_number(const struct pieces *f, const char *name)
{
	return (unsigned)strtoul(pieces_text(f, name), NULL, 10);
}

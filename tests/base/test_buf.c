/* base/buf: adding, room, dropping, stealing; always NUL-terminated. */
#include "base/buf.h"
#include "tap.h"

static void text_and_bytes(void)
{
	struct buf b = BUF_INIT;
	is_str(buf_text(&b), "", "an empty buffer gives an empty text");
	buf_add(&b, NULL, 0);
	is_int(b.len, 0, "adding an empty text changes nothing");
	buf_adds(&b, "one ");
	buf_addc(&b, '2');
	buf_addf(&b, " %s %d", "three", 4);
	is_str(buf_text(&b), "one 2 three 4", "text, character and formatted text are appended in order");
	is_int(b.len, 13, "the length counts bytes");
	buf_add(&b, "\0x", 2);
	is_int(b.len, 15, "the length counts a NUL in the content");
	is_int(b.data[b.len], 0, "a NUL terminates the content");
	buf_fini(&b);
	ok(b.data == NULL && b.len == 0 && b.cap == 0, "buf_fini leaves an empty buffer");
	buf_fini(&b);
}

static void dropping(void)
{
	struct buf b = BUF_INIT;
	buf_adds(&b, "abcdef");
	buf_drop(&b, 2);
	is_str(buf_text(&b), "cdef", "buf_drop removes the first bytes");
	buf_drop(&b, 0);
	is_int(b.len, 4, "dropping zero bytes keeps all");
	buf_drop(&b, 4);
	is_str(buf_text(&b), "", "dropping all leaves an empty text");
	buf_adds(&b, "x");
	buf_clear(&b);
	is_str(buf_text(&b), "", "buf_clear empties the text");
	ok(b.cap > 0, "buf_clear keeps the memory");
	buf_fini(&b);
}

static void growing(void)
{
	struct buf b = BUF_INIT;
	char *room = buf_room(&b, 3);
	memcpy(room, "abc", 3);
	int tight = 0;
	for (int i = 0; i < 100000; i++) {
		buf_addc(&b, (char)('a' + i % 26));
		tight += b.len >= b.cap;
	}
	is_int(tight, 0, "there is always room for the NUL");
	is_int(b.len, 100003, "many small additions sum up to their length");
	ok(strncmp(b.data, "abcabcdef", 9) == 0, "the first additions stay at the front");
	ok(b.data[3 + 99999] == 'a' + 99999 % 26, "the last addition is at the end");
	ok(b.cap > b.len && b.data[b.len] == '\0', "the terminating NUL is within the capacity");
	char *text = buf_steal(&b);
	is_int(strlen(text), 100003, "buf_steal returns the whole text");
	ok(b.data == NULL && b.len == 0, "buf_steal leaves an empty buffer");
	free(text);
	text = buf_steal(&b);
	is_str(text, "", "buf_steal of an empty buffer returns an empty text");
	free(text);
}

int main(void)
{
	text_and_bytes();
	dropping();
	growing();
	return tap_done();
}

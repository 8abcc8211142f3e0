/* SPIR-V that no compiler made is read in bounded time. */
#include "backends/hlsl/object.h"

#include "base/buf.h"
#include "base/clock.h"
#include "pace.h"
#include "tap.h"

enum { GL_COMPUTE = 5, LOCAL_SIZE = 17, WORKGROUP = 4, FIRST = 10, LEVELS = 15, MEMBERS = 16, POINTER = 60, VARIABLE = 61 };

static void put(struct buf *b, const uint32_t *words, uint32_t n, uint32_t code)
{
	uint32_t head = (n + 1) << 16 | code;
	buf_add(b, &head, sizeof head);
	buf_add(b, words, n * sizeof *words);
}

#define PUT(b, code, ...) put(b, (uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), code)

/* Structs of structs, each with sixteen of the one before: sixteen to the fifteenth floats. */
static void nested(struct buf *b)
{
	uint32_t header[] = { 0x07230203, 0x10300, 0, 100, 0 };
	buf_add(b, header, sizeof header);
	PUT(b, 17, 1);
	PUT(b, 14, 0, 1);
	PUT(b, 15, GL_COMPUTE, 1, 0x6e69616d, 0);
	PUT(b, 16, 1, LOCAL_SIZE, 1, 1, 1);
	PUT(b, 22, FIRST - 1, 32);
	for (uint32_t i = 0; i < LEVELS; i++) {
		uint32_t words[1 + MEMBERS] = { FIRST + i };
		for (int k = 1; k <= MEMBERS; k++)
			words[k] = FIRST + i - 1;
		put(b, words, 1 + MEMBERS, 30);
	}
	PUT(b, 32, POINTER, WORKGROUP, FIRST + LEVELS - 1);
	PUT(b, 59, POINTER, VARIABLE, WORKGROUP);
}

int main(void)
{
	struct buf b = BUF_INIT;
	struct spirv s = { .bindings = NULL };
	struct err e = ERR_INIT;
	nested(&b);
	struct pace pace = pace_begin();
	int rc = hlsl_spirv_read((const uint32_t *)(const void *)b.data, b.len / 4, &s, &e);
	ok(pace_within(&pace, 2 * CLOCK_S), "a type of endless parts is read in bounded time (%s)", pace_text(&pace));
	is_int(rc, 0, "the module is read (%s)", e.text);
	ok(s.shared > 1u << 30, "its shared memory is too large for any device (%u bytes)", s.shared);
	if (rc == 0)
		hlsl_spirv_fini(&s);
	buf_fini(&b);
	return tap_done();
}

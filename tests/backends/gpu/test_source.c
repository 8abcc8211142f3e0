/* backends/gpu/source: the text for a device compiler, and what cannot become a macro of it. */
#include "backends/gpu/source.h"

#include "tap.h"

static int add(const char *name, const char *value, struct buf *out, struct err *e)
{
	struct wire_define define = { .name = (char *)name, .value = (char *)value };
	struct wire_compile request = { .defines = &define, .define_count = 1, .macros = (char *)"#define M(x) \\", .device = (char *)"int d;" };
	*e = (struct err)ERR_INIT;
	return source_add(&request, out, e);
}

int main(void)
{
	static const char *const bad[][2] = { { "B X", "1" }, { "BX\n", "1" }, { "BX", "1\n#define C 2" }, { "BX", "1\r2" } };
	struct buf out = BUF_INIT;
	struct wire_compile empty = { .define_count = 0 };
	struct err e;
	is_int(add("BX", "16 + 1", &out, &e), 0, "a parameter and two regions %s", e.text);
	is_str(buf_text(&out), "#define BX 16 + 1\n#line 1 \"macros\"\n#define M(x) \\\n\n#line 1 \"device\"\nint d;\n",
	       "each region counts its own lines, and a macro that goes on at the end of one ends there");
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		is_int(add(bad[i][0], bad[i][1], &out, &e), -ERR_INPUT, "a name or value that would be another line or another macro is refused");
	has_str(e.text, "cannot become a macro", "with the reason");
	buf_clear(&out);
	is_int(source_add(&empty, &out, &e), 0, "no regions are empty ones");
	is_str(buf_text(&out), "#line 1 \"macros\"\n\n\n#line 1 \"device\"\n\n", "with their lines");
	buf_fini(&out);
	return tap_done();
}

/* The translation unit for a device compiler, its diagnostics, and the parameters that cannot become macros. */
#include "backends/gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tap.h"

static int add(const char *name, const char *value, struct buf *out, struct err *e)
{
	struct wire_define define = { .name = (char *)name, .value = (char *)value };
	struct wire_compile request = {
		.defines = &define, .define_count = 1, .macros = (char *)"#define M(x) \\", .device = (char *)"int d;"
	};
	*e = (struct err)ERR_INIT;
	return gpu_compile_source(&request, out, e);
}

static void diagnostics(void)
{
	struct wire_compile request = { .macros = (char *)"first\nsecond", .device = (char *)"only\n" };
	struct gpu_messages m = { .list = NULL };
	struct buf out = BUF_INIT;
	char *line = gpu_diagnostic_source(&request, "macros", 2);

	is_str(line, "second", "the line that a message is about");
	free(line);
	line = gpu_diagnostic_source(&request, "device", 1);
	is_str(line, "only", "the device region's first line");
	free(line);
	ok(!gpu_diagnostic_source(&request, "device", 2) && !gpu_diagnostic_source(&request, "device", 0) &&
		   !gpu_diagnostic_source(&request, "header.h", 1),
	   "no line where the region has none, or the file is not a region");
	gpu_diagnostic_add(&m, GPU_WARNING, mem_str("device(1): warning"));
	gpu_diagnostic_add(&m, GPU_CONTINUES, mem_str("  quoted\a"));
	gpu_diagnostic_add(&m, GPU_ERROR, mem_str("device(2): error"));
	gpu_diagnostic_add(&m, GPU_CONTINUES, mem_str("  wrong"));
	gpu_diagnostic_print(&m, false, &out);
	is_str(buf_text(&out), "device(2): error\n  wrong\ndevice(1): warning\n  quoted?\n",
	       "errors first, each with its lines, none with controls");
	buf_clear(&out);
	gpu_diagnostic_print(&m, true, &out);
	is_str(buf_text(&out), "device(2): error\n  wrong\n", "errors alone");
	gpu_diagnostic_fini(&m);
	buf_fini(&out);
}

/* Headers are read before a parameter may take a word away from them. */
static void includes(void)
{
	struct wire_define define = { .name = (char *)"T", .value = (char *)"4" };
	struct wire_compile request = {
		.defines = &define, .define_count = 1, .macros = (char *)"#define M 1\n#include <late.h>",
		.device = (char *)"// a\n\n # include <b.h> // c\n#include <d.h>\nint e;\n#include <f.h>\n"
	};
	struct buf out = BUF_INIT;
	struct err e = ERR_INIT;
	is_int(gpu_compile_source(&request, &out, &e), 0, "assemble code with headers");
	char *own = strstr(buf_text(&out), "#line 1 \"macros\"");
	ok(own != NULL, "the regions follow");
	char *head = mem_strn(buf_text(&out), own ? (size_t)(own - buf_text(&out)) : 0);
	is_str(head,
	       "#line 3 \"device\"\n # include <b.h> // c\n#line 4 \"device\"\n#include <d.h>\n"
	       "#line 1 \"parameters\"\n#define T 4\n",
	       "the headers at the head of a region come before the parameters, others do not");
	free(head);
	buf_fini(&out);
}

int main(void)
{
	static const char *const bad[][2] = { { "B X", "1" }, { "BX\n", "1" }, { "BX", "1\n#define C 2" }, { "BX", "1\r2" } };
	struct buf out = BUF_INIT;
	struct wire_compile empty = { .define_count = 0 };
	struct err e;
	is_int(add("BX", "16 + 1", &out, &e), 0, "assemble a parameter and two regions %s", e.text);
	is_str(buf_text(&out), "#define BX 16 + 1\n#line 1 \"macros\"\n#define M(x) \\\n\n#line 1 \"device\"\nint d;\n",
	       "each region counts its own lines, and an open macro ends with its region");
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		is_int(add(bad[i][0], bad[i][1], &out, &e), -ERR_INPUT,
		       "a name or value that would start another line or macro is refused");
	has_str(e.text, "cannot become a macro", "the message says why");
	buf_clear(&out);
	is_int(gpu_compile_source(&empty, &out, &e), 0, "assemble missing regions");
	is_str(buf_text(&out), "#line 1 \"macros\"\n\n\n#line 1 \"device\"\n\n", "missing regions are empty");
	buf_fini(&out);
	diagnostics();
	includes();
	return tap_done();
}

/* compile: what cuda/compile.c and hip/compile.c have in common: the source text, a run of NVRTC or hiprtc, its binary, and
 * the check of a plan's launches against the binary's kernels. */
#ifndef PEAKD_BACKENDS_GPU_COMPILE_H
#define PEAKD_BACKENDS_GPU_COMPILE_H

#include "backends/gpu/api.h"
#include "backends/gpu/module.h"
#include "backends/wire/wire.h"
#include "base/buf.h"
#include "base/err.h"

/* Small replacements for headers that kernels habitually include: the compilers have no include folder of their own, and a
 * host's headers do not compile as device code. They win over every folder. */
struct gpu_header {
	const char *name, *text;
}; /* "stdint.h"; a list ends with a NULL name */
#define GPU_HEADER_LIMITS                                                                                                          \
	"#pragma once\n"                                                                                                           \
	"#define INT_MAX 2147483647\n#define INT_MIN (-INT_MAX - 1)\n#define UINT_MAX 4294967295u\n"                               \
	"#define LLONG_MAX 9223372036854775807ll\n#define LLONG_MIN (-LLONG_MAX - 1)\n#define ULLONG_MAX "                         \
	"18446744073709551615ull\n"
#define GPU_HEADER_EMPTY "#pragma once\n"
/* The rows that both vendors have, with their own texts for three of them. */
#define GPU_HEADERS(stdint, float_, math)                                                                                          \
	{ "stdint.h", stdint }, { "cstdint", stdint }, { "float.h", float_ }, { "cfloat", float_ }, { "math.h", math },            \
		{ "cmath", math }, { "limits.h", GPU_HEADER_LIMITS }, { "climits", GPU_HEADER_LIMITS },                            \
		{ "stddef.h", GPU_HEADER_EMPTY }, { "cstddef", GPU_HEADER_EMPTY }, { "stdio.h", GPU_HEADER_EMPTY },                \
		{ "cstdio", GPU_HEADER_EMPTY }, { "stdlib.h", GPU_HEADER_EMPTY }, { "assert.h", GPU_HEADER_EMPTY },                \
		{ "cassert", GPU_HEADER_EMPTY },                                                                                   \
	{                                                                                                                          \
		"string.h", GPU_HEADER_EMPTY                                                                                       \
	}

struct gpu_options {
	char **list;
	size_t count;
};

/* One run of the compiler. */
struct gpu_attempt {
	int result;
	gpu_program program; /* NULL when the compiler could not even make one */
	char *log;           /* never NULL */
};

/* Adds the translation unit: the parameters as macros, the macros region, the device region. #line makes messages read
 * macros(3) and device(12), the lines that the author wrote. -ERR_INPUT for a parameter that cannot become a macro. */
int gpu_compile_source(const struct wire_compile *request, struct buf *out, struct err *e);
void gpu_options_add(struct gpu_options *o, char *take_option);
/* Adds the context's own options. */
void gpu_options_add_request(struct gpu_options *o, const struct wire_compile *request);
void gpu_options_fini(struct gpu_options *o);
struct gpu_attempt gpu_attempt_new(const struct gpu_rtc *rtc, const char *source, const struct gpu_header *headers,
				   const struct gpu_options *options);
void gpu_attempt_fini(const struct gpu_rtc *rtc, struct gpu_attempt *a);
/* A text that the compiler hands out in two calls, fresh; "" when it does not, or without a program. */
char *gpu_attempt_text(gpu_program program, int (*size)(gpu_program, size_t *), int (*get)(gpu_program, char *));
/* Moves the binary to `to`. `compiler` and `other` are for the message: "NVRTC", "PTX or LTO". */
int gpu_attempt_binary(const struct gpu_rtc *rtc, const struct gpu_attempt *a, const char *compiler, const char *other,
		       struct wire_compiled *to, struct err *e);
/* Checks every launch of the plan (gpu_check_launch, gpu_module_missing) and that the module keeps no state, and reports
 * each launched kernel once in to->kernels; without a plan, every kernel of the module. */
int gpu_compile_check(const struct plan *plan, const struct gpu_module *module, const struct facts *limits,
		      struct wire_compiled *to, struct err *e);

#endif

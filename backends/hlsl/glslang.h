/* glslang: the HLSL front end behind one C function. glslang's own C interface cannot name an HLSL entry point, so this is
 * the project's only C++ file. Called by backends/hlsl/compile.c. glslang deprecated its HLSL front end in April 2026; what
 * it cannot do (templates, enum, float16_t) is listed in docs. */
#ifndef PEAKD_BACKENDS_HLSL_GLSLANG_H
#define PEAKD_BACKENDS_HLSL_GLSLANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct glslang_output {
	uint32_t *words; /* SPIR-V 1.3 for Vulkan 1.1; NULL when refused; free() */
	size_t word_count;
	char *log; /* the front end's own text, errors and warnings; never NULL; free() */
};

/* Compiles one entry point of a compute shader. half: `half` and min16float are true 16-bit types, also in memory; else they
 * are 32 bits wide. False when the source was refused: the log says why. Any thread. */
bool hlsl_glslang(const char *source, const char *entry, bool half, struct glslang_output *ret_output);
/* "glslang 12.0.0". Static storage. */
const char *hlsl_glslang_name(void);

#ifdef __cplusplus
}
#endif

#endif

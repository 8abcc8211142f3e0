/* spirv: what a SPIR-V module says of itself. glslang accepts kernels that no device can run (too much groupshared
 * memory, too many threads, bindings that nobody fills), and drivers then crash or corrupt; so these things are read
 * from the module before anything is launched. Called by compile.c and kernel.c. */
#ifndef PEAKD_BACKENDS_HLSL_SPIRV_H
#define PEAKD_BACKENDS_HLSL_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct spirv_binding {
	char *name;        /* of the global in the source */
	uint32_t set, binding;
	bool storage;      /* a structured or byte-address buffer; false: anything else */
};

/* One member of the push constants: a scalar argument. */
struct spirv_member {
	char *name;
	uint32_t offset;   /* bytes */
	uint32_t bits;     /* width: 16, 32 or 64; 0 when it is no scalar */
	bool floating;
	bool used;         /* by this entry point */
};

struct spirv {
	uint32_t block[3];               /* LocalSize */
	uint32_t shared;                 /* bytes of workgroup memory */
	struct spirv_binding *bindings;
	size_t binding_count;
	struct spirv_member *members;
	size_t member_count;
	uint32_t *capabilities;          /* SpvCapability numbers */
	size_t capability_count;
};

/* Reads a module with one compute entry point; the words may be hostile. -ERR_INTERNAL when it is no such module. */
int hlsl_spirv_read(const uint32_t *words, size_t count, struct spirv *ret_spirv, struct err *e);
void hlsl_spirv_fini(struct spirv *s);
/* SPIRV-Tools' validator for Vulkan 1.1. -ERR_COMPILE with its text. */
int hlsl_spirv_validate(const uint32_t *words, size_t count, struct err *e);

#endif

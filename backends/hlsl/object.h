/* object: the HLSL backend's binary, one SPIR-V module per entry point, and what such a module says about itself. glslang accepts
 * kernels that no device can run: too much groupshared memory, too many threads, bindings without a buffer. Drivers then crash or
 * corrupt memory, so these things are read before anything is launched. Written by compile.c, read by backend.c and race.c. */
#ifndef PEAKD_BACKENDS_HLSL_OBJECT_H
#define PEAKD_BACKENDS_HLSL_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/wire/wire.h"
#include "base/buf.h"
#include "base/err.h"

struct hlsl_kernel {
	char *name;      /* entry point */
	uint32_t *words; /* SPIR-V */
	size_t bytes;    /* of the words */
};

struct hlsl_object {
	struct hlsl_kernel *kernels;
	size_t count;
};

void hlsl_object_encode(const struct hlsl_object *o, struct buf *out);
/* -ERR_INPUT when the bytes are not a binary of this backend and version. */
int hlsl_object_decode(const void *bytes, size_t len, struct hlsl_object *ret_object, struct err *e);
void hlsl_object_fini(struct hlsl_object *o);
/* NULL when there is none of that name. */
const struct hlsl_kernel *hlsl_object_find(const struct hlsl_object *o, const char *name);

struct spirv_binding {
	char *name;        /* of the global in the source */
	uint32_t variable; /* its id */
	uint32_t set, binding;
	bool storage; /* a structured or byte-address buffer; false: anything else */
	bool read;    /* the code may do more with it than store into it */
};

/* One member of the push constants: a scalar argument. */
struct spirv_member {
	char *name;
	uint32_t offset; /* bytes */
	uint32_t bits;   /* width: 16, 32 or 64; 0 when it is not a scalar */
	bool floating;
	bool used; /* by this entry point */
};

/* Numbers of SPIR-V 1.6. */
enum {
	SPIRV_TYPE_VOID = 19,
	SPIRV_TYPE_BOOL,
	SPIRV_TYPE_INT,
	SPIRV_TYPE_FLOAT,
	SPIRV_TYPE_VECTOR,
	SPIRV_TYPE_ARRAY = 28,
	SPIRV_TYPE_RUNTIME_ARRAY,
	SPIRV_TYPE_STRUCT,
	SPIRV_TYPE_POINTER = 32,
	SPIRV_TYPE_FUNCTION,
	SPIRV_CONSTANT = 43,
	SPIRV_VARIABLE = 59,
	SPIRV_STORAGE_INPUT = 1,
	SPIRV_STORAGE_WORKGROUP = 4,
	SPIRV_STORAGE_PRIVATE = 6,
	SPIRV_STORAGE_FUNCTION,
	SPIRV_STORAGE_PUSH = 9,
	SPIRV_HEADER = 5, /* words before the first instruction */
	SPIRV_POINTER_SLOTS = 2,
};
#define SPIRV_UNSET UINT32_MAX

/* Sizes are capped at UINT32_MAX. */
struct spirv_type {
	uint32_t op;   /* OpType… */
	uint32_t bits; /* of a scalar */
	bool is_signed;
	uint32_t element;  /* type of elements, or what a pointer points to */
	uint32_t count;    /* components, elements, members */
	uint32_t storage;  /* class of a pointer */
	uint32_t slots;    /* scalars in it; 0 for a runtime array */
	uint32_t stride;   /* bytes between elements (ArrayStride) */
	uint32_t bytes;    /* in workgroup memory, as Mesa lays that out */
	uint32_t align;    /* there */
	uint32_t *members; /* types of a struct's members */
	uint32_t *offsets; /* their byte offsets */
};

struct spirv_id {
	const uint32_t *made;                   /* the instruction that has it as result; NULL: none */
	struct spirv_type *type_def;            /* of a type */
	uint32_t type;                          /* of a value */
	uint32_t builtin, set, binding, stride; /* decorations; the first and the third SPIRV_UNSET without */
	bool buffer;                            /* of a type: BufferBlock */
	char *name;
	uint32_t *offsets; /* of a struct's members */
	uint32_t offset_count;
};

struct spirv {
	const uint32_t *words; /* borrowed */
	size_t count;
	struct spirv_id *ids;
	uint32_t bound;
	uint32_t entry;    /* the function */
	uint32_t ext;      /* GLSL.std.450 */
	uint32_t block[3]; /* LocalSize */
	uint32_t shared;   /* bytes of workgroup memory */
	struct spirv_binding *bindings;
	size_t binding_count;
	struct spirv_member *members;
	size_t member_count;
	uint32_t *capabilities; /* SpvCapability numbers */
	size_t capability_count;
};

/* Reads a module with one compute entry point; the words may be hostile, and stay borrowed. -ERR_INTERNAL when it is not such a
 * module. */
int hlsl_spirv_read(const uint32_t *words, size_t count, struct spirv *ret_spirv, struct err *e);
void hlsl_spirv_fini(struct spirv *s);
/* Adds the module's constants. */
void hlsl_spirv_immediates(const struct spirv *s, struct wire_immediates *to);
/* SPIRV-Tools' validator for Vulkan 1.1. -ERR_COMPILE with its text. */
int hlsl_spirv_validate(const uint32_t *words, size_t count, struct err *e);
/* NULL when the id is no type. */
const struct spirv_type *hlsl_spirv_type(const struct spirv *s, uint32_t id);
/* Words of the instruction at `at`; 0 at the end, or where it does not fit. */
size_t hlsl_spirv_length(const uint32_t *words, size_t count, size_t at);
/* An instruction's name, without "Op". */
const char *hlsl_spirv_instruction(uint32_t op);

#endif

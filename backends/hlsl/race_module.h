/* race_module: a SPIR-V module as the interpreter of race.c wants it: types with their sizes, constants, variables, a slot for
 * every value, and where functions and blocks begin. */
#ifndef PEAKD_BACKENDS_HLSL_RACE_MODULE_H
#define PEAKD_BACKENDS_HLSL_RACE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RACE_UNSET UINT32_MAX

struct race_type {
	uint32_t op;          /* OpType… */
	uint32_t bits;        /* of a scalar */
	bool is_signed;
	uint32_t element;     /* type of elements, or what a pointer points to */
	uint32_t count;       /* components, elements, members */
	uint32_t storage;     /* class of a pointer */
	uint32_t slots;       /* scalars in it; 0 for a runtime array */
	uint32_t stride;      /* bytes between elements (ArrayStride) */
	uint32_t *members;    /* types of a struct's members */
	uint32_t *offsets;    /* their byte offsets */
};

struct race_id {
	struct race_type *type_def; /* of a type */
	uint32_t type;        /* of a value */
	uint32_t slot;        /* of a value: in a lane's memory, or in the constants */
	uint32_t place;       /* of a variable: its memory, in a lane's, the group's or (buffers) RACE_UNSET */
	uint32_t init;        /* of a variable: its initialiser; 0 none */
	uint32_t at;          /* of a function or label: the word behind it */
	uint32_t builtin, binding, stride;
	bool constant, variable;
	char *name;
	uint32_t *offsets;    /* decorations of a struct's members, before its type is known */
	uint32_t offset_count;
};

struct race_module {
	const uint32_t *words;
	size_t count;
	struct race_id *ids;
	uint32_t bound;
	uint32_t entry;         /* the function */
	uint32_t ext;           /* GLSL.std.450 */
	uint32_t lane_slots, group_slots, constant_slots;
	uint64_t *constants;
	bool has_barrier;
};

/* -ERR_UNSUPPORTED names what the interpreter does not know. */
int hlsl_race_module_read(const uint32_t *words, size_t count, struct race_module *ret_m, struct err *e);
void hlsl_race_module_fini(struct race_module *m);
/* Type of a value; NULL when it has none. */
const struct race_type *hlsl_race_module_type(const struct race_module *m, uint32_t id);

#endif

/* race_lane: one thread group of a kernel, interpreted, with a shadow of its shared memory. race.c reads the module, makes the
 * groups and runs them; race_lane.c executes instructions.
 *
 * Memory: values and private variables are scalars ("slots") of 64 bits in a lane's memory, shared variables in the group's.
 * A pointer is a variable's number and an offset, in slots, or in bytes for buffers. */
#ifndef PEAKD_BACKENDS_HLSL_RACE_LANE_H
#define PEAKD_BACKENDS_HLSL_RACE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { RACE_DEPTH = 16 };
#define RACE_UNSET UINT32_MAX
#define RACE_SEVERAL UINT32_MAX /* more than one lane */

/* --- the module --------------------------------------------------------------------------------------------------- */
struct race_type {
	uint32_t op;   /* OpType… */
	uint32_t bits; /* of a scalar */
	bool is_signed;
	uint32_t element;  /* type of elements, or what a pointer points to */
	uint32_t count;    /* components, elements, members */
	uint32_t storage;  /* class of a pointer */
	uint32_t slots;    /* scalars in it; 0 for a runtime array */
	uint32_t stride;   /* bytes between elements (ArrayStride) */
	uint32_t *members; /* types of a struct's members */
	uint32_t *offsets; /* their byte offsets */
};

struct race_id {
	struct race_type *type_def; /* of a type */
	uint32_t type;              /* of a value */
	uint32_t slot;              /* of a value: in a lane's memory, or in the constants */
	uint32_t place;             /* of a variable: its memory, in a lane's, the group's or (buffers) RACE_UNSET */
	uint32_t init;              /* of a variable: its initialiser; 0 none */
	uint32_t at;                /* of a function or label: the word behind it */
	uint32_t builtin, binding, stride;
	bool constant, variable;
	char *name;
	uint32_t *offsets; /* decorations of a struct's members, before its type is known */
	uint32_t offset_count;
};

struct race_module {
	const uint32_t *words;
	size_t count;
	struct race_id *ids;
	uint32_t bound;
	uint32_t entry; /* the function */
	uint32_t ext;   /* GLSL.std.450 */
	uint32_t lane_slots, group_slots, constant_slots;
	uint64_t *constants;
	bool has_barrier;
};

/* --- a group ------------------------------------------------------------------------------------------------------ */
/* Who touched one scalar of shared memory last, and between which barriers. */
struct race_shadow {
	uint32_t write_epoch, writer, read_epoch, reader, atomic_epoch, updater;
};

struct race_memory {
	uint8_t *bytes;
	uint64_t len;
};

struct race_frame {
	uint32_t at, result, block, previous;
};

struct race_lane {
	uint64_t *slots;
	uint32_t at;              /* next instruction */
	uint32_t block, previous; /* labels */
	struct race_frame stack[RACE_DEPTH];
	uint32_t depth, index;
	uint32_t barrier; /* where it waits; 0 nowhere */
	bool done;
};

struct race_group {
	const struct race_module *m;
	struct race_memory *memory; /* per id: what a buffer or the push constants hold */
	uint64_t *shared;
	struct race_shadow *shadow;
	uint32_t epoch;  /* counts barriers; begins with 1 */
	uint64_t budget; /* instructions that may still run */
	char *finding;   /* the first race, in words */
};

/* Runs until the next barrier, the end, a finding or the budget's end. -ERR_UNSUPPORTED for what it does not know. */
int hlsl_race_lane_run(struct race_group *g, struct race_lane *lane, struct err *e);
/* -ERR_UNSUPPORTED that names an instruction. */
int hlsl_race_lane_unknown(uint32_t op, struct err *e);

#endif

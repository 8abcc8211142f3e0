/* race_lane: one thread group of a kernel, interpreted. race_module.c reads the kernel; race.c makes the groups and runs them.
 * race_lane.c executes the instructions of one thread ("lane") with race_arith.c, and race_wave.c those of a wave. race_memory.c
 * loads, stores and remembers who touched what; race_clock.c knows what groups have seen of each other, race_depends.c whether
 * values matter; race_count.c counts for a profile.
 *
 * Memory: values and private variables are scalars ("slots") of 64 bits in a lane's memory, shared variables in the group's.
 * A pointer is a variable's number and an offset, in slots, or in bytes for buffers. */
#ifndef PEAKD_BACKENDS_HLSL_RACE_LANE_H
#define PEAKD_BACKENDS_HLSL_RACE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/hlsl/object.h"
#include "backends/wire/wire.h"
#include "base/err.h"

enum { RACE_DEPTH = 16, RACE_LOOPS = 16, RACE_WAVE_MAX = 128, RACE_SECTOR = 32 };
#define RACE_SEVERAL UINT32_MAX /* more than one lane */

/* --- the module --------------------------------------------------------------------------------------------------- */

enum { RACE_WAVE_FIRST = 333, RACE_WAVE_LAST = 366 }; /* the first and the last operation of a wave */

struct race_id {
	const struct spirv_type *type_def;  /* of a type */
	uint32_t type;                      /* of a value */
	uint32_t slot;                      /* of a value: in a lane's memory, or in the constants */
	uint32_t place;                     /* of a variable: its memory, in a lane's, the group's or (buffers) SPIRV_UNSET */
	uint32_t init;                      /* of a variable: its initialiser; 0 none */
	uint32_t at;                        /* of a function or label: the word behind it */
	uint32_t merge;                     /* of a loop's header: the label behind the loop; 0: of no loop */
	bool constant, variable, undefined; /* undefined: OpUndef */
};

struct race_module {
	struct spirv s;
	struct race_id *ids; /* as those of s */
	uint32_t lane_slots, group_slots, constant_slots;
	uint64_t *constants;
	uint32_t unit; /* bytes of the narrowest scalar type, 4 at most: what two threads may write side by side */
	bool has_wave_ops;
};

/* -ERR_UNSUPPORTED for what the interpreter does not know. The words must be valid SPIR-V, and stay borrowed. */
int hlsl_race_module_read(const uint32_t *words, size_t count, struct race_module *ret_m, struct err *e);
void hlsl_race_module_fini(struct race_module *m);
/* race_depends.c. False: neither branches nor places depend on what buffers hold, and there are no atomic operations. */
bool hlsl_race_depends(const struct spirv *s);
/* -ERR_UNSUPPORTED that names an instruction. */
int hlsl_race_unknown(uint32_t op, struct err *e);

/* --- a group ------------------------------------------------------------------------------------------------------ */
enum race_kind { RACE_READ, RACE_WRITE, RACE_ATOMIC, RACE_KINDS };

/* Who touched a piece of memory last in one way, and between which barriers. */
struct race_touch {
	uint32_t epoch, lane;      /* epoch 0: nobody */
	uint32_t group, other;     /* its number; and that of an earlier group that did so, 0 none */
	uint32_t when, other_when; /* struct race_group's `now` */
	uint32_t fences;           /* barriers of device memory that the lane had passed */
};

struct race_shadow {
	struct race_touch by[RACE_KINDS];
};

/* A buffer or the push constants. */
struct race_memory {
	uint8_t *bytes;
	uint64_t len;
	const char *name;
	uint32_t number;            /* of a buffer, in its plan */
	uint32_t element;           /* bytes */
	struct race_shadow *shadow; /* per unit of the module; NULL where nothing is written */
	uint8_t *touched;           /* a bit for each RACE_SECTOR bytes that were read; NULL unless counting */
};

struct race_frame {
	uint32_t at, result, block, previous, loops;
};

/* A loop that a lane is in, and how often it went round. */
struct race_loop {
	uint32_t header, turns;
};

struct race_lane {
	uint64_t *slots;
	uint32_t at;              /* next instruction; while it waits for its wave: that operation; at a barrier: behind it */
	uint32_t block, previous; /* labels */
	struct race_frame stack[RACE_DEPTH];
	struct race_loop loops[RACE_LOOPS];
	uint32_t depth, loop_count, index;
	uint32_t now;  /* the instruction that is executed */
	bool had_turn; /* the others had a turn before this atomic operation */
	enum { RACE_RUNS, RACE_STOPPED, RACE_AT_WAVE, RACE_AT_BARRIER, RACE_DONE } state;
};

/* Barriers of device memory that a lane has passed, and when the last one was. */
struct race_fences {
	uint32_t count, last;
};

/* A group that has begun. */
struct race_begun {
	struct race_lane *lanes;
	uint64_t *shared;
	struct race_shadow *shadow; /* of shared memory */
	uint32_t *seen;             /* per group: until when it knows what that group did */
	uint32_t number, epoch;     /* from 1 in each launch; struct race_group's `epochs` */
	uint32_t stops;             /* before and behind atomic operations on buffers */
	bool again;                 /* stops before one on a place that it has touched before */
	bool runs;                  /* has not ended */
};

/* More than 20 fields: all that a step of a lane may need. */
struct race_group {
	const struct race_module *m;
	struct race_memory *memory; /* per id */
	struct race_begun *me;      /* the group that runs */
	uint32_t epochs;            /* counts barriers and groups; begins with 1 */
	uint32_t wave;              /* lanes of a wave */
	bool lenient;               /* integers may be no indices: an access outside ends the run, and is no finding */
	bool atomics;               /* some were executed, by any group */
	bool alike;                 /* a thread wrote what was there, and others touch it: on other values that may be a race */
	bool turns;                 /* lanes stop before and behind atomic operations for others, on buffers for other groups */
	uint32_t now;               /* counts atomic operations on buffers; begins with 1 */
	uint32_t *clocks;           /* per place that such operations update: what those saw that did so, as `seen` */
	uint32_t clock_width;       /* numbers of each; groups beyond share them, and then they count as having seen more */
	struct race_fences *fences; /* per group and lane */
	size_t fence_count;
	uint32_t lanes;                 /* of a group */
	uint64_t undefined;             /* what memory holds that nobody wrote */
	uint64_t budget, until;         /* instructions that may still run; another group has its turn when so many are left */
	struct race_counting *counting; /* NULL: nothing is counted */
	char *finding;                  /* the first race, in words */
	char *doubt;                    /* the first read of such memory, in words */
};

/* Runs until the next barrier or wave operation, the end, the turn of another group, a finding or the budget's end.
 * -ERR_UNSUPPORTED for what it does not know. */
int hlsl_race_lane_run(struct race_group *g, struct race_lane *lane, struct err *e);
/* Orders two lanes by where they are: first by the turns of the loops that both are in, then by the text. 0: the same place. */
int hlsl_race_lane_order(const struct race_lane *a, const struct race_lane *b);
/* Runs n lanes, which are a wave, until each is at a barrier or at its end, one has stopped, or another group has its turn. */
int hlsl_race_wave_run(struct race_group *g, struct race_lane *lanes, uint32_t n, struct err *e);

/* --- values ------------------------------------------------------------------------------------------------------- */
static inline const struct spirv_type *race_type_of(const struct race_group *g, uint32_t type)
{
	return g->m->ids[type].type_def;
}
static inline const struct spirv_type *race_value_type(const struct race_group *g, uint32_t id)
{
	return race_type_of(g, g->m->ids[id].type);
}
static inline uint64_t *race_value(const struct race_group *g, const struct race_lane *lane, uint32_t id)
{
	const struct race_id *x = &g->m->ids[id];
	return x->constant ? g->m->constants + x->slot : lane->slots + x->slot;
}
/* A scalar of type t as a number, and back. */
double hlsl_race_float(const struct spirv_type *t, uint64_t bits);
uint64_t hlsl_race_bits(const struct spirv_type *t, double value);
/* The operation `op` of SPIR-V, or (ext) of GLSL.std.450, on up to three scalars of type `in`. *io_known becomes false where it is
 * not here. */
uint64_t hlsl_race_compute(uint32_t op, bool ext, const struct spirv_type *out, const struct spirv_type *in, const uint64_t v[3],
			   bool *io_known);
/* The same for two scalars of one type and an operation that is here. */
uint64_t hlsl_race_scalar(uint32_t op, bool ext, const struct spirv_type *t, uint64_t a, uint64_t b);

/* --- counting ----------------------------------------------------------------------------------------------------- */
/* One access of a lane since the last barrier. */
struct race_access {
	uint32_t at, turn, lane; /* the instruction, and how often this lane has executed it */
	uint32_t bytes;
	uint64_t address; /* buffers do not overlap */
	bool shared, store;
};

struct race_counting {
	struct wire_launch_count *to;
	struct race_access *log;
	size_t count;
};

/* Counts one instruction of a lane. */
void hlsl_race_count_op(struct race_group *g, uint32_t op, const uint32_t *w);
/* Notes an access: to a buffer (by its variable and byte), or to shared memory (by its slot). */
void hlsl_race_count_access(struct race_group *g, const struct race_lane *lane, uint64_t memory, uint64_t at, uint32_t bytes,
			    bool shared, bool store);
/* What 32 lanes did at one instruction in one turn is one request: counts those since the last call. */
void hlsl_race_count_requests(struct race_group *g);

/* --- what groups have seen of each other ------------------------------------------------------------------------ */
/* For a launch of so many groups. */
void hlsl_race_clocks_make(struct race_group *g, uint64_t groups);
/* A lane passes a barrier of device memory. */
void hlsl_race_fence(struct race_group *g, const struct race_lane *lane);
uint32_t hlsl_race_fences(const struct race_group *g, const struct race_lane *lane);
/* The group sees what those did that updated this place, before they did. */
void hlsl_race_acquire(struct race_group *g, const struct race_memory *mem, uint64_t at);
/* Those that update or read this place after it see what the group has done. */
void hlsl_race_release(struct race_group *g, const struct race_memory *mem, uint64_t at);
/* Has this group seen what that one did then? */
bool hlsl_race_published(const struct race_group *g, uint32_t group, uint32_t when);
/* Was there a barrier of device memory behind a write of another group, before that group published it? */
bool hlsl_race_fenced(const struct race_group *g, const struct race_touch *t);

/* --- memory ------------------------------------------------------------------------------------------------------- */
/* Moves a value of type t between a lane's slots and what a pointer points to. */
void hlsl_race_move(struct race_group *g, struct race_lane *lane, const uint64_t *pointer, const struct spirv_type *t,
		    uint64_t *slots, bool store);
int hlsl_race_atomic(struct race_group *g, struct race_lane *lane, uint32_t op, const uint32_t *w, uint32_t n, struct err *e);
/* What a scalar of memory that nobody wrote holds. */
uint64_t hlsl_race_undefined(const struct race_group *g, const struct spirv_type *t);

#endif

/* race_depends: whether what a kernel does with memory depends on what buffers hold: its branches, the places that it accesses, and
 * what its atomic operations meet. If it does not, one interpretation shows as much as many. Called by race.c. Opcodes are those of
 * the SPIR-V specification 1.6 (Khronos). What is not known here counts as dependent. */
#include <stdlib.h>

#include "backends/hlsl/race_lane.h"
#include "base/mem.h"

enum {
	OP_FUNCTION = 54,
	OP_FUNCTION_PARAMETER = 55,
	OP_FUNCTION_CALL = 57,
	OP_LOAD = 61,
	OP_STORE = 62,
	OP_COPY_MEMORY = 63,
	OP_ACCESS_CHAIN = 65,
	OP_IN_BOUNDS_ACCESS_CHAIN = 66,
	OP_IMAGE_FIRST = 86,
	OP_IMAGE_LAST = 107,
	OP_ATOMIC_FIRST = 227,
	OP_ATOMIC_LAST = 242,
	OP_BRANCH_CONDITIONAL = 250,
	OP_SWITCH = 251,
	OP_RETURN_VALUE = 254,
	PASSES = 64, /* values mostly flow onward; a loop's need one pass more */
	STORAGE_UNIFORM = 2,
	STORAGE_BUFFER = 12,
};

/* A module while it is followed. */
struct following {
	const struct spirv *s;
	bool *holds; /* per id: it is made of what buffers hold; of a variable or a pointer, the memory may be */
	bool changed, depends;
	uint32_t function; /* the one that is read */
};

static bool holds(const struct following *f, uint32_t id)
{
	return id < f->s->bound && f->holds[id];
}

static void mark(struct following *f, uint32_t id, bool how)
{
	if (how && id < f->s->bound && !f->holds[id])
		f->holds[id] = f->changed = true;
}

static bool is_buffer(const struct following *f, uint32_t pointer)
{
	const struct spirv_type *t = pointer < f->s->bound ? hlsl_spirv_type(f->s, f->s->ids[pointer].type) : NULL;
	return t && (t->storage == STORAGE_UNIFORM || t->storage == STORAGE_BUFFER);
}

/* The variable or parameter behind a pointer. */
static uint32_t root_of(struct following *f, uint32_t id)
{
	uint32_t op = 0;
	for (uint32_t steps = 0; id < f->s->bound && f->s->ids[id].made && steps < f->s->bound; steps++) {
		op = f->s->ids[id].made[0] & 0xFFFF;
		if (op != OP_ACCESS_CHAIN && op != OP_IN_BOUNDS_ACCESS_CHAIN)
			break;
		id = f->s->ids[id].made[3];
	}
	f->depends |= op != SPIRV_VARIABLE && op != OP_FUNCTION_PARAMETER;
	return id;
}

/* Parameter k of the function; 0: none. */
static uint32_t parameter_of(const struct following *f, uint32_t function, uint32_t k)
{
	const struct spirv *s = f->s;
	const uint32_t *at = function < s->bound ? s->ids[function].made : NULL, *end = s->words + s->count;
	for (at = at ? at + (at[0] >> 16) : end; at < end && (at[0] & 0xFFFF) == OP_FUNCTION_PARAMETER; at += at[0] >> 16)
		if (k-- == 0)
			return at[2];
	return 0;
}

/* Values go in and come out; so does memory behind pointers. */
static void follow_call(struct following *f, const uint32_t *w, uint32_t n)
{
	mark(f, w[2], holds(f, w[3]));
	for (uint32_t i = 4; i < n; i++) {
		const struct spirv_type *t = w[i] < f->s->bound ? hlsl_spirv_type(f->s, f->s->ids[w[i]].type) : NULL;
		uint32_t inside = parameter_of(f, w[3], i - 4);
		uint32_t outside = t && t->op == SPIRV_TYPE_POINTER ? root_of(f, w[i]) : w[i];
		mark(f, inside, holds(f, w[i]) || holds(f, outside) || is_buffer(f, w[i]));
		mark(f, outside, holds(f, inside));
	}
}

static void follow(struct following *f, const uint32_t *w)
{
	uint32_t op = w[0] & 0xFFFF, n = w[0] >> 16;
	bool any = false;
	if (op == OP_FUNCTION && n > 2)
		f->function = w[2];
	for (uint32_t i = 3; i < n; i++) /* a literal may look like an id, and then too much is marked */
		any |= holds(f, w[i]);
	if (op == OP_LOAD && n > 3) {
		mark(f, w[2], is_buffer(f, w[3]) || holds(f, w[3]) || holds(f, root_of(f, w[3])));
	} else if (op == OP_STORE && n > 2) {
		mark(f, root_of(f, w[1]), holds(f, w[2]) && !is_buffer(f, w[1]));
	} else if ((op == OP_ACCESS_CHAIN || op == OP_IN_BOUNDS_ACCESS_CHAIN) && n > 3) {
		for (uint32_t i = 4; i < n; i++)
			f->depends |= holds(f, w[i]);
	} else if ((op == OP_BRANCH_CONDITIONAL || op == OP_SWITCH) && n > 1) {
		f->depends |= holds(f, w[1]);
	} else if (op == OP_RETURN_VALUE && n > 1) {
		mark(f, f->function, holds(f, w[1]));
	} else if (op == OP_FUNCTION_CALL && n > 3) {
		follow_call(f, w, n);
	} else if (op == OP_COPY_MEMORY || (op >= OP_IMAGE_FIRST && op <= OP_IMAGE_LAST) ||
		   (op >= OP_ATOMIC_FIRST && op <= OP_ATOMIC_LAST)) {
		f->depends = true;
	} else if (n > 2 && w[2] < f->s->bound && f->s->ids[w[2]].made == w && op != OP_FUNCTION && op != SPIRV_VARIABLE) {
		mark(f, w[2], any);
	}
}

bool hlsl_race_depends(const struct spirv *s)
{
	struct following f = { .s = s, .holds = MEM_NEW_N(bool, s->bound), .changed = true };
	for (int pass = 0; f.changed && !f.depends; pass++) {
		f.changed = false;
		f.depends = pass == PASSES;
		for (size_t at = SPIRV_HEADER, n; (n = hlsl_spirv_length(s->words, s->count, at)) > 0; at += n)
			follow(&f, s->words + at);
	}
	free(f.holds);
	return f.depends;
}

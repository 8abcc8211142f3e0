/* probe: see hlsl.h. Numbers of operations are those of SPIR-V 1.6. */
#include "backends/hlsl/hlsl.h"

#include <stdlib.h>

#include "base/mem.h"

enum { BOUND = 3, WINDOW = 64 /* elements, a power of two */ };
enum {
	NOP = 0,
	TYPE_INT = 21,
	CONSTANT = 43,
	FUNCTION = 54,
	ACCESS_CHAIN = 65,
	IN_BOUNDS_ACCESS_CHAIN = 66,
	DECORATE = 71,
	BITWISE_AND = 199,
	CONTROL_BARRIER = 224,
	MEMORY_BARRIER = 225,
	BINDING = 33,
};

struct rewriting {
	const uint32_t *words;
	size_t count;
	uint32_t *out;
	size_t out_count;
	uint32_t bound; /* of the module that is read */
	bool *windowed; /* by id: a variable whose elements are to be few */
	uint32_t *type; /* by id: of a value whose type is an integer of 32 bits */
	uint32_t *mask; /* by id of such a type: the constant; 0 none */
	uint32_t next;  /* the next new id */
	size_t changes;
};

static void put(struct rewriting *r, uint32_t word)
{
	*MEM_PUSH(r->out, r->out_count) = word;
}

/* A float array that this probe is about. */
static bool is_meant(enum wire_probe probe, const struct plan_buffer *b)
{
	bool output = b->role == PLAN_OUT;
	return dtype_is_float(b->type) && b->role != PLAN_TABLE && output == (probe == WIRE_PROBE_STORES);
}

/* The chain again, with its last index within the window. */
static bool put_windowed(struct rewriting *r, const uint32_t *w)
{
	uint32_t n = w[0] >> 16, index = n > 4 ? w[n - 1] : 0, type = index < r->bound ? r->type[index] : 0;
	if (n < 5 || w[3] >= r->bound || !r->windowed[w[3]] || type == 0)
		return false;
	uint32_t within = r->next++;
	put(r, 5u << 16 | BITWISE_AND);
	put(r, type);
	put(r, within);
	put(r, index);
	put(r, r->mask[type]);
	for (uint32_t i = 0; i + 1 < n; i++)
		put(r, w[i]);
	put(r, within);
	return true;
}

static void rewrite(struct rewriting *r, enum wire_probe probe)
{
	bool functions = false;
	for (uint32_t i = 0; i < SPIRV_HEADER; i++)
		put(r, r->words[i]);
	for (size_t at = SPIRV_HEADER, n; (n = hlsl_spirv_length(r->words, r->count, at)) > 0; at += n) {
		const uint32_t *w = r->words + at;
		uint32_t op = w[0] & 0xFFFF;
		bool barrier = op == CONTROL_BARRIER || op == MEMORY_BARRIER,
		     chain = op == ACCESS_CHAIN || op == IN_BOUNDS_ACCESS_CHAIN;
		if (op == FUNCTION && !functions) {
			for (uint32_t id = 0; id < r->bound; id++)
				if (r->mask[id]) {
					put(r, 4u << 16 | CONSTANT);
					put(r, id);
					put(r, r->mask[id]);
					put(r, WINDOW - 1);
				}
			functions = true;
		}
		bool changed = probe == WIRE_PROBE_BARRIERS ? barrier : chain && put_windowed(r, w);
		for (size_t i = 0; i < n && (!changed || barrier); i++)
			put(r, changed ? 1u << 16 | NOP : w[i]);
		r->changes += changed;
	}
	r->out[BOUND] = r->next;
}

int hlsl_probe(enum wire_probe probe, const struct plan *plan, const struct plan_launch *launch, uint32_t **io_words,
	       size_t *io_count, struct err *e)
{
	struct spirv s;
	struct rewriting r = { .words = *io_words, .count = *io_count, .bound = (*io_words)[BOUND], .next = (*io_words)[BOUND] };
	if (hlsl_spirv_read(r.words, r.count, &s, e) < 0)
		return -(int)e->code;
	r.windowed = MEM_NEW_N(bool, r.bound + 1);
	r.type = MEM_NEW_N(uint32_t, r.bound + 1);
	r.mask = MEM_NEW_N(uint32_t, r.bound + 1);
	for (size_t at = SPIRV_HEADER, n; (n = hlsl_spirv_length(r.words, r.count, at)) > 0; at += n) {
		const uint32_t *w = r.words + at;
		if ((w[0] & 0xFFFF) != DECORATE || n < 4 || w[2] != BINDING || w[1] >= r.bound)
			continue;
		for (size_t i = 0; i < s.binding_count; i++) {
			const struct plan_arg *a =
				s.bindings[i].binding == w[3] ? hlsl_bind_find(plan, launch, s.bindings[i].name) : NULL;
			if (a && a->kind == PLAN_ARG_BUFFER && is_meant(probe, &plan->buffers[a->index]))
				r.windowed[w[1]] = true;
		}
	}
	/* Values whose type is such an integer: only instructions with a result have a type in their second word. */
	for (size_t at = SPIRV_HEADER, n; (n = hlsl_spirv_length(r.words, r.count, at)) > 0; at += n) {
		const uint32_t *w = r.words + at;
		if ((w[0] & 0xFFFF) == TYPE_INT && n >= 4 && w[1] < r.bound && w[2] == 32)
			r.mask[w[1]] = r.next++;
		else if (n >= 3 && w[1] < r.bound && w[2] < r.bound && r.mask[w[1]])
			r.type[w[2]] = w[1];
	}
	rewrite(&r, probe);
	hlsl_spirv_fini(&s);
	free(r.windowed);
	free(r.type);
	free(r.mask);
	if (r.changes == 0) {
		free(r.out);
		return err_set(e, ERR_UNSUPPORTED, "the kernel %s has none", launch->kernel);
	}
	free(*io_words);
	*io_words = r.out;
	*io_count = r.out_count;
	return 0;
}

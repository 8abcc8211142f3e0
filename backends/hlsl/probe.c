/* probe: see hlsl.h. Numbers of operations are those of SPIR-V 1.6. */
#include "backends/hlsl/hlsl.h"

#include <stdlib.h>

#include "base/mem.h"

enum { BOUND = 3, WINDOW = 64 /* elements, a power of two */ };
enum {
	NOP = 0,
	CONSTANT = 43,
	FUNCTION = 54,
	ACCESS_CHAIN = 65,
	IN_BOUNDS_ACCESS_CHAIN = 66,
	BITWISE_AND = 199,
	CONTROL_BARRIER = 224,
	MEMORY_BARRIER = 225,
};

struct rewriting {
	struct spirv s; /* the module that is read */
	uint32_t *out;
	size_t out_count;
	bool *windowed; /* by id: a variable whose elements are to be few */
	uint32_t *mask; /* by id of a type of 32-bit integers: the constant; 0 none */
	uint32_t next;  /* the next new id */
	size_t changes;
};

static void put(struct rewriting *r, uint32_t word)
{
	*MEM_PUSH(r->out, r->out_count) = word;
}

/* The chain again, with its last index within the window. */
static bool put_windowed(struct rewriting *r, const uint32_t *w)
{
	uint32_t n = w[0] >> 16, index = n > 4 ? w[n - 1] : 0, type = index < r->s.bound ? r->s.ids[index].type : 0;
	if (n < 5 || w[3] >= r->s.bound || !r->windowed[w[3]] || r->mask[type] == 0)
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
		put(r, r->s.words[i]);
	for (size_t at = SPIRV_HEADER, n; (n = hlsl_spirv_length(r->s.words, r->s.count, at)) > 0; at += n) {
		const uint32_t *w = r->s.words + at;
		uint32_t op = w[0] & 0xFFFF;
		bool barrier = op == CONTROL_BARRIER || op == MEMORY_BARRIER,
		     chain = op == ACCESS_CHAIN || op == IN_BOUNDS_ACCESS_CHAIN;
		if (op == FUNCTION && !functions) {
			for (uint32_t id = 0; id < r->s.bound; id++)
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
	struct rewriting r = { .next = (*io_words)[BOUND] };
	if (hlsl_spirv_read(*io_words, *io_count, &r.s, e) < 0)
		return -(int)e->code;
	r.windowed = MEM_NEW_N(bool, r.s.bound);
	r.mask = MEM_NEW_N(uint32_t, r.s.bound);
	for (size_t i = 0; i < r.s.binding_count; i++) {
		const struct plan_arg *a = hlsl_bind_find(plan, launch, r.s.bindings[i].name);
		const struct plan_buffer *b = a && a->kind == PLAN_ARG_BUFFER ? &plan->buffers[a->index] : NULL;
		r.windowed[r.s.bindings[i].variable] = b && dtype_is_float(b->type) && b->role != PLAN_TABLE &&
						       (b->role == PLAN_OUT) == (probe == WIRE_PROBE_STORES);
	}
	for (uint32_t id = 0; id < r.s.bound; id++) {
		const struct spirv_type *t = hlsl_spirv_type(&r.s, id);
		if (t && t->op == SPIRV_TYPE_INT && t->bits == 32)
			r.mask[id] = r.next++;
	}
	rewrite(&r, probe);
	hlsl_spirv_fini(&r.s);
	free(r.windowed);
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

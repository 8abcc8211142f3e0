/* race_memory: loads, stores and atomics of an interpreted lane, and the shadow that finds races. race_lane.c calls it.
 *
 * Two lanes of one group conflict when they touch one place with no barrier between them and one of them writes. Two groups of one
 * launch have no order, with one exception: the first published its work by an atomic operation on a place of a buffer, and the
 * second updated or read that place before it looked (race_clock.c). Single-pass scans and "the last group adds up" do that. What
 * was written before becomes visible by a barrier of device memory between the write and the update. Writing what is there already
 * is no conflict. */
#include "backends/hlsl/race_lane.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A place that is touched: in a shared variable, or in a buffer. */
struct place {
	const char *memory, *name; /* "groupshared", "buffer" */
	uint64_t element;
	bool shared;
};

static const char *name_of(const struct race_group *g, uint64_t variable)
{
	return g->m->s.ids[variable].name ? g->m->s.ids[variable].name : "memory";
}

/* --- the shadow --------------------------------------------------------------------------------------------------- */

static void found(struct race_group *g, const struct race_lane *lane, enum race_kind kind, const struct race_touch *by,
		  enum race_kind then, const struct place *p)
{
	static const char *const does[] = { "reads", "overwrites", "updates" }, *const did[] = { "read", "written", "updated" };
	bool here = by->epoch == g->me->epoch;
	uint32_t other = by->group == g->me->number ? by->other : by->group;
	char *who = !here                      ? mem_fmt("group %u has", other - 1)
		    : by->lane == RACE_SEVERAL ? mem_str("others have")
					       : mem_fmt("thread %u has", by->lane);

	bool unfenced = !here && by->group != g->me->number && hlsl_race_published(g, by->group, by->when);
	g->finding = mem_fmt("race in %s %s: thread %u of group %u %s element %llu, which %s %s%s", p->memory, p->name, lane->index,
			     g->me->number - 1, does[kind], (unsigned long long)p->element, who, did[then],
			     here       ? ", with no barrier between them"
			     : unfenced ? ", with no DeviceMemoryBarrier() behind the write"
					: " in the same launch, and groups run in any order");
	free(who);
}

static void touch(struct race_group *g, const struct race_lane *lane, struct race_shadow *s, enum race_kind kind, bool same,
		  const struct place *p)
{
	for (int k = 0; k < RACE_KINDS && g->finding == NULL; k++) {
		const struct race_touch *t = &s->by[k];
		bool foreign = !p->shared && t->epoch && t->group != g->me->number &&
			       !(hlsl_race_published(g, t->group, t->when) && (k != RACE_WRITE || hlsl_race_fenced(g, t)));
		foreign |= !p->shared && t->other && !hlsl_race_published(g, t->other, t->other_when);
		if (!(t->epoch == g->me->epoch && t->lane != lane->index) && !foreign)
			continue;
		g->alike |= kind == RACE_WRITE && same;
		/* A plain read that meets updates alone may be old; a loop of compare and exchange finds out. */
		if (kind == RACE_WRITE ? !same
				       : (int)kind != k && !(kind == RACE_READ && k == RACE_ATOMIC) &&
						 !(kind == RACE_ATOMIC && k == RACE_READ))
			found(g, lane, kind, t, (enum race_kind)k, p);
	}
	struct race_touch *t = &s->by[kind];
	bool several = t->epoch == g->me->epoch && t->lane != lane->index && kind != RACE_WRITE;
	bool another = t->epoch && t->group != g->me->number;
	uint32_t other = another ? t->group : t->other, other_when = another ? t->when : t->other_when;
	*t = (struct race_touch){ .epoch = g->me->epoch,
				  .lane = several ? RACE_SEVERAL : lane->index,
				  .group = g->me->number,
				  .when = g->now,
				  .fences = p->shared ? 0 : hlsl_race_fences(g, lane),
				  .other = kind == RACE_WRITE ? 0 : other, /* who wrote the same before is forgotten */
				  .other_when = other_when };
}

uint64_t hlsl_race_undefined(const struct race_group *g, const struct spirv_type *t)
{
	return t->bits == 1 ? g->undefined >> 63 : t->bits >= 64 ? g->undefined : g->undefined & (((uint64_t)1 << t->bits) - 1);
}

/* Whether an access outside of memory counts; where it does not, nothing that follows it would say anything. */
static bool is_told(struct race_group *g)
{
	g->budget = g->lenient ? 0 : g->budget;
	return !g->lenient;
}

/* --- shared and private memory ------------------------------------------------------------------------------------ */

static void touch_shared(struct race_group *g, const struct race_lane *lane, uint64_t variable, uint64_t at, enum race_kind kind,
			 bool same)
{
	struct race_shadow *s = &g->me->shadow[g->m->ids[variable].place + at];
	struct place p = { "groupshared", name_of(g, variable), at, true };
	bool written = s->by[RACE_WRITE].group == g->me->number || s->by[RACE_ATOMIC].group == g->me->number;
	if (kind != RACE_WRITE && !written && g->doubt == NULL)
		g->doubt = mem_fmt("thread %u of group %u reads element %llu of groupshared %s, which no thread has written",
				   lane->index, g->me->number - 1, (unsigned long long)at, p.name);
	touch(g, lane, s, kind, same, &p);
}

/* --- buffers ------------------------------------------------------------------------------------------------------ */

/* One scalar of a buffer. Outside of it reads give an undefined value, and writes are findings. */
static void buffer_scalar(struct race_group *g, const struct race_lane *lane, const struct race_memory *mem,
			  const struct spirv_type *t, uint64_t at, uint64_t *slot, enum race_kind kind)
{
	uint32_t bytes = t->bits == 1 ? 4 : t->bits / 8;
	struct place p = { "buffer", mem->name, at / mem->element, false };
	bool store = kind == RACE_WRITE, inside = at + bytes <= mem->len && at + bytes >= at;
	uint64_t old = 0;
	if (!inside && store && g->finding == NULL && is_told(g))
		g->finding = mem_fmt("thread %u of group %u writes outside of buffer %s, at byte %lld", lane->index,
				     g->me->number - 1, mem->name, (long long)at);
	if (!inside && !store && g->doubt == NULL && is_told(g))
		g->doubt = mem_fmt("thread %u of group %u reads outside of buffer %s, at byte %lld", lane->index, g->me->number - 1,
				   mem->name, (long long)at);
	if (!inside) {
		*slot = store ? *slot : hlsl_race_undefined(g, t);
		if (!store && at < mem->len) /* the last word of an array of bytes */
			memcpy(slot, mem->bytes + at, mem->len - at);
		return;
	}
	memcpy(&old, mem->bytes + at, bytes); /* little-endian, like every host that peakd runs on */
	for (uint64_t u = at / g->m->unit; mem->shadow && u * g->m->unit < at + bytes; u++)
		touch(g, lane, &mem->shadow[u], kind, store && memcmp(&old, slot, bytes) == 0, &p);
	if (kind == RACE_READ && mem->shadow && mem->shadow[at / g->m->unit].by[RACE_ATOMIC].epoch)
		hlsl_race_acquire(g, mem, at); /* a look at a flag */
	if (store)
		memcpy(mem->bytes + at, slot, bytes);
	else
		*slot = old;
}

/* Every scalar of a value, in order; returns the slot behind it. */
static uint64_t *buffer_move(struct race_group *g, const struct race_lane *lane, const struct race_memory *mem,
			     const struct spirv_type *t, uint64_t at, uint64_t *slots, bool store)
{
	if (t->op == SPIRV_TYPE_STRUCT) {
		for (uint32_t i = 0; i < t->count; i++)
			slots = buffer_move(g, lane, mem, race_type_of(g, t->members[i]), at + t->offsets[i], slots, store);
		return slots;
	}
	if (t->op == SPIRV_TYPE_VECTOR || t->op == SPIRV_TYPE_ARRAY) {
		const struct spirv_type *element = race_type_of(g, t->element);
		uint32_t stride = t->stride ? t->stride : element->bits / 8;
		for (uint32_t i = 0; i < t->count; i++)
			slots = buffer_move(g, lane, mem, element, at + (uint64_t)i * stride, slots, store);
		return slots;
	}
	buffer_scalar(g, lane, mem, t, at, slots, store ? RACE_WRITE : RACE_READ);
	return slots + 1;
}

/* --- loads and stores --------------------------------------------------------------------------------------------- */

static uint64_t *inside(const struct race_group *g, const struct race_lane *lane, const struct race_id *x, uint64_t at,
			uint32_t slots)
{
	const struct spirv_type *p = race_type_of(g, x->type), *whole = race_type_of(g, p->element);
	uint64_t *memory = p->storage == SPIRV_STORAGE_WORKGROUP ? g->me->shared : lane->slots;
	return at <= whole->slots && slots <= whole->slots - at ? memory + x->place + at : NULL;
}

void hlsl_race_move(struct race_group *g, struct race_lane *lane, const uint64_t *pointer, const struct spirv_type *t,
		    uint64_t *slots, bool store)
{
	uint32_t variable = (uint32_t)pointer[0];
	const struct race_id *x = &g->m->ids[variable < g->m->s.bound ? variable : 0];
	if (!x->variable)
		return;
	if (x->place == SPIRV_UNSET) {
		const struct race_memory *mem = &g->memory[variable];
		uint64_t *end = mem->bytes ? buffer_move(g, lane, mem, t, pointer[1], slots, store) : slots;
		uint32_t scalar = t->op == SPIRV_TYPE_VECTOR ? race_type_of(g, t->element)->bits / 8 : t->bits / 8;
		if (g->counting && mem->bytes && mem->touched)
			hlsl_race_count_access(g, lane, variable, pointer[1], (uint32_t)(end - slots) * scalar, false, store);
		return;
	}
	bool shared = race_type_of(g, x->type)->storage == SPIRV_STORAGE_WORKGROUP;
	if (g->counting && shared)
		hlsl_race_count_access(g, lane, 0, x->place + pointer[1], t->slots * 4, true, store);
	uint64_t *to = inside(g, lane, x, pointer[1], t->slots);
	if (to == NULL && shared && store && g->finding == NULL && is_told(g))
		g->finding = mem_fmt("thread %u reaches outside of groupshared %s", lane->index, name_of(g, variable));
	/* Both sides of `?:` are loaded: what is read there counts only if an output depends on it. */
	if (to == NULL && shared && !store && g->doubt == NULL && is_told(g))
		g->doubt = mem_fmt("thread %u reads outside of groupshared %s", lane->index, name_of(g, variable));
	for (uint32_t i = 0; to == NULL && !store && i < t->slots; i++)
		slots[i] = hlsl_race_undefined(g, t->op == SPIRV_TYPE_VECTOR ? race_type_of(g, t->element) : t);
	for (uint32_t i = 0; to && shared && i < t->slots; i++)
		touch_shared(g, lane, variable, pointer[1] + i, store ? RACE_WRITE : RACE_READ, to[i] == slots[i]);
	if (to)
		memmove(store ? to : slots, store ? slots : to, t->slots * sizeof *to);
}

/* --- atomics ------------------------------------------------------------------------------------------------------ */

static uint64_t updated(uint32_t op, const struct spirv_type *t, uint64_t old, uint64_t operand)
{
	static const struct {
		uint32_t atomic, same; /* the operation that does the same */
		bool ext;              /* of GLSL.std.450 */
	} as[] = { { 232, 128, false }, { 233, 130, false }, { 234, 128, false }, { 235, 130, false },
		   { 236, 39, true },   { 237, 38, true },   { 238, 42, true },   { 239, 41, true },
		   { 240, 199, false }, { 241, 197, false }, { 242, 198, false } };
	for (size_t i = 0; i < MEM_COUNT(as); i++)
		if (as[i].atomic == op)
			return hlsl_race_scalar(as[i].same, as[i].ext, t, old, op == 232 || op == 233 ? 1 : operand);
	return operand;
}

/* Others have their turn, before an operation and once more behind it: lanes of the group, and where it is on a buffer groups. */
static void stop(struct race_group *g, struct race_lane *lane, const struct race_memory *buffer, uint64_t at)
{
	const struct race_shadow *s = buffer && buffer->shadow ? &buffer->shadow[at / g->m->unit] : NULL;
	uint32_t me = g->me->number;
	lane->had_turn = !lane->had_turn;
	lane->state = RACE_STOPPED;
	if (!buffer)
		return;
	g->until = g->budget;
	g->me->stops++;
	g->me->again = lane->had_turn && s && (s->by[RACE_READ].group == me || s->by[RACE_ATOMIC].group == me);
}

int hlsl_race_atomic(struct race_group *g, struct race_lane *lane, uint32_t op, const uint32_t *w, uint32_t n, struct err *e)
{
	uint32_t pointer_at = op == 228 ? 1 : 3, value_at = op == 228 ? 4 : op == 230 ? 7 : 6;
	const uint64_t *p = race_value(g, lane, w[pointer_at]);
	const struct spirv_type *t = race_type_of(g, race_value_type(g, w[pointer_at])->element);
	uint64_t old = 0, operand = op == 227 || op == 232 || op == 233 ? 0 : n > value_at ? *race_value(g, lane, w[value_at]) : 0;
	const struct race_id *x = &g->m->ids[p[0] < g->m->s.bound ? p[0] : 0];
	if (t == NULL || t->slots != 1 || !x->variable)
		return hlsl_race_unknown(op, e);
	bool buffer = x->place == SPIRV_UNSET;
	const struct race_memory *mem = &g->memory[p[0]];
	uint64_t *at = buffer ? NULL : inside(g, lane, x, p[1], 1), bytes = t->bits / 8;
	bool there = buffer ? mem->bytes && p[1] + bytes <= mem->len && p[1] + bytes >= p[1] : at != NULL;
	if (!there && g->finding == NULL && is_told(g))
		g->finding = mem_fmt("thread %u updates memory outside of %s", lane->index, name_of(g, p[0]));
	if (!there)
		return 0;
	if (g->turns && !lane->had_turn) {
		stop(g, lane, buffer ? mem : NULL, p[1]);
		lane->at = lane->now;
		return 0;
	}
	g->atomics = true;
	if (buffer) {
		buffer_scalar(g, lane, mem, t, p[1], &old, RACE_ATOMIC);
		hlsl_race_acquire(g, mem, p[1]);
		hlsl_race_release(g, mem, p[1]);
	} else {
		old = *at;
		if (race_type_of(g, x->type)->storage == SPIRV_STORAGE_WORKGROUP)
			touch_shared(g, lane, p[0], p[1], RACE_ATOMIC, false);
	}
	if (op != 227 && (op != 230 || old == *race_value(g, lane, w[8]))) {
		uint64_t next = updated(op, t, old, operand);
		if (buffer)
			memcpy(mem->bytes + p[1], &next, bytes);
		else
			*at = next;
	}
	if (op != 228)
		*race_value(g, lane, w[2]) = old;
	if (g->turns)
		stop(g, lane, buffer ? mem : NULL, p[1]);
	return 0;
}

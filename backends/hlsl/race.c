/* race: see hlsl.h. Threads of a group run one after the other from barrier to barrier, groups one after the other: any order
 * shows the same conflicts, because all that counts is who touched what between which barriers. Where groups meet in atomic
 * operations the order counts, so they run again, the last one first, and taking turns. */
#include "backends/hlsl/hlsl.h"

#include <stdlib.h>
#include <string.h>

#include "backends/hlsl/race_lane.h"
#include "backends/values/fill.h"
#include "base/hash.h"
#include "base/mem.h"

enum {
	PUSH_MAX = 256,
	POISON = 0xFF,
	LANES_MAX = 4096,
	BEGUN_MAX = 64,   /* groups that take turns */
	TURN = 2000,      /* instructions: for loops that wait without atomic operations */
	TURNS_ALIKE = 64, /* rounds after which every group gets another speed */
	SPEEDS = 5,       /* a turn in each round, in every other one, in every fourth … */
	STOPS = 4,        /* places before and behind a group's first two operations, at one of which it waits for the others */
	BUILTIN_GROUPS = 24,
	BUILTIN_GROUP = 26,
	BUILTIN_LOCAL = 27,
	BUILTIN_GLOBAL = 28,
	BUILTIN_INDEX = 29,
	BUILTIN_WAVE_SIZE = 36,
	BUILTIN_WAVES = 38,
	BUILTIN_WAVE = 40,
	BUILTIN_WAVE_INDEX = 41,
};
#define BUDGET UINT64_C(8000000)        /* instructions of a launch */
#define BUDGET_ALL UINT64_C(24000000)   /* of a plan */
#define BUDGET_OTHER UINT64_C(2000000)  /* of a plan on other values than the declared ones: they are to reach other branches */
#define ROUNDS_MOST 0x1p-8              /* of the largest element: what another order of a sum changes, at most */
#define BEGUN_BYTES ((uint64_t)1 << 26) /* of the lanes of groups that take turns */
#define MEMORY_MAX ((uint64_t)1 << 29)  /* bytes of all lanes, and of all buffers */
#define SHADOW_MAX ((uint64_t)1 << 26)  /* bytes of a buffer that is watched for races */

/* What memory holds that nobody wrote: large numbers of either sign, so that neither max() nor min() hides both, and zero, which
 * devices give most often. */
static const uint64_t undefined[] = { UINT64_C(0x7B7B7B7B7B7B7B7B), UINT64_C(0xFBFBFBFBFBFBFBFB), 0 };

/* A plan while it is interpreted. */
struct run {
	const struct plan *plan;
	const struct hlsl_object *object;
	uint8_t **buffers;
	uint32_t wave;
	uint64_t undefined, budget;
	bool ended;     /* by the budget: the buffers hold less than all results */
	bool backwards; /* the last group and the last wave come first */
	uint64_t turns; /* groups take turns, as this number draws them; 0: one follows the other */
	bool atomics;   /* some were executed: results may depend on the order */
	bool lenient;   /* struct race_group */
	bool depends;   /* hlsl_race_depends, or struct race_group's `alike` */
	bool early;     /* so soon that no two groups of some launch were whole */
	uint64_t groups;
	char *finding; /* of a launch, with its kernel's name */
	char *doubt;
	struct wire_counted *counts; /* NULL: nothing is counted */
	uint8_t **touched;           /* per buffer; only while counting */
};

/* One launch. */
struct launch {
	struct run *run;
	const struct plan_launch *l;
	struct race_module m;
	struct race_group group;
	struct race_shadow **shadows; /* per buffer of the plan; NULL: not watched */
	struct race_begun begun[BEGUN_MAX];
	uint32_t begun_count; /* 1 unless groups take turns */
	uint64_t *first;      /* what every lane's slots begin with */
	uint32_t lane_count, groups;
	uint8_t push[PUSH_MAX];
};

/* --- memory ------------------------------------------------------------------------------------------------------- */

static int buffers_new(const struct plan *plan, const struct fill_choice *choice, uint8_t ***ret_buffers, struct err *e)
{
	uint64_t all = plan_bytes(plan);
	if (all > MEMORY_MAX)
		return err_set(e, ERR_UNSUPPORTED, "the race check runs on the host, and %llu bytes of buffers are too many for it",
			       (unsigned long long)all);
	uint8_t **buffers = MEM_NEW_N(uint8_t *, plan->buffer_count + 1);
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		buffers[i] = mem_new(b->bytes + 1, 1);
		if (plan_is_input(b))
			fill_chosen(b, choice, buffers[i]);
		else if (b->role == PLAN_TABLE)
			memcpy(buffers[i], b->table, b->bytes);
		else
			memset(buffers[i], POISON, b->bytes);
	}
	*ret_buffers = buffers;
	return 0;
}

static void buffers_free(const struct plan *plan, uint8_t **buffers)
{
	for (size_t i = 0; buffers && i < plan->buffer_count; i++)
		free(buffers[i]);
	free(buffers);
}

/* The memory behind a variable. Views of one buffer share its shadow; what only host code writes needs none. */
static struct race_memory memory_of(struct launch *x, uint32_t id)
{
	const struct plan *plan = x->run->plan;
	if (x->m.ids[x->m.ids[id].type].type_def->storage == SPIRV_STORAGE_PUSH)
		return (struct race_memory){ .bytes = x->push, .len = PUSH_MAX, .name = "arguments", .element = 4 };
	for (size_t i = 0; i < x->m.s.binding_count; i++) {
		const struct plan_arg *a = x->m.s.bindings[i].binding == x->m.s.ids[id].binding
						   ? hlsl_bind_find(plan, x->l, x->m.s.bindings[i].name)
						   : NULL;
		if (a == NULL || a->kind != PLAN_ARG_BUFFER)
			continue;
		const struct plan_buffer *b = &plan->buffers[a->index];
		struct race_shadow **shadow = &x->shadows[a->index];
		if (*shadow == NULL && b->role != PLAN_IN && b->role != PLAN_TABLE && b->bytes <= SHADOW_MAX)
			*shadow = MEM_NEW_N(struct race_shadow, b->bytes / x->m.unit + 1);
		return (struct race_memory){ .bytes = x->run->buffers[a->index],
					     .len = b->bytes,
					     .name = b->name,
					     .number = a->index,
					     .element = (uint32_t)dtype_size(b->type),
					     .shadow = *shadow,
					     .touched = x->run->touched ? x->run->touched[a->index] : NULL };
	}
	return (struct race_memory){ 0 };
}

static void bind(struct launch *x)
{
	for (size_t i = 0; i < x->m.s.member_count; i++) {
		const struct spirv_member *m = &x->m.s.members[i];
		const struct plan_arg *a = hlsl_bind_find(x->run->plan, x->l, m->name);
		if (a && a->kind == PLAN_ARG_SCALAR && m->bits >= 32 && m->offset + m->bits / 8 <= PUSH_MAX)
			hlsl_bind_store(m, a, x->push + m->offset);
	}
	for (uint32_t id = 0; id < x->m.s.bound; id++)
		if (x->m.ids[id].variable && x->m.ids[id].place == SPIRV_UNSET)
			x->group.memory[id] = memory_of(x, id);
}

/* --- a group ------------------------------------------------------------------------------------------------------ */

static void set_builtins(const struct launch *x, uint64_t *slots, const uint32_t group[3], uint32_t index)
{
	const uint32_t *block = x->m.s.block, wave = x->run->wave ? x->run->wave : 1, waves = (x->lane_count + wave - 1) / wave;
	const uint32_t local[3] = { index % block[0], index / block[0] % block[1], index / block[0] / block[1] };
	const uint32_t global[3] = { group[0] * block[0] + local[0], group[1] * block[1] + local[1],
				     group[2] * block[2] + local[2] };
	const uint32_t in_wave = index % wave, which = index / wave;
	const struct {
		uint32_t number, parts;
		const uint32_t *value;
	} known[] = { { BUILTIN_GROUPS, 3, x->l->grid }, { BUILTIN_GROUP, 3, group },  { BUILTIN_LOCAL, 3, local },
		      { BUILTIN_GLOBAL, 3, global },     { BUILTIN_INDEX, 1, &index }, { BUILTIN_WAVE_SIZE, 1, &wave },
		      { BUILTIN_WAVES, 1, &waves },      { BUILTIN_WAVE, 1, &which },  { BUILTIN_WAVE_INDEX, 1, &in_wave } };

	for (uint32_t id = 0; id < x->m.s.bound; id++) {
		const struct race_id *v = &x->m.ids[id];
		if (!v->variable || v->place == SPIRV_UNSET || x->m.s.ids[id].builtin == SPIRV_UNSET)
			continue;
		uint32_t n = x->m.ids[x->m.ids[v->type].type_def->element].type_def->slots;
		for (size_t i = 0; i < MEM_COUNT(known); i++)
			for (uint32_t k = 0; known[i].number == x->m.s.ids[id].builtin && k < n && k < known[i].parts; k++)
				slots[v->place + k] = known[i].value[k];
	}
}

/* Called when no lane can go on: all must wait at one barrier, or all be at the end. True: at a barrier, so they go on. */
static bool meet(struct launch *x)
{
	struct race_group *g = &x->group;
	uint32_t waits = 0, stranger = 0;
	const struct race_lane *first = NULL;
	for (uint32_t i = 0; i < x->lane_count; i++) {
		struct race_lane *lane = &g->me->lanes[i];
		if (lane->state != RACE_AT_BARRIER) {
			stranger = i;
			continue;
		}
		if (first && hlsl_race_lane_order(first, lane) != 0 && !g->finding)
			g->finding =
				mem_fmt("threads %u and %u of a group wait at different barriers, or in different turns of a loop",
					first->index, lane->index);
		first = first ? first : lane;
		waits++;
	}
	if (waits && waits < x->lane_count && !g->finding && g->budget)
		g->finding =
			mem_fmt("thread %u of a group does not reach the barrier at which thread %u waits", stranger, first->index);
	for (uint32_t i = 0; i < x->lane_count; i++)
		g->me->lanes[i].state = g->me->lanes[i].state == RACE_AT_BARRIER ? RACE_RUNS : g->me->lanes[i].state;
	g->me->epoch = ++g->epochs;
	if (g->counting) {
		hlsl_race_count_requests(g);
		g->counting->to->barriers += waits > 0;
	}
	return waits == x->lane_count && g->finding == NULL && g->budget > 0;
}

/* The next group of the launch, the k-th, takes a place. */
static void begin(struct launch *x, struct race_begun *me, uint64_t k)
{
	const uint32_t *grid = x->l->grid;
	uint64_t i = x->run->backwards ? (uint64_t)grid[0] * grid[1] * grid[2] - 1 - k : k;
	const uint32_t at[3] = { (uint32_t)(i % grid[0]), (uint32_t)(i / grid[0] % grid[1]), (uint32_t)(i / grid[0] / grid[1]) };
	struct race_group *g = &x->group;
	me->runs = true;
	me->epoch = ++g->epochs;
	me->number = ++x->groups;
	me->stops = 0;
	me->again = false;
	memset(me->seen, 0, g->clock_width * sizeof *me->seen);
	for (uint32_t n = 0; n < x->m.group_slots; n++)
		me->shared[n] = g->undefined;
	for (uint32_t n = 0; n < x->lane_count; n++) {
		uint64_t *slots = me->lanes[n].slots;
		me->lanes[n] = (struct race_lane){ .slots = slots, .at = x->m.ids[x->m.s.entry].at, .index = n };
		memcpy(slots, x->first, x->m.lane_slots * sizeof *slots);
		set_builtins(x, slots, at, n);
		*MEM_PUSH(g->fences, g->fence_count) = (struct race_fences){ 0 };
	}
}

/* Lanes that have stopped go on, once all that run have stopped. True: there are some. */
static bool wake(const struct launch *x)
{
	bool any = false;
	for (uint32_t i = 0; i < x->lane_count; i++) {
		struct race_lane *lane = &x->group.me->lanes[i];
		any |= lane->state == RACE_STOPPED;
		lane->state = lane->state == RACE_STOPPED ? RACE_RUNS : lane->state;
	}
	return any;
}

/* A group runs to its end, or until another one has its turn. */
static int run_group(struct launch *x, struct race_begun *me, struct err *e)
{
	bool in_waves = x->m.has_wave_ops || (x->run->backwards && x->run->wave && x->run->wave <= RACE_WAVE_MAX);
	uint32_t wave = in_waves ? x->run->wave : x->lane_count, waves = (x->lane_count + wave - 1) / wave;
	struct race_group *g = &x->group;
	int rc = 0;
	g->me = me;
	g->until = g->turns && g->budget > TURN ? g->budget - TURN : 0;
	do {
		for (uint32_t k = 0; rc == 0 && k < waves; k++) {
			uint32_t i = (x->run->backwards ? waves - 1 - k : k) * wave, left = x->lane_count - i;
			rc = hlsl_race_wave_run(g, me->lanes + i, wave < left ? wave : left, e);
		}
		if (g->budget && g->budget <= g->until && !g->finding)
			return rc;
	} while (rc == 0 && ((g->turns && wake(x)) || meet(x)));
	me->runs = false;
	return rc;
}

static uint64_t drawn(uint64_t seed, uint64_t i)
{
	seed += i;
	return hash_next(&seed);
}

/* Groups take turns, at speeds that change. One of them waits at an atomic operation until the others have ended, or have spent
 * half of the instructions: a busy device may do that, too. It waits at one of the first ones, or between a read or an update and
 * the next update of one place. */
static int take_turns(struct launch *x, uint64_t groups, uint64_t *io_whole, struct err *e)
{
	struct race_group *g = &x->group;
	const uint64_t seed = x->run->turns, way = seed % STOPS, half = g->budget / 2;
	const uint32_t late = (uint32_t)((drawn(seed / STOPS, 0) + way) % x->begun_count), stop = 1 + (uint32_t)way;
	const bool between = (drawn(seed / STOPS, 1) + way / 2) & 1;
	uint32_t others = x->begun_count;
	int rc = 0;
	for (uint64_t round = 0, k = 0, alive = others; alive; round++, others = (uint32_t)alive - 1) {
		alive = 0;
		for (uint32_t i = 0; rc == 0 && i < x->begun_count && !g->finding && g->budget; i++) {
			struct race_begun *me = &x->begun[i];
			if (!me->runs && k < groups)
				begin(x, me, k++);
			if (!me->runs)
				continue;
			bool waits = i == late && (me->stops == stop || (between && me->again)) && others && g->budget > half;
			uint64_t speed = drawn(drawn(seed, i), round / TURNS_ALIKE) % SPEEDS;
			if (!waits && round % (UINT64_C(1) << speed) == 0)
				rc = run_group(x, me, e);
			alive += me->runs || k < groups;
			*io_whole += !me->runs && g->budget > 0;
		}
	}
	return rc;
}

/* --- a launch ----------------------------------------------------------------------------------------------------- */

/* Memory for the groups that run at a time. */
static void make_places(struct launch *x)
{
	uint64_t groups = (uint64_t)x->l->grid[0] * x->l->grid[1] * x->l->grid[2],
		 each = x->lane_count * (x->m.lane_slots * sizeof(uint64_t) + sizeof(struct race_lane)) +
			x->m.group_slots * sizeof(struct race_shadow),
		 most = x->run->turns ? BEGUN_BYTES / (each + 1) : 1;
	hlsl_race_clocks_make(&x->group, groups);
	most = most < BEGUN_MAX ? most : BEGUN_MAX;
	most = most < groups ? most : groups;
	x->begun_count = most ? (uint32_t)most : 1;
	for (uint32_t k = 0; k < x->begun_count; k++) {
		struct race_begun *me = &x->begun[k];
		me->lanes = MEM_NEW_N(struct race_lane, x->lane_count + 1);
		for (uint32_t i = 0; i < x->lane_count; i++)
			me->lanes[i].slots = MEM_NEW_N(uint64_t, x->m.lane_slots + 1);
		me->shared = MEM_NEW_N(uint64_t, x->m.group_slots + 1);
		me->shadow = MEM_NEW_N(struct race_shadow, x->m.group_slots + 1);
		me->seen = MEM_NEW_N(uint32_t, x->group.clock_width);
	}
}

static int make_lanes(struct launch *x, struct err *e)
{
	const uint32_t *b = x->m.s.block;
	bool many = b[0] > LANES_MAX || b[1] > LANES_MAX || b[2] > LANES_MAX || (uint64_t)b[0] * b[1] * b[2] > LANES_MAX;
	x->lane_count = many ? 0 : b[0] * b[1] * b[2];
	if (many || (uint64_t)x->lane_count * x->m.lane_slots * 8 > MEMORY_MAX)
		return err_set(e, ERR_UNSUPPORTED, "the kernel is too large for the race check");
	if (x->m.has_wave_ops && (x->run->wave == 0 || x->run->wave > RACE_WAVE_MAX))
		return err_set(e, ERR_UNSUPPORTED,
			       "the device does not say how many lanes a wave has, and the kernel has wave operations");
	x->group = (struct race_group){ .m = &x->m,
					.lenient = x->run->lenient,
					.memory = MEM_NEW_N(struct race_memory, x->m.s.bound + 1),
					.turns = x->run->turns != 0,
					.wave = x->run->wave,
					.lanes = x->lane_count,
					.undefined = x->run->undefined,
					.budget = BUDGET < x->run->budget ? BUDGET : x->run->budget };
	x->shadows = MEM_NEW_N(struct race_shadow *, x->run->plan->buffer_count + 1);
	make_places(x);
	/* Pointers of all variables, initial values, and values that have none. */
	const struct race_module *m = &x->m;
	x->first = MEM_NEW_N(uint64_t, m->lane_slots + 1);
	for (uint32_t id = 0; id < m->s.bound; id++) {
		const struct race_id *v = &m->ids[id];
		const struct spirv_type *t = v->undefined ? m->ids[v->type].type_def : NULL;
		for (uint32_t i = 0; t && i < t->slots; i++)
			x->first[v->slot + i] =
				hlsl_race_undefined(&x->group, t->op == SPIRV_TYPE_VECTOR ? m->ids[t->element].type_def : t);
		if (t && x->run->doubt == NULL)
			x->run->doubt = mem_fmt("kernel %s: a variable is used before it has a value", x->l->kernel);
		if (!v->variable)
			continue;
		x->first[v->slot] = id;
		if (v->init && v->init < m->s.bound && m->ids[v->init].constant && v->place != SPIRV_UNSET &&
		    m->ids[v->type].type_def->storage != SPIRV_STORAGE_WORKGROUP)
			memcpy(x->first + v->place, m->constants + m->ids[v->init].slot,
			       m->ids[m->ids[v->init].type].type_def->slots * sizeof *x->first);
	}
	return 0;
}

static void launch_fini(struct launch *x)
{
	for (uint32_t k = 0; k < x->begun_count; k++) {
		struct race_begun *me = &x->begun[k];
		for (uint32_t i = 0; i < x->lane_count; i++)
			free(me->lanes[i].slots);
		free(me->lanes);
		free(me->shared);
		free(me->shadow);
		free(me->seen);
	}
	for (size_t i = 0; x->shadows && i < x->run->plan->buffer_count; i++)
		free(x->shadows[i]);
	free(x->shadows);
	free(x->first);
	free(x->group.memory);
	free(x->group.clocks);
	free(x->group.fences);
	free(x->group.finding);
	free(x->group.doubt);
	hlsl_race_module_fini(&x->m);
}

static int run_launch(struct run *run, const struct plan_launch *l, struct err *e)
{
	const struct hlsl_kernel *k = hlsl_object_find(run->object, l->kernel);
	struct launch x = { .run = run, .l = l };
	if (k == NULL)
		return err_set(e, ERR_INPUT, "the binary has no kernel %s", l->kernel);
	struct err why = ERR_INIT;
	if (hlsl_spirv_validate(k->words, k->bytes / sizeof *k->words, &why) <
	    0) /* the interpreter trusts what the validator accepted */
		return err_set(e, ERR_INPUT,
			       "the race check reads valid SPIR-V only, and the binary's kernel %s is not: compile it again",
			       l->kernel);
	int rc = hlsl_race_module_read(k->words, k->bytes / sizeof *k->words, &x.m, e);
	if (rc == 0) {
		run->depends = run->depends || hlsl_race_depends(&x.m.s);
		rc = make_lanes(&x, e);
	}
	if (rc == 0)
		bind(&x);
	uint64_t groups = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2], before = x.group.budget, whole = 0;
	struct race_counting counting = { .log = NULL };
	if (rc == 0 && run->counts) {
		struct wire_counted *all = x.run->counts;
		counting.to = MEM_PUSH(all->at, all->count);
		*counting.to =
			(struct wire_launch_count){ .kernel = mem_str(x.l->kernel), .groups = groups, .threads = x.lane_count };
		x.group.counting = &counting;
		for (size_t i = 0; i < x.run->plan->buffer_count; i++)
			memset(x.run->touched[i], 0, x.run->plan->buffers[i].bytes / RACE_SECTOR / 8 + 1);
	}
	if (rc == 0 && run->turns)
		rc = take_turns(&x, groups, &whole, e);
	for (uint64_t k = 0; rc == 0 && !run->turns && k < groups && !x.group.finding && x.group.budget; k++) {
		begin(&x, &x.begun[0], k);
		rc = run_group(&x, &x.begun[0], e);
		whole += x.group.budget > 0;
	}
	if (counting.to)
		counting.to->counted = whole;
	free(counting.log);
	run->budget -= before - x.group.budget;
	run->ended |= x.group.budget == 0;
	run->early |= x.group.budget == 0 && whole < (groups < 2 ? groups : 2);
	run->groups += x.groups;
	run->atomics |= x.group.atomics;
	run->depends |= x.group.alike;
	if (rc == 0 && x.group.finding)
		run->finding = mem_fmt("kernel %s: %s", l->kernel, x.group.finding);
	if (run->doubt == NULL && x.group.doubt)
		run->doubt = mem_fmt("kernel %s: %s", l->kernel, x.group.doubt);
	launch_fini(&x);
	return rc;
}

/* --- a plan ------------------------------------------------------------------------------------------------------- */

static int run_plan(struct run *r, const struct fill_choice *choice, struct err *e)
{
	const struct plan *plan = r->plan;
	int rc = buffers_new(plan, choice, &r->buffers, e);
	for (size_t i = 0; rc == 0 && !r->finding && r->budget && i < plan->op_count; i++) {
		const struct plan_op *op = &plan->ops[i];
		switch (op->kind) {
		case PLAN_OP_LAUNCH: rc = run_launch(r, &op->launch, e); break;
		case PLAN_OP_MEMSET:
			memset(r->buffers[op->memset.buffer] + op->memset.offset, op->memset.value, op->memset.bytes);
			break;
		case PLAN_OP_COPY:
			memmove(r->buffers[op->copy.dst] + op->copy.dst_offset, r->buffers[op->copy.src] + op->copy.src_offset,
				op->copy.bytes);
			break;
		case PLAN_OP_GEMM: break; /* the vendor's library */
		}
		r->early |= r->budget == 0 && i + 1 < plan->op_count;
	}
	return rc;
}

/* Whether numbers differ by more than sums in another order do, or than integers made of such. */
static bool is_far(const struct plan_buffer *x, const uint8_t *a, const uint8_t *b)
{
	size_t size = dtype_size(x->type);
	double most = 0, apart = 0;
	for (uint64_t at = 0; at + size <= x->bytes; at += size) {
		double u = dtype_load(x->type, a + at), v = dtype_load(x->type, b + at);
		if (!isfinite(u) || !isfinite(v))
			continue;
		most = fmax(most, fmax(fabs(u), fabs(v)));
		apart = fmax(apart, fabs(u - v));
	}
	return apart > ROUNDS_MOST * most + (dtype_is_float(x->type) ? 0 : 1);
}

/* The first output that two interpretations left different; NULL: none. */
static const char *difference(const struct run *a, const struct run *b, enum wire_order order)
{
	bool comparable = !(a->ended || b->ended) || (a->budget == b->budget && a->groups == b->groups);
	for (size_t i = 0; comparable && i < a->plan->buffer_count; i++) {
		const struct plan_buffer *x = &a->plan->buffers[i];
		if (plan_is_output(x) && (order == WIRE_ORDER_ROUNDS ? is_far(x, a->buffers[i], b->buffers[i])
								     : memcmp(a->buffers[i], b->buffers[i], x->bytes) != 0))
			return x->name;
	}
	return NULL;
}

static void run_fini(struct run *r)
{
	buffers_free(r->plan, r->buffers);
	free(r->finding);
	free(r->doubt);
}

/* Groups, and lanes, that meet in atomic operations take turns: on declared values four times. */
static int check_turns(const struct run *first, const struct wire_races *asked, const struct fill_choice *choice, uint64_t budget,
		       char **ret_finding, struct err *e)
{
	uint64_t seed = drawn(asked->seed, asked->values), count = asked->values == PLAN_DECLARED ? STOPS : 1;
	int rc = 0;
	for (uint64_t k = 0; k < count && rc == 0 && *ret_finding == NULL; k++) {
		struct run r = { first->plan,
				 first->object,
				 .wave = first->wave,
				 .undefined = first->undefined,
				 .budget = budget,
				 .lenient = first->lenient,
				 .turns = drawn(seed, 0) / STOPS * STOPS + (seed + k) % STOPS };
		rc = run_plan(&r, choice, e);
		const char *output = rc == 0 && asked->ordered && !r.ended ? difference(first, &r, asked->ordered) : NULL;
		if (rc == 0 && r.finding)
			*ret_finding = mem_str(r.finding);
		else if (output)
			*ret_finding = mem_fmt(
				"the output %s depends on the turns that groups and threads take at atomic operations", output);
		run_fini(&r);
	}
	return rc;
}

int hlsl_race_check(const void *binary, size_t len, const struct plan *plan, const struct wire_races *asked, uint32_t wave,
		    struct wire_raced *ret_raced, struct err *e)
{
	struct hlsl_object object;
	struct run runs[MEM_COUNT(undefined)];
	const struct fill_choice choice = { .seed = asked->seed, .values = asked->values, .immediates = asked->immediates };
	const uint64_t budget = asked->values == PLAN_DECLARED ? BUDGET_ALL : BUDGET_OTHER;
	struct run other = { plan, &object, .wave = wave, .undefined = undefined[0], .budget = budget, .backwards = true };
	const char *output = NULL;
	char **ret_finding = &ret_raced->finding;
	*ret_raced = (struct wire_raced){ .finding = NULL };
	int rc = hlsl_object_decode(binary, len, &object, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < MEM_COUNT(runs); i++) {
		runs[i] = (struct run){ plan,
					&object,
					.wave = wave,
					.undefined = undefined[i],
					.budget = budget,
					.depends = asked->values != PLAN_DECLARED, /* they settle nothing */
					.lenient = plan_values_whole(asked->values) };
		/* Reading what nobody wrote is no mistake as long as nothing comes of it. */
		if (rc == 0 && (i == 0 || (runs[0].doubt && !runs[0].finding)))
			rc = run_plan(&runs[i], &choice, e);
		if (rc == 0 && runs[i].finding && *ret_finding == NULL)
			*ret_finding = mem_str(runs[i].finding);
		if (rc == 0 && i > 0 && runs[i].buffers && output == NULL)
			output = difference(&runs[0], &runs[i], WIRE_ORDER_FIXED);
		if (i > 0) {
			buffers_free(plan, runs[i].buffers);
			runs[i].buffers = NULL;
		}
	}
	if (output && *ret_finding == NULL)
		*ret_finding = mem_fmt("%s, and the output %s depends on what such memory holds", runs[0].doubt, output);
	if (rc == 0 && *ret_finding == NULL && asked->ordered && runs[0].atomics && !runs[0].ended) {
		rc = run_plan(&other, &choice, e);
		/* Groups that wait for others may never end in this order; they say nothing. */
		output = rc == 0 && !other.ended && other.finding == NULL ? difference(&runs[0], &other, asked->ordered) : NULL;
		if (output)
			*ret_finding = mem_fmt("the output %s depends on the order in which groups and waves run", output);
	}
	if (rc == 0 && *ret_finding == NULL && runs[0].atomics && !runs[0].ended)
		rc = check_turns(&runs[0], asked, &choice, budget, ret_finding, e);
	if (rc == 0 && *ret_finding == NULL && runs[0].early)
		rc = err_set(e, ERR_UNSUPPORTED,
			     "the race check stops after %llu instructions of a launch, before two of its groups have ended. "
			     "Declare a smaller size as `check:`",
			     (unsigned long long)BUDGET);
	ret_raced->settled = rc == 0 && !runs[0].depends && !runs[0].doubt;
	for (size_t i = 0; i < MEM_COUNT(runs); i++)
		run_fini(&runs[i]);
	run_fini(&other);
	hlsl_object_fini(&object);
	return rc;
}

int hlsl_race_count(const void *binary, size_t len, const struct plan *plan, uint64_t seed, uint32_t wave,
		    struct wire_counted *ret_counted, struct err *e)
{
	struct hlsl_object object;
	struct wire_counted counts = { .count = 0 };
	int rc = hlsl_object_decode(binary, len, &object, e);
	if (rc < 0)
		return rc;
	struct run r = { plan, &object, .wave = wave, .undefined = undefined[0], .budget = BUDGET_ALL, .counts = &counts };
	r.touched = MEM_NEW_N(uint8_t *, plan->buffer_count + 1);
	for (size_t i = 0; i < plan->buffer_count; i++)
		r.touched[i] = mem_new(plan->buffers[i].bytes / RACE_SECTOR / 8 + 1, 1);
	rc = run_plan(&r, &(struct fill_choice){ .seed = seed }, e);
	if (rc == 0 && r.finding)
		rc = err_set(e, ERR_UNSUPPORTED, "%s", r.finding);
	buffers_free(plan, r.touched);
	buffers_free(plan, r.buffers);
	free(r.finding);
	free(r.doubt);
	hlsl_object_fini(&object);
	if (rc < 0)
		wire_counted_fini(&counts);
	else
		*ret_counted = counts;
	return rc;
}

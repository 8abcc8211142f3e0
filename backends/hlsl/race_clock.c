/* race_clock: see race_lane.h. What one group does happens before what another does only if the first updates a place by an atomic
 * operation, and the second one updates or reads that place after it; others may hand it on. Time is the number of such operations
 * so far. A group knows for each other one until when it has seen what that did. Each place that is updated knows what the groups
 * had seen that updated it. Places share a clock where there are very many; then more counts as seen. */
#include "backends/hlsl/race_lane.h"

#include "base/mem.h"

enum { PLACES = 509, GROUPS = 512 };

void hlsl_race_clocks_make(struct race_group *g, uint64_t groups)
{
	g->now = 1;
	g->clock_width = groups < GROUPS ? (uint32_t)groups + 1 : GROUPS;
	g->clocks = MEM_NEW_N(uint32_t, (size_t)PLACES * g->clock_width);
}

static uint32_t *clock_of(const struct race_group *g, const struct race_memory *mem, uint64_t at)
{
	return g->clocks + (at / g->m->unit + mem->number * UINT64_C(61)) % PLACES * g->clock_width;
}

static void merge(uint32_t *to, const uint32_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = to[i] > from[i] ? to[i] : from[i];
}

void hlsl_race_acquire(struct race_group *g, const struct race_memory *mem, uint64_t at)
{
	merge(g->me->seen, clock_of(g, mem, at), g->clock_width);
}

void hlsl_race_release(struct race_group *g, const struct race_memory *mem, uint64_t at)
{
	uint32_t *clock = clock_of(g, mem, at);
	merge(clock, g->me->seen, g->clock_width);
	clock[g->me->number % g->clock_width] = g->now++;
}

bool hlsl_race_published(const struct race_group *g, uint32_t group, uint32_t when)
{
	return g->me->seen[group % g->clock_width] >= when;
}

static struct race_fences *fences_of(const struct race_group *g, uint32_t group, uint32_t lane)
{
	size_t at = (size_t)(group - 1) * g->lanes + lane;
	return at < g->fence_count ? &g->fences[at] : NULL;
}

void hlsl_race_fence(struct race_group *g, const struct race_lane *lane)
{
	struct race_fences *f = fences_of(g, g->me->number, lane->index);
	if (f)
		*f = (struct race_fences){ f->count + 1, g->now };
}

uint32_t hlsl_race_fences(const struct race_group *g, const struct race_lane *lane)
{
	const struct race_fences *f = fences_of(g, g->me->number, lane->index);
	return f ? f->count : 0;
}

bool hlsl_race_fenced(const struct race_group *g, const struct race_touch *t)
{
	const struct race_fences *f = fences_of(g, t->group, t->lane);
	uint32_t since = f ? f->count - t->fences : 0;
	/* When the earlier ones of several were is not known. */
	return since > 1 || (since == 1 && f->last <= g->me->seen[t->group % g->clock_width]);
}

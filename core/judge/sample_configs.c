/* picks: sampled execution parameters of a validation, and their secret seeds; see picks.h. */
#include "core/judge/sample_configs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/context/host.h"
#include "core/context/space.h"

enum {
	OVERSAMPLE = 8,    /* points drawn per point wanted, since host code prunes some */
	CHECK_CONFIGS = 2, /* tuning configurations per check: size */
};

/* What all picks of one size have in common. */
struct size_picks {
	uint64_t seed, other_seed;
	bool checked_size;   /* of a check: size */
	bool deep;           /* its first pick gets all rounds */
};

static uint64_t size_seed(uint64_t secret, const char *size, char which)
{
	uint64_t seed;
	char *text = mem_fmt("%llx %s %c", (unsigned long long)secret, size, which);
	struct hash hash = hash_text(text);
	free(text);
	sscanf(hash.hex, "%16" SCNx64, &seed);
	return seed;
}

static bool is_deep(const struct validate_request *q, const struct params *size)
{
	bool deep = q->deep_count == 0;
	for (size_t i = 0; i < q->deep_count && !deep; i++) {
		struct params *inputs = params_part(q->deep[i], false);
		deep = params_equal(inputs, size);
		params_free(inputs);
	}
	return deep;
}

/* All picks of a size share their secret values, so that its references are computed once. */
static struct size_picks of_size(const struct validate_request *q, const struct space *space, size_t size, bool checked_size)
{
	struct size_picks all = { .checked_size = checked_size };
	struct params *at = space_size_at(space, size), *inputs = params_part(at, false);
	char *text = params_text(inputs);
	all.seed = q->secret ? size_seed(q->secret, text, 'a') : check_seed();
	all.other_seed = q->secret ? size_seed(q->secret, text, 'b') : check_seed();
	all.deep = checked_size || is_deep(q, inputs);
	free(text);
	params_free(inputs);
	params_free(at);
	return all;
}

static size_t common_divisor(size_t a, size_t b)
{
	return b ? common_divisor(b, a % b) : a;
}

/* Up to `want` points of a size that host code accepts; mistakes in host code count as points, since they are findings. */
static void pick_of_size(const struct validate_request *q, const struct space *space, size_t size, size_t want, uint64_t seed,
                         bool checked_size, struct sample_configs *p)
{
	struct size_picks all = of_size(q, space, size, checked_size);
	size_t first, count, got = 0;
	space_size_range(space, size, &first, &count);
	size_t tries = want * OVERSAMPLE < count ? want * OVERSAMPLE : count;
	/* A full-period walk through the size's points from a seeded start with a stride that is coprime to their number. */
	size_t at = count ? (size_t)(seed % count) : 0, stride = count > 2 ? (size_t)((seed >> 20) % (count - 1)) + 1 : 1;
	while (count > 1 && common_divisor(stride, count) != 1)
		stride = stride % count + 1;
	for (size_t i = 0; i < tries && got < want; i++, at = (at + stride) % count) {
		struct params *params = space_at(space, first + at);
		struct plan *plan = NULL;
		struct err why = ERR_INIT;
		int rc = host_run(q->ctx, params, q->facts, &plan, &why);
		plan_free(plan);
		if (rc < 0 && why.code == ERR_PRUNED) {
			if (p->pruned++ == 0)
				p->pruned_why = why;
			params_free(params);
			continue;
		}
		*MEM_PUSH(p->at, p->count) = (struct sample_config){
			.finding = { .params = params, .checked_size = all.checked_size, .seed = all.seed },
			.other_seed = all.other_seed, .first = got == 0, .full = got == 0 && all.deep,
		};
		got++;
	}
}

int sample_configs_draw(const struct validate_request *q, struct sample_configs *p, struct err *e)
{
	struct space *space = NULL;
	int rc = space_new(q->ctx, q->facts, q->only, &space, e);
	if (rc < 0)
		return rc;
	size_t sizes = space_size_count(space), each = sizes ? (q->samples + sizes - 1) / sizes : 0;
	/* More sizes than samples: as many of them as there are samples, evenly apart. */
	size_t step = q->samples && sizes > q->samples ? sizes / q->samples : 1;
	for (size_t s = step > 1 ? q->seed % step : 0; s < sizes; s += step)
		pick_of_size(q, space, s, each, q->seed + s * 7919, false, p);
	space_free(space);
	rc = space_new_check(q->ctx, q->facts, q->only, &space, e);
	if (rc < 0)
		return rc;
	for (size_t s = 0; s < space_size_count(space); s++)
		pick_of_size(q, space, s, q->samples > 4 ? CHECK_CONFIGS : 1, q->seed + s * 104729, true, p);
	space_free(space);
	return 0;
}

void sample_configs_fini(struct sample_configs *p)
{
	for (size_t i = 0; i < p->count; i++) {
		validate_finding_fini(&p->at[i].finding);
		variant_fini(&p->at[i].variant);
	}
	free(p->at);
	*p = (struct sample_configs){ 0 };
}

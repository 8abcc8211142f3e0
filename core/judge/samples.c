/* samples: drawn configurations; see samples.h. */
#include "core/judge/samples.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/context/aim.h"
#include "core/context/host.h"
#include "core/context/space.h"

enum {
	OVERSAMPLE = 8,    /* points drawn per point wanted, since host code prunes some, and some come twice */
	CHECK_CONFIGS = 2, /* tuning configurations per check: size */
};

/* What all samples of one size have in common. */
struct size_samples {
	uint64_t seed, other_seed;
	bool checked_size; /* of a check: size */
	bool deep;         /* its samples get all values */
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

/* All samples of a size share their secret values, so that its references are computed once. */
static struct size_samples of_size(const struct validate_request *q, const struct params *size, bool checked_size)
{
	struct size_samples all = { .checked_size = checked_size };
	char *text = params_text(size);
	all.seed = q->secret ? size_seed(q->secret, text, 'a') : check_seed();
	all.other_seed = q->secret ? size_seed(q->secret, text, 'b') : check_seed();
	all.deep = checked_size || is_deep(q, size);
	free(text);
	return all;
}

static void add_sample(struct samples *p, const struct size_samples *all, struct params *take_params, bool first)
{
	*MEM_PUSH(p->at, p->count) = (struct sample){
		.finding = { .params = take_params, .checked_size = all->checked_size, .seed = all->seed },
		.other_seed = all->other_seed,
		.first = first,
		.full = all->deep,
	};
}

/* Whether host code takes it, or is mistaken, which is a finding. */
static bool is_point(const struct validate_request *q, const struct params *params, struct samples *p)
{
	struct plan *plan = NULL;
	struct err why = ERR_INIT;
	int rc = host_run(q->ctx, params, q->facts, &plan, &why);
	plan_free(plan);
	if (rc == 0 || why.code != ERR_PRUNED)
		return true;
	if (p->pruned++ == 0)
		p->pruned_why = why;
	return false;
}

/* The slow checks look at a random configuration of one size, and at the rarest one of the next. */
static void rarest_first(struct sample two[2])
{
	struct sample first = two[1];
	first.first = true;
	two[1] = two[0];
	two[1].first = false;
	two[0] = first;
}

/* Up to `want` points of a space of one size. The first of four is random; the others are aimed at what the code tells apart. Where
 * one is wanted, it is aimed if the number of samples before is odd. Host code may prune what is aimed at: random ones come in its
 * place. */
static void sample_space(const struct validate_request *q, const struct space *space, size_t want, uint64_t seed,
			 const struct size_samples *all, struct samples *p)
{
	size_t got = 0, pruned = 0, next = 0, *taken = MEM_NEW_N(size_t, want + 1);
	size_t *random = MEM_NEW_N(size_t, want * OVERSAMPLE + 1), randoms = space_sample(space, seed, want * OVERSAMPLE, random);
	struct aim_size *aimed = NULL;
	if (space_count(space) > 1) {
		if (p->aim == NULL)
			p->aim = aim_new(q->ctx, q->facts);
		aimed = aim_size_new(p->aim, space, seed);
	}
	for (size_t tries = want * OVERSAMPLE; tries && got < want; tries--) {
		bool had = false;
		bool aims = want == 1 ? p->count % 2 && !pruned : (got + pruned) % 4;
		size_t at = aimed && aims ? aim_next(aimed) : SIZE_MAX;
		if (at == SIZE_MAX && next == randoms)
			break;
		if (at == SIZE_MAX)
			at = random[next++];
		for (size_t i = 0; i < got; i++)
			had |= taken[i] == at;
		if (had)
			continue;
		struct params *params = space_at(space, at);
		if (aimed)
			aim_had(aimed, at);
		if (is_point(q, params, p)) {
			taken[got] = at;
			add_sample(p, all, params, got++ == 0);
		} else {
			params_free(params);
			pruned++;
		}
	}
	if (got > 1 && (p->sizes++ + q->seed) % 2)
		rarest_first(&p->at[p->count - got]);
	aim_size_free(aimed);
	free(random);
	free(taken);
}

/* A size of the baseline that the context has no point for: its own requires: says so, or it is pruned. */
static void add_refused(const struct validate_request *q, const struct params *size, struct samples *p)
{
	char *why = NULL;
	if (spec_domain_ok(context_spec(q->ctx), size, &why))
		return;
	char *text = params_text(size);
	buf_addf(&p->refused, "%s%s (%s)", p->refused.len ? ", " : "", text, why);
	free(text);
	free(why);
}

/* One size of the baseline: the context's own points there, whatever it declares itself. */
static int sample_size(const struct validate_request *q, const struct params *size, size_t want, uint64_t seed, bool checked_size,
		       struct samples *p, struct err *e)
{
	struct size_samples all = of_size(q, size, checked_size);
	struct params *fixed = q->only ? params_merge(q->only, size) : params_copy(size);
	struct space *space = NULL;
	char *why = NULL;
	int rc = space_new_maybe(q->ctx, q->facts, fixed, &space, &why, e);
	if (rc == 0 && space_count(space))
		sample_space(q, space, want, seed, &all, p);
	else if (rc == 0)
		add_refused(q, size, p);
	space_free(space);
	params_free(fixed);
	free(why);
	return rc;
}

/* Configurations that failed before are judged again, with the values of their size. */
static void sample_again(const struct validate_request *q, struct samples *p)
{
	for (size_t i = 0; i < q->again_count; i++) {
		struct params *size = params_part(q->again[i], false);
		struct size_samples all = of_size(q, size, false);
		bool there = false;
		for (size_t k = 0; k < p->count && !there; k++) {
			const struct sample *x = &p->at[k];
			struct params *inputs = params_part(x->finding.params, false);
			there = params_equal(x->finding.params, q->again[i]);
			if (params_equal(inputs, size))
				all = (struct size_samples){ x->finding.seed, x->other_seed, x->finding.checked_size, x->full };
			params_free(inputs);
		}
		if (!there && is_point(q, q->again[i], p))
			add_sample(p, &all, params_copy(q->again[i]), true);
		params_free(size);
	}
}

/* The baseline's sizes count, so that no later step can leave one out. */
int samples_draw(const struct validate_request *q, struct samples *p, struct err *e)
{
	const struct context *sizes_of = q->baseline ? q->baseline : q->ctx;
	struct params *inputs = q->only ? params_part(q->only, false) : NULL;
	struct space *declared = NULL, *check = NULL, *own = NULL;
	int rc = space_new(sizes_of, q->facts, inputs, &declared, e);
	if (rc == 0)
		rc = space_new_check(sizes_of, q->facts, inputs, &check, e);
	size_t sizes = rc == 0 ? space_size_count(declared) : 0, each = sizes ? (q->samples + sizes - 1) / sizes : 0;
	/* With more sizes than samples: as many sizes as samples, evenly apart, and those that get the full suite. */
	size_t step = q->samples && sizes > q->samples ? sizes / q->samples : 1, first = step > 1 ? q->seed % step : 0;
	for (size_t s = 0; rc == 0 && s < sizes; s++) {
		struct params *size = space_size_at(declared, s);
		if (s % step == first || (q->deep_count && is_deep(q, size)))
			rc = sample_size(q, size, each, q->seed + s * 7919, false, p, e);
		params_free(size);
	}
	for (size_t s = 0; rc == 0 && s < space_size_count(check); s++) {
		struct params *size = space_size_at(check, s);
		rc = sample_size(q, size, q->samples > 4 ? CHECK_CONFIGS : 1, q->seed + s * 104729, true, p, e);
		params_free(size);
	}
	if (rc == 0)
		sample_again(q, p);
	if (rc == 0 && p->count == 0 && p->pruned == 0)
		rc = space_new(q->ctx, q->facts, q->only, &own, e); /* says what removed everything */
	space_free(own);
	space_free(declared);
	space_free(check);
	params_free(inputs);
	return rc;
}

void samples_fini(struct samples *p)
{
	for (size_t i = 0; i < p->count; i++) {
		validate_finding_fini(&p->at[i].finding);
		variant_fini(&p->at[i].variant);
	}
	free(p->at);
	aim_free(p->aim);
	buf_fini(&p->refused);
	*p = (struct samples){ .refused = BUF_INIT };
}

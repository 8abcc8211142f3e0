/* reference: right outputs, computed once per baseline, size, seed and device, and kept; see reference.h. */
#include "core/judge/reference.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "core/context/host.h"
#include "core/context/space.h"
#include "core/judge/reference_quality.h"
#include "core/judge/truth.h"
#include "core/workers/trial.h"

#define LOOK_NS (100 * CLOCK_MS) /* how often a waiter looks whether it is cancelled */

#define INTEGERS_NS (10 * CLOCK_S)

enum { TRIES = 24, GOOD_BLOCK = 256, POISON = 0xFF };

struct entry {
	struct reference reference; /* first member: a borrowed reference is its entry */
	char *key;
	size_t bytes;
	unsigned users;
	uint64_t used; /* clock of the last use */
	struct entry *next;
};

struct references {
	struct lock lock;
	struct lock_bell bell;           /* a process is no longer busy */
	const struct pool_worker **busy; /* processes that compute a reference, or are held */
	size_t busy_count;
	struct entry *entries;
	size_t bytes, max_bytes;
	uint64_t clock;
	struct truth_memory *truths;
};

struct references *references_new(size_t max_bytes)
{
	struct references *r = MEM_NEW(struct references);
	lock_init(&r->lock, LOCK_LEAF);
	lock_bell_init(&r->bell);
	r->max_bytes = max_bytes;
	r->truths = truth_memory_new();
	return r;
}

static void outputs_fini(struct reference *r)
{
	for (size_t i = 0; i < r->output_count; i++) {
		free(r->outputs[i].name);
		free(r->outputs[i].answer);
		free(r->outputs[i].wanted);
	}
	free(r->outputs);
	free(r->unfit);
	*r = (struct reference){ 0 };
}

static void entry_free(struct entry *x)
{
	outputs_fini(&x->reference);
	free(x->key);
	free(x);
}

void references_free(struct references *refs)
{
	if (refs == NULL)
		return;
	while (refs->entries) {
		struct entry *x = refs->entries;
		refs->entries = x->next;
		entry_free(x);
	}
	truth_memory_free(refs->truths);
	lock_bell_fini(&refs->bell);
	lock_fini(&refs->lock);
	free(refs->busy);
	free(refs);
}

struct truth_memory *references_truths(struct references *refs)
{
	return refs->truths;
}

static struct entry *find_locked(struct references *refs, const char *key)
{
	for (struct entry *x = refs->entries; x; x = x->next)
		if (strcmp(x->key, key) == 0) {
			x->users++;
			x->used = ++refs->clock;
			return x;
		}
	return NULL;
}

/* Drops the least recently used references that are not in use, until the rest fits. */
static void shrink_locked(struct references *refs)
{
	while (refs->bytes > refs->max_bytes) {
		struct entry **oldest = NULL;
		for (struct entry **x = &refs->entries; *x; x = &(*x)->next)
			if ((*x)->users == 0 && (oldest == NULL || (*x)->used < (*oldest)->used))
				oldest = x;
		if (oldest == NULL)
			return;
		struct entry *gone = *oldest;
		*oldest = gone->next;
		refs->bytes -= gone->bytes;
		entry_free(gone);
	}
}

static struct entry *keep_locked(struct references *refs, struct entry *take_entry)
{
	struct entry *there = find_locked(refs, take_entry->key);
	if (there) {
		entry_free(take_entry);
		return there;
	}
	take_entry->users = 1;
	take_entry->used = ++refs->clock;
	take_entry->next = refs->entries;
	refs->entries = take_entry;
	refs->bytes += take_entry->bytes;
	shrink_locked(refs);
	return take_entry;
}

bool reference_is_close(const struct reference_output *o)
{
	return !o->judgement.declared || o->judgement.kind == JUDGE_CLOSE;
}

void reference_release(struct references *refs, const struct reference *reference)
{
	struct entry *x = (struct entry *)reference;
	if (x == NULL)
		return;
	lock_take(&refs->lock);
	x->users--;
	shrink_locked(refs);
	lock_release(&refs->lock);
}

/* --- computing ------------------------------------------------------------------------------------------------------------ */

static double block_size(const struct variant *v)
{
	for (size_t i = 0; i < v->plan->op_count; i++)
		if (v->plan->ops[i].kind == PLAN_OP_LAUNCH) {
			const uint32_t *b = v->plan->ops[i].launch.block;
			return (double)b[0] * b[1] * b[2];
		}
	return 1;
}

/* Of some sampled configurations, the one whose blocks have a size that suits any GPU: a reference may be slow, but not by running
 * one thread per block. */
static int choose_params(const struct context *baseline, const struct facts *facts, const struct params *size,
			 struct params **ret_params, struct err *e)
{
	struct space *space;
	size_t index[TRIES];
	double best = INFINITY;
	struct params *chosen = NULL, *inputs = params_part(size, false);
	int rc = space_new(baseline, facts, inputs, &space, e);
	params_free(inputs);
	if (rc < 0)
		return err_wrap(e, "the baseline cannot compute a reference");
	size_t n = space_sample(space, 1, TRIES, index);
	for (size_t i = 0; i < n; i++) {
		struct variant v = { .params = space_at(space, index[i]) };
		struct err why = ERR_INIT;
		if (host_run(baseline, v.params, facts, &v.plan, &why) == 0) {
			double off = fabs(log2(block_size(&v) / GOOD_BLOCK));
			if (off < best) {
				best = off;
				params_free(chosen);
				chosen = params_copy(v.params);
			}
		} else if (e->code == ERR_NONE || why.code != ERR_PRUNED) {
			*e = why;
		}
		variant_fini(&v);
	}
	space_free(space);
	if (chosen == NULL)
		return err_wrap(e, "the baseline accepts none of its configurations here, so there is no reference");
	*e = (struct err)ERR_INIT;
	*ret_params = chosen;
	return 0;
}

/* How the baseline says that its output of this name is judged. */
static struct judgement judgement_of(const struct context *baseline, const struct plan_buffer *b)
{
	const struct spec *spec = context_spec(baseline);
	for (size_t i = 0; i < spec->array_count; i++)
		if (strcmp(spec->arrays[i].name, b->name) == 0)
			return spec->arrays[i].judged;
	return judgement_default(b->type);
}

static int fetch_outputs(const struct context *baseline, struct trial *t, struct reference *r, struct err *e)
{
	size_t n = variant_output_count(t->variant);
	r->outputs = MEM_NEW_N(struct reference_output, n + 1);
	for (size_t k = 0; k < n; k++) {
		struct reference_output *out = &r->outputs[r->output_count++];
		const struct plan_buffer *b = variant_output(t->variant, k);
		out->name = mem_str(b->name);
		out->type = b->type;
		out->rank = b->rank;
		memcpy(out->dims, b->dims, sizeof out->dims);
		out->own_error = NAN;
		out->judgement = judgement_of(baseline, b);
		int rc = trial_output(t, (uint32_t)k, &out->answer, &out->bytes, &out->len, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Values and bounds as candidates are compared with them. */
static void make_wanted(struct reference_output *o)
{
	size_t n = o->len / dtype_size(o->type);
	bool is_float = dtype_is_float(o->type);
	double *x = MEM_NEW_N(double, n + 1), ref2 = 0, finite = 0;
	dtype_load_all(o->type, o->bytes, x, n);
	for (size_t i = 0; i < n; i++) {
		finite += isfinite(x[i]) != 0;
		ref2 += isfinite(x[i]) ? x[i] * x[i] : 0;
	}
	o->wanted_type = is_float && o->type != DTYPE_F64 ? DTYPE_F32 : o->type;
	size_t size = dtype_size(o->wanted_type), bound_size = is_float ? wire_bound_size(o->wanted_type) : 0;
	o->wanted_len = n * (size + bound_size);
	o->wanted = mem_new(o->wanted_len + 1, 1);
	for (size_t i = 0; i < n && is_float; i++) {
		double bound = 16 * o->tolerance * (fabs(x[i]) + sqrt(ref2 / fmax(finite, 1)));
		dtype_store(o->wanted_type, o->wanted + i * size, x[i]);
		dtype_store(o->wanted_type == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32, o->wanted + n * size + i * bound_size,
			    isnan(x[i]) ? INFINITY : bound);
	}
	if (!is_float)
		memcpy(o->wanted, o->bytes, o->len);
	o->hash = hash_array(o->wanted, o->wanted_len);
	free(x);
}

/* What one reference is made from. */
struct making {
	const struct reference_source *j;
	struct pool_worker *process;
	const struct params *params;
	struct trial_input input;
};

/* Values that may be ill-conditioned, or beyond what the precision holds. */
static bool is_hard(enum plan_values values)
{
	return values == PLAN_SPIKES || values == PLAN_OFFSET || values == PLAN_WIDE || values == PLAN_SPECIAL;
}

/* Runs one context for a reference; fills outputs (first run) or compares with them (the baseline's own error). */
static int run_once(const struct making *m, const struct context *ctx, struct reference *r, bool compare, struct err *e)
{
	struct variant v;
	struct trial t;
	int rc = variant_build(m->j->ev, ctx, m->params, m->j->facts, &v, e);
	if (rc < 0)
		return rc;
	rc = trial_begin(&t, m->process, &v, e);
	if (rc < 0)
		goto out;
	/* Integers without a range may be the lengths of loops. */
	int64_t timeout = m->input.values == PLAN_INTEGERS ? INTEGERS_NS : EVAL_EXECUTE_NS;
	rc = trial_execute(&t, &m->input, timeout, &r->execute_ns, e);
	if (rc == 0 && !compare)
		rc = fetch_outputs(m->j->baseline, &t, r, e);
	for (size_t k = 0; rc == 0 && compare && k < r->output_count; k++) {
		struct wire_compared c;
		struct reference_output *o = &r->outputs[k];
		make_wanted(o);
		struct trial_expected want = { .hash = o->hash.hex,
					       .bytes = o->wanted,
					       .len = o->wanted_len,
					       .type = o->wanted_type,
					       .judgement = o->judgement,
					       .poison = POISON };
		rc = trial_compare(&t, (uint32_t)k, &want, &c, e);
		free(o->wanted);
		o->wanted = NULL;
		if (rc == 0 && c.nan > 0)
			rc = err_set(e, ERR_WRONG, "%s has NaN where its reference block has none", o->name);
		if (rc == 0 && !reference_is_close(o) && c.mismatched)
			rc = err_set(e, ERR_WRONG,
				     "%s is judged as it declares, and the baseline's own %s differs in %llu elements%s%s", o->name,
				     o->name, (unsigned long long)c.mismatched, *c.finding ? ": " : "", c.finding);
		if (rc == 0)
			o->own_error = reference_is_close(o) ? c.error : 0;
	}
	trial_end(&t);
out:
	variant_fini(&v);
	return rc;
}

/* Against its reference block the baseline's own error is known; rounding must explain it. Values far from zero and spikes may be
 * ill-conditioned: there it is enough that the baseline gets two digits right. */
static int measure_baseline(const struct making *m, struct reference *r, struct err *e)
{
	const struct spec *spec = context_spec(m->j->baseline);
	bool hard = is_hard(m->input.values);
	double rounding = 4 * spec_roundoff(spec) * sqrt(spec_reduction(spec, m->params)), limit = fmax(rounding, hard ? 0.01 : 0);
	for (size_t k = 0; k < r->output_count; k++)
		r->outputs[k].tolerance = limit;
	int rc = run_once(m, m->j->baseline, r, true, e);
	if (rc < 0)
		return err_wrap(e, "the baseline against its reference block");
	for (size_t k = 0; k < r->output_count; k++)
		if (!(r->outputs[k].own_error <= limit))
			return err_set(e, ERR_INTERNAL,
				       "the baseline differs from its reference block in %s by %.3g (rounding "
				       "explains %.3g): one of the two is wrong",
				       r->outputs[k].name, r->outputs[k].own_error, limit);
	return 0;
}

/* Special values need not suit every context; what they cannot judge is noted and left out. Declared values must suit. */
static int unfit(const struct making *m, struct reference *r, struct err *e)
{
	bool integers = m->input.values == PLAN_INTEGERS, lost = e->code == ERR_CRASH || e->code == ERR_TIMEOUT;
	if (m->input.values == PLAN_DECLARED || (e->code != ERR_INTERNAL && e->code != ERR_WRONG && !(integers && lost)))
		return -(int)e->code;
	r->unfit = mem_fmt("%s%s", e->text, integers ? "; an array that indexes declares its range, as in `index: i32[n] < m`" : "");
	*e = (struct err)ERR_INIT;
	return 0;
}

/* Where NaN stands in an order is nobody's promise; what is put in order cannot be judged beside it. */
static int check_order(const struct making *m, const struct reference *r, struct err *e)
{
	for (size_t k = 0; m->input.values == PLAN_SPECIAL && k < r->output_count; k++) {
		const struct reference_output *o = &r->outputs[k];
		if (o->judgement.kind == JUDGE_SET || o->judgement.kind == JUDGE_PERMUTATION)
			return err_set(e, ERR_INTERNAL, "%s is judged by the values of its rows, among which NaN has no place",
				       o->name);
	}
	return 0;
}

/* Integers may be all zero, such as an error flag, beside an output that tells kernels apart. */
static int check_quality(const struct reference *r, struct err *e)
{
	struct err first = ERR_INIT, why = ERR_INIT;
	size_t telling = 0;
	bool excused = true;
	for (size_t k = 0; k < r->output_count; k++) {
		const struct reference_output *o = &r->outputs[k];
		why = (struct err)ERR_INIT;
		if (reference_quality_check(o, &why) == 0) {
			telling++;
			continue;
		}
		if (first.code == ERR_NONE)
			first = why;
		excused &= !dtype_is_float(o->type) || !reference_is_close(o);
	}
	if (first.code == ERR_NONE || (excused && telling > 0))
		return 0;
	*e = first;
	return -(int)e->code;
}

static int compute_and_qualify(const struct making *m, const struct context *ctx, struct reference *r, struct err *e)
{
	bool has_block = context_reference(m->j->baseline) != NULL;
	int rc = run_once(m, ctx ? ctx : m->j->baseline, r, false, e);
	if (rc < 0)
		return m->input.values == PLAN_INTEGERS ? unfit(m, r, e) : rc;
	if (is_hard(m->input.values))
		rc = reference_quality_permits(context_spec(m->j->baseline), has_block, e);
	if (rc == 0)
		rc = check_order(m, r, e);
	if (rc == 0)
		rc = check_quality(r, e);
	if (rc == 0 && has_block)
		rc = measure_baseline(m, r, e);
	if (rc == 0)
		rc = reference_quality_tolerances(context_spec(m->j->baseline), m->params, m->input.values, r, e);
	for (size_t k = 0; rc == 0 && k < r->output_count; k++) {
		make_wanted(&r->outputs[k]);
		free(r->outputs[k].answer);
		r->outputs[k].answer = NULL;
	}
	return rc < 0 ? unfit(m, r, e) : 0;
}

static int compute(const struct making *m, struct reference *r, struct err *e)
{
	struct context *ctx = NULL;
	int rc = context_reference(m->j->baseline) ? context_as_reference(m->j->baseline, &ctx, e) : 0;
	if (rc == 0)
		rc = compute_and_qualify(m, ctx, r, e);
	context_free(ctx);
	if (rc == 0)
		return 0;
	/* A fault of the baseline says nothing about the candidate. */
	if (e->code == ERR_INPUT || e->code == ERR_COMPILE || e->code == ERR_PRUNED || e->code == ERR_WRONG)
		e->code = ERR_INTERNAL;
	return err_wrap(e, "reference");
}

/* --- one at a time --------------------------------------------------------------------------------------------------------- */

static size_t find_busy_locked(const struct references *refs, const struct pool_worker *process)
{
	size_t i = 0;
	while (i < refs->busy_count && refs->busy[i] != process)
		i++;
	return i;
}

/* The entry under that key (NULL: none is wanted) as soon as there is one; else the process is the caller's until leave(). */
static int enter(const struct reference_source *j, const struct pool_worker *process, const char *key, struct entry **ret_entry,
		 struct err *e)
{
	struct references *refs = j->ev->references;
	struct entry *entry = NULL;
	int rc = 0;
	lock_take(&refs->lock);
	while (!(key && (entry = find_locked(refs, key))) && find_busy_locked(refs, process) < refs->busy_count &&
	       (rc = cancel_check(j->ev->cancel, e)) == 0)
		lock_bell_wait(&refs->bell, &refs->lock, clock_now() + LOOK_NS);
	if (rc == 0 && entry == NULL)
		*MEM_PUSH(refs->busy, refs->busy_count) = process;
	lock_release(&refs->lock);
	*ret_entry = entry;
	return rc;
}

static void leave(struct references *refs, const struct pool_worker *process)
{
	lock_take(&refs->lock);
	size_t i = find_busy_locked(refs, process);
	assert(i < refs->busy_count);
	refs->busy[i] = refs->busy[--refs->busy_count];
	lock_bell_ring(&refs->bell);
	lock_release(&refs->lock);
}

int reference_hold(const struct reference_source *j, struct pool_worker *device, struct err *e)
{
	struct entry *none;
	return enter(j, pool_reference(device), NULL, &none, e);
}

void reference_let_go(const struct reference_source *j, struct pool_worker *device)
{
	leave(j->ev->references, pool_reference(device));
}

/* --- getting -------------------------------------------------------------------------------------------------------------- */

static int make_entry(const struct making *m, const char *key, struct entry **ret_entry, struct err *e)
{
	struct references *refs = m->j->ev->references;
	struct reference r = { 0 };
	int rc = compute(m, &r, e);
	if (rc < 0) {
		outputs_fini(&r);
		return rc;
	}
	struct entry *entry = MEM_NEW(struct entry);
	entry->reference = r;
	entry->key = mem_str(key);
	for (size_t k = 0; k < r.output_count; k++)
		entry->bytes += r.outputs[k].wanted_len;
	lock_take(&refs->lock);
	*ret_entry = keep_locked(refs, entry);
	lock_release(&refs->lock);
	return 0;
}

int reference_get(const struct reference_source *j, struct pool_worker *device, const struct reference_values *values,
		  const struct reference **ret_reference, struct err *e)
{
	struct params *inputs = params_part(values->size, false), *params = NULL;
	char *size_text = params_text(inputs);
	char *key = mem_fmt("%s %s %s %llx %d", context_hash(j->baseline)->hex, j->facts->id, size_text,
			    (unsigned long long)values->seed, values->values);
	struct making m = { .j = j,
			    .process = pool_reference(device),
			    .input = { .seed = values->seed, .poison = POISON, .values = values->values } };
	struct entry *entry = NULL;
	int rc = enter(j, m.process, key, &entry, e);
	if (rc == 0 && entry == NULL) {
		rc = choose_params(j->baseline, j->facts, inputs, &params, e);
		m.params = params;
		if (rc == 0)
			rc = make_entry(&m, key, &entry, e);
		leave(j->ev->references, m.process);
	}
	if (rc == 0)
		*ret_reference = &entry->reference;
	params_free(inputs);
	params_free(params);
	free(size_text);
	free(key);
	return rc;
}

/* --- ahead ------------------------------------------------------------------------------------------------------------------ */

struct reference_ahead {
	struct reference_source judge;
	struct pool_worker *device;
	struct reference_values *items;
	size_t count;
	uint64_t bytes; /* of their outputs */
	atomic_bool stop;
	bool started;
	pthread_t thread;
};

struct reference_ahead *reference_ahead_new(const struct reference_source *j, struct pool_worker *device)
{
	struct reference_ahead *a = MEM_NEW(struct reference_ahead);
	a->judge = *j;
	a->device = device;
	return a;
}

void reference_ahead_add(struct reference_ahead *a, const struct reference_values *values, uint64_t output_bytes)
{
	a->bytes += output_bytes;
	if (a->bytes <= a->judge.ev->references->max_bytes / 2)
		*MEM_PUSH(a->items, a->count) = *values;
}

static void *compute_all(void *arg)
{
	struct reference_ahead *a = arg;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < a->count && !atomic_load(&a->stop); i++) {
		const struct reference *r;
		struct err ignored = ERR_INIT; /* the caller that needs it meets the same */
		rc = reference_get(&a->judge, a->device, &a->items[i], &r, &ignored);
		if (rc == 0)
			reference_release(a->judge.ev->references, r);
	}
	return NULL;
}

void reference_ahead_start(struct reference_ahead *a)
{
	a->started = a->count > 0 && pthread_create(&a->thread, NULL, compute_all, a) == 0;
}

void reference_ahead_free(struct reference_ahead *a)
{
	if (a == NULL)
		return;
	atomic_store(&a->stop, true);
	if (a->started)
		pthread_join(a->thread, NULL);
	free(a->items);
	free(a);
}

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
#include "core/judge/dictionary.h"
#include "core/judge/oracle.h"
#include "core/judge/reference_make.h"
#include "core/judge/truth.h"
#include "core/workers/kept_trial.h"
#include "core/workers/resident.h"
#include "core/workers/variant.h"

#define LOOK_NS (100 * CLOCK_MS) /* how often a waiter looks whether it is cancelled */

enum { TRIES = 24, GOOD_BLOCK = 256 };

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
	struct kept_trials *trials; /* of truths and baselines */
	struct oracle *oracle;
};

struct references *references_new(size_t max_bytes)
{
	struct references *r = MEM_NEW(struct references);
	lock_init(&r->lock, LOCK_LEAF);
	lock_bell_init(&r->bell);
	r->max_bytes = max_bytes;
	r->truths = truth_memory_new();
	r->trials = kept_trials_new();
	r->oracle = oracle_new();
	return r;
}

static void outputs_fini(struct reference *r)
{
	for (size_t i = 0; i < r->output_count; i++) {
		free(r->outputs[i].name);
		free(r->outputs[i].wanted);
		free(r->outputs[i].causes);
		free(r->outputs[i].unfit);
		free(r->outputs[i].hint);
	}
	free(r->outputs);
	free(r->unfit);
	free(r->weak);
	free(r->by);
	dictionary_fini(&r->immediates);
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
	kept_trials_free(refs->trials);
	oracle_free(refs->oracle);
	lock_bell_fini(&refs->bell);
	lock_fini(&refs->lock);
	free(refs->busy);
	free(refs);
}

size_t references_bytes(struct references *refs, size_t *ret_limit)
{
	lock_take(&refs->lock);
	size_t bytes = refs->bytes;
	*ret_limit = refs->max_bytes;
	lock_release(&refs->lock);
	return bytes;
}

struct kept_trials *references_trials(struct references *refs)
{
	return refs->trials;
}

struct truth_memory *references_truths(struct references *refs)
{
	return refs->truths;
}

struct oracle *references_oracle(struct references *refs)
{
	return refs->oracle;
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

char *reference_place(const struct reference_output *o, int64_t index)
{
	struct buf text = BUF_INIT;
	int64_t at[PLAN_RANK_MAX] = { 0 };
	for (unsigned d = o->rank; d-- > 0;) {
		at[d] = index % o->dims[d];
		index /= o->dims[d];
	}
	buf_addc(&text, '(');
	for (unsigned d = 0; d < o->rank; d++)
		buf_addf(&text, "%s%lld", d ? ", " : "", (long long)at[d]);
	buf_addc(&text, ')');
	return buf_steal(&text);
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

static int make_entry(const struct reference_making *m, const char *key, struct entry **ret_entry, struct err *e)
{
	struct references *refs = m->j->ev->references;
	struct reference r = { 0 };
	int rc = reference_make(m, &r, e);
	if (rc < 0) {
		outputs_fini(&r);
		return rc;
	}
	struct entry *entry = MEM_NEW(struct entry);
	entry->reference = r;
	entry->key = mem_str(key);
	entry->bytes = sizeof *entry + strlen(key);
	for (size_t k = 0; k < r.output_count; k++)
		entry->bytes += sizeof *r.outputs + r.outputs[k].wanted_len + r.outputs[k].elements;
	lock_take(&refs->lock);
	*ret_entry = keep_locked(refs, entry);
	lock_release(&refs->lock);
	return 0;
}

/* The device forgets truths when it needs the room. */
static bool is_there(struct pool_worker *process, const struct reference *r)
{
	bool there = true;
	for (size_t k = 0; k < r->output_count && there && r->resident && !r->unfit; k++) {
		struct wire_truth step = { .step = WIRE_TRUTH_LOOK };
		struct wire_truth_found found = { 0 };
		struct err ignored = ERR_INIT; /* a process that is gone has forgotten everything */
		memcpy(step.hash, r->outputs[k].hash.hex, sizeof step.hash);
		there = resident_truth(process, &step, &found, &ignored) == 0 && found.elements == r->outputs[k].elements;
	}
	return there;
}

/* As enter(), but a resident reference is only found while its truths are on the device. */
static int enter_present(const struct reference_source *j, struct pool_worker *process, const char *key, struct entry **ret_entry,
			 struct err *e)
{
	int rc = enter(j, process, key, ret_entry, e);
	if (rc < 0 || *ret_entry == NULL || !(*ret_entry)->reference.resident)
		return rc;
	/* The process may only be asked by one thread at a time. */
	struct entry *entry = *ret_entry, *none;
	rc = enter(j, process, NULL, &none, e);
	if (rc < 0 || is_there(process, &entry->reference)) {
		if (rc == 0)
			leave(j->ev->references, process);
		else
			reference_release(j->ev->references, &entry->reference);
		return rc;
	}
	/* The entry is the caller's last use of it; nobody finds it any more. */
	struct references *refs = j->ev->references;
	lock_take(&refs->lock);
	struct entry **at = &refs->entries;
	while (*at != entry)
		at = &(*at)->next;
	if (--entry->users == 0) {
		*at = entry->next;
		refs->bytes -= entry->bytes;
		entry_free(entry);
	} else {
		entry->key[0] = 0;
	}
	lock_release(&refs->lock);
	*ret_entry = NULL;
	return 0;
}

static char *key_of(const struct reference_source *j, const struct reference_values *v, const char *size)
{
	struct buf key = BUF_INIT;
	buf_addf(&key, "%s %s %s %llx %d %d", context_hash(j->baseline)->hex, j->facts->id, size, (unsigned long long)v->seed,
		 v->values, v->quick);
	for (uint64_t i = 0; i < v->immediates.count; i++)
		buf_addf(&key, " %a", v->immediates.at[i]);
	return buf_steal(&key);
}

int reference_get(const struct reference_source *j, struct pool_worker *device, const struct reference_values *values,
		  const struct reference **ret_reference, struct err *e)
{
	struct params *inputs = params_part(values->size, false), *params = NULL;
	char *size_text = params_text(inputs);
	char *key = key_of(j, values, size_text);
	struct reference_making m = { .j = j,
				      .process = pool_reference(device),
				      .seed = values->seed,
				      .values = values->values,
				      .immediates = values->immediates,
				      .quick = values->quick };
	struct entry *entry = NULL;
	int rc = enter_present(j, m.process, key, &entry, e);
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

/* timed: see runs.h. */
#include "backends/worker/runs.h"

#include <stdlib.h>
#include <string.h>

#include "backends/timing/measure.h"
#include "backends/values/stream.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/order.h"

/* One run while it is timed. */
struct timed {
	struct runs *all;
	struct run *run;
	enum wire_cache cache;
	struct fill_choice choice; /* of the values in every set, but for the seed */
	uint64_t seeds[BACKEND_SETS];
	unsigned seed_count;
	unsigned known; /* the daemon can examine outputs of the first so many */
	unsigned sets;  /* of buffers */
	bool refills;   /* one set, whose values are changed between samples */
	uint32_t lot;   /* the sample after which outputs are kept, beside the last one */
};

enum { MORE = 8 };                                  /* executions after the last sample */
enum { RESET_GPU_NS = 3000 }; /* as WIRE_RESET_CPU_NS */
enum { REFILL_EVERY = 4 };                          /* samples: writing large tensors takes much longer than a sample */
enum { KEPT_BEFORE = 100 };                         /* executions before it is asked whether they use what is left */
enum { KEPT_LEAST = 12 };                           /* where they cannot */

/* --- outputs of timed executions ---------------------------------------------------------------------------------- */

static void left_fini(struct runs *all, const struct run *r, struct runs_left *left)
{
	for (uint32_t i = 0; i < r->output_count; i++)
		room_give(all->room, left->bytes[i], r->outputs[i].len);
	free(left->bytes);
}

void timed_forget(struct runs *all, struct run *r)
{
	for (size_t i = 0; i < r->left_count; i++)
		left_fini(all, r, &r->left[i]);
	free(r->left);
	r->left = NULL;
	r->left_count = 0;
}

bool timed_look(struct runs *all, struct run *r, const struct fill_choice *choice, struct wire_executed *ret_executed)
{
	struct runs_left *left = NULL;
	for (size_t i = 0; i < r->left_count; i++)
		if (r->left[i].seed == choice->seed)
			left = &r->left[i];
	if (left == NULL || choice->values != r->choice.values || choice->perturbation)
		return false;
	for (uint32_t i = 0; i < r->output_count; i++) {
		uint8_t *bytes = r->outputs[i].bytes;
		r->outputs[i].fetched = true;
		r->outputs[i].bytes = left->bytes[i];
		left->bytes[i] = bytes;
	}
	*ret_executed = left->damage;
	left_fini(all, r, left);
	*left = r->left[--r->left_count];
	r->choice.seed = choice->seed;
	r->executed = true;
	return true;
}

/* What the selected set's last execution left. all_of_it: inputs and red zones are examined, too. */
static int keep_left(struct timed *t, bool all_of_it, struct err *e)
{
	struct run *r = t->run;
	const struct fill_choice *choice = &r->sets[t->all->backend->used_set(r->on_device)];
	struct runs_left left = { .seed = choice->seed };
	bool known = false;
	int rc = 0;
	for (unsigned i = 0; i < t->known; i++)
		known |= t->seeds[i] == choice->seed;
	if (!known || r->apart)
		return 0;
	left.bytes = MEM_NEW_N(uint8_t *, r->output_count);
	for (uint32_t i = 0; i < r->output_count && rc == 0; i++)
		rc = runs_fetch(t->all, r, &r->outputs[i], &left.bytes[i], e);
	if (rc == 0 && all_of_it)
		rc = runs_look_for_damage(t->all, r, &(struct wire_execute){ .seed = choice->seed, .values = choice->values },
					  &left.damage, e);
	if (rc < 0)
		left_fini(t->all, r, &left);
	else
		*MEM_PUSH(r->left, r->left_count) = left;
	return rc;
}

/* --- sets of buffers ---------------------------------------------------------------------------------------------- */

static bool has_inout(const struct plan *plan)
{
	for (size_t i = 0; i < plan->buffer_count; i++)
		if (plan->buffers[i].role == PLAN_INOUT)
			return true;
	return false;
}

static void use_set(const struct timed *t, unsigned set)
{
	t->all->backend->use_set(t->run->on_device, set);
}

int timed_keep_inout(struct runs *all, struct run *r, struct err *e)
{
	return has_inout(r->plan) ? all->backend->keep_inout(r->on_device, e) : 0;
}

/* Writes the selected set, whose outputs and scratch the backend resets. */
static int fill_set(struct timed *t, unsigned set, uint64_t seed, struct err *e)
{
	struct run *r = t->run;
	struct wire_execute m = {
		.seed = seed, .values = t->choice.values, .poison = WIRE_TIMED_POISON, .keep = WIRE_KEEP_SCRATCH | WIRE_KEEP_OUTPUTS
	};
	bool same = r->filled[set] && r->sets[set].seed == seed && r->sets[set].values == t->choice.values &&
		    r->sets[set].perturbation == 0;
	int rc = 0;
	for (unsigned i = 0; i < r->plan->buffer_count && rc == 0; i++)
		if (!same || r->plan->buffers[i].role == PLAN_INOUT)
			rc = runs_set_up(t->all, r, i, &m, e);
	r->sets[set] = (struct fill_choice){ .seed = seed, .values = t->choice.values };
	r->filled[set] = rc == 0;
	return rc < 0 ? rc : timed_keep_inout(t->all, r, e);
}

static int make_sets(struct timed *t, struct err *e)
{
	const struct backend *b = t->all->backend;
	unsigned n, first = b->used_set(t->run->on_device);
	int rc = b->make_sets(t->run->on_device, t->cache, &t->sets, e);
	n = t->sets < t->seed_count ? t->sets : t->seed_count;
	if (t->run->apart && b->copy_set == NULL)
		t->sets = 1;
	for (unsigned i = 0; i < t->sets && rc == 0; i++) {
		use_set(t, i);
		if (t->run->apart)
			rc = i == first ? 0 : b->copy_set(t->run->on_device, first, e);
		else if (i < n || b->copy_set == NULL)
			/* The set that is read and written between timings may be recognised by its address; it never holds the
			 * first values. */
			rc = fill_set(t, i, t->seeds[(i + n - 1) % n], e);
		else {
			rc = b->copy_set(t->run->on_device, i % n, e);
			t->run->sets[i] = t->run->sets[i % n];
			t->run->filled[i] = rc == 0;
		}
	}
	use_set(t, t->run->apart ? first : 0);
	t->refills = t->sets == 1 && t->cache != WIRE_FLUSHED && t->seed_count > 1 && !t->run->apart;
	return rc;
}

/* The seeds that nobody gave are the same for all configurations of a search, so that their values are generated once. */
static void choose_seeds(struct timed *t, const uint64_t *seeds, size_t count)
{
	t->choice = (struct fill_choice){ .seed = t->run->choice.seed, .values = t->run->choice.values };
	t->seed_count = BACKEND_SETS;
	t->known = 1;
	for (unsigned i = 0; i < BACKEND_SETS; i++)
		t->seeds[i] = i ? stream_random(t->seeds[i - 1], 0) : t->choice.seed;
	if (count == 0)
		return;
	t->seed_count = t->known = count < BACKEND_SETS ? (unsigned)count : BACKEND_SETS;
	memcpy(t->seeds, seeds, t->known * sizeof *seeds);
}

/* --- around samples ----------------------------------------------------------------------------------------------- */

static int before_sample(void *arg, uint32_t sample, struct err *e)
{
	struct timed *t = arg;
	/* The warm-up's executions found what each other left, as in a program; they must be right, too. */
	int rc = sample == 0 && !has_inout(t->run->plan) ? keep_left(t, false, e) : 0;
	if (rc < 0)
		return rc;
	if (t->cache == WIRE_HOT)
		use_set(t, (sample + 1) % t->sets);
	if (!t->refills || sample % REFILL_EVERY || sample / REFILL_EVERY >= t->seed_count)
		return 0;
	return fill_set(t, 0, t->seeds[(sample / REFILL_EVERY + 1) % t->seed_count], e);
}

static int after_sample(void *arg, uint32_t sample, struct err *e)
{
	struct timed *t = arg;
	return sample == t->lot ? keep_left(t, false, e) : 0;
}

static void begin(struct timed *t, uint32_t min_samples)
{
	hash_random(&t->lot, sizeof t->lot);
	t->lot %= min_samples;
	timed_forget(t->all, t->run);
}

/* After the last sample. Where the daemon knows the first seed alone, that set is examined: a flush leaves all outputs. */
static int end(struct timed *t, struct err *e)
{
	if (t->known == 1 && t->cache == WIRE_FLUSHED && t->sets > 1)
		use_set(t, 1);
	uint64_t ignored;
	int rc = keep_left(t, t->cache != WIRE_FLUSHED, e);
	/* A few more, each of which finds what the one before left, as in a program: the next check begins from there. */
	if (rc == 0 && t->cache != WIRE_FLUSHED && !(t->run->apart && has_inout(t->run->plan)))
		rc = t->all->backend->execute(t->run->on_device, MORE, WIRE_WARM, &ignored, e);
	return rc;
}

static uint64_t *list_left(const struct run *r, size_t *ret_count)
{
	uint64_t *seeds = MEM_NEW_N(uint64_t, r->left_count + 1);
	for (size_t i = 0; i < r->left_count; i++)
		seeds[i] = r->left[i].seed;
	if (r->apart)
		seeds[0] = r->choice.seed; /* in the set that was executed last */
	*ret_count = r->apart ? 1 : r->left_count;
	return seeds;
}

/* What the conditions of a figure say. */
static char *describe(const struct timed *t)
{
	struct buf text = BUF_INIT;
	bool scrubs = t->all->backend->scrubs(t->run->on_device);
	if (t->run->apart)
		buf_addf(&text, "%u set%s of buffers with the same values; ", t->sets, t->sets > 1 ? "s" : "");
	else if (t->sets > 1)
		buf_addf(&text, "%u sets of buffers with different values in turn; ", t->sets);
	else if (t->refills)
		buf_addf(&text, "one set of buffers, for want of memory; other values every %d samples; ", REFILL_EVERY);
	else
		buf_adds(&text, "one set of buffers with the same values; ");
	buf_addf(&text, "outputs, scratch%s%s overwritten before each execution%s", scrubs ? "" : " and",
		 scrubs ? ", inout and shared memory" : " inout", scrubs ? "" : ", shared memory not");
	return buf_steal(&text);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static struct measure_run measure_run_of(struct timed *t)
{
	return (struct measure_run){
		.backend = t->all->backend, .run = t->run->on_device, .before = before_sample, .after = after_sample, .arg = t
	};
}

int timed_measure(struct runs *all, struct run *r, void *request, void *answer, struct err *e)
{
	const struct wire_measure *m = request;
	struct wire_measured *out = answer;
	struct timed t = { .all = all, .run = r, .cache = m->cache };
	struct measure_run run = measure_run_of(&t);
	int rc = runs_need_executed(all, r, e);
	if (rc < 0)
		return rc;
	choose_seeds(&t, m->seeds, m->seed_count);
	begin(&t, m->min_samples);
	rc = make_sets(&t, e);
	if (rc == 0)
		rc = measure_samples(&run, all->monitor, m, out, e);
	if (rc < 0)
		return rc;
	rc = end(&t, e);
	out->reset = describe(&t);
	out->left = list_left(r, &out->left_count);
	if (rc < 0)
		wire_measured_fini(out);
	return rc;
}

/* --- does a run reuse its results? -------------------------------------------------------------------------------- */

static int use_own_set(void *arg, uint32_t sample, struct err *e)
{
	(void)sample;
	(void)e;
	struct timed *t = arg;
	use_set(t, t->lot);
	return 0;
}

/* Changes the lowest bits of floating values, which hold no more than rounding errors: a mark that a kernel leaves among
 * its results does not survive, and every other property of the values does. */
static void blur(const struct plan_buffer *b, uint8_t *bytes)
{
	size_t size = dtype_size(b->type), n = b->bytes / size;
	unsigned exponent = b->type == DTYPE_F64 ? 11 : b->type == DTYPE_F16 ? 5 : 8;
	unsigned fraction = (unsigned)size * 8 - 1 - exponent, drop = fraction > 20 ? fraction / 4 : 1;
	uint64_t state = b->bytes;
	if (b->type != DTYPE_F64 && b->type != DTYPE_F32 && b->type != DTYPE_F16 && b->type != DTYPE_BF16)
		return;
	for (size_t i = 0; i < n; i++) {
		uint64_t x = 0, all = (UINT64_C(1) << exponent) - 1, e;
		memcpy(&x, bytes + i * size, size);
		e = x >> fraction & all;
		state = stream_random(state, 0);
		if (e != 0 && e != all) /* zeros, denormals, infinities and NaN stay */
			x ^= state & ((UINT64_C(1) << drop) - 1);
		memcpy(bytes + i * size, &x, size);
	}
}

/* Gives set `from`, which is selected, what an execution made of inout buffers, and set `to` the same, blurred. */
static int copy_inout(struct timed *t, unsigned from, unsigned to, struct err *e)
{
	struct run *r = t->run;
	const struct backend *b = t->all->backend;
	int rc = timed_keep_inout(t->all, r, e);
	for (unsigned i = 0; i < r->plan->buffer_count && rc == 0; i++) {
		const struct plan_buffer *buffer = &r->plan->buffers[i];
		if (buffer->role != PLAN_INOUT)
			continue;
		uint8_t *bytes = room_take(t->all->room, buffer->bytes);
		use_set(t, from);
		rc = b->read(r->on_device, i, 0, bytes, buffer->bytes, e);
		use_set(t, to);
		blur(buffer, bytes);
		if (rc == 0)
			rc = b->write(r->on_device, i, 0, bytes, buffer->bytes, e);
		room_give(t->all->room, bytes, buffer->bytes);
	}
	use_set(t, to);
	if (rc == 0)
		rc = timed_keep_inout(t->all, r, e);
	use_set(t, from);
	return rc;
}

/* Many executions that each find what the one before left: a kernel may use its results only after so many. For at most ns;
 * once where inout changes from one to the next. */
static int keep_many(struct timed *t, int64_t ns, struct err *e)
{
	int64_t end = clock_now() + ns;
	uint64_t ignored;
	int rc = 0;
	use_set(t, t->lot);
	for (int i = 0, n = has_inout(t->run->plan) ? 1 : KEPT_BEFORE; i < n && rc == 0 && (i == 0 || clock_now() < end); i++)
		rc = t->all->backend->execute(t->run->on_device, 1, WIRE_WARM, &ignored, e);
	return rc;
}

/* Two sets with the same values. One keeps everything that executions leave, and is never reset. Where there is one set, it
 * is reset between executions of the other kind. */
static int pair_unreset(struct runs *all, struct run *r, const struct wire_pair *m, struct wire_paired *out, struct err *e)
{
	struct timed reset = { .all = all, .run = r, .cache = WIRE_HOT, .seed_count = 1, .lot = !m->exchanged }, kept = reset;
	struct measure_run a = { .backend = all->backend, .run = r->on_device, .before = use_own_set, .arg = &reset }, b = a;
	struct wire_pair floored = *m;
	int rc = 0;
	if (all->backend->keeps && !all->backend->keeps(r->on_device)) {
		uint64_t ns;
		*out = (struct wire_paired){ .ratio = 1, .low = 1, .high = 1, .verdict = WIRE_SAME };
		return all->backend->execute(r->on_device, KEPT_LEAST, WIRE_WARM, &ns, e);
	}
	/* What precedes a window moves short times: threads that sleep, caches that our kernel has used. */
	uint64_t least = all->references ? RESET_GPU_NS : WIRE_RESET_CPU_NS;
	floored.floor_ns = m->floor_ns > least ? m->floor_ns : least;
	kept.lot = m->exchanged;
	b.arg = &kept;
	if (all->backend->use_cpu_time)
		all->backend->use_cpu_time(r->on_device, m->unreset == 2);
	reset.choice = (struct fill_choice){ .values = r->choice.values };
	reset.seeds[0] = r->choice.seed;
	rc = make_sets(&reset, e);
	if (reset.sets < 2)
		reset.lot = kept.lot = 0;
	if (rc == 0)
		rc = keep_many(&kept, (int64_t)m->cap_ns / 4, e);
	if (rc == 0 && reset.sets > 1 && has_inout(r->plan) && !r->apart)
		rc = copy_inout(&reset, kept.lot, reset.lot, e);
	if (rc == 0)
		rc = measure_pair(&a, &b, all->monitor, &floored, out, e);
	if (all->backend->use_cpu_time)
		all->backend->use_cpu_time(r->on_device, false);
	use_set(&reset, 0);
	r->choice.seed = reset.seeds[0];
	return rc;
}

int timed_pair(struct runs *all, struct run *r, void *request, void *answer, struct err *e)
{
	const struct wire_pair *m = request;
	struct wire_paired *out = answer;
	struct run *b = NULL;
	if (runs_find(all, m->b, &b, e) < 0 || runs_need_executed(all, r, e) < 0 || runs_need_executed(all, b, e) < 0)
		return -(int)e->code;
	if (m->unreset)
		return pair_unreset(all, r, m, out, e);
	struct timed t[2] = { { .all = all, .run = r, .cache = m->cold ? WIRE_COLD : WIRE_HOT }, { .all = all, .run = b } };
	struct measure_run run[2];
	int rc = 0;
	t[1].cache = t[0].cache;
	for (int k = 0; k < 2 && rc == 0; k++) {
		run[k] = measure_run_of(&t[k]);
		choose_seeds(&t[k], m->seeds, m->seed_count);
		begin(&t[k], m->min_pairs);
		rc = make_sets(&t[k], e);
	}
	if (rc == 0)
		rc = measure_pair(&run[0], &run[1], all->monitor, m, out, e);
	if (rc < 0)
		return rc;
	for (int k = 0; k < 2 && rc == 0; k++)
		rc = end(&t[k], e);
	out->reset = describe(&t[0]);
	out->left_a = list_left(r, &out->left_a_count);
	out->left_b = list_left(b, &out->left_b_count);
	if (rc < 0)
		wire_paired_fini(out);
	return rc;
}

int timed_split(struct runs *all, struct run *r, void *request, void *answer, struct err *e)
{
	enum { FEW = 3, MOST = 11 };
	struct wire_split *out = answer;
	size_t n = r->plan->op_count;
	uint64_t *samples = MEM_NEW_N(uint64_t, MOST * n + 1), *one = MEM_NEW_N(uint64_t, MOST);
	int64_t end = clock_now() + 300 * CLOCK_MS;
	int rc = runs_need_executed(all, r, e), taken = 0;
	(void)request;
	while (rc == 0 && taken < MOST && (taken < FEW || clock_now() < end))
		rc = all->backend->split(r->on_device, samples + (size_t)taken++ * n, e);
	r->executed = false;
	out->ns = MEM_NEW_N(uint64_t, n + 1);
	out->count = n;
	for (size_t i = 0; i < n && rc == 0; i++) {
		for (int k = 0; k < taken; k++)
			one[k] = samples[(size_t)k * n + i];
		qsort(one, (size_t)taken, sizeof *one, order_numbers);
		out->ns[i] = one[taken / 2];
	}
	free(samples);
	free(one);
	return rc;
}

int timed_energy(struct runs *all, struct run *r, void *request, void *answer, struct err *e)
{
	int rc = runs_need_executed(all, r, e);
	return rc < 0 ? rc : measure_energy(all->backend, r->on_device, all->monitor, request, answer, e);
}

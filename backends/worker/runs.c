/* runs: see runs.h. The order of an execution is fixed: inputs, poison, red zones, launch, then outputs before anything
 * that could still change them. */
#include "backends/worker/runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/values/compare.h"
#include "backends/values/fill.h"
#include "backends/values/product.h"
#include "backends/values/redzone.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

/* Inputs come with red zones, and a room rounds blocks up: a buffer whose size is a power of two must fit. */
#define SLACK ((size_t)64 << 20)
#define INPUTS_KEPT (((size_t)1 << 30) + SLACK)
#define REFERENCES_KEPT ((size_t)1 << 30)
#define ROOM_KEPT (((size_t)512 << 20) + SLACK)

/* --- preparing and releasing -------------------------------------------------------------------------------------- */

static void run_free(struct runs *all, struct run *r)
{
	if (r == NULL)
		return;
	all->at[r->number - 1] = NULL;
	if (r->on_device)
		all->backend->release(r->on_device);
	timed_forget(all, r);
	for (uint32_t i = 0; i < r->output_count; i++) {
		room_give(all->room, r->outputs[i].bytes, r->outputs[i].len);
		numbers_forget(&r->outputs[i]);
	}
	free(r->outputs);
	plan_free(r->plan);
	free(r->binary);
	free(r);
}

/* A run with this plan, which it takes. NULL with *e set when there are too many. */
static struct run *new_run(struct runs *all, struct plan **take_plan, struct err *e)
{
	uint32_t slot = 0;
	while (slot < RUNS_MAX && all->at[slot])
		slot++;
	if (slot == RUNS_MAX) {
		err_set(e, ERR_INTERNAL, "this worker has %d runs prepared already, and cannot hold more; release one", RUNS_MAX);
		return NULL;
	}
	struct run *r = all->at[slot] = MEM_NEW(struct run);
	*r = (struct run){ .number = slot + 1, .plan = *take_plan };
	*take_plan = NULL;
	for (unsigned i = 0; i < r->plan->buffer_count; i++) {
		const struct plan_buffer *b = &r->plan->buffers[i];
		if (plan_is_output(b))
			*MEM_PUSH(r->outputs, r->output_count) =
				(struct output){ .buffer = i, .len = plan_buffer_logical(b) * dtype_size(b->type) };
	}
	return r;
}

static int serve_prepare(struct runs *all, struct run *r, void *request, void *answer, struct err *e)
{
	struct wire_prepare *m = request;
	int64_t start = clock_now();
	if ((r = new_run(all, &m->plan, e)) == NULL)
		return -(int)e->code;
	r->binary = mem_copy(m->binary, m->binary_len);
	r->binary_len = m->binary_len;
	int rc = all->backend->prepare(all->device, r->binary, r->binary_len, r->plan, &r->on_device, e);
	*(struct wire_prepared *)answer = (struct wire_prepared){ .run = r->number, .prepare_ns = (uint64_t)(clock_now() - start) };
	if (rc < 0)
		run_free(all, r);
	return rc;
}

struct runs *runs_new(const struct backend *backend, struct backend_device *take_device, struct gpu_monitor *take_monitor,
		      bool shares_cpu)
{
	struct runs *all = MEM_NEW(struct runs);
	*all = (struct runs){ .backend = backend, .device = take_device, .monitor = take_monitor, .room = room_new(ROOM_KEPT) };
	all->inputs = room_cache_new(INPUTS_KEPT, all->room);
	all->references = shares_cpu ? NULL : room_cache_new(REFERENCES_KEPT, all->room);
	return all;
}

void runs_free(struct runs *all)
{
	if (all == NULL)
		return;
	for (int i = 0; i < RUNS_MAX; i++)
		run_free(all, all->at[i]);
	gpu_monitor_free(all->monitor);
	all->backend->close(all->device);
	room_cache_free(all->inputs);
	room_cache_free(all->references);
	room_free(all->room);
	free(all);
}

int runs_find(const struct runs *all, uint32_t number, struct run **ret_run, struct err *e)
{
	if (number < 1 || number > RUNS_MAX || all->at[number - 1] == NULL)
		return err_set(e, ERR_NOT_FOUND, "this worker has no run %u; prepare it first", number);
	*ret_run = all->at[number - 1];
	return 0;
}

/* --- executing ---------------------------------------------------------------------------------------------------- */

static struct fill_choice choice_of(const struct wire_execute *m)
{
	return (struct fill_choice){
		.seed = m->seed,
		.values = m->values,
		.perturbation = m->perturbation,
		.amplitude = m->amplitude,
		.immediates = m->immediates,
	};
}

static int no_resident(const struct runs *all, struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED, "%s devices do not compare outputs themselves", all->backend->name);
}

/* An image (redzone.h) of the buffer's values, for room_give. */
static void *make_image(struct runs *all, const struct plan_buffer *b, const struct fill_choice *c)
{
	void *fresh = room_take(all->room, redzone_image_bytes(b->bytes));
	fill_chosen(b, c, redzone_content(fresh));
	redzone_frame(fresh, b->bytes);
	return fresh;
}

/* The same, borrowed from the cache. */
static const void *input_image(struct runs *all, const struct plan_buffer *b, const struct fill_choice *c)
{
	struct buf text = BUF_INIT;
	buf_addf(&text, "%llu %u %u %a %u %u %llu %lld %u %a %a %d %a %a", (unsigned long long)c->seed, c->values, c->perturbation,
		 c->amplitude, b->type, b->rounded, (unsigned long long)b->bytes, (long long)b->ld, b->fill, b->lo, b->hi,
		 b->closed, b->least, b->most);
	for (unsigned i = 0; i < b->rank; i++)
		buf_addf(&text, " %lld", (long long)b->dims[i]);
	for (uint64_t i = 0; i < c->immediates.count; i++)
		buf_addf(&text, " %a", c->immediates.at[i]);
	buf_addf(&text, " %s", b->name);
	struct hash key = hash_text(buf_text(&text));
	buf_fini(&text);
	size_t len;
	const void *there = room_cache_get(all->inputs, key.hex, &len);
	if (there)
		return there;
	return room_cache_put(all->inputs, key.hex, make_image(all, b, c), redzone_image_bytes(b->bytes));
}

/* For room_give. */
static void *table_image(struct runs *all, const struct plan_buffer *b)
{
	void *image = room_take(all->room, redzone_image_bytes(b->bytes));
	memcpy(redzone_content(image), b->table, b->bytes);
	redzone_frame(image, b->bytes);
	return image;
}

static struct redzone zone_of(const struct runs *all, const struct run *r, unsigned i)
{
	return (struct redzone){ all->backend, r->on_device, all->room, i, r->plan->buffers[i].bytes };
}

static int write_input(struct runs *all, const struct redzone *z, const struct plan_buffer *b, const struct fill_choice *c,
		       struct err *e)
{
	if (!c->perturbation)
		return redzone_write(z, input_image(all, b, c), e);
	void *image = make_image(all, b, c); /* nobody needs it again */
	int rc = redzone_write(z, image, e);
	room_give(all->room, image, redzone_image_bytes(b->bytes));
	return rc;
}

int runs_set_up(struct runs *all, const struct run *r, unsigned i, const struct wire_execute *m, struct err *e)
{
	const struct plan_buffer *b = &r->plan->buffers[i];
	struct redzone z = zone_of(all, r, i);
	struct fill_choice choice = choice_of(m);
	void *table = NULL;
	int rc = 0;
	if (i < WIRE_STILL_MOST && m->still >> i & 1)
		choice.amplitude *= m->share;
	switch (b->role) {
	case PLAN_IN:
	case PLAN_INOUT:
		if (!(m->keep & WIRE_RESIDENT))
			return write_input(all, &z, b, &choice, e);
		rc = all->backend->resident->make(r->on_device, i, &choice, e);
		break;
	case PLAN_TABLE:
		table = table_image(all, b);
		rc = redzone_write(&z, table, e);
		room_give(all->room, table, redzone_image_bytes(b->bytes));
		return rc;
	case PLAN_OUT:
	case PLAN_SCRATCH:
		if (!(r->executed || m->keep & WIRE_KEEP_RAW) ||
		    !(m->keep & (b->role == PLAN_OUT ? WIRE_KEEP_OUTPUTS : WIRE_KEEP_SCRATCH)))
			rc = redzone_poison(&z, (uint8_t)m->poison, e);
		break;
	}
	return rc < 0 ? rc : redzone_arm(&z, e);
}

int runs_fetch(struct runs *all, const struct run *r, const struct output *out, uint8_t **io_bytes, struct err *e)
{
	const struct plan_buffer *b = &r->plan->buffers[out->buffer];
	size_t size = dtype_size(b->type), row = (size_t)b->dims[b->rank - 1] * size, stride = (size_t)b->ld * size;
	size_t rows = out->len / row, span = (rows - 1) * stride + row;
	if (*io_bytes == NULL)
		*io_bytes = room_take(all->room, out->len);
	if (stride == row)
		return all->backend->read(r->on_device, out->buffer, 0, *io_bytes, out->len, e);
	uint8_t *padded = room_take(all->room, span);
	int rc = all->backend->read(r->on_device, out->buffer, 0, padded, span, e);
	for (size_t i = 0; i < rows && rc == 0; i++)
		memcpy(*io_bytes + i * row, padded + i * stride, row);
	room_give(all->room, padded, span);
	return rc;
}

/* Reads an output of the last execution. */
static int fetch(struct runs *all, struct run *r, struct output *out, struct err *e)
{
	out->fetched = true;
	return runs_fetch(all, r, out, &out->bytes, e);
}

int runs_look_for_damage(struct runs *all, const struct run *r, const struct wire_execute *m, struct wire_executed *x,
			 struct err *e)
{
	struct fill_choice choice = choice_of(m);
	for (unsigned i = 0; i < r->plan->buffer_count; i++) {
		const struct plan_buffer *b = &r->plan->buffers[i];
		bool broken = false, same = true;
		bool resident = m->keep & WIRE_RESIDENT && b->role == PLAN_IN;
		void *table = b->role == PLAN_TABLE ? table_image(all, b) : NULL;
		const void *want = b->role == PLAN_IN && !resident ? input_image(all, b, &choice) : table;
		struct redzone z = zone_of(all, r, i);
		int rc = want ? redzone_same(&z, want, &same, &broken, e) : redzone_check(&z, &broken, e);
		if (rc == 0 && resident)
			rc = all->backend->resident->same(r->on_device, i, &choice, &same, e);
		room_give(all->room, table, redzone_image_bytes(b->bytes));
		if (rc < 0)
			return err_wrap(e, "buffer %s", b->name);
		if (broken && x->broken_zone == 0)
			x->broken_zone = 1 + i;
		if (!same && x->changed_input == 0)
			x->changed_input = 1 + i;
	}
	return x->broken_zone == 0 && all->backend->strayed ? all->backend->strayed(r->on_device, &x->broken_zone, e) : 0;
}

/* Executes once from fresh inputs into poisoned outputs (WIRE_LOOK: not at all), then reads everything back; or one part of that.
 * Executions of the same run before are forgotten. */
int runs_execute(struct runs *all, struct run *r, void *request, void *answer, struct err *e)
{
	const struct wire_execute *m = request;
	struct wire_executed *x = answer;
	struct fill_choice choice = choice_of(m);
	bool part = m->keep & (WIRE_SET_UP | WIRE_LAUNCH | WIRE_EXAMINE), sets_up = !part || m->keep & WIRE_SET_UP,
	     launches = !part || m->keep & WIRE_LAUNCH, examines = !part || m->keep & WIRE_EXAMINE;
	unsigned set = all->backend->used_set(r->on_device);
	int rc = 0;
	if (m->keep & WIRE_RESIDENT && !all->backend->resident)
		return no_resident(all, e);
	if (m->keep & WIRE_LOOK) {
		if (timed_look(all, r, &choice, x))
			return 0;
		if (!r->executed || memcmp(&choice, &r->choice, sizeof choice) != 0)
			rc = err_set(e, ERR_INPUT, "there is nothing to look at: the run was not executed with these values");
	} else if (!(m->keep & WIRE_EXAMINE)) {
		timed_forget(all, r);
		r->apart = m->keep & WIRE_LAUNCH;
		for (unsigned i = 0; sets_up && i < r->plan->buffer_count && rc == 0; i++)
			if (runs_set_up(all, r, i, m, e) < 0)
				rc = err_wrap(e, "buffer %s", r->plan->buffers[i].name);
		if (rc == 0 && r->apart)
			rc = timed_keep_inout(all, r, e);
		if (rc == 0 && launches && !m->perturbation)
			rc = all->backend->scrub(r->on_device, m->poison == 0xFF ? BACKEND_SCRUB_OTHER : BACKEND_SCRUB_TIMED, e);
		if (rc == 0 && launches)
			rc = all->backend->execute(r->on_device, 1, WIRE_WARM, &x->device_ns, e);
	}
	r->executed = false;
	for (uint32_t i = 0; i < r->output_count; i++)
		r->outputs[i].fetched = false;
	for (uint32_t i = 0; i < r->output_count && rc == 0 && !part && !(m->keep & WIRE_RESIDENT); i++)
		rc = fetch(all, r, &r->outputs[i], e);
	/* Perturbed truths are the same code again: what it does to its inputs was seen before. */
	if (rc == 0 && !m->perturbation && examines)
		rc = runs_look_for_damage(all, r, m, x, e);
	r->executed = rc == 0;
	r->choice = choice;
	r->sets[set] = choice;
	r->filled[set] = rc == 0 && !part && !x->changed_input && !x->broken_zone;
	return rc;
}

int runs_need_executed(struct runs *all, struct run *r, struct err *e)
{
	struct wire_executed x = { 0 };
	return r->executed ? 0 : runs_execute(all, r, &(struct wire_execute){ .poison = 0xFF }, &x, e);
}

/* --- looking at outputs ------------------------------------------------------------------------------------------- */

/* An output of the last execution, read back now if it was left on the device. NULL with *e set when there is none. */
static const struct output *find_output(struct runs *all, struct run *r, uint32_t number, struct err *e)
{
	if (!r->executed) {
		err_set(e, ERR_INPUT, "the run has no outputs: it was not executed, or its last execution failed");
		return NULL;
	}
	if (number >= r->output_count) {
		err_set(e, ERR_INPUT, "output %u does not exist: the plan has %u", number, r->output_count);
		return NULL;
	}
	struct output *out = &r->outputs[number];
	if (!out->fetched && fetch(all, r, out, e) < 0)
		return NULL;
	return out;
}

static int serve_output(struct runs *all, struct run *r, void *request, void *answer, struct err *e)
{
	const struct wire_output *m = request;
	const struct output *out = find_output(all, r, m->output, e);
	if (out == NULL)
		return -(int)e->code;
	if (out->len + 8 > WIRE_BODY_MAX)
		return err_set(e, ERR_UNSUPPORTED, "output %s has %zu bytes, more than the wire carries at once",
			       r->plan->buffers[out->buffer].name, out->len);
	*(struct wire_content *)answer = (struct wire_content){ .bytes = out->bytes, .len = out->len };
	return 0;
}

/* Compares indices by what they select from buffer x; its values are generated anew, since a kernel may have changed them. */
static void compare_indices(struct runs *all, const struct run *r, const struct output *out, const struct judgement *j, unsigned x,
			    const struct compare_wanted *want, struct wire_compared *compared)
{
	const struct plan_buffer *b = &r->plan->buffers[x];
	void *values = room_take(all->room, b->bytes);
	struct compare_indexed indexed = { .buffer = b, .values = values };
	fill_chosen(b, &r->choice, values);
	compare_by_kind(&r->plan->buffers[out->buffer], out->bytes, want, j, &indexed, compared);
	room_give(all->room, values, b->bytes);
}

/* An integer output for which nothing is declared may be the indices of extremes in a floating input whose extents fit:
 * ties may then be broken in any way. */
static void allow_ties(struct runs *all, const struct run *r, const struct output *out, const struct compare_wanted *want,
		       struct wire_compared *compared)
{
	struct judgement_rows rows;
	for (unsigned x = 0; x < r->plan->buffer_count && compared->mismatched; x++) {
		const struct plan_buffer *b = &r->plan->buffers[x];
		if ((b->role != PLAN_IN && b->role != PLAN_INOUT) || !dtype_is_float(b->type))
			continue;
		for (unsigned axis = 0; axis < b->rank && compared->mismatched; axis++) {
			struct judgement j = { .kind = JUDGE_INDICES, .of = x + 1, .axis = axis };
			struct wire_compared tied;
			if (!judgement_find_rows(&r->plan->buffers[out->buffer], b, axis, &rows))
				continue;
			compare_indices(all, r, out, &j, x, want, &tied);
			if (tied.mismatched == 0)
				*compared = tied;
		}
	}
}

static int compare_with(struct runs *all, const struct run *r, const struct output *out, const struct judgement *j,
			const struct compare_wanted *want, struct wire_compared *compared, struct err *e)
{
	const struct plan_buffer *b = &r->plan->buffers[out->buffer];
	if (j->kind == JUDGE_INDICES) {
		unsigned x = j->of - 1; /* UINT_MAX when there is none */
		struct judgement_rows rows;
		if (x >= r->plan->buffer_count || !judgement_find_rows(b, &r->plan->buffers[x], j->axis, &rows))
			return err_set(e, ERR_INPUT, "output %s is judged as indices, but of no array", b->name);
		compare_indices(all, r, out, j, x, want, compared);
		return 0;
	}
	if (j->declared) {
		compare_by_kind(b, out->bytes, want, j, NULL, compared);
		return 0;
	}
	compare_outputs(b, out->bytes, want, compared);
	if (!dtype_is_float(b->type))
		allow_ties(all, r, out, want, compared);
	/* A list whose order is free is wrong in nearly every element, which says little about what to do. */
	if (compared->mismatched > 1 && b->dims[b->rank - 1] >= 2 && !compared->untouched) {
		static const struct judgement set = { .kind = JUDGE_SET };
		struct wire_compared unordered;
		compare_by_kind(b, out->bytes, want, &set, NULL, &unordered);
		if (unordered.mismatched == 0)
			snprintf(compared->finding, sizeof compared->finding,
				 "the elements of each row are right, in another order; if their order is free, the baseline can "
				 "declare `set`");
	}
	return 0;
}

/* With the reference that came along, or the one kept by that hash. */
static int serve_compare(struct runs *all, struct run *r, void *request, void *answer, struct err *e)
{
	const struct wire_compare *m = request;
	struct wire_compared *compared = answer;
	const void *want = m->reference;
	size_t len = m->reference_len;
	if (all->backend->resident && m->output < r->output_count && all->backend->resident->has(all->device, m->reference_hash))
		return all->backend->resident->compare(r->on_device, r->outputs[m->output].buffer, m, compared, e);
	const struct output *out = find_output(all, r, m->output, e);
	if (out == NULL)
		return -(int)e->code;
	if (want == NULL && all->references)
		want = room_cache_get(all->references, m->reference_hash, &len);
	if (want == NULL) {
		compared->need_reference = true;
		return 0;
	}
	if (m->reference && strcmp(hash_array(want, len).hex, m->reference_hash) != 0)
		return err_set(e, ERR_NETWORK, "the reference does not have the hash that it was sent with");
	if (m->reference && all->references) {
		void *kept = room_take(all->room, len);
		memcpy(kept, m->reference, len);
		want = room_cache_put(all->references, m->reference_hash, kept, len);
	}
	const struct plan_buffer *buffer = &r->plan->buffers[out->buffer];
	size_t n = (size_t)plan_buffer_logical(buffer), values = n * dtype_size(m->want_type);
	if (len != values && len != values + n * wire_bound_size(m->want_type))
		return err_set(e, ERR_INPUT, "the reference has %zu bytes, but output %s has %zu elements of %s", len, buffer->name,
			       n, dtype_name(m->want_type));
	struct compare_wanted wanted = { .type = m->want_type,
					 .values = want,
					 .bounds = len > values ? (const uint8_t *)want + values : NULL,
					 .poison = m->poison };
	int rc = 0;
	if (m->judgement.kind == JUDGE_DISTRIBUTION && r->choice.values == PLAN_NEIGHBOURS)
		numbers_compare_first(buffer, out, &wanted, compared);
	else
		rc = compare_with(all, r, out, &m->judgement, &wanted, compared, e);
	if (rc == 0 && m->judgement.kind == JUDGE_DISTRIBUTION)
		numbers_watch(buffer, &r->outputs[m->output], &r->choice, &wanted, compared);
	return rc;
}

/* The gemm is a claim about the plan's buffers, not one of its operations. */
static int serve_product(struct runs *all, struct run *r, void *request, void *answer, struct err *e)
{
	const struct wire_product *m = request;
	const struct plan_gemm *g = &m->gemm;
	const struct plan_buffer *b = r->plan->buffers;
	const void *bytes = NULL;
	if (!r->executed)
		return err_set(e, ERR_INPUT, "the run was not executed, or its last execution failed");
	if (plan_check_gemm(r->plan, g, e) < 0)
		return -(int)e->code;
	for (uint32_t i = 0; i < r->output_count; i++)
		if (r->outputs[i].buffer == g->c) {
			const struct output *out = find_output(all, r, i, e);
			if (out == NULL)
				return -(int)e->code;
			bytes = out->bytes;
		}
	if (b[g->a].role != PLAN_IN || b[g->b].role != PLAN_IN || bytes == NULL)
		return err_set(e, ERR_INPUT, "%s = %s * %s is not a product of two inputs", b[g->c].name, b[g->a].name,
			       b[g->b].name);
	/* Generated anew: the cache lends only one image at a time. */
	void *from_a = room_take(all->room, b[g->a].bytes), *from_b = room_take(all->room, b[g->b].bytes);
	fill_chosen(&b[g->a], &r->choice, from_a);
	fill_chosen(&b[g->b], &r->choice, from_b);
	struct product p = { .a = &b[g->a],
			     .b = &b[g->b],
			     .c = &b[g->c],
			     .a_transposed = g->a_transposed,
			     .b_transposed = g->b_transposed,
			     .a_bytes = from_a,
			     .b_bytes = from_b,
			     .c_bytes = bytes };
	product_check(&p, m->tolerance, m->secret, answer);
	room_give(all->room, from_a, b[g->a].bytes);
	room_give(all->room, from_b, b[g->b].bytes);
	return 0;
}

static int serve_races(struct runs *all, struct run *r, void *request, void *answer, struct err *e)
{
	const struct wire_races *m = request;
	struct wire_raced *raced = answer;
	if (all->backend->races == NULL)
		return err_set(e, ERR_UNSUPPORTED, "%s kernels cannot be interpreted", all->backend->name);
	return all->backend->races(all->device, r->binary, r->binary_len, r->plan, m, raced, e);
}

static int serve_count(struct runs *all, struct run *r, void *request, void *answer, struct err *e)
{
	const struct wire_races *m = request;
	if (all->backend->count == NULL)
		return err_set(e, ERR_UNSUPPORTED, "%s kernels cannot be interpreted", all->backend->name);
	return all->backend->count(all->device, r->binary, r->binary_len, r->plan, m->seed, answer, e);
}

static int serve_counters(struct runs *all, struct run *r, void *request, void *answer, struct err *e)
{
	(void)request;
	if (all->backend->counters == NULL)
		return err_set(e, ERR_UNSUPPORTED, "%s devices have no hardware counters that peakd can read", all->backend->name);
	int rc = runs_need_executed(all, r, e);
	r->executed = false;
	return rc < 0 ? rc : all->backend->counters(r->on_device, answer, e);
}

/* --- judging on the device ---------------------------------------------------------------------------------------- */

static int serve_share(struct runs *all, struct run *r, void *request, void *answer, struct err *e)
{
	struct wire_shared *shared = answer;
	int rc = 0;
	(void)request;
	shared->at = MEM_NEW_N(struct wire_share, r->plan->buffer_count + 1);
	shared->count = r->plan->buffer_count;
	for (unsigned i = 0; i < r->plan->buffer_count && rc == 0; i++)
		rc = all->backend->resident->share(r->on_device, i, &shared->at[i], e);
	return rc;
}

static int serve_kernels(struct runs *all, struct run *r, void *request, void *answer, struct err *e)
{
	const struct wire_kernels *m = request;
	(void)r;
	(void)answer;
	return all->backend->resident->load(all->device, m->binary, m->binary_len, e);
}

/* As serve_prepare, but without a binary; the buffers are there already, or another process works on them. */
static int serve_adopt(struct runs *all, struct run *r, void *request, void *answer, struct err *e)
{
	struct wire_adopt *m = request;
	if ((r = new_run(all, &m->plan, e)) == NULL)
		return -(int)e->code;
	int rc = all->backend->resident->adopt(all->device, r->plan, m->count ? m->at : NULL, &r->on_device, e);
	*(struct wire_prepared *)answer = (struct wire_prepared){ .run = r->number };
	if (rc < 0)
		run_free(all, r);
	return rc;
}

/* Steps without a run name run 0. */
static int serve_truth(struct runs *all, struct run *r, void *request, void *answer, struct err *e)
{
	const struct wire_truth *m = request;
	int rc = m->run ? runs_find(all, m->run, &r, e) : 0;
	if (rc == 0 && r && m->output >= r->output_count)
		rc = err_set(e, ERR_INPUT, "output %u does not exist: the plan has %u", m->output, r->output_count);
	if (rc < 0)
		return rc;
	return all->backend->resident->truth(all->device, r ? r->on_device : NULL, r ? r->outputs[m->output].buffer : 0, m, answer,
					     e);
}

/* --- serving ------------------------------------------------------------------------------------------------------ */

static int serve_release(struct runs *all, struct run *r, void *request, void *answer, struct err *e)
{
	(void)request;
	(void)answer;
	(void)e;
	run_free(all, r);
	return 0;
}

static const struct service {
	int (*serve)(struct runs *all, struct run *r, void *request, void *answer, struct err *e);
	bool names_run; /* the request begins with the number of its run */
	bool judges;    /* needs backend.h's `resident` */
} services[WIRE_LAST + 1] = {
	[WIRE_PREPARE] = { serve_prepare, false, false }, [WIRE_EXECUTE] = { runs_execute, true, false },
	[WIRE_OUTPUT] = { serve_output, true, false },    [WIRE_COMPARE] = { serve_compare, true, false },
	[WIRE_PRODUCT] = { serve_product, true, false },  [WIRE_RACES] = { serve_races, true, false },
	[WIRE_COUNT] = { serve_count, true, false },      [WIRE_COUNTERS] = { serve_counters, true, false },
	[WIRE_MEASURE] = { timed_measure, true, false },  [WIRE_PAIR] = { timed_pair, true, false },
	[WIRE_SPLIT] = { timed_split, true, false },      [WIRE_ENERGY] = { timed_energy, true, false },
	[WIRE_RELEASE] = { serve_release, true, false },  [WIRE_SHARE] = { serve_share, true, true },
	[WIRE_KERNELS] = { serve_kernels, false, true },  [WIRE_ADOPT] = { serve_adopt, false, true },
	[WIRE_TRUTH] = { serve_truth, false, true },
};

bool runs_serves(enum wire_type type)
{
	return services[type].serve != NULL;
}

int runs_serve(struct runs *all, enum wire_type type, void *request, void *ret_answer, struct err *e)
{
	const struct service *s = &services[type];
	struct run *r = NULL;
	uint32_t number;
	if (s->judges && !all->backend->resident)
		return no_resident(all, e);
	memcpy(&number, request, sizeof number);
	int rc = s->names_run ? runs_find(all, number, &r, e) : 0;
	return rc < 0 ? rc : s->serve(all, r, request, ret_answer, e);
}

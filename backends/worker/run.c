/* run: see run.h. The order of an execution is fixed: inputs, poison, red zones, launch, then outputs before
 * anything that could still change them. */
#include "backends/worker/run.h"

#include <stdlib.h>
#include <string.h>

#include "backends/timing/energy.h"
#include "backends/values/fill.h"
#include "backends/values/redzone.h"
#include "backends/timing/measure.h"
#include "backends/timing/pair.h"
#include "base/hash.h"
#include "base/mem.h"

struct output {
	unsigned buffer;  /* in the plan */
	uint8_t *bytes;   /* logical content of the last execution, packed */
	size_t len;
};

struct run {
	const struct backend *backend;
	struct backend_run *on_device;
	struct room *room;
	void *binary;
	size_t binary_len;
	struct plan *plan;
	struct output *outputs;
	uint32_t output_count;
	bool executed;
	uint64_t seed;            /* of the last execution, and its values */
	enum plan_values values;
};

int run_new(const struct backend *backend, struct backend_device *device, struct room *room, const void *binary, size_t len,
            struct plan *take_plan, struct run **ret_run, struct err *e)
{
	struct run *r = MEM_NEW(struct run);
	*r = (struct run){ .backend = backend, .room = room, .binary = mem_copy(binary, len), .binary_len = len, .plan = take_plan };
	for (unsigned i = 0; i < take_plan->buffer_count; i++) {
		const struct plan_buffer *b = &take_plan->buffers[i];
		if (b->role == PLAN_OUT || b->role == PLAN_INOUT)
			*MEM_PUSH(r->outputs, r->output_count) =
				(struct output){ .buffer = i, .len = plan_buffer_logical(b) * dtype_size(b->type) };
	}
	int result = backend->prepare(device, r->binary, len, take_plan, &r->on_device, e);
	if (result < 0)
		run_free(r);
	else
		*ret_run = r;
	return result;
}

void run_free(struct run *r)
{
	if (r == NULL)
		return;
	if (r->on_device)
		r->backend->release(r->on_device);
	for (uint32_t i = 0; i < r->output_count; i++)
		room_give(r->room, r->outputs[i].bytes, r->outputs[i].len);
	free(r->outputs);
	plan_free(r->plan);
	free(r->binary);
	free(r);
}

/* An image (guard.h) of the buffer's values for this seed, borrowed from the cache. */
static const void *input_image(const struct run *r, const struct plan_buffer *b, uint64_t seed, enum plan_values values, struct cache *inputs)
{
	struct buf text = BUF_INIT;
	buf_addf(&text, "%llu %u %u %llu %lld %u %a %a", (unsigned long long)seed, values, b->type, (unsigned long long)b->bytes,
	         (long long)b->ld, b->fill, b->lo, b->hi);
	for (unsigned i = 0; i < b->rank; i++)
		buf_addf(&text, " %lld", (long long)b->dims[i]);
	buf_addf(&text, " %s", b->name);
	struct hash key = hash_text(buf_text(&text));
	buf_fini(&text);
	size_t len;
	const void *there = cache_get(inputs, key.hex, &len);
	if (there)
		return there;
	void *fresh = room_take(r->room, redzone_image_bytes(b->bytes));
	fill_special(b, seed, values, redzone_content(fresh));
	redzone_frame(fresh, b->bytes);
	return cache_put(inputs, key.hex, fresh, redzone_image_bytes(b->bytes));
}

/* To be given back. */
static void *table_image(const struct run *r, const struct plan_buffer *b)
{
	void *image = room_take(r->room, redzone_image_bytes(b->bytes));
	memcpy(redzone_content(image), b->table, b->bytes);
	redzone_frame(image, b->bytes);
	return image;
}

static int set_up_buffer(struct run *r, unsigned i, const struct wire_execute *m, struct cache *inputs, struct err *e)
{
	const struct plan_buffer *b = &r->plan->buffers[i];
	void *table = NULL;
	int result = 0;
	switch (b->role) {
	case PLAN_IN:
	case PLAN_INOUT:
		return redzone_write(r->backend, r->on_device, i, input_image(r, b, m->seed, m->values, inputs), b->bytes, e);
	case PLAN_TABLE:
		table = table_image(r, b);
		result = redzone_write(r->backend, r->on_device, i, table, b->bytes, e);
		room_give(r->room, table, redzone_image_bytes(b->bytes));
		return result;
	case PLAN_OUT:
	case PLAN_SCRATCH:
		if (!(r->executed || m->keep & WIRE_KEEP_RAW) || !(m->keep & (b->role == PLAN_OUT ? WIRE_KEEP_OUTPUTS : WIRE_KEEP_SCRATCH)))
			result = redzone_poison(r->backend, r->on_device, r->room, i, b->bytes, (uint8_t)m->poison, e);
		break;
	}
	return result < 0 ? result : redzone_arm(r->backend, r->on_device, i, b->bytes, e);
}

static int set_up(struct run *r, const struct wire_execute *m, struct cache *inputs, struct err *e)
{
	for (unsigned i = 0; i < r->plan->buffer_count; i++)
		if (set_up_buffer(r, i, m, inputs, e) < 0)
			return err_wrap(e, "buffer %s", r->plan->buffers[i].name);
	return 0;
}

/* Reads one output and drops the padding between its rows. */
static int fetch(struct run *r, struct output *out, struct err *e)
{
	const struct plan_buffer *b = &r->plan->buffers[out->buffer];
	size_t size = dtype_size(b->type), row = (size_t)b->dims[b->rank - 1] * size, stride = (size_t)b->ld * size;
	size_t rows = out->len / row, span = (rows - 1) * stride + row;
	if (out->bytes == NULL)
		out->bytes = room_take(r->room, out->len);
	if (stride == row)
		return r->backend->read(r->on_device, out->buffer, 0, out->bytes, out->len, e);
	uint8_t *padded = room_take(r->room, span);
	int result = r->backend->read(r->on_device, out->buffer, 0, padded, span, e);
	for (size_t i = 0; i < rows && result == 0; i++)
		memcpy(out->bytes + i * row, padded + i * stride, row);
	room_give(r->room, padded, span);
	return result;
}

static int look_for_damage(struct run *r, const struct wire_execute *m, struct cache *inputs, struct wire_executed *x, struct err *e)
{
	for (unsigned i = 0; i < r->plan->buffer_count; i++) {
		const struct plan_buffer *b = &r->plan->buffers[i];
		bool broken = false, same = true;
		void *table = b->role == PLAN_TABLE ? table_image(r, b) : NULL;
		const void *want = b->role == PLAN_IN ? input_image(r, b, m->seed, m->values, inputs) : table;
		int result = want ? redzone_same(r->backend, r->on_device, r->room, i, want, b->bytes, &same, &broken, e)
		                  : redzone_check(r->backend, r->on_device, i, b->bytes, &broken, e);
		room_give(r->room, table, redzone_image_bytes(b->bytes));
		if (result < 0)
			return err_wrap(e, "buffer %s", b->name);
		if (broken && x->broken_zone == 0)
			x->broken_zone = 1 + i;
		if (!same && x->changed_input == 0)
			x->changed_input = 1 + i;
	}
	return 0;
}

/* From fresh inputs, once; or, to look, not at all. */
static int launch(struct run *r, const struct wire_execute *m, struct cache *inputs, uint64_t *ret_ns, struct err *e)
{
	bool there = r->executed;
	if (m->keep & WIRE_LOOK) {
		if (!there || m->seed != r->seed || m->values != r->values)
			return err_set(e, ERR_INPUT, "there is nothing to look at: the run was not executed with this seed");
		return 0;
	}
	int result = set_up(r, m, inputs, e);
	r->executed = false;
	return result < 0 ? result : r->backend->execute(r->on_device, 1, WIRE_WARM, ret_ns, e);
}

int run_execute(struct run *r, const struct wire_execute *m, struct cache *inputs, struct wire_executed *ret_executed,
                struct err *e)
{
	struct wire_executed x = { .device_ns = 0 };
	int result = launch(r, m, inputs, &x.device_ns, e);
	for (uint32_t i = 0; i < r->output_count && result == 0; i++)
		result = fetch(r, &r->outputs[i], e);
	if (result == 0)
		result = look_for_damage(r, m, inputs, &x, e);
	r->executed = result == 0;
	r->seed = m->seed;
	r->values = m->values;
	if (result == 0)
		*ret_executed = x;
	return result;
}

int run_races(const struct run *r, uint64_t seed, char **ret_finding, struct err *e)
{
	if (r->backend->races == NULL)
		return err_set(e, ERR_UNSUPPORTED, "%s kernels cannot be interpreted", r->backend->name);
	return r->backend->races(r->binary, r->binary_len, r->plan, seed, ret_finding, e);
}

int run_product(const struct run *r, const struct plan_gemm *g, double tolerance, uint64_t secret, struct product_found *ret_found,
                struct err *e)
{
	const struct plan_buffer *b = r->plan->buffers;
	const void *bytes = NULL;
	if (!r->executed)
		return err_set(e, ERR_INPUT, "the run was not executed, or its last execution failed");
	if (plan_check_gemm(r->plan, g, e) < 0)
		return -(int)e->code;
	for (uint32_t i = 0; i < r->output_count; i++)
		if (r->outputs[i].buffer == g->c)
			bytes = r->outputs[i].bytes;
	if (b[g->a].role != PLAN_IN || b[g->b].role != PLAN_IN || bytes == NULL)
		return err_set(e, ERR_INPUT, "%s = %s * %s is no product of two inputs", b[g->c].name, b[g->a].name, b[g->b].name);
	/* Made afresh: what the caches lend is lent for one at a time. */
	void *from_a = room_take(r->room, b[g->a].bytes), *from_b = room_take(r->room, b[g->b].bytes);
	fill_special(&b[g->a], r->seed, r->values, from_a);
	fill_special(&b[g->b], r->seed, r->values, from_b);
	struct product p = { .a = &b[g->a], .b = &b[g->b], .c = &b[g->c], .a_transposed = g->a_transposed, .b_transposed = g->b_transposed,
	                     .a_bytes = from_a, .b_bytes = from_b, .c_bytes = bytes };
	product_check(&p, tolerance, secret, ret_found);
	room_give(r->room, from_a, b[g->a].bytes);
	room_give(r->room, from_b, b[g->b].bytes);
	return 0;
}

int run_output(const struct run *r, uint32_t output, const void **ret_bytes, size_t *ret_len,
               const struct plan_buffer **ret_buffer, struct err *e)
{
	if (!r->executed)
		return err_set(e, ERR_INPUT, "the run has no outputs: it was not executed, or its last execution failed");
	if (output >= r->output_count)
		return err_set(e, ERR_INPUT, "output %u does not exist, the plan has %u", output, r->output_count);
	*ret_bytes = r->outputs[output].bytes;
	*ret_len = r->outputs[output].len;
	*ret_buffer = &r->plan->buffers[r->outputs[output].buffer];
	return 0;
}

static int need_executed(struct run *r, struct cache *inputs, struct err *e)
{
	struct wire_execute first = { .poison = 0xFF };
	struct wire_executed x;
	if (r->executed)
		return 0;
	return run_execute(r, &first, inputs, &x, e);
}

int run_measure(struct run *r, const struct wire_measure *m, struct cache *inputs, struct gpu_monitor *watch,
                struct wire_measured *ret_measured, struct err *e)
{
	int result = need_executed(r, inputs, e);
	return result < 0 ? result : measure_samples(r->backend, r->on_device, watch, m, ret_measured, e);
}

int run_pair(struct run *a, struct run *b, const struct wire_pair *m, struct cache *inputs, struct gpu_monitor *watch,
             struct wire_paired *ret_paired, struct err *e)
{
	if (need_executed(a, inputs, e) < 0 || need_executed(b, inputs, e) < 0)
		return -(int)e->code;
	return pair_samples(a->backend, a->on_device, b->on_device, watch, m, ret_paired, e);
}

int run_energy(struct run *r, const struct wire_energy *m, struct cache *inputs, struct gpu_monitor *watch,
               struct wire_energised *ret_energised, struct err *e)
{
	int result = need_executed(r, inputs, e);
	return result < 0 ? result : energy_measure(r->backend, r->on_device, watch, m, ret_energised, e);
}

/* run: see run.h. */
#include "backends/gpu/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum { ALIGN = 1024 };    /* bytes, of every buffer's first element: 128-byte swizzled tiles need it, and allocators promise less */
enum { TIMES_CACHE = 3 }; /* all sets together: nothing of a set is cached when its turn comes again */
enum { SEARCHED_BYTES = 64 << 20 }; /* in a search, sets of more than this take too long to write */
enum { HIDE_BYTES = 32 << 20 };     /* written before a rotated window: hides the CPU's submission, and is only a part of the L2 */

/* --- loading ------------------------------------------------------------------------------------------------------------ */
int gpu_run_load(struct backend_run *run, const void *binary, const struct gpu_module *module, struct err *e)
{
	const struct backend_device *d = run->device;
	const struct facts *f = &d->facts;
	const struct plan *plan = run->plan;
	gpu_result result;

	/* The driver only gets binaries whose kernels were checked against the plan and the device. */
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct plan_launch *l = &plan->ops[i].launch;
		const struct gpu_kernel *k;
		if (plan->ops[i].kind != PLAN_OP_LAUNCH)
			continue;
		if (!(k = gpu_module_find(module, l->kernel)))
			return gpu_module_missing(module, l->kernel, e);
		if (l->cooperative && !d->cooperative)
			return err_set(e, ERR_UNSUPPORTED, "kernel \"%s\": %s has no cooperative launches", l->kernel, f->name);
		if ((k->cluster[0] || gpu_check_volume(l->cluster) > 1) && !d->api.launch_extended && f->max_cluster > 1)
			return err_set(e, ERR_UNSUPPORTED,
				       "kernel \"%s\": the driver has no cluster launches; install driver 525 or newer", l->kernel);
		int rc = gpu_check_launch(l, k, f, e);
		if (rc)
			return rc;
	}
	result = d->api.module_load(&run->module, binary);
	if (result == GPU_NO_BINARY || result == GPU_INVALID_IMAGE || result == GPU_INVALID_FILE)
		return err_set(e, ERR_INPUT,
			       "the binary does not run on %s (%s). It was compiled for another architecture than %s, or by a "
			       "newer toolkit than the driver knows (%s). Compile it for this device",
			       f->id, f->name, f->arch, f->driver);
	if (result != GPU_SUCCESS)
		return gpu_device_fail(d, result, "loading the binary", e);
	run->functions = MEM_NEW_N(gpu_function, plan->op_count + 1);
	for (size_t i = 0; i < plan->op_count; i++) {
		if (plan->ops[i].kind != PLAN_OP_LAUNCH)
			continue;
		result = d->api.module_function(&run->functions[i], run->module, plan->ops[i].launch.kernel);
		if (result == GPU_NOT_FOUND)
			return err_set(e, ERR_INPUT, "the binary has no kernel \"%s\"", plan->ops[i].launch.kernel);
		if (result != GPU_SUCCESS)
			return gpu_device_fail(d, result, "looking up a kernel", e);
	}
	struct hash name = hash_bytes(binary, run->binary_len);
	run->turn = strcmp(run->device->placed, name.hex) == 0 && !run->device->placed_turn;
	int rc = gpu_run_add_set(run, e);
	if (!rc) {
		memcpy(run->device->placed, name.hex, sizeof run->device->placed);
		run->device->placed_turn = run->turn;
	}
	for (size_t i = 0; i < plan->buffer_count && !rc; i++)
		if (plan->buffers[i].role == PLAN_TABLE)
			rc = gpu_run_write(run, (unsigned)i, 0, plan->buffers[i].table, plan->buffers[i].bytes, e);
	return rc;
}

/* --- sets of buffers ---------------------------------------------------------------------------------------------------- */
int gpu_run_add_set(struct backend_run *run, struct err *e)
{
	const struct backend_device *d = run->device;
	const struct plan *plan = run->plan;
	struct gpu_set *s = &run->sets[run->set_count];

	s->blocks = MEM_NEW_N(gpu_address, plan->buffer_count + 1);
	s->buffers = MEM_NEW_N(gpu_address, plan->buffer_count + 1);
	s->kept = MEM_NEW_N(gpu_address, plan->buffer_count + 1);
	/* Not mem_new: the driver wants maps aligned. */
	s->maps = aligned_alloc(_Alignof(struct gpu_tensor_map), (plan->map_count + 1) * sizeof *s->maps);
	if (!s->maps)
		abort();
	memset(s->maps, 0, (plan->map_count + 1) * sizeof *s->maps);
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		/* Plain allocations only: managed memory would move pages while a kernel is timed. */
		gpu_result result = d->api.memory_alloc(&s->blocks[i], gpu_slack_block(b));

		if (result == GPU_OUT_OF_MEMORY) {
			size_t left = 0, total = 0;
			d->api.memory_info(&left, &total);
			/* What fits into an empty device may fit later. */
			return err_set(e, plan_bytes(plan) > total ? ERR_PRUNED : ERR_BUSY,
				       "buffer \"%s\" of %llu bytes does not fit into the memory of %s: %zu of %zu bytes are free",
				       b->name, (unsigned long long)b->bytes, d->facts.id, left, total);
		}
		if (result == GPU_SUCCESS)
			result = gpu_slack_arm(d, b, s->blocks[i], ALIGN, (run->turn + run->set_count + i) & 1, &s->buffers[i]);
		if (result != GPU_SUCCESS)
			return gpu_device_fail(d, result, "allocating buffers", e);
	}
	return 0;
}

static void set_fini(struct gpu_set *s, const struct backend_run *run)
{
	const struct gpu_driver *api = &run->device->api;

	if (s->graph)
		api->graph_exec_free(s->graph);
	for (size_t i = 0; s->blocks && i < run->plan->buffer_count; i++)
		if (s->blocks[i])
			(run->adopted ? api->share_close : api->memory_free)(s->blocks[i]);
	for (size_t i = 0; s->kept && i < run->plan->buffer_count; i++)
		if (s->kept[i])
			api->memory_free(s->kept[i]);
	free(s->blocks);
	free(s->buffers);
	free(s->kept);
	free(s->maps);
	free(s->sums);
	*s = (struct gpu_set){ .graph = NULL };
}

unsigned gpu_run_sets_wanted(const struct backend_device *device, const struct plan *plan, enum wire_cache cache, bool *ret_rotates)
{
	uint64_t bytes = 0, rotation, sets = BACKEND_SETS;
	size_t left = 0, total = 0;

	*ret_rotates = false;
	for (size_t i = 0; i < plan->buffer_count; i++)
		bytes += plan->buffers[i].bytes + 2 * BACKEND_RED_ZONE + ALIGN; /* what an execution may touch */
	if (!bytes || (cache == WIRE_FLUSHED && bytes > SEARCHED_BYTES) || device->api.memory_info(&left, &total) != GPU_SUCCESS)
		return 1;
	rotation = (TIMES_CACHE * device->cache_bytes + bytes - 1) / bytes;
	rotation = rotation < 2 ? 2 : rotation;
	if (cache == WIRE_COLD && device->cache_bytes && rotation <= GPU_SETS_MAX && (rotation - 1) * bytes <= left / 2)
		*ret_rotates = true;
	if (*ret_rotates && rotation > sets)
		sets = rotation;
	while (sets > 1 && (sets - 1) * bytes > left / 2)
		sets--;
	return (unsigned)sets;
}

int gpu_run_make_sets(struct backend_run *run, enum wire_cache cache, int (*record)(struct backend_run *run, struct err *e),
		      unsigned *ret_count, struct err *e)
{
	struct err why = ERR_INIT;
	bool rotates;
	unsigned wanted = gpu_run_sets_wanted(run->device, run->plan, cache, &rotates);
	int rc = 0;

	gpu_scrub_prepare(run->device);
	while (run->set_count < wanted && !rc) {
		rc = gpu_run_add_set(run, &why);
		if (!rc)
			rc = record(run, &why);
	}
	if (rc) {
		set_fini(&run->sets[run->set_count], run);
		rotates = false;
	}
	/* Fewer will do where memory is short. */
	if (rc && why.code != ERR_PRUNED && why.code != ERR_BUSY)
		return err_set(e, why.code, "%s", why.text);
	run->rotates = rotates;
	*ret_count = run->set_count;
	return 0;
}

void gpu_run_use_set(struct backend_run *run, unsigned set)
{
	run->current = set;
}

unsigned gpu_run_used_set(const struct backend_run *run)
{
	return run->current;
}

int gpu_run_scrub(struct backend_run *run, uint32_t word, struct err *e)
{
	gpu_scrub_prepare(run->device);
	gpu_result result = gpu_scrub(run, word, true);
	return result == GPU_SUCCESS ? 0 : gpu_device_fail(run->device, result, "overwriting shared memory", e);
}

bool gpu_run_scrubs(const struct backend_run *run)
{
	return run->device->scrub.function != NULL;
}

void gpu_run_free(struct backend_run *run)
{
	if (!run)
		return;
	for (unsigned i = 0; i < GPU_SETS_MAX; i++)
		set_fini(&run->sets[i], run);
	if (run->module)
		run->device->api.module_unload(run->module);
	free(run->functions);
	free(run);
}

/* --- recording ------------------------------------------------------------------------------------------------------------ */
gpu_result gpu_run_capture_begin(const struct backend_run *run)
{
	return run->device->api.capture_begin(run->device->stream, GPU_CAPTURE_THREAD_LOCAL);
}

gpu_result gpu_run_capture_end(struct backend_run *run, gpu_result submitted)
{
	const struct backend_device *d = run->device;
	gpu_graph graph = NULL;
	/* In any case: a stream that is left capturing can never be used again. */
	gpu_result result = d->api.capture_end(d->stream, &graph);

	if (submitted != GPU_SUCCESS)
		result = submitted;
	if (result == GPU_SUCCESS)
		result = d->api.graph_instantiate(&run->sets[run->set_count].graph, graph, 0);
	if (graph)
		d->api.graph_free(graph);
	if (result == GPU_SUCCESS)
		run->set_count++;
	return result;
}

int gpu_run_record(struct backend_run *run, struct err *e)
{
	const struct backend_device *d = run->device;
	gpu_result submitted, result;
	size_t op = 0;

	/* Asked before the capture, during which some calls are not allowed. */
	for (size_t i = 0; i < run->plan->op_count; i++) {
		const struct plan_launch *l = &run->plan->ops[i].launch;
		uint64_t blocks, held;
		int per_unit = 0;

		if (run->plan->ops[i].kind != PLAN_OP_LAUNCH || !l->cooperative)
			continue;
		blocks = gpu_check_volume(l->grid);
		if (d->api.occupancy_blocks(&per_unit, run->functions[i], (int)gpu_check_volume(l->block), l->shared) !=
		    GPU_SUCCESS)
			continue;
		held = (uint64_t)per_unit * d->facts.units;
		if (blocks > held)
			return err_set(
				e, ERR_PRUNED,
				"kernel \"%s\": a cooperative grid of %llu blocks was asked for, and the device holds %llu at once",
				l->kernel, (unsigned long long)blocks, (unsigned long long)held);
	}
	if (!d->graphs) {
		run->set_count++;
		return 0;
	}
	if ((result = gpu_run_capture_begin(run)) != GPU_SUCCESS)
		return gpu_device_fail(d, result, "starting to record the plan", e);
	submitted = gpu_submit_plan(run, &run->sets[run->set_count], &op);
	result = gpu_run_capture_end(run, submitted);
	if (submitted != GPU_SUCCESS) {
		const struct plan_op *o = &run->plan->ops[op - 1];
		bool launches = o->kind == PLAN_OP_LAUNCH;
		char *doing =
			mem_fmt("recording operation %zu%s%s", op, launches ? ", kernel " : "", launches ? o->launch.kernel : "");
		int rc = gpu_device_fail(d, submitted, doing, e);
		free(doing);
		return rc;
	}
	return result == GPU_SUCCESS ? 0 : gpu_device_fail(d, result, "making a graph of the plan", e);
}

/* --- reading and writing -------------------------------------------------------------------------------------------------- */
/* The address of bytes [offset, offset+bytes) of a buffer with its red zones. */
static int address(const struct backend_run *run, unsigned buffer, int64_t offset, size_t bytes, gpu_address *ret_at, struct err *e)
{
	uint64_t place = 0;
	int rc = backend_place(run->plan, buffer, offset, bytes, &place, e);

	if (!rc)
		*ret_at = run->sets[run->current].buffers[buffer] - BACKEND_RED_ZONE + place;
	return rc;
}

int gpu_run_write(struct backend_run *run, unsigned buffer, int64_t offset, const void *from, size_t bytes, struct err *e)
{
	gpu_address at = 0;
	int rc = address(run, buffer, offset, bytes, &at, e);

	if (rc || !bytes)
		return rc;
	run->sets[run->current].reset = false;
	gpu_result result = gpu_device_write(run->device, at, from, bytes);
	return result == GPU_SUCCESS ? 0 : gpu_device_fail(run->device, result, "writing a buffer", e);
}

int gpu_run_read(struct backend_run *run, unsigned buffer, int64_t offset, void *to, size_t bytes, struct err *e)
{
	gpu_address at = 0;
	int rc = address(run, buffer, offset, bytes, &at, e);

	if (rc || !bytes)
		return rc;
	gpu_result result = gpu_device_read(run->device, to, at, bytes);
	return result == GPU_SUCCESS ? 0 : gpu_device_fail(run->device, result, "reading a buffer", e);
}

int gpu_run_fill(struct backend_run *run, unsigned buffer, uint8_t value, struct err *e)
{
	struct backend_device *d = run->device;
	gpu_address at = 0;
	gpu_result result;
	int rc = address(run, buffer, 0, 0, &at, e);

	if (rc || !run->plan->buffers[buffer].bytes)
		return rc;
	run->sets[run->current].reset = false;
	result = d->api.memory_set(at, value, run->plan->buffers[buffer].bytes, d->stream);
	return result == GPU_SUCCESS ? 0 : gpu_device_fail(d, result, "filling a buffer", e);
}

/* --- timed execution ------------------------------------------------------------------------------------------------------ */
/* Submits one execution on a set. */
static gpu_result submit(const struct backend_run *run, const struct gpu_set *set)
{
	size_t op;

	return set->graph ? run->device->api.graph_launch(set->graph, run->device->stream) : gpu_submit_plan(run, set, &op);
}

/* One timed window around `times` executions on a set; adds its nanoseconds to *io_ns. */
static gpu_result window(const struct backend_run *run, const struct gpu_set *set, uint32_t times, double *io_ns)
{
	const struct backend_device *d = run->device;
	gpu_result result = d->api.event_record(d->start, d->stream);
	float ms = 0;

	for (uint32_t i = 0; i < times && result == GPU_SUCCESS; i++)
		result = submit(run, set);
	if (result == GPU_SUCCESS)
		result = gpu_device_window_end(d, &ms);
	*io_ns += (double)ms * 1e6;
	return result;
}

int gpu_run_copy_set(struct backend_run *run, unsigned from, struct err *e)
{
	const struct backend_device *d = run->device;
	struct gpu_set *to = &run->sets[run->current];
	const struct gpu_set *source = &run->sets[from];
	gpu_result result = GPU_SUCCESS;

	for (size_t i = 0; i < run->plan->buffer_count && result == GPU_SUCCESS; i++) {
		uint64_t bytes = run->plan->buffers[i].bytes;

		result = d->api.copy_within(to->buffers[i] - BACKEND_RED_ZONE, source->buffers[i] - BACKEND_RED_ZONE,
					    bytes + 2 * BACKEND_RED_ZONE, d->stream);
		if (result == GPU_SUCCESS && source->kept[i] && !to->kept[i])
			result = d->api.memory_alloc(&to->kept[i], bytes);
		if (result == GPU_SUCCESS && source->kept[i])
			result = d->api.copy_within(to->kept[i], source->kept[i], bytes, d->stream);
	}
	to->reset = false;
	if (result == GPU_SUCCESS)
		result = d->api.stream_wait(d->stream);
	return result == GPU_SUCCESS ? 0 : gpu_device_fail(d, result, "copying buffers for timing", e);
}

int gpu_run_keep_inout(struct backend_run *run, struct err *e)
{
	const struct backend_device *d = run->device;
	struct gpu_set *s = &run->sets[run->current];
	gpu_result result = GPU_SUCCESS;

	for (size_t i = 0; i < run->plan->buffer_count && result == GPU_SUCCESS; i++) {
		const struct plan_buffer *b = &run->plan->buffers[i];

		if (b->role != PLAN_INOUT || !b->bytes)
			continue;
		if (!s->kept[i])
			result = d->api.memory_alloc(&s->kept[i], b->bytes);
		if (result == GPU_SUCCESS)
			result = d->api.copy_within(s->kept[i], s->buffers[i], b->bytes, d->stream);
	}
	s->reset = false;
	return result == GPU_SUCCESS ? 0 : gpu_device_fail(d, result, "keeping a copy of inout buffers", e);
}

static gpu_result restore(const struct backend_run *run, const struct gpu_set *set)
{
	const struct backend_device *d = run->device;
	gpu_result result = GPU_SUCCESS;

	for (size_t i = 0; i < run->plan->buffer_count && result == GPU_SUCCESS; i++)
		if (set->kept[i])
			result = d->api.copy_within(set->buffers[i], set->kept[i], run->plan->buffers[i].bytes, d->stream);
	return result;
}

/* Nothing that an earlier execution computed is left in the set's buffers. */
static gpu_result reset(const struct backend_run *run, struct gpu_set *set)
{
	const struct backend_device *d = run->device;
	gpu_result result = restore(run, set);

	for (size_t i = 0; i < run->plan->buffer_count && result == GPU_SUCCESS; i++) {
		const struct plan_buffer *b = &run->plan->buffers[i];

		if ((b->role == PLAN_OUT || b->role == PLAN_SCRATCH) && b->bytes)
			result = d->api.memory_set(set->buffers[i], WIRE_TIMED_POISON, b->bytes, d->stream);
	}
	set->reset = true;
	return result;
}

gpu_result gpu_run_before_window(struct backend_run *run, enum wire_cache cache)
{
	const struct backend_device *d = run->device;
	struct gpu_set *before = &run->sets[run->current], *set = before;
	bool unreset = cache == WIRE_UNRESET, rotates = cache == WIRE_COLD && run->rotates;
	gpu_result result = GPU_SUCCESS;

	if (cache != WIRE_COLD && cache != WIRE_FLUSHED) {
		result = unreset ? restore(run, set) : GPU_SUCCESS;
		if (result == GPU_SUCCESS)
			result = submit(run, set);
		if (result == GPU_SUCCESS)
			result = unreset ? restore(run, set) : reset(run, set);
		return result == GPU_SUCCESS && !unreset ? gpu_scrub(run, BACKEND_SCRUB_TIMED, false) : result;
	}
	/* Selects the next set and resets it. Where sets rotate, that was done a whole round ago, so that nothing of it is in the
	 * cache: the set before is reset instead, and keeps what it left until then. */
	size_t wipe = rotates && d->flush_bytes > HIDE_BYTES ? HIDE_BYTES : d->flush_bytes;
	run->current = (run->current + 1) % run->set_count;
	set = &run->sets[run->current];
	if (rotates && !before->reset)
		result = reset(run, before);
	if (result == GPU_SUCCESS && !set->reset) {
		result = reset(run, set);
		wipe = d->flush_bytes;
	}
	if (result == GPU_SUCCESS)
		result = gpu_scrub(run, BACKEND_SCRUB_TIMED, true);
	if (run->local_bytes) /* lines of local memory would be written back within the window */
		wipe = d->flush_bytes;
	/* Lines that a kernel marked to stay would outlive the flush. Devices without such lines answer with an error. */
	if (result == GPU_SUCCESS && d->api.cache_release)
		d->api.cache_release();
	return result == GPU_SUCCESS ? d->api.memory_set(d->flush, 0, wipe, d->stream) : result;
}

/* Events around every operation: what lies between two of them on the stream counts for the later one. */
int gpu_run_split(struct backend_run *run, uint64_t *ret_ns, struct err *e)
{
	struct backend_device *d = run->device;
	size_t count = run->plan->op_count;
	gpu_event *events = MEM_NEW_N(gpu_event, count + 1);
	gpu_result result = gpu_device_flush(d);

	for (size_t i = 0; i <= count && result == GPU_SUCCESS; i++)
		result = d->api.event_new(&events[i], GPU_EVENT_DEFAULT);
	if (result == GPU_SUCCESS)
		result = gpu_run_before_window(run, WIRE_FLUSHED);
	for (size_t i = 0; i <= count && result == GPU_SUCCESS; i++) {
		result = d->api.event_record(events[i], d->stream);
		if (result == GPU_SUCCESS && i < count)
			result = gpu_submit_op(run, &run->sets[run->current], i);
	}
	if (result == GPU_SUCCESS)
		result = d->api.stream_wait(d->stream);
	for (size_t i = 0; i < count && result == GPU_SUCCESS; i++) {
		float ms = 0;
		result = d->api.event_elapsed(&ms, events[i], events[i + 1]);
		ret_ns[i] = (uint64_t)((double)ms * 1e6 + 0.5);
	}
	run->sets[run->current].reset = false;
	for (size_t i = 0; i <= count; i++)
		if (events[i])
			d->api.event_free(events[i]);
	free(events);
	return result == GPU_SUCCESS ? 0 : gpu_device_fail(d, result, "timing the plan's operations", e);
}

int gpu_run_execute(struct backend_run *run, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e)
{
	struct backend_device *d = run->device;
	gpu_result result = GPU_SUCCESS;
	double ns = 0;

	if (!times)
		return err_set(e, ERR_INPUT, "execute: a plan must be executed at least once, not 0 times");
	if ((cache == WIRE_COLD || cache == WIRE_FLUSHED) && (result = gpu_device_flush(d)) != GPU_SUCCESS)
		return gpu_device_fail(d, result, "allocating the scratch that flushes the caches", e);
	if (cache == WIRE_WARM)
		result = window(run, &run->sets[run->current], times, &ns);
	for (uint32_t i = 0; cache != WIRE_WARM && i < times && result == GPU_SUCCESS; i++) {
		result = gpu_run_before_window(run, cache);
		if (result == GPU_SUCCESS)
			result = window(run, &run->sets[run->current], 1, &ns);
		run->sets[run->current].reset = false;
	}
	run->sets[run->current].reset = false;
	if (result != GPU_SUCCESS)
		return gpu_device_fail(d, result, "executing the plan", e);
	*ret_ns = (uint64_t)(ns / times + 0.5);
	return 0;
}

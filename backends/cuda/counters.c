/* counters: see cuda.h. */
#include "backends/cuda/cuda.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cupti.h"
#include "base/mem.h"

enum { PASSES_MAX = 64 };
#define STALLED(reason) "smsp__average_warps_issue_stalled_" reason "_per_issue_active.ratio"
#define PEAK_ELAPSED ".avg.pct_of_peak_sustained_elapsed"
#define PEAK_ACTIVE ".avg.pct_of_peak_sustained_active"

/* What is read, and the name under which core/measure/counters.c knows it. Names of NVIDIA's metrics: Nsight Compute's "Metrics
 * Decoder". A chip that lacks one is asked for the others. Metrics with "sass" in their names need patched code, and mislead
 * without. */
static const struct {
	const char *metric, *name;
} metrics[] = {
	{ "gpu__time_duration.sum", "time_ns" },
	{ "dram__bytes_read.sum", "dram_read" },
	{ "dram__bytes_write.sum", "dram_written" },
	{ "dram__throughput" PEAK_ELAPSED, "dram_percent" },
	{ "lts__t_bytes.sum", "l2_traffic" },
	{ "lts__t_sector_hit_rate.pct", "l2_hit_percent" },
	{ "l1tex__t_bytes.sum", "l1_traffic" },
	{ "l1tex__t_sector_hit_rate.pct", "l1_hit_percent" },
	{ "sm__warps_active" PEAK_ACTIVE, "active_percent" },
	{ "smsp__issue_active" PEAK_ACTIVE, "issue_percent" },
	{ "smsp__inst_executed.sum", "warp_instructions" },
	{ "smsp__thread_inst_executed.sum", "instructions" },
	{ "sm__pipe_tensor_cycles_active" PEAK_ACTIVE, "tensor_percent" },
	{ "sm__pipe_fma_cycles_active" PEAK_ACTIVE, "fma_percent" },
	{ "sm__pipe_alu_cycles_active" PEAK_ACTIVE, "alu_percent" },
	{ "sm__inst_executed_pipe_lsu" PEAK_ACTIVE, "lsu_percent" },
	{ "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "load_sectors" },
	{ "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "store_sectors" },
	{ "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "bank_conflicts" },
	{ "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "shared_passes" },
	{ "smsp__inst_executed_op_global_ld.sum", "loads" },
	{ "smsp__inst_executed_op_global_st.sum", "stores" },
	{ "smsp__inst_executed_op_global_red.sum", "reductions" },
	{ "smsp__warps_launched.sum", "warps" },
	{ "smsp__inst_executed_op_shared_ld.sum", "shared_loads" },
	{ "smsp__inst_executed_op_shared_st.sum", "shared_stores" },
	{ "l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum", "local_bytes" },
	{ "smsp__average_warp_latency_per_inst_issued.ratio", "latency" },
	{ STALLED("long_scoreboard"), "stalled_long_scoreboard" },
	{ STALLED("short_scoreboard"), "stalled_short_scoreboard" },
	{ STALLED("barrier"), "stalled_barrier" },
	{ STALLED("mio_throttle"), "stalled_mio_throttle" },
	{ STALLED("lg_throttle"), "stalled_lg_throttle" },
	{ STALLED("math_pipe_throttle"), "stalled_math_pipe_throttle" },
	{ STALLED("wait"), "stalled_wait" },
	{ STALLED("not_selected"), "stalled_not_selected" },
	{ STALLED("no_instruction"), "stalled_no_instruction" },
};

/* One reading. The images live as long as the range profiler. */
struct reading {
	const struct cuda_cupti *c;
	struct backend_run *run;
	void *host, *range;
	const char *names[MEM_COUNT(metrics)]; /* of the metrics that this chip has */
	size_t place[MEM_COUNT(metrics)];      /* in `metrics` */
	size_t count;
	size_t *ops; /* launches that are counted, one of each kernel */
	size_t op_count;
	uint8_t *available, *config, *data;
	size_t config_size, data_size;
};

void cuda_counters_start(struct backend_device *d)
{
	const char *asked = getenv("PEAKD_COUNTERS_WORKER");
	struct err e = ERR_INIT;

	if (asked == NULL || strcmp(asked, "1") != 0)
		return;
	d->cupti = MEM_NEW(struct cuda_cupti);
	if (cuda_cupti_open(d->cupti, &e) < 0) {
		*d->cupti = (struct cuda_cupti){ .text = NULL };
		snprintf(d->cupti->pc_closed, sizeof d->cupti->pc_closed, "%s", e.text);
		return;
	}
	cuda_stalls_enable(d);
}

/* The largest launch of each kernel. */
static void choose(struct reading *r)
{
	const struct plan *plan = r->run->plan;
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct plan_launch *l = &plan->ops[i].launch;
		size_t k = 0;
		if (plan->ops[i].kind != PLAN_OP_LAUNCH)
			continue;
		while (k < r->op_count && strcmp(plan->ops[r->ops[k]].launch.kernel, l->kernel) != 0)
			k++;
		if (k == r->op_count)
			*MEM_PUSH(r->ops, r->op_count) = i;
		else if (gpu_check_volume(l->grid) > gpu_check_volume(plan->ops[r->ops[k]].launch.grid))
			r->ops[k] = i;
	}
}

/* A host object that knows the metrics of this chip which the device can count now. */
static int make_host(struct reading *r, struct err *e)
{
	struct backend_device *d = r->run->device;
	struct cupti_chip chip = { .size = CUPTI_SIZE(cupti_chip, name), .device = (size_t)d->handle };
	struct cupti_available a = { .size = CUPTI_SIZE(cupti_available, image), .context = d->context };
	int result = r->c->chip(&chip);
	if (result != CUPTI_SUCCESS)
		return cuda_cupti_fail(r->c, result, "cuptiDeviceGetChipName", e);
	result = r->c->available(&a);
	if (result == CUPTI_SUCCESS) {
		a.image = r->available = MEM_NEW_N(uint8_t, a.image_size + 1);
		result = r->c->available(&a);
	}
	if (result != CUPTI_SUCCESS)
		return cuda_cupti_fail(r->c, result, "cuptiProfilerGetCounterAvailability", e);
	struct cupti_host h = {
		.size = CUPTI_SIZE(cupti_host, host), .profiler = CUPTI_RANGE_PROFILER, .chip = chip.name, .available = r->available
	};
	result = r->c->host(&h);
	if (result != CUPTI_SUCCESS)
		return cuda_cupti_fail(r->c, result, "cuptiProfilerHostInitialize", e);
	r->host = h.host;
	for (size_t i = 0; i < MEM_COUNT(metrics); i++) {
		const char *name = metrics[i].metric;
		struct cupti_metrics m = { .size = CUPTI_SIZE(cupti_metrics, count), .host = r->host, .names = &name, .count = 1 };
		if (r->c->metrics(&m) != CUPTI_SUCCESS)
			continue;
		r->place[r->count] = i;
		r->names[r->count++] = metrics[i].metric;
	}
	return r->count ? 0 : err_set(e, ERR_UNSUPPORTED, "%s has none of the counters that are asked for", chip.name);
}

/* The schedule of the metrics, and the image that receives the counts. */
static int make_images(struct reading *r, struct err *e)
{
	struct cupti_config c = { .size = CUPTI_SIZE(cupti_config, bytes), .host = r->host };
	int result = r->c->config_size(&c);
	if (result == CUPTI_SUCCESS) {
		c.size = CUPTI_SIZE(cupti_config, image);
		c.image = r->config = MEM_NEW_N(uint8_t, c.bytes + 1);
		r->config_size = c.bytes;
		result = r->c->config(&c);
	}
	if (result != CUPTI_SUCCESS)
		return cuda_cupti_fail(r->c, result, "cuptiProfilerHostGetConfigImage", e);
	struct cupti_range_enable on = { .size = CUPTI_SIZE(cupti_range_enable, range), .context = r->run->device->context };
	result = r->c->range_enable(&on);
	if (result != CUPTI_SUCCESS)
		return cuda_cupti_fail(r->c, result, "cuptiRangeProfilerEnable", e);
	r->range = on.range;
	struct cupti_range_data_size n = { .size = CUPTI_SIZE(cupti_range_data_size, bytes),
					   .range = r->range,
					   .names = r->names,
					   .count = r->count,
					   .ranges = r->op_count,
					   .nodes = (uint32_t)r->op_count };
	result = r->c->range_data_size(&n);
	if (result == CUPTI_SUCCESS) {
		struct cupti_range_data x = { .size = CUPTI_SIZE(cupti_range_data, data), .range = r->range, .bytes = n.bytes };
		x.data = r->data = MEM_NEW_N(uint8_t, n.bytes + 1);
		r->data_size = n.bytes;
		result = r->c->range_data(&x);
	}
	return result == CUPTI_SUCCESS ? 0 : cuda_cupti_fail(r->c, result, "cuptiRangeProfilerCounterDataImageInitialize", e);
}

/* Executes the plan once, with a range around each launch that is counted. A range's name is the number of its operation. */
static int execute(struct reading *r, struct err *e)
{
	const struct backend_device *d = r->run->device;
	const struct gpu_set *set = &r->run->sets[r->run->current];
	struct cupti_of end = { .size = sizeof end, .object = r->range };
	gpu_result result = GPU_SUCCESS;
	int counted = CUPTI_SUCCESS;
	for (size_t i = 0, k; i < r->run->plan->op_count && result == GPU_SUCCESS && counted == CUPTI_SUCCESS; i++) {
		char name[24];
		for (k = 0; k < r->op_count && r->ops[k] != i; k++)
			;
		snprintf(name, sizeof name, "%zu", i);
		struct cupti_range_push push = { .size = CUPTI_SIZE(cupti_range_push, name), .range = r->range, .name = name };
		if (k < r->op_count)
			counted = r->c->range_push(&push);
		if (counted == CUPTI_SUCCESS)
			result = gpu_submit_op(r->run, set, i);
		if (k < r->op_count && result == GPU_SUCCESS && counted == CUPTI_SUCCESS) {
			result = d->api.stream_wait(d->stream);
			counted = r->c->range_pop(&end);
		}
	}
	if (result == GPU_SUCCESS)
		result = d->api.stream_wait(d->stream);
	if (result != GPU_SUCCESS)
		return gpu_device_fail(d, result, "executing the plan for its counters", e);
	return counted == CUPTI_SUCCESS ? 0 : cuda_cupti_fail(r->c, counted, "cuptiRangeProfilerPushRange", e);
}

/* Executes the plan once for each pass that the metrics need, each time from the same buffers and cold caches. */
static int replay(struct reading *r, struct err *e)
{
	struct backend_device *d = r->run->device;
	struct cupti_range_stop stop = { .size = CUPTI_SIZE(cupti_range_stop, whole), .range = r->range, .level = 1 };
	struct cupti_range_decode decode = { .size = CUPTI_SIZE(cupti_range_decode, dropped), .range = r->range };
	struct cupti_of start = { .size = sizeof start, .object = r->range };
	gpu_result result = gpu_device_flush(d);
	if (result != GPU_SUCCESS)
		return gpu_device_fail(d, result, "allocating the scratch that flushes the caches", e);
	for (int passes = 0; !stop.whole && passes < PASSES_MAX; passes++) {
		struct cupti_range_config config = { .size = CUPTI_SIZE(cupti_range_config, level),
						     .range = r->range,
						     .config_size = r->config_size,
						     .config = r->config,
						     .data_size = r->data_size,
						     .data = r->data,
						     .ranges = CUPTI_USER_RANGE,
						     .replay = CUPTI_USER_REPLAY,
						     .most = r->op_count,
						     .levels = 1,
						     .least_level = 1,
						     .pass = stop.pass,
						     .level = (uint16_t)stop.level };
		result = gpu_run_before_window(r->run, WIRE_FLUSHED);
		if (result == GPU_SUCCESS)
			result = d->api.stream_wait(d->stream);
		r->run->sets[r->run->current].reset = false;
		if (result != GPU_SUCCESS)
			return gpu_device_fail(d, result, "resetting buffers between passes", e);
		int counted = r->c->range_config(&config);
		if (counted == CUPTI_SUCCESS)
			counted = r->c->range_start(&start);
		if (counted != CUPTI_SUCCESS)
			return cuda_cupti_fail(r->c, counted, "cuptiRangeProfilerStart", e);
		int rc = execute(r, e);
		counted = r->c->range_stop(&stop);
		if (rc < 0 || counted != CUPTI_SUCCESS)
			return rc < 0 ? rc : cuda_cupti_fail(r->c, counted, "cuptiRangeProfilerStop", e);
	}
	if (!stop.whole)
		return err_set(e, ERR_UNSUPPORTED, "the counters need more than %d passes", PASSES_MAX);
	int counted = r->c->range_decode(&decode);
	return counted == CUPTI_SUCCESS ? 0 : cuda_cupti_fail(r->c, counted, "cuptiRangeProfilerDecodeData", e);
}

static int take(struct reading *r, struct wire_counters *to, struct err *e)
{
	double values[MEM_COUNT(metrics)];
	struct cupti_range_count n = { .size = CUPTI_SIZE(cupti_range_count, count), .data = r->data, .data_size = r->data_size };
	int result = r->c->range_count(&n);
	for (size_t i = 0; i < n.count && result == CUPTI_SUCCESS; i++) {
		struct cupti_range_name name = { .size = CUPTI_SIZE(cupti_range_name, name),
						 .data = r->data,
						 .data_size = r->data_size,
						 .range = i,
						 .delimiter = "/" };
		struct cupti_evaluate v = { .size = CUPTI_SIZE(cupti_evaluate, values),
					    .host = r->host,
					    .data = r->data,
					    .data_size = r->data_size,
					    .range = i,
					    .names = r->names,
					    .count = r->count,
					    .values = values };
		result = r->c->range_name(&name);
		if (result == CUPTI_SUCCESS)
			result = r->c->evaluate(&v);
		size_t op = result == CUPTI_SUCCESS && name.name ? strtoul(name.name, NULL, 10) : r->run->plan->op_count;
		for (size_t k = 0; k < r->count && op < r->run->plan->op_count; k++)
			if (isfinite(values[k]))
				*MEM_PUSH(to->counters, to->counter_count) =
					(struct wire_counter){ .kernel = mem_str(r->run->plan->ops[op].launch.kernel),
							       .name = mem_str(metrics[r->place[k]].name),
							       .value = values[k] };
	}
	return result == CUPTI_SUCCESS ? 0 : cuda_cupti_fail(r->c, result, "cuptiProfilerHostEvaluateToGpuValues", e);
}

/* -ERR_UNSUPPORTED is a closed view. */
static int count(struct backend_run *run, struct wire_counters *to, struct err *e)
{
	struct cupti_plain plain = { .size = CUPTI_SIZE(cupti_plain, priv) };
	struct reading r = { .c = run->device->cupti, .run = run };
	int result = r.c->initialize(&plain), rc;
	if (result != CUPTI_SUCCESS)
		return cuda_cupti_fail(r.c, result, "cuptiProfilerInitialize", e);
	choose(&r);
	rc = make_host(&r, e);
	rc = rc < 0 ? rc : make_images(&r, e);
	rc = rc < 0 ? rc : replay(&r, e);
	rc = rc < 0 ? rc : take(&r, to, e);
	if (r.range)
		r.c->range_disable(&(struct cupti_of){ .size = sizeof(struct cupti_of), .object = r.range });
	if (r.host)
		r.c->host_free(&(struct cupti_of){ .size = sizeof(struct cupti_of), .object = r.host });
	r.c->deinitialize(&plain);
	free(r.ops);
	free(r.available);
	free(r.config);
	free(r.data);
	return rc;
}

/* A closed view is an answer; a device fault is not. */
static int closed(int rc, const struct err *why, char **ret_closed, struct err *e)
{
	if (rc == 0)
		return 0;
	if (why->code != ERR_UNSUPPORTED)
		return err_set(e, why->code, "%s", why->text);
	*ret_closed = mem_str(why->text);
	return 0;
}

int cuda_counters_read(struct backend_run *run, struct wire_counters *ret_counters, struct err *e)
{
	const struct cuda_cupti *c = run->device->cupti;
	struct err why = ERR_INIT;
	int rc;
	if (c == NULL)
		return err_set(e, ERR_UNSUPPORTED, "this worker was not started to read counters");
	if (run->gemm || c->text == NULL) {
		ret_counters->counters_closed = mem_str(run->gemm ? "a library's plan is not counted" : c->pc_closed);
		ret_counters->stalls_closed = mem_str(ret_counters->counters_closed);
		return 0;
	}
	/* Samples first: both use the same hardware, and sampling was enabled before the binary was loaded. */
	rc = closed(cuda_stalls_read(run, ret_counters, &why), &why, &ret_counters->stalls_closed, e);
	why = (struct err)ERR_INIT;
	return rc < 0 ? rc : closed(count(run, ret_counters, &why), &why, &ret_counters->counters_closed, e);
}

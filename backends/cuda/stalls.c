/* stalls: see cuda.h. */
#include "backends/cuda/cuda.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cupti.h"
#include "base/clock.h"
#include "base/mem.h"

enum { PCS = 4096, REASONS_MAX = 128, NAME = 128, SHOWN = 64, PERIOD_MIN = 5, PERIOD_MAX = 20 };
#define SAMPLES 200000.0          /* wanted, of all units together */
#define SAMPLED_NS (5 * CLOCK_MS) /* of executions, at least once */
#define PREFIX "smsp__pcsamp_warps_issue_stalled_"

struct sampling {
	const struct cuda_cupti *c;
	struct backend_run *run;
	uint32_t reasons[REASONS_MAX];
	char names[REASONS_MAX][NAME];
	size_t reason_count;
	struct cupti_pcs kept, read; /* what the library fills meanwhile, and what is fetched */
};

static struct cupti_of plain(const struct backend_device *d)
{
	return (struct cupti_of){ .size = sizeof(struct cupti_of), .object = d->context };
}

void cuda_stalls_enable(struct backend_device *d)
{
	struct cupti_of p = plain(d);
	struct err e = ERR_INIT;
	int result = d->cupti->pc_enable(&p);
	if (result != CUPTI_SUCCESS) {
		cuda_cupti_fail(d->cupti, result, "cuptiPCSamplingEnable", &e);
		snprintf(d->cupti->pc_closed, sizeof d->cupti->pc_closed, "%s", e.text);
	}
}

static void pcs_init(struct cupti_pcs *p, size_t reasons)
{
	*p = (struct cupti_pcs){ .size = sizeof *p, .room = PCS, .at = MEM_NEW_N(struct cupti_pc, PCS) };
	for (size_t i = 0; i < PCS; i++)
		p->at[i] = (struct cupti_pc){ .size = sizeof p->at[i],
					      .stall_count = reasons,
					      .stalls = MEM_NEW_N(struct cupti_stall, reasons + 1) };
}

static void pcs_fini(struct cupti_pcs *p)
{
	for (size_t i = 0; p->at && i < PCS; i++)
		free(p->at[i].stalls);
	free(p->at);
}

static int list_reasons(struct sampling *s, struct err *e)
{
	struct cupti_pc_reasons n = { .size = CUPTI_SIZE(cupti_pc_reasons, count),
				      .context = s->run->device->context,
				      .count = &s->reason_count };
	char *names[REASONS_MAX];
	int result = s->c->pc_reasons(&n);
	for (size_t i = 0; i < REASONS_MAX; i++)
		names[i] = s->names[i];
	if (result == CUPTI_SUCCESS && s->reason_count > REASONS_MAX)
		return err_set(e, ERR_UNSUPPORTED, "the device has %zu stall reasons, more than expected", s->reason_count);
	struct cupti_pc_names list = { .size = CUPTI_SIZE(cupti_pc_names, names),
				       .context = n.context,
				       .count = s->reason_count,
				       .reasons = s->reasons,
				       .names = names };
	if (result == CUPTI_SUCCESS)
		result = s->c->pc_names(&list);
	return result == CUPTI_SUCCESS ? 0 : cuda_cupti_fail(s->c, result, "cuptiPCSamplingGetStallReasons", e);
}

static int configure(struct sampling *s, double ns, struct err *e)
{
	const struct facts *f = &s->run->device->facts;
	/* A period that gives about SAMPLES samples in `ns` of execution. */
	double cycles = ns * (f->clock_khz ? f->clock_khz : 1500000) / 1e6,
	       period = log2(cycles * (f->units ? f->units : 1) / SAMPLES);
	struct cupti_pc_attribute list[] = {
		{ .attribute = CUPTI_PC_PERIOD, .value.number = (uint32_t)fmin(fmax(period, PERIOD_MIN), PERIOD_MAX) },
		{ .attribute = CUPTI_PC_REASONS, .value.list = { s->reason_count, s->reasons } },
		{ .attribute = CUPTI_PC_MODE, .value.number = CUPTI_PC_CONTINUOUS },
		{ .attribute = CUPTI_PC_START_STOP, .value.number = 1 },
		{ .attribute = CUPTI_PC_FORMAT, .value.number = CUPTI_PC_PARSED },
		{ .attribute = CUPTI_PC_BUFFER, .value.pointer = &s->kept },
	};
	struct cupti_pc_config config = {
		.size = CUPTI_SIZE(cupti_pc_config, at), .context = s->run->device->context, .count = MEM_COUNT(list), .at = list
	};
	int result = s->c->pc_config(&config);
	return result == CUPTI_SUCCESS ? 0 : cuda_cupti_fail(s->c, result, "cuptiPCSamplingSetConfigurationAttribute", e);
}

static gpu_result execute_once(const struct backend_run *run, float *ret_ms)
{
	size_t op;
	gpu_result result = run->device->api.event_record(run->device->start, run->device->stream);
	if (result == GPU_SUCCESS)
		result = gpu_submit_plan(run, &run->sets[run->current], &op);
	return result == GPU_SUCCESS ? gpu_device_window_end(run->device, ret_ms) : result;
}

static int sample(struct sampling *s, double ns, struct err *e)
{
	struct cupti_of p = plain(s->run->device);
	gpu_result result = GPU_SUCCESS;
	float ms;
	int sampled = s->c->pc_start(&p);
	if (sampled != CUPTI_SUCCESS)
		return cuda_cupti_fail(s->c, sampled, "cuptiPCSamplingStart", e);
	for (double done = 0; done < (double)SAMPLED_NS && result == GPU_SUCCESS; done += ns + 5000)
		result = execute_once(s->run, &ms);
	if (result != GPU_SUCCESS)
		return gpu_device_fail(s->run->device, result, "executing the plan for its stalls", e);
	sampled = s->c->pc_stop(&p);
	return sampled == CUPTI_SUCCESS ? 0 : cuda_cupti_fail(s->c, sampled, "cuptiPCSamplingStop", e);
}

/* "device", line 12; "" and 0 where the binary has no line information. */
static uint32_t find_line(const struct sampling *s, const struct cupti_pc *pc, char **ret_region)
{
	struct cupti_line l = { .size = CUPTI_SIZE(cupti_line, folder),
				.binary = s->run->binary,
				.binary_len = s->run->binary_len,
				.function = pc->function,
				.offset = pc->offset };
	bool known = pc->function && s->c->line(&l) == CUPTI_SUCCESS && l.file;
	const char *slash = known ? strrchr(l.file, '/') : NULL;
	*ret_region = mem_str(known ? (slash ? slash + 1 : l.file) : "");
	free(l.file);
	free(l.folder);
	return known ? l.line : 0;
}

static void add(struct wire_counters *to, const struct cupti_pc *pc, const char *region, uint32_t line, const char *reason,
		uint64_t samples)
{
	const char *kernel = pc->function ? pc->function : "";
	for (size_t i = 0; i < to->stall_count; i++) {
		struct wire_stall *t = &to->stalls[i];
		if (t->line == line && strcmp(t->reason, reason) == 0 && strcmp(t->region, region) == 0 &&
		    strcmp(t->kernel, kernel) == 0) {
			t->samples += samples;
			return;
		}
	}
	*MEM_PUSH(to->stalls, to->stall_count) = (struct wire_stall){
		.kernel = mem_str(kernel), .region = mem_str(region), .line = line, .reason = mem_str(reason), .samples = samples
	};
}

/* "long_scoreboard"; NULL: a reason that repeats others. */
static const char *name_of(const struct sampling *s, uint32_t reason)
{
	for (size_t i = 0; i < s->reason_count; i++)
		if (s->reasons[i] == reason) {
			const char *name = s->names[i];
			size_t n = strlen(name), tail = strlen("_not_issued");
			if (n > tail && strcmp(name + n - tail, "_not_issued") == 0)
				return NULL;
			return strncmp(name, PREFIX, strlen(PREFIX)) == 0 ? name + strlen(PREFIX) : name;
		}
	return NULL;
}

static void take(const struct sampling *s, struct cupti_pcs *from, struct wire_counters *to)
{
	for (size_t i = 0; i < from->count && i < PCS; i++) {
		struct cupti_pc *pc = &from->at[i];
		char *region;
		uint32_t line = find_line(s, pc, &region);
		for (size_t k = 0; k < pc->stall_count && k < s->reason_count; k++) {
			const char *name = name_of(s, pc->stalls[k].reason);
			if (name && pc->stalls[k].samples)
				add(to, pc, region, line, name, pc->stalls[k].samples);
		}
		free(region);
	}
}

static int fetch(struct sampling *s, struct wire_counters *to, struct err *e)
{
	struct cupti_pc_data data = { .size = CUPTI_SIZE(cupti_pc_data, data),
				      .context = s->run->device->context,
				      .data = &s->read };
	enum { ROUNDS = 1000 };
	for (int i = 0; i < ROUNDS; i++) {
		for (size_t k = 0; k < PCS; k++)
			s->read.at[k].stall_count = s->reason_count;
		s->read.count = 0;
		int result = s->c->pc_data(&data);
		if (result != CUPTI_SUCCESS && result != CUPTI_OUT_OF_MEMORY)
			return cuda_cupti_fail(s->c, result, "cuptiPCSamplingGetData", e);
		take(s, &s->read, to);
		if (s->read.count == 0)
			break;
	}
	return 0;
}

static int by_samples(const void *a, const void *b)
{
	const struct wire_stall *x = a, *y = b;
	return (x->samples < y->samples) - (x->samples > y->samples);
}

int cuda_stalls_read(struct backend_run *run, struct wire_counters *io_counters, struct err *e)
{
	struct backend_device *d = run->device;
	struct sampling s = { .c = d->cupti, .run = run };
	struct cupti_of p = plain(d);
	float ms = 0;
	int rc;
	if (*d->cupti->pc_closed)
		return err_set(e, ERR_UNSUPPORTED, "%s", d->cupti->pc_closed);
	gpu_result result = execute_once(run, &ms);
	if (result != GPU_SUCCESS)
		return gpu_device_fail(d, result, "executing the plan before its stalls are sampled", e);
	rc = list_reasons(&s, e);
	if (rc == 0) {
		double ns = (double)ms * 1e6;
		pcs_init(&s.kept, s.reason_count);
		pcs_init(&s.read, s.reason_count);
		rc = configure(&s, ns > (double)SAMPLED_NS ? ns : (double)SAMPLED_NS, e);
		rc = rc < 0 ? rc : sample(&s, ns, e);
		rc = rc < 0 ? rc : fetch(&s, io_counters, e);
	}
	d->cupti->pc_disable(&p);
	snprintf(d->cupti->pc_closed, sizeof d->cupti->pc_closed, "stalls are sampled once in a worker's life");
	pcs_fini(&s.kept);
	pcs_fini(&s.read);
	if (io_counters->stall_count)
		qsort(io_counters->stalls, io_counters->stall_count, sizeof *io_counters->stalls, by_samples);
	for (; io_counters->stall_count > SHOWN; io_counters->stall_count--) {
		struct wire_stall *last = &io_counters->stalls[io_counters->stall_count - 1];
		free(last->kernel);
		free(last->region);
		free(last->reason);
	}
	return rc;
}

/* Hardware counters and stalls by CUPTI, against a stand-in library and driver: how many passes, which ranges, what becomes of the
 * counts, and which gate is named when a view is closed. Layouts have the sizes that CUPTI 13.0's own headers give. */
#include "backends/cuda/cuda.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/cuda/cupti.h"
#include "backends/gpu/run.h"
#include "stub.h"
#include "tap.h"

static int launches;

static gpu_result context_use(gpu_context c) { (void)c; return 0; }
static gpu_result memory_alloc(gpu_address *to, size_t n) { *to = (gpu_address)(uintptr_t)malloc(n); return 0; }
static gpu_result memory_set(gpu_address to, unsigned char v, size_t n, gpu_stream s)
{
	(void)to;
	(void)v;
	(void)n;
	(void)s;
	return 0;
}
static gpu_result event_record(gpu_event e, gpu_stream s) { (void)e; (void)s; return 0; }
static gpu_result event_elapsed(float *ms, gpu_event a, gpu_event b) { (void)a; (void)b; *ms = 1; return 0; }
static gpu_result stream_wait(gpu_stream s) { (void)s; return 0; }
static gpu_result launch(gpu_function f, unsigned a, unsigned b, unsigned c, unsigned x, unsigned y, unsigned z, unsigned n,
			 gpu_stream s, void **args, void **extra)
{
	(void)f; (void)a; (void)b; (void)c; (void)x; (void)y; (void)z; (void)n; (void)s; (void)args; (void)extra;
	launches++;
	return 0;
}

static void sizes(void)
{
	is_int((long long)CUPTI_SIZE(cupti_host, host), 48, "parameters of the host object");
	is_int((long long)CUPTI_SIZE(cupti_metrics, count), 40, "of metrics");
	is_int((long long)CUPTI_SIZE(cupti_evaluate, values), 72, "of values");
	is_int((long long)CUPTI_SIZE(cupti_range_config, level), 90, "of a pass");
	is_int((long long)CUPTI_SIZE(cupti_range_stop, whole), 41, "of its end");
	is_int((long long)CUPTI_SIZE(cupti_range_data_size, bytes), 64, "of the size of data");
	is_int((long long)sizeof(struct cupti_pc), 64, "a sampled place");
	is_int((long long)sizeof(struct cupti_pcs), 80, "a list of them");
	is_int((long long)sizeof(struct cupti_pc_attribute), 32, "an attribute of sampling");
}

static void add_launch(struct plan *p, const char *kernel, uint32_t blocks)
{
	struct plan_op *op = MEM_PUSH(p->ops, p->op_count);
	*op = (struct plan_op){ .kind = PLAN_OP_LAUNCH,
				.launch = { .kernel = mem_str(kernel), .grid = { blocks, 1, 1 }, .block = { 64, 1, 1 } } };
}

/* The figures of what is read now. */
static struct wire_counters read_now(struct backend_run *run, struct backend_device *d)
{
	struct wire_counters c = { .counters = NULL };
	struct err e = ERR_INIT;
	launches = 0;
	cuda_counters_start(d);
	is_int(cuda_counters_read(run, &c, &e), 0, "counters are read, or their views are closed %s", e.text);
	free(d->cupti);
	d->cupti = NULL;
	return c;
}

static void read_all(struct backend_run *run, struct backend_device *d, void *stub)
{
	int *alive = dlsym(stub, "stub_range_alive"), *hosts = dlsym(stub, "stub_host_alive"), *wrong = dlsym(stub, "stub_wrong"),
	    *pushed = dlsym(stub, "stub_pushed"), *refuse = dlsym(stub, "stub_range_result"),
	    *sampling = dlsym(stub, "stub_sampling_result");
	struct wire_counters c = read_now(run, d);
	ok(c.counters_closed == NULL && c.stalls_closed == NULL, "both views are open");
	is_int(*pushed, 6, "two kernels in three passes: one range for the larger launch of each");
	is_int((long long)c.counter_count, 4, "two counters of either kernel; what the chip lacks is left out");
	ok(strcmp(c.counters[0].kernel, "second") == 0 && strcmp(c.counters[0].name, "dram_read") == 0 &&
		   c.counters[0].value == 1000,
	   "a counter has the kernel's name, peakd's name and its value");
	ok(strcmp(c.counters[2].kernel, "first") == 0 && c.counters[2].value == 2000,
	   "and so has the next kernel, whose larger launch comes last");
	is_int((long long)c.stall_count, 2, "stalls that repeat others are left out");
	ok(c.stalls[0].line == 4 && strcmp(c.stalls[0].reason, "long_scoreboard") == 0 && c.stalls[0].samples == 200 &&
	   strcmp(c.stalls[0].region, "device") == 0, "the most frequent first, by the region's line");
	ok(*alive == 0 && *hosts == 0, "nothing of the profiler is left");
	is_int(*wrong, 0, "the library found every parameter as documented");
	ok(launches >= 3 * 3 + 2 * 3, "the plan is executed for each pass, and while it is sampled");
	wire_counters_fini(&c);
	*refuse = CUPTI_INSUFFICIENT_PRIVILEGES;
	c = read_now(run, d);
	has_str(c.counters_closed, "ERR_NVGPUCTRPERM", "a driver that gives no counters is named");
	has_str(c.counters_closed, "CAP_PERFMON", "with what opens it");
	ok(c.stalls_closed == NULL && c.stall_count == 2, "the other view stays open");
	ok(*hosts == 0, "and nothing of the profiler is left");
	wire_counters_fini(&c);
	*sampling = CUPTI_INSUFFICIENT_PRIVILEGES;
	c = read_now(run, d);
	has_str(c.stalls_closed, "ERR_NVGPUCTRPERM", "so it is for stalls");
	wire_counters_fini(&c);
	*refuse = 7;
	c = read_now(run, d);
	has_str(c.counters_closed, "cuptiRangeProfilerEnable answers 7", "other refusals name the function");
	wire_counters_fini(&c);
}

int main(void)
{
	char folder[] = "/tmp/peakd-cupti-XXXXXX";
	if (mkdtemp(folder) == NULL)
		return 1;
	char *lib = mem_fmt("%s/lib64", folder), *file = mem_fmt("%s/libcupti.so.13", lib);
	mkdir(lib, 0700);
	setenv("PEAKD_CUDA_TOOLKIT", folder, 1);
	setenv("PEAKD_COUNTERS_WORKER", "1", 1);
	sizes();
	struct backend_device d = { .api = { .context_use = context_use,
					     .memory_alloc = memory_alloc,
					     .memory_set = memory_set,
					     .event_record = event_record,
					     .event_elapsed = event_elapsed,
					     .stream_wait = stream_wait,
					     .launch = launch },
				    .flush_bytes = 64,
				    .scrub = { .tried = true } };
	struct plan *p = plan_new();
	add_launch(p, "first", 4);
	add_launch(p, "second", 1);
	add_launch(p, "first", 9);
	gpu_function functions[3] = { NULL };
	struct backend_run run = { .device = &d, .plan = p, .functions = functions, .set_count = 1, .binary = "binary",
				   .binary_len = 6 };
	struct err e = ERR_INIT;
	struct wire_counters c = { .counters = NULL };
	is_int(cuda_counters_read(&run, &c, &e), -ERR_UNSUPPORTED, "a worker that was not started for counters reads none");
	c = read_now(&run, &d);
	has_str(c.counters_closed, "cuda-cupti", "without the library the view names its package");
	wire_counters_fini(&c);
	if (stub_build("LIB_CUPTI", file))
		read_all(&run, &d, dlopen(file, RTLD_NOW | RTLD_LOCAL));
	else
		SKIP(1, "no C compiler");
	plan_free(p);
	free((void *)(uintptr_t)d.flush);
	unlink(file);
	rmdir(lib);
	rmdir(folder);
	free(file);
	free(lib);
	return tap_done();
}

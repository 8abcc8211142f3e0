/* Running a plan against a fake runtime: which calls it gets, in which order, and which errors its failures become.
 * Shows without a GPU that nothing leaks, that addresses stay inside allocations, and that every failure has its
 * kind. */
#include "backends/hip/image.h"
#include "backends/hip/hip.h"
#define PLANS_BACKEND backend_hip
#include "backends/plans.h"

#include "backends/gpu/run.h"
#include "tap.h"

/* The runtime's state; one test process, one runtime. */
static struct {
	int blocks, graphs, execs, modules;            /* alive */
	int capturing, captured, submitted, sets, records, replays, cooperative;
	gpu_result fail_wait, fail_launch, fail_load;  /* what these answer */
	int per_unit;                                  /* what occupancy answers */
	unsigned grid[3], block[3], shared;            /* of the last launch */
	uint64_t arg[2];                               /* first bytes of its arguments */
	size_t left, total;                                   /* bytes of memory */
	int executions;                                /* counted where they run, when marks is set */
	bool marks;                                    /* an execution leaves its number in the first byte of the output */
} fake;

#include "backends/gpu/fake_calls.h"

static const char *error_name(gpu_result r) { (void)r; return "FAKE"; }

static void count(void) { *(fake.capturing ? &fake.captured : &fake.submitted) += 1; }

static gpu_result copy_within(gpu_address to, gpu_address from, size_t n, gpu_stream s)
{
	(void)s;
	count();
	memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, n);
	return 0;
}

static gpu_result memory_set(gpu_address to, unsigned char value, size_t n, gpu_stream s)
{
	(void)s;
	if (n == 1 << 16)
		fake.sets++; /* the flush */
	else if (value != 0xFD) /* the pattern around buffers */
		count();
	memset((void *)(uintptr_t)to, value, n);
	return 0;
}

static gpu_result module_function(gpu_function *f, gpu_library m, const char *name)
{
	(void)m;
	(void)name;
	*f = (gpu_function)&fake;
	return 0;
}

static gpu_result launch(gpu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			 unsigned shared, gpu_stream stream, void **args, void **extra)
{
	(void)f; (void)stream; (void)extra;
	if (fake.fail_launch)
		return fake.fail_launch;
	count();
	memcpy(fake.grid, (unsigned[]){ gx, gy, gz }, sizeof fake.grid);
	memcpy(fake.block, (unsigned[]){ bx, by, bz }, sizeof fake.block);
	fake.shared = shared;
	memcpy(&fake.arg[0], args[0], 8);
	memcpy(&fake.arg[1], args[1], 4);
	if (fake.marks && !fake.capturing && shared == 100) /* the last launch of the plan */
		*(unsigned char *)(uintptr_t)fake.arg[0] = (unsigned char)++fake.executions;
	return 0;
}

static gpu_result launch_cooperative(gpu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                     unsigned shared, gpu_stream stream, void **args)
{
	fake.cooperative++;
	return launch(f, gx, gy, gz, bx, by, bz, shared, stream, args, NULL);
}

static gpu_result graph_instantiate(gpu_exec *x, gpu_graph g, unsigned long long flags)
{
	(void)g;
	(void)flags;
	*x = (gpu_exec)(uintptr_t)fake.arg[0];
	fake.execs++;
	return 0;
}
static gpu_result graph_launch(gpu_exec x, gpu_stream s)
{
	(void)s;
	fake.replays++;
	if (fake.marks)
		*(unsigned char *)x = (unsigned char)++fake.executions;
	return 0;
}

static struct backend_device new_device(bool graphs)
{
	struct backend_device d = {
		.api = { FAKE_CALLS, .name_of_error = error_name, .text_of_error = error_name,
			 .copy_within = copy_within, .memory_set = memory_set, .module_function = module_function,
			 .launch = launch, .launch_cooperative = launch_cooperative,
			 .graph_instantiate = graph_instantiate, .graph_launch = graph_launch },
		.cooperative = true, .graphs = graphs, .flush_bytes = 1 << 16,
	};
	backend_hip.describe("gfx90a", &d.facts, NULL);
	d.facts.units = 10;
	memset(&fake, 0, sizeof fake);
	fake.per_unit = 1;
	fake.left = 1000;
	return d;
}

/* A table of 1, 2, 3, 4 and an output; memset, copy, two launches of "kern" with {C, -7}. */
static struct plan *new_plan(void)
{
	struct plan *p = plan_new();
	float table[4] = { 1, 2, 3, 4 };

	add_buffer(p, "T", PLAN_TABLE, 1, 4);
	p->buffers[0].table = mem_copy(table, sizeof table);
	add_buffer(p, "C", PLAN_OUT, 3, 5);
	*MEM_PUSH(p->ops, p->op_count) =
		(struct plan_op){ .kind = PLAN_OP_MEMSET, .memset = { .buffer = 1, .bytes = 60, .value = 0x11 } };
	*MEM_PUSH(p->ops, p->op_count) = (struct plan_op){
		.kind = PLAN_OP_COPY, .copy = { .dst = 1, .src = 0, .dst_offset = 8, .src_offset = 4, .bytes = 8 } };
	for (int i = 0; i < 2; i++) {
		struct plan_launch *l = add_launch(p, "kern", 4, 3, 64, 2);
		l->shared = i == 0 ? 60000 : 100;
		add_buffer_arg(l, "C", 1);
		add_int_arg(l, "n", DTYPE_I32, -7);
	}
	return p;
}

static void reads_and_writes(struct backend_run *run)
{
	struct err e = ERR_INIT;
	float got[4];
	unsigned char c[60], zone[BACKEND_RED_ZONE] = { 0 };

	is_int(backend_hip.read(run, 0, 0, got, sizeof got, &e), 0, "read the table");
	ok(got[0] == 1 && got[3] == 4, "the table was written");
	backend_hip.read(run, 1, 0, c, sizeof c, &e);
	ok(c[0] == 0x11 && c[59] == 0x11 && memcmp(c + 8, &got[1], 8) == 0, "memset and copy write their bytes");
	is_int(backend_hip.write(run, 1, -BACKEND_RED_ZONE, zone, sizeof zone, &e), 0, "write the red zone before a buffer");
	is_int(backend_hip.write(run, 1, 60, zone, sizeof zone, &e), 0, "write the red zone behind a buffer");
	is_int(backend_hip.write(run, 1, 61, zone, sizeof zone, &e), -ERR_INPUT, "a write behind the red zone is refused");
	is_int(backend_hip.fill(run, 1, 0x77, &e), 0, "fill a buffer");
	unsigned char filled[62];
	backend_hip.read(run, 1, -1, filled, sizeof filled, &e);
	ok(filled[0] == 0 && filled[1] == 0x77 && filled[60] == 0x77 && filled[61] == 0,
	   "a fill writes the buffer and not its red zones");
	is_int(backend_hip.fill(run, 2, 0, &e), -ERR_INPUT, "a fill of a missing buffer is refused");
	is_int(backend_hip.read(run, 1, INT64_MIN, zone, 1, &e), -ERR_INPUT, "a read at the lowest offset is refused");
	is_int(backend_hip.read(run, 1, INT64_MAX, zone, 1, &e), -ERR_INPUT, "a read at the highest offset is refused");
	is_int(backend_hip.read(run, 2, 0, zone, 1, &e), -ERR_INPUT, "a read of a missing buffer is refused");
}

/* The same plan, recorded into a graph (ROCm 6 and newer) or submitted each time. */
static void runs(const struct buf *im, bool graphs)
{
	struct backend_device d = new_device(graphs);
	struct plan *p = new_plan();
	struct backend_run *run = NULL;
	struct err e = ERR_INIT;
	uint64_t ns = 0;

	p->ops[2].launch.cooperative = true;
	fake.per_unit = 2; /* 20 blocks at once, 12 asked */
	is_int(backend_hip.prepare(&d, im->data, im->len, p, &run, &e), 0, "prepare a plan, %s (%s)", graphs ? "graph" : "stream",
	       e.text);
	if (!run)
		return;
	is_int(fake.captured, graphs ? 4 : 0, "operations are recorded where there are graphs");
	is_int(backend_hip.execute(run, 3, WIRE_WARM, &ns, &e), 0, "execute three times");
	ok(fake.replays == (graphs ? 3 : 0) && fake.submitted == (graphs ? 0 : 12),
	   "three executions: %d replays, %d operations submitted", fake.replays, fake.submitted);
	ok(fake.records == 2 && fake.sets == 0 && ns == 1000000, "warm: one window around three executions");
	is_int(fake.cooperative, graphs ? 1 : 3, "the first launch is cooperative");
	ok(fake.grid[0] == 4 && fake.grid[1] == 3 && fake.block[0] == 64 && fake.block[1] == 2 && fake.shared == 100,
	   "the launch has its geometry");
	ok(fake.arg[0] % 1024 == 0, "buffers start at multiples of 1024");
	is_int((int32_t)fake.arg[1], -7, "the kernel gets the scalar");
	reads_and_writes(run);
	is_int(backend_hip.execute(run, 3, WIRE_COLD, &ns, &e), 0, "execute three times cold");
	ok(fake.records == 8 && fake.sets == 3 && ns == 3000000, "cold: three windows, with a reset and a flush before each");
	is_int(backend_hip.execute(run, 0, WIRE_WARM, &ns, &e), -ERR_INPUT, "zero executions are refused");
	is_int(fake.blocks, 3, "memory: two buffers and the flush");
	backend_hip.release(run);
	memory_free(d.flush);
	clean("after release");
	plan_free(p);
}

/* Three times the cache makes three sets of buffers, which take turns in cold timing. */
static void rotates(const struct buf *im, bool graphs)
{
	const char *how = graphs ? "graph" : "stream";
	struct backend_device d = new_device(graphs);
	struct plan *p = new_plan();
	struct backend_run *run = NULL;
	struct err e = ERR_INIT;
	unsigned char nine = 9, seen[4] = { 0 };
	uint64_t ns;

	d.cache_bytes = 200 << 10;
	fake.left = 1 << 30;
	fake.marks = true;
	is_int(backend_hip.prepare(&d, im->data, im->len, p, &run, &e), 0, "%s: a plan that rotates is prepared (%s)", how, e.text);
	if (!run)
		return;
	unsigned count = 0;
	is_int(backend_hip.make_sets(run, WIRE_COLD, &count, &e), 0, "%s: sets are made (%s)", how, e.text);
	is_int(count, 3, "%s: three of them", how);
	backend_hip.write(run, 1, 0, &nine, 1, &e);
	for (int i = 0; i < 4; i++) {
		is_int(backend_hip.execute(run, 1, i ? WIRE_COLD : WIRE_WARM, &ns, &e), 0, "%s: execution %d (%s)", how, i + 1,
		       e.text);
		backend_hip.read(run, 1, 0, &seen[i], 1, &e);
	}
	is_int(fake.blocks, 7, "%s: three sets of two buffers, and the flush", how);
	ok(seen[0] == 1 && seen[1] == 2 && seen[2] == 3 && seen[3] == 4, "%s: reads see the set of the last execution", how);
	is_int(backend_hip.used_set(run), 0, "%s: which take turns", how);
	backend_hip.release(run);
	memory_free(d.flush);
	clean("after release");
	plan_free(p);
}

/* Prepares a plan that must fail. */
static void fails(const char *what, struct backend_device d, struct plan *take_plan, const struct buf *im, enum err_code want,
                  const char *part)
{
	struct backend_run *run = NULL;
	struct err e = ERR_INIT;

	is_int(backend_hip.prepare(&d, im->data, im->len, take_plan, &run, &e), -(int)want, "%s: %s", what, err_code_name(want));
	has_str(e.text, part, "%s: the message says what", what);
	ok(run == NULL, "%s: no run is returned", what);
	clean(what);
	plan_free(take_plan);
}

static void failures(const struct buf *im)
{
	struct backend_device d = new_device(true);
	struct buf garbage = { .data = (char *)"garbage", .len = 7 };
	struct plan *p = new_plan();

	p->buffers[1].bytes = UINT64_C(1) << 40;
	fails("more than the memory", d, p, im, ERR_PRUNED, "1000 of 2000 bytes are free");
	p = new_plan();
	p->buffers[1].bytes = UINT64_C(1) << 40;
	fake.total = (size_t)1 << 41;
	fails("more than is left of the memory", d, p, im, ERR_BUSY, "bytes are free");
	fake.total = 0;
	fails("not a binary", d, new_plan(), &garbage, ERR_INTERNAL, "not an AMD code object");
	fake.fail_load = GPU_NO_BINARY;
	fails("another architecture", d, new_plan(), im, ERR_INPUT, "another architecture");
	d = new_device(true);
	fake.fail_launch = GPU_OUT_OF_RESOURCES;
	fails("too many resources", d, new_plan(), im, ERR_PRUNED, "operation 3, kernel kern");
	fake.fail_launch = GPU_INVALID_VALUE;
	fails("anything else", d, new_plan(), im, ERR_INTERNAL, "FAKE");
	d = new_device(true);
	fake.fail_wait = GPU_ILLEGAL_ADDRESS; /* of an earlier run */
	fails("a fault", d, new_plan(), im, ERR_CRASH, "device fault 700");
	d = new_device(true);
	p = new_plan();
	p->ops[2].launch.cooperative = true;
	fails("a cooperative grid", d, p, im, ERR_PRUNED, "12 blocks was asked for, and the device holds 10");
	d.cooperative = false;
	p = new_plan();
	p->ops[2].launch.cooperative = true;
	fails("no cooperative launches", d, p, im, ERR_UNSUPPORTED, "no cooperative launches");
	p = new_plan();
	p->ops[3].launch.block[0] = 65;
	fails("launch bounds", d, p, im, ERR_PRUNED, "asks for 130 threads per block, but its __launch_bounds__ allow 128");
	p = new_plan();
	free(p->ops[3].launch.kernel);
	p->ops[3].launch.kernel = mem_str("other");
	fails("a missing kernel", d, p, im, ERR_INPUT, "it has: kern");
}

static void faults(const struct buf *im)
{
	static const gpu_result sticky[] = { 700, 702, 710, 719, 1052, 1053 };
	struct backend_device d = new_device(false);
	struct plan *p = new_plan();
	struct backend_run *run = NULL;
	struct err e = ERR_INIT;
	uint64_t ns = 77;
	char byte = 0;

	is_int(backend_hip.prepare(&d, im->data, im->len, p, &run, &e), 0, "prepare a plan that faults (%s)", e.text);
	for (size_t i = 0; i < MEM_COUNT(sticky); i++) {
		fake.fail_wait = sticky[i];
		is_int(backend_hip.execute(run, 1, WIRE_WARM, &ns, &e), -ERR_CRASH, "%d is a crash", sticky[i]);
	}
	is_int(backend_hip.read(run, 0, 0, &byte, 1, &e), -ERR_CRASH, "a read after the fault is a crash");
	is_int(backend_hip.write(run, 0, 0, &byte, 1, &e), -ERR_CRASH, "a write after the fault is a crash");
	fake.fail_wait = GPU_OUT_OF_RESOURCES;
	is_int(backend_hip.execute(run, 1, WIRE_COLD, &ns, &e), -ERR_PRUNED, "701 is a limit");
	static const gpu_result troubles[] = { 214, 999 };
	for (size_t i = 0; i < MEM_COUNT(troubles); i++) {
		fake.fail_wait = troubles[i];
		is_int(backend_hip.execute(run, 1, WIRE_COLD, &ns, &e), -ERR_IO, "%d is not the kernel's fault", troubles[i]);
	}
	fake.fail_wait = 400;
	is_int(backend_hip.execute(run, 1, WIRE_COLD, &ns, &e), -ERR_INTERNAL, "400 is an internal error");
	is_int(ns, 77, "a crash gives no time");
	backend_hip.release(run);
	memory_free(d.flush);
	clean("after faults");
	plan_free(p);
}

int main(void)
{
	struct buf im = BUF_INIT;

	image(&im);
	runs(&im, true);
	runs(&im, false);
	rotates(&im, true);
	rotates(&im, false);
	failures(&im);
	faults(&im);
	buf_fini(&im);
	return tap_done();
}

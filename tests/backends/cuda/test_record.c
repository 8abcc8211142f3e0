/* Running a plan against a fake driver: which calls it gets, in which order, and which errors its failures become.
 * Shows without a GPU that nothing leaks, that addresses stay inside allocations, and that every failure has its
 * kind. */
#include "backends/cuda/image.h"
#include "backends/cuda/cuda.h"
#define PLANS_BACKEND backend_cuda
#include "backends/plans.h"

#include "backends/cuda/fake_driver.h"
#include "tap.h"

/* A table of 1, 2, 3, 4 and an output; copy, memset, two launches of "kern" with {C, -7, map of C}. */
static struct plan *new_plan(void)
{
	struct plan *p = plan_new();
	float table[4] = { 1, 2, 3, 4 };

	add_buffer(p, "T", PLAN_TABLE, 1, 4);
	p->buffers[0].table = mem_copy(table, sizeof table);
	add_buffer(p, "C", PLAN_OUT, 3, 5);
	*MEM_PUSH(p->maps, p->map_count) = (struct plan_map){ .buffer = 1,
							      .type = DTYPE_BF16,
							      .rank = 2,
							      .dims = { 8, 3 },
							      .strides = { 0, 16 },
							      .box = { 8, 2 },
							      .swizzle = 64,
							      .fill_nan = true };
	*MEM_PUSH(p->ops, p->op_count) =
		(struct plan_op){ .kind = PLAN_OP_MEMSET, .memset = { .buffer = 1, .bytes = 60, .value = 0x11 } };
	*MEM_PUSH(p->ops, p->op_count) = (struct plan_op){
		.kind = PLAN_OP_COPY, .copy = { .dst = 1, .src = 0, .dst_offset = 8, .src_offset = 4, .bytes = 8 } };
	for (int i = 0; i < 2; i++) {
		struct plan_launch *l = add_launch(p, "kern", 4, 3, 64, 2);
		l->shared = i == 0 ? 60000 : 100;
		add_buffer_arg(l, "C", 1);
		add_int_arg(l, "n", DTYPE_I32, -7);
		add_map_arg(l, 0);
	}
	return p;
}

static void runs(const struct buf *im)
{
	struct backend_device d = new_device();
	struct plan *p = new_plan();
	struct backend_run *run = NULL;
	struct err e = ERR_INIT;
	float got[4];
	unsigned char c[60], zone[BACKEND_RED_ZONE];
	uint64_t ns = 0;

	p->ops[2].launch.cooperative = true;
	fake.per_unit = 2; /* 20 blocks at once, 12 asked */
	is_int(backend_cuda.prepare(&d, im->data, im->len, p, &run, &e), 0, "prepare a plan (%s)", e.text);
	if (!run)
		return;
	is_int(fake.captured, 4, "all four operations are recorded");
	is_int(fake.dynamic_shared, 60000, "dynamic shared memory is set to the largest launch's");
	is_int(fake.shared_calls, 1, "dynamic shared memory is set once");
	ok(fake.arg[0] % 1024 == 0, "buffers start at multiples of 1024");
	ok((gpu_address)(uintptr_t)fake.map_buffer == fake.arg[0], "the tensor map has the buffer's address");
	is_int((int32_t)fake.arg[1], -7, "the kernel gets the scalar");
	is_int(fake.arg[2], 0x7e5008, "the kernel gets the tensor map by value");
	is_int(fake.map_address % 128, 0, "the tensor map is aligned");
	ok(fake.strides[0] == 16 && fake.map_type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 &&
		   fake.map_swizzle == CU_TENSOR_MAP_SWIZZLE_64B &&
		   fake.map_fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
	   "the tensor map has stride, type, swizzle and fill");
	is_int(backend_cuda.read(run, 0, 0, got, sizeof got, &e), 0, "read the table");
	ok(got[0] == 1 && got[3] == 4, "the table was written");
	backend_cuda.read(run, 1, 0, c, sizeof c, &e);
	ok(c[0] == 0x11 && c[59] == 0x11 && memcmp(c + 8, &got[1], 8) == 0, "memset and copy write their bytes");
	is_int(backend_cuda.write(run, 1, -BACKEND_RED_ZONE, zone, sizeof zone, &e), 0, "write the red zone before a buffer");
	is_int(backend_cuda.write(run, 1, 60, zone, sizeof zone, &e), 0, "write the red zone behind a buffer");
	is_int(backend_cuda.write(run, 1, 61, zone, sizeof zone, &e), -ERR_INPUT, "a write behind the red zone is refused");
	is_int(backend_cuda.read(run, 1, INT64_MIN, zone, 1, &e), -ERR_INPUT, "a read at the lowest offset is refused");
	is_int(backend_cuda.read(run, 1, INT64_MAX, zone, 1, &e), -ERR_INPUT, "a read at the highest offset is refused");
	is_int(backend_cuda.read(run, 2, 0, zone, 1, &e), -ERR_INPUT, "a read of a missing buffer is refused");

	const gpu_address page = 2 << 20;
	const gpu_address *at = run->sets[0].buffers;
	ok(at[1] % page == 0, "of two buffers one begins with a piece of 2 MiB");
	unsigned near = 9;
	uint8_t *first = (uint8_t *)(uintptr_t)fake.arg[0];
	is_int(backend_cuda.strayed(run, &near, &e), 0, "look at what lies around the buffers");
	is_int(near, 0, "nothing was written there");
	first[-(BACKEND_RED_ZONE + (256 << 10))] ^= 1;
	backend_cuda.strayed(run, &near, &e);
	is_int(near, 2, "a write 320 KiB before a buffer is found");
	first[-(BACKEND_RED_ZONE + (256 << 10))] ^= 1;
	first[700000] ^= 1;
	backend_cuda.strayed(run, &near, &e);
	is_int(near, 2, "a write 700 KB behind it is found");
	first[700000] ^= 1;
	is_int(fake.looks, 3 * 4, "the device looked at both sides of two buffers each time");
	gpu_scrub_free(&d);
	is_int(backend_cuda.execute(run, 3, WIRE_WARM, &ns, &e), 0, "execute three times");
	ok(fake.replays == 3 && fake.records == 2 && fake.sets == 0 && ns == 1000000, "warm: one window around three replays");
	is_int(backend_cuda.execute(run, 3, WIRE_COLD, &ns, &e), 0, "execute three times cold");
	ok(fake.replays == 6 && fake.records == 8 && fake.sets == 6 && ns == 3000000,
	   "cold: three windows, with a reset and a flush before each");
	is_int(fake.blocks, 3, "memory: two buffers and the flush");
	backend_cuda.release(run);
	d.api.memory_free(d.flush);
	clean("after release");
	plan_free(p);
}

/* A prepared plan on a device of which three times the L2 cache makes three sets of buffers. */
struct prepared {
	struct backend_device d;
	struct plan *plan;
	struct backend_run *run;
};

static struct backend_run *begin(struct prepared *x, const struct buf *im)
{
	struct err e = ERR_INIT;

	*x = (struct prepared){ .d = new_device(), .plan = new_plan() };
	x->d.cache_bytes = 200 << 10;
	fake.left = 1 << 30;
	is_int(backend_cuda.prepare(&x->d, im->data, im->len, x->plan, &x->run, &e), 0, "prepare a plan (%s)", e.text);
	return x->run;
}

static void end(struct prepared *x)
{
	backend_cuda.release(x->run);
	if (x->d.flush)
		x->d.api.memory_free(x->d.flush);
	gpu_scrub_free(&x->d);
	clean("after release");
	plan_free(x->plan);
}

static int first_byte(struct backend_run *run)
{
	struct err e = ERR_INIT;
	unsigned char byte = 0;
	return backend_cuda.read(run, 1, 0, &byte, 1, &e) < 0 ? -1 : byte;
}

/* Sets of buffers for this way of timing, each with 9 in its output. */
static unsigned sets_of_nine(struct backend_run *run, enum wire_cache cache)
{
	struct err e = ERR_INIT;
	unsigned char nine = 9;
	unsigned count = 0;

	fake.marks = true;
	is_int(backend_cuda.make_sets(run, cache, &count, &e), 0, "sets are made (%s)", e.text);
	for (unsigned i = 0; i < count; i++) {
		backend_cuda.use_set(run, i);
		backend_cuda.write(run, 1, 0, &nine, 1, &e);
	}
	backend_cuda.use_set(run, 0);
	return count;
}

/* Cold timing takes turns with sets of all buffers. A set is reset a whole round before its turn, so that it is cold then. */
static void rotates(const struct buf *im)
{
	struct prepared x;
	struct backend_run *run = begin(&x, im);
	struct err e = ERR_INIT;
	uint64_t ns;

	x.d.flush_bytes = 64 << 20; /* more than hides a submission */
	is_int(sets_of_nine(run, WIRE_COLD), 3, "three sets exceed the cache three times");
	ok(backend_cuda.scrubs(run), "shared memory can be overwritten");
	backend_cuda.execute(run, 1, WIRE_WARM, &ns, &e);
	is_int(first_byte(run), 1, "a warm execution runs on the selected set");
	is_int(fake.found[1], 9, "and finds what was written");
	backend_cuda.execute(run, 1, WIRE_COLD, &ns, &e);
	is_int(fake.blocks, 8, "memory: three sets of two buffers, the flush, and where peakd_strayed answers");
	is_int(backend_cuda.used_set(run), 1, "a cold execution runs on the next set");
	is_int(first_byte(run), 2, "whose output is there to be read");
	backend_cuda.execute(run, 4, WIRE_COLD, &ns, &e);
	is_int(backend_cuda.used_set(run), 2, "four more take turns");
	ok(fake.found[2] == 0xff && fake.found[3] == 0xff && fake.found[4] == 0xff && fake.found[5] == 0xff &&
		   fake.found[6] == 0xff,
	   "every cold execution finds poison in its output");
	ok(fake.scrubs == 2 * 5 && fake.scrubbed == BACKEND_SCRUB_TIMED, "and shared memory overwritten");
	is_int(backend_cuda.scrub(run, BACKEND_SCRUB_OTHER, &e), 0, "it can be overwritten before a judged execution");
	ok(fake.scrubs == 2 * 6 && fake.scrubbed == BACKEND_SCRUB_OTHER, "with the other word");
	run->local_bytes = 5000;
	is_int(backend_cuda.scrub(run, BACKEND_SCRUB_OTHER, &e), 0, "it can be overwritten beside local memory");
	is_int(fake.scrubs, 2 * 7 + 1, "which is overwritten where a kernel has some");
	run->local_bytes = 0;
	fake.scrubs = 2 * 6;
	ok(fake.set_bytes < x.d.flush_bytes, "what is overwritten before a window hides the submission, and is no flush");
	backend_cuda.use_set(run, 1);
	is_int(first_byte(run), 0xff, "an earlier set is reset already");
	end(&x);
}

/* A search takes a few samples of hundreds of configurations: the cache is flushed, and small sets alone take turns. */
static void only_flushes(const struct buf *im)
{
	struct prepared x;
	struct backend_run *run = begin(&x, im);
	struct err e = ERR_INIT;
	uint64_t ns;

	x.d.flush_bytes = 64 << 20;
	is_int(sets_of_nine(run, WIRE_FLUSHED), 3, "three small sets");
	is_int(backend_cuda.execute(run, 3, WIRE_FLUSHED, &ns, &e), 0, "execute with a flush");
	ok(fake.sets == 6 && fake.set_bytes == x.d.flush_bytes,
	   "the output is reset, and the whole cache is overwritten before each execution");
	ok(fake.replays == 3 && fake.records == 6 && ns == 3000000, "each in a window of its own");
	ok(fake.found[1] == 0xff && fake.found[2] == 0xff && fake.found[3] == 0xff, "each finds poison in its output");
	for (unsigned i = 0; i < 3; i++) {
		backend_cuda.use_set(run, (i + 1) % 3);
		is_int(first_byte(run), i + 1, "execution %u left its output in its set", i + 1);
	}
	end(&x);
	begin(&x, im);
	x.plan->buffers[1].bytes = (64 << 20) + 1;
	unsigned count = 0;
	is_int(backend_cuda.make_sets(x.run, WIRE_FLUSHED, &count, &e), 0, "large buffers in a search");
	is_int(count, 1, "have one set: further ones would take long to write");
	x.plan->buffers[1].bytes = 60;
	end(&x);
}

/* In the caches and nowhere else; and with everything that the execution before left. */
static void hot_and_unreset(const struct buf *im)
{
	struct prepared x;
	struct backend_run *run = begin(&x, im);
	struct err e = ERR_INIT;
	uint64_t ns;

	sets_of_nine(run, WIRE_HOT);
	backend_cuda.execute(run, 1, WIRE_HOT, &ns, &e);
	ok(fake.replays == 2 && fake.records == 2 && fake.scrubs == 2, "hot: an untimed execution, a reset, a timed one");
	ok(fake.found[1] == 9 && fake.found[2] == 0xff, "the timed one finds poison");
	backend_cuda.execute(run, 1, WIRE_UNRESET, &ns, &e);
	ok(fake.replays == 4 && fake.records == 4 && fake.scrubs == 2, "unreset: an untimed execution and a timed one");
	ok(fake.found[3] == 2 && fake.found[4] == 3, "each finds what the one before left");
	end(&x);
}

/* Every timed execution starts from the inout values that were written, however often it was executed. */
static void inout(const struct buf *im)
{
	static const enum wire_cache caches[] = { WIRE_COLD, WIRE_FLUSHED, WIRE_HOT, WIRE_UNRESET };
	struct prepared x;
	struct err e = ERR_INIT;
	unsigned char byte = 9;
	uint64_t ns;

	struct backend_run *run = begin(&x, im);
	x.plan->buffers[1].role = PLAN_INOUT;
	sets_of_nine(run, WIRE_COLD);
	for (unsigned i = 0; i < 2; i++) {
		backend_cuda.use_set(run, i);
		is_int(backend_cuda.keep_inout(run, &e), 0, "what inout holds is kept (%s)", e.text);
	}
	backend_cuda.use_set(run, 2);
	is_int(backend_cuda.copy_set(run, 1, &e), 0, "a set becomes a copy of another (%s)", e.text);
	for (size_t i = 0; i < MEM_COUNT(caches); i++) {
		backend_cuda.write(run, 1, 0, &byte, 1, &e);
		fake.replays = 0;
		backend_cuda.execute(run, 4, caches[i], &ns, &e);
		bool restored = true;
		for (int k = fake.replays / 4; k <= fake.replays; k += fake.replays / 4)
			restored &= fake.found[k] == 9;
		ok(restored, "way of timing %zu: inout is restored before each window", i + 1);
	}
	end(&x);
}

/* Sets that there is no room for, be it their buffers or their graph, are done without. */
static void no_room_for_copies(const struct buf *im)
{
	struct prepared x;
	struct backend_run *run = begin(&x, im);
	struct err e = ERR_INIT;
	uint64_t ns;
	unsigned count;

	for (fake.execs_max = 1; fake.execs_max < 3; fake.execs_max++) {
		is_int(backend_cuda.make_sets(run, WIRE_COLD, &count, &e), 0, "sets with memory for %d of three graphs (%s)",
		       fake.execs_max, e.text);
		is_int(count, fake.execs_max, "there are as many as fit");
		is_int(backend_cuda.execute(run, 2, WIRE_COLD, &ns, &e), 0, "execute cold");
		is_int((long long)fake.set_bytes, (long long)x.d.flush_bytes, "the cache is flushed instead of rotated");
		backend_cuda.release(run);
		is_int(backend_cuda.prepare(&x.d, im->data, im->len, x.plan, &run, &e), 0, "prepare again");
	}
	x.run = run;
	end(&x);
}

/* The device fills a buffer itself. */
static void fills(const struct buf *im)
{
	struct prepared x;
	struct backend_run *run = begin(&x, im);
	struct err e = ERR_INIT;
	unsigned char c[62];
	uint64_t ns;

	memset(c, 1, sizeof c);
	backend_cuda.write(run, 1, -1, c, sizeof c, &e);
	backend_cuda.execute(run, 1, WIRE_COLD, &ns, &e);
	int sets = fake.sets;
	is_int(backend_cuda.fill(run, 1, 0x77, &e), 0, "fill a buffer");
	is_int(fake.sets, sets + 1, "a fill is one call");
	backend_cuda.read(run, 1, -1, c, sizeof c, &e);
	ok(c[0] == 1 && c[1] == 0x77 && c[60] == 0x77 && c[61] == 1, "a fill writes the buffer and not its red zones");
	is_int(backend_cuda.fill(run, 2, 0, &e), -ERR_INPUT, "a fill of a missing buffer is refused");
	end(&x);
}

static void launch_attributes(const struct buf *im)
{
	struct backend_device d = new_device();
	struct plan *p = new_plan();
	struct backend_run *run = NULL;
	struct err e = ERR_INIT;

	p->ops[3].launch.cluster[0] = 2;
	p->ops[3].launch.cooperative = true;
	p->ops[3].launch.grid[1] = 2;
	fake.per_unit = 1; /* 10 blocks at once, 8 asked */
	is_int(backend_cuda.prepare(&d, im->data, im->len, p, &run, &e), 0, "prepare a cooperative launch of clusters (%s)",
	       e.text);
	is_int(fake.config.attr_count, 2, "the launch has two attributes");
	ok(fake.attrs[0].id == GPU_ATTRIBUTE_CLUSTER && fake.attrs[0].value.cluster.x == 2 && fake.attrs[0].value.cluster.z == 1,
	   "the cluster attribute is set");
	ok(fake.attrs[1].id == GPU_ATTRIBUTE_COOPERATIVE && fake.attrs[1].value.cooperative == 1,
	   "the cooperative attribute is set");
	ok(fake.config.grid[0] == 4 && fake.config.grid[1] == 2 && fake.config.block[0] == 64 && fake.config.shared == 100,
	   "the launch has its geometry");
	backend_cuda.release(run);
	clean("after release");
	plan_free(p);
}

/* Prepares a plan that must fail. */
static void fails(const char *what, struct backend_device *d, struct plan *take_plan, const struct buf *im, enum err_code want,
                  const char *part)
{
	struct backend_run *run = NULL;
	struct err e = ERR_INIT;

	is_int(backend_cuda.prepare(d, im->data, im->len, take_plan, &run, &e), -(int)want, "%s: %s", what, err_code_name(want));
	has_str(e.text, part, "%s: the message says what", what);
	ok(run == NULL, "%s: no run is returned", what);
	clean(what);
	plan_free(take_plan);
	*d = new_device();
}

static void failures(const struct buf *im)
{
	struct backend_device d = new_device();
	struct buf garbage = { .data = (char *)"garbage", .len = 7 };
	const uint64_t large = UINT64_C(1) << 40;
	struct plan *p;

	fails("more than the memory", &d, (p = new_plan(), p->buffers[1].bytes = large, p), im, ERR_PRUNED,
	      "1000 of 2000 bytes are free");
	fake.total = (size_t)1 << 41;
	fails("more than is left of the memory", &d, (p = new_plan(), p->buffers[1].bytes = large, p), im, ERR_BUSY,
	      "bytes are free");
	fails("not a binary", &d, new_plan(), &garbage, ERR_INTERNAL, "not a CUDA image");
	fake.fail_load = GPU_NO_BINARY;
	fails("another architecture", &d, new_plan(), im, ERR_INPUT, "another architecture");
	fake.fail_load = GPU_ECC_UNCORRECTABLE;
	fails("broken memory", &d, new_plan(), im, ERR_IO, "is in trouble: 214");
	fake.fail_load = GPU_OUT_OF_MEMORY;
	fake.left = 100;
	fails("a device that is full", &d, new_plan(), im, ERR_BUSY, "hardly any memory left");
	fake.fail_launch = GPU_OUT_OF_RESOURCES;
	fails("too many resources", &d, new_plan(), im, ERR_PRUNED, "recording operation 3, kernel kern");
	fake.fail_launch = GPU_INVALID_VALUE;
	fails("anything else", &d, new_plan(), im, ERR_INTERNAL, "FAKE");
	fake.fail_wait = GPU_ILLEGAL_ADDRESS; /* of an earlier run */
	fails("a fault", &d, new_plan(), im, ERR_CRASH, "device fault 700");
	fails("a tensor map", &d, (p = new_plan(), p->maps[0].box[0] = 512, p), im, ERR_PRUNED, "box 512×2");
	d.tensor_maps = false;
	fails("no tensor maps", &d, new_plan(), im, ERR_UNSUPPORTED, "compute capability 9.0");
	fails("a cooperative grid", &d, (p = new_plan(), p->ops[2].launch.cooperative = true, p), im, ERR_PRUNED,
	      "12 blocks was asked for, and the device holds 10");
	fake.clusters = 0;
	fails("no room for a cluster", &d, (p = new_plan(), p->ops[2].launch.cluster[0] = 2, p), im, ERR_PRUNED,
	      "no cluster of 2 blocks");
	fails("a fixed cluster", &d, (p = new_plan(), p->ops[2].launch.grid[0] = 3, p), im, ERR_PRUNED,
	      "clusters of 2 do not divide");
	fails("launch bounds", &d, (p = new_plan(), p->ops[3].launch.block[0] = 65, p), im, ERR_PRUNED,
	      "asks for 130 threads per block, but its __launch_bounds__ allow 128");
}

static void faults(const struct buf *im)
{
	static const struct { gpu_result code; enum err_code want; } ends[] = {
		{ 701, ERR_PRUNED }, { 214, ERR_IO }, { 999, ERR_IO }, { 400, ERR_INTERNAL }, /* then the kernel's faults */
		{ 700, ERR_CRASH }, { 702, ERR_CRASH }, { 710, ERR_CRASH }, { 714, ERR_CRASH }, { 715, ERR_CRASH },
		{ 716, ERR_CRASH }, { 717, ERR_CRASH }, { 718, ERR_CRASH }, { 719, ERR_CRASH }, { 721, ERR_CRASH },
	};
	struct backend_device d = new_device();
	struct plan *p = new_plan();
	struct backend_run *run = NULL;
	struct err e = ERR_INIT;
	uint64_t ns = 77;
	char byte;

	is_int(backend_cuda.prepare(&d, im->data, im->len, p, &run, &e), 0, "prepare a plan that faults (%s)", e.text);
	for (size_t i = 0; i < MEM_COUNT(ends); i++) {
		fake.fail_wait = ends[i].code;
		is_int(backend_cuda.execute(run, 1, WIRE_COLD, &ns, &e), -(int)ends[i].want, "%d: %s", ends[i].code,
		       err_code_name(ends[i].want));
	}
	is_int(backend_cuda.read(run, 0, 0, &byte, 1, &e), -ERR_CRASH, "a read after the fault is a crash");
	is_int(backend_cuda.write(run, 0, 0, &byte, 1, &e), -ERR_CRASH, "a write after the fault is a crash");
	is_int(ns, 77, "a crash gives no time");
	backend_cuda.release(run);
	d.api.memory_free(d.flush);
	clean("after faults");
	plan_free(p);
}

int main(void)
{
	struct buf im = BUF_INIT;

	image(&im);
	runs(&im);
	rotates(&im);
	only_flushes(&im);
	hot_and_unreset(&im);
	inout(&im);
	no_room_for_copies(&im);
	fills(&im);
	launch_attributes(&im);
	failures(&im);
	faults(&im);
	buf_fini(&im);
	return tap_done();
}

/* backends/values/redzone through backends/worker/runs, on a fake device that counts its calls: what an execution writes and reads
 * back, and that every kind of damage is found wherever it is. */
#include "backends/values/redzone.h"

#include <stdlib.h>

#include "backends/worker/runs.h"
#include "base/mem.h"
#include "tap.h"

enum { LARGE = (9 << 20) + 12, SMALL = 4000, ZONE = BACKEND_RED_ZONE };

/* A, B: inputs; T: a table; C: output; S: scratch. */
enum { A, B, T, C, S, BUFFERS };

/* The device's memory, red zones included, and its calls. */
static struct {
	uint8_t *blocks[BUFFERS];
	size_t bytes[BUFFERS];
	unsigned writes, reads, fills;
	size_t written, read;
	unsigned damaged;     /* buffer that an execution damages, */
	int64_t at;           /* where; */
	bool damages;         /* or none */
	int fail_read;
} device;

static int prepare(struct backend_device *d, const void *binary, size_t len, const struct plan *plan, struct backend_run **ret_run,
		   struct err *e)
{
	(void)d; (void)binary; (void)len; (void)e;
	for (unsigned i = 0; i < BUFFERS; i++) {
		device.bytes[i] = plan->buffers[i].bytes;
		device.blocks[i] = mem_new(device.bytes[i] + 2 * ZONE, 1);
	}
	*ret_run = (struct backend_run *)&device;
	return 0;
}

static void release(struct backend_run *r)
{
	(void)r;
	for (unsigned i = 0; i < BUFFERS; i++)
		free(device.blocks[i]);
}

static bool inside(unsigned buffer, int64_t offset, size_t bytes)
{
	return buffer < BUFFERS && offset >= -ZONE && offset + (int64_t)bytes <= (int64_t)device.bytes[buffer] + ZONE;
}

static int write(struct backend_run *r, unsigned buffer, int64_t offset, const void *from, size_t bytes, struct err *e)
{
	(void)r;
	if (!inside(buffer, offset, bytes))
		return err_set(e, ERR_INPUT, "outside");
	memcpy(device.blocks[buffer] + ZONE + offset, from, bytes);
	device.writes++;
	device.written += bytes;
	return 0;
}

static int read(struct backend_run *r, unsigned buffer, int64_t offset, void *to, size_t bytes, struct err *e)
{
	(void)r;
	if (!inside(buffer, offset, bytes) || device.fail_read)
		return err_set(e, ERR_CRASH, "outside, or gone");
	memcpy(to, device.blocks[buffer] + ZONE + offset, bytes);
	device.reads++;
	device.read += bytes;
	return 0;
}

static int fill(struct backend_run *r, unsigned buffer, uint8_t value, struct err *e)
{
	(void)r; (void)e;
	memset(device.blocks[buffer] + ZONE, value, device.bytes[buffer]);
	device.fills++;
	return 0;
}

static int execute(struct backend_run *r, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e)
{
	(void)r; (void)times; (void)cache; (void)e;
	if (device.damages)
		device.blocks[device.damaged][ZONE + device.at] ^= 1;
	*ret_ns = 1;
	return 0;
}

static void close_device(struct backend_device *d)
{
	(void)d;
}

static unsigned used_set(const struct backend_run *r)
{
	(void)r;
	return 0;
}

static int scrub(struct backend_run *r, uint32_t word, struct err *e)
{
	(void)r; (void)word; (void)e;
	return 0;
}

static struct backend fake = { .name = "fake", .close = close_device, .prepare = prepare, .release = release, .write = write,
			       .read = read, .fill = fill, .execute = execute, .used_set = used_set, .scrub = scrub };

static void add(struct plan *p, const char *name, enum plan_role role, uint64_t bytes)
{
	*MEM_PUSH(p->buffers, p->buffer_count) = (struct plan_buffer){ .name = mem_str(name),
								       .type = DTYPE_F32,
								       .role = role,
								       .rank = 1,
								       .dims = { (int64_t)bytes / 4 },
								       .ld = (int64_t)bytes / 4,
								       .bytes = bytes,
								       .fill = PLAN_RANDOM,
								       .lo = -1,
								       .hi = 1 };
}

static struct runs *new_run(void)
{
	struct plan *p = plan_new();
	struct runs *r = runs_new(&fake, NULL, NULL, true);
	struct wire_prepared prepared = { 0 };
	struct err e = ERR_INIT;
	add(p, "A", PLAN_IN, LARGE);
	add(p, "B", PLAN_IN, SMALL);
	add(p, "T", PLAN_TABLE, SMALL);
	p->buffers[T].table = mem_new(SMALL, 1);
	memset(p->buffers[T].table, 7, SMALL);
	add(p, "C", PLAN_OUT, LARGE);
	add(p, "S", PLAN_SCRATCH, LARGE);
	is_int(runs_serve(r, WIRE_PREPARE, &(struct wire_prepare){ .plan = p }, &prepared, &e), 0, "a run is prepared");
	return r;
}

static struct wire_executed executed(struct runs *r)
{
	struct wire_execute m = { .run = 1, .seed = 5, .poison = 0xFF };
	struct wire_executed x = { 0 };
	struct err e = ERR_INIT;
	device.writes = device.reads = device.fills = 0;
	device.written = device.read = 0;
	if (runs_serve(r, WIRE_EXECUTE, &m, &x, &e) < 0)
		ok(false, "the run is executed: %s", e.text);
	return x;
}

static bool holds(unsigned buffer, uint8_t value)
{
	for (size_t i = 0; i < device.bytes[buffer]; i++)
		if (device.blocks[buffer][ZONE + i] != value)
			return false;
	return true;
}

/* Every call waits for the device, so their number matters. */
static void test_calls(struct runs *r)
{
	struct wire_executed x = executed(r);
	ok(x.changed_input == 0 && x.broken_zone == 0, "a good kernel damages nothing");
	ok(holds(C, 0xFF) && holds(S, 0xFF), "outputs and scratch are poisoned before an execution");
	ok(device.writes == 7 && device.fills == 2,
	   "inputs and tables are written with their red zones, other buffers filled (%u writes, %u fills)", device.writes,
	   device.fills);
	is_int(device.written, LARGE + 2 * SMALL + 10 * ZONE, "no poison is written from the host");
	is_int(device.reads, 10, "inputs, tables, outputs and red zones are read back");
	is_int(device.read, 2 * LARGE + 2 * SMALL + 10 * ZONE, "each byte is read once");
	fake.fill = NULL;
	x = executed(r);
	ok(holds(C, 0xFF) && holds(S, 0xFF) && x.broken_zone == 0, "a device that cannot fill gets its poison written");
	is_int(device.written, 3 * LARGE + 2 * SMALL + 10 * ZONE, "the poison then comes from the host");
	fake.fill = fill;
}

static void damage(struct runs *r, unsigned buffer, int64_t at)
{
	bool zone = at < 0 || at >= (int64_t)device.bytes[buffer], kept = buffer == A || buffer == B || buffer == T;
	device.damages = true;
	device.damaged = buffer;
	device.at = at;
	struct wire_executed x = executed(r);
	is_int(x.broken_zone, zone ? 1 + buffer : 0, "damage of buffer %u at %lld: red zones", buffer, (long long)at);
	is_int(x.changed_input, !zone && kept ? 1 + buffer : 0, "damage of the content");
	device.damages = false;
}

static void test_damage(struct runs *r)
{
	for (unsigned i = 0; i < BUFFERS; i++) {
		int64_t end = (int64_t)device.bytes[i];
		damage(r, i, -ZONE);
		damage(r, i, -1);
		damage(r, i, 0);
		damage(r, i, end / 2);
		damage(r, i, end - 1);
		damage(r, i, end);
		damage(r, i, end + ZONE - 1);
	}
	struct wire_executed x = executed(r);
	ok(x.changed_input == 0 && x.broken_zone == 0, "the next execution repairs all damage");
	struct wire_execute m = { .run = 1, .seed = 5, .poison = 0xFF };
	struct err e = ERR_INIT;
	device.fail_read = 1;
	is_int(runs_serve(r, WIRE_EXECUTE, &m, &x, &e), -ERR_CRASH, "a device that is gone is not reported as damage");
	device.fail_read = 0;
}

int main(void)
{
	struct runs *r = new_run();
	test_calls(r);
	test_damage(r);
	runs_free(r);
	return tap_done();
}

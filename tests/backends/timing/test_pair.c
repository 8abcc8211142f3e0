/* backends/timing/measure: pairs and energy on a fake device: times with known noise, drift and load of other processes. */
#include "backends/timing/measure.h"

#include <math.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/mem.h"
#include "pace.h"
#include "tap.h"

static uint64_t random_state = 88172645463325252u;

static double uniform(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return ((double)(random_state >> 11) + 0.5) / 9007199254740992.0;
}

struct backend_run { double ns, noise; int calls, fail_at; };

/* The fake device: one clock for all its runs. */
static struct {
	double drift;      /* share by which every execution is slower than the one before */
	int executions;    /* calls */
	uint64_t made;     /* what they executed */
	int64_t wall;      /* real nanoseconds an execution */
	uint64_t millijoules, step_ns; /* of the counter: it moves by watts × time every step_ns; 0: it stands */
	int64_t counter_started;
} device;


/* Readings of its counter: requested at `from`, answered at `to`. One thread reads; the others look when it has ended. */
struct reading { int64_t from, to; uint64_t millijoules; };
static struct { struct reading *at; size_t count; } readings;
static _Atomic int64_t window; /* from the first move on that was read to the last one */
enum { WARMED_UP = 20 };
#define WINDOW_NS (300 * CLOCK_MS)

/* On a loaded machine the reading thread may be late; the device waits for it, so that the counter does not seem to stand still. */
static void wait_for_reader(const struct backend_run *r)
{
	for (int i = 0; device.step_ns && r->calls >= WARMED_UP && window < WINDOW_NS && i < 60000; i++)
		clock_sleep(CLOCK_MS);
}

static int execute(struct backend_run *r, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e)
{
	(void)cache;
	clock_sleep(device.wall ? device.wall * times : 0);
	wait_for_reader(r);
	device.made += times;
	if (++r->calls == r->fail_at)
		return err_set(e, ERR_CRASH, "the device fell off");
	device.executions++;
	double shape = uniform() + uniform() + uniform() + uniform() - 2; /* near normal, deviation 0.577 */
	*ret_ns = (uint64_t)(r->ns * (1 + device.drift * device.executions) * (1 + r->noise * shape / 0.577) + 0.5);
	return 0;
}

static const struct backend fake = { .name = "fake", .execute = execute };
static const struct wire_pair usual = { .min_pairs = 10, .max_pairs = 200, .margin = 0.01, .confidence = 0.95, .width = 0.01,
                                        .cap_ns = UINT64_C(20000000000) };

static struct wire_paired paired(struct backend_run a, struct backend_run b, const struct gpu_monitor_source *source,
				 struct wire_pair m, int want)
{
	struct wire_paired out = { 0 };
	struct err e = ERR_INIT;
	struct gpu_monitor *w = gpu_monitor_new(source, "fake", "uuid");
	int rc = measure_pair(&(struct measure_run){ .backend = &fake, .run = &a },
			      &(struct measure_run){ .backend = &fake, .run = &b }, w, &m, &out, &e);
	ok(rc == want, "a comparison returns what is expected: %d %s", rc, e.text);
	gpu_monitor_free(w);
	return out;
}

static void verdicts(void)
{
	struct backend_run base = { .ns = 1e6, .noise = 0.004 }, more = base, noisy = { .ns = 1e6, .noise = 0.3 };
	struct wire_paired p = paired(base, base, NULL, usual, 0);
	is_int(p.verdict, WIRE_SAME, "a run against itself is the same (%.4f … %.4f)", p.low, p.high);
	ok(p.pair_count >= 10 && p.pair_count < 60, "it takes as many pairs as needed (%zu)", p.pair_count);
	wire_paired_fini(&p);
	more.ns *= 1.03;
	p = paired(base, more, NULL, usual, 0);
	is_int(p.verdict, WIRE_SLOWER, "3 %% more work is slower");
	ok(fabs(p.ratio - 1.03) < 0.006, "the ratio is 3 %% (%.4f)", p.ratio);
	wire_paired_fini(&p);
	p = paired(more, base, NULL, usual, 0);
	is_int(p.verdict, WIRE_FASTER, "3 %% less work is faster");
	wire_paired_fini(&p);
	p = paired(noisy, noisy, NULL, usual, 0);
	is_int(p.verdict, WIRE_UNCLEAR, "30 %% of noise give an unclear verdict");
	is_int((long long)p.pair_count, 200, "an unclear verdict takes all pairs");
	wire_paired_fini(&p);
	struct wire_pair narrow = usual;
	narrow.width = 0.001;
	p = paired(base, more, NULL, narrow, 0);
	ok(p.high / p.low < 1.0025, "a narrow interval takes more pairs (%zu)", p.pair_count);
	wire_paired_fini(&p);
}

/* Drift affects both, and the order alternates: neither is always first. */
static void drifts(void)
{
	struct backend_run base = { .ns = 1e6, .noise = 0.002 };
	device.drift = 0.002; /* twice as slow after 500 executions */
	struct wire_paired p = paired(base, base, NULL, usual, 0);
	is_int(p.verdict, WIRE_SAME, "a device that gets ever slower does not change the verdict (%.4f … %.4f)", p.low, p.high);
	wire_paired_fini(&p);
	device.drift = 0;
}

static void ends(void)
{
	struct backend_run base = { .ns = 1e6, .noise = 0.3 }, dies = { .ns = 1e6, .fail_at = 30 }, quick = { .ns = 2000 };
	struct wire_pair m = usual;
	m.cap_ns = 20 * CLOCK_MS;
	device.wall = CLOCK_MS;
	struct pace pace = pace_begin();
	struct wire_paired p = paired(base, base, NULL, m, 0);
	ok(pace_within(&pace, CLOCK_S), "the time cap ends a comparison (%s)", pace_text(&pace));
	wire_paired_fini(&p);
	m.cap_ns = 300 * CLOCK_MS;
	device.wall = 160 * CLOCK_MS;
	p = paired(base, base, NULL, m, 0);
	is_int((long long)p.pair_count, 2, "a pair that takes the whole time is followed by a second one");
	wire_paired_fini(&p);
	device.wall = 0;
	p = paired(base, dies, NULL, usual, -ERR_CRASH);
	is_int((long long)p.pair_count, 0, "a device that faults gives no verdict");
	p = paired(quick, quick, NULL, usual, 0);
	is_int(p.launches_a, 25, "25 executions of 2 µs make a sample of 50 µs");
	wire_paired_fini(&p);
}

/* --- other load ----------------------------------------------------------------------------------------------------- */
static int open_fake(const char *uuid, void **ret_state, struct err *e) { (void)uuid; (void)e; *ret_state = &device; return 0; }
static void read_fine(void *state, struct wire_condition *c, uint32_t *ret_max)
{
	(void)state;
	*c = (struct wire_condition){ .core_mhz = 1900, .milliwatts = 300000, .celsius = 50 };
	*ret_max = 1980;
}
/* Too hot for some time, however often it is asked. */
static int64_t hot_until; /* 0: from the first look on */
static void read_hot_for_a_while(void *state, struct wire_condition *c, uint32_t *ret_max)
{
	read_fine(state, c, ret_max);
	hot_until = hot_until ? hot_until : clock_now() + 300 * CLOCK_MS;
	c->throttle = clock_now() < hot_until ? WIRE_THROTTLE_HEAT : 0;
}
static uint32_t somebody(void *state, uint64_t since) { (void)state; (void)since; return 80; }
static uint32_t unknown(void *state, uint64_t since) { (void)state; (void)since; return WIRE_UNKNOWN; }
/* The first and the last reading that differed from the one before; false for fewer than two. */
static bool moves(size_t *ret_first, size_t *ret_last)
{
	*ret_first = 0;
	for (size_t i = 2; i < readings.count; i++) {
		if (readings.at[i].millijoules == readings.at[i - 1].millijoules)
			continue;
		*ret_first = *ret_first ? *ret_first : i;
		*ret_last = i;
	}
	return *ret_first && *ret_last > *ret_first;
}

/* 300 W, seen in steps. */
static bool counter(void *state, uint64_t *ret)
{
	struct reading r = { .from = clock_now() };
	size_t first, last;
	(void)state;
	uint64_t steps = (uint64_t)(r.from - device.counter_started) / device.step_ns;
	*ret = r.millijoules = device.millijoules + steps * device.step_ns / 1000 * 300 / 1000;
	r.to = clock_now();
	*MEM_PUSH(readings.at, readings.count) = r;
	if (moves(&first, &last))
		window = readings.at[last].to - readings.at[first + 1].from;
	return true;
}
static bool none(void *state, uint64_t *ret) { (void)state; (void)ret; return false; }
static void close_fake(void *state) { (void)state; }
static const struct gpu_monitor_source busy = { open_fake, read_fine, somebody, none, close_fake };
static const struct gpu_monitor_source hot = { open_fake, read_hot_for_a_while, unknown, none, close_fake };
static const struct gpu_monitor_source blind = { open_fake, read_fine, unknown, none, close_fake };
static const struct gpu_monitor_source counting = { open_fake, read_fine, unknown, counter, close_fake };

static void disturbed(void)
{
	struct backend_run base = { .ns = 1e6 }, more = { .ns = 1.2e6 };
	struct wire_pair m = usual;
	m.max_pairs = 12;
	struct wire_paired p = paired(base, more, &busy, m, 0);
	ok(p.disturbed && p.verdict == WIRE_UNCLEAR, "there is no verdict while others use the device, however clear it looks");
	wire_paired_fini(&p);
	p = paired(base, more, &blind, m, 0);
	ok(!p.disturbed && p.verdict == WIRE_SLOWER && p.conditions[0].foreign == WIRE_UNKNOWN,
	   "unknown load does not disturb, and the note says so");
	wire_paired_fini(&p);
}

/* All pairs of a short kernel take less time than the device needs to recover. */
static void recovers(void)
{
	struct backend_run base = { .ns = 30000 }, more = { .ns = 31000 };
	struct wire_pair m = usual;
	m.max_pairs = 12;
	hot_until = 0;
	struct wire_paired p = paired(base, more, &hot, m, 0);
	ok(!p.disturbed && p.verdict == WIRE_SLOWER && p.discarded > 0,
	   "a comparison waits for a device that is slowed down (%u discarded)", p.discarded);
	wire_paired_fini(&p);
}

/* Two loads of one kernel differ by up to 0.2 us, so pairs of short kernels need a floor. */
static void loads(void)
{
	struct backend_run base = { .ns = 9500, .noise = 0.001 }, more = { .ns = 9650, .noise = 0.001 },
			   slower = { .ns = 9800, .noise = 0.001 };
	struct wire_pair m = usual;
	struct wire_paired p = paired(base, more, NULL, m, 0);
	ok(p.verdict == WIRE_SLOWER && p.margin == m.margin, "9.65 us against 9.5 is slower (margin %.4f)", p.margin);
	wire_paired_fini(&p);
	m.floor_ns = 200;
	p = paired(base, more, NULL, m, 0);
	ok(p.verdict == WIRE_SAME && p.margin > 0.0209 && p.margin < 0.0213, "with a floor of 0.2 us it is the same (margin %.4f)",
	   p.margin);
	wire_paired_fini(&p);
	p = paired(base, slower, NULL, m, 0);
	is_int(p.verdict, WIRE_SLOWER, "with that floor 0.3 us more is slower");
	wire_paired_fini(&p);
	base.ns = more.ns = 50000;
	p = paired(base, more, NULL, m, 0);
	ok(p.verdict == WIRE_SAME && p.margin == m.margin, "the floor does not matter for a longer kernel (margin %.4f)", p.margin);
	wire_paired_fini(&p);
}

/* The window is between two steps of the counter, each noted before the next reading. */
static void weighed(const struct wire_energised *x, uint64_t made, int64_t ended)
{
	const struct reading *at = readings.at;
	size_t first = 0, last = 0;
	if (!ok(moves(&first, &last) && x->seconds * 1e9 >= WINDOW_NS, "energy is measured for the requested time (%.3f s, %s)",
		x->seconds, x->note))
		return;
	int64_t least = at[last].to - at[first + 1].from,
		most = (last + 1 < readings.count ? at[last + 1].from : ended) - at[first].to;
	ok(x->seconds * 1e9 >= (double)least - 1 && x->seconds * 1e9 <= (double)most + 1,
	   "the window is from the counter's first step to its last: %.6f to %.6f s", (double)least / 1e9, (double)most / 1e9);
	ok(fabs(x->joules - (double)(at[last].millijoules - at[first].millijoules) / 1e3) < 1e-9,
	   "the joules are those between both steps, %.1f W", x->joules / x->seconds);
	ok(x->executions > 0 && x->executions <= made && (double)x->executions <= x->seconds * 1e3 + 1,
	   "executions are counted by their rate (%llu)", (unsigned long long)x->executions);
}

static void energies(void)
{
	struct backend_run r = { .ns = 1e6 };
	struct wire_energy m = { .run = 1, .min_ns = WINDOW_NS };
	struct wire_energised x;
	struct err e = ERR_INIT;
	struct gpu_monitor *w = gpu_monitor_new(&counting, "fake", "uuid"), *off = gpu_monitor_new(&blind, "fake", "uuid"),
			   *no = gpu_monitor_new(NULL, "fake", "");
	device.wall = CLOCK_MS;
	device.step_ns = 20 * CLOCK_MS;
	device.counter_started = clock_now();
	device.made = 0;
	is_int(measure_energy(&fake, &r, w, &m, &x, &e), 0, "an energy measurement returns what is expected %s", e.text);
	weighed(&x, device.made, clock_now());
	wire_energised_fini(&x);
	free(readings.at);
	device.step_ns = 0;
	device.wall = 0;
	is_int(measure_energy(&fake, &r, off, &m, &x, &e), 0, "a device without a counter is accepted");
	ok(x.joules == 0 && x.executions == 0, "nothing is executed without a counter");
	has_str(x.note, "no energy counter", "the note says that there is no counter");
	wire_energised_fini(&x);
	is_int(measure_energy(&fake, &r, no, &m, &x, &e), 0, "a backend without a monitoring library is accepted");
	has_str(x.note, "other load are unknown", "the note says that there is no monitoring library");
	wire_energised_fini(&x);
	gpu_monitor_free(w);
	gpu_monitor_free(off);
	gpu_monitor_free(no);
}

int main(void)
{
	verdicts();
	drifts();
	ends();
	disturbed();
	recovers();
	loads();
	energies();
	return tap_done();
}

/* backends/pair and backends/energy, on a pretended device: times with known noise, drift and foreign load. */
#include "backends/pair.h"

#include <math.h>

#include "backends/energy.h"
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

/* The pretended device: one clock for all its runs. */
static struct {
	double drift;      /* share by which every execution is slower than the one before */
	int executions;
	int64_t wall;      /* real nanoseconds a call */
	uint64_t millijoules, step_ns; /* of the counter: it moves by watts × time every step_ns; 0: it stands */
	int64_t counter_started;
} device;

struct backend_run { double ns, noise; int calls, fail_at; };

static int execute(struct backend_run *r, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e)
{
	(void)cache;
	clock_sleep(device.wall ? device.wall * times : 0);
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

static struct wire_paired paired(struct backend_run a, struct backend_run b, const struct watch_source *source, struct wire_pair m,
                                 int want)
{
	struct wire_paired out = { 0 };
	struct err e = ERR_INIT;
	struct watch *w = watch_new(source, "fake", "uuid");
	int rc = pair_samples(&fake, &a, &b, w, &m, &out, &e);
	ok(rc == want, "paired: %d %s", rc, e.text);
	watch_free(w);
	return out;
}

static void verdicts(void)
{
	struct backend_run base = { .ns = 1e6, .noise = 0.004 }, more = base, noisy = { .ns = 1e6, .noise = 0.3 };
	struct wire_paired p = paired(base, base, NULL, usual, 0);
	is_int(p.verdict, WIRE_SAME, "a run against itself is the same (%.4f … %.4f)", p.low, p.high);
	ok(p.pair_count >= 10 && p.pair_count < 60, "with as many pairs as it takes (%zu)", p.pair_count);
	wire_paired_fini(&p);
	more.ns *= 1.03;
	p = paired(base, more, NULL, usual, 0);
	is_int(p.verdict, WIRE_SLOWER, "3 %% more work is slower");
	ok(fabs(p.ratio - 1.03) < 0.006, "by 3 %% (%.4f)", p.ratio);
	wire_paired_fini(&p);
	p = paired(more, base, NULL, usual, 0);
	is_int(p.verdict, WIRE_FASTER, "and the other way round faster");
	wire_paired_fini(&p);
	p = paired(noisy, noisy, NULL, usual, 0);
	is_int(p.verdict, WIRE_UNCLEAR, "30 %% of noise leave it unclear");
	is_int((long long)p.pair_count, 200, "after all pairs that were allowed");
	wire_paired_fini(&p);
	struct wire_pair narrow = usual;
	narrow.width = 0.001;
	p = paired(base, more, NULL, narrow, 0);
	ok(p.high / p.low < 1.0025, "a narrow interval takes more pairs (%zu)", p.pair_count);
	wire_paired_fini(&p);
}

/* What drifts meets both, and the order alternates: neither is always first. */
static void drifts(void)
{
	struct backend_run base = { .ns = 1e6, .noise = 0.002 };
	device.drift = 0.002; /* twice as slow after 500 executions */
	struct wire_paired p = paired(base, base, NULL, usual, 0);
	is_int(p.verdict, WIRE_SAME, "a device that gets slower all the time changes nothing (%.4f … %.4f)", p.low, p.high);
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
	ok(pace_within(&pace, CLOCK_S), "the cap ends it (%s)", pace_text(&pace));
	wire_paired_fini(&p);
	device.wall = 0;
	p = paired(base, dies, NULL, usual, -ERR_CRASH);
	is_int((long long)p.pair_count, 0, "a device that faults gives nothing");
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
static uint32_t somebody(void *state, uint64_t since) { (void)state; (void)since; return 80; }
static uint32_t unknown(void *state, uint64_t since) { (void)state; (void)since; return WIRE_UNKNOWN; }
/* 300 W, seen in steps. */
static bool counter(void *state, uint64_t *ret)
{
	(void)state;
	if (!device.step_ns) {
		*ret = 5000;
		return true;
	}
	uint64_t steps = (uint64_t)(clock_now() - device.counter_started) / device.step_ns;
	*ret = device.millijoules + steps * device.step_ns / 1000 * 300 / 1000;
	return true;
}
static bool none(void *state, uint64_t *ret) { (void)state; (void)ret; return false; }
static void close_fake(void *state) { (void)state; }
static const struct watch_source busy = { open_fake, read_fine, somebody, none, close_fake };
static const struct watch_source blind = { open_fake, read_fine, unknown, none, close_fake };
static const struct watch_source counting = { open_fake, read_fine, unknown, counter, close_fake };

static void disturbed(void)
{
	struct backend_run base = { .ns = 1e6 }, more = { .ns = 1.2e6 };
	struct wire_pair m = usual;
	m.max_pairs = 12;
	struct wire_paired p = paired(base, more, &busy, m, 0);
	ok(p.disturbed && p.verdict == WIRE_UNCLEAR, "while somebody else uses the device there is no verdict, however clear it looks");
	wire_paired_fini(&p);
	p = paired(base, more, &blind, m, 0);
	ok(!p.disturbed && p.verdict == WIRE_SLOWER && p.conditions[0].foreign == WIRE_UNKNOWN, "not knowing is no disturbance, and said");
	wire_paired_fini(&p);
}

static void energies(void)
{
	struct backend_run r = { .ns = 1e6 };
	struct wire_energy m = { .run = 1, .min_ns = UINT64_C(300000000) };
	struct wire_energised x;
	struct err e = ERR_INIT;
	struct watch *w = watch_new(&counting, "fake", "uuid"), *off = watch_new(&blind, "fake", "uuid"), *no = watch_new(NULL, "fake", "");
	device.wall = CLOCK_MS;
	device.step_ns = 20 * CLOCK_MS;
	device.counter_started = clock_now();
	is_int(energy_measure(&fake, &r, w, &m, &x, &e), 0, "energy %s", e.text);
	ok(x.seconds >= 0.3 && x.seconds < 3, "over the time that was asked for (%.3f s)", x.seconds);
	ok(fabs(x.joules / x.seconds - 300) < 30, "at the watts that the counter has (%.1f)", x.joules / x.seconds);
	ok(x.executions > 30, "%llu executions", (unsigned long long)x.executions);
	wire_energised_fini(&x);
	device.step_ns = 0;
	device.wall = 0;
	is_int(energy_measure(&fake, &r, off, &m, &x, &e), 0, "without a counter");
	ok(x.joules == 0 && x.executions == 0, "nothing is run");
	has_str(x.note, "no energy counter", "and it is said");
	wire_energised_fini(&x);
	is_int(energy_measure(&fake, &r, no, &m, &x, &e), 0, "without a monitoring library");
	has_str(x.note, "not available", "too");
	wire_energised_fini(&x);
	watch_free(w);
	watch_free(off);
	watch_free(no);
}

int main(void)
{
	verdicts();
	drifts();
	ends();
	disturbed();
	energies();
	return tap_done();
}

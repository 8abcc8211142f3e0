/* backends/timing/measure: when it stops, on a fake device. */
#include "backends/timing/measure.h"

#include "base/clock.h"
#include "base/mem.h"
#include "pace.h"
#include "tap.h"

/* The times of the fake device, and the calls that it got. */
struct backend_run {
	uint64_t base, noise;  /* nanoseconds per execution: base, or base + noise every other time */
	uint64_t first;        /* of the first execution */
	uint64_t fall, floor;  /* when set: first, less `fall` a call, but not below floor */
	int64_t wall;          /* real nanoseconds that a call takes */
	int fail_at;           /* call number that fails; 0 never */
	int calls, cold_calls, flushed_calls;
	uint32_t most_times;
};

static int execute(struct backend_run *r, uint32_t times, enum wire_cache cache, uint64_t *ret_ns, struct err *e)
{
	r->calls++;
	r->cold_calls += cache == WIRE_COLD;
	r->flushed_calls += cache == WIRE_FLUSHED;
	r->most_times = times > r->most_times ? times : r->most_times;
	clock_sleep(r->wall);
	if (r->calls == r->fail_at)
		return err_set(e, ERR_CRASH, "the device fell off");
	if (r->fall) {
		uint64_t less = r->fall * (uint64_t)r->calls;
		*ret_ns = less < r->first - r->floor ? r->first - less : r->floor;
		return 0;
	}
	*ret_ns = r->calls == 1 ? r->first : r->base + (r->calls % 2 ? r->noise : 0);
	return 0;
}

static const struct backend fake = { .name = "fake", .execute = execute };

static struct wire_measured watched(struct backend_run *r, const struct gpu_monitor_source *source, struct wire_measure m, int want)
{
	struct wire_measured out = { 0 };
	struct err e = ERR_INIT;
	struct gpu_monitor *w = gpu_monitor_new(source, "fake", "uuid");
	is_int(measure_samples(&(struct measure_run){ .backend = &fake, .run = r }, w, &m, &out, &e), want,
	       "a measurement returns what is expected: %s", e.text);
	gpu_monitor_free(w);
	return out;
}

static struct wire_measured measured(struct backend_run *r, struct wire_measure m, int want)
{
	return watched(r, NULL, m, want);
}

static const struct wire_measure usual = { .min_samples = 10, .max_samples = 100, .rse = 0.005,
                                           .cap_ns = UINT64_C(60000000000) };

static void test_stops(void)
{
	struct backend_run steady = { .base = 200000, .first = 900000000 };
	struct wire_measured t = measured(&steady, usual, 0);
	is_int(t.sample_count, 10, "a steady device needs the least number of samples");
	is_int(t.samples[0], 200000, "the first execution is not a sample");
	is_int(t.launches, 1, "a long execution is a sample of its own");
	is_int(steady.calls, 11, "no discarded execution is a sample");
	wire_measured_fini(&t);

	struct backend_run noisy = { .base = 200000, .noise = 100000, .first = 200000 };
	t = measured(&noisy, usual, 0);
	is_int(t.sample_count, 100, "a noisy device needs all samples");
	wire_measured_fini(&t);

	struct backend_run mild = { .base = 200000, .noise = 10000, .first = 200000 };
	t = measured(&mild, usual, 0);
	ok(t.sample_count > 10 && t.sample_count < 60, "a slightly noisy device needs some more (%zu)", t.sample_count);
	is_int(mild.calls - (int)t.sample_count, 10, "the warm-up takes 2 ms of executions");
	wire_measured_fini(&t);
}

static void test_short(void)
{
	struct backend_run quick = { .base = 3000, .first = 3000 };
	struct wire_measured t = measured(&quick, usual, 0);
	is_int(t.launches, 17, "17 executions of 3 µs make a sample of 50 µs");
	is_int(quick.most_times, 17, "the device executes that many at once");
	is_int(t.samples[0], 3000, "a sample is the time of one execution");
	wire_measured_fini(&t);
	struct backend_run instant = { .base = 1, .first = 1 };
	t = measured(&instant, usual, 0);
	is_int(t.launches, 1000, "a sample has at most 1000 executions");
	wire_measured_fini(&t);
}

static void test_caps(void)
{
	struct wire_measure m = usual;
	m.cap_ns = 20 * CLOCK_MS;
	struct backend_run slow = { .base = 200000, .first = 3000000, .wall = 5 * CLOCK_MS };
	struct wire_measured t = measured(&slow, m, 0);
	ok(t.sample_count >= 1 && t.sample_count <= 3, "the time cap ends it with the samples so far (%zu)", t.sample_count);
	wire_measured_fini(&t);
	m.cap_ns = 0;
	t = measured(&slow, m, 0);
	is_int(t.sample_count, 1, "at least one sample is returned");
	wire_measured_fini(&t);
	m = usual;
	m.cache = WIRE_COLD;
	struct backend_run chilly = { .base = 200000, .first = 200000 };
	t = measured(&chilly, m, 0);
	is_int(chilly.cold_calls, 10, "every sample is cold, the warm-up is not");
	wire_measured_fini(&t);
	m.cache = WIRE_FLUSHED;
	t = measured(&chilly, m, 0);
	ok(chilly.flushed_calls == 10 && chilly.cold_calls == 10, "every sample is flushed, the warm-up is not");
	wire_measured_fini(&t);
}

static void test_hopeless(void)
{
	struct wire_measure m = usual;
	m.hopeless_ns = 150000;
	struct backend_run slow = { .base = 200000, .first = 300000 }, awful = { .base = 700000, .first = 700000 },
	                   border = { .base = 140000, .noise = 20000, .first = 150000 };
	struct wire_measured t = measured(&slow, m, 0);
	ok(t.hopeless && t.sample_count == 3, "three samples that are too slow end a measurement");
	wire_measured_fini(&t);
	t = measured(&awful, m, 0);
	ok(t.hopeless && t.sample_count == 1, "one sample that is four times too slow ends it");
	wire_measured_fini(&t);
	t = measured(&border, m, 0);
	ok(!t.hopeless && t.sample_count >= 10, "one fast sample keeps it going");
	wire_measured_fini(&t);
}

static void test_failures(void)
{
	struct backend_run none = { .base = 0 }, dies = { .base = 200000, .first = 200000, .fail_at = 7 },
	                   dies_late = { .base = 200000, .first = 200000, .fail_at = 15 };
	measured(&none, usual, -ERR_UNSUPPORTED);
	measured(&dies, usual, -ERR_CRASH);
	measured(&dies_late, usual, -ERR_CRASH);
}

/* --- what disturbs ------------------------------------------------------------------------------------------------ */

/* A device that is throttled by heat at first. */
static int looks;
static int open_fake(const char *uuid, void **ret_state, struct err *e)
{
	(void)e;
	*ret_state = (void *)(uintptr_t)uuid;
	looks = 0;
	return 0;
}
static void read_hot(void *state, struct wire_condition *c, uint32_t *ret_max)
{
	(void)state;
	*c = (struct wire_condition){ .core_mhz = 1900, .memory_mhz = 2600, .milliwatts = 400000, .celsius = 70,
	                              .throttle = ++looks <= 5 ? WIRE_THROTTLE_HARDWARE_HEAT : WIRE_THROTTLE_POWER_CAP };
	*ret_max = 1980;
}
static void read_always_hot(void *state, struct wire_condition *c, uint32_t *ret_max)
{
	read_hot(state, c, ret_max);
	c->throttle |= WIRE_THROTTLE_HEAT;
}
static void read_slow(void *state, struct wire_condition *c, uint32_t *ret_max)
{
	read_hot(state, c, ret_max);
	c->throttle = looks <= 5 ? 0 : WIRE_THROTTLE_SETTING;
	c->core_mhz = 1000;
}
static void read_fine(void *state, struct wire_condition *c, uint32_t *ret_max)
{
	read_hot(state, c, ret_max);
	c->throttle = 0;
}
/* Too hot for some time, however often it is asked. */
static int64_t hot_until; /* 0: from the first look on */
static void read_hot_for_a_while(void *state, struct wire_condition *c, uint32_t *ret_max)
{
	read_fine(state, c, ret_max);
	hot_until = hot_until ? hot_until : clock_now() + 300 * CLOCK_MS;
	c->throttle = clock_now() < hot_until ? WIRE_THROTTLE_HEAT : 0;
}
static void read_down(void *state, struct wire_condition *c, uint32_t *ret_max)
{
	read_fine(state, c, ret_max);
	c->core_mhz = 1000;
}
static uint32_t nobody(void *state, uint64_t since) { (void)state; (void)since; return 0; }
static uint32_t somebody(void *state, uint64_t since) { (void)state; (void)since; return 30; }
static bool no_energy(void *state, uint64_t *ret) { (void)state; (void)ret; return false; }
static void close_fake(void *state) { (void)state; }

static void test_disturbed(void)
{
	struct gpu_monitor_source hot = { open_fake, read_hot, nobody, no_energy, close_fake }, always = hot, shared = hot,
				  slow = hot;
	struct backend_run r = { .base = 200000, .first = 200000, .wall = 2500000 };
	struct wire_measured t = watched(&r, &hot, usual, 0);
	ok(t.discarded == 5 && t.sample_count == 10 && !t.disturbed, "five hot samples are taken again (%u, %zu)", t.discarded,
	   t.sample_count);
	is_int(t.conditions[9].milliwatts, 400000, "each sample has its condition");
	is_int(t.conditions[9].throttle, WIRE_THROTTLE_POWER_CAP, "a power cap is noted, but does not disturb");
	wire_measured_fini(&t);
	always.read = read_always_hot;
	struct wire_measure m = usual;
	m.max_samples = 12;
	t = watched(&r, &always, m, 0);
	ok(t.disturbed && t.sample_count == 48, "a device that stays hot gives no figure to quote (%zu samples)", t.sample_count);
	wire_measured_fini(&t);
	shared.read = read_fine;
	shared.foreign = somebody;
	t = watched(&r, &shared, m, 0);
	ok(t.disturbed && t.conditions[0].foreign == 30, "a device that others use gives no figure to quote");
	wire_measured_fini(&t);
	slow.read = read_slow;
	t = watched(&r, &slow, usual, 0);
	is_int(t.discarded, 5, "a low clock disturbs, unless it was set");
	is_str(t.note, "", "the note is empty when everything is known");
	wire_measured_fini(&t);
	t = measured(&r, usual, 0);
	has_str(t.note, "unknown for fake devices", "the note says that a backend has no monitoring library");
	is_int(t.conditions[0].core_mhz, 0, "a backend without monitoring library reports no clocks");
	wire_measured_fini(&t);
}

/* Energy was measured just before: the device needs a moment to recover, longer than all samples of a short kernel take. */
static void test_recovers(void)
{
	struct gpu_monitor_source hot = { open_fake, read_hot_for_a_while, nobody, no_energy, close_fake };
	struct backend_run r = { .base = 200000, .first = 200000 };
	struct wire_measure m = usual;
	m.max_samples = 12;
	m.rests = 1;
	hot_until = 0;
	struct wire_measured t = watched(&r, &hot, m, 0);
	ok(!t.disturbed && t.sample_count >= m.min_samples && t.discarded > 0,
	   "a measurement to be quoted waits for a device that is slowed down (%u discarded)", t.discarded);
	wire_measured_fini(&t);
	m.rests = 0;
	hot_until = clock_now() + 3600 * CLOCK_S;
	struct pace pace = pace_begin();
	t = watched(&r, &hot, m, 0);
	ok(t.disturbed && pace_within(&pace, CLOCK_S / 4), "another measurement does not wait (%s)", pace_text(&pace));
	wire_measured_fini(&t);
	hot.read = read_down;
	m.rests = 1;
	pace = pace_begin();
	t = watched(&r, &hot, m, 0);
	ok(t.disturbed && pace_within(&pace, CLOCK_S / 4), "a low clock is not waited for: it rises with work (%s)",
	   pace_text(&pace));
	wire_measured_fini(&t);
}

/* A device whose clock rises: slow at first. */
static void test_warm_up(void)
{
	struct wire_measure m = usual;
	struct backend_run rising = { .base = 200000, .first = 800000, .fall = 8000, .floor = 200000 };
	m.warm_up_ns = UINT64_C(1000000000);
	struct wire_measured t = measured(&rising, m, 0);
	ok(t.samples[0] < 225000, "the warm-up lasts until the times are stable (%llu ns, %d calls)",
	   (unsigned long long)t.samples[0], rising.calls);
	wire_measured_fini(&t);
	m.warm_up_ns = 0;
	rising.calls = 0;
	t = measured(&rising, m, 0);
	ok(t.samples[0] > 225000, "the warm-up ends at its time limit (%llu ns)", (unsigned long long)t.samples[0]);
	wire_measured_fini(&t);
}

static int low_looks;
static void read_idle_at_first(void *state, struct wire_condition *c, uint32_t *max_mhz)
{
	(void)state;
	*max_mhz = 2000;
	c->core_mhz = low_looks-- > 0 ? 435 : 2000;
	c->throttle = c->core_mhz == 435 ? WIRE_THROTTLE_IDLE : 0;
}

/* The device stood idle while the host worked: its times are steady, at a low clock. */
static void test_idle(void)
{
	struct gpu_monitor_source idle = { open_fake, read_idle_at_first, nobody, no_energy, close_fake };
	struct backend_run r = { .base = 200000, .first = 200000, .wall = 2500000 };
	struct wire_measure m = usual;
	m.warm_up_ns = UINT64_C(1000000000);
	low_looks = 60;
	struct wire_measured t = watched(&r, &idle, m, 0);
	ok(!t.disturbed && t.discarded == 0, "the warm-up lasts until the clock has risen (%u discarded)", t.discarded);
	wire_measured_fini(&t);
	m.warm_up_ns = UINT64_C(20000000);
	low_looks = 1 << 20;
	r.calls = 0;
	t = watched(&r, &idle, m, 0);
	ok(t.disturbed, "or to its time limit");
	wire_measured_fini(&t);
}

int main(void)
{
	test_disturbed();
	test_idle();
	test_recovers();
	test_warm_up();
	test_stops();
	test_short();
	test_caps();
	test_hopeless();
	test_failures();
	return tap_done();
}

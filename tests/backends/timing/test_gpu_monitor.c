/* backends/timing/gpu_monitor: when it asks the monitoring library about other processes, and about which time, with a fake
 * library. */
#include "backends/timing/gpu_monitor.h"

#include "base/clock.h"
#include "tap.h"

static struct { unsigned asked; uint32_t load; uint64_t since; } others;

static int open_fake(const char *uuid, void **ret_state, struct err *e)
{
	(void)uuid;
	(void)e;
	*ret_state = &others;
	return 0;
}
static void read_fake(void *state, struct wire_condition *c, uint32_t *ret_max) { (void)state; c->core_mhz = *ret_max = 1980; }
static uint32_t foreign(void *state, uint64_t since)
{
	(void)state;
	others.asked++;
	others.since = since;
	return others.load;
}
static bool no_energy(void *state, uint64_t *ret) { (void)state; (void)ret; return false; }
static void close_fake(void *state) { (void)state; }

static const struct gpu_monitor_source source = { open_fake, read_fake, foreign, no_energy, close_fake };

#define KEPT_NS (100 * CLOCK_MS)

/* Many short measurements in a row. */
static void test_seldom(struct gpu_monitor *w)
{
	int64_t start = clock_now();
	others.asked = 0;
	for (int i = 0; i < 50; i++) {
		gpu_monitor_begin(w, true);
		ok(gpu_monitor_look(w).foreign == others.load, "measurement %d knows the load of other processes", i);
	}
	unsigned most = 1 + (unsigned)((clock_now() - start) / KEPT_NS);
	ok(others.asked <= most, "50 measurements ask about others %u times, at most %u", others.asked, most);
	clock_sleep(KEPT_NS);
	unsigned before = others.asked;
	gpu_monitor_begin(w, true);
	others.load = 1;
	ok(gpu_monitor_look(w).foreign == 1 && others.asked == before + 1, "an older answer is not reused");
}

/* A measurement begins while the last answer still counts: within 100 ms it asks about all the time since that answer. */
static void test_no_gap(struct gpu_monitor *w)
{
	uint64_t looked = 0;
	int64_t took = KEPT_NS;
	uint32_t seen = 0;
	for (int i = 0; i < 100 && took >= KEPT_NS; i++) { /* until this process was not kept waiting in between */
		clock_sleep(KEPT_NS);
		others.load = 1;
		gpu_monitor_begin(w, true);
		int64_t start = clock_now();
		gpu_monitor_look(w);
		looked = (uint64_t)clock_wall_ms() * 1000;
		others.load = 2;
		clock_sleep(5 * CLOCK_MS);
		gpu_monitor_begin(w, true);
		seen = gpu_monitor_look(w).foreign;
		took = clock_now() - start;
	}
	is_int(seen, 1, "a short measurement reuses the last answer");
	clock_sleep(KEPT_NS);
	is_int(gpu_monitor_look(w).foreign, 2, "a measurement of 100 ms asks anew");
	ok(others.since <= looked, "it asks about all the time since the last answer");
}

static void test_disturbance(struct gpu_monitor *w)
{
	others.load = 30;
	clock_sleep(KEPT_NS);
	gpu_monitor_begin(w, true);
	ok(gpu_monitor_look(w).disturbed, "a sample is disturbed while other processes use the device");
	others.load = 0;
	gpu_monitor_begin(w, true);
	ok(!gpu_monitor_look(w).disturbed, "the next measurement asks at once and finds it quiet");
	clock_sleep(KEPT_NS);
	uint64_t begun = (uint64_t)clock_wall_ms() * 1000;
	gpu_monitor_begin(w, true);
	gpu_monitor_look(w);
	ok(others.since >= begun, "load before a measurement does not count");
}

/* A measurement that will be quoted asks for itself, however short it is. */
static void test_quoted(struct gpu_monitor *w)
{
	int64_t took = KEPT_NS;
	unsigned before = 0;
	bool disturbed = true;
	for (int i = 0; i < 100 && took >= KEPT_NS; i++) { /* until this process was not kept waiting in between */
		others.load = 0;
		int64_t start = clock_now();
		gpu_monitor_begin(w, false);
		gpu_monitor_look(w);
		before = others.asked;
		others.load = 30;
		gpu_monitor_begin(w, true);
		disturbed = gpu_monitor_look(w).disturbed;
		took = clock_now() - start;
	}
	ok(!disturbed && others.asked == before, "a search reuses a recent answer");
	gpu_monitor_begin(w, false);
	ok(gpu_monitor_look(w).disturbed && others.asked == before + 1, "a measurement that will be quoted asks anew");
}

int main(void)
{
	struct gpu_monitor *w = gpu_monitor_new(&source, "fake", "uuid");
	test_seldom(w);
	test_no_gap(w);
	test_disturbance(w);
	test_quoted(w);
	gpu_monitor_free(w);
	return tap_done();
}

/* gpu_monitor: see gpu_monitor.h. */
#include "backends/timing/gpu_monitor.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

#define LOOK_NS (2 * CLOCK_MS)
#define FOREIGN_NS (100 * CLOCK_MS)
#define REST_NS (20 * CLOCK_MS)
enum {
	FOREIGN_MAX = 2,   /* percent: a desktop's own drawing */
	SLOW_PERCENT = 75, /* of the highest clock, as in nvbench: below, it has not risen yet, or a cap or setting holds it */
	SLOWED = WIRE_THROTTLE_HARDWARE | WIRE_THROTTLE_HEAT | WIRE_THROTTLE_HARDWARE_HEAT | WIRE_THROTTLE_POWER_BRAKE,
	EXPECTED = WIRE_THROTTLE_SETTING | WIRE_THROTTLE_POWER_CAP,
};

struct gpu_monitor {
	const struct gpu_monitor_source *source; /* NULL: nothing is known */
	void *state;
	struct wire_condition last;
	int64_t looked;         /* when, monotonic; 0: not in this measurement */
	uint32_t foreign;       /* the last answer about other processes, */
	int64_t looked_foreign; /* when it came (0: not yet), */
	uint64_t looked_wall;   /* and when by the wall clock, in microseconds */
	uint64_t since;         /* from when on other processes count: wall clock, in microseconds */
	char note[256];
};

struct gpu_monitor *gpu_monitor_new(const struct gpu_monitor_source *source, const char *name, const char *uuid)
{
	struct gpu_monitor *w = MEM_NEW(struct gpu_monitor);
	struct err why = ERR_INIT;
	if (source == NULL)
		snprintf(w->note, sizeof w->note, "clocks, power, temperature and a GPU's other load are unknown for %s devices",
			 name);
	else if (source->open(uuid, &w->state, &why) < 0)
		snprintf(w->note, sizeof w->note, "%.*s", (int)sizeof w->note - 1, why.text);
	else
		w->source = source;
	w->foreign = WIRE_UNKNOWN;
	gpu_monitor_begin(w, false);
	return w;
}

void gpu_monitor_free(struct gpu_monitor *w)
{
	if (w == NULL)
		return;
	if (w->source)
		w->source->close(w->state);
	free(w);
}

/* Asking about other processes takes longer (1.8 ms on an H200) than all samples of many measurements. So a search may
 * believe, for as long as within one measurement, that nobody disturbs; a longer measurement asks about all the time
 * since. The answer that somebody disturbs is never reused. */
void gpu_monitor_begin(struct gpu_monitor *w, bool believe)
{
	bool quiet = w->foreign == WIRE_UNKNOWN || w->foreign <= FOREIGN_MAX;
	bool keep = believe && quiet && w->looked_foreign && clock_now() - w->looked_foreign < FOREIGN_NS;
	w->last = (struct wire_condition){ .foreign = WIRE_UNKNOWN };
	w->looked = 0;
	w->since = keep ? w->looked_wall : (uint64_t)clock_wall_ms() * 1000;
	if (!keep)
		w->looked_foreign = 0;
}

/* Heat, hardware limits and other processes end by waiting. A clock that has not risen yet only rises with work. */
static bool may_recover(const struct wire_condition *c)
{
	return (c->throttle & SLOWED) || (c->foreign != WIRE_UNKNOWN && c->foreign > FOREIGN_MAX);
}

struct wire_condition gpu_monitor_look(struct gpu_monitor *w)
{
	int64_t now = clock_now();
	uint32_t max_mhz = 0;
	if (w->source == NULL || (w->looked && now - w->looked < LOOK_NS))
		return w->last;
	struct wire_condition c = { 0 };
	w->source->read(w->state, &c, &max_mhz);
	if (w->looked_foreign == 0 || now - w->looked_foreign >= FOREIGN_NS) {
		w->looked_wall = (uint64_t)clock_wall_ms() * 1000;
		w->foreign = w->source->foreign(w->state, w->since);
		w->looked_foreign = clock_now();
	}
	c.foreign = w->foreign;
	c.disturbed = may_recover(&c) || (c.core_mhz && max_mhz && !(c.throttle & EXPECTED) &&
					  (uint64_t)c.core_mhz * 100 < (uint64_t)max_mhz * SLOW_PERCENT);
	w->last = c;
	w->looked = clock_now();
	return c;
}

bool gpu_monitor_is_cold(struct gpu_monitor *w)
{
	struct wire_condition c = gpu_monitor_look(w);
	return c.disturbed && !may_recover(&c);
}

void gpu_monitor_rest(const struct wire_condition *c)
{
	if (may_recover(c))
		clock_sleep(REST_NS);
}

bool gpu_monitor_energy(struct gpu_monitor *w, uint64_t *ret_millijoules)
{
	return w->source && w->source->energy(w->state, ret_millijoules);
}

const char *gpu_monitor_note(const struct gpu_monitor *w)
{
	return w->note;
}
